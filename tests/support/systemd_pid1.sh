#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# systemd_pid1.sh v1|v2 DIR: becomes a systemd of its own, for a test. In new namespaces (unshare -fpmCnui), in a cgroup of its own. It knows
# no unit but the one written here, so that nothing of the machine's own is started, and may write to DIR only.
set -e
mount --make-rprivate /
mount --bind "$2" "$2"
mount -o remount,bind,ro /
mount -t proc proc /proc
mount -t tmpfs none /run
mkdir -p /run/systemd/system
# Version 1 as this host has it; what has no version 1 hierarchy cannot be mounted so.
hierarchies=$(sed -n 's/^[0-9]*:\([^:]\{1,\}\):.*/\1/p' /proc/self/cgroup)
umount -R /sys/fs/cgroup
if [ "$1" = v2 ]; then
	mount -t cgroup2 none /sys/fs/cgroup
else
	mount -t tmpfs none /sys/fs/cgroup
	for h in $hierarchies; do
		mkdir "/sys/fs/cgroup/${h#name=}"
		case $h in name=*) options=none,$h ;; *) options=$h ;; esac
		mount -t cgroup -o "$options" none "/sys/fs/cgroup/${h#name=}"
	done
	[ -d /sys/fs/cgroup/systemd ]
fi
printf '[Unit]\nDefaultDependencies=no\nAllowIsolate=yes\n' >/run/systemd/system/hermit-test.target
# The bus of the system, and an instance of a user: started by tests that want them.
printf '[Unit]\nDefaultDependencies=no\n[Socket]\nListenStream=/run/dbus/system_bus_socket\n' >/run/systemd/system/dbus.socket
cat >/run/systemd/system/dbus.service <<'EOF'
[Unit]
DefaultDependencies=no
Requires=dbus.socket
[Service]
Type=notify
NotifyAccess=main
ExecStart=/usr/bin/dbus-daemon --system --address=systemd: --nofork --nopidfile --systemd-activation --syslog-only
EOF
cat >/run/systemd/system/user@.service <<'EOF'
[Unit]
DefaultDependencies=no
[Service]
User=%i
Group=%i
Type=notify
Environment=XDG_RUNTIME_DIR=/run/user/%i SYSTEMD_UNIT_PATH=/run/systemd/system SYSTEMD_GENERATOR_PATH=/nonexistent
ExecStart=/lib/systemd/systemd --user --unit=hermit-test.target
Delegate=yes
Slice=user-%i.slice
EOF
export container=hermit-test SYSTEMD_UNIT_PATH=/run/systemd/system SYSTEMD_GENERATOR_PATH=/nonexistent
export SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/nonexistent
exec /lib/systemd/systemd --unit=hermit-test.target --log-target=console --log-level=warning --show-status=0
