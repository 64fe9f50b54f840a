/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Corners of calls that other guests use plainly: clocks that can only be read, old values that cannot be stored, calls about zombies, waits that
 * nobody can be told of, several messages at once. See vm.h.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "vm.h"

#define NOWHERE ((void *)8)

enum { US = 1000, MS = 1000000 };

/* ---- clocks ---- */

static void clocks(void)
{
	/* -1, -2, -6: CPU clocks of the caller by the forms of clock_getcpuclockid(3); -5: of a device that is not one */
	static const int ids[] = { 0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 77, -1, -2, -5, -6 };
	struct timespec zero = { 0, 0 }, negative = { -1, 0 };
	struct sigevent none = { .sigev_notify = SIGEV_NONE };
	struct timex timex = { 0 };
	int timer;

	for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		int id = ids[i];

		SAME("clock %d: sleep %s", id, RESULT(syscall(SYS_clock_nanosleep, id, 0, &zero, NULL)));
		SAME("clock %d: past %s", id, RESULT(syscall(SYS_clock_nanosleep, id, TIMER_ABSTIME, &zero, NULL)));
		SAME("clock %d: negative %s", id, RESULT(syscall(SYS_clock_nanosleep, id, 0, &negative, NULL)));
		SAME("clock %d: nowhere %s", id, RESULT(syscall(SYS_clock_nanosleep, id, 0, NOWHERE, NULL)));
		SAME("clock %d: timer %s", id, RESULT(syscall(SYS_timer_create, id, &none, &timer)));
		if (errno == 0)
			MUST(syscall(SYS_timer_delete, timer));
		if (id != CLOCK_REALTIME)
			SAME("clock %d: adjtime %s", id, RESULT(syscall(SYS_clock_adjtime, id, &timex)));
	}
}

static void notifications(void)
{
	struct itimerspec soon = { .it_value = { 1000, 0 } }, old;
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct itimerval huge = { .it_value = { INT64_MAX, 0 } }, value;
	int timer = -1, fd;

	event._sigev_un._tid = 99999;
	SAME("timer for nobody: %s", RESULT(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer)));
	event.sigev_notify = 77;
	SAME("timer of no kind: %s", RESULT(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer)));
	event = (struct sigevent){ .sigev_notify = SIGEV_NONE, .sigev_signo = 65 };
	SAME("timer without signal, whose number is wrong: %s", RESULT(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer)));
	SAME("set to nothing: %s", RESULT(syscall(SYS_timer_settime, timer, 0, NULL, NULL)));
	SAME("old value nowhere: %s", RESULT(syscall(SYS_timer_settime, timer, 0, &soon, NOWHERE)));
	MUST(syscall(SYS_timer_gettime, timer, &old));
	SAME("it is set: %d", old.it_value.tv_sec > 900);
	fd = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	SAME("old value of a timerfd nowhere: %s", RESULT(syscall(SYS_timerfd_settime, fd, 0, &soon, NOWHERE)));
	MUST(timerfd_gettime(fd, &old));
	SAME("it is set: %d", old.it_value.tv_sec > 900);
	MUST(setitimer(ITIMER_REAL, &huge, NULL));
	MUST(getitimer(ITIMER_REAL, &value));
	SAME("the longest time is about %ld", (long)value.it_value.tv_sec / 1000000);
	value = (struct itimerval){ { 0, 0 }, { 1000, 0 } };
	SAME("old value of an interval timer nowhere: %s", RESULT(syscall(SYS_setitimer, ITIMER_REAL, &value, NOWHERE)));
	SAME("it is set: %d", alarm(0) > 900);
}

/* ---- descriptors that go one way, or none ---- */

/* What /proc says about it. */
static void show_timer(int fd)
{
	char path[64], line[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "mnt_id", 6) && strncmp(line, "ino", 3))
			SAME("%s", line);
	}
	if (f)
		(void)fclose(f);
}

static void one_way(void)
{
	sigset_t none;
	int p[2], fds[5];
	static const char *const names[] = { "timerfd", "signalfd", "inotify", "epoll", "pidfd" };
	struct itimerspec soon = { .it_value = { 0, 1 } };
	uint64_t n = 1;

	(void)sigemptyset(&none);
	MUST(pipe(p));
	fds[0] = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	fds[1] = (int)MUST(signalfd(-1, &none, 0));
	fds[2] = (int)MUST(inotify_init());
	fds[3] = (int)MUST(epoll_create1(0));
	fds[4] = (int)MUST(syscall(SYS_pidfd_open, getpid(), 0));
	for (unsigned i = 0; i < 5; i++) {
		SAME("%s: write %s", names[i], RESULT(write(fds[i], &n, sizeof(n))));
		SAME("%s: pwrite %s", names[i], RESULT(pwrite(fds[i], &n, sizeof(n), 0)));
		SAME("%s: splice from it %s", names[i], RESULT(splice(fds[i], NULL, p[1], NULL, 8, SPLICE_F_NONBLOCK)));
		SAME("%s: splice to it %s", names[i], RESULT(splice(p[0], NULL, fds[i], NULL, 8, SPLICE_F_NONBLOCK)));
	}
	SAME("epoll: read %s", RESULT(read(fds[3], &n, sizeof(n))));
	SAME("pidfd: read %s", RESULT(read(fds[4], &n, sizeof(n))));
	MUST(timerfd_settime(fds[0], 0, &soon, NULL));
	vm_sleep_ms(1);
	SAME("timerfd still works: %s", RESULT(read(fds[0], &n, sizeof(n))));
	SAME("%ld", (long)n);
	show_timer(fds[0]);
	soon = (struct itimerspec){ .it_interval = { 7, 5 } };
	MUST(timerfd_settime(fds[0], TFD_TIMER_ABSTIME, &soon, NULL));
	show_timer(fds[0]);
}

/* Calls on sockets do not wait for what is none, nor for connections where there are none. */
static void no_sockets(void)
{
	static char data[70000];
	struct iovec vector = { data, 1 };
	struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
	struct mmsghdr several[2] = { { .msg_hdr = message }, { .msg_hdr = message } };
	int empty[2], full[2], udp = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));

	MUST(pipe(empty));
	MUST(pipe2(full, O_NONBLOCK));
	while (write(full[1], data, sizeof(data)) > 0)
		;
	MUST(fcntl(full[1], F_SETFL, 0));
	SAME("a pipe: recv %s", RESULT(recv(empty[0], data, 1, 0)));
	SAME("a pipe: recv of all %s", RESULT(recv(empty[0], data, 9, MSG_WAITALL)));
	SAME("a pipe: recvmsg %s", RESULT(recvmsg(empty[0], &message, 0)));
	SAME("a pipe: recvmmsg %s", RESULT(recvmmsg(empty[0], several, 2, 0, NULL)));
	SAME("a pipe: accept %s", RESULT(accept(empty[0], NULL, NULL)));
	SAME("a pipe: send %s", RESULT(send(full[1], data, 1, 0)));
	SAME("a pipe: send of much %s", RESULT(send(empty[1], data, sizeof(data), 0)));
	SAME("a pipe: sendmsg %s", RESULT(sendmsg(full[1], &message, 0)));
	SAME("a pipe: sendmmsg %s", RESULT(sendmmsg(full[1], several, 2, 0)));
	SAME("a timer: recv %s", RESULT(recv((int)MUST(timerfd_create(CLOCK_MONOTONIC, 0)), data, 1, 0)));
	SAME("datagrams: accept %s", RESULT(accept(udp, NULL, NULL)));
}

/* ---- the dead ---- */

static pid_t child(int status)
{
	pid_t pid = (pid_t)MUST(fork());

	if (!pid && status < 0)
		(void)pause();
	if (!pid)
		_exit(status);
	return pid;
}

/* Of a group, what nobody has set follows from niceness; the best one counts. */
static void group_priorities(void)
{
	enum { GROUP = 2, BEST_EFFORT = 2 << 13, IDLE = 3 << 13 };
	pid_t pid = child(-1);

	MUST(setpgid(pid, pid));
	SAME("of a group: %s", RESULT(syscall(SYS_ioprio_get, GROUP, pid)));
	MUST(setpriority(PRIO_PROCESS, (id_t)pid, 10));
	SAME("of a nice one: %s", RESULT(syscall(SYS_ioprio_get, GROUP, pid)));
	SAME("of that process: %s", RESULT(syscall(SYS_ioprio_get, 1, pid)));
	MUST(syscall(SYS_ioprio_set, 1, pid, IDLE));
	SAME("of an idle one: %s", RESULT(syscall(SYS_ioprio_get, GROUP, pid)));
	MUST(syscall(SYS_ioprio_set, 1, pid, BEST_EFFORT | 1));
	SAME("as it was set: %s", RESULT(syscall(SYS_ioprio_get, GROUP, pid)));
	MUST(kill(pid, SIGKILL));
	MUST(waitpid(pid, NULL, 0));
}

static void zombies(void)
{
	struct sched_param param;
	struct timespec ts;
	siginfo_t info;
	cpu_set_t cpus;
	clockid_t clock;
	pid_t pid = child(7);

	MUST(clock_getcpuclockid(pid, &clock) ? -1 : 0);
	MUST(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	SAME("zombie: scheduler %s", RESULT(sched_getscheduler(pid)));
	SAME("zombie: param %s", RESULT(sched_getparam(pid, &param)));
	SAME("zombie: interval %s", RESULT(sched_rr_get_interval(pid, &ts)));
	SAME("zombie: niceness %s", RESULT(getpriority(PRIO_PROCESS, (id_t)pid)));
	SAME("zombie: affinity %s", RESULT(sched_getaffinity(pid, sizeof(cpus), &cpus)));
	SAME("zombie: ioprio %s", RESULT(syscall(SYS_ioprio_get, 1, pid)));
	SAME("zombie: clock %s", RESULT(clock_gettime(clock, &ts)));
	SAME("zombie: signal %s", RESULT(kill(pid, SIGTERM)));
	MUST(waitpid(pid, NULL, 0));
	SAME("gone: scheduler %s", RESULT(sched_getscheduler(pid)));
	SAME("gone: clock %s", RESULT(clock_gettime(clock, &ts)));
}

static void *behind_the_first(void *arg)
{
	struct sched_param param = { 0 };
	pid_t first = getpid();
	struct timespec ts;
	clockid_t clock;
	cpu_set_t cpus;

	(void)arg;
	vm_sleep_ms(20);
	SAME("first thread gone: scheduler %s", RESULT(sched_getscheduler(first)));
	SAME("first thread gone: param %s", RESULT(sched_getparam(first, &param)));
	SAME("first thread gone: interval %s", RESULT(sched_rr_get_interval(first, &ts)));
	SAME("first thread gone: affinity %s", RESULT(sched_getaffinity(first, sizeof(cpus), &cpus)));
	SAME("first thread gone: sets %s", RESULT(sched_setscheduler(first, SCHED_BATCH, &param)));
	SAME("first thread gone: scheduler %s", RESULT(sched_getscheduler(first)));
	SAME("first thread gone: nicer %s", RESULT(setpriority(PRIO_PROCESS, (id_t)first, 3)));
	SAME("first thread gone: niceness %s", RESULT(getpriority(PRIO_PROCESS, (id_t)first)));
	SAME("first thread gone: own niceness %s", RESULT(getpriority(PRIO_PROCESS, 0)));
	SAME("first thread gone: ioprio %s", RESULT(syscall(SYS_ioprio_get, 1, first)));
	SAME("first thread gone: signals %s", RESULT(kill(first, 0)));
	SAME("first thread gone: to it alone %s", RESULT(syscall(SYS_tgkill, first, first, 0)));
	SAME("first thread gone: clock %d", clock_getcpuclockid(first, &clock));
	_exit(0);
}

/* The first thread of a process is gone, and others live. */
static void first_gone(void)
{
	pid_t pid = (pid_t)MUST(fork());
	pthread_t thread;

	if (!pid) {
		pthread_create(&thread, NULL, behind_the_first, NULL);
		pthread_exit(NULL);
	}
	MUST(waitpid(pid, NULL, 0));
}

static void untold_waits(void)
{
	int fd;
	pid_t pid = child(-1);

	SAME("unknown options: %s", RESULT(syscall(SYS_waitid, P_ALL, 0, NULL, WEXITED | 0x7000, NULL)));
	fd = (int)MUST(syscall(SYS_pidfd_open, pid, O_NONBLOCK));
	SAME("it lives: %s", RESULT(syscall(SYS_waitid, 3 /* P_PIDFD */, fd, NULL, WEXITED, NULL)));
	MUST(kill(pid, SIGKILL));
	SAME("nobody is told: %s", RESULT(syscall(SYS_waitid, P_ALL, 0, NULL, WEXITED, NULL)));
	SAME("it is gone: %s", RESULT(waitpid(pid, NULL, 0)));
	pid = child(3);
	SAME("nowhere to say it: %s", RESULT(syscall(SYS_wait4, pid, NOWHERE, 0, NULL)));
	SAME("it is gone: %s", RESULT(waitpid(-1, NULL, 0)));
	pid = child(3);
	SAME("nowhere to say it by waitid: %s", RESULT(syscall(SYS_waitid, P_PID, pid, NOWHERE, WEXITED, NULL)));
	SAME("it is gone: %s", RESULT(waitpid(-1, NULL, 0)));
}

int main(void)
{
	clocks();
	notifications();
	one_way();
	no_sockets();
	group_priorities();
	zombies();
	first_gone();
	untold_waits();
	vm_end();
	return 0;
}
