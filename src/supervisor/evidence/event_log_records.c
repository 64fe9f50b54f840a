/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of births, deaths, signals, choices and instructions: see event_log_internal.h. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "supervisor/evidence/event_log_internal.h"

void record_begin(struct event_log *log, struct engine *e, enum log_kind kind, int vtid)
{
	log_writer_begin(log->writer, kind, engine_turn(e), vtid, engine_now_ns(e));
}

void record_commit(struct event_log *log)
{
	event_log_fail(log, log_writer_commit(log->writer));
}

void record_birth(struct event_log *log, struct engine *e, struct logged_task *t, const struct event *event)
{
	record_begin(log, e, LOG_BIRTH, t->vtid);
	log_writer_number(log->writer, "child", event->birth.vtid);
	log_writer_number(log->writer, "process", event->birth.vpid);
	record_commit(log);
	(void)event_log_add_task(log, event->birth.child, event->birth.vtid);
}

void record_join(struct event_log *log, struct engine *e, const struct event *event)
{
	record_begin(log, e, LOG_OUTSIDE, 0);
	log_writer_text(log->writer, "what", "join");
	log_writer_number(log->writer, "child", event->join.vtid);
	log_writer_number(log->writer, "process", event->join.vpid);
	record_commit(log);
	(void)event_log_add_task(log, event->task, event->join.vtid);
}

/* The process is now the task's alone; the task that called execve has become it. */
void record_exec(struct event_log *log, struct engine *e, struct logged_task *t, const struct event *event)
{
	struct logged_task *old = event->old_task != event->task ? event_log_known_task(log, event->old_task) : NULL;

	record_begin(log, e, LOG_EXEC, t->vtid);
	if (old)
		log_writer_number(log->writer, "from", old->vtid);
	record_commit(log);
	if (old)
		event_log_remove_task(log, old);
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

void record_exit(struct event_log *log, struct engine *e, struct logged_task *t, const struct event *event)
{
	record_begin(log, e, LOG_EXIT, t->vtid);
	if (WIFSIGNALED(event->wait_status))
		put_signal(log, WTERMSIG(event->wait_status));
	else
		log_writer_number(log->writer, "status", WEXITSTATUS(event->wait_status));
	record_commit(log);
	log->dead = t->id;
	log->dead_vtid = t->vtid;
	event_log_remove_task(log, t);
}

/* The sender's id is left out: siginfo has it in the numbers of whoever sent. */
void record_signal(struct event_log *log, struct engine *e, struct logged_task *t, enum log_kind kind, int signo, int code)
{
	record_begin(log, e, kind, t ? t->vtid : 0);
	put_signal(log, signo);
	if (kind == LOG_SIGNAL)
		log_writer_number(log->writer, "code", code);
	record_commit(log);
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
void record_choice(struct event_log *log, struct engine *e, struct logged_task *t)
{
	bool same = (log->last_resumed == t->id && !t->blocked) || log->last_resumed < 0;

	log->last_resumed = t->id;
	if (same)
		return;
	record_begin(log, e, LOG_CHOICE, t->vtid);
	if (t->blocked && t->woken) {
		if (t->woken_by >= 0)
			log_writer_number(log->writer, "by", t->woken_by);
		log_writer_text(log->writer, "why", wake_name(t->woken_why));
		log_writer_unsigned(log->writer, "woken_at", t->woken_ns);
	}
	record_commit(log);
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

void record_trap(struct event_log *log, struct engine *e, const struct logged_task *t, const struct insn_answers *answers)
{
	record_begin(log, e, LOG_TRAP, t->vtid);
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
	record_commit(log);
}
