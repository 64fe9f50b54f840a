/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exploring schedules: see explore.h. Runs are started in the order of their seeds, up to `jobs` at a time, and taken note of in that order, so
 * that table, first failure and exit status do not depend on which of them was faster.
 */
#include "supervisor/explore/explore.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/exit_codes.h"
#include "supervisor/explore/explore_run.h"
#include "supervisor/evidence/report.h"
#include "supervisor/evidence/schedule.h"

enum { MAX_OUTPUT = 64 << 20, ROW_ID = 12 };

struct exploration {
	const struct explore *x;
	struct explore_place at;
	struct explore_run going[EXPLORE_JOBS_MAX];
	size_t n_going;
	uint64_t done, failed, deadlocks;
	unsigned char (*seen)[HASH_BYTES]; /* schedules */
	size_t n_seen, seen_room;
	bool has_fail, has_pass, tool_failed;
	uint64_t first_fail, nearest_pass; /* numbers of runs */
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
	size_t room;

	for (size_t i = 0; i < xp->n_seen; i++)
		if (!memcmp(xp->seen[i], digest, HASH_BYTES))
			return 0;
	if (xp->n_seen == xp->seen_room) {
		room = xp->seen_room ? xp->seen_room * 2 : 256;
		grown = realloc(xp->seen, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		xp->seen = grown;
		xp->seen_room = room;
	}
	memcpy(xp->seen[xp->n_seen++], digest, HASH_BYTES);
	return 1;
}

static int note_pass(struct exploration *xp, uint64_t number)
{
	uint64_t *grown;
	size_t room;

	if (xp->n_passes == xp->passes_room) {
		room = xp->passes_room ? xp->passes_room * 2 : 256;
		grown = realloc(xp->passes, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		xp->passes = grown;
		xp->passes_room = room;
	}
	xp->passes[xp->n_passes++] = number;
	return 0;
}

static void forget_files(const struct exploration *xp, uint64_t number)
{
	static const char *const kinds[] = { "stdout", "stderr", "schedule" };
	char path[EXPLORE_PATH_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		(void)unlink(explore_path(&xp->at, number, kinds[i], path));
}

static void print_row(const struct exploration *xp, uint64_t number, const struct explore_told *told, bool pass)
{
	char id[HASH_HEX_SIZE], outcome[48];

	if (xp->x->o->quiet && pass)
		return;
	hash_hex(told->schedule, HASH_BYTES, id);
	(void)snprintf(outcome, sizeof(outcome), "%s %d", run_end_name(told->result.end), told->result.exit_code);
	(void)printf("%-20" PRIu64 "  %-4s  %-14s  %9" PRIu64 "  %.*s  %7.3f s\n", explore_seed(&xp->at, number), pass ? "pass" : "FAIL", outcome,
		     told->result.turns, ROW_ID, id, (double)told->result.real_ns / 1e9);
}

/* What the run's process had to say when it could not run. */
static int tool_failed(const struct exploration *xp, uint64_t number, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	char path[EXPLORE_PATH_SIZE];
	size_t len;

	if (fd_read_file(AT_FDCWD, explore_path(&xp->at, number, "stderr", path), MAX_OUTPUT, &text, &len) == 0)
		text[strcspn(text, "\n")] = '\0';
	return error_set(err, EIO, "the run of seed %" PRIu64 " failed: %s", explore_seed(&xp->at, number), text && *text ? text : "no reason was given");
}

static int take_note(struct exploration *xp, uint64_t number, const struct explore_told *told, struct error *err)
{
	bool pass;
	int fresh;

	if (!told->valid)
		return tool_failed(xp, number, err);
	pass = passes(xp, number, told);
	fresh = note_schedule(xp, told->schedule);
	if (fresh < 0 || (pass && fresh && note_pass(xp, number) < 0))
		return error_errno(err, ENOMEM, "exploration");
	xp->done++;
	xp->real_ns += told->result.real_ns;
	xp->failed += !pass;
	xp->deadlocks += told->result.end == RUN_DEADLOCK;
	print_row(xp, number, told, pass);
	if (!pass && !xp->has_fail) {
		xp->has_fail = true;
		xp->first_fail = number;
	} else if (!pass || !fresh) {
		forget_files(xp, number);
	}
	xp->has_pass |= pass;
	return 0;
}

/* The oldest one that is going on. */
static int finish_one(struct exploration *xp, struct error *err)
{
	struct explore_run run = xp->going[0];
	struct explore_told told;

	explore_await(&run, &told);
	memmove(xp->going, xp->going + 1, --xp->n_going * sizeof(*xp->going));
	return take_note(xp, run.number, &told, err);
}

/* ---- all of them ---- */

static bool is_enough(const struct exploration *xp)
{
	switch (xp->x->until) {
	case EXPLORE_FAIL:
		return xp->has_fail;
	case EXPLORE_BOTH:
		return xp->has_fail && xp->has_pass;
	case EXPLORE_ALL:
		break;
	}
	return false;
}

static void progress(const struct exploration *xp, bool end)
{
	if (!isatty(STDERR_FILENO) || xp->x->o->quiet)
		return;
	(void)fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " runs, %" PRIu64 " failed, %zu schedules%s", xp->done, xp->x->runs, xp->failed,
		      xp->n_seen, end ? "\r\033[K" : "");
}

/* Those that went on beside the one that was enough: nobody is to see them. */
static void drop_rest(struct exploration *xp)
{
	struct explore_told told;

	for (size_t i = 0; i < xp->n_going; i++) {
		explore_await(&xp->going[i], &told);
		forget_files(xp, xp->going[i].number);
	}
	xp->n_going = 0;
}

static int explore(struct exploration *xp, struct error *err)
{
	const struct explore *x = xp->x;
	uint64_t next = x->shard;
	int r = 0;

	(void)printf("%-20s  %-4s  %-14s  %9s  %-*s  %9s\n", "SEED", "", "OUTCOME", "TURNS", ROW_ID, "SCHEDULE", "TIME");
	while (r == 0 && !is_enough(xp)) {
		while (r == 0 && xp->n_going < x->jobs && next < x->runs) {
			r = explore_start(&xp->at, next, &xp->going[xp->n_going], err);
			xp->n_going += r == 0;
			next += x->shards;
		}
		if (r < 0 || xp->n_going == 0)
			break;
		r = finish_one(xp, err);
		progress(xp, false);
	}
	drop_rest(xp);
	progress(xp, true);
	return r;
}

/* ---- the end ---- */

/* The passing run whose choices are those of the first failing one for the longest. All other files go. */
static void find_nearest(struct exploration *xp)
{
	struct schedule fail __attribute__((cleanup(schedule_clear))) = { 0 };
	char path[EXPLORE_PATH_SIZE];
	size_t best = 0;
	bool found = false;

	if (!xp->has_fail || schedule_read(explore_path(&xp->at, xp->first_fail, "schedule", path), NULL, &fail, NULL) < 0)
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
}

static void keep(const struct exploration *xp, uint64_t number, const char *name)
{
	static const char *const kinds[] = { "schedule", "stdout", "stderr" };
	char from[EXPLORE_PATH_SIZE], to[EXPLORE_PATH_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		(void)snprintf(to, sizeof(to), "%.3900s/%s.%s", xp->at.dir, name, kinds[i]);
		if (rename(explore_path(&xp->at, number, kinds[i], from), to) < 0 && errno != ENOENT)
			log_warning("%s: %m", to);
	}
}

static void show(const struct exploration *xp, const char *what, uint64_t number, const char *name)
{
	struct run_options o __attribute__((cleanup(run_options_clear))) = { 0 };
	_cleanup_free_ char *command = NULL, *following = NULL;

	if (explore_options(&xp->at, number, &o) == 0)
		command = run_options_command_line(&o);
	if (command && asprintf(&o.replay_schedule, "%s/%s.schedule", xp->at.dir, name) >= 0)
		following = run_options_command_line(&o);
	(void)printf("%s: seed %" PRIu64 ", kept in %s/%s.*\n  by seed:     %s\n  by schedule: %s\n", what, explore_seed(&xp->at, number), xp->at.dir, name,
		     command ? command : "", following ? following : "");
}

/* All but what is worth keeping goes. */
static void conclude(struct exploration *xp)
{
	find_nearest(xp);
	(void)printf("%" PRIu64 " runs: %" PRIu64 " passed, %" PRIu64 " failed (%" PRIu64 " deadlocks); %zu distinct schedules; %.3f s of runs\n",
		     xp->done, xp->done - xp->failed, xp->failed, xp->deadlocks, xp->n_seen, (double)xp->real_ns / 1e9);
	if (xp->has_fail) {
		keep(xp, xp->first_fail, "fail");
		show(xp, "first failing run", xp->first_fail, "fail");
	}
	if (xp->has_fail && xp->n_passes) {
		keep(xp, xp->nearest_pass, "pass");
		show(xp, "nearest passing run", xp->nearest_pass, "pass");
	}
	for (size_t i = 0; i < xp->n_passes; i++)
		forget_files(xp, xp->passes[i]);
}

static int make_dir(struct exploration *xp, struct error *err)
{
	const char *tmp = getenv("TMPDIR");

	if (xp->x->keep) {
		if (mkdir(xp->x->keep, 0700) < 0 && errno != EEXIST)
			return error_errno(err, errno, "--keep: %s", xp->x->keep);
		return realpath(xp->x->keep, xp->at.dir) ? 0 : error_errno(err, errno, "--keep: %s", xp->x->keep);
	}
	(void)snprintf(xp->at.dir, sizeof(xp->at.dir), "%.3800s/hermit-chaos-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	return mkdtemp(xp->at.dir) ? 0 : error_errno(err, errno, "%s", xp->at.dir);
}

int explore_main(const struct explore *x)
{
	struct exploration *xp = calloc(1, sizeof(*xp));
	struct error err = { 0 };
	int r, status;

	if (!xp)
		return EXIT_CODE_TOOL;
	xp->x = x;
	xp->at.o = x->o;
	r = make_dir(xp, &err);
	if (r == 0)
		r = explore(xp, &err);
	if (r == 0)
		conclude(xp);
	else
		log_error("%s", err.text);
	status = r < 0 ? EXIT_CODE_TOOL : xp->has_fail;
	if (!x->keep)
		(void)rmdir(xp->at.dir); /* stays when something was kept in it */
	free(xp->seen);
	free(xp->passes);
	free(xp);
	return status;
}
