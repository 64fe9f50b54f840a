/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's life, and what it tells about itself: see engine.h. Decisions are made in turn.c, events are taken note of in event.c. */
#include "engine/engine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "engine/engine_internal.h"
#include "engine/limits.h"
#include "engine/net/connecting.h"
#include "engine/net/network.h"
#include "engine/proc/procfs.h"

void engine_options_default(struct engine_options *options)
{
	*options = (struct engine_options){
		.epoch_ns = 1767225600 * NS_PER_S, /* 2026-01-01T00:00:00Z */
		.uptime_ns = 120 * NS_PER_S,
		.quantum_ns = 1000000,
		.cpus = 1,
		.memory_bytes = 1000000000,
		.hostname = "hermit",
	};
}

/* It runs already, towards its first execve, or else whoever has the turn when somebody lets it: its time begins with that call then. */
static void begin_first(struct engine *e, struct task *t)
{
	if (e->options.first_waits) {
		t->process->foreign = true;
		t->state = TASK_ADRIFT;
		e->n_adrift++;
		return;
	}
	t->state = TASK_RUNNING;
	e->running = t;
}

static bool made_here(void *arg, uint64_t dev, uint64_t ino)
{
	return inode_is_made(&((struct engine *)arg)->inodes, dev, ino);
}

struct engine *engine_new(const struct engine_options *options, struct guest *g, int vtid, int vpid)
{
	struct engine *e;
	struct task *t;

	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->options = *options;
	e->g = g;
	e->clock = (struct clock){ .epoch_ns = options->epoch_ns, .uptime_ns = options->uptime_ns };
	e->next_mm_id = 1;
	e->next_deadline_ns = TIME_NEVER;
	e->silent_turn = TIME_NEVER;
	sched_init(&e->sched);
	inodes_init(&e->inodes, options->epoch_ns, options->keep_mtime);
	rng_init(&e->task_rng, options->seed, "guest", 0);
	rng_init(&e->sched_rng, options->sched_seed, "schedule", 0);
	rng_init(&e->chaos_rng, options->sched_seed, "chaos", 0);
	rng_init(&e->fault_rng, options->fault_seed, "fault", 0);
	chaos_init(e);
	rng_init(&e->kernel_rng, options->seed, "kernel", 0);
	t = task_first(e, vtid, vpid);
	if (!t || procfs_name_namespaces(e) < 0)
		return engine_free(e);
	e->options.limits = NULL; /* borrowed for the first process only */
	g->made_here = made_here;
	g->made_here_arg = e;
	begin_first(e, t);
	return e;
}

struct engine *engine_free(struct engine *e)
{
	if (!e)
		return NULL;
	e->g->made_here = NULL;
	fault_deinit(e);
	task_free_all(e);
	timerfds_deinit(e);
	futex_deinit(e);
	network_deinit(e);
	netlinks_deinit(&e->netlinks);
	connecting_deinit(e);
	socket_notes_deinit(&e->socket_notes);
	inodes_deinit(&e->inodes);
	sched_deinit(&e->sched);
	free(e);
	return NULL;
}

int engine_fail(struct engine *e, int code, const char *format, ...)
{
	va_list ap;
	size_t n;

	if (e->failure[0])
		return -code;
	va_start(ap, format);
	(void)vsnprintf(e->failure, sizeof(e->failure), format, ap);
	va_end(ap);
	n = strlen(e->failure);
	(void)snprintf(e->failure + n, sizeof(e->failure) - n, ": %s", strerrordesc_np(code) ?: "unknown error");
	return -code;
}

const char *engine_failure(const struct engine *e)
{
	return e->failure;
}

uint64_t engine_turn(const struct engine *e)
{
	return e->turn;
}

uint64_t engine_now_ns(const struct engine *e)
{
	return e->clock.now_ns;
}

const struct engine_stats *engine_stats(const struct engine *e)
{
	return &e->stats;
}

uint64_t engine_anchor_seen(const struct engine *e, size_t anchor)
{
	return e->order.seen[anchor];
}

void engine_observe(struct engine *e, const struct engine_observer *observer)
{
	if (e->n_observers == OBSERVERS_MAX)
		return;
	e->observers[e->n_observers++] = *observer;
	chaos_observed(e, observer);
}

const struct uncontrolled *engine_uncontrolled(const struct engine *e, size_t *ret_count)
{
	*ret_count = e->n_uncontrolled;
	return e->uncontrolled;
}

void engine_report_uncontrolled(struct engine *e, const char *what, const char *where)
{
	struct uncontrolled *u;
	size_t i;

	for (i = 0; i < e->n_uncontrolled; i++) {
		u = &e->uncontrolled[i];
		if (!strcmp(u->what, what) && !strncmp(u->where, where, sizeof(u->where) - 1)) {
			u->count++;
			return;
		}
	}
	if (i == UNCONTROLLED_MAX)
		return;
	u = &e->uncontrolled[e->n_uncontrolled++];
	u->what = what;
	(void)snprintf(u->where, sizeof(u->where), "%s", where);
	u->count = 1;
	if (e->options.strict && !e->refused) {
		e->refused = true;
		(void)snprintf(e->failure, sizeof(e->failure), "%s: %s (strict)", what, where);
	}
	for (i = 0; i < e->n_observers; i++)
		if (e->observers[i].uncontrolled)
			e->observers[i].uncontrolled(e->observers[i].arg, e, what, where);
}

struct guest *engine_guest(const struct engine *e)
{
	return e->g;
}

int engine_vtid(const struct engine *e, int task)
{
	struct task *t;

	LL_FOREACH(e->tasks, t) {
		if (t->id == task)
			return t->vtid;
	}
	return -1;
}

void task_charge(struct engine *e, struct task *t, uint64_t cost_ns)
{
	clock_charge(&e->clock, cost_ns);
	t->cpu_ns = time_add(t->cpu_ns, cost_ns);
	t->process->cpu_ns = time_add(t->process->cpu_ns, cost_ns);
}

int task_check_cpu(struct engine *e, struct task *t)
{
	int r = itimers_cpu(e, t->process);

	return r < 0 ? r : limits_check_cpu(e, t->process);
}

int engine_call_of(const struct engine *e, int task)
{
	struct task *t;

	LL_FOREACH(e->tasks, t) {
		if (t->id == task)
			return t->in_call ? t->call.nr : -1;
	}
	return -1;
}
