#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hermit netlink-dump: how it is called, what it says of captures that are none.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
captures=$top_srcdir/tests/netlink

# One acknowledgement of request 17, and the same as text.
printf '\x24\0\0\0\x02\0\0\x01\x11\0\0\0\x07\0\0\0\0\0\0\0\x20\0\0\0\x10\0\x05\0\x11\0\0\0\x07\0\0\0' >ack.bin
echo '# an acknowledgement
24000000 0200 0001 11000000 07000000 00000000 20000000 1000 0500 11000000 07000000' >ack.hex
text='error[0] len 36 flags 0x100 seq 17 pid 7
error[0].status: 0
error[0].payload: 20000000100005001100000007000000'

run "$hermit" netlink-dump ack.bin
expect 0 'a binary capture'
expect_out "$text" 'a binary capture'
run "$hermit" netlink-dump --raw ack.hex
expect_out "$text" 'a capture as text'
run bash -c "'$hermit' netlink-dump --canonical - < ack.hex"
expect_out "$text" 'from standard input'

# The family: named by the capture, or by the option.
run "$hermit" netlink-dump "$captures/sockets_a.hex"
expect 0 'a capture of sockets'
ok 'the capture names its family' grep -q '^inet_diag\[0\].sport: 1f90$' out
run "$hermit" netlink-dump -p route "$captures/sockets_a.hex"
ok 'the option goes before' grep -q '^newaddr\[0\]' out
run "$hermit" netlink-dump --canonical "$captures/veth_a.hex"
ok 'canonical: index by name' grep -qx 'newlink\[1\].ifname: "br0"' out
ok 'canonical: virtual MAC' grep -qx 'newlink\[1\].address: 020000000002' out

run "$hermit" netlink-dump
expect 125 'no capture'
run "$hermit" netlink-dump a b
expect 125 'two captures'
run "$hermit" netlink-dump -p nonsense ack.bin
expect 125 'a family that is none'
expect_err_has "no netlink family 'nonsense'" 'a family that is none'
run "$hermit" netlink-dump missing
expect 125 'a missing file'
expect_err 'hermit netlink-dump: missing: No such file or directory' 'a missing file'
printf '24000000\n0200 zz' >bad.hex
run "$hermit" netlink-dump bad.hex
expect 125 'text that is no capture'
expect_err "hermit netlink-dump: bad.hex: line 2: 'z' is no hexadecimal digit" 'text that is no capture'
head -c 30 ack.bin >cut.bin
run "$hermit" netlink-dump cut.bin
expect 0 'a capture that was cut'
expect_out 'broken off: 30 bytes are no message' 'a capture that was cut'
run "$hermit" netlink-dump --canonical /dev/null
expect 0 'nothing'
expect_out '' 'nothing'
finish
