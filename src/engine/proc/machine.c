/* SPDX-License-Identifier: BSD-3-Clause */
/* See machine.h. */
#include "engine/proc/machine.h"

#include <stdio.h>
#include <time.h>
#include <utlist.h>

#include "engine/engine_internal.h"
#include "engine/policy/traits.h"

struct machine_date {
	unsigned year, month, day; /* month from 0 */
};

static bool is_leap(unsigned year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Gregorian date of a day since 1970. 64 bits of nanoseconds end in 2554, so counting years is quick enough. */
static struct machine_date date_of(uint64_t day)
{
	static const unsigned char lengths[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	struct machine_date date = { .year = 1970 };
	unsigned length;

	for (; day >= (is_leap(date.year) ? 366 : 365); date.year++)
		day -= is_leap(date.year) ? 366 : 365;
	for (;; date.month++) {
		length = lengths[date.month] + (date.month == 1 && is_leap(date.year));
		if (day < length)
			break;
		day -= length;
	}
	date.day = (unsigned)day + 1;
	return date;
}

void machine_version(const struct engine *e, char text[MACHINE_TEXT_SIZE])
{
	static const char days[7][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	enum { DAY = 86400, THURSDAY = 4 }; /* the first day of 1970 was one */
	uint64_t s = e->options.epoch_ns / NS_PER_S;
	struct machine_date date = date_of(s / DAY);

	(void)snprintf(text, MACHINE_TEXT_SIZE, "#1 SMP PREEMPT_DYNAMIC %s %s %2u %02u:%02u:%02u UTC %u",
		       days[(s / DAY + THURSDAY) % 7], months[date.month], date.day, (unsigned)(s % DAY / 3600),
		       (unsigned)(s % 3600 / 60), (unsigned)(s % 60), date.year);
}

const char *machine_hostname(const struct engine *e)
{
	return e->options.hostname ? e->options.hostname : "hermit";
}

struct machine_memory machine_memory(const struct engine *e)
{
	return machine_memory_of(e->options.memory_bytes);
}

struct machine_memory machine_memory_of(uint64_t bytes)
{
	uint64_t total = bytes / MACHINE_PAGE * MACHINE_PAGE;

	return (struct machine_memory){
		.total = total,
		.free = total / 4 * 3 / MACHINE_PAGE * MACHINE_PAGE,
		.available = total / 8 * 7 / MACHINE_PAGE * MACHINE_PAGE,
		.buffers = total / 64 / MACHINE_PAGE * MACHINE_PAGE,
		.cached = total / 8 / MACHINE_PAGE * MACHINE_PAGE,
		.shared = total / 256 / MACHINE_PAGE * MACHINE_PAGE,
	};
}

unsigned machine_cpus(const struct engine *e)
{
	unsigned cpus = e->options.cpus ? e->options.cpus : 1;

	return cpus < TRAITS_CPUS_MAX ? cpus : TRAITS_CPUS_MAX;
}

unsigned machine_count_tasks(const struct engine *e)
{
	const struct task *t;
	unsigned n = 0;

	LL_COUNT(e->tasks, t, n);
	return n;
}

unsigned machine_count_processes(const struct engine *e)
{
	const struct process *p;
	unsigned n = 0;

	LL_COUNT(e->processes, p, n);
	return n;
}

uint64_t machine_uptime_ns(const struct engine *e)
{
	uint64_t ns = 0;

	(void)clock_value(&e->clock, CLOCK_BOOTTIME, &ns);
	return ns;
}

uint64_t machine_boot_time_s(const struct engine *e)
{
	return (e->clock.epoch_ns - (e->clock.epoch_ns < e->clock.uptime_ns ? e->clock.epoch_ns : e->clock.uptime_ns)) / NS_PER_S;
}
