/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How handlers wait. A handler is called when its call is made, and again whenever something happened that may let it go on; each
 * time it says either what to do or VERDICT_BLOCK after having noted here what it waits for. Nothing of this is seen by
 * the guest: its notification just stays parked.
 */
#ifndef HS_ENGINE_WAIT_H
#define HS_ENGINE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/task.h"

struct engine;
struct verdict;

/*
 * Is the task's descriptor fd ready for `events` (poll bits; POLLERR, POLLHUP, POLLNVAL count)? On the first question the
 * descriptor is borrowed and noted as what the task waits for. 1 ready, 0 not, -EBADF, or another -errno.
 */
int wait_fd(struct engine *e, struct task *t, int fd, short events);

/* Adds one descriptor to a set that is asked as a whole with wait_fds_ready(). */
int wait_fds_add(struct engine *e, struct task *t, int fd, short events);
int wait_fds_ready(struct engine *e, struct task *t);

/* Forgets which descriptors are waited for, so that others can be; the rest of the wait stays. */
void wait_drop(struct engine *e, struct task *t);

/* Is the (first) handle that is waited for in O_NONBLOCK mode? 1, 0, or -errno. */
int wait_is_nonblocking(struct engine *e, struct task *t);

/* Notes another kind of wait. */
void wait_for(struct task *t, enum wait_kind kind);

/* Sets the deadline, in run time; the first one set for a call stays. */
void wait_until(struct engine *e, struct task *t, uint64_t deadline_ns);

/* Puts the task behind everybody who can run, once a call: true when it has to be parked for that. */
bool wait_give_way(struct engine *e, struct task *t);

static inline bool wait_timed_out(const struct task *t)
{
	return t->wait.wake & WAKE_TIMEOUT;
}

static inline bool wait_interrupted(const struct task *t)
{
	return t->wait.wake & WAKE_SIGNAL;
}

/* The kernel's restart codes: how a call that a signal interrupts ends (signal(7)). */
#define WAIT_ERESTARTSYS (-512)    /* restarted under SA_RESTART or when no handler runs, else EINTR */
#define WAIT_ERESTARTNOINTR (-513) /* restarted in any case */
#define WAIT_ERESTARTNOHAND (-514) /* restarted only when no handler runs */

/* Verdict for a handler that gives up a wait for a signal; a deadline is kept for the restarted call. Returns 0. */
int wait_interrupt(struct task *t, struct verdict *v, int code);

/* Releases what the wait holds. */
void wait_clear(struct engine *e, struct task *t);

/* Asks for the readiness of all that blocked tasks wait for, wakes those that may go on. */
int waits_poll(struct engine *e);
/* Wakes those whose deadline has passed. */
int waits_expire(struct engine *e);
/* Earliest deadline of all blocked tasks. */
uint64_t waits_next_deadline(struct engine *e);
/* Wakes those that wait for anything to happen. */
int waits_kick(struct engine *e);
/*
 * For when nobody can go on. On addresses that the guest has given itself the kernel acknowledges late, in real time, and a sender may wait for
 * that: a moment is granted. 1 somebody can go on, 0 not, -errno.
 */
int waits_network(struct engine *e);
/*
 * Waits in real time for external input that a blocked task waits for: 1 something is there, 0 time over, -EINTR; -ENOENT: there is
 * none (unless `anyway`: then time passes all the same).
 */
int waits_outside(struct engine *e, int timeout_ms, bool anyway);

#endif
