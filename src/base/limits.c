/* SPDX-License-Identifier: BSD-3-Clause */
/* See limits.h. The values are those of an ordinary machine; all without an entry are unlimited. */
#include "base/limits.h"

#define UNLIMITED { RLIM_INFINITY, RLIM_INFINITY }

static const struct rlimit defaults[LIMITS_COUNT] = {
	[RLIMIT_CPU] = UNLIMITED,
	[RLIMIT_FSIZE] = UNLIMITED,
	[RLIMIT_DATA] = UNLIMITED,
	[RLIMIT_STACK] = { 8 << 20, RLIM_INFINITY },
	[RLIMIT_CORE] = { 0, RLIM_INFINITY },
	[RLIMIT_RSS] = UNLIMITED,
	[RLIMIT_NPROC] = UNLIMITED,
	[RLIMIT_NOFILE] = { 1024, 4096 },
	[RLIMIT_MEMLOCK] = { 8 << 20, 8 << 20 },
	[RLIMIT_AS] = UNLIMITED,
	[RLIMIT_LOCKS] = UNLIMITED,
	[RLIMIT_SIGPENDING] = { 16384, 16384 },
	[RLIMIT_MSGQUEUE] = { 819200, 819200 },
	[RLIMIT_NICE] = { 0, 0 },
	[RLIMIT_RTPRIO] = { 0, 0 },
	[RLIMIT_RTTIME] = UNLIMITED,
};

const struct rlimit *limits_default(unsigned resource)
{
	return &defaults[resource < LIMITS_COUNT ? resource : 0];
}

const char *limits_name(unsigned resource)
{
	static const char *const names[LIMITS_COUNT] = {
		[RLIMIT_CPU] = "RLIMIT_CPU",
		[RLIMIT_FSIZE] = "RLIMIT_FSIZE",
		[RLIMIT_DATA] = "RLIMIT_DATA",
		[RLIMIT_STACK] = "RLIMIT_STACK",
		[RLIMIT_CORE] = "RLIMIT_CORE",
		[RLIMIT_RSS] = "RLIMIT_RSS",
		[RLIMIT_NPROC] = "RLIMIT_NPROC",
		[RLIMIT_NOFILE] = "RLIMIT_NOFILE",
		[RLIMIT_MEMLOCK] = "RLIMIT_MEMLOCK",
		[RLIMIT_AS] = "RLIMIT_AS",
		[RLIMIT_LOCKS] = "RLIMIT_LOCKS",
		[RLIMIT_SIGPENDING] = "RLIMIT_SIGPENDING",
		[RLIMIT_MSGQUEUE] = "RLIMIT_MSGQUEUE",
		[RLIMIT_NICE] = "RLIMIT_NICE",
		[RLIMIT_RTPRIO] = "RLIMIT_RTPRIO",
		[RLIMIT_RTTIME] = "RLIMIT_RTTIME",
	};

	return resource < LIMITS_COUNT ? names[resource] : "a resource limit";
}
