/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Corners of calls that other guests use plainly: clocks that can only be read, old values that cannot be stored, calls about zombies, waits that
 * nobody can be told of, several messages at once. See vm.h.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
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

/* ---- several messages ---- */

enum { MANY = 6 };

static char bytes[MANY][64];
static struct iovec vectors[MANY];
static struct mmsghdr messages[MANY];

static void prepare(size_t len)
{
	memset(messages, 0, sizeof(messages));
	for (unsigned i = 0; i < MANY; i++) {
		vectors[i] = (struct iovec){ bytes[i], len };
		messages[i].msg_hdr.msg_iov = &vectors[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
}

static void on_alarm(int signo)
{
	(void)signo;
}

/* Sends n messages, each after a pause. */
static pid_t sender(int fd, unsigned n, unsigned pause_ms)
{
	pid_t pid = (pid_t)MUST(fork());

	if (pid)
		return pid;
	for (unsigned i = 0; i < n; i++) {
		vm_sleep_ms(pause_ms);
		MUST(send(fd, "abcdefgh", i + 2, 0));
	}
	_exit(0);
}

static void receive(int rx, int tx, const char *name)
{
	struct timespec limit = { 0, 100 * MS };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct timeval patience = { 0, 50 * US }, forever = { 0, 0 };

	prepare(sizeof(bytes[0]));
	SAME("%s: nothing is waited for without a place: %s", name, RESULT(recvmmsg(rx, NULL, MANY, 0, NULL)));
	messages[0].msg_hdr.msg_iov = NULL;
	SAME("%s: nor without one for the bytes: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, NULL)));
	prepare(sizeof(bytes[0]));
	MUST(send(tx, "1", 1, 0));
	MUST(send(tx, "22", 2, 0));
	messages[1].msg_hdr.msg_iov = (void *)8;
	SAME("%s: a bad one behind one: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, NULL)));
	SAME("%s: the error is the next call's: %s", name, RESULT(recv(rx, bytes, sizeof(bytes), 0)));
	SAME("%s: and the message that of the one behind: %s", name, RESULT(recv(rx, bytes, sizeof(bytes), 0)));
	prepare(sizeof(bytes[0]));
	MUST(send(tx, "1", 1, 0));
	(void)sender(tx, 2, 20);
	SAME("%s: all are waited for: %s", name, RESULT(recvmmsg(rx, messages, 3, 0, NULL)));
	SAME("%s: of %u and %u bytes", name, messages[1].msg_len, messages[2].msg_len);
	MUST(wait(NULL));
	SAME("%s: nothing is left behind: %s", name, RESULT(recv(rx, bytes, 1, MSG_DONTWAIT)));
	MUST(send(tx, "1", 1, 0));
	(void)sender(tx, 1, 900);
	SAME("%s: a time limit ends at the next message only: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, &limit)));
	SAME("%s: nothing of it is left: %ld %ld", name, (long)limit.tv_sec, limit.tv_nsec);
	MUST(wait(NULL));
	MUST(send(tx, "1", 1, 0));
	MUST(send(tx, "2", 1, 0));
	SAME("%s: no time at all: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, &limit)));
	limit.tv_sec = 100;
	SAME("%s: one is enough: %s", name, RESULT(recvmmsg(rx, messages, MANY, MSG_WAITFORONE, &limit)));
	SAME("%s: what is left: %d", name, limit.tv_sec >= 90);
	SHOWN("%s: %ld.%09ld", name, (long)limit.tv_sec, limit.tv_nsec);
	MUST(setsockopt(rx, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)));
	MUST(send(tx, "1", 1, 0));
	SAME("%s: the socket's limit: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, NULL)));
	SAME("%s: again: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, NULL)));
	MUST(setsockopt(rx, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever)));
	MUST(sigaction(SIGALRM, &action, NULL));
	MUST(send(tx, "1", 1, 0));
	(void)ualarm(50 * US, 50 * US);
	SAME("%s: a signal ends it behind one: %s", name, RESULT(recvmmsg(rx, messages, MANY, 0, NULL)));
	(void)ualarm(0, 0);
	MUST(getsockopt(rx, SOL_SOCKET, SO_ERROR, bytes, &(socklen_t){ sizeof(int) })); /* Linux has left the reason there */
	(void)sender(tx, 2, 600); /* natively long, so that the alarm comes before the first */
	(void)ualarm(50 * US, 0);
	SAME("%s: before the first it is made again: %s", name, RESULT(recvmmsg(rx, messages, 2, 0, NULL)));
	MUST(wait(NULL));
}

static void send_many(void)
{
	struct timeval forever = { 0, 0 };
	int fds[2], total = 0, sent, got;
	pid_t pid;

	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	MUST(setsockopt(fds[0], SOL_SOCKET, SO_SNDTIMEO, &forever, sizeof(forever)));
	prepare(8);
	while ((sent = sendmmsg(fds[0], messages, MANY, MSG_DONTWAIT)) > 0)
		total += sent;
	SAME("full after %d, %s", total, strerrorname_np(errno));
	pid = (pid_t)MUST(fork());
	if (!pid) {
		MUST(close(fds[0]));
		for (got = 0; got < total + MANY && recv(fds[1], bytes, sizeof(bytes), 0) > 0; got++)
			vm_sleep_ms(2);
		SAME("the other end got %d", got);
		_exit(0);
	}
	MUST(close(fds[1]));
	SAME("all are sent: %s", RESULT(sendmmsg(fds[0], messages, MANY, 0)));
	MUST(close(fds[0]));
	MUST(waitpid(pid, NULL, 0));
}

/* Nobody is there: the first goes, and the second finds out; which the third does not any more. */
static void refused(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int nobody = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0)), udp = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));

	MUST(bind(nobody, (struct sockaddr *)&address, len));
	MUST(getsockname(nobody, (struct sockaddr *)&address, &len));
	MUST(close(nobody));
	MUST(connect(udp, (struct sockaddr *)&address, len));
	prepare(8);
	SAME("refused: of three go %s", RESULT(sendmmsg(udp, messages, 3, 0)));
	SAME("refused: of two go %s", RESULT(sendmmsg(udp, messages, 2, 0)));
	SAME("refused: one goes %s", RESULT(send(udp, "x", 1, 0)));
	SAME("refused: the next finds it %s", RESULT(send(udp, "x", 1, 0)));
	messages[1].msg_hdr.msg_iov = (void *)8;
	SAME("refused: a bad one behind one: %s", RESULT(sendmmsg(udp, messages, 2, 0)));
	MUST(close(udp));
}

/* More than a stream takes at once. */
static void send_much(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	static char much[1 << 20];
	struct iovec parts[3] = { { much, sizeof(much) }, { much, sizeof(much) }, { much, sizeof(much) } };
	socklen_t len = sizeof(address);
	int listener = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0)), other;
	size_t got = 0;
	ssize_t n;
	pid_t pid;

	MUST(bind(listener, (struct sockaddr *)&address, len));
	MUST(getsockname(listener, (struct sockaddr *)&address, &len));
	MUST(listen(listener, 1));
	MUST(connect(fd, (struct sockaddr *)&address, len));
	other = (int)MUST(accept(listener, NULL, NULL));
	pid = (pid_t)MUST(fork());
	if (!pid) {
		MUST(close(fd));
		for (vm_sleep_ms(20); (n = recv(other, much, sizeof(much), 0)) > 0; got += (size_t)n)
			;
		SAME("the other end got %zu bytes", got);
		_exit(0);
	}
	prepare(8);
	for (int i = 0; i < 3; i++)
		messages[i].msg_hdr.msg_iov = &parts[i];
	SAME("much: %s", RESULT(sendmmsg(fd, messages, 3, 0)));
	SAME("of %u, %u and %u bytes", messages[0].msg_len, messages[1].msg_len, messages[2].msg_len);
	MUST(close(fd));
	MUST(waitpid(pid, NULL, 0));
	MUST(close(other));
	MUST(close(listener));
}

static void several_messages(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fds[2], udp = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0));

	MUST(bind(udp, (struct sockaddr *)&address, len));
	MUST(getsockname(udp, (struct sockaddr *)&address, &len));
	MUST(connect(udp, (struct sockaddr *)&address, len));
	receive(udp, udp, "UDP");
	SAME("errors are not waited for: %s", RESULT(recv(udp, bytes, 1, MSG_ERRQUEUE)));
	prepare(8);
	SAME("nor are several: %s", RESULT(recvmmsg(udp, messages, MANY, MSG_ERRQUEUE, NULL)));
	(void)sender(udp, 1, 20);
	SAME("datagrams are waited for out of band: %s", RESULT(recv(udp, bytes, 1, MSG_OOB)));
	MUST(wait(NULL));
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	SAME("of a stream no byte is: %s", RESULT(recv(fds[0], bytes, 1, MSG_OOB)));
	SAME("nor are several: %s", RESULT(recvmmsg(fds[0], messages, MANY, MSG_OOB, NULL)));
	MUST(close(fds[0]));
	MUST(close(fds[1]));
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	receive(fds[0], fds[1], "UNIX");
	send_many();
	refused();
	send_much();
}

int main(void)
{
	clocks();
	notifications();
	one_way();
	no_sockets();
	group_priorities();
	zombies();
	untold_waits();
	several_messages();
	SHOWN("%ld", (long)time(NULL));
	SHOWN("%d", getpid());
	return 0;
}
