/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for signals: with a mask, by a call, by a descriptor. See vm.h. */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "vm_signals.h"

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
	suspended();
	ping_pong(2000);
	alarms(100);
	timed_waits();
	descriptors();
	records();
	SHOWN("at %llu", (unsigned long long)vm_now());
	vm_end();
	return 0;
}
