/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From what the engine tells its observers to records.
 *
 * A call gives one record when its result is known before anything else happens, which is the usual case: so the record of the
 * latest call is held back until then. When something else comes first, the call is written without a result ("blocked" or "queued")
 * and its end gets a record of its own. How often a parked call was considered in vain is not written.
 */
#include "supervisor/event_log.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* The library's default function does not compile cleanly with clang. */
#define HASH_FUNCTION HASH_FNV
#include <uthash.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "config.h"
#include "engine/decode.h"
#include "engine/policy.h"
#include "engine/task.h"
#include "supervisor/payload.h"
#include "supervisor/report.h"
#include "trace/log_writer.h"

enum { FLUSH_NS = 200000000, OPTIONS_MAX = 100, ERESTARTNOHAND = 514 /* the kernel's own */ };

/* A living task, as far as the log has to remember it. */
struct logged_task {
	int id; /* key */
	int vtid;
	struct payload_call call;
	bool in_call;   /* its end is still to be written */
	bool blocked;   /* written as blocked */
	bool returned;  /* the kernel has run it: call.result is valid */
	bool woken;     /* since it was blocked */
	int woken_by;   /* vtid, -1: time passed */
	unsigned woken_why;
	uint64_t woken_ns;
	enum insn_kind trap; /* the instruction that waits for its answer */
	uint32_t leaf, subleaf;
	UT_hash_handle hh;
};

struct event_log {
	struct log_writer *writer;
	bool bytes;
	struct logged_task *tasks;
	int last_resumed; /* task, -1: none yet */
	int dead, dead_vtid; /* the task that died last: its death wakes others */
	struct timespec flushed;
	int error;

	struct logged_task *held; /* whose call is held back, NULL: none */
	uint64_t held_turn, held_ns;
	bool held_has_in;
	unsigned char held_in[HASH_BYTES];
	char held_text[LOG_TEXT_MAX]; /* name(arguments) */
};

static void fail(struct event_log *log, int error)
{
	if (error < 0 && !log->error)
		log->error = error;
}

static struct logged_task *add_task(struct event_log *log, int id, int vtid)
{
	struct logged_task *t = calloc(1, sizeof(*t));

	if (!t) {
		fail(log, -ENOMEM);
		return NULL;
	}
	t->id = id;
	t->vtid = vtid;
	HASH_ADD_INT(log->tasks, id, t);
	return t;
}

static struct logged_task *find_task(struct event_log *log, const struct engine *e, int id)
{
	struct logged_task *t;

	HASH_FIND_INT(log->tasks, &id, t);
	return t ? t : add_task(log, id, engine_vtid(e, id));
}

/* The vtid of a task whose doing woke another; -1 for none. */
static int waker_vtid(struct event_log *log, int id)
{
	struct logged_task *t;

	if (id < 0)
		return -1;
	HASH_FIND_INT(log->tasks, &id, t);
	if (t)
		return t->vtid;
	return id == log->dead ? log->dead_vtid : -1;
}

static void remove_task(struct event_log *log, struct logged_task *t)
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

static void begin(struct event_log *log, struct engine *e, enum log_kind kind, int vtid)
{
	log_writer_begin(log->writer, kind, engine_turn(e), vtid, engine_now_ns(e));
}

static void commit(struct event_log *log)
{
	fail(log, log_writer_commit(log->writer));
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
	commit(log);
}

/* The end of the task's call: in the call's own record where that is still held, else in a new one. */
static void begin_end(struct event_log *log, struct engine *e, struct logged_task *t)
{
	t->in_call = t->blocked = false;
	if (log->held == t) {
		begin_held(log);
		return;
	}
	begin(log, e, LOG_RETURN, t->vtid);
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
	commit(log);
}

static void write_outcome(struct event_log *log, struct engine *e, struct logged_task *t, const char *outcome)
{
	begin_end(log, e, t);
	log_writer_text(log->writer, "outcome", outcome);
	commit(log);
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

static void write_birth(struct event_log *log, struct engine *e, struct logged_task *t, const struct event *event)
{
	begin(log, e, LOG_BIRTH, t->vtid);
	log_writer_number(log->writer, "child", event->birth.vtid);
	log_writer_number(log->writer, "process", event->birth.vpid);
	commit(log);
	(void)add_task(log, event->birth.child, event->birth.vtid);
}

static void write_join(struct event_log *log, struct engine *e, const struct event *event)
{
	begin(log, e, LOG_OUTSIDE, 0);
	log_writer_text(log->writer, "what", "join");
	log_writer_number(log->writer, "child", event->join.vtid);
	log_writer_number(log->writer, "process", event->join.vpid);
	commit(log);
	(void)add_task(log, event->task, event->join.vtid);
}

/* The process is now the task's alone; the task that called execve has become it. */
static void write_exec(struct event_log *log, struct engine *e, struct logged_task *t, const struct event *event)
{
	struct logged_task *old = NULL;

	if (event->old_task != event->task)
		HASH_FIND_INT(log->tasks, &event->old_task, old);
	begin(log, e, LOG_EXEC, t->vtid);
	if (old)
		log_writer_number(log->writer, "from", old->vtid);
	commit(log);
	if (old)
		remove_task(log, old);
	t->in_call = t->blocked = false;
}

static void put_signal(struct event_log *log, int signo)
{
	char number[24];
	const char *name = sigabbrev_np(signo);

	if (name)
		(void)snprintf(number, sizeof(number), "SIG%s", name);
	else
		(void)snprintf(number, sizeof(number), "signal %d", signo);
	log_writer_text(log->writer, "signal", number);
}

static void write_exit(struct event_log *log, struct engine *e, struct logged_task *t, const struct event *event)
{
	begin(log, e, LOG_EXIT, t->vtid);
	if (WIFSIGNALED(event->wait_status))
		put_signal(log, WTERMSIG(event->wait_status));
	else
		log_writer_number(log->writer, "status", WEXITSTATUS(event->wait_status));
	commit(log);
	log->dead = t->id;
	log->dead_vtid = t->vtid;
	remove_task(log, t);
}

/* The sender's id is left out: siginfo has it in the numbers of whoever sent. */
static void write_signal(struct event_log *log, struct engine *e, struct logged_task *t, enum log_kind kind, int signo, int code)
{
	begin(log, e, kind, t ? t->vtid : 0);
	put_signal(log, signo);
	if (kind == LOG_SIGNAL)
		log_writer_number(log->writer, "code", code);
	commit(log);
}

/* Real time decides when plain text reaches the file, never what it is. */
static void flush_sometimes(struct event_log *log, bool now)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	if (!now && (t.tv_sec - log->flushed.tv_sec) * 1000000000 + t.tv_nsec - log->flushed.tv_nsec < FLUSH_NS)
		return;
	log->flushed = t;
	fail(log, log_writer_flush(log->writer));
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
		write_birth(log, e, t, event);
		return;
	case EVENT_EXEC:
		write_exec(log, e, t, event);
		return;
	case EVENT_EXIT:
		write_exit(log, e, t, event);
		return;
	case EVENT_SIGNAL:
		write_signal(log, e, t, LOG_SIGNAL, event->siginfo.si_signo, event->siginfo.si_code);
		return;
	case EVENT_STOPPED:
		write_signal(log, e, t, LOG_STOP, event->signo, 0);
		return;
	case EVENT_CONTINUED:
		begin(log, e, LOG_CONT, t->vtid);
		commit(log);
		return;
	case EVENT_OUTSIDE:
		write_signal(log, e, NULL, LOG_OUTSIDE, event->signo, 0);
		return;
	case EVENT_JOIN:
		write_join(log, e, event);
		return;
	case EVENT_TRAP:
		t->trap = event->trap.kind; /* written with its answer */
		t->leaf = event->trap.leaf;
		t->subleaf = event->trap.subleaf;
		return;
	case EVENT_SPIN:
		begin(log, e, LOG_TRAP, t->vtid);
		log_writer_text(log->writer, "outcome", event->spin.forced ? "stopped in a loop" : "spins");
		commit(log);
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

static const char *wake_name(unsigned why)
{
	if (why & WAKE_SIGNAL)
		return "signal";
	if (why & WAKE_FUTEX)
		return "futex";
	return why & WAKE_TIMEOUT ? "timeout" : "ready";
}

/* The task goes on: a choice, unless it is the one that went on last and was not blocked. */
static void write_choice(struct event_log *log, struct engine *e, struct logged_task *t)
{
	bool same = (log->last_resumed == t->id && !t->blocked) || log->last_resumed < 0;

	log->last_resumed = t->id;
	if (same)
		return;
	begin(log, e, LOG_CHOICE, t->vtid);
	if (t->blocked && t->woken) {
		if (t->woken_by >= 0)
			log_writer_number(log->writer, "by", t->woken_by);
		log_writer_text(log->writer, "why", wake_name(t->woken_why));
		log_writer_unsigned(log->writer, "woken_at", t->woken_ns);
	}
	commit(log);
	t->woken = false;
}

static void put_cpuid(struct event_log *log, const struct logged_task *t, const struct insn_cpuid *answer)
{
	char text[40];

	log_writer_unsigned(log->writer, "leaf", t->leaf);
	if (cpuid_has_subleaves(t->leaf))
		log_writer_unsigned(log->writer, "subleaf", t->subleaf);
	(void)snprintf(text, sizeof(text), "%08x %08x %08x %08x", answer->eax, answer->ebx, answer->ecx, answer->edx);
	log_writer_text(log->writer, "answer", text);
}

static void put_random(struct event_log *log, const struct insn_answers *answers)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%016" PRIx64, answers->random);
	log_writer_text(log->writer, "answer", answers->random_fails ? "none" : text);
}

static void write_trap(struct event_log *log, struct engine *e, const struct logged_task *t, const struct insn_answers *answers)
{
	begin(log, e, LOG_TRAP, t->vtid);
	log_writer_text(log->writer, "instruction", insn_kind_name(t->trap));
	switch (t->trap) {
	case INSN_RDTSC:
		log_writer_unsigned(log->writer, "answer", answers->tsc);
		break;
	case INSN_RDTSCP:
		log_writer_unsigned(log->writer, "answer", answers->tsc);
		log_writer_unsigned(log->writer, "aux", answers->tsc_aux);
		break;
	case INSN_CPUID:
		put_cpuid(log, t, &answers->cpuid);
		break;
	case INSN_RDRAND:
	case INSN_RDSEED:
		put_random(log, answers);
		break;
	case INSN_RDPID:
		log_writer_unsigned(log->writer, "answer", answers->tsc_aux);
		break;
	case INSN_XGETBV:
		log_writer_unsigned(log->writer, "register", t->subleaf);
		log_writer_unsigned(log->writer, "answer", t->subleaf ? answers->xinuse : answers->xcr0);
		break;
	case INSN_XBEGIN:
		log_writer_unsigned(log->writer, "answer", answers->abort_status);
		break;
	case INSN_NONE:
	case INSN_KIND_COUNT:
		break;
	}
	commit(log);
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
			begin(log, e, LOG_SIGNAL, t->vtid);
			log_writer_text(log->writer, "outcome", "swallowed");
			commit(log);
		}
		return;
	case VERDICT_ANSWER:
		write_trap(log, e, t, &v->answers);
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
	write_choice(log, e, t);
	write_verdict(log, e, t, v);
}

static void on_uncontrolled(void *arg, struct engine *e, const char *what, const char *where)
{
	struct event_log *log = arg;

	/* Mostly about the call that is held; its own record comes behind, at the same time. */
	if (log->held)
		log_writer_begin(log->writer, LOG_UNCONTROLLED, log->held_turn, log->held->vtid, log->held_ns);
	else
		begin(log, e, LOG_UNCONTROLLED, 0);
	log_writer_text(log->writer, "what", what);
	log_writer_text(log->writer, "where", where);
	commit(log);
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
	begin(log, e, LOG_RETURN, t->vtid);
	log_writer_text(log->writer, "call", call_name(t->call.nr));
	log_writer_text(log->writer, "outcome", "blocked");
	commit(log);
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
		.parked = on_parked,
		.woken = on_woken,
		.arg = log,
	};
}

/* "--seed=7" for each option that can change the outcome, then the program with its arguments. What is too much is still in the fingerprint. */
static int list_options(const struct run_options *o, struct strv *list)
{
	const struct option_spec *specs;
	size_t n;
	int r = 0;

	specs = option_specs(&n);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct strv values _cleanup_strv_ = { 0 };

		if (!specs[i].outcome)
			continue;
		r = run_options_get(o, &specs[i], false, &values);
		for (size_t j = 0; j < values.count && r == 0 && list->count < OPTIONS_MAX / 2; j++)
			r = strv_addf(list, "--%s=%s", specs[i].name, values.items[j]);
	}
	for (size_t i = 0; i < o->argv.count && r == 0 && list->count < OPTIONS_MAX; i++)
		r = strv_addf(list, "argument %zu: %s", i, o->argv.items[i]);
	return r;
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
	if (!log || list_options(options, &list) < 0 || run_options_fingerprint(options, config) < 0)
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
		remove_task(log, t);
	log->writer = log_writer_free(log->writer);
	free(log);
	return NULL;
}

int event_log_finish(struct event_log *log, const struct run_result *result, struct error *err)
{
	if (log->held)
		release_held(log, "queued");
	log_writer_begin(log->writer, LOG_FINISH, result->turns, 0, result->virtual_ns);
	log_writer_text(log->writer, "end", run_end_name(result->end));
	log_writer_number(log->writer, "status", result->exit_code);
	fail(log, log_writer_finish(log->writer));
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
