/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drives a guest through a real backend without an engine: everything is let through at once, births and signals too, so
 * that tests see the backend alone. A guest is a function of the test program; it runs in a fresh image of it.
 *
 * Guests talk to their test by calls with a number that no kernel has: mark(what, a, b, c) parks the guest until the test
 * answers.
 */
#ifndef HS_TESTS_BACKEND_DRIVE_H
#define HS_TESTS_BACKEND_DRIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "engine/guest.h"
#include "engine/verdict.h"

enum { MARK_NR = 500, TASKS_MAX = 65536 };

struct drive {
	struct guest *g;
	pid_t pid;                    /* of the guest's first process */
	unsigned counts[EVENT_JOIN + 1]; /* events by kind */
	unsigned living;
	unsigned calls;
	int status; /* of task 0, once it is dead */
	bool hook_all; /* calls are hooked instead of continued */
	bool setup_exec; /* exec_setup at each exec */
	int last_exit;   /* number of the task that died last */
	bool ordered;    /* tasks died in order of numbers so far */
};

/* The wait status of who has exited so. */
#define EXITED(status) ((status) << 8)

/* A test: its guest, and what the supervisor does. Guests return an exit status. */
struct scenario {
	const char *name;
	int (*guest)(void);
	void (*test)(struct drive *d);
	int status; /* expected wait status of the guest's first process, checked when the test has driven it to its end */
	bool needs_root; /* credentials are changed, or networks are made; a supervisor has its own user namespace where it is not root */
};

/* For guests. */
long mark(int what, uint64_t a, uint64_t b, uint64_t c);

/* Fails the test (or the guest) with a message. */
#define check(condition) check_true(condition, #condition, __FILE__, __LINE__)
#define check_int(got, want) check_equal((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
void check_true(bool ok, const char *what, const char *file, int line);
void check_equal(int64_t got, int64_t want, const char *what, const char *file, int line);

/* The next event, counted. */
struct event drive_next(struct drive *d);
/* Lets whoever stopped with this event go on as if nobody watched. */
void drive_pass(struct drive *d, const struct event *event);
/* Until a task is parked in mark(what, ...), which is returned. */
struct event drive_until(struct drive *d, int what);
/* Until an event of that kind. */
struct event drive_until_kind(struct drive *d, enum event_kind kind);
/* Until a task wants to make that call. */
struct event drive_until_call(struct drive *d, int nr);
/* Until all are dead. */
void drive_to_end(struct drive *d);
void drive_resume(struct drive *d, int task, struct verdict v);
void drive_answer(struct drive *d, int task, int64_t value);

/* main() of a test program: runs all scenarios, or the named ones; each in a process of its own. */
int drive_main(int argc, char **argv, const struct scenario *scenarios, size_t n_scenarios);

#endif
