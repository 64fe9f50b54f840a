/* SPDX-License-Identifier: BSD-3-Clause */
/* In place of systemd_bus.c, in builds without libsystemd: nobody can be asked. */
#include "container/systemd_bus.h"

#include <errno.h>

bool systemd_is_users(void)
{
	return false;
}

int systemd_check(bool user, struct error *err)
{
	(void)user;
	return error_set(err, ENOTSUP, "this build has no support for systemd: use --cgroup-manager=cgroupfs");
}

int systemd_connect(bool user, struct systemd_bus **ret, struct error *err)
{
	*ret = NULL;
	return systemd_check(user, err);
}

void systemd_disconnect(struct systemd_bus *bus)
{
	(void)bus;
}

unsigned systemd_version(struct systemd_bus *bus)
{
	(void)bus;
	return 0;
}

int systemd_start_transient(struct systemd_bus *bus, const char *unit, const struct systemd_properties *properties, struct error *err)
{
	(void)bus, (void)unit, (void)properties;
	return systemd_check(false, err);
}

int systemd_stop(struct systemd_bus *bus, const char *unit, bool kill, struct error *err)
{
	(void)bus, (void)unit, (void)kill;
	return systemd_check(false, err);
}

int systemd_attach(struct systemd_bus *bus, const char *unit, pid_t pid, struct error *err)
{
	(void)bus, (void)unit, (void)pid;
	return systemd_check(false, err);
}

int systemd_set_properties(struct systemd_bus *bus, const char *unit, const struct systemd_properties *properties, struct error *err)
{
	(void)bus, (void)unit, (void)properties;
	return systemd_check(false, err);
}
