/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs to look again. A program that polls (kill(pid, 0), waitpid with WNOHANG, a zero timeout, a path that is not there yet, EAGAIN,
 * the clock itself) does so until virtual time or another task has come far enough. Each look takes real time, ten times as much as natively
 * or more, and little virtual time: so the longer a task does nothing but look in vain, the more virtual time passes at each look.
 *
 * The rule is a function of the task's own calls and of their answers, and of nothing else:
 *
 *  - Looks are the calls of one table (looks_table.c), and RDTSC. The table says when a call is one, and which answers say that there is nothing new.
 *  - A repeat is a look in vain whose question (the call, its arguments, the text of its path) was asked before in the same streak. A streak has
 *    up to LOOK_QUESTIONS of them, so that a loop which looks at several things counts, and a search (a compiler's for its headers) does not.
 *  - Every LOOK_STEP repeats the cost of a repeat doubles, up to what the table says.
 *  - Anything else ends the streak: another call, one that has waited, another answer, a signal, another instruction that traps.
 *
 * The additional cost never leads past a deadline or a timer: who sleeps until then wakes up at its time. (Timers of processor time are
 * late by at most one look.)
 *
 * What the kernel answers has to be asked for, by a hook, which takes real time: only each LOOK_ASK-th repeat is. In between it counts as in vain.
 * So calls that do get something (a stream that is read into one buffer) never come to LOOK_STEP repeats.
 */
#ifndef HS_ENGINE_LOOKS_H
#define HS_ENGINE_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct task;
struct verdict;

enum {
	LOOK_QUESTIONS = 8,
	LOOK_ASK = 32,
	LOOK_STEP = 256,
};

/*
 * What a look costs at most. Where somebody outside may be who is waited for (descriptors), and where the program may do something useful between
 * two looks (clocks, giving way), that is about what it takes in reality. The others ask about what only the run itself can change.
 */
#define LOOK_MOST_REAL_NS 32000
#define LOOK_MOST_NS 256000

enum look_when {
	LOOK_ALWAYS,
	LOOK_ZERO,	/* an argument is 0 */
	LOOK_BITS,	/* an argument has some of these bits */
	LOOK_GIVES_WAY, /* it was not to wait (wait_give_way()) */
};

enum look_vain {
	VAIN_ANY,     /* whatever the answer: if it said something new, the program would not ask again */
	VAIN_NOTHING, /* 0, or an error */
	VAIN_FAILED,  /* an error */
	VAIN_AGAIN,   /* EAGAIN */
};

struct look {
	enum look_when when;
	unsigned argument; /* LOOK_ZERO, LOOK_BITS */
	uint64_t bits;
	enum look_vain vain;
	uint32_t most_ns; /* 0: no row */
};

/* Of a task; zero is none. */
struct task_looks {
	uint64_t questions[LOOK_QUESTIONS];
	uint32_t n_questions;
	uint32_t repeats;
	const struct look *look; /* the call it is in; NULL: that is none */
	uint64_t question;	 /* of that call */
	bool asked;		 /* the kernel's answer to it is wanted */
};

/* The row of a call, NULL: it is never a look. Whoever states what a run depends on needs it, too. */
const struct look *looks_row(int64_t nr);

/* The task's call has been considered for the first time: is it a look, and what does it ask? 0 or -errno. */
int looks_consider(struct engine *e, struct task *t);
/* It is told the verdict: if that ends the call its answer is known, and has its price. */
void looks_told(struct engine *e, struct task *t, const struct verdict *v);
/* The answer that was `asked` for. */
void looks_answered(struct engine *e, struct task *t, int64_t result);
/* A look at the time stamp counter: its whole price. */
uint64_t looks_at_counter(struct engine *e, struct task *t);
/* Something else than looking has happened. */
void looks_end(struct task *t);

/* The virtual time of one look that is the nth repeat. */
uint64_t looks_cost(uint64_t cost_ns, uint64_t most_ns, uint32_t repeats);

#endif
