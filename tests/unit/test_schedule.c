/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules as documents: written, read, compared, refused. How they are followed is in tests/integration/chaos_schedules.sh. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/evidence/schedule.h"

static char path[] = "/tmp/hermit-schedule-XXXXXX";

static void start(void)
{
	int fd = mkstemp(path);

	cr_assert(fd >= 0);
	(void)close(fd);
}

static void stop(void)
{
	(void)unlink(path);
}

TestSuite(schedule, .init = start, .fini = stop);

static void write_text(const char *text)
{
	FILE *f = fopen(path, "we");

	cr_assert_not_null(f);
	cr_assert(fputs(text, f) >= 0);
	cr_assert_eq(fclose(f), 0);
}

#define HEAD "{\"format\":\"hermit-schedule\",\"version\":3,\"config\":\"c\",\"command\":\"x\","
#define GOOD HEAD "\"choices\":[{\"turn\":1,\"thread\":0,\"tid\":2,\"why\":\"only\",\"call\":\"execve\"}," \
	"{\"turn\":5,\"thread\":1,\"tid\":3},{\"turn\":5,\"nth\":2,\"thread\":0,\"tid\":2}]," \
	"\"priorities\":[{\"turn\":0,\"thread\":0,\"priority\":4711,\"why\":\"born\"},{\"turn\":5,\"thread\":0,\"priority\":9,\"why\":\"yielded\"}]," \
	"\"preemptions\":[{\"turn\":3,\"thread\":0,\"tid\":2,\"after\":7,\"of\":\"instructions\"}]," \
	"\"turns\":9,\"end\":\"exited\",\"status\":0}"

Test(schedule, is_read)
{
	_cleanup_schedule_ struct schedule s = { 0 };
	struct error err = { 0 };

	write_text(GOOD);
	cr_assert_eq(schedule_read(path, NULL, &s, &err), 0, "%s", err.text);
	cr_expect_eq(s.n, 3);
	cr_expect_eq(s.choices[2].nth, 2);
	cr_expect_eq(s.choices[1].call, -1);
	cr_expect_eq(s.n_priorities, 2);
	cr_expect_eq(s.priorities[0].place, 4711);
	cr_expect_eq(s.priorities[1].why, SCHED_PRIORITY_YIELDED);
	cr_expect_eq(s.n_preemptions, 1);
	cr_expect_eq(s.preemptions[0].point.unit, PREEMPT_INSTRUCTIONS);
	cr_expect_eq(s.preemptions[0].point.after, 7);
	cr_expect_eq(s.turns, 9);
}

Test(schedule, what_is_none_is_refused)
{
	static const char *const rows[] = {
		"",
		"{}",
		"[]",
		HEAD "\"choices\":[],\"priorities\":[],\"turns\":1}",
		HEAD "\"choices\":[],\"preemptions\":[],\"turns\":1}",
		HEAD "\"choices\":[],\"priorities\":{},\"preemptions\":[],\"turns\":1}",
		HEAD "\"choices\":[],\"priorities\":[{\"turn\":1,\"thread\":0,\"priority\":1,\"why\":\"whim\"}],\"preemptions\":[],\"turns\":1}",
		HEAD "\"choices\":[],\"priorities\":[{\"turn\":1,\"thread\":0,\"priority\":-1,\"why\":\"born\"}],\"preemptions\":[],\"turns\":1}",
		HEAD "\"choices\":[],\"priorities\":[{\"turn\":2,\"thread\":0,\"priority\":1,\"why\":\"born\"},"
		     "{\"turn\":1,\"thread\":0,\"priority\":2,\"why\":\"point\"}],\"preemptions\":[],\"turns\":1}",
		HEAD "\"choices\":{},\"priorities\":[],\"preemptions\":[],\"turns\":1}",
		HEAD "\"choices\":[],\"priorities\":[],\"preemptions\":[],\"turns\":-1}",
		HEAD "\"choices\":[{\"turn\":1}],\"priorities\":[],\"preemptions\":[],\"turns\":1}",
		HEAD "\"choices\":[{\"turn\":1,\"thread\":-1,\"tid\":2}],\"priorities\":[],\"preemptions\":[],\"turns\":1}",
		HEAD "\"choices\":[{\"turn\":1,\"thread\":0,\"tid\":2,\"x\":1}],\"priorities\":[],\"preemptions\":[],\"turns\":1}",
		HEAD "\"choices\":[{\"turn\":2,\"thread\":0,\"tid\":2},{\"turn\":1,\"thread\":0,\"tid\":2}],\"priorities\":[],\"preemptions\":[],\"turns\":1}",
		HEAD "\"choices\":[{\"turn\":2,\"thread\":0,\"tid\":2},{\"turn\":2,\"thread\":1,\"tid\":3}],\"priorities\":[],\"preemptions\":[],\"turns\":1}",
		HEAD "\"choices\":[],\"priorities\":[],\"preemptions\":[{\"turn\":1,\"thread\":0,\"tid\":2,\"after\":0,\"of\":\"places\"}],\"turns\":1}",
		HEAD "\"choices\":[],\"priorities\":[],\"preemptions\":[{\"turn\":1,\"thread\":0,\"tid\":2,\"after\":1,\"of\":\"miles\"}],\"turns\":1}",
		"{\"format\":\"hermit-schedule\",\"version\":2,\"config\":\"c\",\"choices\":[],\"priorities\":[],\"preemptions\":[],\"turns\":1}",
		"{\"format\":\"other\",\"version\":3,\"config\":\"c\",\"choices\":[],\"priorities\":[],\"preemptions\":[],\"turns\":1}",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_schedule_ struct schedule s = { 0 };
		struct error err = { 0 };

		write_text(rows[i]);
		cr_expect(schedule_read(path, NULL, &s, &err) < 0, "'%s'", rows[i]);
		cr_expect_not_null(strstr(err.text, path), "'%s': %s", rows[i], err.text);
	}
}

/* Whatever byte is missing at the end. */
Test(schedule, that_is_cut_off_is_refused)
{
	char text[] = GOOD;

	for (size_t n = strlen(text); n-- > 0;) {
		_cleanup_schedule_ struct schedule s = { 0 };

		text[n] = '\0';
		write_text(text);
		cr_expect(schedule_read(path, NULL, &s, NULL) < 0, "%zu bytes", n);
	}
}

Test(schedule, digests_and_common_beginnings)
{
	struct schedule_choice ours[] = { { .turn = 1 }, { .turn = 5, .task = 1 }, { .turn = 8, .task = 2 } };
	struct schedule_choice theirs[] = { { .turn = 1, .tid = 7 }, { .turn = 5, .task = 1 }, { .turn = 8, .task = 3 } };
	struct schedule_preemption at = { .turn = 3, .point = { PREEMPT_PLACES, 4 } };
	struct schedule a = { .choices = ours, .n = 3 }, b = { .choices = theirs, .n = 3 };
	unsigned char one[HASH_BYTES], other[HASH_BYTES];

	cr_expect_eq(schedule_common(&a, &b), 2);
	cr_expect_eq(schedule_common(&a, &a), 3);
	schedule_hash(&a, one);
	schedule_hash(&b, other);
	cr_expect_neq(memcmp(one, other, HASH_BYTES), 0);
	theirs[2].task = 2;
	schedule_hash(&b, other);
	cr_expect_eq(memcmp(one, other, HASH_BYTES), 0, "numbers that the program sees do not count");
	b.preemptions = &at;
	b.n_preemptions = 1;
	schedule_hash(&b, other);
	cr_expect_neq(memcmp(one, other, HASH_BYTES), 0, "where turns end does");
}
