/* SPDX-License-Identifier: BSD-3-Clause */
/* timerfd(2): see timerfd.h. */
#include "engine/time/timerfd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "engine/time/clock.h"
#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/files/readers.h"

#ifndef TFD_TIMER_CANCEL_ON_SET
#define TFD_TIMER_CANCEL_ON_SET 2
#endif

enum { SWEEP_FIRST = 64 };

static void forget(struct engine *e, struct timerfd *tfd)
{
	timers_disarm(&e->timers, &tfd->timer);
	e->g->ops->handle_release(e->g, tfd->handle);
	LL_DELETE(e->timerfds.list, tfd);
	e->timerfds.n--;
	free(tfd);
}

void timerfds_deinit(struct engine *e)
{
	struct timerfd *tfd, *tmp;

	LL_FOREACH_SAFE(e->timerfds.list, tfd, tmp)
		forget(e, tfd);
}

/* Those that no guest has any more go. Looking is dear, so it is done when there are twice as many as were left last time. */
static int sweep(struct engine *e)
{
	size_t n = (size_t)e->timerfds.next_id + 1;
	_cleanup_free_ bool *held = NULL;
	struct timerfd *tfd, *tmp;
	int r;

	if (!e->g->ops->beacons_held || e->timerfds.n < e->timerfds.sweep_at)
		return 0;
	held = calloc(n, sizeof(*held));
	if (!held)
		return -ENOMEM;
	r = e->g->ops->beacons_held(e->g, held, n);
	if (r < 0)
		return r;
	LL_FOREACH_SAFE(e->timerfds.list, tfd, tmp) {
		if (!held[tfd->id] && !tfd->sent)
			forget(e, tfd);
	}
	e->timerfds.sweep_at = 2 * e->timerfds.n > SWEEP_FIRST ? 2 * e->timerfds.n : SWEEP_FIRST;
	return 0;
}

static struct timerfd *find(struct engine *e, int id)
{
	struct timerfd *tfd;

	LL_FOREACH(e->timerfds.list, tfd) {
		if (tfd->id == id)
			return tfd;
	}
	return NULL;
}

/* The timerfd behind a descriptor. A positive return is an errno for the guest. */
static int of_descriptor(struct engine *e, struct task *t, int fd, struct timerfd **ret)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, fd, &info);
	if (r < 0)
		return r == -EBADF ? EBADF : r;
	*ret = info->kind == FD_TIMERFD ? find(e, info->beacon) : NULL;
	return *ret ? 0 : EINVAL;
}

void timerfd_sent(struct engine *e, int id)
{
	struct timerfd *tfd = find(e, id);

	if (tfd)
		tfd->sent = true;
}

static int expired(struct engine *e, struct timer *timer)
{
	struct timerfd *tfd = timer->owner;
	uint64_t n = 1;
	int r;

	tfd->armed = tfd->interval_ns != 0;
	if (tfd->armed) {
		n += (e->clock.now_ns - tfd->deadline_ns) / tfd->interval_ns;
		tfd->deadline_ns += n * tfd->interval_ns;
		timers_arm(&e->timers, timer, tfd->deadline_ns);
	}
	r = tfd->ticks ? 0 : e->g->ops->beacon_set(e->g, tfd->handle, tfd->id, true);
	tfd->ticks += n;
	e->io_dirty = true;
	return r;
}

int handle_timerfd_create(struct engine *e, struct task *t, struct verdict *v)
{
	int clock_id = (int)t->call.args[0], flags = (int)t->call.args[1], handle;
	struct timerfd *tfd;
	uint64_t now;
	int r;

	if (flags & ~(TFD_NONBLOCK | TFD_CLOEXEC))
		return verdict_errno(v, EINVAL);
	if (clock_only_shows(clock_id) || clock_id == CLOCK_TAI || !clock_value(&e->clock, clock_id, &now))
		return verdict_errno(v, EINVAL);
	r = sweep(e);
	if (r < 0)
		return r;
	tfd = calloc(1, sizeof(*tfd));
	if (!tfd)
		return -ENOMEM;
	handle = e->g->ops->beacon_new(e->g, e->timerfds.next_id + 1, flags & TFD_NONBLOCK ? O_NONBLOCK : 0);
	if (handle < 0) {
		free(tfd);
		return handle;
	}
	*tfd = (struct timerfd){ .id = ++e->timerfds.next_id,
				 .handle = handle,
				 .clock_id = clock_id,
				 .timer = { .fire = expired } };
	tfd->timer.owner = tfd;
	LL_APPEND(e->timerfds.list, tfd);
	e->timerfds.n++;
	v->kind = VERDICT_INSTALL;
	v->handle = handle;
	v->install_flags = flags & TFD_CLOEXEC ? O_CLOEXEC : 0;
	return 0;
}

static struct itimerspec value_of(struct engine *e, const struct timerfd *tfd)
{
	uint64_t rest = 0;

	if (tfd->armed)
		rest = time_left(tfd->deadline_ns, e->clock.now_ns);
	if (tfd->armed && !rest) /* 0 would be: disarmed */
		rest = 1;
	return (struct itimerspec){
		.it_value = { (time_t)(rest / NS_PER_S), (long)(rest % NS_PER_S) },
		.it_interval = { (time_t)(tfd->interval_ns / NS_PER_S), (long)(tfd->interval_ns % NS_PER_S) },
	};
}

static int write_value(struct engine *e, struct task *t, uint64_t addr, const struct itimerspec *value, struct verdict *v)
{
	int r;

	r = guest_write(e, t, addr, value, sizeof(*value));
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, 0);
}

static int set(struct engine *e, struct timerfd *tfd, bool absolute, uint64_t value_ns, uint64_t interval_ns)
{
	timers_disarm(&e->timers, &tfd->timer);
	tfd->ticks = 0;
	tfd->armed = value_ns != 0;
	tfd->interval_ns = interval_ns;
	tfd->deadline_ns = time_add(e->clock.now_ns, value_ns);
	if (absolute)
		(void)clock_deadline(&e->clock, tfd->clock_id, value_ns, &tfd->deadline_ns);
	if (tfd->armed)
		timers_arm(&e->timers, &tfd->timer, tfd->deadline_ns);
	return e->g->ops->beacon_set(e->g, tfd->handle, tfd->id, false);
}

int handle_timerfd_settime(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	uint64_t value, interval;
	struct itimerspec new, old;
	struct timerfd *tfd;
	int r;

	r = guest_read(e, t, a[2], &new, sizeof(new));
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (a[1] & ~(uint64_t)(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET) ||
	    !time_from_parts(new.it_value.tv_sec, new.it_value.tv_nsec, &value) ||
	    !time_from_parts(new.it_interval.tv_sec, new.it_interval.tv_nsec, &interval))
		return verdict_errno(v, EINVAL);
	r = of_descriptor(e, t, (int)a[0], &tfd);
	if (r)
		return r < 0 ? r : verdict_errno(v, r);
	old = value_of(e, tfd);
	tfd->flags = (unsigned)a[1];
	/* The clock is never set, so that TFD_TIMER_CANCEL_ON_SET has nothing to cancel. */
	r = set(e, tfd, a[1] & TFD_TIMER_ABSTIME, value, interval);
	e->io_dirty = true;
	if (r < 0)
		return r;
	/* The timer is set even when nobody can be told what it was. */
	return a[3] ? write_value(e, t, a[3], &old, v) : verdict_return(v, 0);
}

int handle_timerfd_gettime(struct engine *e, struct task *t, struct verdict *v)
{
	struct itimerspec value;
	struct timerfd *tfd;
	int r;

	r = of_descriptor(e, t, (int)t->call.args[0], &tfd);
	if (r)
		return r < 0 ? r : verdict_errno(v, r);
	value = value_of(e, tfd);
	return write_value(e, t, t->call.args[1], &value, v);
}

bool timerfd_describe(struct engine *e, const struct fd_info *info, FILE *out)
{
	const struct timerfd *tfd = info->kind == FD_TIMERFD ? find(e, info->beacon) : NULL;
	struct itimerspec value;

	if (!tfd)
		return false;
	value = value_of(e, tfd);
	fprintf(out, "clockid: %d\nticks: %llu\nsettime flags: 0%o\n", tfd->clock_id, (unsigned long long)tfd->ticks, tfd->flags);
	fprintf(out, "it_value: (%lld, %ld)\nit_interval: (%lld, %ld)\n", (long long)value.it_value.tv_sec, value.it_value.tv_nsec,
		(long long)value.it_interval.tv_sec, value.it_interval.tv_nsec);
	return true;
}

int read_timerfd(struct engine *e, struct task *t, const struct read_request *request, struct verdict *v)
{
	struct timerfd *tfd = find(e, request->info->beacon);
	uint64_t ticks;
	int r;

	if (!tfd || request->positional)
		return READER_DECLINES; /* not ours; or ESPIPE */
	if (request->span->total < sizeof(ticks))
		return verdict_errno(v, EINVAL);
	if (!tfd->ticks)
		return READER_DECLINES; /* waits, or EAGAIN */
	ticks = tfd->ticks;
	tfd->ticks = 0;
	r = e->g->ops->beacon_set(e->g, tfd->handle, tfd->id, false);
	return r < 0 ? r : reader_answer(e, t, request, &ticks, sizeof(ticks), v);
}
