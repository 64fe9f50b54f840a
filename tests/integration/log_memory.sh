#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Logs are written and read in constant memory: a hundred times as many events take no more of it.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
command -v python3 >/dev/null || { echo "SKIP: python3 is not installed"; exit 77; }

# The address sanitizer keeps up to 256 MiB of what was freed, unless it is told not to.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=0:thread_local_quarantine_size_kb=0"

cat >peak.py <<'PY'
# The peak of the memory of a command in KiB, on standard output.
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
PY

# steps N: what a guest does.
steps() { echo "i=0; while [ \$i -lt $1 ]; do [ -e /nowhere ]; i=\$((i + 1)); done"; }

for size in 200 20000; do
	run python3 peak.py "$hermit" run -q --log-events="$size.a" -- sh -c "$(steps $size)"
	expect 0 "$size: written"
	cp out "$size.write"
	cp "$size.a" "$size.b"
	run python3 peak.py "$hermit" log-diff "$size.a" "$size.b"
	expect 0 "$size: compared"
	cp out "$size.diff"
	run python3 peak.py "$hermit" log-print "$size.a"
	expect 0 "$size: printed"
	cp out "$size.print"
	run python3 peak.py "$hermit" log-export --format=perfetto "$size.a"
	expect 0 "$size: exported"
	cp out "$size.export"
done
ok "the logs differ in size" [ "$(stat -c %s 20000.a)" -gt $((20 * $(stat -c %s 200.a))) ]
for what in write diff print export; do
	more=$(($(cat 20000.$what) - $(cat 200.$what)))
	ok "$what: $more KiB more for a hundred times as many events" [ "$more" -lt 1024 ]
done
finish
