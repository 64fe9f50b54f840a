/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said of a run that has ended, and its exit status: see run_internal.h. */
#include "supervisor/run_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "supervisor/exit_codes.h"

static void list_uncontrolled(struct run *run, struct run_result *result)
{
	const struct uncontrolled *list;
	size_t n;

	list = engine_uncontrolled(run->engine, &n);
	for (size_t i = 0; i < n; i++) {
		result->n_uncontrolled += list[i].count;
		if (run->request->quiet)
			continue;
		if (list[i].count > 1)
			log_error("uncontrolled: %s: %s (%" PRIu64 " times)", list[i].what, list[i].where, list[i].count);
		else
			log_error("uncontrolled: %s: %s", list[i].what, list[i].where);
	}
}

static void describe_waiters(struct run *run)
{
	_cleanup_free_ char *waiters = engine_describe_waiters(run->engine);
	char *line, *rest = waiters;

	while (rest && (line = strsep(&rest, "\n")))
		if (*line)
			log_error("%s", line);
}

static void describe_deadlock(struct run *run)
{
	log_error("deadlock: nobody can ever go on, at turn %" PRIu64, engine_turn(run->engine));
	describe_waiters(run);
}

static void describe_stop(struct run *run)
{
	log_error("stopped at turn %" PRIu64, engine_turn(run->engine));
	describe_waiters(run);
}

/* What ended a strict run: a wish that is not modelled was refused; anything else had happened already. */
static bool was_a_wish(const struct run *run)
{
	static const char *const wishes[] = { "not modelled", "unknown system call", UNCONTROLLED_HIDDEN };
	const struct uncontrolled *list;
	size_t n;

	list = engine_uncontrolled(run->engine, &n);
	for (size_t i = 0; n > 0 && i < ARRAY_SIZE(wishes); i++)
		if (!strcmp(list[n - 1].what, wishes[i]))
			return true;
	return false;
}

/* Nothing is as puzzling as a program that would end by itself if time went on. */
static void describe_timeout(struct run *run)
{
	_cleanup_free_ char *running = NULL;
	char limit[FORMAT_SIZE];
	bool holds_up;

	log_error("the time limit of %s s is over at turn %" PRIu64 "; everything was killed",
		  format_duration_ns(run->request->timeout_ns, limit), engine_turn(run->engine));
	running = engine_describe_running(run->engine, &holds_up);
	if (running)
		log_error("%s", running);
	if (holds_up)
		log_error("  others wait for it: virtual time stands still while it computes, until it is left at --spin-limit (%s%s)",
			  run->request->spin_limit_ns ? format_duration_ns(run->request->spin_limit_ns, limit) : "0: never",
			  run->request->spin_limit_ns ? " s of real time" : "");
}

static int exit_code_of(const struct run *run, const struct run_result *result)
{
	switch (result->end) {
	case RUN_EXITED:
		return WIFSIGNALED(result->wait_status) ? EXIT_CODE_SIGNAL_BASE + WTERMSIG(result->wait_status)
							: WEXITSTATUS(result->wait_status);
	case RUN_DEADLOCK:
		return EXIT_CODE_DEADLOCK;
	case RUN_MISFIT:
		return EXIT_CODE_MISFIT;
	case RUN_STOPPED:
		return EXIT_CODE_STOPPED;
	case RUN_REFUSED:
		return was_a_wish(run) ? EXIT_CODE_REFUSED : EXIT_CODE_UNCONTROLLED;
	case RUN_TIMEOUT:
		return EXIT_CODE_TIMEOUT;
	case RUN_KILLED:
		return EXIT_CODE_SIGNAL_BASE + run->last_request;
	}
	return EXIT_CODE_TOOL;
}

void run_report(struct run *run, struct run_result *result)
{
	switch (result->end) {
	case RUN_DEADLOCK:
		describe_deadlock(run);
		break;
	case RUN_MISFIT:
		log_error("%s: %s", run->request->engine.chooser ? "the program no longer fits the schedule"
								   : "the order that was asked for cannot be kept",
			  engine_failure(run->engine));
		break;
	case RUN_STOPPED:
		describe_stop(run);
		break;
	case RUN_REFUSED:
		log_error("%s under --strict: %s", was_a_wish(run) ? "refused" : "ended", engine_failure(run->engine));
		break;
	case RUN_TIMEOUT:
		describe_timeout(run);
		break;
	case RUN_KILLED:
	case RUN_EXITED:
		break;
	}
	list_uncontrolled(run, result);
	result->exit_code = exit_code_of(run, result);
	result->turns = engine_turn(run->engine);
	result->virtual_ns = engine_now_ns(run->engine);
	result->real_ns = host_clock_ns() - run->start_ns;
	result->tsc_faults = run->tsc_faults;
	result->stats = *engine_stats(run->engine);
	result->preempt_cost = run->guest->preempt_cost;
	for (size_t i = 0; i < ORDER_ANCHORS_MAX; i++)
		result->anchors_seen[i] = engine_anchor_seen(run->engine, i);
}
