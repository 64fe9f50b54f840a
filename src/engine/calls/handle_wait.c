/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for children: wait4, waitid. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <utlist.h>

#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/files/fdtable.h"
#include "engine/wait.h"

enum { NR_wait4 = 61 };
enum { FOUND, NARROWED }; /* notes of a call: who it is about; its arguments are changed */

/* Which children a wait is about. */
struct wait_request {
	enum { BY_ANY, BY_PID, BY_PGID } by;
	int id;
	int options;
};

static bool wait_matches(const struct wait_request *w, const struct process *p)
{
	bool clone_child = p->exit_signal != SIGCHLD;

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

/*
 * Where the kernel's order may be another than ours, because it has orphans among others, the call is made to ask for one child. That cannot be while
 * a signal is on its way: its handler runs before the call, not after it.
 */
static int wait_for_one(struct engine *e, struct task *t, const struct process *p, struct verdict *v)
{
	uint64_t args[6];
	int r;

	memcpy(args, t->call.args, sizeof(args));
	if (t->call.nr == NR_wait4) {
		args[0] = (uint64_t)p->vpid;
	} else {
		args[0] = P_PID;
		args[1] = (uint64_t)p->vpid;
	}
	r = e->g->ops->set_args(e->g, t->id, args);
	if (r == -EBUSY)
		return wait_interrupt(t, v, WAIT_ERESTARTNOINTR);
	t->call.scratch[NARROWED] = true;
	return r < 0 ? r : verdict_hook(v);
}

/* Decides about a wait; VERDICT_HOOK when there is something to report: of the first child that has it. */
static int wait_decide(struct engine *e, struct task *t, const struct wait_request *w, struct verdict *v)
{
	struct process *p, *found = NULL;
	bool adopted = false;
	unsigned n = 0;

	DL_FOREACH2(t->process->children, p, younger) {
		if (!wait_matches(w, p))
			continue;
		n++;
		adopted |= p->adopted;
		if (!found && wait_satisfied(w, p))
			found = p;
	}
	if (found) {
		t->call.scratch[FOUND] = (uint64_t)found->vpid; /* the call may not say which */
		return n > 1 && adopted && e->g->ops->set_args ? wait_for_one(e, t, found, v) : verdict_hook(v);
	}
	if (!n || w->options & WNOHANG)
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

/* The call is over, and is the guest's own again. */
static int done(struct engine *e, struct task *t, struct verdict *v)
{
	v->kind = VERDICT_GO;
	return t->call.scratch[NARROWED] ? e->g->ops->set_args(e->g, t->id, t->call.args) : 0;
}

int handle_proc_wait4(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct wait_request w = { .options = (int)a[2] };
	int pid = (int)a[0], r;

	if (t->call.done) {
		if (t->call.result <= 0 && t->call.result != -EFAULT)
			return done(e, t, v);
		pid = t->call.result > 0 ? (int)t->call.result : (int)t->call.scratch[FOUND]; /* who cannot be told has waited nevertheless */
		r = write_rusage(e, t, a[3], pid);
		wait_reported(e, pid, w.options);
		return r < 0 ? r : done(e, t, v);
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
			return done(e, t, v);
		pid = info.si_pid ? info.si_pid : (int)t->call.scratch[FOUND];
		r = write_rusage(e, t, a[4], pid);
		wait_reported(e, pid, w.options);
		return r < 0 ? r : done(e, t, v);
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
