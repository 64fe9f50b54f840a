/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals: in which order they come, whom they go to, what they say, what waits for them. vm_restart.c has the calls that they interrupt. See vm.h. */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/ucontext.h>
#include <sys/wait.h>

#include "vm.h"

enum { LOG = 64 };

static volatile struct {
	int signo, code, value, mine;
} seen[LOG];
static volatile sig_atomic_t n_seen;

static void note(int signo, siginfo_t *info, void *context)
{
	int i = n_seen;

	(void)context;
	if (i == LOG)
		return;
	seen[i].signo = signo;
	seen[i].code = info->si_code;
	seen[i].value = info->si_code == SI_QUEUE ? info->si_value.sival_int : -1;
	seen[i].mine = info->si_pid == getpid();
	n_seen = i + 1;
}

static void handle(int signo, int flags)
{
	struct sigaction sa = { .sa_sigaction = note, .sa_flags = SA_SIGINFO | flags };

	MUST(sigaction(signo, &sa, NULL));
}

/* Runs with everything else blocked: handlers come one after the other, instead of inside each other. */
static void handle_alone(int signo)
{
	struct sigaction sa = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };

	(void)sigfillset(&sa.sa_mask);
	MUST(sigaction(signo, &sa, NULL));
}

static sigset_t only(int signo)
{
	sigset_t set;

	(void)sigemptyset(&set);
	if (signo)
		(void)sigaddset(&set, signo);
	return set;
}

static sigset_t all_blocked(void)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	return before;
}

static void set_mask(const sigset_t *set)
{
	(void)pthread_sigmask(SIG_SETMASK, set, NULL);
}

static const char *name_of(int signo)
{
	static char text[32];

	if (signo < SIGRTMIN)
		return sigabbrev_np(signo);
	(void)snprintf(text, sizeof(text), "RTMIN+%d", signo - SIGRTMIN);
	return text;
}

static void say_seen(const char *what)
{
	for (int i = 0; i < n_seen; i++)
		SAME("%s: %d. %s code %d value %d, of ours %d", what, i + 1, name_of(seen[i].signo), seen[i].code, seen[i].value,
		     seen[i].mine);
	n_seen = 0;
}

static void queue_to(pid_t pid, int signo, int value)
{
	union sigval sv = { .sival_int = value };

	MUST(sigqueue(pid, signo, sv));
}

/* ---- order ---- */

static void send_a_mixture(void)
{
	queue_to(getpid(), SIGRTMIN + 2, 1);
	MUST(kill(getpid(), SIGUSR2));
	queue_to(getpid(), SIGRTMIN + 1, 2);
	queue_to(getpid(), SIGUSR1, 3);
	queue_to(getpid(), SIGUSR1, 4); /* is pending already: lost */
	queue_to(getpid(), SIGRTMIN + 1, 5);
	MUST(raise(SIGRTMIN + 2));
	MUST(kill(getpid(), SIGHUP));
	queue_to(getpid(), SIGRTMIN + 1, 6);
}

static void order(void)
{
	static const int signals[] = { SIGHUP, SIGUSR1, SIGUSR2 };
	sigset_t before, all, pending;
	siginfo_t info;
	int n = 0;

	for (size_t i = 0; i < 3; i++)
		handle_alone(signals[i]);
	handle_alone(SIGRTMIN + 1);
	handle_alone(SIGRTMIN + 2);
	before = all_blocked();
	send_a_mixture();
	MUST(sigpending(&pending));
	for (int signo = 1; signo < 65; signo++)
		n += sigismember(&pending, signo) == 1;
	SAME("pending kinds: %d", n);
	set_mask(&before);
	say_seen("one after the other");
	for (size_t i = 0; i < 3; i++)
		handle(signals[i], 0);
	handle(SIGRTMIN + 1, 0);
	handle(SIGRTMIN + 2, 0);
	before = all_blocked();
	send_a_mixture();
	set_mask(&before);
	say_seen("inside each other");
	before = all_blocked();
	send_a_mixture();
	(void)sigfillset(&all);
	for (struct timespec none = { 0 }; (n = sigtimedwait(&all, &info, &none)) > 0;)
		SAME("taken: %s code %d value %d", name_of(n), info.si_code, info.si_code == SI_QUEUE ? info.si_value.sival_int : -1);
	SAME("and then %s", strerrorname_np(errno));
	set_mask(&before);
}

/* ---- who may say what ---- */

static void sending(void)
{
	siginfo_t info = { .si_signo = SIGUSR1, .si_code = 5 };
	pid_t child = fork();

	if (!child) {
		(void)pause();
		_exit(0);
	}
	info.si_pid = 77;
	info.si_value.sival_int = 9;
	handle(SIGUSR1, 0);
	SAME("of the kernel, to oneself %s", RESULT(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &info)));
	say_seen("said so");
	SAME("of the kernel, to another %s", RESULT(syscall(SYS_rt_sigqueueinfo, child, SIGUSR1, &info)));
	info.si_code = SI_TKILL;
	SAME("as tkill, to another %s", RESULT(syscall(SYS_rt_sigqueueinfo, child, SIGUSR1, &info)));
	SAME("to the wrong process's thread %s", RESULT(syscall(SYS_tgkill, child, getpid(), 0)));
	SAME("to no thread %s", RESULT(syscall(SYS_tkill, 99999, 0)));
	SAME("to thread 0 %s", RESULT(syscall(SYS_tkill, 0, 0)));
	SAME("to nobody %s", RESULT(kill(99999, 0)));
	SAME("to no group %s", RESULT(kill(-99999, 0)));
	SAME("no such signal %s", RESULT(kill(child, 65)));
	SAME("negative %s", RESULT(kill(child, -1)));
	SAME("to all, none %s", RESULT(kill(-1, 0)));
	SAME("to oneself, none %s", RESULT(kill(getpid(), 0)));
	MUST(kill(child, SIGKILL));
	MUST(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
	SAME("to a dead one %s", RESULT(kill(child, SIGTERM)));
	MUST(waitpid(child, NULL, 0));
	SAME("to a buried one %s", RESULT(kill(child, SIGTERM)));
}

/* Another user's. */
static void not_allowed(void)
{
	pid_t other = fork(), child;
	int status;

	if (!other) {
		(void)pause();
		_exit(0);
	}
	child = fork();
	if (!child) {
		if (setresuid(4321, 4321, 4321) < 0)
			_exit(77);
		SAME("another user: TERM %s", RESULT(kill(other, SIGTERM)));
		SAME("another user: CONT %s", RESULT(kill(other, SIGCONT)));
		SAME("another user: nothing %s", RESULT(kill(other, 0)));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0));
	SAME("tried %d", WEXITSTATUS(status));
	MUST(kill(other, SIGKILL));
	MUST(waitpid(other, NULL, 0));
}

/* ---- which thread ---- */

static atomic_int taker, threads_ready;
static atomic_bool threads_end;

static void on_taken(int signo)
{
	(void)signo;
	atomic_store(&taker, (int)syscall(SYS_gettid));
}

struct waiter {
	pthread_t thread;
	bool blocks;
	int tid;
};

static void *wait_for_end(void *arg)
{
	struct waiter *w = arg;
	sigset_t set = only(SIGUSR1);

	(void)pthread_sigmask(w->blocks ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
	w->tid = (int)syscall(SYS_gettid);
	atomic_fetch_add(&threads_ready, 1);
	while (!atomic_load(&threads_end))
		vm_sleep_ms(1);
	return NULL;
}

static int who(const struct waiter *w, int n)
{
	int tid;

	while (!(tid = atomic_exchange(&taker, 0)))
		vm_sleep_ms(1);
	if (tid == getpid())
		return 0;
	for (int i = 0; i < n; i++)
		if (w[i].tid == tid)
			return i + 1;
	return -1;
}

static void choice_of_thread(void)
{
	struct waiter w[3] = { { .blocks = true }, { .blocks = false }, { .blocks = true } };
	struct sigaction sa = { .sa_handler = on_taken, .sa_flags = SA_RESTART };
	sigset_t set = only(SIGUSR1);

	MUST(sigaction(SIGUSR1, &sa, NULL));
	for (int i = 0; i < 3; i++)
		pthread_create(&w[i].thread, NULL, wait_for_end, &w[i]);
	while (atomic_load(&threads_ready) < 3)
		vm_sleep_ms(1);
	MUST(kill(getpid(), SIGUSR1));
	SAME("nobody but two may, the first of them takes it: %d", who(w, 3));
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	MUST(kill(getpid(), SIGUSR1));
	SAME("only one may: %d", who(w, 3));
	(void)pthread_kill(w[1].thread, SIGUSR1);
	SAME("meant for it: %d", who(w, 3));
	(void)pthread_kill(w[2].thread, SIGUSR1);
	vm_sleep_ms(5);
	SAME("meant for one that blocks it: %d", atomic_load(&taker));
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	atomic_store(&threads_end, true);
	for (int i = 0; i < 3; i++)
		pthread_join(w[i].thread, NULL);
}

/* ---- groups ---- */

static int report[2];

static void on_group(int signo)
{
	char c = (char)signo;

	(void)!write(report[1], &c, 1);
	_exit(0);
}

/* A child that says when it is there, and then what it was told. */
static pid_t member(pid_t group)
{
	struct sigaction sa = { .sa_handler = on_group };
	pid_t child = (pid_t)MUST(fork());

	if (!child) {
		MUST(setpgid(0, group));
		MUST(sigaction(SIGUSR1, &sa, NULL));
		MUST(write(report[1], "+", 1));
		for (;;)
			(void)pause();
	}
	return child;
}

static void wait_members(int n)
{
	char c;

	while (n--)
		MUST(read(report[0], &c, 1));
}

static void buried(const char *what, int n)
{
	int status, by_handler = 0;

	for (int i = 0; i < n; i++)
		by_handler += wait(&status) > 0 && WIFEXITED(status);
	SAME("%s: %d", what, by_handler);
}

static void groups(void)
{
	pid_t a, b;

	MUST(pipe(report));
	a = member(0);
	wait_members(1);
	b = member(a);
	wait_members(1);
	SAME("a group %s", RESULT(kill(-a, SIGUSR1)));
	buried("of a group", 2);
	wait_members(2); /* what they said last */
	(void)b;
	/* kill(0): in a group of its own, with two members. */
	a = (pid_t)MUST(fork());
	if (!a) {
		MUST(setpgid(0, 0));
		handle(SIGUSR1, 0);
		(void)member(getpgrp());
		(void)member(getpgrp());
		wait_members(2);
		SAME("one's own group %s", RESULT(kill(0, SIGUSR1)));
		say_seen("the sender too");
		buried("of one's own group", 2);
		wait_members(2);
		_exit(0);
	}
	MUST(waitpid(a, NULL, 0));
	/* kill(-1) reaches the host's processes where there is no container. */
	if (getenv("VM_CALLS_REFUSED")) {
		(void)member(0);
		(void)member(0);
		wait_members(2);
		handle(SIGUSR1, 0);
		SHOWN("everybody %s", RESULT(kill(-1, SIGUSR1)));
		SHOWN("not the sender: %d", (int)n_seen);
		n_seen = 0;
		for (int i = 0; i < 2; i++)
			SHOWN("died %d", (int)wait(NULL));
		wait_members(2);
	}
	close(report[0]);
	close(report[1]);
}

/* ---- waiting for signals ---- */

static void suspended(void)
{
	sigset_t block = only(SIGUSR1), none = only(0), before, now;

	handle(SIGUSR1, 0);
	(void)pthread_sigmask(SIG_BLOCK, &block, &before);
	MUST(raise(SIGUSR1));
	SAME("before: %d", (int)n_seen);
	SAME("sigsuspend %s", RESULT(sigsuspend(&none)));
	say_seen("within");
	(void)pthread_sigmask(SIG_SETMASK, NULL, &now);
	SAME("blocked again %d", sigismember(&now, SIGUSR1));
	SAME("of another size %s", RESULT(syscall(SYS_rt_sigsuspend, &none, 4)));
	set_mask(&before);
}

/* Two processes wake each other: nothing is lost between looking and sleeping. */
static void ping_pong(int rounds)
{
	sigset_t block = only(SIGUSR1), none = only(0), before;
	volatile int lost = 0;
	pid_t parent = getpid(), child;

	handle(SIGUSR1, 0);
	(void)pthread_sigmask(SIG_BLOCK, &block, &before);
	child = (pid_t)MUST(fork());
	for (int i = 0; i < rounds; i++) {
		n_seen = 0;
		if (child)
			MUST(kill(child, SIGUSR1));
		while (!n_seen)
			(void)sigsuspend(&none);
		lost += n_seen != 1;
		if (!child)
			MUST(kill(parent, SIGUSR1));
	}
	if (!child)
		_exit(lost != 0);
	MUST(waitpid(child, (int[]){ 0 }, 0));
	SAME("%d rounds, lost %d", rounds, lost);
	n_seen = 0;
	set_mask(&before);
}

/* An alarm that may come before the pause: the next one ends it. */
static void alarms(int rounds)
{
	struct itimerval soon = { { 0, 300 }, { 0, 100 } }, off = { { 0, 0 }, { 0, 0 } };
	int interrupted = 0;

	handle(SIGALRM, 0);
	for (int i = 0; i < rounds; i++) {
		MUST(setitimer(ITIMER_REAL, &soon, NULL));
		interrupted += pause() == -1 && errno == EINTR;
		MUST(setitimer(ITIMER_REAL, &off, NULL));
		n_seen = 0;
	}
	SAME("alarms: %d of %d", interrupted, rounds);
}

static void timed_waits(void)
{
	sigset_t set = only(SIGUSR1), before;
	struct timespec none = { 0 }, some = { 0, 20000000 }, wrong = { 0, -1 };
	siginfo_t info;
	uint64_t start;
	pid_t child;

	handle(SIGUSR2, SA_RESTART);
	(void)pthread_sigmask(SIG_BLOCK, &set, &before);
	SAME("no time %s", RESULT(sigtimedwait(&set, &info, &none)));
	start = vm_now();
	SAME("some time %s", RESULT(sigtimedwait(&set, &info, &some)));
	SAME("all of it %d", vm_now() - start >= 20000000);
	SAME("wrong time %s", RESULT(sigtimedwait(&set, &info, &wrong)));
	SAME("of another size %s", RESULT(syscall(SYS_rt_sigtimedwait, &set, &info, &none, 4)));
	child = (pid_t)MUST(fork());
	if (!child) {
		queue_to(getppid(), SIGUSR1, 33);
		_exit(0);
	}
	SAME("from the child %s", name_of(sigwaitinfo(&set, &info)));
	SAME("code %d value %d, the child's %d", info.si_code, info.si_value.sival_int, info.si_pid == child);
	MUST(waitpid(child, NULL, 0));
	set_mask(&before);
}

static void descriptors(void)
{
	struct signalfd_siginfo got[8];
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd look = { .events = POLLIN };
	sigset_t set, before;
	ssize_t n;
	pid_t child;
	int fd, set_fd;

	(void)sigfillset(&set);
	before = all_blocked();
	fd = (int)MUST(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
	look.fd = fd;
	set_fd = (int)MUST(epoll_create1(0));
	MUST(epoll_ctl(set_fd, EPOLL_CTL_ADD, fd, &event));
	SAME("nothing yet %s", RESULT(read(fd, got, sizeof(got))));
	SAME("poll %s", RESULT(poll(&look, 1, 0)));
	SAME("epoll %s", RESULT(epoll_wait(set_fd, &event, 1, 0)));
	SAME("too small %s", RESULT(read(fd, got, 100)));
	send_a_mixture();
	SAME("some: poll %s", RESULT(poll(&look, 1, -1)));
	SAME("some: epoll %s", RESULT(epoll_wait(set_fd, &event, 1, -1)));
	while ((n = read(fd, got, sizeof(got))) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof(got[0]); i++)
			SAME("signalfd: %s code %d value %d, of ours %d, times %d", name_of((int)got[i].ssi_signo), got[i].ssi_code,
			     got[i].ssi_code == SI_QUEUE ? got[i].ssi_int : -1, got[i].ssi_pid == (uint32_t)getpid(),
			     got[i].ssi_utime != 0);
	MUST(fcntl(fd, F_SETFL, 0));
	child = (pid_t)MUST(fork());
	if (!child) {
		vm_sleep_ms(5);
		_exit(3);
	}
	n = read(fd, got, sizeof(got));
	SAME("a child: %s %s code %d status %d, it %d", RESULT(n), name_of((int)got[0].ssi_signo), got[0].ssi_code, got[0].ssi_status,
	     got[0].ssi_pid == (uint32_t)child);
	MUST(waitpid(child, NULL, 0));
	/* Another set for the same descriptor. */
	set = only(SIGUSR2);
	SAME("changed %d", signalfd(fd, &set, 0) == fd);
	MUST(raise(SIGUSR1));
	MUST(raise(SIGUSR2));
	n = read(fd, got, sizeof(got));
	SAME("only %s, %s", RESULT(n), name_of((int)got[0].ssi_signo));
	close(fd);
	close(set_fd);
	(void)signal(SIGUSR1, SIG_IGN); /* drops what is pending */
	set_mask(&before);
}

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

static void *read_and_close(void *arg)
{
	char some[5000];

	MUST(read(*(int *)arg, some, sizeof(some)));
	vm_sleep_ms(1);
	close(*(int *)arg);
	return NULL;
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
		set.handler = on_taken;
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

static sigjmp_buf back;
static volatile int depth;

static void jump_out(int signo)
{
	siglongjmp(back, signo);
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
	order();
	sending();
	not_allowed();
	choice_of_thread();
	groups();
	suspended();
	ping_pong(2000);
	alarms(100);
	timed_waits();
	descriptors();
	stacks();
	over_exec(argv[0]);
	stopping();
	broken_pipes();
	many_children();
	urgent();
	actions();
	inside_handlers();
	SHOWN("pid %d at %llu", (int)getpid(), (unsigned long long)vm_now());
	return 0;
}
