/* SPDX-License-Identifier: BSD-3-Clause */
/* One child per question. The child ends by the signal or by one of the exit codes below, and that is the answer. */
#include "backend/processor.h"

#include <asm/prctl.h>
#include <cpuid.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

enum { EXIT_REFUSED = 1, EXIT_RAN_ON = 2 };

static const char *const faulting_names[] = {
	[PROCESSOR_FAULTING_UNKNOWN] = "unknown",
	[PROCESSOR_FAULTING_ABSENT] = "absent",
	[PROCESSOR_FAULTING_LIES] = "lies",
	[PROCESSOR_FAULTING_WORKS] = "works",
};

static const char *const counter_names[] = {
	[PROCESSOR_COUNTER_UNKNOWN] = "unknown", [PROCESSOR_COUNTER_ABSENT] = "absent",
	[PROCESSOR_COUNTER_DENIED] = "denied",	 [PROCESSOR_COUNTER_ZERO] = "zero",
	[PROCESSOR_COUNTER_INEXACT] = "inexact", [PROCESSOR_COUNTER_WORKS] = "works",
};

const char *processor_faulting_name(enum processor_faulting faulting)
{
	return (unsigned)faulting < ARRAY_SIZE(faulting_names) ? faulting_names[faulting] : faulting_names[0];
}

const char *processor_counter_name(enum processor_counter counter)
{
	return (unsigned)counter < ARRAY_SIZE(counter_names) ? counter_names[counter] : counter_names[0];
}

static void __attribute__((noreturn)) try_tsc(void)
{
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0)
		_exit(EXIT_REFUSED);
	__asm__ volatile("rdtsc" : : : "eax", "edx");
	_exit(EXIT_RAN_ON);
}

static bool has_rdtscp(void)
{
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && (edx & 1u << 27);
}

static void __attribute__((noreturn)) try_tscp(void)
{
	if (!has_rdtscp() || prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0)
		_exit(EXIT_REFUSED);
	__asm__ volatile("rdtscp" : : : "eax", "edx", "ecx");
	_exit(EXIT_RAN_ON);
}

static void __attribute__((noreturn)) try_cpuid(void)
{
	unsigned eax = 0, ebx, ecx = 0, edx;

	if (syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0ul) < 0)
		_exit(EXIT_REFUSED);
	__asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	_exit(EXIT_RAN_ON);
}

/* The signal that is hoped for must end the child, whatever this process does with signals, and leave no core. */
static void prepare_child(void)
{
	struct rlimit none = { 0, 0 };
	sigset_t segv;

	(void)signal(SIGSEGV, SIG_DFL);
	(void)sigemptyset(&segv);
	(void)sigaddset(&segv, SIGSEGV);
	(void)sigprocmask(SIG_UNBLOCK, &segv, NULL);
	(void)setrlimit(RLIMIT_CORE, &none);
}

static enum processor_faulting probe_faulting(void (*try)(void))
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return PROCESSOR_FAULTING_UNKNOWN;
	if (pid == 0) {
		prepare_child();
		try();
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return PROCESSOR_FAULTING_UNKNOWN;
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSEGV ? PROCESSOR_FAULTING_WORKS : PROCESSOR_FAULTING_UNKNOWN;
	return WEXITSTATUS(status) == EXIT_REFUSED ? PROCESSOR_FAULTING_ABSENT : PROCESSOR_FAULTING_LIES;
}

static volatile sig_atomic_t faults;

/* RDTSC is two bytes long, RDTSCP three. */
static void on_fault(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const unsigned char *at = (const unsigned char *)(uintptr_t)uc->uc_mcontext.gregs[REG_RIP];

	(void)signo;
	(void)info;
	faults++;
	uc->uc_mcontext.gregs[REG_RIP] += at[1] == 0x31 ? 2 : 3;
}

bool processor_tsc_faults(void)
{
	struct sigaction catch = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO }, old;
	sigset_t segv, old_mask;
	bool twice = has_rdtscp();

	(void)sigemptyset(&segv);
	(void)sigaddset(&segv, SIGSEGV);
	if (sigaction(SIGSEGV, &catch, &old) < 0)
		return false;
	(void)sigprocmask(SIG_UNBLOCK, &segv, &old_mask);
	faults = 0;
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0) {
		__asm__ volatile("rdtsc" : : : "eax", "edx");
		if (twice)
			__asm__ volatile("rdtscp" : : : "eax", "edx", "ecx");
		(void)prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	}
	(void)sigprocmask(SIG_SETMASK, &old_mask, NULL);
	(void)sigaction(SIGSEGV, &old, NULL);
	return faults == 1 + twice;
}

static volatile sig_atomic_t forgone;
static struct sigaction old_action;
static bool is_caught;

/* Each thread has its own, inherited from who has made it. Any other fault comes again, and is then what it would have been. */
static void on_own_fault(int signo)
{
	int mode = PR_TSC_ENABLE;

	(void)signo;
	if (prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0 && mode == PR_TSC_SIGSEGV)
		(void)prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	else
		(void)sigaction(SIGSEGV, &old_action, NULL);
	forgone = 0;
}

void processor_tsc_forgo(void)
{
	struct sigaction catch = { .sa_handler = on_own_fault };

	if (!is_caught && sigaction(SIGSEGV, &catch, &old_action) < 0)
		return;
	is_caught = true;
	forgone = prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0;
}

bool processor_tsc_is_back(void)
{
	return !forgone;
}

void processor_tsc_take_back(void)
{
	(void)prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
	forgone = 0;
	if (is_caught)
		(void)sigaction(SIGSEGV, &old_action, NULL);
	is_caught = false;
}

static int open_counter(void)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	attr.disabled = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Exactly PROCESSOR_PROBE_BRANCHES branches, whatever the compiler thinks, and those of the two calls around it. */
static int count_loop(int fd, uint64_t *ret)
{
	uint64_t left = PROCESSOR_PROBE_BRANCHES;

	if (ioctl(fd, PERF_EVENT_IOC_RESET, 0) < 0 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	__asm__ volatile("1:\n\tdec %0\n\tjnz 1b" : "+r"(left) : : "cc");
	if (ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) < 0)
		return -errno;
	return fd_read_full(fd, ret, sizeof(*ret)) == sizeof(*ret) ? 0 : -EIO;
}

static enum processor_counter probe_branches(uint64_t *ret_counted)
{
	_cleanup_close_ int fd = open_counter();
	uint64_t first, second;

	*ret_counted = 0;
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? PROCESSOR_COUNTER_DENIED : PROCESSOR_COUNTER_ABSENT;
	if (count_loop(fd, &first) < 0 || count_loop(fd, &second) < 0)
		return PROCESSOR_COUNTER_UNKNOWN;
	*ret_counted = first;
	if (first == 0 && second == 0)
		return PROCESSOR_COUNTER_ZERO;
	/* A few more for the way into the kernel and out of it, but the same few each time. */
	if (first != second || first < PROCESSOR_PROBE_BRANCHES || first > PROCESSOR_PROBE_BRANCHES + 1000)
		return PROCESSOR_COUNTER_INEXACT;
	return PROCESSOR_COUNTER_WORKS;
}

void processor_probe_run(struct processor_probe *ret)
{
	*ret = (struct processor_probe){
		.tsc = probe_faulting(try_tsc),
		.tscp = probe_faulting(try_tscp),
		.cpuid = probe_faulting(try_cpuid),
	};
	ret->branches = probe_branches(&ret->branches_counted);
}
