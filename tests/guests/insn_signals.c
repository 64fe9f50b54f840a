/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions beside the program's own use of the signals that they may come as: SIGTRAP where replaced, SIGSEGV where they fault. Last of all: what
 * is kept of a signal that was blocked, which the kernel ends when it has to force it: of SIGTRAP, where they are replaced, nothing.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
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
	return 0;
}
