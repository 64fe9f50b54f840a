/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guardian of a container: the parent of its supervisor, which does nothing but wait. It holds every listener that the supervisor has, so
 * that a container whose supervisor is killed is not let go but killed as well.
 */
#ifndef HS_SUPERVISOR_GUARDIAN_H
#define HS_SUPERVISOR_GUARDIAN_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The rest of the guardian's life: until the supervisor lets go of the other end of `socket`, which it does by ending. When it has not ended
 * well, process 1 of the container is killed.
 */
_Noreturn void guardian_main(int socket, int init_pidfd, pid_t supervisor);

/* For the supervisor: one more listener to hold. 0 or -errno: -EAGAIN when the guardian has not taken those that were given, which is not waited for. */
int guardian_give(int socket, int listener);

/* For the supervisor: there is room for one more listener. -EBUSY: there is none, and none is to be expected, since the guardian is stopped. */
int guardian_await_room(int socket, pid_t guardian);

/* For both: kills process 1 of the container and waits for its end. */
void guardian_kill_container(int init_pidfd);

/* For both: closes everything but the standard descriptors, which become /dev/null, and those listed (-1: none), which are sorted. */
void guardian_keep_only(int *fds, size_t n);

#endif
