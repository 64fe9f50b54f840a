# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For drivers of podman: a storage and a configuration of the test's own, and a tree in which this machine's own programs run, so that nothing is pulled.
cat >containers.conf <<END
[containers]
default_ulimits=["nofile=1024:4096","nproc=4096:4096"]
pids_limit=0
[engine]
cgroup_manager="cgroupfs"
events_logger="file"
END
export CONTAINERS_CONF=$work/containers.conf
# shellcheck disable=SC2034 # for the drivers
podman=(podman --root "$work/pod/root" --runroot "$work/pod/run" --tmpdir "$work/pod/tmp" --storage-driver vfs)

# machine_tree DIR: /usr is for the container to mount.
machine_tree()
{
	local name
	mkdir -p "$1"/{proc,sys,dev,tmp,run,etc,usr,var} || exit 99
	for name in bin lib lib32 lib64 sbin; do [ -L /$name ] && cp -a /$name "$1/$name"; done
	printf 'root:x:0:0::/:/bin/sh\n' >"$1/etc/passwd"
}
