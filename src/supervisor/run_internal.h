/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files run*.c share: run_begin.c begins, run.c drives and ends, run_foreground.c looks after the caller's side, run_report.c has
 * the last word.
 */
#ifndef HS_SUPERVISOR_RUN_INTERNAL_H
#define HS_SUPERVISOR_RUN_INTERNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#include "base/error.h"
#include "insn/cpuid.h"
#include "supervisor/pace.h"
#include "supervisor/processor_view.h"
#include "supervisor/relay.h"
#include "supervisor/run.h"

enum { MAX_SIGNALS = 16, MAX_OUTSIDE = 32 };

struct terminal_state {
	bool saved;
	struct termios modes;
};

struct run {
	const struct run_request *request;
	struct container_spec spec; /* the request's, completed */
	int signals[MAX_SIGNALS + 1]; /* ended by 0 */
	sigset_t old_mask;
	bool mask_changed;
	struct terminal_state terminal;
	unsigned cpu;
	struct backend_filter *filter;
	struct container container;
	bool has_container;
	struct relay relay; /* of the guest's own terminal, if it has one */
	struct guest *guest;
	struct engine *engine;
	bool tsc_faults;
	struct pace pace;
	struct insn_store *code; /* NULL: instructions stay as they are */
	struct processor_answers processor;
	char *cpuinfo; /* the engine's for the run */
	uint64_t start_ns; /* host_clock_ns() */
	bool waiting;  /* the program is not to be started yet */
	bool executed; /* the program was loaded */
	int exec_errno; /* why it was not; 0: not known */
	int last_request; /* the signal that asked the guest to end, 0: none yet */
};

/* ---- run_begin.c ---- */

/* Until the engine has taken over; what is there already when that fails is for the end to release. 0 or -errno with a message. */
int run_begin(struct run *run, struct error *err);

/* The descriptors of a guest that come from outside: the standard ones, and those after them that were preserved. Ended by -1. */
void run_list_outside(int fds[MAX_OUTSIDE + 1], unsigned preserved);

/* ---- run_foreground.c ---- */

/* Into run->signals: those that are taken care of. What nohup or a shell's & has made ignored stays so. */
void run_choose_signals(struct run *run);

/* Those of run->signals, until run_unblock_signals(), which forgets what came in the last moment. */
int run_block_signals(struct run *run, struct error *err);
void run_unblock_signals(struct run *run);

/* SIGALRM after so much real time; 0: not any more. */
void run_set_timer(uint64_t ns);

/* The modes of the caller's terminal, and back to them: the guest may have died with echo off. */
void run_save_terminal(struct run *run);
void run_restore_terminal(struct run *run);

/* ---- run_report.c ---- */

/* Says how the run has ended and what it did not control, and fills in the rest of the result. */
void run_report(struct run *run, struct run_result *result);

#endif
