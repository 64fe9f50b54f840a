/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes and threads: birth, exit, process groups. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <stddef.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/proc/credentials.h"

enum { NR_fork = 57, NR_vfork = 58, NR_exit_group = 231 };
enum { CLONE3_SIZE_MAX = 4096 /* a page */, SET_TID_MAX = 32 /* MAX_PID_NS_LEVEL */, SIGNALS_MAX = 64 };

#define CLONE_NAMESPACES                                                                                               \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

/* Notes what the coming birth will need. */
static int start_clone(struct engine *e, struct task *t, struct verdict *v, uint64_t flags, int exit_signal, uint64_t child_tid)
{
	int r;

	if (flags & CLONE_NAMESPACES)
		return verdict_errno(v, EPERM);
	if (flags & CLONE_UNTRACED) /* would run out of sight */
		return verdict_errno(v, EPERM);
	r = credentials_may_clone(e, t);
	if (r <= 0)
		return r < 0 ? r : verdict_errno(v, EAGAIN);
	t->clone_flags = flags;
	t->clone_exit_signal = exit_signal;
	signals_note_sent(e, exit_signal);
	t->clone_child_tid = child_tid;
	t->call.no_return = true;
	return verdict_continue(v);
}

int handle_proc_clone(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;

	if (t->call.nr == NR_fork)
		return start_clone(e, t, v, 0, SIGCHLD, 0);
	if (t->call.nr == NR_vfork)
		return start_clone(e, t, v, CLONE_VFORK | CLONE_VM, SIGCHLD, 0);
	return start_clone(e, t, v, (uint32_t)a[0] & ~(uint64_t)CSIGNAL, (int)(a[0] & CSIGNAL), a[3]);
}

/* Fields that this kernel's interface does not have, must not be used: E2BIG. */
static int check_rest(struct engine *e, struct task *t, uint64_t addr, uint64_t known, uint64_t size)
{
	unsigned char rest[CLONE3_SIZE_MAX];
	int r;

	if (size <= known)
		return 0;
	r = guest_read(e, t, addr + known, rest, size - known);
	for (uint64_t i = 0; r >= 0 && i < size - known; i++)
		r = rest[i] ? -E2BIG : r;
	return r < 0 ? r : 0;
}

/* What the kernel says EINVAL to before it looks at anything else. */
static bool clone3_valid(const struct clone_args *args)
{
	const uint64_t known = 0xffffffffull | CLONE_CLEAR_SIGHAND | CLONE_INTO_CGROUP;

	if (args->set_tid_size > SET_TID_MAX || !args->set_tid != !args->set_tid_size)
		return false;
	if (args->exit_signal & ~(uint64_t)CSIGNAL || args->exit_signal > SIGNALS_MAX)
		return false;
	if (args->flags & CLONE_INTO_CGROUP && args->cgroup > INT_MAX)
		return false;
	if (args->flags & ~known || args->flags & (CLONE_DETACHED | (CSIGNAL & ~CLONE_NEWTIME)))
		return false;
	if ((args->flags & (CLONE_SIGHAND | CLONE_CLEAR_SIGHAND)) == (CLONE_SIGHAND | CLONE_CLEAR_SIGHAND))
		return false;
	if (args->flags & (CLONE_THREAD | CLONE_PARENT) && args->exit_signal)
		return false;
	return !args->stack == !args->stack_size;
}

int handle_proc_clone3(struct engine *e, struct task *t, struct verdict *v)
{
	struct clone_args args = { 0 };
	uint64_t size = t->call.args[1];
	int r;

	if (size > CLONE3_SIZE_MAX)
		return verdict_errno(v, E2BIG);
	if (size < CLONE_ARGS_SIZE_VER0)
		return verdict_errno(v, EINVAL);
	r = guest_read(e, t, t->call.args[0], &args, size < sizeof(args) ? size : sizeof(args));
	if (r >= 0)
		r = check_rest(e, t, t->call.args[0], sizeof(args), size);
	if (r < 0)
		return r == -EFAULT || r == -E2BIG ? verdict_errno(v, -r) : r;
	if (!clone3_valid(&args))
		return verdict_errno(v, EINVAL);
	if (args.flags & CLONE_INTO_CGROUP || args.set_tid_size)
		return verdict_errno(v, EPERM);
	return start_clone(e, t, v, args.flags, (int)args.exit_signal, args.child_tid);
}

int handle_proc_set_tid_address(struct engine *e, struct task *t, struct verdict *v)
{
	t->clear_tid_addr = t->call.args[0];
	return verdict_continue(v); /* the kernel writes there, too */
}

int handle_proc_exit(struct engine *e, struct task *t, struct verdict *v)
{
	struct process *p = t->process;

	t->call.no_return = true;
	if (t->call.nr == NR_exit_group) {
		if (p->n_tasks > 1 || (p == e->first && e->init_is_guest))
			process_mark_dying(e, p);
	} else if (t == p->leader && p->n_tasks > 1) {
		e->leader_exit = t;
	}
	return verdict_continue(v);
}

static int done(struct verdict *v)
{
	v->kind = VERDICT_GO;
	return 0;
}

/* setpgid, setsid: the kernel decides, the model follows. */
int handle_proc_setpgid(struct engine *e, struct task *t, struct verdict *v)
{
	int vpid = (int)t->call.args[0], pgid = (int)t->call.args[1];
	struct process *p;

	if (!t->call.done)
		return verdict_hook(v);
	p = vpid ? process_find(e, vpid) : t->process;
	if (t->call.result == 0 && p)
		p->pgid = pgid ? pgid : p->vpid;
	return done(v);
}

int handle_proc_setsid(struct engine *e, struct task *t, struct verdict *v)
{
	if (!t->call.done)
		return verdict_hook(v);
	if (t->call.result > 0)
		t->process->sid = t->process->pgid = t->process->vpid;
	return done(v);
}
