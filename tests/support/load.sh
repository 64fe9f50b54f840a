# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Two busy loops, for drivers that source lib.sh: start_load (once is enough), stop_load; they end with the driver. They are on the first two
# processors that the driver may use, one on each, and so is what the driver starts meanwhile: a larger machine would keep them apart.
load_pids=()
load_processors=

# Numbers of the processors that this driver may use, one a line.
processors()
{
	taskset -pc $$ | sed 's/.*: //' | tr , '\n' | while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done
}

start_load()
{
	local both i
	[ ${#load_pids[@]} = 0 ] || return 0
	load_processors=$(processors | paste -sd ,)
	mapfile -t -n 2 both < <(processors)
	for i in 0 1; do
		while :; do :; done &
		load_pids+=("$!")
		taskset -pc "${both[i % ${#both[@]}]}" "$!" >/dev/null
	done
	taskset -pc "$(IFS=,; echo "${both[*]}")" $$ >/dev/null
}

stop_load()
{
	local pid
	[ ${#load_pids[@]} != 0 ] || return 0
	for pid in "${load_pids[@]}"; do
		kill "$pid" || fail "a busy loop had ended before: the runs were not beside it"
		wait "$pid" 2>/dev/null
	done
	load_pids=()
	taskset -pc "$load_processors" $$ >/dev/null
}
trap 'stop_load; rm -rf "$work"' EXIT
