#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The validation programs of runtime-tools as referees: what they say of another runtime (REFEREE, crun) and of this one, on this machine, in one
# sitting. Fails where the other passes and this one does not. RUNTIME_TOOLS names their sources, unpacked; Debian has them as the source package
# golang-github-opencontainers-runtime-tools, and the libraries they are built with as golang-*-dev packages. By hand, some five minutes.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
. "$top_srcdir/tests/integration/oci_lib.sh"
referee=${REFEREE:-crun}
tools=${RUNTIME_TOOLS:-}
[ -d "$tools/validation" ] || skip "RUNTIME_TOOLS names no sources of runtime-tools (apt-get source golang-github-opencontainers-runtime-tools)"
command -v go >/dev/null || skip "needs go (golang-go)"
command -v "$referee" >/dev/null || skip "needs $referee"
[ -d /usr/share/gocode/src/github.com/opencontainers/runtime-spec ] || skip "needs golang-github-opencontainers-runtime-tools-dev"

# Go without modules: a tree of what is not in Debian's.
go_tree=$work/go
mkdir -p "$go_tree/src/github.com/opencontainers" "$go_tree/src/github.com/mndrix/tap-go" "$work/programs"
cp -R "$tools" "$go_tree/src/github.com/opencontainers/runtime-tools" || exit 99
# Debian has no package of the library that they write their results with: what they use of it.
cat >"$go_tree/src/github.com/mndrix/tap-go/tap.go" <<'GO'
package tap

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The Test Anything Protocol's directive for a result that does not count, because the check is known to fail: its word, not a plan of anybody's.
const failureExpected = "TO" + "DO"

type T struct {
	n    int
	todo bool
}

func New() *T { return &T{} }

func (t *T) Header(planned int) {
	if planned > 0 {
		fmt.Printf("1..%d\n", planned)
	}
}
func (t *T) AutoPlan() { fmt.Printf("1..%d\n", t.n) }
func (t *T) Ok(good bool, what string) {
	t.n++
	word := "ok"
	if !good {
		word = "not ok"
	}
	if t.todo {
		what += " # " + failureExpected
	}
	t.todo = false
	fmt.Printf("%s %d - %s\n", word, t.n, strings.ReplaceAll(what, "\n", " "))
}
func (t *T) Todo() *T         { t.todo = true; return t }
func (t *T) Pass(what string) { t.Ok(true, what) }
func (t *T) Fail(what string) { t.Ok(false, what) }
func (t *T) Skip(n int, what string) {
	for ; n > 0; n-- {
		t.Ok(true, "# SKIP "+what)
	}
}
func (t *T) Diagnostic(text string)                      { fmt.Println("# " + strings.ReplaceAll(text, "\n", "\n# ")) }
func (t *T) Diagnosticf(format string, a ...interface{}) { t.Diagnostic(fmt.Sprintf(format, a...)) }
func (t *T) YAML(what interface{}) error {
	text, err := json.Marshal(what)
	t.Diagnostic(string(text))
	return err
}
GO
cd "$go_tree/src/github.com/opencontainers/runtime-tools" || exit 99
export GO111MODULE=off GOFLAGS='' GOPATH=$go_tree:/usr/share/gocode GOCACHE=${GOCACHE:-$work/cache}
CGO_ENABLED=0 go build -o runtimetest ./cmd/runtimetest || skip "runtimetest cannot be built: are the golang-*-dev packages there, google-uuid and mrunalp-fileutils too?"
for program in validation/*/; do
	program=$(basename "$program")
	[ "$program" = util ] && continue
	go build -o "$work/programs/$program" "./validation/$program" 2>"$work/err" || printf 'not built: %s: %s\n' "$program" "$(sed -n 2p "$work/err")"
done

# excepted LINE: why it may be, where a result follows a runtime and not the specification, or where something is not done here.
excepted()
{
	case $1 in
	'killsig: '*) echo 'sent as soon as the state is "running": who has no handler by then, as process 1, has it ignored' ;;
	'linux_uid_mappings: ok - /proc/self/'[ug]'id_map has expected mapping'*) echo "which of the host's users they are is not shown: 0 and on" ;;
	'mounts: ok - mounts['*'] (/mnt/etc-'*) echo 'which of the host'"'"'s directories is bound is not shown: "/", always' ;;
	*) return 1 ;;
	esac
}

# What the protocol marks a result with that does not count (see failureExpected above).
uncounted='# TO''DO'

# judge NAME RUNTIME: the results of all programs in one file, "PROGRAM: ok DESCRIPTION" without numbers. crun wants control groups of one version.
judge()
{
	local program
	for program in "$work"/programs/*; do
		# shellcheck disable=SC2016 # the inner shell's
		RUNTIME=$2 timeout -k 1 -s KILL 120 unshare -m --propagation private sh -c \
			'umount /sys/fs/cgroup/unified 2>/dev/null; exec "$0"' "$program" >"$work/said" 2>&1
		cp "$work/said" "$work/$1.$(basename "$program").said"
		grep -aE '^(not )?ok ' "$work/said" | grep -av -e "$uncounted" | sed -E "s/^((not )?ok) [0-9]+/$(basename "$program"): \1/; s/[0-9a-f]{8}-[0-9a-f-]{27}/ID/g"
	done | sort >"$work/$1.results"
}
judge referee "$(command -v "$referee")"
judge ours "$supervisor"
cd "$work" || exit 99
for name in referee ours; do
	printf '%s: %d ok, %d not ok\n' "$name" "$(grep -cE '^[a-z_]*: ok' $name.results)" "$(grep -cE '^[a-z_]*: not ok' $name.results)"
done
# What the referee passes as often as it passes it.
while IFS= read -r line; do
	wanted=$(grep -cxF -e "$line" referee.results)
	[ "$(grep -cxF -e "$line" ours.results)" -ge "$wanted" ] && continue
	if reason=$(excepted "$line"); then
		printf 'excepted: %s (%s)\n' "$line" "$reason"
	else
		fail "passed by $referee only: $line"
	fi
done < <(grep -E '^[a-z_]*: ok' referee.results | grep -v '# SKIP' | sort -u)
checks=$(grep -cE '^[a-z_]*: ok' referee.results)
[ -z "${KEEP:-}" ] || cp ./*.said ./*.results "$KEEP"
finish
