/* SPDX-License-Identifier: BSD-3-Clause */
/* Which calls are looks, and which answers say nothing new: see looks.h. A run depends on each word of it (options_fingerprint.c). */
#include <asm/unistd.h>
#include <stddef.h>
#include <sys/wait.h>

#include "engine/policy/policy.h"
#include "engine/time/looks.h"

#define SENDS_NOTHING(signal) { .when = LOOK_ZERO, .argument = (signal), .vain = VAIN_ANY, .most_ns = LOOK_MOST_NS }
#define WAITS_NOT(options) { .when = LOOK_BITS, .argument = (options), .bits = WNOHANG, .vain = VAIN_NOTHING, .most_ns = LOOK_MOST_NS }
#define FAILS { .when = LOOK_ALWAYS, .vain = VAIN_FAILED, .most_ns = LOOK_MOST_NS }
#define NOTHING_READY { .when = LOOK_GIVES_WAY, .vain = VAIN_NOTHING, .most_ns = LOOK_MOST_REAL_NS }
#define NOTHING_THERE { .when = LOOK_ALWAYS, .vain = VAIN_AGAIN, .most_ns = LOOK_MOST_REAL_NS }
#define SHOWS_TIME { .when = LOOK_ALWAYS, .vain = VAIN_ANY, .most_ns = LOOK_MOST_REAL_NS }
#define GIVES_WAY { .when = LOOK_GIVES_WAY, .vain = VAIN_ANY, .most_ns = LOOK_MOST_REAL_NS }

/* Calls that are not here end a streak. */
static const struct look looks[POLICY_MAX_NR + 1] = {
	[__NR_kill] = SENDS_NOTHING(1),
	[__NR_tkill] = SENDS_NOTHING(1),
	[__NR_tgkill] = SENDS_NOTHING(2),
	[__NR_pidfd_send_signal] = SENDS_NOTHING(1),
	[__NR_wait4] = WAITS_NOT(2),
	[__NR_waitid] = WAITS_NOT(3),
	[__NR_stat] = FAILS,
	[__NR_lstat] = FAILS,
	[__NR_newfstatat] = FAILS,
	[__NR_statx] = FAILS,
	[__NR_access] = FAILS,
	[__NR_faccessat] = FAILS,
	[__NR_faccessat2] = FAILS,
	[__NR_readlink] = FAILS,
	[__NR_readlinkat] = FAILS,
	[__NR_open] = FAILS, /* or one that somebody else has made (O_EXCL) */
	[__NR_openat] = FAILS,
	[__NR_futex] = FAILS,
	[__NR_sched_yield] = GIVES_WAY,
	[__NR_poll] = NOTHING_READY,
	[__NR_ppoll] = NOTHING_READY,
	[__NR_select] = NOTHING_READY,
	[__NR_pselect6] = NOTHING_READY,
	[__NR_epoll_wait] = NOTHING_READY,
	[__NR_epoll_pwait] = NOTHING_READY,
	[__NR_epoll_pwait2] = NOTHING_READY,
	[__NR_read] = NOTHING_THERE,
	[__NR_readv] = NOTHING_THERE,
	[__NR_recvfrom] = NOTHING_THERE,
	[__NR_recvmsg] = NOTHING_THERE,
	[__NR_recvmmsg] = NOTHING_THERE,
	[__NR_accept] = NOTHING_THERE,
	[__NR_accept4] = NOTHING_THERE,
	[__NR_clock_gettime] = SHOWS_TIME,
	[__NR_gettimeofday] = SHOWS_TIME,
	[__NR_time] = SHOWS_TIME,
};

const struct look *looks_row(int64_t nr)
{
	return nr >= 0 && nr <= POLICY_MAX_NR && looks[nr].most_ns ? &looks[nr] : NULL;
}
