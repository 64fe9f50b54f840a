/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about PTRACE_SEIZE, waitpid, guest memory and the loopback queue. */
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "facts.h"

/* A seized child that runs `body`, which starts with a stop so that nothing is missed. */
static pid_t start(int (*body)(void), long options)
{
	int ready[2];
	char byte;
	pid_t pid;

	check(pipe(ready) == 0);
	pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(ready[0], &byte, 1) != 1)
			_exit(97);
		_exit(body());
	}
	check(ptrace(PTRACE_SEIZE, pid, NULL, options | PTRACE_O_EXITKILL) == 0);
	check(write(ready[1], "", 1) == 1);
	return pid;
}

static int wait_stop(pid_t pid)
{
	int status;

	check(waitpid(pid, &status, __WALL) == pid);
	check(WIFSTOPPED(status));
	return status;
}

static int exit_zero(void)
{
	return 0;
}

static void clone_wait_is_for_tracees_only(void)
{
	siginfo_t info;
	pid_t ordinary, tracee;
	int status;

	ordinary = fork();
	check(ordinary >= 0);
	if (ordinary == 0)
		_exit(0);
	check(waitid(P_PID, (id_t)ordinary, &info, WEXITED | WNOWAIT) == 0);
	check(waitpid(-1, &status, __WCLONE | WNOHANG) == -1 && errno == ECHILD);
	tracee = start(exit_zero, 0);
	check(waitpid(-1, &status, __WCLONE) == tracee);
	check(WIFEXITED(status));
	check(waitpid(-1, &status, __WCLONE | WNOHANG) == -1 && errno == ECHILD);
	check(waitpid(ordinary, &status, 0) == ordinary);
}

static int fork_once(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}

static void newborn_stops_before_user_code(void)
{
	unsigned long child;
	pid_t pid = start(fork_once, PTRACE_O_TRACEFORK);
	int status;

	check(wait_stop(pid) >> 8 == (SIGTRAP | PTRACE_EVENT_FORK << 8));
	check(ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child) == 0);
	check(wait_stop((pid_t)child) >> 8 == (SIGTRAP | PTRACE_EVENT_STOP << 8));
	check(ptrace(PTRACE_CONT, (pid_t)child, NULL, NULL) == 0);
	check(waitpid((pid_t)child, &status, __WALL) == (pid_t)child && status == 0);
	/* reaped by the tracer: only now does the parent know */
	check(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
	check(wait_stop(pid) == (SIGCHLD << 8 | 0x7f));
	check(ptrace(PTRACE_CONT, pid, NULL, SIGCHLD) == 0);
	check(waitpid(pid, &status, __WALL) == pid && status == 0);
}

static int stop_and_exit(void)
{
	(void)raise(SIGSTOP);
	return 0;
}

static void group_stop_listens_until_continued(void)
{
	pid_t pid = start(stop_and_exit, 0);
	int status;

	check(wait_stop(pid) == (SIGSTOP << 8 | 0x7f));
	check(ptrace(PTRACE_CONT, pid, NULL, SIGSTOP) == 0);
	check(wait_stop(pid) >> 8 == (SIGSTOP | PTRACE_EVENT_STOP << 8));
	check(ptrace(PTRACE_LISTEN, pid, NULL, NULL) == 0);
	check(kill(pid, SIGCONT) == 0);
	check(wait_stop(pid) >> 8 == (SIGTRAP | PTRACE_EVENT_STOP << 8));
	check(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
	check(wait_stop(pid) == (SIGCONT << 8 | 0x7f));
	check(ptrace(PTRACE_CONT, pid, NULL, NULL) == 0);
	check(waitpid(pid, &status, __WALL) == pid && status == 0);
}

static int sleep_long(void)
{
	return (int)sleep(100);
}

static void vdso_is_written_through_proc_only(void)
{
	pid_t pid = start(sleep_long, 0);
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR) + 0x400;
	struct iovec local, remote = { .iov_base = (void *)vdso, .iov_len = 1 };
	char path[32], byte;
	int fd;

	check(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0);
	(void)wait_stop(pid);
	local = (struct iovec){ .iov_base = &byte, .iov_len = 1 };
	check(process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1);
	check(process_vm_writev(pid, &local, 1, &remote, 1, 0) == -1 && errno == EFAULT);
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	check(fd >= 0);
	byte ^= 1;
	check(pwrite(fd, &byte, 1, (off_t)vdso) == 1);
	check(*(const char *)vdso != byte); /* ours is another copy now */
	check(kill(pid, SIGKILL) == 0);
}

static uint32_t packets_taken(int cpu)
{
	unsigned count, line_cpu;
	char line[512];
	FILE *f = fopen("/proc/net/softnet_stat", "re");

	check(f != NULL);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%x %*x %*x %*x %*x %*x %*x %*x %*x %*x %*x %*x %x", &count, &line_cpu) == 2 &&
		    (int)line_cpu == cpu) {
			(void)fclose(f);
			return count;
		}
	check(!"no line for this CPU in softnet_stat");
	return 0;
}

/* Other traffic of the host may come in between: some round of many must count exactly one. */
static void queue_counts_each_packet_once(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), cpu = sched_getcpu(), i, exact = 0;
	socklen_t len = sizeof(address);
	uint32_t before;
	cpu_set_t set;
	char byte = 0;

	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	check(sched_setaffinity(0, sizeof(set), &set) == 0);
	check(bind(fd, (struct sockaddr *)&address, len) == 0);
	check(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
	for (i = 0; i < 50; i++) {
		before = packets_taken(cpu);
		check(sendto(fd, &byte, 1, 0, (struct sockaddr *)&address, len) == 1);
		check(recv(fd, &byte, 1, 0) == 1);
		check(packets_taken(cpu) - before >= 1);
		exact += packets_taken(cpu) - before == 1;
	}
	check(exact > 0);
}

static const struct fact facts[] = {
	{ "waitpid with __WCLONE alone sees tracees and no ordinary children", clone_wait_is_for_tracees_only },
	{ "a newborn stops before user code, and its death is its parent's news after the tracer's", newborn_stops_before_user_code },
	{ "PTRACE_LISTEN stays in a job control stop until SIGCONT", group_stop_listens_until_continued },
	{ "the vDSO is writable through /proc/PID/mem, not through process_vm_writev", vdso_is_written_through_proc_only },
	{ "softnet_stat counts each loopback packet of the CPU once", queue_counts_each_packet_once },
};

int main(void)
{
	return check_facts(facts, sizeof(facts) / sizeof(facts[0]));
}
