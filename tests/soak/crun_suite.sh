#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# crun's own tests as referees: what they say of crun and of this runtime, on this machine, in one sitting. Fails where crun passes and this one does
# not, but for what is named below. CRUN_SOURCE names crun's sources (apt-get source crun), of the version that is installed. By hand, some ten minutes.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"
source=${CRUN_SOURCE:-}
[ -e "$source/tests/tests_utils.py" ] || skip "CRUN_SOURCE names no sources of crun (apt-get source crun)"
command -v crun >/dev/null || skip "needs crun"
command -v python3 >/dev/null || skip "needs python3"

# excepted TEST: why it may be: what follows crun and not the specification.
excepted()
{
	case $1 in
	start) echo 'reads the file "status" of crun'"'"'s own state directory' ;;
	exec_add_no_new_privileges) echo "exec without a flag has what the container has, as with runc; crun's has no no_new_privs then" ;;
	mount-strictatime) echo "how the host keeps access times is not shown: relatime, always" ;;
	seccomp-listener) echo 'no rule notifies: the specification has a listener "when the SCMP_ACT_NOTIFY action is used"' ;;
	*) return 1 ;;
	esac
}

mkdir -p suite && cp -R "$source/tests" suite/ || exit 99
printf '#define HAVE_ERROR_H 1\n#define HAVE_SECCOMP 1\n' >suite/config.h
"${CC:-gcc}" -static -O1 -Isuite -o suite/tests/init suite/tests/init.c -lseccomp 2>err || skip "the suite's init cannot be built: $(head -1 err)"
# Debian has no libmount for Python: what the suite uses of it.
python3 -c 'import libmount' 2>/dev/null || cat >suite/tests/libmount.py <<'PYTHON'
class Line:
    def __init__(self, words):
        self.target, self.vfs_options, self.fs_options = words[4], words[5], words[-1]

class Table:
    def __init__(self, name):
        with open(name) as f:
            self.lines = [Line(line.split()) for line in f if " - " in line]

    def find_target(self, target):
        return [line for line in self.lines if line.target == target][-1]
PYTHON
cd suite || exit 99

# names FILE: of its tests
names()
{
	sed -n '/^all_tests/,/^}/p' "$1" | grep -oE '^ *"[^"]+" *:' | tr -d '": '
}

# judge NAME RUNTIME: "FILE: RESULT TEST" for each test, each by itself, for some wait for ever. crun wants control groups of one version.
judge()
{
	local file test
	for file in tests/test_*.py; do
		for test in $(names "$file"); do
			# shellcheck disable=SC2016 # the inner shell's
			RUN_TESTS=$test OCI_RUNTIME=$2 INIT=$PWD/tests/init timeout -k 1 -s KILL 60 unshare -m --propagation private sh -c \
				'umount /sys/fs/cgroup/unified 2>/dev/null; exec python3 "$0"' "$file" >said 2>"../$1.$test.err" </dev/null
			case $(grep -aE '^(not )?ok ' said) in
			*'#SKIP') echo skip ;;
			ok*) echo ok ;;
			*) echo fail ;;
			esac | sed "s|\$| $(basename "$file") $test|"
		done
	done >"../$1.results"
	rm -rf .testsuite-run-*
}
judge crun "$(command -v crun)"
judge ours "$supervisor"
cd "$work" || exit 99
for name in crun ours; do
	printf '%s: %d ok, %d skipped, %d failed\n' "$name" "$(grep -c '^ok' $name.results)" "$(grep -c '^skip' $name.results)" "$(grep -c '^fail' $name.results)"
done
while read -r result file test; do
	[ "$result" = ok ] || continue
	checks=$((checks + 1))
	grep -qx "ok $file $test" ours.results && continue
	if reason=$(excepted "$test"); then
		printf 'excepted: %s: %s\n' "$test" "$reason"
	else
		cp "ours.$test.err" err
		fail "passed by crun only: $test of $file (here: $(sed -n "s/ $file $test\$//p" ours.results))"
	fi
done <crun.results
grep '^fail' crun.results | while read -r _ file test; do printf 'failed by crun: %s of %s; here: %s\n' "$test" "$file" "$(sed -n "s/ $file $test\$//p" ours.results)"; done
[ -z "${KEEP:-}" ] || cp ./*.results ./*.err "$KEEP"
finish
