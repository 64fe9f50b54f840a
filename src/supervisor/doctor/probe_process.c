/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be done with another process: tracing it, its memory, its descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/doctor/probes.h"

/* Known to us and, being forked, to the target at the same address. */
static char shared_word[8] = "before";

/* A child that sleeps until it is killed with us. */
static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	return pid;
}

static enum probe_result failed(const char *what, char *detail, size_t size)
{
	return probe_says(PROBE_MISSING, detail, size, "%s: %s", what, strerrordesc_np(errno));
}

/* Waits for the next stop of a tracee: its status, -1 when it ended. */
static int await_stop(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, __WALL) < 0 || !WIFSTOPPED(status))
		return -1;
	return status;
}

enum probe_result probe_ptrace(char *detail, size_t size)
{
	pid_t pid = sleeper();

	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC) < 0)
		return failed("ptrace", detail, size);
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
		return failed("interrupt", detail, size);
	if (await_stop(pid) >> 16 != PTRACE_EVENT_STOP)
		return probe_says(PROBE_MISSING, detail, size, "the process did not stop");
	return ptrace(PTRACE_DETACH, pid, NULL, NULL) < 0 ? failed("detach", detail, size) : PROBE_WORKS;
}

enum probe_result probe_pidfd_getfd(char *detail, size_t size)
{
	_cleanup_close_ int pidfd = -1, borrowed = -1;
	int ends[2];
	char byte;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return PROBE_FAILED;
	pidfd = (int)syscall(SYS_pidfd_open, sleeper(), 0);
	if (pidfd < 0)
		return failed("pidfd_open", detail, size);
	borrowed = (int)syscall(SYS_pidfd_getfd, pidfd, ends[1], 0);
	if (borrowed < 0)
		return failed("pidfd_getfd", detail, size);
	return write(borrowed, "x", 1) == 1 && read(ends[0], &byte, 1) == 1 ? PROBE_WORKS : PROBE_MISSING;
}

enum probe_result probe_memory_calls(char *detail, size_t size)
{
	char text[sizeof(shared_word)] = "after";
	struct iovec here = { .iov_base = text, .iov_len = sizeof(text) };
	struct iovec there = { .iov_base = shared_word, .iov_len = sizeof(shared_word) };
	pid_t pid = sleeper();

	if (process_vm_writev(pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(text))
		return failed("process_vm_writev", detail, size);
	memset(text, 0, sizeof(text));
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof(text))
		return failed("process_vm_readv", detail, size);
	return !strcmp(text, "after") ? PROBE_WORKS : PROBE_MISSING;
}

static int open_memory(pid_t pid)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* Ordinary memory, then a page that the target itself cannot write. */
enum probe_result probe_memory_file(char *detail, size_t size)
{
	static const char constant[4096] __attribute__((aligned(4096))) = "constant";
	_cleanup_close_ int fd = open_memory(sleeper());
	char text[8];

	if (fd < 0)
		return failed("/proc/PID/mem", detail, size);
	if (pwrite(fd, "after", 6, (off_t)(uintptr_t)shared_word) != 6 ||
	    pread(fd, text, sizeof(text), (off_t)(uintptr_t)shared_word) != (ssize_t)sizeof(text) || strcmp(text, "after") != 0)
		return failed("/proc/PID/mem", detail, size);
	if (pwrite(fd, "X", 1, (off_t)(uintptr_t)constant) != 1)
		return probe_says(PROBE_PARTLY, detail, size, "read-only pages: %s", strerrordesc_np(errno));
	return PROBE_WORKS;
}

enum probe_result probe_vdso(char *detail, size_t size)
{
	unsigned long address = getauxval(AT_SYSINFO_EHDR);
	_cleanup_close_ int fd = -1;
	char byte, back;

	if (!address)
		return probe_says(PROBE_WORKS, detail, size, "there is none");
	fd = open_memory(sleeper());
	if (fd < 0)
		return failed("/proc/PID/mem", detail, size);
	if (pread(fd, &byte, 1, (off_t)address + 8) != 1)
		return failed("reading", detail, size);
	byte = (char)~byte;
	if (pwrite(fd, &byte, 1, (off_t)address + 8) != 1)
		return failed("writing", detail, size);
	return pread(fd, &back, 1, (off_t)address + 8) == 1 && back == byte ? PROBE_WORKS : PROBE_MISSING;
}
