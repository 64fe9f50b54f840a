#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What contrib/docker and contrib/kubernetes say is well formed and fits this program. contrib_kubernetes.sh compares documents for Kubernetes with
# its schema, and oci_engines.sh uses the files of docker and podman for real.
. "$top_srcdir/tests/integration/lib.sh" || exit 99 # without it $work is nothing
contrib=$top_srcdir/contrib
supervisor=$top_builddir/hermit-supervisor
python=/usr/bin/python3

# loads MODULE FILE: python's parser takes the file, and prints it as JSON into $work/out
loads()
{
	run $python -c 'import json, sys
if sys.argv[1] == "yaml":
    import yaml
    print(json.dumps(list(yaml.safe_load_all(open(sys.argv[2])))))
elif sys.argv[1] == "json":
    print(json.dumps(json.load(open(sys.argv[2]))))
else:
    import tomllib
    print(json.dumps(tomllib.load(open(sys.argv[2], "rb"))))' "$1" "$2"
	expect 0 "$2 is $1"
}

can()
{
	[ -x $python ] && $python -c "import $1" 2>/dev/null || { echo "$1 left out: python3 cannot read it here"; return 1; }
}

# has TEXT WHAT: the JSON of the last file
has()
{
	ok "$2" grep -qF -- "$1" "$work/out"
}

[ -x $python ] || { echo "skipped: needs python3"; exit 77; }
loads json "$contrib/docker/daemon.json"
has '"hermit": {"path": "/usr/local/bin/hermit-supervisor"}' "daemon.json: the runtime"
if can tomllib; then
	loads toml "$contrib/docker/containers.conf"
	has '"hermit": ["/usr/local/bin/hermit-supervisor"' "containers.conf: the runtime"
	loads toml "$contrib/kubernetes/crio.conf"
	has '"runtime_type": "oci"' "crio.conf: the kind of runtime"
	loads toml "$contrib/kubernetes/containerd.toml"
	has '"BinaryName": "/usr/local/bin/hermit-supervisor"' "containerd.toml: the runtime"
fi
if can yaml; then
	loads yaml "$contrib/kubernetes/runtimeclass.yaml"
	has '"handler": "hermit"' "runtimeclass.yaml: the handler"
	loads yaml "$contrib/kubernetes/pod.yaml"
	has '"runtimeClassName": "hermit"' "pod.yaml: the class"
	loads yaml "$contrib/kubernetes/pod-agent.yaml"
	has '"seccompProfile": {"type": "Localhost", "localhostProfile": "hermit.json"}' "pod-agent.yaml: the profile"
	has '"org.hermit.deterministic": "true"' "pod-agent.yaml: the annotation"
fi
if command -v containerd >/dev/null; then
	{ echo 'version = 2'; cat "$contrib/kubernetes/containerd.toml"; } >ctrd.toml
	run containerd -c ctrd.toml config dump
	expect 0 "containerd takes containerd.toml"
	has 'BinaryName = "/usr/local/bin/hermit-supervisor"' "containerd.toml: the runtime, as containerd sees it"
fi
# The profile of pod-agent.yaml, made by the command that stands there: runtimes and the kubelet take what has these members.
if command -v jq >/dev/null; then
	sed -n "s/^# *\(echo '{.*}'\) |$/\1/p" "$contrib/kubernetes/pod-agent.yaml" >document.sh
	sh document.sh >document.json
	"$supervisor" hook precreate <document.json >rewritten.json
	jq .linux.seccomp rewritten.json >hermit.json
	ok "pod-agent.yaml: its command makes a profile" jq -e '.defaultAction == "SCMP_ACT_ALLOW" and .listenerMetadata == "hermit" and
		(.listenerPath | startswith("/")) and ([.syscalls[] | select(.action == "SCMP_ACT_NOTIFY") | .names[]] | index("execve") != null) and
		(.syscalls | all((.names | type == "array") and (.action | startswith("SCMP_ACT_"))))' hermit.json
	socket=$(sed -n 's/^ListenStream=//p' "$contrib/systemd/hermit-agent.socket")
	ok "pod-agent.yaml: the socket is the unit's" [ "$(jq -r .listenerPath hermit.json)" = "$socket" ]
fi
# Annotations are options
"$supervisor" --config x --help >help 2>&1
for name in $(sed -n 's/^ *org\.hermit\.\([a-z-]*\):.*/\1/p' "$contrib/kubernetes/pod.yaml"); do
	ok "pod.yaml: org.hermit.$name is an option" grep -qE -- "--$name\b" help
done
# What the scripts are for
for name in setup-debian build demo test; do
	run env BUILD="$work/build" "$top_srcdir/scripts/$name" --help
	expect 0 "scripts/$name --help"
	ok "scripts/$name --help" grep -q "^usage: .*scripts/$name" out
done
# Dockerfiles: known instructions, and the libraries that the programs need
for file in "$contrib"/docker/Dockerfile.*; do
	bad=$(sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$file" | grep -vE '^(#|$)|^(ARG|FROM|RUN|COPY|WORKDIR|CMD|ENV|ENTRYPOINT) ')
	ok "$file: instructions" [ -z "$bad" ]
done
# The libraries that it names are those it is linked with and those it loads when it calls them.
if command -v dpkg-query >/dev/null; then
	for lib in $(grep -aoE '\blib[A-Za-z0-9_+-]+\.so\.[0-9][0-9.]*' "$supervisor" | sort -u); do
		case $lib in lib*san.so*) continue ;; esac # of a build that only the tests are for
		package=$(dpkg-query -S "*/$lib" 2>/dev/null | head -1 | cut -d: -f1)
		case $package in libc6* | libgcc-s1 | "") continue ;; esac
		ok "Dockerfile.run installs $package for $lib" grep -qw -- "$package" "$contrib/docker/Dockerfile.run"
	done
fi
for package in $("$top_srcdir/scripts/setup-debian" --list); do
	case $package in *-dev) ;; *) continue ;; esac
	[ "$package" = libcriterion-dev ] || ok "Dockerfile.run builds with $package" grep -qw -- "$package" "$contrib/docker/Dockerfile.run"
done
finish
