/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the guests of vm.sh share. Lines that begin with "=" say what Linux says: the driver compares them with a run without hermit. Lines
 * that begin with "#" are facts that hermit decides: they are alike in all of its runs.
 */
#ifndef HS_TESTS_GUESTS_VM_H
#define HS_TESTS_GUESTS_VM_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define SAME(...) vm_line('=', __VA_ARGS__)
#define SHOWN(...) vm_line('#', __VA_ARGS__)

/* A call that has to work for the test to make sense. */
#define MUST(call) vm_must((long)(call), #call, __LINE__)

static inline void __attribute__((format(printf, 2, 3))) vm_line(char kind, const char *format, ...)
{
	__builtin_va_list ap;

	__builtin_va_start(ap, format);
	printf("%c ", kind);
	(void)vprintf(format, ap);
	__builtin_va_end(ap);
	printf("\n");
	(void)fflush(stdout);
}

static inline long vm_must(long result, const char *what, int line)
{
	if (result == -1) {
		printf("! line %d: %s: %s\n", line, what, strerror(errno));
		(void)fflush(stdout);
		_exit(1);
	}
	return result;
}

/* The result of a call, or the name of its errno. */
static inline const char *vm_result(long result)
{
	static char text[4][32];
	static unsigned next;
	char *to = text[next++ % 4];

	if (result == -1)
		(void)snprintf(to, sizeof(text[0]), "%s", strerrorname_np(errno));
	else
		(void)snprintf(to, sizeof(text[0]), "%ld", result);
	return to;
}

#define RESULT(call) (errno = 0, vm_result((long)(call)))

static inline uint64_t vm_clock(clockid_t id)
{
	struct timespec ts;

	(void)clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline uint64_t vm_now(void)
{
	return vm_clock(CLOCK_MONOTONIC);
}

static inline void vm_sleep_ms(unsigned ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

/*
 * Until a thread of this process (or, with `tid` 0, another process) sleeps. Who has said just before that it is about to wait waits then, however
 * slow the machine is.
 */
static inline void vm_until_sleeps(int pid, int tid)
{
	char path[64], text[256];
	const char *state;
	FILE *f;

	if (tid)
		(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	else
		(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (;;) {
		f = fopen(path, "re");
		state = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
		if (f)
			(void)fclose(f);
		if (state && state[2] == 'S')
			return;
		vm_sleep_ms(1);
	}
}

/* The last thing that each of them says: natively it is never the same twice, so that the driver's control is certain to vary. */
static inline void vm_end(void)
{
	uint64_t drawn = 0;

	(void)getrandom(&drawn, sizeof(drawn), 0);
	SHOWN("pid %d draws %016llx", (int)getpid(), (unsigned long long)drawn);
}

#endif
