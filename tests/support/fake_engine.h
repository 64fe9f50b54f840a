/* SPDX-License-Identifier: BSD-3-Clause */
/* One engine on a guest in memory, driven step by step: what tests of the engine have in common. For Criterion; included by the test itself. */
#ifndef HS_TESTS_FAKE_ENGINE_H
#define HS_TESTS_FAKE_ENGINE_H

#include <criterion/criterion.h>
#include <sys/syscall.h>

#include "support/fake_guest.h"

static struct fake_guest fake;
static struct engine *e;

/* After fake_init(). */
static inline void begin(const struct engine_options *options)
{
	e = engine_new(options, &fake.guest, 2, 2);
	cr_assert_not_null(e);
}

static inline void stop(void)
{
	e = engine_free(e);
	cr_expect_eq(fake.held, 0, "%u handles were kept", fake.held);
}

static inline struct step next(void)
{
	struct step step;

	cr_assert_eq(engine_next(e, &step), 0, "%s", engine_failure(e));
	return step;
}

static inline void happens(struct event event)
{
	cr_assert_eq(engine_event(e, &event), 0, "%s", engine_failure(e));
}

/* The engine lets this task go on, with this verdict. */
static inline void goes_on(int task, enum verdict_kind kind, int64_t value)
{
	struct step step = next();

	cr_assert_eq(step.kind, STEP_RESUME, "step %d", (int)step.kind);
	cr_assert_eq(step.task, task, "task %d instead of %d", step.task, task);
	cr_assert_eq(step.verdict.kind, kind, "verdict %d instead of %d", (int)step.verdict.kind, (int)kind);
	if (kind == VERDICT_RETURN)
		cr_assert_eq(step.verdict.value, value, "value %lld", (long long)step.verdict.value);
}

static inline void call(int task, int nr, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3)
{
	happens(fake_call(task, nr, a0, a1, a2, a3, 0, 0));
}

/* Task `parent`, running, makes the process of task `child`, of number 2 + child; the parent goes on first. */
static inline void process(int parent, int child)
{
	call(parent, SYS_fork, 0, 0, 0, 0);
	goes_on(parent, VERDICT_CONTINUE, 0);
	happens(fake_birth(parent, child, 2 + child, 2 + child));
	goes_on(parent, VERDICT_GO, 0);
}

#endif
