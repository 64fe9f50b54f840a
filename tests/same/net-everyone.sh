# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154 # the variables are those of same.sh
# Everybody who reads interfaces and addresses, as far as they are installed. Usage: . "$source/net-everyone.sh"  everyone
everyone()
{
	python3 "$source/traffic.py"
	ip -d -s -j link
	ip -d addr
	ip route show table all
	ip -s neigh
	ip ntable
	ss -tinpe
	python3 "$source/interfaces.py"
	if command -v busybox; then
		busybox ip addr
		busybox ip route
		busybox ifconfig -a
	fi
	[ ! -x "$prepared/interfaces" ] || "$prepared/interfaces"
	[ ! -f "$prepared/Interfaces.class" ] || java -cp "$prepared" Interfaces
}
