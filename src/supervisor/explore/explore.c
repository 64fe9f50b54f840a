/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exploring schedules: see explore.h. Runs are started in the order of their seeds, up to `jobs` at a time, and taken note of in that order, so
 * that table, first failure and exit status do not depend on which of them was faster.
 */
#include "supervisor/explore/explore.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/exit_codes.h"
#include "supervisor/scratch.h"
#include "supervisor/explore/explore_run.h"
#include "supervisor/doctor/doctor.h"
#include "supervisor/evidence/report.h"
#include "supervisor/evidence/schedule.h"

enum { MAX_OUTPUT = 64 << 20, ROW_ID = 12 };

struct exploration {
	const struct explore *x;
	struct explore_result *result;
	struct explore_signals signals;
	struct explore_place at; /* its directory is nothing that a guest sees */
	struct explore_run going[EXPLORE_JOBS_MAX];
	size_t n_going;
	struct timespec start;
	unsigned char (*seen)[HASH_BYTES]; /* schedules */
	size_t n_seen, seen_room;
	uint64_t first_fail, nearest_pass; /* numbers of runs */
	unsigned char fail_schedule[HASH_BYTES];
	uint64_t *passes; /* numbers of passing runs with schedules of their own */
	size_t n_passes, passes_room;
	uint64_t real_ns;
};

/* ---- what came of it ---- */

static bool output_fits(const struct exploration *xp, uint64_t number)
{
	_cleanup_free_ char *text = NULL;
	char path[EXPLORE_PATH_SIZE];
	size_t len;

	if (!xp->x->out_regex)
		return true;
	if (fd_read_file(AT_FDCWD, explore_path(&xp->at, number, "stdout", path), MAX_OUTPUT, &text, &len) < 0)
		return false;
	return regexec(xp->x->out_regex, text, 0, NULL, 0) == 0;
}

static bool passes(const struct exploration *xp, uint64_t number, const struct explore_told *told)
{
	bool fits = xp->x->n_expected == 0 && told->result.exit_code == 0;

	for (size_t i = 0; i < xp->x->n_expected; i++)
		fits |= told->result.exit_code == xp->x->expected[i];
	return fits && output_fits(xp, number);
}

/* 1: a new schedule, 0: one that was seen before, or -ENOMEM. */
static int note_schedule(struct exploration *xp, const unsigned char digest[HASH_BYTES])
{
	unsigned char(*grown)[HASH_BYTES];

	for (size_t i = 0; i < xp->n_seen; i++)
		if (!memcmp(xp->seen[i], digest, HASH_BYTES))
			return 0;
	grown = array_grow(xp->seen, xp->n_seen, &xp->seen_room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	xp->seen = grown;
	memcpy(xp->seen[xp->n_seen++], digest, HASH_BYTES);
	return 1;
}

static int note_pass(struct exploration *xp, uint64_t number)
{
	uint64_t *grown = array_grow(xp->passes, xp->n_passes, &xp->passes_room, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	xp->passes = grown;
	xp->passes[xp->n_passes++] = number;
	return 0;
}

static void forget_files(const struct exploration *xp, uint64_t number)
{
	char path[EXPLORE_PATH_SIZE];

	for (size_t i = 0; explore_kinds[i]; i++)
		(void)unlink(explore_path(&xp->at, number, explore_kinds[i], path));
}

/* A line on a terminal, rewritten at each end of a run. */
static bool shows_progress(const struct exploration *xp)
{
	return isatty(STDERR_FILENO) && !xp->x->o->quiet;
}

static void progress_wipe(const struct exploration *xp)
{
	if (shows_progress(xp))
		(void)fputs("\r\033[K", stderr);
}

static void progress(const struct exploration *xp)
{
	if (shows_progress(xp))
		(void)fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " runs, %" PRIu64 " failed, %zu schedules", xp->result->done,
			      (xp->x->runs + xp->x->shards - 1 - xp->x->shard) / xp->x->shards, xp->result->failed, xp->n_seen);
}

/* Beside a signal its status says nothing more. */
static void describe_end(const struct run_result *result, char text[RUN_END_WORDS_SIZE])
{
	const char *words = run_end_words(result, text);

	if (words != text)
		(void)snprintf(text, RUN_END_WORDS_SIZE, "%s %d", words, result->exit_code);
}

static void print_row(const struct exploration *xp, uint64_t number, const struct explore_told *told, bool pass)
{
	char id[HASH_HEX_SIZE], outcome[RUN_END_WORDS_SIZE];

	if (xp->x->only_failing && pass)
		return;
	progress_wipe(xp);
	hash_hex(told->schedule, HASH_BYTES, id);
	describe_end(&told->result, outcome);
	(void)fprintf(xp->x->table, "%-20" PRIu64 "  %-4s  %-14s  %9" PRIu64 "  %.*s  %7.3f s\n", explore_seed(&xp->at, number),
		      pass ? "pass" : "FAIL", outcome, told->result.turns, ROW_ID, id, (double)told->result.real_ns / 1e9);
}

static int tool_failed(struct exploration *xp, uint64_t number, const struct explore_told *told, struct error *err)
{
	forget_files(xp, number);
	if (told->result.exit_code >= EXIT_CODE_TOOL && told->result.exit_code <= EXIT_CODE_NOT_FOUND)
		xp->result->tool_status = told->result.exit_code;
	return error_set(err, EIO, "the run of seed %" PRIu64 " failed: %s", explore_seed(&xp->at, number),
			 *told->why ? told->why : "its process was killed");
}

static void note_fail(struct exploration *xp, uint64_t number, const struct explore_told *told)
{
	struct explore_result *result = xp->result;

	result->has_fail = true;
	result->first_fail = explore_seed(&xp->at, number);
	result->fail_status = told->result.exit_code;
	describe_end(&told->result, result->how);
	xp->first_fail = number;
	memcpy(xp->fail_schedule, told->schedule, HASH_BYTES);
}

static int take_note(struct exploration *xp, uint64_t number, const struct explore_told *told, struct error *err)
{
	struct explore_result *result = xp->result;
	bool pass;
	int fresh;

	if (!told->valid)
		return tool_failed(xp, number, told, err);
	pass = passes(xp, number, told);
	fresh = note_schedule(xp, told->schedule);
	if (fresh < 0 || (pass && fresh && note_pass(xp, number) < 0))
		return error_errno(err, ENOMEM, "exploration");
	result->done++;
	result->failed += !pass;
	result->deadlocks += told->result.end == RUN_DEADLOCK;
	result->schedules = xp->n_seen;
	result->has_pass |= pass;
	xp->real_ns += told->result.real_ns;
	print_row(xp, number, told, pass);
	if (!pass && !result->has_fail)
		note_fail(xp, number, told);
	else if (!pass || !fresh)
		forget_files(xp, number);
	return 0;
}

/* The oldest one that is going on. One that ends when somebody wants an end of all may have been told, too, by his terminal: it does not count. */
static int finish_one(struct exploration *xp, struct error *err)
{
	struct explore_run run = xp->going[0];
	struct explore_told told;
	bool ended;

	ended = explore_await(&run, &xp->signals, &told);
	xp->result->interrupted = explore_signals_came(&xp->signals);
	if (!ended)
		return 0;
	if (xp->result->interrupted)
		forget_files(xp, run.number);
	memmove(xp->going, xp->going + 1, --xp->n_going * sizeof(*xp->going));
	return xp->result->interrupted ? 0 : take_note(xp, run.number, &told, err);
}

/* ---- all of them ---- */

static bool is_over_budget(const struct exploration *xp)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return xp->x->budget_ns && (now.tv_sec - xp->start.tv_sec) * 1000000000 + now.tv_nsec - xp->start.tv_nsec > (int64_t)xp->x->budget_ns;
}

static bool is_enough(const struct exploration *xp)
{
	if (xp->result->interrupted)
		return true;
	switch (xp->x->until) {
	case EXPLORE_FAIL:
		return xp->result->has_fail;
	case EXPLORE_BOTH:
		return xp->result->has_fail && xp->result->has_pass;
	case EXPLORE_ALL:
		break;
	}
	return false;
}

/* Its result is nobody's. A further signal is about a run that does not end. */
static void stop_run(const struct exploration *xp, const struct explore_run *run)
{
	struct explore_told told;

	(void)explore_signals_came(&xp->signals);
	explore_signals_stop(&xp->signals, run->pid);
	while (!explore_await(run, &xp->signals, &told))
		if (explore_signals_came(&xp->signals))
			(void)kill(run->pid, SIGKILL);
}

/* Those that went on beside the one that was enough: nobody is to see them. */
static void drop_rest(struct exploration *xp)
{
	bool hurry = xp->result->interrupted;
	struct explore_told told;

	for (size_t i = 0; i < xp->n_going; i++) {
		if (hurry || !explore_await(&xp->going[i], &xp->signals, &told)) {
			hurry = true;
			stop_run(xp, &xp->going[i]);
		}
		forget_files(xp, xp->going[i].number);
	}
	xp->n_going = 0;
}

static bool may_start(const struct exploration *xp, uint64_t next)
{
	if (xp->n_going == xp->x->jobs || next >= xp->x->runs)
		return false;
	return next == xp->x->shard || !is_over_budget(xp);
}

static int explore(struct exploration *xp, struct error *err)
{
	const struct explore *x = xp->x;
	uint64_t next = x->shard;
	int r = 0;

	(void)fprintf(x->table, "%-20s  %-4s  %-14s  %9s  %-*s  %9s\n", "SEED", "", "OUTCOME", "TURNS", ROW_ID, "SCHEDULE", "TIME");
	(void)clock_gettime(CLOCK_MONOTONIC, &xp->start);
	progress(xp);
	while (r == 0 && !is_enough(xp)) {
		while (r == 0 && may_start(xp, next)) {
			(void)fflush(x->table); /* or the run's process has it, too */
			r = explore_start(&xp->at, next, &xp->going[xp->n_going], err);
			xp->n_going += r == 0;
			next += x->shards;
		}
		if (r < 0 || xp->n_going == 0)
			break;
		r = finish_one(xp, err);
		progress(xp);
	}
	drop_rest(xp);
	progress_wipe(xp);
	return r;
}

/* ---- the end ---- */

/* The passing run whose choices are those of the first failing one for the longest. */
static void find_nearest(struct exploration *xp)
{
	struct schedule fail __attribute__((cleanup(schedule_clear))) = { 0 };
	char path[EXPLORE_PATH_SIZE];
	size_t best = 0;
	bool found = false;

	if (!xp->result->has_fail || schedule_read(explore_path(&xp->at, xp->first_fail, "schedule", path), NULL, &fail, NULL) < 0)
		return;
	for (size_t i = 0; i < xp->n_passes; i++) {
		struct schedule pass __attribute__((cleanup(schedule_clear))) = { 0 };

		if (schedule_read(explore_path(&xp->at, xp->passes[i], "schedule", path), NULL, &pass, NULL) < 0)
			continue;
		if (found && schedule_common(&fail, &pass) <= best)
			continue;
		best = schedule_common(&fail, &pass);
		xp->nearest_pass = xp->passes[i];
		found = true;
	}
	xp->result->nearest_pass = explore_seed(&xp->at, xp->nearest_pass);
}

/* The first failing run once more, with an event log: it has to be the same run. */
static int log_fail(struct exploration *xp, struct error *err)
{
	struct explore_run run;
	struct explore_told told;
	int r;

	xp->at.log = true;
	r = explore_start(&xp->at, xp->first_fail, &run, err);
	if (r < 0)
		return r;
	if (!explore_await(&run, &xp->signals, &told)) {
		xp->result->interrupted = explore_signals_came(&xp->signals);
		stop_run(xp, &run);
		return 0;
	}
	if (!told.valid)
		return tool_failed(xp, xp->first_fail, &told, err);
	if (memcmp(told.schedule, xp->fail_schedule, HASH_BYTES) != 0)
		log_warning("the run of seed %" PRIu64 " had another schedule the second time", xp->result->first_fail);
	return 0;
}

static const char *kept_path(const char *dir, const char *name, const char *kind, char path[EXPLORE_PATH_SIZE])
{
	(void)snprintf(path, EXPLORE_PATH_SIZE, "%.3900s/%s.%s", dir, name, kind);
	return path;
}

static void keep(const struct exploration *xp, uint64_t number, const char *dir, const char *name)
{
	char from[EXPLORE_PATH_SIZE], to[EXPLORE_PATH_SIZE];
	int r;

	for (size_t i = 0; explore_kinds[i]; i++) {
		r = fd_copy_file(explore_path(&xp->at, number, explore_kinds[i], from), kept_path(dir, name, explore_kinds[i], to));
		if (r < 0 && r != -ENOENT)
			log_warning("%s: %s", to, strerrordesc_np(-r));
	}
	forget_files(xp, number);
}

static void show(const struct exploration *xp, const char *what, uint64_t number, const char *dir, const char *name, char **ret_command)
{
	struct run_options o __attribute__((cleanup(run_options_clear))) = { 0 };
	_cleanup_free_ char *command = NULL, *following = NULL;

	if (explore_options(&xp->at, number, &o, NULL) == 0)
		command = run_options_command_line(&o);
	if (command && asprintf(&o.replay_schedule, "%s/%s.schedule", dir, name) >= 0)
		following = run_options_command_line(&o);
	(void)fprintf(xp->x->table, "%s: seed %" PRIu64 ", kept in %s/%s.*\n  by seed:     %s\n  by schedule: %s\n", what,
		      explore_seed(&xp->at, number), dir, name, command ? command : "", following ? following : "");
	if (ret_command)
		*ret_command = take_ptr(command);
}

/* Where the files go that are kept; the ones of an earlier exploration are gone. */
static int make_keep(const struct exploration *xp, char dir[EXPLORE_PATH_SIZE], struct error *err)
{
	static const char *const names[] = { "fail", "pass" };
	char path[EXPLORE_PATH_SIZE];

	if (!xp->x->keep) {
		(void)snprintf(dir, EXPLORE_PATH_SIZE, "%s", xp->at.dir);
		return 0;
	}
	if (mkdir(xp->x->keep, 0777) < 0 && errno != EEXIST)
		return error_errno(err, errno, "--keep: %s", xp->x->keep);
	if (!realpath(xp->x->keep, dir))
		return error_errno(err, errno, "--keep: %s", xp->x->keep);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (size_t k = 0; explore_kinds[k]; k++)
			(void)unlink(kept_path(dir, names[i], explore_kinds[k], path));
	return 0;
}

/* All but what is worth keeping goes. */
static int conclude(struct exploration *xp, const char *dir, struct error *err)
{
	const char *shown = xp->x->shown ? xp->x->shown : dir;
	struct explore_result *result = xp->result;
	int r = 0;

	find_nearest(xp);
	(void)fprintf(xp->x->table,
		      "%" PRIu64 " run%s: %" PRIu64 " passed, %" PRIu64 " failed (%" PRIu64 " deadlock%s); %zu distinct schedule%s; %.3f s of runs\n",
		      result->done, result->done == 1 ? "" : "s", result->done - result->failed, result->failed, result->deadlocks,
		      result->deadlocks == 1 ? "" : "s", result->schedules, result->schedules == 1 ? "" : "s", (double)xp->real_ns / 1e9);
	if (result->has_fail && xp->x->log_fail && !result->interrupted)
		r = log_fail(xp, err);
	if (result->has_fail) {
		keep(xp, xp->first_fail, dir, "fail");
		show(xp, "first failing run", xp->first_fail, shown, "fail", &result->fail_command);
	}
	if (result->has_fail && xp->n_passes) {
		keep(xp, xp->nearest_pass, dir, "pass");
		show(xp, "nearest passing run", xp->nearest_pass, shown, "pass", NULL);
	}
	if (r == 0 && (fflush(xp->x->table) != 0 || ferror(xp->x->table)))
		r = error_errno(err, errno ? errno : EIO, "the table of results cannot be written");
	return r;
}

/* ---- in and out ---- */

unsigned explore_default_jobs(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > EXPLORE_JOBS_MAX ? EXPLORE_JOBS_MAX : (unsigned)n;
}

void explore_result_clear(struct explore_result *result)
{
	free(result->fail_command);
	*result = (struct explore_result){ 0 };
}

static void end(struct exploration *xp)
{
	for (size_t i = 0; i < xp->n_passes; i++)
		forget_files(xp, xp->passes[i]);
	if (xp->at.dir[0] && !xp->x->keep && xp->result->has_fail)
		scratch_keep(xp->at.dir);
	else if (xp->at.dir[0])
		scratch_remove(xp->at.dir);
	explore_signals_release(&xp->signals);
	free(xp->seen);
	free(xp->passes);
	free(xp);
}

int explore_all(const struct explore *x, struct explore_result *ret, struct error *err)
{
	struct exploration *xp = calloc(1, sizeof(*xp));
	char dir[EXPLORE_PATH_SIZE];
	int r;

	*ret = (struct explore_result){ .tool_status = EXIT_CODE_TOOL };
	if (!xp)
		return error_errno(err, ENOMEM, "exploration");
	xp->x = x;
	xp->result = ret;
	xp->signals = (struct explore_signals)EXPLORE_SIGNALS_NONE;
	xp->at = (struct explore_place){ .o = x->o, .input = x->input };
	r = explore_signals_take(&xp->signals, err);
	if (r == 0)
		r = scratch_make(xp->at.dir, sizeof(xp->at.dir) - 200, "chaos", err);
	if (r < 0)
		xp->at.dir[0] = '\0';
	else
		r = make_keep(xp, dir, err);
	if (r == 0)
		r = explore(xp, err);
	if (r == 0 && ret->interrupted)
		log_error("interrupted after %" PRIu64 " run%s", ret->done, ret->done == 1 ? "" : "s");
	if (r == 0)
		r = conclude(xp, dir, err);
	end(xp);
	return r;
}

int explore_main(const struct explore *x)
{
	struct explore_result result;
	struct error err = { 0 };
	int r, status;

	r = explore_all(x, &result, &err);
	if (r < 0 && !(result.done == 0 && result.tool_status == EXIT_CODE_TOOL && doctor_log_inside()))
		log_error("%s", err.text);
	status = r < 0 ? result.tool_status : result.interrupted ? EXIT_CODE_SIGNAL_BASE + result.interrupted : result.has_fail;
	explore_result_clear(&result);
	return status;
}
