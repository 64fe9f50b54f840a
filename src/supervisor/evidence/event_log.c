/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From what the engine tells its observers to records.
 *
 * A call gives one record when its result is known before anything else happens, which is the usual case: so the record of the
 * latest call is held back until then. When something else comes first, the call is written without a result ("blocked" or "queued")
 * and its end gets a record of its own. How often a parked call was considered in vain is not written.
 */
#include "supervisor/evidence/event_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "config.h"
#include "engine/policy/decode.h"
#include "engine/policy/policy.h"
#include "supervisor/evidence/event_log_internal.h"
#include "supervisor/evidence/report.h"

enum { FLUSH_NS = 200000000, ERESTARTNOHAND = 514 /* the kernel's own */ };

void event_log_fail(struct event_log *log, int error)
{
	if (error < 0 && !log->error)
		log->error = error;
}

struct logged_task *event_log_add_task(struct event_log *log, int id, int vtid)
{
	struct logged_task *t = calloc(1, sizeof(*t));

	if (!t) {
		event_log_fail(log, -ENOMEM);
		return NULL;
	}
	t->id = id;
	t->vtid = vtid;
	HASH_ADD_INT(log->tasks, id, t);
	return t;
}

struct logged_task *event_log_known_task(struct event_log *log, int id)
{
	struct logged_task *t;

	HASH_FIND_INT(log->tasks, &id, t);
	return t;
}

static struct logged_task *find_task(struct event_log *log, const struct engine *e, int id)
{
	struct logged_task *t = event_log_known_task(log, id);

	return t ? t : event_log_add_task(log, id, engine_vtid(e, id));
}

/* The vtid of a task whose doing woke another; -1 for none. */
static int waker_vtid(struct event_log *log, int id)
{
	struct logged_task *t = id >= 0 ? event_log_known_task(log, id) : NULL;

	if (id < 0)
		return -1;
	if (t)
		return t->vtid;
	return id == log->dead ? log->dead_vtid : -1;
}

void event_log_remove_task(struct event_log *log, struct logged_task *t)
{
	if (log->held == t)
		log->held = NULL;
	HASH_DEL(log->tasks, t);
	free(t);
}

static const char *call_name(int nr)
{
	return policy_row(nr)->name ?: "unknown";
}

/* "read(3, ADDR, 5)" as name and arguments. An unknown call has a number for a name. */
static void put_call_text(struct event_log *log)
{
	char *open = strchr(log->held_text, '('), *close = strrchr(log->held_text, ')');

	if (!open) {
		log_writer_text(log->writer, "call", log->held_text);
		return;
	}
	*open = '\0';
	if (close && close > open && !close[1])
		*close = '\0';
	log_writer_text(log->writer, "call", log->held_text);
	log_writer_text(log->writer, "args", open + 1);
}

/* Begins the record of the held call, which is no longer held. */
static void begin_held(struct event_log *log)
{
	log_writer_begin(log->writer, LOG_CALL, log->held_turn, log->held->vtid, log->held_ns);
	put_call_text(log);
	if (log->held_has_in)
		log_writer_digest(log->writer, "in", log->held_in, LOG_HASH_HEX / 2);
	log->held = NULL;
}

/* Something else happens before the end of the held call is known. */
static void release_held(struct event_log *log, const char *outcome)
{
	struct logged_task *t = log->held;

	if (!t)
		return;
	t->blocked = !strcmp(outcome, "blocked");
	begin_held(log);
	log_writer_text(log->writer, "outcome", outcome);
	record_commit(log);
}

/* The end of the task's call: in the call's own record where that is still held, else in a new one. */
static void begin_end(struct event_log *log, struct engine *e, struct logged_task *t)
{
	t->in_call = t->blocked = false;
	if (log->held == t) {
		begin_held(log);
		return;
	}
	record_begin(log, e, LOG_RETURN, t->vtid);
	log_writer_text(log->writer, "call", call_name(t->call.nr));
}

static void write_result(struct event_log *log, struct engine *e, struct logged_task *t, int64_t result)
{
	unsigned char digest[HASH_BYTES];
	char text[64];

	t->call.result = result;
	begin_end(log, e, t);
	(void)decode_result(t->call.nr, result, text, sizeof(text));
	log_writer_text(log->writer, "result", text);
	if (log->bytes && payload_out(engine_guest(e), t->id, &t->call, digest))
		log_writer_digest(log->writer, "out", digest, LOG_HASH_HEX / 2);
	if (log->bytes && payload_moved(engine_guest(e), t->id, &t->call, digest))
		log_writer_digest(log->writer, "moved", digest, LOG_HASH_HEX / 2);
	record_commit(log);
}

static void write_outcome(struct event_log *log, struct engine *e, struct logged_task *t, const char *outcome)
{
	begin_end(log, e, t);
	log_writer_text(log->writer, "outcome", outcome);
	record_commit(log);
}

static void hold_call(struct event_log *log, struct engine *e, struct logged_task *t, const struct event *event)
{
	t->call = (struct payload_call){ .nr = event->call.nr };
	memcpy(t->call.args, event->call.args, sizeof(t->call.args));
	t->in_call = true;
	t->blocked = t->returned = t->woken = false;
	log->held = t;
	log->held_turn = engine_turn(e);
	log->held_ns = engine_now_ns(e);
	(void)decode_call(engine_guest(e), t->id, t->call.nr, t->call.args, log->held_text, sizeof(log->held_text));
	log->held_has_in = log->bytes && payload_in(engine_guest(e), t->id, &t->call, log->held_in);
}

/* Real time decides when plain text reaches the file, never what it is. */
static void flush_sometimes(struct event_log *log, bool now)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	if (!now && (t.tv_sec - log->flushed.tv_sec) * 1000000000 + t.tv_nsec - log->flushed.tv_nsec < FLUSH_NS)
		return;
	log->flushed = t;
	event_log_fail(log, log_writer_flush(log->writer));
}

static void write_event(struct event_log *log, struct engine *e, struct logged_task *t, const struct event *event)
{
	switch (event->kind) {
	case EVENT_CALL:
		hold_call(log, e, t, event);
		return;
	case EVENT_DONE:
		t->returned = true;
		t->call.result = event->result;
		return;
	case EVENT_BIRTH:
		record_birth(log, e, t, event);
		return;
	case EVENT_EXEC:
		record_exec(log, e, t, event);
		return;
	case EVENT_EXIT:
		record_exit(log, e, t, event);
		return;
	case EVENT_SIGNAL:
		record_signal(log, e, t, LOG_SIGNAL, event->siginfo.si_signo, event->siginfo.si_code);
		return;
	case EVENT_STOPPED:
		record_signal(log, e, t, LOG_STOP, event->signo, 0);
		return;
	case EVENT_CONTINUED:
		record_begin(log, e, LOG_CONT, t->vtid);
		record_commit(log);
		return;
	case EVENT_OUTSIDE:
		record_signal(log, e, NULL, LOG_OUTSIDE, event->signo, 0);
		return;
	case EVENT_JOIN:
		record_join(log, e, event);
		return;
	case EVENT_TRAP:
		t->trap = event->trap.kind; /* written with its answer */
		t->leaf = event->trap.leaf;
		t->subleaf = event->trap.subleaf;
		return;
	case EVENT_SPIN:
		record_begin(log, e, LOG_TRAP, t->vtid);
		log_writer_text(log->writer, "outcome", event->spin.forced ? "stopped in a loop" : "spins");
		record_commit(log);
		return;
	case EVENT_PREEMPT:
		record_begin(log, e, LOG_PREEMPT, t->vtid);
		record_commit(log);
		return;
	case EVENT_ALARM:
	case EVENT_NONE:
		return;
	}
}

static void on_event(void *arg, struct engine *e, const struct event *event)
{
	struct event_log *log = arg;
	struct logged_task *t = NULL;

	flush_sometimes(log, event->kind == EVENT_ALARM);
	if (event->kind == EVENT_ALARM)
		return;
	if (event->kind != EVENT_OUTSIDE && event->kind != EVENT_JOIN) {
		t = find_task(log, e, event->task);
		if (!t)
			return;
	}
	if (log->held && (log->held != t || event->kind != EVENT_DONE))
		release_held(log, "queued");
	write_event(log, e, t, event);
}

static void write_verdict(struct event_log *log, struct engine *e, struct logged_task *t, const struct verdict *v)
{
	switch (v->kind) {
	case VERDICT_RETURN:
		write_result(log, e, t, v->value);
		return;
	case VERDICT_CONTINUE:
		if (policy_row(t->call.nr)->ret == RET_EINTR)
			write_result(log, e, t, -ERESTARTNOHAND);
		else if (t->in_call)
			write_outcome(log, e, t, "left to the kernel");
		return;
	case VERDICT_INSTALL:
		write_outcome(log, e, t, "a new descriptor");
		return;
	case VERDICT_RESTART:
		write_result(log, e, t, v->value);
		return;
	case VERDICT_GO:
		if (t->in_call && t->returned)
			write_result(log, e, t, v->set_result ? v->value : t->call.result);
		return;
	case VERDICT_SIGNAL:
		if (v->siginfo.si_signo == 0) {
			record_begin(log, e, LOG_SIGNAL, t->vtid);
			log_writer_text(log->writer, "outcome", "swallowed");
			record_commit(log);
		}
		return;
	case VERDICT_ANSWER:
		record_trap(log, e, t, &v->answers);
		return;
	case VERDICT_SPIN:
	case VERDICT_HOOK: /* its result comes */
	case VERDICT_NONE:
	case VERDICT_BLOCK:
	case VERDICT_LISTEN:
		return;
	}
}

static void on_verdict(void *arg, struct engine *e, int task, const struct verdict *v)
{
	struct event_log *log = arg;
	struct logged_task *t = find_task(log, e, task);

	if (!t)
		return;
	if (log->held && log->held != t)
		release_held(log, "queued");
	record_choice(log, e, t);
	write_verdict(log, e, t, v);
}

/* Mostly about the call that is held; its own record comes behind, at the same time. */
static void begin_beside(struct event_log *log, struct engine *e, enum log_kind kind, int vtid)
{
	if (log->held)
		log_writer_begin(log->writer, kind, log->held_turn, log->held->vtid, log->held_ns);
	else
		record_begin(log, e, kind, vtid);
}

static void on_fault(void *arg, struct engine *e, int task, const char *kind)
{
	struct event_log *log = arg;
	struct logged_task *t = find_task(log, e, task);

	begin_beside(log, e, LOG_FAULT, t ? t->vtid : 0);
	log_writer_text(log->writer, "what", kind);
	record_commit(log);
}

static void on_uncontrolled(void *arg, struct engine *e, const char *what, const char *where)
{
	struct event_log *log = arg;

	begin_beside(log, e, LOG_UNCONTROLLED, 0);
	log_writer_text(log->writer, "what", what);
	log_writer_text(log->writer, "where", where);
	record_commit(log);
}

/* Only the first time: how often is nobody's affair. */
static void on_parked(void *arg, struct engine *e, int task)
{
	struct event_log *log = arg;
	struct logged_task *t = find_task(log, e, task);

	if (!t || t->blocked)
		return;
	if (log->held == t) {
		release_held(log, "blocked");
		return;
	}
	t->blocked = true;
	record_begin(log, e, LOG_RETURN, t->vtid);
	log_writer_text(log->writer, "call", call_name(t->call.nr));
	log_writer_text(log->writer, "outcome", "blocked");
	record_commit(log);
}

/* The last time before the task goes on is the one that mattered. */
static void on_woken(void *arg, struct engine *e, int task, int by, unsigned why)
{
	struct event_log *log = arg;
	struct logged_task *t = find_task(log, e, task);

	if (!t)
		return;
	t->woken = true;
	t->woken_by = why & WAKE_TIMEOUT ? -1 : waker_vtid(log, by);
	t->woken_why = why;
	t->woken_ns = engine_now_ns(e);
}

struct engine_observer event_log_observer(struct event_log *log)
{
	return (struct engine_observer){
		.event = on_event,
		.verdict = on_verdict,
		.uncontrolled = on_uncontrolled,
		.fault = on_fault,
		.parked = on_parked,
		.woken = on_woken,
		.arg = log,
	};
}

DEFINE_CLEANUP(event_log, struct event_log, event_log_free)

int event_log_new(int fd, bool compress, bool bytes, const struct run_options *options, struct event_log **ret, struct error *err)
{
	_cleanup_(cleanup_event_log) struct event_log *log = NULL;
	struct strv list _cleanup_strv_ = { 0 };
	struct log_header header = { .tool = PACKAGE_VERSION, .bytes = bytes };
	char config[HASH_HEX_SIZE];
	int r;

	log = calloc(1, sizeof(*log));
	if (!log || run_options_outcome(options, &list) < 0 || run_options_fingerprint(options, config) < 0)
		return error_errno(err, ENOMEM, "event log");
	header.config = config;
	header.options = (const char *const *)list.items;
	log->bytes = bytes;
	log->last_resumed = log->dead = -1;
	r = log_writer_new(fd, compress, &header, &log->writer, err);
	if (r < 0)
		return r;
	*ret = take_ptr(log);
	return 0;
}

struct event_log *event_log_free(struct event_log *log)
{
	struct logged_task *t, *next;

	if (!log)
		return NULL;
	HASH_ITER(hh, log->tasks, t, next)
		event_log_remove_task(log, t);
	log->writer = log_writer_free(log->writer);
	free(log);
	return NULL;
}

int event_log_finish(struct event_log *log, const struct run_result *result, struct error *err)
{
	if (log->held)
		release_held(log, "queued");
	log_writer_begin(log->writer, LOG_FINISH, result->turns, 0, result->virtual_ns);
	log_writer_text(log->writer, "end", run_end_name(result));
	log_writer_number(log->writer, "status", result->exit_code);
	event_log_fail(log, log_writer_finish(log->writer));
	return log->error ? error_errno(err, -log->error, "the event log is incomplete") : 0;
}

bool event_log_is_compressed(const char *path)
{
	size_t len = strlen(path);

	return len >= 4 && !strcmp(path + len - 4, ".zst");
}

uint64_t event_log_records(const struct event_log *log)
{
	return log_writer_records(log->writer);
}
