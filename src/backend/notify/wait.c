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
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

struct death {
	int number, status;
};

struct deaths {
	struct death *list;
	size_t n, room;
};

static int take_call(struct notify *n)
{
	struct event event = { 0 };
	struct notify_task *t;
	uint64_t cookie;
	pid_t tid;
	int r;

	r = listener_receive(n, &tid, &cookie, &event);
	if (r <= 0)
		return r;
	t = tasks_by_tid(&n->tasks, tid);
	if (!t || t->where != WHERE_RUNNING)
		return -EPROTO; /* a task that nobody told us of, or one that should not run */
	t->where = WHERE_CALL;
	t->cookie = cookie;
	event.task = t->number;
	return queue_push(&n->queue, &event);
}

static int note_death(struct deaths *deaths, int number, int status)
{
	struct death *list;
	size_t room;

	if (deaths->n == deaths->room) {
		room = deaths->room ? deaths->room * 2 : 16;
		list = reallocarray(deaths->list, room, sizeof(*list));
		if (!list)
			return -ENOMEM;
		deaths->list = list;
		deaths->room = room;
	}
	deaths->list[deaths->n++] = (struct death){ number, status };
	return 0;
}

static int compare_deaths(const void *a, const void *b)
{
	const struct death *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Reports those that were found dead together in order of their numbers: in which order they died is chance. */
static int report_deaths(struct notify *n, struct deaths *deaths)
{
	struct event event = { .kind = EVENT_EXIT };
	size_t i;
	int r;

	if (deaths->n > 1)
		qsort(deaths->list, deaths->n, sizeof(*deaths->list), compare_deaths);
	for (i = 0; i < deaths->n; i++) {
		event.task = deaths->list[i].number;
		event.wait_status = deaths->list[i].status;
		r = queue_push(&n->queue, &event);
		if (r < 0)
			return r;
	}
	deaths->n = 0;
	return 0;
}

static int bury(struct notify *n, struct deaths *deaths, pid_t tid, int status)
{
	struct notify_task *t;
	int r;

	(void)newborns_take(&n->newborns, tid);
	t = tasks_by_tid(&n->tasks, tid);
	if (!t)
		return 0; /* killed from outside before its birth was reported */
	handles_forget(n, tid);
	r = tasks_bury(&n->tasks, t);
	if (r < 0)
		return r;
	return note_death(deaths, t->number, status);
}

static int reap_all(struct notify *n, struct deaths *deaths)
{
	int status, r;
	pid_t tid;

	for (;;) {
		/* __WCLONE without __WALL: tracees of any kind, but no ordinary children, which are somebody else's to reap */
		tid = waitpid(-1, &status, WNOHANG | __WCLONE);
		if (tid == 0 || (tid < 0 && errno == ECHILD))
			return report_deaths(n, deaths);
		if (tid < 0)
			return -errno;
		if (WIFSTOPPED(status)) {
			r = report_deaths(n, deaths);
			if (r == 0)
				r = notify_stop(n, tid, status);
		} else {
			r = bury(n, deaths, tid, status);
		}
		if (r < 0)
			return r;
	}
}

int notify_reap(struct notify *n)
{
	struct deaths deaths = { 0 };
	int r;

	r = reap_all(n, &deaths);
	free(deaths.list);
	return r;
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

static int raise_alarm(struct notify *n)
{
	struct event event = { .kind = EVENT_ALARM, .task = n->running };
	const struct notify_task *t = notify_find(&n->guest, n->running);
	char state = '\0';
	int r;

	r = t ? procfs_state(n, t->tid, &state) : 0;
	if (r < 0 && r != -ESRCH)
		return r;
	event.in_kernel = state == 'S' || state == 'D';
	return queue_push(&n->queue, &event);
}

static int wait_more(struct notify *n)
{
	struct pollfd fds[2] = {
		{ .fd = n->listener, .events = POLLIN },
		{ .fd = n->signal_fd, .events = POLLIN },
	};
	int r;

	r = poll(fds, 2, n->watchdog_ms);
	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	if (r == 0)
		return raise_alarm(n);
	if (fds[0].revents & POLLIN)
		r = take_call(n);
	else if (fds[0].revents & (POLLHUP | POLLERR))
		listener_close(n); /* nobody is left who could call; their deaths follow */
	if (r >= 0 && (fds[1].revents & POLLIN))
		r = notify_take_signals(n);
	return r < 0 ? r : 0;
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
	if (ret_event->kind == EVENT_EXIT)
		tasks_remove(&n->tasks, ret_event->task);
	return 0;
}
