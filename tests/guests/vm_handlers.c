/* SPDX-License-Identifier: BSD-3-Clause */
/* Handlers of signals: their stacks, what they find and may do, what becomes of them over exec; stops, and the kernel's own signals. See vm.h. */
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "vm_signals.h"

/* ---- stacks ---- */

static char *stack;
static size_t stack_size = 65536;
static volatile int on_it, deep_flags;

static void on_stack(int signo, siginfo_t *info, void *context)
{
	stack_t now, other = { .ss_sp = stack, .ss_size = stack_size };
	char here;

	(void)info;
	(void)context;
	on_it = &here >= stack && &here < stack + stack_size;
	MUST(sigaltstack(NULL, &now));
	deep_flags = now.ss_flags;
	if (signo == SIGUSR1)
		SAME("on it: flags %d, another %s", now.ss_flags, RESULT(sigaltstack(&other, NULL)));
	if (signo == SIGSEGV)
		_exit(on_it ? 42 : 43);
}

static char *volatile nowhere;

static int __attribute__((noinline)) deeper(volatile char *above)
{
	volatile char here[4096];

	here[0] = above ? above[0] : 0;
	return here == nowhere ? 0 : deeper(here) + here[0];
}

static void go_deeper(int signo)
{
	(void)signo;
	(void)deeper(NULL);
}

static int in_a_child(void (*function)(void))
{
	struct rlimit none = { 0, 0 };
	int status;
	pid_t child = (pid_t)MUST(fork());

	if (!child) {
		(void)setrlimit(RLIMIT_CORE, &none);
		function();
		_exit(0);
	}
	MUST(waitpid(child, &status, 0));
	return status;
}

static void overflow(void)
{
	struct rlimit small = { 1 << 18, 1 << 18 };

	MUST(setrlimit(RLIMIT_STACK, &small));
	(void)deeper(NULL);
}

static void overflow_both(void)
{
	struct sigaction sa = { .sa_handler = go_deeper, .sa_flags = SA_ONSTACK };

	MUST(sigaction(SIGUSR2, &sa, NULL));
	MUST(raise(SIGUSR2));
}

static void say_status(const char *what, int status)
{
	if (WIFSIGNALED(status))
		SAME("%s: killed by %s", what, name_of(WTERMSIG(status)));
	else
		SAME("%s: exit %d", what, WEXITSTATUS(status));
}

static void stacks(void)
{
	struct sigaction sa = { .sa_sigaction = on_stack, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t there, before, small = { .ss_size = 100 };

	stack = mmap(NULL, stack_size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(mprotect(stack, 4096, PROT_NONE));
	stack += 4096;
	there = (stack_t){ .ss_sp = stack, .ss_size = stack_size };
	small.ss_sp = stack;
	SAME("too small %s", RESULT(sigaltstack(&small, NULL)));
	small = (stack_t){ .ss_sp = stack, .ss_size = stack_size, .ss_flags = 77 };
	SAME("wrong flags %s", RESULT(sigaltstack(&small, NULL)));
	MUST(sigaltstack(&there, &before));
	SAME("none before %d", before.ss_flags == SS_DISABLE);
	MUST(sigaction(SIGUSR1, &sa, NULL));
	MUST(sigaction(SIGSEGV, &sa, NULL));
	MUST(raise(SIGUSR1));
	SAME("on the stack %d", on_it);
	sa.sa_flags &= ~SA_ONSTACK;
	MUST(sigaction(SIGUSR2, &sa, NULL));
	MUST(raise(SIGUSR2));
	SAME("not on it %d, flags %d", on_it, deep_flags);
	there.ss_flags = (int)(1u << 31); /* SS_AUTODISARM */
	MUST(sigaltstack(&there, NULL));
	sa.sa_flags |= SA_ONSTACK;
	MUST(sigaction(SIGUSR2, &sa, NULL));
	MUST(raise(SIGUSR2));
	SAME("disarmed within: flags %d", deep_flags);
	MUST(sigaltstack(NULL, &before));
	SAME("and back %d", before.ss_sp == stack);
	there.ss_flags = 0;
	MUST(sigaltstack(&there, NULL));
	say_status("overflow of the stack", in_a_child(overflow));
	say_status("of that stack", in_a_child(overflow_both));
	there.ss_flags = SS_DISABLE;
	MUST(sigaltstack(&there, NULL));
	(void)signal(SIGSEGV, SIG_DFL);
}

/* ---- faults ---- */

static void *expected;

static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)context;
	SAME("%s: code %d, at the place %d", name_of(signo), info->si_code, signo == SIGBUS ? info->si_addr == expected : info->si_addr != NULL);
	_exit(7);
}

static void divide(void)
{
	__asm__ volatile("xor %%edx, %%edx; mov $1, %%eax; xor %%ecx, %%ecx; div %%ecx" : : : "eax", "ecx", "edx");
}

static void no_instruction(void)
{
	__asm__ volatile("ud2");
}

static void past_the_end(void)
{
	int fd = (int)MUST(memfd_create("short", 0));
	char *map;

	MUST(ftruncate(fd, 4096));
	map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	expected = map + 4096;
	(void)*(volatile char *)expected;
}

static void faults(void)
{
	static const struct {
		const char *name;
		int signo;
		void (*function)(void);
	} kinds[] = { { "a division by zero", SIGFPE, divide }, { "no instruction", SIGILL, no_instruction }, { "past the end", SIGBUS, past_the_end } };
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		say_status(kinds[i].name, in_a_child(kinds[i].function));
		MUST(sigaction(kinds[i].signo, &sa, NULL));
		say_status(kinds[i].name, in_a_child(kinds[i].function));
		(void)signal(kinds[i].signo, SIG_DFL);
	}
}

/* ---- over exec ---- */

static void after_exec(void)
{
	sigset_t mask, pending;
	struct sigaction sa;

	MUST(sigprocmask(SIG_SETMASK, NULL, &mask));
	MUST(sigpending(&pending));
	SAME("after exec: blocked %d %d, pending %d %d", sigismember(&mask, SIGUSR1), sigismember(&mask, SIGUSR2),
	     sigismember(&pending, SIGUSR1), sigismember(&pending, SIGUSR2));
	MUST(sigaction(SIGHUP, NULL, &sa));
	SAME("ignored still %d", sa.sa_handler == SIG_IGN);
	MUST(sigaction(SIGTERM, NULL, &sa));
	SAME("a handler no more %d, flags %x", sa.sa_handler == SIG_DFL, (unsigned)sa.sa_flags);
	handle(SIGUSR1, 0);
	(void)sigemptyset(&mask);
	MUST(sigprocmask(SIG_SETMASK, &mask, NULL));
	say_seen("came through");
}

static void over_exec(const char *program)
{
	sigset_t set = only(SIGUSR1);
	pid_t child = (pid_t)MUST(fork());
	int status;

	if (!child) {
		(void)sigprocmask(SIG_SETMASK, &set, NULL);
		(void)signal(SIGHUP, SIG_IGN);
		handle(SIGTERM, SA_RESTART | SA_NODEFER);
		MUST(raise(SIGUSR1));
		(void)execl(program, program, "after", (char *)NULL);
		_exit(99);
	}
	MUST(waitpid(child, &status, 0));
	say_status("it", status);
}

/* ---- stopping ---- */

static void say_child(const char *what, const siginfo_t *info, pid_t child)
{
	SAME("%s: code %d status %d, the child %d", what, info->si_code, info->si_status, info->si_pid == child);
}

static int told;

static void on_continue(int signo)
{
	(void)signo;
	(void)!write(told, "c", 1);
}

static void stopping(void)
{
	sigset_t set = only(SIGCHLD), before;
	struct sigaction sa = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP };
	siginfo_t info;
	int p[2], status;
	pid_t child;
	char c;

	(void)pthread_sigmask(SIG_BLOCK, &set, &before);
	MUST(pipe(p));
	child = (pid_t)MUST(fork());
	if (!child) {
		told = p[1];
		(void)signal(SIGCONT, on_continue);
		MUST(write(p[1], "+", 1));
		for (;;)
			(void)pause();
	}
	MUST(read(p[0], &c, 1));
	MUST(kill(child, SIGSTOP));
	SAME("stopped %d", waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
	SAME("by %s", name_of(WSTOPSIG(status)));
	MUST(sigwaitinfo(&set, &info));
	say_child("and said so", &info, child);
	SAME("once %s", RESULT(waitpid(child, &status, WUNTRACED | WNOHANG)));
	MUST(kill(child, SIGCONT));
	MUST(waitid(P_PID, (id_t)child, &info, WCONTINUED));
	say_child("goes on", &info, child);
	MUST(read(p[0], &c, 1));
	SAME("its handler %c", c);
	MUST(sigwaitinfo(&set, &info));
	say_child("and said so", &info, child);
	/* A stop and its end take each other away. */
	MUST(kill(child, SIGSTOP));
	MUST(waitpid(child, &status, WUNTRACED));
	MUST(kill(child, SIGTERM));
	SAME("stopped, so not yet dead %s", RESULT(waitpid(child, &status, WNOHANG)));
	MUST(kill(child, SIGCONT));
	MUST(waitpid(child, &status, 0));
	say_status("but now", status);
	for (struct timespec none = { 0 }; sigtimedwait(&set, &info, &none) > 0;)
		;
	/* Who does not want to hear of stops. */
	MUST(sigaction(SIGCHLD, &sa, NULL));
	child = (pid_t)MUST(fork());
	if (!child) {
		(void)raise(SIGSTOP);
		_exit(5);
	}
	MUST(waitpid(child, &status, WUNTRACED));
	SAME("no word of it %s", RESULT(sigtimedwait(&set, &info, &(struct timespec){ 0 })));
	MUST(kill(child, SIGCONT));
	MUST(sigwaitinfo(&set, &info));
	say_child("its end", &info, child);
	MUST(waitpid(child, &status, 0));
	(void)signal(SIGCHLD, SIG_DFL);
	set_mask(&before);
	close(p[0]);
	close(p[1]);
}

/* ---- the kernel's own signals ---- */

/* By a user who is not the one of number 0, where we may be another. */
static void as_somebody(void)
{
	static char much[1 << 20];
	pthread_t reader;
	pid_t child = (pid_t)MUST(fork());
	int p[2];

	if (!child) {
		(void)setuid(1234);
		MUST(pipe(p));
		pthread_create(&reader, NULL, read_and_close, &p[0]);
		(void)write(p[1], much, sizeof(much));
		pthread_join(reader, NULL);
		say_seen("as somebody else");
		_exit(0);
	}
	MUST(waitpid(child, NULL, 0));
}

/* Signals of the kernel's that nobody handles, taken out of the queue. */
static void taken(void)
{
	static char much[1 << 20];
	struct itimerval soon = { .it_value.tv_usec = 5000 };
	sigset_t set = only(SIGPIPE), before;
	pthread_t reader;
	siginfo_t info;
	int p[2];

	(void)sigaddset(&set, SIGALRM);
	(void)pthread_sigmask(SIG_BLOCK, &set, &before);
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	MUST(sigwaitinfo(&set, &info));
	SAME("taken: %s code %d from %d %d", name_of(info.si_signo), info.si_code, info.si_pid, (int)info.si_uid);
	MUST(pipe(p));
	pthread_create(&reader, NULL, read_and_close, &p[0]);
	(void)write(p[1], much, sizeof(much));
	pthread_join(reader, NULL);
	MUST(sigwaitinfo(&set, &info));
	SAME("taken: %s code %d, of ours %d", name_of(info.si_signo), info.si_code, info.si_pid == getpid() && info.si_uid == getuid());
	MUST(raise(SIGPIPE));
	MUST(sigwaitinfo(&set, &info));
	SAME("taken: %s code %d, of ours %d", name_of(info.si_signo), info.si_code, info.si_pid == getpid() && info.si_uid == getuid());
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(p[1]);
}

static void broken_pipes(void)
{
	static char much[1 << 20];
	pthread_t reader;
	int p[2], s[2];
	long n;

	handle(SIGPIPE, 0);
	MUST(pipe(p));
	close(p[0]);
	SAME("write %s", RESULT(write(p[1], "x", 1)));
	say_seen("pipe");
	close(p[1]);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	close(s[0]);
	SAME("send %s", RESULT(send(s[1], "x", 1, 0)));
	say_seen("socket");
	SAME("quietly %s", RESULT(send(s[1], "x", 1, MSG_NOSIGNAL)));
	say_seen("nothing");
	close(s[1]);
	/* In the middle: what has gone is said, and the signal comes too. */
	MUST(pipe(p));
	pthread_create(&reader, NULL, read_and_close, &p[0]);
	n = write(p[1], much, sizeof(much));
	SAME("some %d", n > 0 && n < (long)sizeof(much));
	SHOWN("wrote %ld", n);
	pthread_join(reader, NULL);
	say_seen("in the middle");
	close(p[1]);
	as_somebody();
	taken();
	(void)signal(SIGPIPE, SIG_IGN);
	MUST(pipe(p));
	close(p[0]);
	SAME("ignored %s", RESULT(write(p[1], "x", 1)));
	close(p[1]);
	(void)signal(SIGPIPE, SIG_DFL);
}

static void many_children(void)
{
	sigset_t set = only(SIGCHLD), before;
	siginfo_t info;
	pid_t children[10];
	int died = 0;

	handle(SIGCHLD, 0);
	(void)pthread_sigmask(SIG_BLOCK, &set, &before);
	for (int i = 0; i < 10; i++) {
		children[i] = (pid_t)MUST(fork());
		if (!children[i])
			_exit(i);
	}
	for (int i = 0; i < 10; i++)
		MUST(waitid(P_PID, (id_t)children[i], &info, WEXITED | WNOWAIT));
	set_mask(&before);
	SAME("ten deaths, one signal: %d", (int)n_seen);
	while (wait(NULL) > 0)
		;
	n_seen = 0;
	for (int i = 0; i < 10; i++)
		if (!MUST(fork()))
			_exit(i);
	while (died < 10)
		died += wait(NULL) > 0;
	SHOWN("not blocked: %d, at %llu", (int)n_seen, (unsigned long long)vm_now());
	n_seen = 0;
	(void)signal(SIGCHLD, SIG_DFL);
}

static int tcp_pair(int *other)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(to);
	int listener = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));

	MUST(bind(listener, (struct sockaddr *)&to, sizeof(to)));
	MUST(listen(listener, 1));
	MUST(getsockname(listener, (struct sockaddr *)&to, &len));
	MUST(connect(fd, (struct sockaddr *)&to, len));
	*other = (int)MUST(accept(listener, NULL, NULL));
	close(listener);
	return fd;
}

/* Data out of band, and the group as owner. */
static void urgent(void)
{
	int a, b = 0;
	char c = 0;

	a = tcp_pair(&b);
	handle(SIGURG, SA_RESTART);
	MUST(fcntl(a, F_SETOWN, -getpgrp()));
	SAME("the group owns it %d", fcntl(a, F_GETOWN) == -getpgrp());
	MUST(fcntl(a, F_SETOWN, getpid()));
	MUST(send(b, "!", 1, MSG_OOB));
	while (!n_seen)
		vm_sleep_ms(1);
	SAME("urgent: %s", name_of(seen[0].signo));
	n_seen = 0;
	SAME("taken %s", RESULT(recv(a, &c, 1, MSG_OOB)));
	SAME("it is %c", c);
	SAME("no more %s", RESULT(recv(a, &c, 1, MSG_OOB)));
	close(a);
	close(b);
}

/* ---- handlers ---- */

static sigjmp_buf back;
static volatile int depth;

static void jump_out(int signo)
{
	siglongjmp(back, signo);
}

static void actions(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} set, got;
	static const unsigned long flags[] = { 0, SA_RESTART, SA_NODEFER | SA_SIGINFO, SA_RESETHAND | SA_RESTART, SA_ONSTACK | SA_NOCLDWAIT };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		MUST(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &set, 8));
		set.handler = jump_out;
		set.flags = flags[i] | 0x04000000; /* SA_RESTORER */
		set.restorer = (void (*)(void))(uintptr_t)actions;
		set.mask = 0x123456 << i;
		MUST(syscall(SYS_rt_sigaction, SIGUSR1, &set, NULL, 8));
		memset(&got, 0, sizeof(got));
		MUST(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &got, 8));
		SAME("action %zu: handler %d flags %lx restorer %d mask %llx", i, got.handler == set.handler, got.flags,
		     got.restorer == set.restorer, (unsigned long long)got.mask);
	}
	SAME("of KILL %s", RESULT(syscall(SYS_rt_sigaction, SIGKILL, &set, NULL, 8)));
	SAME("asked %s", RESULT(syscall(SYS_rt_sigaction, SIGKILL, NULL, &got, 8)));
	SAME("no signal %s", RESULT(syscall(SYS_rt_sigaction, 65, NULL, &got, 8)));
	SAME("of another size %s", RESULT(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &got, 4)));
	(void)signal(SIGUSR1, SIG_DFL);
}

static void raise_again(int signo)
{
	if (++depth < 5)
		MUST(raise(signo));
}

static void *disturb(void *arg)
{
	vm_sleep_ms(5);
	(void)pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

/* Goes on behind the instruction, with another result. */
static void skip(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	if (signo == SIGSEGV) {
		SAME("fault at %lx, code %d", (unsigned long)(uintptr_t)info->si_addr, info->si_code);
		uc->uc_mcontext.gregs[REG_RIP] += 2; /* mov (%rdi), %eax */
	}
	uc->uc_mcontext.gregs[REG_RAX] = 1234;
}

static void inside_handlers(void)
{
	struct sigaction sa = { .sa_handler = raise_again, .sa_flags = SA_NODEFER };
	struct sigaction jump = { .sa_handler = jump_out }, change = { .sa_sigaction = skip, .sa_flags = SA_SIGINFO };
	pthread_t thread, me = pthread_self();
	int p[2], got;
	sigset_t mask;
	char c;

	MUST(sigaction(SIGUSR1, &sa, NULL));
	MUST(raise(SIGUSR1));
	SAME("raised inside itself: %d", depth);
	depth = 0;
	sa.sa_flags = 0;
	MUST(sigaction(SIGUSR1, &sa, NULL));
	MUST(raise(SIGUSR1));
	SAME("and when it is blocked there: %d", depth);
	sa.sa_flags = SA_RESETHAND;
	depth = 4;
	MUST(sigaction(SIGUSR1, &sa, NULL));
	MUST(raise(SIGUSR1));
	MUST(sigaction(SIGUSR1, NULL, &sa));
	SAME("only once %d", sa.sa_handler == SIG_DFL);
	/* Out of a read that waits. */
	MUST(pipe(p));
	MUST(sigaction(SIGUSR1, &jump, NULL));
	got = sigsetjmp(back, 1);
	if (!got) {
		pthread_create(&thread, NULL, disturb, &me);
		(void)!read(p[0], &c, 1);
		SAME("%s", "not reached");
	}
	pthread_join(thread, NULL);
	(void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
	SAME("out of a read by %s, blocked %d", name_of(got), sigismember(&mask, SIGUSR1));
	MUST(write(p[1], "x", 1));
	SAME("the pipe works %s", RESULT(read(p[0], &c, 1)));
	close(p[0]);
	close(p[1]);
	/* Registers. */
	MUST(sigaction(SIGSEGV, &change, NULL));
	__asm__ volatile("mov (%%rdi), %%eax" : "=a"(got) : "D"(0x7777000L) : "memory");
	SAME("went on with %d", got);
	MUST(sigaction(SIGTRAP, &change, NULL));
	__asm__ volatile("int3" : "=a"(got) : "a"(0) : "memory");
	SAME("and here with %d", got);
	(void)signal(SIGSEGV, SIG_DFL);
	(void)signal(SIGTRAP, SIG_DFL);
	(void)signal(SIGUSR1, SIG_DFL);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		after_exec();
		return 0;
	}
	stacks();
	faults();
	over_exec(argv[0]);
	stopping();
	broken_pipes();
	many_children();
	urgent();
	actions();
	inside_handlers();
	SHOWN("at %llu", (unsigned long long)vm_now());
	vm_end();
	return 0;
}
