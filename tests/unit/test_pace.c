/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting in real time, with times that are given. */
#include <criterion/criterion.h>

#include "supervisor/pace.h"

#define MS 1000000ull

Test(pace, a_deadline_takes_its_time)
{
	struct pace pace = { 0 };

	cr_assert_eq(pace_left_ms_at(&pace, 5000 * MS, 0, 300 * MS), 300);
	cr_assert_eq(pace_left_ms_at(&pace, 5100 * MS, 0, 300 * MS), 200);
	cr_assert_eq(pace_left_ms_at(&pace, 5300 * MS, 0, 300 * MS), 0);
	cr_assert_eq(pace_left_ms_at(&pace, 9999 * MS, 0, 300 * MS), 0);
	/* the next one begins when it is asked for */
	cr_assert_eq(pace_left_ms_at(&pace, 9999 * MS, 300 * MS, 400 * MS), 100);
}

Test(pace, an_interruption_with_waits_of_its_own_sets_nothing_back)
{
	struct pace pace = { 0 };

	cr_assert_eq(pace_left_ms_at(&pace, 0, 0, 1000 * MS), 1000);
	cr_assert_eq(pace_left_ms_at(&pace, 400 * MS, 0, 200 * MS), 200);
	cr_assert_eq(pace_left_ms_at(&pace, 600 * MS, 200 * MS, 1000 * MS), 400);
}

Test(pace, a_pause_does_not_count)
{
	struct pace pace = { 0 };

	cr_assert_eq(pace_left_ms_at(&pace, 0, 0, 1000 * MS), 1000);
	pace_shift(&pace, 5000 * MS);
	cr_assert_eq(pace_left_ms_at(&pace, 5100 * MS, 0, 1000 * MS), 900);
}

Test(pace, parts_of_a_millisecond_count_as_one_and_long_ones_come_in_pieces)
{
	struct pace pace = { 0 };

	cr_assert_eq(pace_left_ms_at(&pace, 0, 0, 1), 1);
	cr_assert_eq(pace_left_ms_at(&pace, 0, 1, 1000000000 * MS), 3600000);
}

Test(pace, more_deadlines_than_are_remembered)
{
	struct pace pace = { 0 };

	for (uint64_t i = 1; i <= 3 * PACE_DEADLINES; i++)
		cr_assert_eq(pace_left_ms_at(&pace, 0, 0, (10000 - i) * MS), (int)(10000 - i));
	cr_assert_leq(pace.n, (size_t)PACE_DEADLINES);
}
