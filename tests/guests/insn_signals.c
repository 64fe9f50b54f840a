/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions beside the program's own use of the signals that they may come as: SIGTRAP where replaced, SIGSEGV where they fault. Then: what
 * is kept of a signal that was blocked, which the kernel ends when it has to force it: of SIGTRAP, where they are replaced, nothing, unless
 * one is pending. Its handler is gone even so; what is pending is all there.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile sig_atomic_t caught, code;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	(void)context;
	caught = signo;
	code = info->si_code;
	siglongjmp(back, 1);
}

static int looks(void)
{
	unsigned eax = 0, ebx, ecx = 0, edx;

	__asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
	return __builtin_ia32_rdtsc() != 0 && eax != 0;
}

static void show(const char *what)
{
	printf("%s: %s, signal %d code %d\n", what, looks() ? "seen" : "not seen", caught, code);
	caught = code = 0;
}

static void kept(int signo)
{
	struct sigaction action;
	sigset_t blocked;

	(void)sigprocmask(SIG_SETMASK, NULL, &blocked);
	(void)sigaction(signo, NULL, &action);
	printf("signal %d: %s, %s\n", signo, sigismember(&blocked, signo) ? "blocked" : "not blocked",
	       action.sa_sigaction == on_signal ? "handled" : "not handled");
}

/* A breakpoint of its own, as a debugger or a tracer puts it, in place of the whole instruction. */
static void overwrite(void)
{
	extern unsigned char place[];
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *text = (char *)((uintptr_t)place & ~(page - 1));

	if (mprotect(text, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
		memcpy(place, "\xcc\x90", 2);
	__asm__ volatile(".globl place\nplace: rdtsc" : : : "eax", "edx");
}

static int tell(pid_t tid, int signo, int value)
{
	siginfo_t info = { .si_signo = signo, .si_code = SI_QUEUE, .si_pid = getpid() };

	info.si_value.sival_int = value;
	return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, signo, &info);
}

/* With SIGTRAPs pending: for the thread, for the process, both. */
static void with_pending(const char *what, void (*handler)(int))
{
	static const struct timespec at_once;
	siginfo_t info;
	sigset_t trap;

	(void)sigemptyset(&trap);
	(void)sigaddset(&trap, SIGTRAP);
	for (int way = 0; way < 5; way++) {
		(void)signal(SIGTRAP, handler);
		(void)sigprocmask(SIG_BLOCK, &trap, NULL);
		if (way == 0 || way == 4)
			(void)raise(SIGTRAP);
		if (way == 1 || way == 4)
			(void)kill(getpid(), SIGTRAP);
		if (way == 2)
			(void)sigqueue(getpid(), SIGTRAP, (union sigval){ .sival_int = 7 });
		if (way == 3)
			(void)tell(getpid(), SIGTRAP, 8);
		show(what);
		show(what);
		while (sigtimedwait(&trap, &info, &at_once) == SIGTRAP)
			printf("pending: code %d, %s, value %d\n", info.si_code, info.si_pid == getpid() ? "its own" : "not its own",
			       info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
		(void)sigprocmask(SIG_SETMASK, NULL, &trap);
		printf("it is %s\n", sigismember(&trap, SIGTRAP) ? "blocked" : "not blocked");
		(void)sigemptyset(&trap);
		(void)sigaddset(&trap, SIGTRAP);
		(void)sigprocmask(SIG_UNBLOCK, &trap, NULL);
	}
}

static void never(int signo)
{
	(void)signo;
	_exit(3);
}

int main(void)
{
	static const int signals[] = { SIGILL, SIGSEGV, SIGTRAP };
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	sigset_t all;

	for (int i = 0; i < 3; i++)
		(void)sigaction(signals[i], &action, NULL);
	show("with handlers");
	/* The program's own faults are its own. */
	if (sigsetjmp(back, 1) == 0)
		__asm__ volatile("ud2");
	show("its own ud2");
	if (sigsetjmp(back, 1) == 0)
		__asm__ volatile("int3");
	show("its own int3");
	if (sigsetjmp(back, 1) == 0)
		overwrite();
	show("its own int3 in place of an instruction");
	if (sigsetjmp(back, 1) == 0)
		*(volatile int *)sysconf(_SC_ARG_MAX) = 1;
	show("its own bad address");
	if (sigsetjmp(back, 1) == 0)
		__asm__ volatile("hlt");
	show("its own forbidden instruction");
	for (int i = 0; i < 3; i++) {
		if (sigsetjmp(back, 1) == 0)
			(void)raise(signals[i]);
		show("sent by itself");
	}
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	show("blocked");
	for (int i = 0; i < 2; i++)
		kept(signals[i]);
	for (int i = 0; i < 3; i++)
		(void)signal(signals[i], SIG_IGN);
	show("blocked and ignored");
	(void)sigprocmask(SIG_UNBLOCK, &all, NULL);
	for (int i = 0; i < 3; i++)
		(void)signal(signals[i], SIG_IGN);
	show("ignored");
	with_pending("pending", SIG_DFL);
	with_pending("pending and ignored", SIG_IGN);
	with_pending("pending and handled", never);
	return 0;
}
