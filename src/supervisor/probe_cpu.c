/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processor lets the kernel take away from a program, found out by running the instructions. */
#include <asm/prctl.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/probes.h"

static sigjmp_buf trapped; /* the probe is a process of its own: nobody else sees this */

static void on_trap(int signo)
{
	siglongjmp(trapped, 1);
}

static void run_rdtsc(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
}

static void run_cpuid(void)
{
	uint32_t a = 0, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
}

/* Whether the instruction ends in a SIGSEGV. */
static bool does_trap(void (*instruction)(void))
{
	struct sigaction action = { .sa_handler = on_trap };

	(void)sigaction(SIGSEGV, &action, NULL);
	if (sigsetjmp(trapped, 1))
		return true;
	instruction();
	return false;
}

enum probe_result probe_tsc(char *detail, size_t size)
{
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0)
		return probe_says(PROBE_MISSING, detail, size, "PR_SET_TSC: %s", strerrordesc_np(errno));
	return does_trap(run_rdtsc) ? PROBE_WORKS : PROBE_PARTLY;
}

enum probe_result probe_cpuid(char *detail, size_t size)
{
	if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) < 0)
		return probe_says(PROBE_MISSING, detail, size, "ARCH_SET_CPUID: %s", strerrordesc_np(errno));
	return does_trap(run_cpuid) ? PROBE_WORKS : PROBE_PARTLY;
}

/* A million branches have to show. */
enum probe_result probe_counters(char *detail, size_t size)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	_cleanup_close_ int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	volatile int n = 0;
	uint64_t count = 0;

	if (fd < 0)
		return probe_says(PROBE_MISSING, detail, size, "perf_event_open: %s", strerrordesc_np(errno));
	while (n < 1000000)
		n = n + 1;
	if (read(fd, &count, sizeof(count)) != (ssize_t)sizeof(count))
		return probe_says(PROBE_MISSING, detail, size, "reading: %s", strerrordesc_np(errno));
	return count >= 1000000 ? PROBE_WORKS
				: probe_says(PROBE_PARTLY, detail, size, "counted %llu of 1000000 branches",
					     (unsigned long long)count);
}
