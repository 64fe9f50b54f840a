/* SPDX-License-Identifier: BSD-3-Clause */
/* What a guest task is told. Only handlers and the turn make verdicts; only a backend carries them out. */
#ifndef HS_ENGINE_VERDICT_H
#define HS_ENGINE_VERDICT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/sched/preempt.h"
#include "insn/emulate.h"

enum verdict_kind {
	VERDICT_NONE = 0,
	VERDICT_RETURN,   /* parked in a call: it returns value (or -errno), the kernel does not run it */
	VERDICT_CONTINUE, /* parked in a call: the kernel runs it */
	VERDICT_HOOK,     /* as CONTINUE; EVENT_DONE follows before user code runs; the call may return early for it, unless `unnoticed` */
	VERDICT_INSTALL,  /* parked in a call: a new descriptor for `handle` is installed, its number is the result */
	VERDICT_RESTART,  /* parked in a call: interrupted by a signal, value is the kernel's restart code (-512, -514) or -EINTR */
	VERDICT_BLOCK,    /* engine only: stays parked */
	VERDICT_GO,       /* stopped by an event: runs on; set_result: with value as the call's result (EVENT_DONE only) */
	VERDICT_SIGNAL,   /* EVENT_SIGNAL: delivered as `siginfo`; si_signo 0 swallows it */
	VERDICT_ANSWER,   /* EVENT_TRAP: the instruction is carried out with `answers` */
	VERDICT_SPIN,     /* EVENT_SPIN: runs on, but for EVENT_SPIN again at point `value` of its loop if that goes round still */
	VERDICT_LISTEN,   /* EVENT_STOPPED: stays stopped until SIGCONT */
};

struct verdict {
	enum verdict_kind kind;
	int64_t value;
	bool set_result;
	bool unnoticed;    /* VERDICT_HOOK: takes longer, but the call does not notice. No signal may wait to be delivered */
	int handle;        /* VERDICT_INSTALL: still the engine's to release */
	int install_flags; /* O_CLOEXEC or 0 */
	siginfo_t siginfo;
	struct preempt_point preempt; /* VERDICT_GO, RETURN, INSTALL; places also VERDICT_CONTINUE */
	struct insn_answers answers; /* VERDICT_ANSWER */
};

/* Setters return 0, so that handlers end with: return verdict_errno(v, EINVAL). */
int verdict_return(struct verdict *v, int64_t value);
int verdict_errno(struct verdict *v, int error);
int verdict_continue(struct verdict *v);
int verdict_hook(struct verdict *v);
int verdict_block(struct verdict *v);

#endif
