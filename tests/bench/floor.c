/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this kernel takes for what hermit asks of it, with nothing of hermit in between: bounds that no supervisor can go below.
 * One processor for both sides, as in a run. Each figure is the best of many short stretches, so that what else the machine
 * does is not in it. Prints JSON, nanoseconds.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Linux 6.6, younger than some headers */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	   SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

enum { STRETCHES = 1000, STRETCH = 50 };

/* Between the two sides. */
struct shared {
	volatile int listener; /* the guest's descriptor; -1: not yet */
	volatile int taken;
	double ns;
};

static double now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static char buffer[512];

static double best_of(long nr)
{
	double best = 1e18, took;

	for (int i = 0; i < STRETCHES; i++) {
		took = now_ns();
		for (int k = 0; k < STRETCH; k++)
			(void)syscall(nr, buffer, 0);
		took = now_ns() - took;
		best = took < best ? took : best;
	}
	return best / STRETCH;
}

static int install(struct sock_filter *code, unsigned short len, unsigned flags)
{
	struct sock_fprog program = { .len = len, .filter = code };

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* A call that is not trapped, under the simplest of all filters. */
static void filtered(struct shared *shared)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

	if (install(code, 1, 0) == 0)
		shared->ns = best_of(SYS_getppid);
}

static void notified_guest(struct shared *shared)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_uname, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	shared->listener = install(code, 4, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	if (shared->listener < 0)
		_exit(1);
	while (!shared->taken)
		(void)sched_yield();
	shared->ns = best_of(SYS_uname);
}

/* Receive and reply, for as long as there are calls. */
static void serve(int listener)
{
	static const struct seccomp_notif nothing;
	struct seccomp_notif call;
	struct seccomp_notif_resp answer;

	for (;;) {
		call = nothing;
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
			if (errno != EINTR)
				return;
			continue;
		}
		answer = (struct seccomp_notif_resp){ .id = call.id };
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
		if (call.data.args[1]) /* the guest says good-bye */
			return;
	}
}

static double notified(struct shared *shared)
{
	int pidfd, listener = -1;
	pid_t guest;

	shared->listener = -1;
	guest = fork();
	if (guest == 0) {
		notified_guest(shared);
		(void)syscall(SYS_uname, buffer, 1);
		_exit(0);
	}
	while (shared->listener == -1)
		(void)sched_yield();
	pidfd = pidfd_open(guest, 0);
	if (shared->listener >= 0)
		listener = pidfd_getfd(pidfd, shared->listener, 0);
	if (listener >= 0) {
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
		shared->taken = 1;
		serve(listener);
		(void)close(listener);
	} else {
		(void)kill(guest, SIGKILL);
	}
	(void)close(pidfd);
	(void)waitpid(guest, NULL, 0);
	return shared->ns;
}

static void __attribute__((noreturn)) trap_ud2(void)
{
	for (;;)
		__asm__ volatile("ud2");
}

static void __attribute__((noreturn)) trap_int3(void)
{
	for (;;)
		__asm__ volatile("int3");
}

/* An instruction that traps, `skip` bytes of which are still ahead then: the stop, what it is, registers out and in, on. */
static double trapped(void (*run)(void), unsigned skip)
{
	struct user_regs_struct regs;
	double best = 1e18, took;
	siginfo_t info;
	pid_t guest;

	guest = fork();
	if (guest == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		run();
	}
	(void)waitpid(guest, NULL, 0);
	for (int i = 0; i < STRETCHES; i++) {
		took = now_ns();
		for (int k = 0; k < STRETCH / 10; k++) {
			(void)ptrace(PTRACE_CONT, guest, NULL, NULL);
			(void)waitpid(guest, NULL, 0);
			(void)ptrace(PTRACE_GETSIGINFO, guest, NULL, &info);
			(void)ptrace(PTRACE_GETREGS, guest, NULL, &regs);
			regs.rip += skip;
			(void)ptrace(PTRACE_SETREGS, guest, NULL, &regs);
		}
		took = now_ns() - took;
		best = took < best ? took : best;
	}
	(void)kill(guest, SIGKILL);
	(void)waitpid(guest, NULL, 0);
	return best / (STRETCH / 10);
}

static double memory_read(void)
{
	double best = 1e18, took;
	char here[256];
	struct iovec local = { here, sizeof(here) }, remote = { buffer, sizeof(here) };
	pid_t guest;

	guest = fork();
	if (guest == 0)
		for (;;)
			(void)pause();
	for (int i = 0; i < STRETCHES; i++) {
		took = now_ns();
		for (int k = 0; k < STRETCH; k++)
			(void)process_vm_readv(guest, &local, 1, &remote, 1, 0);
		took = now_ns() - took;
		best = took < best ? took : best;
	}
	(void)kill(guest, SIGKILL);
	(void)waitpid(guest, NULL, 0);
	return best / STRETCH;
}

static double in_child(struct shared *shared, void (*measure)(struct shared *shared))
{
	pid_t child = fork();

	shared->ns = 0;
	if (child == 0) {
		measure(shared);
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
	return shared->ns;
}

int main(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return 1;
	memset(buffer, 0, sizeof(buffer));
	(void)printf("{\"getppid\": %.0f, ", best_of(SYS_getppid));
	(void)printf("\"getppid_filtered\": %.0f, ", in_child(shared, filtered));
	shared->ns = 0;
	(void)printf("\"notification\": %.0f, ", notified(shared));
	(void)printf("\"memory_read\": %.0f, ", memory_read());
	(void)printf("\"trap_ud2\": %.0f, ", trapped(trap_ud2, 2));
	(void)printf("\"trap_int3\": %.0f}\n", trapped(trap_int3, 0));
	return 0;
}
