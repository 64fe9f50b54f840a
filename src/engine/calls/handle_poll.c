/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for many descriptors: poll, select, epoll. As soon as one is ready the kernel runs the call and says which; until then, or until
 * the deadline in virtual time, the call stays parked. A zero timeout gives up the turn, so that pollers starve nobody.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>

#include "base/cleanup.h"
#include "engine/time/clock.h"
#include "engine/attempt.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/calls/handlers.h"
#include "engine/wait.h"

enum { POLL_LIMIT = 65536 };

/* What a timeout argument says. */
struct patience {
	bool forever;
	uint64_t ns;
};

static struct patience from_ms(int ms)
{
	return (struct patience){ .forever = ms < 0, .ns = ms < 0 ? 0 : (uint64_t)ms * 1000000 };
}

/* A struct timespec (unit 1) or timeval (unit 1000) in guest memory; address 0: for ever. Positive return: errno for the guest. */
static int read_patience(struct engine *e, struct task *t, uint64_t addr, int64_t unit, struct patience *ret)
{
	int64_t parts[2];
	int r;

	*ret = (struct patience){ .forever = !addr };
	if (!addr)
		return 0;
	r = guest_read(e, t, addr, parts, sizeof(parts));
	if (r < 0)
		return r == -EFAULT ? EFAULT : r;
	if (unit > 1 && parts[1] >= 0) { /* select(2) accepts more than a second of microseconds */
		if (parts[0] < 0 || __builtin_add_overflow(parts[0], parts[1] / 1000000, &parts[0]))
			return EINVAL;
		parts[1] %= 1000000;
	}
	if (parts[1] < 0 || !time_from_parts(parts[0], parts[1] * unit, &ret->ns))
		return EINVAL;
	return 0;
}

/* The set is not ready: parks, or VERDICT_NONE when the time is over and the caller has to write what "nothing" looks like. */
static int not_ready(struct engine *e, struct task *t, const struct patience *p, struct verdict *v)
{
	if (wait_timed_out(t)) {
		v->kind = VERDICT_NONE;
		return 0;
	}
	if (wait_interrupted(t) && t->wait.has_sigmask)
		return verdict_continue(v); /* the kernel swaps the mask and finds the signal */
	if (!p->forever)
		wait_until(e, t, time_add(t->call.start_ns, p->ns));
	if (t->wait.kind == WAIT_NONE)
		wait_for(t, WAIT_TIME);
	return verdict_block(v);
}

/* A look without waiting: everybody else who can run goes first. */
static int yield_and_continue(struct engine *e, struct task *t, struct verdict *v)
{
	return wait_give_way(e, t) ? verdict_block(v) : verdict_continue(v);
}

/* Common start of the calls with a signal mask: 1 the kernel is to run it, 0 go on, or -errno. */
static int apply_sigmask(struct engine *e, struct task *t, uint64_t mask_addr)
{
	int r;

	r = mask_addr ? wait_with_sigmask(e, t, mask_addr) : 0;
	return r == -EFAULT ? 1 : r;
}

static int add_pollfds(struct engine *e, struct task *t, const struct pollfd *fds, size_t n)
{
	int r;

	for (size_t i = 0; i < n; i++) {
		if (fds[i].fd < 0)
			continue;
		r = wait_fds_add(e, t, fds[i].fd, fds[i].events);
		if (r == -EBADF)
			return 1; /* POLLNVAL at once */
		if (r < 0)
			return r;
	}
	return 0;
}

static int poll_common(struct engine *e, struct task *t, const struct patience *p, struct verdict *v)
{
	_cleanup_free_ struct pollfd *fds = NULL;
	uint64_t n = t->call.args[1];
	int r = 0;

	if (n > POLL_LIMIT || (!p->forever && !p->ns))
		return yield_and_continue(e, t, v);
	fds = calloc(n ? n : 1, sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	r = guest_read(e, t, t->call.args[0], fds, n * sizeof(*fds));
	if (r >= 0 && !t->wait.n_polls)
		r = add_pollfds(e, t, fds, n);
	if (r == 0)
		r = wait_fds_ready(e, t);
	if (r == -EFAULT || r > 0)
		return verdict_continue(v);
	if (r < 0)
		return r;
	r = not_ready(e, t, p, v);
	if (r < 0 || v->kind != VERDICT_NONE)
		return r;
	for (size_t i = 0; i < n; i++)
		fds[i].revents = 0;
	r = guest_write(e, t, t->call.args[0], fds, n * sizeof(*fds));
	return r < 0 && r != -EFAULT ? r : verdict_return(v, 0);
}

int handle_poll_poll(struct engine *e, struct task *t, struct verdict *v)
{
	struct patience p = from_ms((int)t->call.args[2]);

	return poll_common(e, t, &p, v);
}

/* ppoll, select and pselect6 write back what is left of the time, in virtual time: a timespec (unit 1) or timeval (unit 1000). */
static int write_rest(struct engine *e, struct task *t, uint64_t addr, int64_t unit)
{
	uint64_t rest = t->call.scratch[0] > e->clock.now_ns ? t->call.scratch[0] - e->clock.now_ns : 0;
	const int64_t parts[2] = { (int64_t)(rest / NS_PER_S), (int64_t)(rest % NS_PER_S) / unit };
	int r;

	r = guest_write(e, t, addr, parts, sizeof(parts));
	return r == -EFAULT ? 0 : r;
}

/* The call's end, when there is a time to write back: after it ran out, or before the wait is given up for a signal, or after the kernel ran it. */
static int end_timed(struct engine *e, struct task *t, const struct patience *p, uint64_t addr, int64_t unit, struct verdict *v)
{
	if (!addr || p->forever || !p->ns)
		return 0;
	t->call.scratch[0] = time_add(t->call.start_ns, p->ns);
	if (v->kind == VERDICT_CONTINUE)
		v->kind = VERDICT_HOOK;
	else if ((v->kind == VERDICT_RETURN && v->value == 0) || (v->kind == VERDICT_BLOCK && wait_interrupted(t)))
		return write_rest(e, t, addr, unit);
	return 0;
}

/* The kernel has run it, and has written what was left of the host's time. */
static int timed_done(struct engine *e, struct task *t, uint64_t addr, int64_t unit, struct verdict *v)
{
	v->kind = VERDICT_GO;
	return t->call.result == -EFAULT || t->call.result == -EBADF || t->call.result == -EINVAL ? 0 : write_rest(e, t, addr, unit);
}

int handle_poll_ppoll(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct patience p;
	int r;

	if (t->call.done)
		return timed_done(e, t, a[2], 1, v);
	r = read_patience(e, t, a[2], 1, &p);
	if (r)
		return r < 0 ? r : verdict_errno(v, r);
	r = apply_sigmask(e, t, a[3]);
	if (r >= 0)
		r = r ? verdict_continue(v) : poll_common(e, t, &p, v);
	return r < 0 ? r : end_timed(e, t, &p, a[2], 1, v);
}

/* The descriptors of one select set. 1: a descriptor is bad. */
static int add_set(struct engine *e, struct task *t, const fd_set *set, int n, short events)
{
	int r;

	for (int fd = 0; fd < n; fd++) {
		if (!FD_ISSET(fd, set))
			continue;
		r = wait_fds_add(e, t, fd, events);
		if (r == -EBADF)
			return 1;
		if (r < 0)
			return r;
	}
	return 0;
}

static int select_common(struct engine *e, struct task *t, const struct patience *p, struct verdict *v)
{
	static const short events[3] = { POLLIN, POLLOUT, POLLPRI };
	int n = (int)t->call.args[0] < FD_SETSIZE ? (int)t->call.args[0] : FD_SETSIZE, r = 0;
	size_t bytes = (size_t)((n < 0 ? 0 : n) + 63) / 64 * 8;
	fd_set sets[3];

	if (n < 0 || (!p->forever && !p->ns))
		return yield_and_continue(e, t, v);
	memset(sets, 0, sizeof(sets));
	for (int i = 0; i < 3 && r == 0; i++) {
		if (!t->call.args[1 + i] || t->wait.n_polls > 0 || !t->call.first)
			continue;
		r = guest_read(e, t, t->call.args[1 + i], &sets[i], bytes);
		if (r < 0)
			return r == -EFAULT ? verdict_continue(v) : r;
	}
	if (t->call.first)
		for (int i = 0; i < 3 && r == 0; i++)
			r = add_set(e, t, &sets[i], n, events[i]);
	if (r == 0)
		r = wait_fds_ready(e, t);
	if (r > 0)
		return verdict_continue(v);
	if (r < 0)
		return r;
	r = not_ready(e, t, p, v);
	if (r < 0 || v->kind != VERDICT_NONE)
		return r;
	memset(sets, 0, sizeof(sets));
	for (int i = 0; i < 3; i++) {
		r = t->call.args[1 + i] ? guest_write(e, t, t->call.args[1 + i], &sets[i], bytes) : 0;
		if (r < 0 && r != -EFAULT)
			return r;
	}
	return verdict_return(v, 0);
}

int handle_poll_select(struct engine *e, struct task *t, struct verdict *v)
{
	struct patience p;
	int r;

	if (t->call.done)
		return timed_done(e, t, t->call.args[4], 1000, v);
	r = read_patience(e, t, t->call.args[4], 1000, &p);
	if (r)
		return r < 0 ? r : verdict_errno(v, r);
	r = select_common(e, t, &p, v);
	return r < 0 ? r : end_timed(e, t, &p, t->call.args[4], 1000, v);
}

int handle_poll_pselect6(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	uint64_t mask[2] = { 0, 0 };
	struct patience p;
	int r;

	if (t->call.done)
		return timed_done(e, t, a[4], 1, v);
	r = read_patience(e, t, a[4], 1, &p);
	if (r)
		return r < 0 ? r : verdict_errno(v, r);
	r = a[5] ? guest_read(e, t, a[5], mask, sizeof(mask)) : 0;
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	r = apply_sigmask(e, t, mask[0]);
	if (r >= 0)
		r = r ? verdict_continue(v) : select_common(e, t, &p, v);
	return r < 0 ? r : end_timed(e, t, &p, a[4], 1, v);
}

/* Only faults need to know: what was left unread is not told about again. */
static int note_edge(struct engine *e, struct task *t)
{
	struct epoll_event event;
	int r;

	if (!e->options.n_faults || t->call.args[1] == EPOLL_CTL_DEL)
		return 0;
	r = guest_read(e, t, t->call.args[3], &event, sizeof(event));
	if (r >= 0 && event.events & EPOLLET)
		r = fdtable_mark_edge(e, t, (int)t->call.args[2]);
	return r == -EFAULT || r == -EBADF || r > 0 ? 0 : r;
}

/* A set that holds a signalfd, or such a set, can only be asked by the guest itself. */
int handle_poll_epoll_ctl(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *member;
	int r;

	r = note_edge(e, t);
	if (r < 0)
		return r;
	if (t->call.args[1] != EPOLL_CTL_ADD)
		return verdict_continue(v);
	r = fdtable_info(e, t, (int)t->call.args[2], &member);
	if (r == 0 && (member->kind == FD_SIGNALFD || member->asks_caller))
		r = fdtable_mark_asks_caller(e, t, (int)t->call.args[0]);
	return r < 0 && r != -EBADF ? r : verdict_continue(v);
}

/* The kernel lists what is ready in the order in which it became so, which is nobody's promise. */
static int shuffle_ready(struct engine *e, struct task *t, struct verdict *v)
{
	size_t n = t->call.result > 0 ? (size_t)t->call.result : 0;
	_cleanup_free_ struct epoll_event *list = calloc(n + 1, sizeof(*list));
	struct epoll_event moved;
	uint64_t other;
	int r;

	v->kind = VERDICT_GO;
	if (!list)
		return -ENOMEM;
	if (n < 2)
		return 0;
	r = guest_read(e, t, t->call.args[1], list, n * sizeof(*list));
	for (size_t i = n - 1; r >= 0 && i > 0; i--) {
		other = chaos_draw(e, i + 1);
		moved = list[i];
		list[i] = list[other];
		list[other] = moved;
	}
	if (r >= 0)
		r = guest_write(e, t, t->call.args[1], list, n * sizeof(*list));
	return r == -EFAULT ? 0 : r;
}

/* Something is ready, or it is not to be waited: the call returns at once. */
static int run_epoll(struct engine *e, struct verdict *v)
{
	return e->options.chaos.on && e->g->abilities & GUEST_CAN_HOOK ? verdict_hook(v) : verdict_continue(v);
}

static int epoll_common(struct engine *e, struct task *t, const struct patience *p, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	if (t->call.done && !t->call.attempt)
		return shuffle_ready(e, t, v);
	if (!p->forever && !p->ns)
		return wait_give_way(e, t) ? verdict_block(v) : run_epoll(e, v);
	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r == 0 && info->asks_caller)
		return attempt_call(e, t, p->forever ? TIME_NEVER : time_add(t->call.start_ns, p->ns), 0, v);
	r = wait_fd(e, t, (int)t->call.args[0], POLLIN);
	if (r == -EBADF || r > 0)
		return run_epoll(e, v);
	if (r < 0)
		return r;
	r = not_ready(e, t, p, v);
	return r < 0 || v->kind != VERDICT_NONE ? r : verdict_return(v, 0);
}

int handle_poll_epoll_wait(struct engine *e, struct task *t, struct verdict *v)
{
	struct patience p = from_ms((int)t->call.args[3]);

	return epoll_common(e, t, &p, v);
}

int handle_poll_epoll_pwait(struct engine *e, struct task *t, struct verdict *v)
{
	struct patience p = from_ms((int)t->call.args[3]);
	int r;

	r = apply_sigmask(e, t, t->call.args[4]);
	if (r)
		return r < 0 ? r : verdict_continue(v);
	return epoll_common(e, t, &p, v);
}

int handle_poll_epoll_pwait2(struct engine *e, struct task *t, struct verdict *v)
{
	struct patience p;
	int r;

	r = read_patience(e, t, t->call.args[3], 1, &p);
	if (r)
		return r < 0 ? r : verdict_errno(v, r);
	r = apply_sigmask(e, t, t->call.args[4]);
	if (r)
		return r < 0 ? r : verdict_continue(v);
	return epoll_common(e, t, &p, v);
}
