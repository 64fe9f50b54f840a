/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls to systemd over D-Bus (org.freedesktop.systemd1(5)): the instance of the system for root, the user's own for everybody else. The library
 * (libsystemd's sd-bus) is loaded when a connection is made. In a build without it every connection fails.
 */
#ifndef HS_CONTAINER_SYSTEMD_BUS_H
#define HS_CONTAINER_SYSTEMD_BUS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "container/systemd_unit.h"

struct systemd_bus;

/* Whether this user's instance is asked, not the system's: an ordinary user's, also one who is root in a user namespace only. */
bool systemd_is_users(void);

/* That it runs, without talking to it. -ENOTSUP, and what to do in the message. */
int systemd_check(bool user, struct error *err);

int systemd_connect(bool user, struct systemd_bus **ret, struct error *err);
void systemd_disconnect(struct systemd_bus *bus);

/* 252; 0 when it does not say. */
unsigned systemd_version(struct systemd_bus *bus);

/* These wait until it is done. A failed unit that has the name is reset before. -EEXIST: another one has it. */
int systemd_start_transient(struct systemd_bus *bus, const char *unit, const struct systemd_properties *properties, struct error *err);
/* A unit that is gone is fine. kill: without giving processes the time to end. */
int systemd_stop(struct systemd_bus *bus, const char *unit, bool kill, struct error *err);

/* Moves the process into the unit's cgroup. */
int systemd_attach(struct systemd_bus *bus, const char *unit, pid_t pid, struct error *err);

int systemd_set_properties(struct systemd_bus *bus, const char *unit, const struct systemd_properties *properties, struct error *err);

#endif
