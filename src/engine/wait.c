/* SPDX-License-Identifier: BSD-3-Clause */
/* How handlers wait: see wait.h. */
#include "engine/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/files/fifo.h"
#include "engine/net/netlink_socket.h"
#include "engine/net/network.h"
#include "engine/net/passed.h"

/* The kernel's TCP_DELACK_MAX, and as much again. */
enum { LATE_ACK_MS = 400 };

void wait_drop(struct engine *e, struct task *t)
{
	for (size_t i = 0; i < t->wait.n_polls; i++)
		if (t->wait.polls[i].handle >= 0)
			e->g->ops->handle_release(e->g, t->wait.polls[i].handle);
	free(t->wait.polls);
	t->wait.polls = NULL;
	t->wait.n_polls = 0;
}

void wait_clear(struct engine *e, struct task *t)
{
	struct futex_waiter *futex = t->wait.futex;

	wait_drop(e, t);
	t->wait = (struct wait){ .deadline_ns = TIME_NEVER, .futex = futex };
}

void wait_for(struct task *t, enum wait_kind kind)
{
	t->wait.kind = kind;
}

void wait_until(struct engine *e, struct task *t, uint64_t deadline_ns)
{
	if (t->wait.deadline_ns != TIME_NEVER)
		return;
	if (t->sleep.valid && t->sleep.nr == t->call.nr && !memcmp(t->sleep.args, t->call.args, sizeof(t->sleep.args)))
		deadline_ns = t->sleep.deadline_ns;
	t->wait.deadline_ns = deadline_ns;
	if (deadline_ns < e->next_deadline_ns)
		e->next_deadline_ns = deadline_ns;
}

bool wait_give_way(struct engine *e, struct task *t)
{
	t->call.gives_way = true;
	if (!t->call.first || !sched_peek(&e->sched))
		return false;
	chaos_yield(e, t);
	wait_until(e, t, e->clock.now_ns);
	wait_for(t, WAIT_TIME);
	return true;
}

int wait_fds_add(struct engine *e, struct task *t, int fd, short events)
{
	struct handle_poll *grown;
	const struct fd_info *info;
	int handle, r;

	r = fdtable_info(e, t, fd, &info);
	if (r < 0)
		return r;
	handle = e->g->ops->fd_borrow(e->g, t->id, fd);
	if (handle < 0)
		return handle;
	if (info->kind == FD_SIGNALFD) { /* would be asked about the signals of whoever asks */
		t->wait.signalfds |= events & POLLIN ? info->sigmask : 0;
		events = 0;
	}
	grown = realloc(t->wait.polls, (t->wait.n_polls + 1) * sizeof(*grown));
	if (!grown) {
		e->g->ops->handle_release(e->g, handle);
		return -ENOMEM;
	}
	grown[t->wait.n_polls++] = (struct handle_poll){
		.handle = handle,
		.events = events,
		.note = info->kind == FD_NETLINK ? info->ino : 0,
	};
	t->wait.polls = grown;
	t->wait.kind = WAIT_FDS;
	return 0;
}

/* Does a signalfd that the task waits for have something to show? */
static int signalfds_ready(struct engine *e, struct task *t)
{
	struct signal_state s;
	int r;

	if (!t->wait.signalfds)
		return 0;
	r = e->g->ops->signal_state(e->g, t->id, &s);
	return r < 0 ? r : ((s.thread_pending | s.process_pending) & t->wait.signalfds) != 0;
}

/* Netlink sockets are ready when their queues are. */
static int settle_netlink(struct engine *e, struct task *t)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < t->wait.n_polls; i++)
		if (t->wait.polls[i].note)
			r = netlink_settle_inode(e, t->wait.polls[i].note, t->wait.polls[i].handle);
	return r;
}

int wait_fds_ready(struct engine *e, struct task *t)
{
	int r;

	if (!t->wait.n_polls)
		return 0;
	r = signalfds_ready(e, t);
	if (r == 0)
		r = settle_netlink(e, t);
	if (r)
		return r;
	r = network_settle(e);
	if (r == 0)
		r = passed_settle(e);
	if (r < 0)
		return r;
	r = e->g->ops->handles_poll(e->g, t->wait.polls, t->wait.n_polls, 0);
	return r < 0 ? r : r > 0;
}

int wait_fd(struct engine *e, struct task *t, int fd, short events)
{
	int r;

	if (!t->wait.n_polls) {
		r = wait_fds_add(e, t, fd, events);
		if (r < 0)
			return r;
	}
	return wait_fds_ready(e, t);
}

int wait_is_nonblocking(struct engine *e, struct task *t)
{
	int flags = e->g->ops->handle_flags(e->g, t->wait.polls[0].handle);

	return flags < 0 ? flags : (flags & O_NONBLOCK) != 0;
}

int waits_expire(struct engine *e)
{
	uint64_t next = TIME_NEVER;
	struct task *t;
	int r;

	if (e->clock.now_ns < e->next_deadline_ns)
		return 0;
	LL_FOREACH(e->tasks, t) {
		if (t->state != TASK_BLOCKED)
			continue;
		if (t->wait.deadline_ns > e->clock.now_ns) {
			next = t->wait.deadline_ns < next ? t->wait.deadline_ns : next;
			continue;
		}
		r = task_wake(e, t, WAKE_TIMEOUT);
		if (r < 0)
			return r;
	}
	e->next_deadline_ns = next;
	return 0;
}

uint64_t waits_next_deadline(struct engine *e)
{
	uint64_t next = timers_next(&e->timers);
	struct task *t;

	LL_FOREACH(e->tasks, t) {
		if (t->state == TASK_BLOCKED && t->wait.deadline_ns < next)
			next = t->wait.deadline_ns;
	}
	return next;
}

int waits_kick(struct engine *e)
{
	struct task *t;
	int r;

	if (!e->event_dirty)
		return 0;
	e->event_dirty = false;
	LL_FOREACH(e->tasks, t) {
		if (t->state != TASK_BLOCKED || t->wait.kind != WAIT_EVENT)
			continue;
		r = task_wake(e, t, WAKE_READY);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Copies what all blocked tasks wait for into one array. */
static int collect(struct engine *e, struct handle_poll **ret_polls, size_t *ret_n)
{
	struct handle_poll *polls;
	struct task *t;
	size_t n = 0;

	LL_FOREACH(e->tasks, t) {
		if (t->state == TASK_BLOCKED && t->wait.kind == WAIT_FDS)
			n += t->wait.n_polls;
	}
	*ret_n = n;
	*ret_polls = NULL;
	if (!n)
		return 0;
	polls = calloc(n, sizeof(*polls));
	if (!polls)
		return -ENOMEM;
	*ret_polls = polls;
	LL_FOREACH(e->tasks, t) {
		if (t->state != TASK_BLOCKED || t->wait.kind != WAIT_FDS)
			continue;
		memcpy(polls, t->wait.polls, t->wait.n_polls * sizeof(*polls));
		polls += t->wait.n_polls;
	}
	return 0;
}

static int wake_ready(struct engine *e, const struct handle_poll *polls)
{
	struct task *t;
	bool ready;
	int r;

	LL_FOREACH(e->tasks, t) {
		if (t->state != TASK_BLOCKED || t->wait.kind != WAIT_FDS)
			continue;
		ready = false;
		for (size_t i = 0; i < t->wait.n_polls; i++)
			ready |= polls[i].revents != 0;
		polls += t->wait.n_polls;
		if (!ready)
			continue;
		r = task_wake(e, t, WAKE_READY);
		if (r < 0)
			return r;
	}
	return 0;
}

int waits_poll(struct engine *e)
{
	_cleanup_free_ struct handle_poll *polls = NULL;
	size_t n;
	int r;

	if (!e->io_dirty)
		return 0;
	e->io_dirty = false;
	r = collect(e, &polls, &n);
	if (r < 0 || !n)
		return r;
	r = network_settle(e);
	if (r == 0)
		r = passed_settle(e);
	if (r < 0)
		return r;
	r = e->g->ops->handles_poll(e->g, polls, n, 0);
	return r > 0 ? wake_ready(e, polls) : r;
}

/* Keeps only the handles that so much of the outside can make ready; the others are asked for nothing. */
static int only_external(struct engine *e, struct handle_poll *polls, size_t n, enum guest_reach least)
{
	int found = 0, r;

	for (size_t i = 0; i < n; i++) {
		r = e->g->ops->handle_reach(e->g, polls[i].handle);
		if (r < 0)
			return r;
		if (r >= (int)least)
			found++;
		else
			polls[i].handle = -1;
	}
	return found;
}

/* What is waited for outside: descriptors, and behind them FIFOs that somebody may open. */
struct outside_wait {
	struct handle_poll *polls;
	size_t n_fds, n;
};

static void outside_wait_clear(struct engine *e, struct outside_wait *w)
{
	for (size_t i = w->n_fds; i < w->n; i++)
		e->g->ops->handle_release(e->g, w->polls[i].handle);
	free(w->polls);
}

static int watch_fifo(struct engine *e, struct outside_wait *w, const struct task *t)
{
	struct handle_poll *grown;
	int handle;

	handle = e->g->ops->fifo_watch(e->g, t->hold);
	if (handle < 0)
		return handle;
	grown = realloc(w->polls, (w->n + 1) * sizeof(*grown));
	if (!grown) {
		e->g->ops->handle_release(e->g, handle);
		return -ENOMEM;
	}
	grown[w->n++] = (struct handle_poll){ .handle = handle, .events = POLLIN, .note = (uint64_t)t->id };
	w->polls = grown;
	return 0;
}

/* Watches those that so much of the outside can open. Returns how many; *ret_met: somebody did so before that, and is woken. */
static int watch_fifos(struct engine *e, struct outside_wait *w, enum guest_reach least, bool *ret_met)
{
	struct task *t;
	int found = 0, r;

	LL_FOREACH(e->tasks, t) {
		if (!fifo_waits(t) || t->hold < 0 || !e->g->ops->fifo_watch)
			continue;
		r = e->g->ops->handle_reach(e->g, t->hold);
		if (r < 0)
			return r;
		if (r < (int)least)
			continue;
		r = watch_fifo(e, w, t);
		if (r == 0)
			r = e->g->ops->fifo_met(e->g, t->hold);
		if (r > 0)
			r = task_wake(e, t, WAKE_READY);
		if (r < 0)
			return r;
		*ret_met |= t->state != TASK_BLOCKED;
		found++;
	}
	return found;
}

static int wake_openers(struct engine *e, const struct outside_wait *w)
{
	struct task *t;
	int r = 0;

	for (size_t i = w->n_fds; r >= 0 && i < w->n; i++) {
		t = w->polls[i].revents ? task_find(e, (int)w->polls[i].note) : NULL;
		r = t ? task_wake(e, t, WAKE_READY) : 0;
	}
	return r;
}

static int report_outsiders(struct engine *e, const struct outside_wait *w)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < w->n_fds; i++)
		if (w->polls[i].handle >= 0 && w->polls[i].revents)
			r = fifo_report_outsider(e, w->polls[i].handle);
	return r;
}

static int wait_outside(struct engine *e, struct outside_wait *w, int timeout_ms, bool anyway)
{
	/* Neighbours may be or not: nobody is held up for their sake. */
	enum guest_reach least = anyway || timeout_ms < 0 ? REACH_NEIGHBOURS : REACH_OUTSIDE;
	bool met = false;
	int found, r;

	found = w->n_fds ? only_external(e, w->polls, w->n_fds, least) : 0;
	if (found < 0)
		return found;
	r = watch_fifos(e, w, least, &met);
	if (r < 0 || met)
		return r < 0 ? r : 1;
	if (found + r == 0 && !anyway)
		return -ENOENT;
	r = e->g->ops->handles_poll(e->g, w->polls, w->n, timeout_ms);
	if (r <= 0)
		return r;
	r = report_outsiders(e, w);
	if (r >= 0)
		r = wake_ready(e, w->polls);
	if (r >= 0)
		r = wake_openers(e, w);
	return r < 0 ? r : 1;
}

int waits_outside(struct engine *e, int timeout_ms, bool anyway)
{
	struct outside_wait w = { 0 };
	int r;

	r = collect(e, &w.polls, &w.n);
	w.n_fds = w.n;
	if (r == 0)
		r = wait_outside(e, &w, timeout_ms, anyway);
	outside_wait_clear(e, &w);
	return r;
}

int waits_network(struct engine *e)
{
	_cleanup_free_ struct handle_poll *polls = NULL;
	size_t n;
	int r;

	if (!e->network_used)
		return 0;
	r = collect(e, &polls, &n);
	if (r < 0 || !n)
		return r;
	r = e->g->ops->handles_poll(e->g, polls, n, LATE_ACK_MS);
	if (r <= 0)
		return r == -EINTR ? 1 : r; /* something else was heard: look again */
	r = wake_ready(e, polls);
	return r < 0 ? r : 1;
}
