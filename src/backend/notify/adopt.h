/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The beginning of a container that another runtime made: adopt.c waits for its program and prepares it, replace.c puts a filter of ours in place
 * of the runtime's. Both make a thread of the runtime's, which is parked in a call, do calls of ours first.
 */
#ifndef HS_BACKEND_NOTIFY_ADOPT_H
#define HS_BACKEND_NOTIFY_ADOPT_H

#include <sys/user.h>

#include "backend/notify/notify.h"

/* A parked call: in the end the execve with which the container begins. */
struct adopted {
	pid_t tid;
	struct call_cookie cookie;
	struct event event;
};

/*
 * Lets calls through until the execve comes: of the thread that was seized early, else of process pid, or (0) of anybody. On the way
 * n->replacement is put in place. -ECHILD: all are dead.
 */
int adopt_await_exec(struct notify *n, pid_t pid, struct adopted *ret);
/* The seized caller switches its randomisation off, and is parked in the same call again. 1: it was not allowed to. */
int adopt_fix_addresses(struct notify *n, struct adopted *adopted);

/*
 * The next process of the pid namespace whose first process this is gets a fixed id, whatever threads the runtime had there: 1; 0: it is not
 * the first process, or the kernel has no way to say so (CONFIG_CHECKPOINT_RESTORE).
 */
int adopt_fix_numbers(struct notify *n, pid_t tid);

/* Which of its namespaces, CLONE_NEW..., are the supervisor's own: nobody has given it others. */
unsigned adopt_shared_namespaces(pid_t tid);

/* A thread that was stopped in the call that it was parked in. Signals wait until it is back there: they would come in the middle of ours. */
struct stopped {
	struct user_regs_struct regs;
	uint64_t blocked; /* signals */
};
/*
 * Out of the parked call, into a stop, with what there is to restore. -EAGAIN: the thread was led away by a signal and runs on; -EALREADY: it is
 * parked again, in *adopted.
 */
int adopt_stop_there(struct notify *n, struct adopted *adopted, struct stopped *ret_saved);
struct injected {
	long nr;
	uint64_t args[6];
};
/* The thread, stopped by adopt_stop_there(), makes this call and stops again. What it returned is in *ret_result. */
int adopt_inject(struct notify *n, struct adopted *adopted, const struct stopped *saved, const struct injected *call,
		 int64_t *ret_result);
/* It goes back to the call that it was parked in. */
int adopt_call_again(pid_t tid, const struct stopped *saved);

/*
 * At a parked call of the runtime's: n->replacement is installed, and its listener takes the place of the runtime's. 0: not here, the call is
 * parked still; 1: the call is not parked any more, it comes again, and n->replacement is NULL unless it is to be tried again.
 */
int replace_listener(struct notify *n, struct adopted *call);

#endif
