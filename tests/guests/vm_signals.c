/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals: in which order they come, whom they go to, what waits for them. vm_handlers.c has what handlers find, vm_restart.c the calls that are
 * interrupted. See vm.h.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "vm_signals.h"

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
	SAME("to no thread %s", RESULT(syscall(SYS_tkill, 99999999, 0)));
	SAME("to thread 0 %s", RESULT(syscall(SYS_tkill, 0, 0)));
	SAME("to nobody %s", RESULT(kill(99999999, 0)));
	SAME("to no group %s", RESULT(kill(-99999999, 0)));
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

static void say_record(const char *what, ssize_t size, const struct signalfd_siginfo *got)
{
	SAME("%s: %s %s code %d, from nobody %d, of ours %d, uid %d, overrun %d, timer %d, value %d", what, RESULT(size), name_of((int)got->ssi_signo),
	     got->ssi_code, got->ssi_pid == 0, got->ssi_pid == (uint32_t)getpid(), got->ssi_uid == getuid(), (int)got->ssi_overrun,
	     (int)got->ssi_tid, got->ssi_code == SI_TIMER || got->ssi_code == SI_QUEUE ? got->ssi_int : -1);
}

/* Signals that the kernel sends: in whose name, and what they say. */
static void records(void)
{
	static char much[1 << 20];
	const struct itimerspec often = { .it_value.tv_nsec = 1000000, .it_interval.tv_nsec = 1000000 };
	const struct itimerval soon = { .it_value.tv_usec = 5000 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 42 };
	struct signalfd_siginfo got[2];
	struct iovec iov = { got, sizeof(got[0]) };
	struct pollfd look = { .events = POLLIN };
	sigset_t set, before = all_blocked();
	pthread_t reader;
	timer_t timer;
	int fd, p[2];

	(void)sigfillset(&set);
	fd = (int)MUST(signalfd(-1, &set, SFD_CLOEXEC));
	look.fd = fd;
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	say_record("a timer", read(fd, got, sizeof(got)), got);
	MUST(setitimer(ITIMER_REAL, &soon, NULL));
	say_record("a timer, readv", readv(fd, &iov, 1), got);
	MUST(setitimer(ITIMER_VIRTUAL, &soon, NULL));
	while (poll(&look, 1, 0) == 0)
		;
	say_record("time of a CPU", read(fd, got, sizeof(got)), got);
	MUST(pipe(p));
	pthread_create(&reader, NULL, read_and_close, &p[0]);
	(void)write(p[1], much, sizeof(much));
	pthread_join(reader, NULL);
	say_record("a pipe, in the middle", read(fd, got, sizeof(got)), got);
	(void)write(p[1], much, 1);
	say_record("a pipe", read(fd, got, sizeof(got)), got);
	close(p[1]);
	MUST(raise(SIGUSR2));
	queue_to(getpid(), SIGRTMIN, 5);
	say_record("raised and queued", read(fd, got, sizeof(got)), got);
	say_record("raised and queued", (ssize_t)sizeof(got[1]), got + 1);

	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
	MUST(timer_settime(timer, 0, &often, NULL));
	vm_sleep_ms(20);
	MUST(read(fd, got, sizeof(got)));
	SAME("a timer: %s code %d value %d, overran %d", name_of((int)got->ssi_signo), got->ssi_code, got->ssi_int, got->ssi_overrun > 10);
	SAME("as asked %d", timer_getoverrun(timer) == (int)got->ssi_overrun);
	MUST(timer_delete(timer));
	close(fd);
	(void)signal(SIGUSR1, SIG_IGN); /* drops what is pending */
	set_mask(&before);
}

int main(void)
{
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
	records();
	vm_end();
	return 0;
}
