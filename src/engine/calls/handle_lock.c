/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks on files, and SysV and POSIX queues and semaphores: who waits is decided here, what is held is the kernel's. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <time.h>

#include "engine/attempt.h"
#include "engine/time/clock.h"
#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/wait.h"

#ifndef F_OFD_SETLKW
#define F_OFD_SETLKW 38
#endif

int handle_fs_flock(struct engine *e, struct task *t, struct verdict *v)
{
	int operation = (int)t->call.args[1];

	if (operation & (LOCK_NB | LOCK_UN))
		return verdict_continue(v);
	return attempt_call(e, t, TIME_NEVER, EAGAIN, v);
}

int handle_fs_fcntl(struct engine *e, struct task *t, struct verdict *v)
{
	int command = (int)t->call.args[1];

	if (command == F_SETLKW || command == F_OFD_SETLKW)
		return attempt_call(e, t, TIME_NEVER, EAGAIN, v);
	return verdict_continue(v);
}

static int queue_call(struct engine *e, struct task *t, uint64_t flags, struct verdict *v)
{
	return flags & IPC_NOWAIT ? verdict_continue(v) : attempt_call(e, t, TIME_NEVER, EAGAIN, v);
}

int handle_ipc_msgsnd(struct engine *e, struct task *t, struct verdict *v)
{
	return queue_call(e, t, t->call.args[3], v);
}

int handle_ipc_msgrcv(struct engine *e, struct task *t, struct verdict *v)
{
	return queue_call(e, t, t->call.args[4], v);
}

/* Deadline of a struct timespec argument: relative, or absolute CLOCK_REALTIME. 0, a positive errno for the guest, or -errno. */
static int timeout_of(struct engine *e, struct task *t, uint64_t addr, bool absolute, uint64_t *ret_deadline)
{
	struct timespec ts;
	uint64_t ns;
	int r;

	*ret_deadline = TIME_NEVER;
	if (!addr)
		return 0;
	r = guest_read(e, t, addr, &ts, sizeof(ts));
	if (r < 0)
		return r == -EFAULT ? EFAULT : r;
	if (!time_from_parts(ts.tv_sec, ts.tv_nsec, &ns))
		return EINVAL;
	if (absolute)
		(void)clock_deadline(&e->clock, CLOCK_REALTIME, ns, ret_deadline);
	else
		*ret_deadline = time_add(t->call.start_ns, ns);
	return 0;
}

int handle_ipc_semop(struct engine *e, struct task *t, struct verdict *v)
{
	enum { NR_semtimedop = 220 };
	uint64_t deadline = TIME_NEVER;
	int r = 0;

	if (t->call.nr == NR_semtimedop)
		r = timeout_of(e, t, t->call.args[3], false, &deadline);
	if (r)
		return r < 0 ? r : verdict_errno(v, r);
	return attempt_call(e, t, deadline, EAGAIN, v);
}

static int mq_call(struct engine *e, struct task *t, struct verdict *v)
{
	uint64_t deadline;
	int r;

	r = timeout_of(e, t, t->call.args[4], true, &deadline);
	if (r)
		return r < 0 ? r : verdict_errno(v, r);
	return attempt_call(e, t, deadline, ETIMEDOUT, v);
}

int handle_ipc_mq_timedsend(struct engine *e, struct task *t, struct verdict *v)
{
	return mq_call(e, t, v);
}

int handle_ipc_mq_timedreceive(struct engine *e, struct task *t, struct verdict *v)
{
	return mq_call(e, t, v);
}
