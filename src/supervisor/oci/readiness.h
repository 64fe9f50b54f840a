/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NOTIFY_SOCKET, by which a service tells its manager that it is ready (sd_notify(3)). The container does not get the manager's socket: who
 * reaches that can name other processes as the service's, or stop it. A directory of the state directory is bound to where the variable
 * points, with a socket "notify" in it, and of what comes there the one word READY=1 is passed on, by `run` or `start`. So does crun.
 */
#ifndef HS_SUPERVISOR_READINESS_H
#define HS_SUPERVISOR_READINESS_H

#include <sys/types.h>

#include "container/container.h"
#include "oci/arena.h"
#include "supervisor/oci/state.h"

/* A manager that waits for word. */
struct readiness {
	int fd;	       /* the container's socket, -1: nobody waits */
	char *manager; /* as in NOTIFY_SOCKET */
};

#define READINESS_NONE { .fd = -1 }

/* At `create`: directory, mount and variable, when the caller has a NOTIFY_SOCKET. What is added to *spec is in the arena. */
int readiness_prepare(const struct state_dir *dir, struct container_spec *spec, struct oci_arena *arena, struct error *err);

/* Before the program runs: makes the socket. Nothing when `create` had no NOTIFY_SOCKET. */
int readiness_open(const struct state_dir *dir, struct readiness *ret, struct error *err);

/* The messages that are there. True when READY=1 was among them and has been passed on; main: whose it is, 0: the caller's own. */
bool readiness_pass_on(const struct readiness *to, pid_t main);

/* Until the container is ready, or its process 1 has ended. */
void readiness_wait(const struct readiness *to, pid_t init);

void readiness_close(struct readiness *to);
#define _cleanup_readiness_ __attribute__((cleanup(readiness_close)))

#endif
