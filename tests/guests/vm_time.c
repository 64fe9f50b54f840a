/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks, timers of all kinds, what is left of a wait. See vm.h. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/wait.h>

#include "vm.h"

static volatile sig_atomic_t caught, last_overrun;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	caught++;
	last_overrun = info->si_overrun;
}

static void handle(int signo)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	sigaction(signo, &sa, NULL);
	caught = 0;
}

/* ---- clocks ---- */

static void clocks(void)
{
	static const clockid_t ids[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
					 CLOCK_MONOTONIC_COARSE, CLOCK_TAI, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID };
	uint64_t before[9] = { 0 }, now;
	struct timespec ts;
	int backwards = 0, apart = 0;
	clockid_t cpu;

	for (int round = 0; round < 2000; round++) {
		for (unsigned i = 0; i < 9; i++) {
			if (round % 50 == 0) {
				(void)syscall(SYS_clock_gettime, ids[i], &ts);
				now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
			} else {
				now = vm_clock(ids[i]);
			}
			backwards += now < before[i];
			before[i] = now;
		}
	}
	now = vm_clock(CLOCK_REALTIME);
	MUST(syscall(SYS_clock_gettime, CLOCK_REALTIME, &ts));
	apart += (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec < now;
	apart += vm_clock(CLOCK_REALTIME) < (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	SAME("backwards %d, apart %d", backwards, apart);
	SHOWN("now %llu, TAI is ahead by %lld", (unsigned long long)now,
	      (long long)((vm_clock(CLOCK_TAI) - vm_clock(CLOCK_REALTIME)) / 1000000000));
	SAME("unknown clock %s", RESULT(clock_gettime(77, &ts)));
	SAME("bad pointer %s", RESULT(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, 8)));
	MUST(clock_getres(CLOCK_MONOTONIC, &ts));
	SAME("resolution %ld", ts.tv_nsec);
	SAME("our processor clock %s", RESULT(clock_getcpuclockid(0, &cpu)));
	SAME("goes %d", vm_clock(cpu) > 0);
	SAME("of nobody %s", RESULT(clock_gettime((clockid_t)(~99999999u << 3 | 2), &ts)));
	SHOWN("%lld", (long long)times(NULL));
}

/* All calls that tell the date tell the same one, and TAI stays as far ahead of it as adjtimex(2) says. Seconds alone are those of the coarse clock. */
static void one_timeline(void)
{
	int apart = 0, tai_apart = 0;
	uint64_t before, now, after;
	struct timex tx = { 0 };
	struct timeval tv;
	time_t seconds;

	(void)adjtimex(&tx);
	for (int i = 0; i < 20; i++) {
		before = vm_clock(CLOCK_REALTIME) / 1000;
		if (i % 2)
			MUST(gettimeofday(&tv, NULL));
		else
			MUST(syscall(SYS_gettimeofday, &tv, NULL));
		after = vm_clock(CLOCK_REALTIME) / 1000;
		now = (uint64_t)tv.tv_sec * 1000000 + (uint64_t)tv.tv_usec;
		apart += now < before || now > after;
		before = vm_clock(CLOCK_REALTIME_COARSE) / 1000000000;
		seconds = i % 2 ? time(NULL) : (time_t)syscall(SYS_time, NULL);
		after = vm_clock(CLOCK_REALTIME_COARSE) / 1000000000;
		apart += (uint64_t)seconds < before || (uint64_t)seconds > after;
		before = vm_clock(CLOCK_REALTIME) + (uint64_t)tx.tai * 1000000000;
		now = vm_clock(CLOCK_TAI);
		after = vm_clock(CLOCK_REALTIME) + (uint64_t)tx.tai * 1000000000;
		tai_apart += now < before || now > after;
		vm_sleep_ms(1);
	}
	SAME("one date: apart %d, TAI %d", apart, tai_apart);
}

/* When a file was written is a time of the same clock: of the coarse one at least. */
static void written(void)
{
	char path[] = "/tmp/vm_time.XXXXXX";
	int fd = (int)MUST(mkstemp(path));
	uint64_t before, when, after;
	struct stat st;

	vm_sleep_ms(20);
	before = vm_clock(CLOCK_REALTIME_COARSE);
	MUST(write(fd, "x", 1));
	after = vm_clock(CLOCK_REALTIME);
	MUST(fstat(fd, &st));
	when = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	SAME("written in between %d", when >= before && when <= after);
	SHOWN("written at %llu", (unsigned long long)when);
	close(fd);
	(void)unlink(path);
}

/* The vsyscall page: time() at its fixed address, as old static programs call it; the host may have it or not. */
static void vsyscall(void)
{
	time_t (*old_time)(time_t *) = (time_t(*)(time_t *))0xffffffffff600400;
	int status;
	pid_t child = fork();

	if (!child) {
		time_t now = old_time(NULL);

		_exit(now == time(NULL) ? 0 : 1);
	}
	waitpid(child, &status, 0);
	SHOWN("vsyscall: %s", WIFSIGNALED(status) ? "no such page" : WEXITSTATUS(status) ? "another time" : "the same time");
}

/* ---- timers ---- */

static void use_processor(uint64_t ns)
{
	uint64_t end = vm_clock(CLOCK_PROCESS_CPUTIME_ID) + ns;

	while (vm_clock(CLOCK_PROCESS_CPUTIME_ID) < end)
		(void)socket(9999, 0, 0); /* no such family: costs much virtual time and little real */
}

static void interval_timers(void)
{
	static const struct {
		const char *name;
		int which, signo;
	} kinds[] = { { "real", ITIMER_REAL, SIGALRM }, { "virtual", ITIMER_VIRTUAL, SIGVTALRM }, { "prof", ITIMER_PROF, SIGPROF } };
	struct itimerval value = { { 0, 4000 }, { 0, 4000 } }, old, none = { { 0, 0 }, { 0, 0 } };

	for (int i = 0; i < 3; i++) {
		handle(kinds[i].signo);
		SAME("set %s: %s", kinds[i].name, RESULT(setitimer(kinds[i].which, &value, NULL)));
		MUST(getitimer(kinds[i].which, &old));
		SAME("interval %ld, left %d", old.it_interval.tv_usec, old.it_value.tv_usec > 0 && old.it_value.tv_usec <= 8000);
		while (caught < 3)
			use_processor(500000);
		MUST(setitimer(kinds[i].which, &none, &old));
		SAME("%s: came, old interval %ld", kinds[i].name, old.it_interval.tv_usec);
	}
	SAME("unknown kind %s", RESULT(setitimer(9, &value, NULL)));
	value.it_value.tv_usec = 1000000;
	SAME("bad time %s", RESULT(setitimer(ITIMER_REAL, &value, NULL)));
	SAME("alarm %u", alarm(100));
	SAME("alarm again %u", alarm(0));
}

static void posix_timer(const char *what, clockid_t clock)
{
	struct sigevent sev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct itimerspec value = { { 0, 2000000 }, { 0, 2000000 } }, left;
	timer_t id;

	handle(SIGRTMIN);
	SAME("%s: create %s", what, RESULT(timer_create(clock, &sev, &id)));
	SAME("%s: set %s", what, RESULT(timer_settime(id, 0, &value, NULL)));
	MUST(timer_gettime(id, &left));
	SAME("%s: left %d", what, left.it_value.tv_sec == 0 && left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 6000000);
	while (caught < 3)
		use_processor(500000);
	SAME("%s: came", what);
	SAME("%s: delete %s", what, RESULT(timer_delete(id)));
	SAME("%s: deleted %s", what, RESULT(timer_delete(id)));
}

static void *helper_of_timer(void *arg)
{
	return arg;
}

static void fired(union sigval value)
{
	caught += value.sival_int;
}

static void timers(void)
{
	struct sigevent sev = { .sigev_notify = SIGEV_NONE };
	struct itimerspec value = { { 0, 1000000 }, { 0, 1000000 } }, left;
	struct timespec ts;
	sigset_t blocked;
	siginfo_t info;
	pthread_t thread;
	timer_t id, other;

	posix_timer("monotonic", CLOCK_MONOTONIC);
	posix_timer("process", CLOCK_PROCESS_CPUTIME_ID);
	posix_timer("thread", CLOCK_THREAD_CPUTIME_ID);
	/* A sleeper uses no processor. */
	MUST(timer_create(CLOCK_PROCESS_CPUTIME_ID, &sev, &id));
	value.it_value.tv_nsec = 50000000;
	MUST(timer_settime(id, 0, &value, NULL));
	vm_sleep_ms(100);
	MUST(timer_gettime(id, &left));
	SAME("a sleep is not counted: %d", left.it_value.tv_nsec > 1000000);
	MUST(timer_delete(id));
	/* While it is blocked, expiries count. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sev.sigev_notify = SIGEV_SIGNAL;
	sev.sigev_signo = SIGRTMIN;
	sev.sigev_value.sival_int = 42;
	MUST(timer_create(CLOCK_REALTIME, &sev, &id));
	value.it_value.tv_nsec = 1000000;
	MUST(timer_settime(id, 0, &value, NULL));
	vm_sleep_ms(11);
	MUST(sigwaitinfo(&blocked, &info));
	SAME("code %d value %d, overrun at least nine %d", info.si_code, info.si_value.sival_int, info.si_overrun >= 9);
	SHOWN("overrun %d", info.si_overrun);
	SHOWN("getoverrun %s", RESULT(timer_getoverrun(id)));
	MUST(timer_delete(id));
	sigprocmask(SIG_UNBLOCK, &blocked, NULL);
	/* By a thread of the library's. */
	caught = 0;
	sev = (struct sigevent){ .sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 1, .sigev_notify_function = fired };
	MUST(timer_create(CLOCK_MONOTONIC, &sev, &id));
	MUST(timer_settime(id, 0, &value, NULL));
	while (caught < 3)
		vm_sleep_ms(1);
	MUST(timer_delete(id));
	SAME("SIGEV_THREAD came");
	pthread_create(&thread, NULL, helper_of_timer, NULL);
	pthread_join(thread, NULL);
	/* Absolute, in the past. */
	sev = (struct sigevent){ .sigev_notify = SIGEV_NONE };
	MUST(timer_create(CLOCK_MONOTONIC, &sev, &other));
	MUST(clock_gettime(CLOCK_MONOTONIC, &ts));
	value = (struct itimerspec){ { 0, 0 }, { ts.tv_sec > 1 ? ts.tv_sec - 1 : 0, 1 } };
	SAME("in the past %s", RESULT(timer_settime(other, TIMER_ABSTIME, &value, NULL)));
	MUST(timer_gettime(other, &left));
	SAME("left %ld", (long)left.it_value.tv_sec);
	SAME("unknown clock %s", RESULT(timer_create(99, &sev, &id)));
	value.it_value.tv_nsec = 1000000000;
	SAME("bad time %s", RESULT(timer_settime(other, 0, &value, NULL)));
}

static void timer_descriptors(void)
{
	int fd = (int)MUST(timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK)), boot;
	struct itimerspec value = { { 0, 1000000 }, { 0, 1000000 } }, left;
	struct timespec now;
	uint64_t n = 0;

	SAME("not set: %s", RESULT(read(fd, &n, sizeof(n))));
	MUST(timerfd_settime(fd, 0, &value, NULL));
	vm_sleep_ms(12);
	SAME("read %s", RESULT(read(fd, &n, sizeof(n))));
	SAME("ten or more %d", n >= 10);
	SHOWN("%llu", (unsigned long long)n);
	SAME("too short %s", RESULT(read(fd, &n, 4)));
	MUST(clock_gettime(CLOCK_REALTIME, &now));
	value = (struct itimerspec){ { 0, 0 }, { now.tv_sec + 1000, 0 } };
	SAME("cancelled when the clock is set: %s",
	     RESULT(timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &value, NULL)));
	MUST(timerfd_gettime(fd, &left));
	SAME("left %d", left.it_value.tv_sec > 0 && left.it_value.tv_sec <= 1000);
	SAME("cannot be set %s", RESULT(read(fd, &n, sizeof(n))));
	boot = (int)MUST(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC));
	value = (struct itimerspec){ { 0, 0 }, { 0, 5000000 } };
	MUST(timerfd_settime(boot, 0, &value, NULL));
	SAME("boot time %s", RESULT(read(boot, &n, sizeof(n))));
	SAME("%llu", (unsigned long long)n);
	SAME("unknown flags %s", RESULT(timerfd_create(CLOCK_MONOTONIC, 12345)));
	SAME("unknown clock %s", RESULT(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0)));
	SAME("no timer %s", RESULT(timerfd_settime(0, 0, &value, NULL)));
	close(fd);
	close(boot);
}

/* ---- what is left of a wait ---- */

enum { PATIENCE_S = 1000 };

static void rest(void)
{
	const struct itimerval again = { { 0, 10000 }, { 0, 10000 } }, none = { { 0, 0 }, { 0, 0 } };
	struct timeval tv = { 3, 500 };
	struct timespec ts = { 3, 500 };
	int p[2], n;
	fd_set set;

	MUST(pipe(p));
	MUST(write(p[1], "x", 1));
	FD_ZERO(&set);
	FD_SET(p[0], &set);
	n = select(p[0] + 1, &set, NULL, NULL, &tv);
	SAME("select %d, less than there was %d", n, tv.tv_sec == 3 ? tv.tv_usec <= 500 : tv.tv_sec < 3);
	SHOWN("left %ld.%06ld", (long)tv.tv_sec, (long)tv.tv_usec);
	tv = (struct timeval){ 3, 500 };
	FD_SET(p[0], &set);
	n = (int)syscall(SYS_select, p[0] + 1, &set, NULL, NULL, &tv);
	SHOWN("select(2) %d, left %ld.%06ld", n, (long)tv.tv_sec, (long)tv.tv_usec);
	n = (int)syscall(SYS_ppoll, &(struct pollfd){ .fd = p[0], .events = POLLIN }, 1, &ts, NULL, 8);
	SHOWN("ppoll(2) %d, left %lld.%09ld", n, (long long)ts.tv_sec, ts.tv_nsec);
	ts = (struct timespec){ 3, 500 };
	FD_SET(p[0], &set);
	n = (int)syscall(SYS_pselect6, p[0] + 1, &set, NULL, NULL, &ts, NULL);
	SHOWN("pselect6(2) %d, left %lld.%09ld", n, (long long)ts.tv_sec, ts.tv_nsec);
	MUST(read(p[0], &n, 1));
	tv = (struct timeval){ 0, 20000 };
	FD_SET(p[0], &set);
	n = select(p[0] + 1, &set, NULL, NULL, &tv);
	SAME("nothing came %d, left %ld", n, (long)tv.tv_usec);
	/* The limits from here on are longer than any machine needs; how much is left of them shows that they end before. */
	tv = (struct timeval){ PATIENCE_S, 0 };
	FD_SET(p[0], &set);
	if (!fork()) {
		vm_sleep_ms(10);
		MUST(write(p[1], "x", 1));
		_exit(0);
	}
	n = select(p[0] + 1, &set, NULL, NULL, &tv);
	SAME("came later %d, some left %d", n, tv.tv_sec > 0 && tv.tv_sec < PATIENCE_S);
	SHOWN("left %ld.%06ld", (long)tv.tv_sec, (long)tv.tv_usec);
	wait(NULL);
	MUST(read(p[0], &n, 1));
	/* A handler ends the sleep. The alarm comes again: on a slow machine the first one may come before the sleep. */
	handle(SIGALRM);
	setitimer(ITIMER_REAL, &again, NULL);
	ts = (struct timespec){ PATIENCE_S, 0 };
	SAME("sleep %s", RESULT(nanosleep(&ts, &ts)));
	SAME("left %d", ts.tv_sec > 0 && ts.tv_sec < PATIENCE_S);
	SHOWN("left %lld.%09ld", (long long)ts.tv_sec, ts.tv_nsec);
	tv = (struct timeval){ PATIENCE_S, 0 };
	FD_SET(p[0], &set);
	SAME("select %s", RESULT(select(p[0] + 1, &set, NULL, NULL, &tv)));
	SHOWN("left %ld.%06ld", (long)tv.tv_sec, (long)tv.tv_usec);
	setitimer(ITIMER_REAL, &none, NULL);
	SAME("to a time that has passed %d",
	     clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){ 1, 0 }, NULL));
	SAME("no such time %d %d", clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ 0, -1 }, NULL),
	     clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &(struct timespec){ 0, 1 }, NULL));
	close(p[0]);
	close(p[1]);
}

/* Calls that do not wait are never interrupted, however many signals come. */
static void never_interrupted(void)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, none = { { 0, 0 }, { 0, 0 } };
	char path[] = "/tmp/vm_time.XXXXXX";
	int fd = (int)MUST(mkstemp(path)), interrupted = 0, rounds;
	pid_t child;

	close(fd);
	handle(SIGALRM);
	MUST(setitimer(ITIMER_REAL, &often, NULL));
	for (rounds = 0; caught < 20; rounds++) {
		fd = open(path, O_RDWR);
		interrupted += fd < 0;
		interrupted += write(fd, "x", 1) != 1;
		interrupted += close(fd) != 0;
		if (rounds % 16)
			continue;
		child = fork();
		if (!child)
			_exit(0);
		interrupted += child < 0;
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	MUST(setitimer(ITIMER_REAL, &none, NULL));
	SAME("interrupted %d", interrupted);
	SHOWN("in %d rounds", rounds);
	(void)unlink(path);
}

/* Eight sleep until the same moment. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char woken[16];

static void *sleeper(void *arg)
{
	struct timespec until = { vm_now() / 1000000000 + 1, 0 };

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	pthread_mutex_lock(&lock);
	woken[strlen(woken)] = (char)('0' + (long)arg);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void together(void)
{
	pthread_t threads[8];

	for (long i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, sleeper, (void *)i);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	SAME("%zu woke", strlen(woken));
	SHOWN("in the order %s", woken);
}

/* Whoever waits for the clock sees the same number of looks. */
static void busy(void)
{
	uint64_t end = vm_now() + 5000000;
	long looks = 0;

	while (vm_now() < end)
		looks++;
	SHOWN("%ld looks", looks);
}

/* ---- accounts ---- */

static void accounts(void)
{
	struct rusage usage, children;
	struct tms tms;
	struct timex tx = { 0 };
	int status;

	if (!fork()) {
		use_processor(3000000);
		_exit(0);
	}
	MUST(wait4(-1, &status, 0, &children));
	MUST(getrusage(RUSAGE_SELF, &usage));
	(void)times(&tms);
	SAME("memory %d, children %d", usage.ru_maxrss > 0, children.ru_utime.tv_usec + children.ru_stime.tv_usec >= 2900);
	SHOWN("self %ld.%06ld %ld.%06ld faults %ld %ld switches %ld %ld rss %ld", (long)usage.ru_utime.tv_sec, (long)usage.ru_utime.tv_usec,
	      (long)usage.ru_stime.tv_sec, (long)usage.ru_stime.tv_usec, usage.ru_minflt, usage.ru_majflt, usage.ru_nvcsw,
	      usage.ru_nivcsw, usage.ru_maxrss);
	SHOWN("child %ld %ld, faults %ld", (long)children.ru_utime.tv_usec, (long)children.ru_stime.tv_usec, children.ru_minflt);
	SHOWN("times %ld %ld %ld %ld clock %ld", tms.tms_utime, tms.tms_stime, tms.tms_cutime, tms.tms_cstime, (long)clock());
	SHOWN("adjtimex %s offset %ld tick %ld tai %d", RESULT(adjtimex(&tx)), tx.offset, tx.tick, tx.tai);
}

int main(void)
{
	clocks();
	one_timeline();
	written();
	vsyscall();
	interval_timers();
	timers();
	timer_descriptors();
	rest();
	never_interrupted();
	together();
	busy();
	accounts();
	vm_end();
	return 0;
}
