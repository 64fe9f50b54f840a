/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the kernel about the machine by every call there is for it, changes what can be changed, and asks again. Prints what it was told;
 * a wrong round trip or a wrong errno is said on stderr and ends in status 1.
 *
 * usage: machine_calls CPUS MEMORY_BYTES HOSTNAME
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;

#define CHECK(condition)                                                                            \
	do {                                                                                        \
		if (!(condition)) {                                                                 \
			(void)fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #condition, errno); \
			failures++;                                                                 \
		}                                                                                   \
	} while (0)

/* The call fails with that errno. */
#define CHECK_ERRNO(call, expected) CHECK((errno = 0, (call) == -1 && errno == (expected)))

static void check_name(const char *hostname)
{
	struct utsname name;
	char host[65];

	CHECK(uname(&name) == 0);
	CHECK(!strcmp(name.nodename, hostname));
	CHECK(gethostname(host, sizeof(host)) == 0 && !strcmp(host, hostname));
	printf("%s %s %s %s %s\n", name.sysname, name.nodename, name.release, name.version, name.machine);
	CHECK_ERRNO(sethostname("x", 1), EPERM);
	CHECK_ERRNO(syscall(SYS_uname, 8), EFAULT);
}

static void check_size(unsigned long memory)
{
	struct timespec boot;
	struct sysinfo info;

	CHECK(sysinfo(&info) == 0);
	CHECK(clock_gettime(CLOCK_BOOTTIME, &boot) == 0);
	CHECK(info.totalram == memory / 4096 * 4096 && info.mem_unit == 1);
	CHECK(info.uptime == boot.tv_sec);
	CHECK(info.totalswap == 0 && info.freeram < info.totalram);
	printf("sysinfo %ld %lu %lu %hu\n", info.uptime, info.totalram, info.freeram, info.procs);
	CHECK(sysconf(_SC_PHYS_PAGES) == (long)(memory / 4096));
}

static void check_processors(int cpus)
{
	unsigned cpu = 99, node = 99;
	cpu_set_t set, got;
	unsigned long words[16];

	CHECK(sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == cpus);
	CHECK(sysconf(_SC_NPROCESSORS_ONLN) == cpus && sysconf(_SC_NPROCESSORS_CONF) == cpus);
	CHECK(syscall(SYS_sched_getaffinity, 0, sizeof(words), words) == (cpus + 63) / 64 * 8);
	CHECK_ERRNO(syscall(SYS_sched_getaffinity, 0, 7, words), EINVAL);
	CHECK_ERRNO(syscall(SYS_sched_getaffinity, 99999, sizeof(words), words), ESRCH);
	CHECK(syscall(SYS_getcpu, &cpu, &node, NULL) == 0 && cpu == 0 && node == 0);
	CHECK(sched_getcpu() == 0);
	CPU_ZERO(&set);
	CPU_SET(cpus - 1, &set);
	CPU_SET(1000, &set); /* does not exist, no harm */
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
	CPU_CLR(1000, &set);
	CHECK(cpus == 1001 || (sched_getaffinity(0, sizeof(got), &got) == 0 && CPU_EQUAL(&set, &got)));
	CHECK(syscall(SYS_getcpu, &cpu, NULL, NULL) == 0 && cpu == (unsigned)cpus - 1);
	CHECK(sched_getcpu() == cpus - 1);
	CPU_ZERO(&set);
	CHECK_ERRNO(sched_setaffinity(0, sizeof(set), &set), EINVAL);
}

struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
	uint32_t util_min, util_max;
};

static void check_policies(void)
{
	struct sched_param param = { .sched_priority = 7 }, got;
	struct attr attr = { 0 };
	struct timespec slice;

	CHECK(sched_getscheduler(0) == SCHED_OTHER);
	CHECK(sched_getparam(0, &got) == 0 && got.sched_priority == 0);
	CHECK(sched_rr_get_interval(0, &slice) == 0);
	printf("slice %ld.%09ld\n", (long)slice.tv_sec, slice.tv_nsec);
	CHECK_ERRNO(sched_setscheduler(0, SCHED_OTHER, &param), EINVAL);
	CHECK(sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &param) == 0);
	CHECK(sched_getscheduler(0) == (SCHED_RR | SCHED_RESET_ON_FORK));
	CHECK(sched_getparam(0, &got) == 0 && got.sched_priority == 7);
	CHECK(sched_rr_get_interval(0, &slice) == 0 && slice.tv_nsec == 100000000);
	param.sched_priority = 100;
	CHECK_ERRNO(sched_setparam(0, &param), EINVAL);
	param.sched_priority = 99;
	CHECK(sched_setparam(0, &param) == 0);
	CHECK(syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) == 0);
	CHECK(attr.policy == SCHED_RR && attr.priority == 99 && attr.flags == 1);
	CHECK_ERRNO(syscall(SYS_sched_getattr, 0, &attr, 20, 0), EINVAL);
	attr = (struct attr){ .size = 48, .policy = SCHED_BATCH, .nice = 3 };
	CHECK(syscall(SYS_sched_setattr, 0, &attr, 0) == 0);
	CHECK(sched_getscheduler(0) == SCHED_BATCH && getpriority(PRIO_PROCESS, 0) == 3);
	attr.size = 9999;
	CHECK_ERRNO(syscall(SYS_sched_setattr, 0, &attr, 0), E2BIG);
	param.sched_priority = 0;
	CHECK(sched_setscheduler(0, SCHED_IDLE, &param) == 0 && sched_setscheduler(0, SCHED_OTHER, &param) == 0);
	CHECK_ERRNO(sched_setscheduler(0, 77, &param), EINVAL);
	CHECK_ERRNO(sched_getscheduler(99999), ESRCH);
	CHECK_ERRNO(sched_getscheduler(-1), EINVAL);
}

static void check_priorities(void)
{
	enum { PROCESS = 1, GROUP = 2, BEST_EFFORT = 2 << 13 };

	CHECK(setpriority(PRIO_PROCESS, 0, 0) == 0);
	CHECK(nice(5) == 5 && getpriority(PRIO_PROCESS, 0) == 5);
	CHECK(setpriority(PRIO_PROCESS, 0, -30) == 0 && getpriority(PRIO_PROCESS, 0) == -20);
	CHECK(getpriority(PRIO_PGRP, 0) == -20 && getpriority(PRIO_USER, 0) == -20);
	CHECK(setpriority(PRIO_PGRP, 0, 40) == 0 && getpriority(PRIO_PROCESS, getpid()) == 19);
	CHECK_ERRNO(getpriority(7, 0), EINVAL);
	errno = 0;
	CHECK_ERRNO(getpriority(PRIO_PROCESS, 99999), ESRCH);
	CHECK(syscall(SYS_ioprio_get, PROCESS, 0) == 0);
	CHECK(syscall(SYS_ioprio_set, PROCESS, 0, BEST_EFFORT | 6) == 0);
	CHECK(syscall(SYS_ioprio_get, PROCESS, 0) == (BEST_EFFORT | 6));
	CHECK(syscall(SYS_ioprio_get, GROUP, 0) == (BEST_EFFORT | 6));
	CHECK_ERRNO(syscall(SYS_ioprio_set, PROCESS, 0, 5 << 13), EINVAL);
	CHECK_ERRNO(syscall(SYS_ioprio_get, 9, 0), EINVAL);
	CHECK(setpriority(PRIO_PROCESS, 0, 0) == 0);
}

static void check_limits(void)
{
	struct rlimit limit, got;
	int fd;

	for (int i = 0; i < 16; i++) {
		CHECK(getrlimit(i, &limit) == 0);
		printf("limit %d %lld %lld\n", i, (long long)limit.rlim_cur, (long long)limit.rlim_max);
	}
	CHECK_ERRNO(getrlimit(16, &limit), EINVAL);
	CHECK_ERRNO(syscall(SYS_getrlimit, 0, NULL), EFAULT);
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = 20;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK(prlimit(getpid(), RLIMIT_NOFILE, NULL, &got) == 0 && got.rlim_cur == 20);
	fd = dup2(0, 30); /* the kernel knows of it */
	CHECK(fd == -1 && errno == EBADF);
	got = limit;
	got.rlim_cur = got.rlim_max + 1;
	CHECK_ERRNO(setrlimit(RLIMIT_NOFILE, &got), EINVAL);
	got.rlim_max = got.rlim_cur;
	CHECK_ERRNO(setrlimit(RLIMIT_NOFILE, &got), EPERM);
	CHECK_ERRNO(prlimit(99999, RLIMIT_NOFILE, NULL, &got), ESRCH);
	if (fork() == 0) {
		CHECK(getrlimit(RLIMIT_NOFILE, &got) == 0 && got.rlim_cur == 20);
		_exit(failures != 0);
	}
	CHECK(wait(&fd) > 0 && fd == 0);
	limit.rlim_cur = limit.rlim_max;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static volatile sig_atomic_t warned;

static void on_warning(int signo)
{
	warned = signo;
}

/* Processor time is virtual: looking at a clock takes some, and next to none for real. */
static void check_cpu_limit(void)
{
	struct rlimit limit = { .rlim_cur = 1, .rlim_max = 2 };
	struct timespec now;
	struct rusage usage;
	int status;

	if (fork() == 0) {
		(void)signal(SIGXCPU, on_warning);
		(void)setrlimit(RLIMIT_CPU, &limit);
		for (;;) {
			for (int i = 0; i < 10000; i++)
				(void)clock_gettime(CLOCK_MONOTONIC, &now);
			(void)getpriority(PRIO_PROCESS, 0); /* the supervisor hears of it */
			if (warned == SIGXCPU) {
				warned = 1;
				(void)write(1, "SIGXCPU\n", 8);
			}
		}
	}
	CHECK(wait4(-1, &status, 0, &usage) > 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	printf("child used %ld.%06ld\n", (long)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec,
	       (long)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void check_options(void)
{
	char name[16] = "";
	int value = -1;
	void *word = NULL;

	CHECK(personality(0xffffffff) == 0); /* not that randomisation is off */
	CHECK(personality(ADDR_NO_RANDOMIZE) == 0 && personality(0xffffffff) == ADDR_NO_RANDOMIZE);
	CHECK(prctl(PR_SET_NAME, "renamed") == 0 && prctl(PR_GET_NAME, name) == 0 && !strcmp(name, "renamed"));
	CHECK(prctl(PR_GET_PDEATHSIG, &value) == 0 && value == 0);
	CHECK(prctl(PR_SET_PDEATHSIG, SIGUSR1) == 0 && prctl(PR_GET_PDEATHSIG, &value) == 0 && value == SIGUSR1);
	CHECK_ERRNO(prctl(PR_SET_PDEATHSIG, 65), EINVAL);
	CHECK(prctl(PR_GET_DUMPABLE) == 1 && prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_GET_DUMPABLE) == 0);
	CHECK_ERRNO(prctl(PR_SET_DUMPABLE, 2), EINVAL);
	CHECK(prctl(PR_GET_SECCOMP) == 0);
	CHECK_ERRNO(prctl(PR_SET_SECCOMP, 1), EINVAL);
	CHECK(prctl(PR_GET_TSC, &value) == 0 && value == PR_TSC_ENABLE);
	CHECK_ERRNO(prctl(PR_SET_TSC, PR_TSC_SIGSEGV), EINVAL);
	CHECK(prctl(PR_GET_TIMERSLACK) == 50000 && prctl(PR_SET_TIMERSLACK, 123) == 0 && prctl(PR_GET_TIMERSLACK) == 123);
	CHECK(prctl(PR_SET_TIMERSLACK, 0) == 0 && prctl(PR_GET_TIMERSLACK) == 50000);
	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && prctl(PR_GET_CHILD_SUBREAPER, &value) == 0 && value == 1);
	CHECK(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0 && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
	CHECK(prctl(PR_GET_TID_ADDRESS, &word) == 0 && word);
	CHECK(prctl(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 0, 0, 0) == PR_SPEC_NOT_AFFECTED);
	CHECK_ERRNO(prctl(PR_SET_MM, 1, 0, 0, 0), EPERM);
	CHECK_ERRNO(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, 0), EINVAL);
	CHECK_ERRNO(prctl(12345, 0, 0, 0, 0), EINVAL);
	CHECK(syscall(SYS_arch_prctl, 0x1011, 0) == 1); /* ARCH_GET_CPUID */
	CHECK(syscall(SYS_arch_prctl, 0x1012, 1) == 0);
	CHECK_ERRNO(syscall(SYS_arch_prctl, 0x1012, 0), ENODEV);
	CHECK_ERRNO(syscall(SYS_arch_prctl, 0x1023, 18), EINVAL);
}

/* An orphan's new parent is the nearest reaper; its death signal comes when the old parent dies. */
static void check_reaper(void)
{
	int status, ends[2];
	pid_t middle, orphan = 0;

	CHECK(pipe(ends) == 0);
	middle = fork();
	if (middle == 0) {
		orphan = fork();
		if (orphan == 0) {
			(void)signal(SIGUSR2, SIG_DFL);
			(void)prctl(PR_SET_PDEATHSIG, SIGUSR2);
			(void)write(ends[1], "", 1);
			for (;;)
				(void)pause();
		}
		(void)read(ends[0], &status, 1);
		_exit(0);
	}
	CHECK(waitpid(middle, &status, 0) == middle && status == 0);
	CHECK(wait(&status) > middle && WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR2);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void check_clock_state(void)
{
	struct timex timex = { 0 };
	struct timeval now;

	CHECK(adjtimex(&timex) == TIME_ERROR);
	CHECK(gettimeofday(&now, NULL) == 0 && now.tv_sec == timex.time.tv_sec);
	printf("adjtimex %ld %ld %ld %d %d\n", timex.freq, timex.maxerror, timex.tick, timex.status, timex.tai);
	timex.modes = ADJ_FREQUENCY;
	CHECK_ERRNO(adjtimex(&timex), EPERM);
	timex.modes = 0;
	CHECK(clock_adjtime(CLOCK_REALTIME, &timex) == TIME_ERROR);
	CHECK_ERRNO(clock_adjtime(CLOCK_MONOTONIC, &timex), EOPNOTSUPP);
	CHECK_ERRNO(clock_adjtime(77, &timex), EINVAL);
	CHECK_ERRNO(settimeofday(&now, NULL), EPERM);
}

static void check_usage(void)
{
	struct rusage usage;
	struct timespec cpu;
	struct tms tms;
	long ticks;

	CHECK(getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss > 0);
	CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0);
	CHECK(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec <= cpu.tv_sec + 1);
	CHECK((ticks = times(&tms)) > 0);
	printf("usage %ld.%06ld %ld ticks %ld\n", (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec, usage.ru_maxrss, ticks);
	CHECK_ERRNO(getrusage(5, &usage), EINVAL);
}

static void check_memory(void)
{
	enum { PAGE = 4096, PAGES = 8 };
	unsigned char resident[PAGES];
	void *pages[2];
	int status[2] = { 9, 9 }, mode = 9;
	unsigned long nodes[16] = { 0 };
	char *area = mmap(NULL, PAGE * PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(area != MAP_FAILED);
	printf("mapped at %p, break at %p, stack at %p, code at %p\n", (void *)area, sbrk(0), (void *)&mode, (void *)(uintptr_t)check_memory);
	memset(resident, 0, sizeof(resident));
	CHECK(mincore(area, PAGE * PAGES, resident) == 0); /* untouched, and all there */
	for (int i = 0; i < PAGES; i++)
		CHECK(resident[i] == 1);
	CHECK_ERRNO(mincore(area + 1, PAGE, resident), EINVAL);
	memset(area, 7, PAGE * PAGES);
	CHECK(madvise(area, PAGE, MADV_FREE) == 0 && area[0] == 7);
	CHECK(madvise(area, PAGE, MADV_COLD) == 0 && madvise(area, PAGE, MADV_PAGEOUT) == 0 && area[0] == 7);
	CHECK(madvise(area, PAGE, MADV_HUGEPAGE) == 0 && madvise(area, PAGE, MADV_MERGEABLE) == 0);
	CHECK(madvise(area, PAGE, MADV_DONTNEED) == 0 && area[0] == 0);
	CHECK_ERRNO(madvise(area, PAGE, MADV_HWPOISON), EPERM);
	CHECK_ERRNO(madvise(area, PAGE, 99), EINVAL);
	CHECK_ERRNO(madvise(area + 1, PAGE, MADV_FREE), EINVAL);
	CHECK((syscall(SYS_membarrier, 0, 0, 0) & 0x7f) == 0x7f);
	CHECK_ERRNO(syscall(SYS_membarrier, 8, 0, 0), EPERM);
	CHECK(syscall(SYS_membarrier, 16, 0, 0) == 0 && syscall(SYS_membarrier, 8, 0, 0) == 0);
	CHECK_ERRNO(syscall(SYS_membarrier, 3, 0, 0), EINVAL);
	CHECK(syscall(SYS_get_mempolicy, &mode, nodes, 1024, NULL, 0) == 0 && mode == 0 && nodes[0] == 0);
	nodes[0] = 1;
	CHECK(syscall(SYS_set_mempolicy, 2, nodes, 64) == 0);
	CHECK(syscall(SYS_get_mempolicy, &mode, nodes, 64, NULL, 0) == 0 && mode == 2 && nodes[0] == 1);
	nodes[0] = 2;
	CHECK_ERRNO(syscall(SYS_set_mempolicy, 2, nodes, 64), EINVAL);
	CHECK(syscall(SYS_get_mempolicy, NULL, nodes, 64, NULL, 4) == 0 && nodes[0] == 1);
	pages[0] = area + PAGE;
	pages[1] = (void *)8;
	CHECK(syscall(SYS_move_pages, 0, 2, pages, NULL, status, 0) == 0 && status[0] == 0 && status[1] == -EFAULT);
}

/* Below vm.mmap_min_addr, whatever that of the host is. */
static void check_low_memory(void)
{
	int fd, id;

	CHECK_ERRNO((long)mmap((void *)4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), EPERM);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), EPERM);
	CHECK_ERRNO((long)mmap((void *)61440, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), EPERM);
	CHECK_ERRNO((long)mmap((void *)100, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), EINVAL);
	CHECK((long)mmap((void *)65536, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == 65536);
	CHECK_ERRNO((long)mremap((void *)65536, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)4096), EPERM);
	CHECK_ERRNO((long)mremap((void *)65536, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, (void *)4096), EPERM);
	CHECK(munmap((void *)65536, 4096) == 0);
	fd = open("/proc/self/exe", O_RDONLY);
	CHECK_ERRNO((long)mmap((void *)4096, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0), EPERM);
	CHECK((long)mmap((void *)65536, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == 65536);
	close(fd);
	CHECK_ERRNO((long)mmap((void *)4096, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0), EBADF);
	fd = open("/proc/self/exe", O_PATH);
	CHECK_ERRNO((long)mmap((void *)4096, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0), EBADF);
	close(fd);
	id = shmget(IPC_PRIVATE, 4096, 0600);
	CHECK_ERRNO((long)shmat(id, (void *)4096, 0), EPERM);
	CHECK_ERRNO((long)shmat(id, (void *)100, SHM_RND), EPERM);
	CHECK_ERRNO((long)shmat(id, (void *)100, SHM_RND | SHM_REMAP), EINVAL);
	CHECK_ERRNO((long)shmat(id, (void *)100, 0), EINVAL);
	CHECK((long)shmat(id, (void *)65636, SHM_RND | SHM_REMAP) == 65536);
	CHECK(shmdt((void *)65536) == 0 && shmctl(id, IPC_RMID, NULL) == 0);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	(void)setvbuf(stdout, NULL, _IONBF, 0);
	check_name(argv[3]);
	check_size(strtoul(argv[2], NULL, 10));
	check_processors(atoi(argv[1]));
	check_policies();
	check_priorities();
	check_limits();
	check_clock_state();
	check_usage();
	check_memory();
	check_low_memory();
	check_options();
	check_reaper();
	check_cpu_limit();
	return failures != 0;
}
