# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Two busy loops, for drivers that source lib.sh: start_load, stop_load; they end with the driver.
load_pids=

start_load()
{
	while :; do :; done &
	load_pids=$!
	while :; do :; done &
	load_pids="$load_pids $!"
}

stop_load()
{
	# shellcheck disable=SC2086 # two numbers
	[ -z "$load_pids" ] || kill $load_pids
	load_pids=
}
trap 'stop_load; rm -rf "$work"' EXIT
