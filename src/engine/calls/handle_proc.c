/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes and threads: birth, execve, exit, waiting for children, process groups. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <utlist.h>

#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/files/fdtable.h"
#include "engine/proc/credentials.h"
#include "engine/wait.h"

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

/* Which children a wait is about. */
struct wait_request {
	enum { BY_ANY, BY_PID, BY_PGID } by;
	int id;
	int options;
};

static bool wait_matches(const struct wait_request *w, struct task *t, const struct process *p)
{
	bool clone_child = p->exit_signal != SIGCHLD;

	if (p->parent != t->process)
		return false;
	if (w->by == BY_PID && p->vpid != w->id)
		return false;
	if (w->by == BY_PGID && p->pgid != w->id)
		return false;
	return w->options & __WALL || clone_child == ((w->options & __WCLONE) != 0);
}

static bool wait_satisfied(const struct wait_request *w, const struct process *p)
{
	if (w->options & WEXITED && p->zombie)
		return true;
	if (w->options & WSTOPPED && p->stop_unreported)
		return true;
	return w->options & WCONTINUED && p->continue_unreported;
}

/* A wait that has returned: the child it reported has changed for us, too. */
static void wait_reported(struct engine *e, int vpid, int options)
{
	struct process *p = process_find(e, vpid);

	if (!p || options & WNOWAIT)
		return;
	if (p->zombie) {
		if (p->parent)
			p->parent->children_cpu_ns = time_add(p->parent->children_cpu_ns, time_add(p->cpu_ns, p->children_cpu_ns));
		process_forget(e, p);
	} else if (p->stop_unreported) {
		p->stop_unreported = false;
	} else {
		p->continue_unreported = false;
	}
}

/* Decides about a wait; VERDICT_HOOK when there is something to report. */
static int wait_decide(struct engine *e, struct task *t, const struct wait_request *w, struct verdict *v)
{
	struct process *p;
	bool any = false;

	LL_FOREACH(e->processes, p) {
		if (!wait_matches(w, t, p))
			continue;
		any = true;
		if (!wait_satisfied(w, p))
			continue;
		t->call.scratch[0] = (uint64_t)p->vpid; /* the call may not say which */
		return verdict_hook(v);
	}
	if (!any || w->options & WNOHANG)
		return verdict_continue(v);
	wait_for(t, WAIT_CHILD);
	return verdict_block(v);
}

/* What the child and those that it waited for have used; to be asked before it is forgotten. */
static int write_rusage(struct engine *e, struct task *t, uint64_t addr, int vpid)
{
	const struct process *p = process_find(e, vpid);
	uint64_t ns = p ? time_add(p->cpu_ns, p->children_cpu_ns) / 2 : 0;
	struct timeval half = { (time_t)(ns / NS_PER_S), (suseconds_t)(ns % NS_PER_S / 1000) };
	struct rusage usage = { .ru_utime = half, .ru_stime = half, .ru_maxrss = 4096, .ru_minflt = 100 };
	int r;

	if (!addr)
		return 0;
	r = guest_write(e, t, addr, &usage, sizeof(usage));
	return r == -EFAULT ? 0 : r;
}

static int done(struct verdict *v)
{
	v->kind = VERDICT_GO;
	return 0;
}

int handle_proc_wait4(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct wait_request w = { .options = (int)a[2] };
	int pid = (int)a[0], r;

	if (t->call.done) {
		if (t->call.result <= 0 && t->call.result != -EFAULT)
			return done(v);
		pid = t->call.result > 0 ? (int)t->call.result : (int)t->call.scratch[0]; /* who cannot be told has waited nevertheless */
		r = write_rusage(e, t, a[3], pid);
		wait_reported(e, pid, w.options);
		return r < 0 ? r : done(v);
	}
	if (w.options & ~(WNOHANG | WUNTRACED | WCONTINUED | __WNOTHREAD | (int)__WCLONE | __WALL) || pid == INT32_MIN)
		return verdict_continue(v); /* the kernel says what is wrong */
	w.options |= WEXITED;
	w.by = pid > 0 ? BY_PID : pid == -1 ? BY_ANY : BY_PGID;
	w.id = pid == 0 ? t->process->pgid : pid < 0 ? -pid : pid;
	return wait_decide(e, t, &w, v);
}

int handle_proc_waitid(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct wait_request w = { .id = (int)a[1], .options = (int)a[3] };
	siginfo_t info = { 0 };
	int pid, r;

	if (t->call.done) {
		if (t->call.result == 0 && a[2]) {
			r = guest_read(e, t, a[2], &info, sizeof(info));
			if (r < 0 && r != -EFAULT)
				return r;
			info.si_utime = info.si_stime = 0;
			if (info.si_pid)
				(void)guest_write(e, t, a[2], &info, sizeof(info));
		}
		if (t->call.result != 0 && t->call.result != -EFAULT)
			return done(v);
		pid = info.si_pid ? info.si_pid : (int)t->call.scratch[0];
		r = write_rusage(e, t, a[4], pid);
		wait_reported(e, pid, w.options);
		return r < 0 ? r : done(v);
	}
	switch ((int)a[0]) {
	case P_ALL:
		w.by = BY_ANY;
		break;
	case P_PID:
		w.by = BY_PID;
		break;
	case P_PGID:
		w.by = BY_PGID;
		w.id = w.id ? w.id : t->process->pgid;
		break;
	case P_PIDFD:
		r = e->g->ops->pidfd_target ? e->g->ops->pidfd_target(e->g, t->id, w.id) : -EBADF;
		if (r <= 0)
			return verdict_continue(v);
		w.by = BY_PID;
		w.id = r;
		if (fdtable_nonblocking(e, t, (int)a[1]) > 0)
			w.options |= WNOHANG; /* EAGAIN in place of nothing */
		break;
	default:
		return verdict_continue(v);
	}
	if (!(w.options & (WEXITED | WSTOPPED | WCONTINUED)) ||
	    w.options & ~(WNOHANG | WNOWAIT | WEXITED | WSTOPPED | WCONTINUED | __WNOTHREAD | (int)__WCLONE | __WALL))
		return verdict_continue(v); /* the kernel says what is wrong */
	return wait_decide(e, t, &w, v);
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
