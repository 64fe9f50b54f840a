/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs with observers: see observed.h. */
#include "supervisor/evidence/observed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/doctor/doctor.h"
#include "supervisor/evidence/event_log.h"
#include "supervisor/evidence/report.h"
#include "supervisor/exit_codes.h"
#include "supervisor/launch.h"
#include "supervisor/options/order_file.h"

static void on_event(void *arg, struct engine *e, const struct event *event)
{
	struct observed *ob = arg;

	if (event->kind == EVENT_OUTSIDE)
		ob->interrupted = true;
}

/* --stacktrace-at: nothing runs while it is written. */
static void on_turn(void *arg, struct engine *e, const struct event *event)
{
	const struct run_options *o = arg;
	_cleanup_free_ char *text = NULL;
	char *line, *rest;

	if (engine_turn(e) != o->stacktrace_at || event->kind == EVENT_ALARM)
		return;
	text = rest = engine_describe_waiters(e);
	log_error("turn %" PRIu64 ":", o->stacktrace_at);
	while (rest && (line = strsep(&rest, "\n")))
		if (*line)
			log_error("%s", line);
}

DEFINE_CLEANUP(event_log, struct event_log, event_log_free)

static int end_log(struct observed *ob, struct event_log *log, struct error *err)
{
	char name[FD_NAME_SIZE];
	int r;

	r = event_log_finish(log, &ob->result, err);
	ob->records = event_log_records(log);
	if (r == 0)
		return 0;
	ob->result.exit_code = EXIT_CODE_TOOL;
	error_prefix(err, "%s", fd_name(ob->log_fd, name));
	return r;
}

int observed_run(struct observed *ob, const struct run_options *o, struct run_request *request, struct error *err)
{
	_cleanup_(cleanup_event_log) struct event_log *log = NULL;
	struct engine_observer observers[6];
	struct progress progress;
	int r;

	request->observers = observers;
	request->n_observers = 0;
	observers[request->n_observers++] = tally_observer(&ob->tally);
	observers[request->n_observers++] = (struct engine_observer){ .event = on_event, .arg = ob };
	progress_start(&progress, ob->progress_fd, ob->run, ob->runs, ob->clock);
	observers[request->n_observers++] = progress_observer(&progress);
	if (o->stacktrace_at)
		observers[request->n_observers++] = (struct engine_observer){ .event = on_turn, .arg = (void *)o };
	if (ob->record)
		observers[request->n_observers++] = schedule_recorder(ob->record);
	if (ob->follow)
		request->engine.chooser = schedule_follow(ob->follow);
	if (ob->log_fd >= 0) {
		r = event_log_new(ob->log_fd, ob->compress, o->log_bytes == LOG_BYTES_HASH, o, &log, err);
		if (r < 0) {
			ob->result = (struct run_result){ .exit_code = EXIT_CODE_TOOL };
			return r;
		}
		observers[request->n_observers++] = event_log_observer(log);
		request->engine.results = true;
	}
	r = run_guest(request, &ob->result, err);
	if (!ob->clock)
		progress_stop();
	request->observers = NULL;
	request->n_observers = 0;
	if (r < 0 || !log)
		return r;
	return end_log(ob, log, err);
}

/* Opened on the host, before there is a container in which the name could mean something else. */
static int open_log(const struct run_options *o, struct observed *ob, struct error *err)
{
	bool standard = o->log_events && !strcmp(o->log_events, "-");

	if (!o->log_events)
		return 0;
	ob->log_fd = standard ? fd_duplicate(STDOUT_FILENO) : open(o->log_events, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (ob->log_fd < 0)
		return error_errno(err, standard ? -ob->log_fd : errno, "--log-events: %s", o->log_events);
	ob->compress = event_log_is_compressed(o->log_events);
	return 0;
}

/* What is written at the end: that it cannot be is said before the run, not after it. */
static int check_outputs(const struct run_options *o, struct error *err)
{
	const struct {
		const char *option, *path;
	} outputs[] = { { "--report", o->report }, { "--record-schedule", o->record_schedule } };
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		r = outputs[i].path && strcmp(outputs[i].path, "-") != 0 ? fd_check_writable(outputs[i].path) : 0;
		if (r < 0)
			return error_errno(err, -r, "%s: cannot write %s", outputs[i].option, outputs[i].path);
	}
	return 0;
}

static int write_report(const struct run_options *o, const struct observed *ob, const char *image, struct error *err)
{
	struct run_report report = { .options = o, .result = &ob->result, .uncontrolled = &ob->tally, .image = image };
	bool standard = o->report && !strcmp(o->report, "-");
	_cleanup_free_ char *text = NULL;
	bool failed;
	FILE *f;

	if (o->summary)
		report_print(stderr, &report);
	if (!o->report)
		return 0;
	text = report_to_json(&report);
	if (!text)
		return error_errno(err, ENOMEM, "--report");
	f = standard ? stdout : fopen(o->report, "we");
	if (!f)
		return error_errno(err, errno, "--report: %s", o->report);
	failed = fprintf(f, "%s\n", text) < 0;
	failed |= (standard ? fflush(f) : fclose(f)) != 0;
	return failed ? error_errno(err, errno, "--report: %s", o->report) : 0;
}

/* Schedules are files of the host, too. */
static int read_schedule(const struct run_options *o, struct schedule *s, struct observed *ob, struct error *err)
{
	int r;

	if (!o->replay_schedule)
		return 0;
	r = schedule_read(o->replay_schedule, o, s, err);
	if (r == 0)
		ob->follow = s;
	return r;
}

static int end_schedules(const struct run_options *o, struct observed *ob, struct error *err)
{
	if (ob->follow && schedule_check_end(ob->follow, &ob->result, err) < 0) {
		log_error("the program no longer fits the schedule: %s", err->text);
		ob->result.exit_code = EXIT_CODE_MISFIT;
	}
	return ob->record ? schedule_write(ob->record, o->record_schedule, o, &ob->result, err) : 0;
}

static void show_faults(const struct run_options *o, const struct observed *ob)
{
	for (size_t i = 0; i < o->faults.count && i < FAULTS_MAX && !o->quiet; i++)
		log_error("fault %s: struck %" PRIu64 " times", o->faults.items[i], ob->result.stats.faults[i]);
}

/* What was asked of the order and did not come to be. */
static void show_order(const struct run_options *o, const struct order_spec *order, const struct observed *ob)
{
	static const char *const ends[] = {
		[INTERRUPT_NEVER] = "the thread did not go on at that turn",
		[INTERRUPT_ALONE] = "nobody else could go on",
		[INTERRUPT_SHORT] = "something else happened before so many instructions",
	};

	for (size_t i = 0; i < o->interrupts.count && i < INTERRUPTS_MAX && !o->replay_schedule; i++)
		if (ob->result.stats.interrupts[i] != INTERRUPT_DONE)
			log_warning("--interrupt-at=%s: %s", o->interrupts.items[i], ends[ob->result.stats.interrupts[i]]);
	if (order)
		order_warn(order, ob->result.anchors_seen);
}

/* The tool has failed before the program did anything. */
static bool cannot_run(const struct observed *ob)
{
	return ob->result.exit_code == EXIT_CODE_TOOL && ob->result.turns == 0;
}

/* A schedule of its own that ended badly: how to have it again. */
static void show_seed(const struct run_options *o, const struct observed *ob)
{
	_cleanup_free_ char *command = NULL;

	if (!o->chaos || o->quiet || ob->result.exit_code == 0 || ob->result.turns == 0)
		return;
	command = run_options_command_line(o);
	if (command)
		log_error("seed %" PRIu64 " ended with status %d; the same again: %s", run_options_seed(o, o->sched_seed),
			  ob->result.exit_code, command);
}

int observed_main(const struct run_options *o)
{
	_cleanup_launch_ struct launch launch = { 0 };
	struct error err = { 0 };

	if (launch_init(&launch, o, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_CODE_TOOL;
	}
	return observed_request(o, &launch.request, NULL);
}

int observed_request(const struct run_options *o, struct run_request *request, const char *image)
{
	_cleanup_schedule_ struct schedule recorded = { 0 }, followed = { 0 };
	struct observed ob = OBSERVED_NOTHING;
	struct error err = { 0 };
	int r;

	r = check_outputs(o, &err);
	if (r == 0)
		r = open_log(o, &ob, &err);
	if (r == 0)
		r = read_schedule(o, &followed, &ob, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return EXIT_CODE_TOOL;
	}
	/* On a terminal that the guest writes to as well, a line of ours would be in its way. */
	if (!o->quiet && !isatty(STDOUT_FILENO))
		ob.progress_fd = STDERR_FILENO;
	ob.record = o->record_schedule ? &recorded : NULL;
	r = observed_run(&ob, o, request, &err);
	if (ob.log_fd >= 0)
		(void)close(ob.log_fd);
	if (r >= 0)
		r = end_schedules(o, &ob, &err);
	if (r >= 0)
		r = write_report(o, &ob, image, &err);
	if (r < 0) {
		/* Inside of a run all that has failed has failed for that. */
		if (cannot_run(&ob) && doctor_log_inside())
			return EXIT_CODE_TOOL;
		log_error("%s", err.text);
		if (cannot_run(&ob))
			doctor_log_missing();
		return ob.result.exit_code >= EXIT_CODE_TOOL ? ob.result.exit_code : EXIT_CODE_TOOL;
	}
	show_faults(o, &ob);
	show_order(o, request->engine.order, &ob);
	show_seed(o, &ob);
	return ob.result.exit_code;
}
