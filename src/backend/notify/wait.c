/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The next event. The usual case, a call of the task that was resumed, costs two system calls here: poll and receive.
 *
 * A call is received before anything is reaped: reaping makes a parent's SIGCHLD, and a signal that meets a call which is not
 * yet received would interrupt it.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A task that is not traced (CLONE_UNTRACED) would outlive the run, and run free. Letting one be made was the mistake. */
static int reject_stranger(pid_t tid)
{
	(void)kill(tid, SIGKILL);
	return -EPROTO;
}

static int take_call(struct notify *n, int listener)
{
	struct event event = { 0 };
	struct call_cookie cookie;
	struct notify_task *t;
	pid_t tid;
	int r;

	r = listener_receive(n, listener, &tid, &cookie, &event);
	if (r <= 0)
		return r;
	t = tasks_by_tid(&n->tasks, tid);
	/* The runtime's: of another thread, or the execve once more because a signal of the runtime's own came in between. */
	if (n->adopting) {
		n->strange_calls++;
		return listener_continue(n, &cookie);
	}
	if (!t)
		return reject_stranger(tid);
	if (t->where != WHERE_RUNNING)
		return -EPROTO;
	if (t->passed && t->repeats && t->repeats == event.call.nr) {
		t->repeats = 0;
		t->cookie = cookie;
		return listener_continue(n, &cookie);
	}
	n->fresh = false;
	t->where = WHERE_CALL;
	t->cookie = cookie;
	t->call_nr = event.call.nr;
	t->passed = false;
	event.task = t->number;
	return queue_push(&n->queue, &event);
}

/*
 * A filter's KILL_THREAD ends one thread with what looks like a signal that ends the process. The others tell: theirs is to stay
 * where they are, or to die. A leader that is dead already says nothing; when it alone is left the process does end.
 */
static int died_alone(struct notify *n, const struct notify_task *t, int status)
{
	const struct notify_task *sibling;

	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS || t->process->ending || t->tid == t->process->tgid)
		return 0;
	sibling = tasks_thread_beside(&n->tasks, t);
	return sibling ? notify_settle_alive(n, sibling) : 0;
}

static int bury(struct notify *n, pid_t tid, int status)
{
	struct death death = { .status = status };
	struct notify_task *t;
	int r;

	(void)newborns_take(&n->newborns, tid);
	t = tasks_by_tid(&n->tasks, tid);
	if (!t)
		return 0; /* killed from outside before its birth was reported */
	r = died_alone(n, t, status);
	if (r < 0)
		return r;
	if (r)
		status = death.status = 0; /* nobody asks for it: the process's status is another's */
	death.number = t->number;
	death.tgid = t->process->tgid;
	death.leader = tid == death.tgid;
	if (WIFSIGNALED(status))
		t->process->ending = true;
	death.held = t->process->ending && !death.leader;
	handles_forget(n, tid);
	paths_forget(n, tid);
	r = tasks_bury(&n->tasks, t);
	return r < 0 ? r : deaths_add(&n->deaths, &death);
}

/* Reaps the process, all of which dies, threads before their leader. */
static int reap_process(struct notify *n, const struct notify_process *p)
{
	struct notify_task *t, *next;
	int status, r = 0;
	pid_t tid, tgid = p->tgid;

	HASH_ITER(hh_number, n->tasks.by_number, t, next) {
		if (t->process == p && r == 0)
			r = notify_settle_zombie(n, t->tid);
	}
	HASH_ITER(hh_number, n->tasks.by_number, t, next) {
		tid = t->tid;
		if (r == 0 && t->process == p && tid != tgid && waitpid(tid, &status, WNOHANG | __WALL) == tid)
			r = bury(n, tid, status);
	}
	/* Not yet where there is a thread that nobody has been told of: then it is reaped as others are. */
	if (r == 0 && waitpid(tgid, &status, WNOHANG | __WALL) == tgid)
		r = bury(n, tgid, status);
	return r < 0 ? r : deaths_report(&n->deaths, &n->queue);
}

int notify_settle_killed(struct guest *g, int task)
{
	struct notify *n = notify_of(g);
	const struct notify_task *t = notify_find(g, task);
	int r;

	if (!t || t->where == WHERE_DEAD)
		return 1;
	r = notify_settle_alive(n, t);
	if (r != 0)
		return r < 0 ? r : 0;
	r = reap_process(n, t->process);
	return r < 0 ? r : 1;
}

/* Who runs is in a call that may be what others die of. Not for ever: when it blocks there, the others' affairs go on. */
static const struct notify_task *in_call_that_kills(struct notify *n)
{
	const struct notify_task *t = notify_find(&n->guest, n->running);
	bool ends_threads = t && t->passed && (t->call_nr == SYS_execve || t->call_nr == SYS_execveat);

	if (!t || t->where != WHERE_RUNNING || !(n->stops_there || ends_threads))
		return NULL;
	return n->watchdog_ms >= 0 && n->silent_ms >= (unsigned)n->watchdog_ms ? NULL : t;
}

/*
 * A hooked call is under way: what it returns is told before whatever it does to others (SIGCONT lets them go on), and whoever died of it is
 * reaped when the engine has asked for that, in its order (a reaped process's parent gets its signal by that).
 */
static int reap_caller(struct notify *n, const struct notify_task *caller)
{
	siginfo_t info = { .si_pid = 0 };
	char state;
	int r;

	n->reap_later = true;
	if (waitid(P_PID, (id_t)caller->tid, &info, WSTOPPED | WNOHANG | __WALL) < 0 && errno != ECHILD)
		return -errno;
	if (info.si_pid != 0)
		return notify_stop(n, info.si_pid, info.si_status << 8 | 0x7f);
	r = procfs_state(n, caller->tid, &state);
	if (r < 0 && r != -ESRCH)
		return r;
	return r == 0 && state == 'Z' ? reap_process(n, caller->process) : 0;
}

/* Does a process end as a whole, and is not dead yet? Process 1 waits for all others to be reaped. */
static bool any_ending(const struct notify *n)
{
	const struct notify_process *p;

	for (p = n->tasks.processes; p; p = p->hh.next)
		if (p->ending && p->n_tasks > 0 && p->vpid != 1)
			return true;
	return false;
}

/*
 * A parent's death may kill its children at once (PR_SET_PDEATHSIG), which may be found dead together with it. It is the oldest of them, dead before
 * them, and is taken alone: the engine asks for its children then. So is a process that ends as a whole, whose threads have children of their own. The tid as
 * of waitpid(2).
 */
static pid_t take_oldest(struct notify *n, int *ret_status)
{
	siginfo_t info = { .si_pid = 0 }, older;
	struct notify_task *t, *next;
	bool ending;

	if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WCLONE) < 0)
		return -1;
	if (info.si_pid == 0)
		return 0;
	if (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)
		return waitpid(info.si_pid, ret_status, WNOHANG | __WALL);
	ending = any_ending(n);
	HASH_ITER(hh_number, n->tasks.by_number, t, next) {
		older.si_pid = 0;
		if (t->where != WHERE_DEAD && (!ending || t->process->ending) && waitid(P_PID, (id_t)t->tid, &older, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && older.si_pid != 0)
			return waitpid(t->tid, ret_status, WNOHANG | __WALL);
	}
	return ending ? 0 : waitpid(info.si_pid, ret_status, WNOHANG | __WALL); /* nobody has been told of it */
}

/* The next that has stopped or died, 0: none, -errno. */
static pid_t take_change(struct notify *n, int *ret_status)
{
	/* __WCLONE without __WALL: tracees of any kind, but no ordinary children, which are somebody else's to reap */
	pid_t tid = n->guest.death_kills ? take_oldest(n, ret_status) : waitpid(-1, ret_status, WNOHANG | __WCLONE);

	return tid >= 0 ? tid : errno == ECHILD ? 0 : -errno;
}

int notify_reap(struct notify *n)
{
	const struct notify_task *caller = in_call_that_kills(n);
	int status, r;
	pid_t tid;

	if (caller && n->stops_there)
		return reap_caller(n, caller);
	n->reap_later = caller;
	for (;;) {
		tid = take_change(n, &status);
		if (tid < 0)
			return (int)tid;
		if (tid == 0)
			return in_call_that_kills(n) ? 0 : deaths_report(&n->deaths, &n->queue);
		if (WIFSTOPPED(status)) {
			r = deaths_report(&n->deaths, &n->queue);
			if (r == 0)
				r = notify_stop(n, tid, status);
		} else {
			r = bury(n, tid, status);
		}
		if (r < 0)
			return r;
		if (n->guest.death_kills && deaths_any_ready(&n->deaths) && !in_call_that_kills(n)) {
			n->reap_later = true;
			return deaths_report(&n->deaths, &n->queue);
		}
	}
}

int notify_reap_late(struct notify *n)
{
	return n->reap_later && !in_call_that_kills(n) ? notify_reap(n) : 0;
}

int notify_take_signals(struct notify *n)
{
	struct signalfd_siginfo infos[8];
	struct event event = { .kind = EVENT_OUTSIDE };
	bool reap = false;
	ssize_t len;
	size_t i;
	int r;

	len = read(n->signal_fd, infos, sizeof(infos));
	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	for (i = 0; i < (size_t)len / sizeof(infos[0]); i++) {
		if (infos[i].ssi_signo == SIGCHLD) {
			reap = true;
			continue;
		}
		event.signo = (int)infos[i].ssi_signo;
		r = queue_push(&n->queue, &event);
		if (r < 0)
			return r;
	}
	return reap ? notify_reap(n) : 0;
}

/* The first alarms come early, for the sake of tasks that spin; to one that is asleep in the kernel the whole period is left. */
enum { ALARM_FIRST_MS = 20, ALARM_SPUN_MS = 2 };

static int alarm_period(const struct notify *n)
{
	uint64_t first = n->spun ? ALARM_SPUN_MS : ALARM_FIRST_MS, period = n->silent_ms > first ? n->silent_ms : first;

	if (n->watchdog_ms < 0)
		return -1;
	if (n->guest.outsider_waits)
		period = first;
	return period < (uint64_t)n->watchdog_ms ? (int)period : n->watchdog_ms;
}

/* Is the task, which was let into a call, surely back? Since the alarm before it has used time, and none of it in the kernel. */
static bool is_back(struct notify *n, const struct notify_task *t)
{
	uint64_t user, system, user_before = n->user_ticks, system_before = n->system_ticks;

	if (n->stops_there)
		return false;
	if (!n->entered_kernel)
		return true;
	if (procfs_times(n, t->tid, &user, &system) < 0)
		return false;
	n->user_ticks = user;
	n->system_ticks = system;
	if (user_before != UINT64_MAX && user > user_before && system == system_before)
		n->entered_kernel = false;
	return !n->entered_kernel;
}

static int raise_alarm(struct notify *n, int period)
{
	struct event event = { .kind = EVENT_ALARM, .task = n->running };
	const struct notify_task *t = notify_find(&n->guest, n->running);
	char state = '\0';
	int r;

	r = t ? procfs_state(n, t->tid, &state) : 0;
	if (r < 0 && r != -ESRCH)
		return r;
	n->silent_ms += (unsigned)period;
	n->silent_total_ms += (unsigned)period;
	if (state == 'Z') { /* nobody is told of a leader's death before its threads'; of others there is a report under way */
		event.alarm.dead = t->tid == t->process->tgid && t->process->n_tasks > 1 && !t->process->ending;
		return event.alarm.dead ? queue_push(&n->queue, &event) : 0;
	}
	/* Not 'D': a disk that is slow, or a busy host, which will be over without anybody else's doing. */
	event.alarm.in_kernel = state == 'S';
	if (event.alarm.in_kernel ? n->silent_ms < (unsigned)n->watchdog_ms : !t || !is_back(n, t))
		return 0;
	return queue_push(&n->queue, &event);
}

size_t notify_own_polls(const struct notify *n, struct pollfd *fds)
{
	for (size_t i = 0; i < n->n_listeners; i++)
		fds[i] = (struct pollfd){ .fd = n->listeners[i], .events = POLLIN };
	fds[n->n_listeners] = (struct pollfd){ .fd = n->signal_fd, .events = POLLIN };
	if (n->first_pidfd < 0)
		return n->n_listeners + 1;
	fds[n->n_listeners + 1] = (struct pollfd){ .fd = n->first_pidfd, .events = POLLIN };
	return n->n_listeners + 2;
}

/* It was not started, and is somebody else's to reap, who alone learns how it has ended. */
static int bury_first(struct notify *n)
{
	const struct notify_task *t = notify_find(&n->guest, 0);
	int r;

	n->first_pidfd = -1;
	r = t ? bury(n, t->tid, SIGKILL) : 0;
	return r < 0 ? r : deaths_report(&n->deaths, &n->queue);
}

int notify_take(struct notify *n, const struct pollfd *fds)
{
	size_t signals = n->n_listeners;
	bool first_ended = n->first_pidfd >= 0 && fds[signals + 1].revents;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < signals; i++) {
		if (fds[i].revents & POLLIN)
			r = take_call(n, fds[i].fd);
		else if (fds[i].revents & (POLLHUP | POLLERR))
			listener_close(&n->listeners[i]); /* nobody is left who could call; their deaths follow */
	}
	if (r >= 0 && (fds[signals].revents & POLLIN))
		r = notify_take_signals(n);
	if (r >= 0 && first_ended)
		r = bury_first(n);
	return r < 0 ? r : 0;
}

/* Nobody runs, or whoever does is stopped from outside: then there is nobody to watch. */
static bool is_watched(struct notify *n)
{
	const struct notify_task *t = notify_find(&n->guest, n->running);

	return t && t->where == WHERE_RUNNING && !t->frozen;
}

int notify_look_for_signals(struct notify *n)
{
	const struct event event = { .kind = EVENT_OUTSIDE };
	struct notify_process *p, *next;
	char text[4096];
	const char *pending, *blocked;
	int r;

	HASH_ITER(hh, n->tasks.processes, p, next) {
		r = procfs_status(n, p->tgid, text, sizeof(text));
		if (r < 0)
			continue; /* its end will be reported */
		pending = procfs_field(text, "ShdPnd");
		blocked = procfs_field(text, "SigBlk");
		if (pending && blocked && strtoull(pending, NULL, 16) & ~strtoull(blocked, NULL, 16) & ~(1ull << (SIGSTOP - 1))) /* no key sends that */
			return queue_push(&n->queue, &event);
	}
	return 0;
}

static int wait_more(struct notify *n)
{
	struct pollfd *fds = n->own_polls;
	size_t n_fds = notify_own_polls(n, fds);
	bool watched = is_watched(n);
	int period = watched ? alarm_period(n) : n->terminal ? IDLE_LOOK_MS : -1;
	int r;

	r = notify_reap_late(n);
	if (r < 0 || n->queue.n > 0)
		return r;
	r = poll(fds, n_fds, period);
	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	if (r > 0)
		return notify_take(n, fds);
	return watched ? raise_alarm(n, period) : notify_look_for_signals(n);
}

int notify_wait(struct guest *g, struct event *ret_event)
{
	struct notify *n = notify_of(g);
	int r;

	while (!queue_pop(&n->queue, ret_event)) {
		if (!n->tasks.by_tid)
			return -ECHILD;
		r = wait_more(n);
		if (r < 0)
			return r;
	}
	if (ret_event->kind != EVENT_ALARM && ret_event->kind != EVENT_OUTSIDE && ret_event->kind != EVENT_JOIN) {
		ret_event->points = (struct preempt_point){ n->points_unit, n->points_passed };
		n->points_passed = 0;
	}
	if (ret_event->kind == EVENT_EXIT)
		tasks_remove(&n->tasks, ret_event->task);
	return 0;
}
