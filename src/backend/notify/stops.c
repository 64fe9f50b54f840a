/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a ptrace stop means. Stops come from waitpid with a status: the high bits tell the PTRACE_EVENT, 0 a signal about
 * to be delivered. A request on a stopped task fails with ESRCH when the task was killed meanwhile: then nothing is
 * reported here, its death will be.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel's own result of a call that goes on by another one (ERESTART_RESTARTBLOCK). */
enum { RESTART_BLOCK = -516 };

int notify_report(struct notify *n, struct notify_task *t, struct event *event)
{
	t->where = WHERE_STOP;
	t->expect = EXPECT_NOTHING;
	t->passed = false;
	t->stop = event->kind;
	event->task = t->number;
	return queue_push(&n->queue, event);
}

/* The child stops before its first instruction; which of the two stops is seen first is chance. */
static int await_newborn(struct notify *n, pid_t child, bool *ret_alive)
{
	int status;

	*ret_alive = newborns_take(&n->newborns, child);
	if (*ret_alive)
		return 0;
	while (waitpid(child, &status, __WALL) < 0)
		if (errno != EINTR)
			return errno == ECHILD ? 0 : -errno;
	*ret_alive = WIFSTOPPED(status);
	return 0;
}

/* Where the kernel cannot tell, they count as having copies: what is missing from a copy is found when it traps. */
static bool share_memory(pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

static int on_birth(struct notify *n, struct notify_task *parent)
{
	struct event event = { .kind = EVENT_BIRTH };
	struct notify_task *child;
	struct proc_ids ids;
	bool alive;
	pid_t tid;
	int r;

	r = companion_get_message(parent->tid, &tid);
	if (r < 0 || tid == 0)
		return r;
	r = await_newborn(n, tid, &alive);
	if (r < 0)
		return r;
	r = alive ? procfs_ids_at_birth(n, tid, parent->process->tgid, &ids) : -ESRCH;
	if (r == -ESRCH)
		return companion_go(parent->tid, 0); /* killed from outside, before anybody saw it */
	if (r < 0)
		return r;
	child = tasks_add(&n->tasks, tid, ids.tgid, ids.vpid);
	if (!child)
		return -ENOMEM;
	r = child->process == parent->process ? 0
					      : tasks_inherit_code(child->process, parent->process, share_memory(tid, parent->tid));
	if (r < 0)
		return r;
	child->where = WHERE_STOP;
	child->stop = EVENT_BIRTH;
	event.birth.child = child->number;
	event.birth.vtid = ids.vtid;
	event.birth.vpid = ids.vpid;
	return notify_report(n, parent, &event);
}

/* The other threads are gone; the former leader among them vanished without a word to its tracer. */
static int bury_siblings(struct notify *n, const struct notify_task *survivor)
{
	struct event event = { .kind = EVENT_EXIT };
	struct notify_task *t;
	int r;

	while (survivor->process->n_tasks > 1) {
		t = tasks_sibling(&n->tasks, survivor);
		if (!t)
			return -EPROTO;
		event.task = t->number;
		r = tasks_bury(&n->tasks, t);
		if (r == 0)
			r = queue_push(&n->queue, &event);
		if (r < 0)
			return r;
	}
	return 0;
}

/* tid: the leader's, whoever has called. */
static int on_exec(struct notify *n, pid_t tid)
{
	struct event event = { .kind = EVENT_EXEC };
	struct notify_task *t;
	pid_t former;
	int r;

	r = companion_get_message(tid, &former);
	if (r < 0 || former == 0)
		return r;
	t = tasks_by_tid(&n->tasks, former);
	if (!t)
		return -EPROTO;
	r = bury_siblings(n, t);
	if (r == 0 && former != t->process->tgid)
		r = tasks_become_leader(&n->tasks, t);
	if (r == 0)
		r = tasks_fresh_code(t->process);
	if (r < 0)
		return r;
	n->adopting = false;
	handles_forget(n, former);
	handles_forget(n, t->tid);
	paths_forget(n, former); /* its credentials may be others */
	paths_forget(n, t->tid);
	event.old_task = t->number;
	return notify_report(n, t, &event);
}

static bool same_sender(const struct notify *n, const struct sent_signal *sent, const struct notify_task *t,
			const siginfo_t *info)
{
	if (sent->info.si_signo != info->si_signo || (sent->tid != 0 && sent->tid != t->tid))
		return false;
	/* the supervisor is process 0 to a guest in a pid namespace of its own */
	return info->si_code == (sent->tid ? SI_TKILL : SI_USER) && (info->si_pid == 0 || info->si_pid == n->self);
}

/* A signal that was sent in somebody's name, through a call that cannot carry its contents. Is it one? */
static bool restore_contents(const struct notify *n, struct notify_task *t, siginfo_t *info)
{
	struct sent_signal **link, *sent;

	for (link = &t->process->sent; (sent = *link); link = &sent->next) {
		if (!same_sender(n, sent, t, info))
			continue;
		*info = sent->info;
		*link = sent->next;
		free(sent);
		return true;
	}
	return false;
}

/*
 * From outside of the container, by nobody of ours, and ignored: the kernel would have dropped it, but for the tracer. runc hands every signal on to
 * the container's first process, also those that the Go runtime sends to itself whenever it likes (SIGURG).
 */
static bool is_dropped(struct notify *n, const struct notify_task *t, const siginfo_t *info)
{
	struct signal_state state;

	return info->si_code == SI_USER && info->si_pid == 0 && notify_signal_state(&n->guest, t->number, &state) == 0 &&
	       signal_state_ignored(&state) >> (info->si_signo - 1) & 1;
}

/*
 * The kernel would not have disturbed the call that it runs (fork looks for signals, whatever they are): that it comes again is nobody's business.
 */
static int drop_signal(struct notify_task *t)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs) < 0)
		return errno == ESRCH ? 0 : -errno;
	t->repeats = 0;
	if (t->passed && (int64_t)regs.orig_rax == t->call_nr && companion_repeats(&regs))
		t->repeats = (int64_t)regs.rax == RESTART_BLOCK ? SYS_restart_syscall : t->call_nr;
	return companion_go(t->tid, 0);
}

/*
 * kill -STOP from outside of the container. Whoever has the turn keeps it and stands still until SIGCONT comes, and so does the run: a machine that is slow for
 * a while, which nobody in it can tell. Let to the kernel the stop would be seen, by the parent and in interrupted calls, and the others would go on
 * meanwhile: another run. Those without the turn come to their stop with their next one, unless SIGCONT has taken it back by then.
 */
static bool is_stop_from_outside(const siginfo_t *info)
{
	return info->si_signo == SIGSTOP && info->si_code == SI_USER && info->si_pid == 0;
}

/* The signal is dropped; before any more code the task stops in the way in which one can listen for SIGCONT. */
static int freeze(struct notify_task *t)
{
	int r = companion_interrupt(t->tid);

	t->frozen = true;
	return r < 0 ? r : drop_signal(t);
}

static bool stays_frozen(struct notify *n, const struct notify_task *t)
{
	struct signal_state state;

	return t->frozen && notify_signal_state(&n->guest, t->number, &state) == 0 &&
	       !((state.process_pending | state.thread_pending) >> (SIGCONT - 1) & 1);
}

int notify_signal_taken(struct guest *g, int task, siginfo_t *info)
{
	struct notify_task *t = notify_find(g, task);

	return t ? restore_contents(notify_of(g), t, info) : -ESRCH;
}

static int on_signal(struct notify *n, struct notify_task *t)
{
	struct event event = { .kind = EVENT_SIGNAL };
	int r;

	r = companion_get_siginfo(t->tid, &t->siginfo);
	if (r == 0)
		r = points_recognise(n, t);
	if (r > 0)
		return 0;
	if (r == 0)
		r = trap_recognise(n, t, &event);
	if (r < 0)
		return r == -ESRCH ? 0 : r;
	if (r > 0)
		return notify_report(n, t, &event);
	if (n->fresh && t->siginfo.si_signo == SIGURG)
		return companion_go(t->tid, 0); /* a Go runtime's, to itself */
	event.siginfo = t->siginfo;
	if (!restore_contents(n, t, &event.siginfo) && is_dropped(n, t, &event.siginfo))
		return drop_signal(t);
	if (is_stop_from_outside(&event.siginfo))
		return freeze(t);
	return notify_report(n, t, &event);
}

static int on_done(struct notify *n, struct notify_task *t)
{
	struct event event = { .kind = EVENT_DONE };
	int r;

	r = companion_get_result(t->tid, &event.result);
	if (r < 0)
		return r == -ESRCH ? 0 : r;
	return notify_report(n, t, &event);
}

static int on_group_stop(struct notify *n, struct notify_task *t, int signo)
{
	struct event event = { .kind = EVENT_STOPPED, .signo = signo };

	if (t->where == WHERE_LISTEN)
		return companion_listen(t->tid); /* known to be stopped */
	return notify_report(n, t, &event);
}

static int on_trap(struct notify *n, struct notify_task *t)
{
	struct event event = { .kind = EVENT_CONTINUED };

	if (t->where == WHERE_LISTEN)
		return notify_report(n, t, &event);
	if (stays_frozen(n, t))
		return companion_listen(t->tid);
	if (t->expect == EXPECT_DONE)
		return on_done(n, t);
	if (t->expect == EXPECT_POINT || t->frozen) {
		t->frozen = false;
		t->expect = EXPECT_NOTHING;
		return points_go(n, t);
	}
	t->expect = EXPECT_NOTHING; /* ours, or the kernel's note that somebody sent SIGCONT */
	return companion_go(t->tid, 0);
}

int notify_stop(struct notify *n, pid_t tid, int status)
{
	struct notify_task *t;
	int signo = WSTOPSIG(status);

	if (status >> 16 == PTRACE_EVENT_EXEC)
		return on_exec(n, tid);
	t = tasks_by_tid(&n->tasks, tid);
	if (!t)
		return newborns_add(&n->newborns, tid);
	switch (status >> 16) {
	case 0:
		return signo == COMPANION_SYSCALL_STOP ? on_done(n, t) : on_signal(n, t);
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		return on_birth(n, t);
	case PTRACE_EVENT_STOP:
		return signo == SIGTRAP ? on_trap(n, t) : on_group_stop(n, t, signo);
	default:
		return -EPROTO;
	}
}
