/* SPDX-License-Identifier: BSD-3-Clause */
/* The progress line: see progress.h. */
#include "supervisor/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/parse.h"

#define QUIET_NS  2000000000
#define PERIOD_NS 500000000

static int64_t since_ns(const struct timespec *then, const struct timespec *now)
{
	return (now->tv_sec - then->tv_sec) * 1000000000 + now->tv_nsec - then->tv_nsec;
}

void progress_clock_start(struct progress_clock *clock)
{
	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &clock->start);
	clock->shown = clock->start;
}

void progress_start(struct progress *p, int fd, unsigned run, unsigned runs, struct progress_clock *clock)
{
	*p = (struct progress){ .fd = isatty(fd) ? fd : -1, .run = run, .runs = runs, .clock = clock ?: &p->own };
	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &p->begin);
	if (!clock)
		progress_clock_start(&p->own);
}

/* ns: since the last count; 0 where the clock has not moved. */
static void show(struct progress *p, struct engine *e, int64_t ns)
{
	uint64_t turns = engine_turn(e), rate = ns > 0 ? (turns - p->shown_turns) * 1000000000 / (uint64_t)ns : 0;
	char line[160], which[40] = "", virtual_time[FORMAT_SIZE];
	int n;

	if (p->runs > 1)
		(void)snprintf(which, sizeof(which), "run %u of %u: ", p->run, p->runs);
	n = snprintf(line, sizeof(line), "\r\033[K%s%" PRIu64 " turns, %s s of virtual time, %" PRIu64 " turns/s", which, turns,
		     format_duration_ns(engine_now_ns(e) / 1000000 * 1000000, virtual_time), rate);
	(void)fd_write_full(p->fd, line, (size_t)n);
	p->shown_turns = turns;
	log_unfinished(p->fd);
}

static void on_event(void *arg, struct engine *e, const struct event *event)
{
	struct progress *p = arg;
	struct timespec now;

	if (p->fd < 0)
		return;
	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (since_ns(&p->clock->shown, &now) < PERIOD_NS || since_ns(&p->clock->start, &now) < QUIET_NS)
		return;
	p->clock->shown = now;
	show(p, e, since_ns(&p->begin, &now));
	p->begin = now;
}

struct engine_observer progress_observer(struct progress *p)
{
	return (struct engine_observer){ .event = on_event, .arg = p };
}

void progress_stop(void)
{
	log_wipe();
}
