/* SPDX-License-Identifier: BSD-3-Clause */
/* One engine on a guest in memory, driven step by step: what tests of the engine have in common. For Criterion; included by the test itself. */
#ifndef HS_TESTS_FAKE_ENGINE_H
#define HS_TESTS_FAKE_ENGINE_H

#include <criterion/criterion.h>

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

#endif
