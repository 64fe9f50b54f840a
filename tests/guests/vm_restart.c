/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that wait, and a signal with a handler: which are made again under SA_RESTART and which end with EINTR, as signal(7) lists them. One row
 * for a call; each is made with and without SA_RESTART. Who sends the signal waits until the caller sleeps, and then lets the call end. See vm.h.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/time_types.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "vm.h"

enum { FULL = 1 << 20, MANY_SECONDS = 1000 };

static volatile sig_atomic_t caught;
static atomic_int in_call;

static void on_signal(int signo)
{
	(void)signo;
	caught++;
}

/* What a row uses; made before, closed after. */
static int in, out;
static char data[FULL];
static pid_t child;
static uint32_t word;
static int nowhere;

/* ---- before: an object on which the call has to wait ---- */

static void pair_of(int domain, int type)
{
	int pair[2];

	MUST(socketpair(domain, type, 0, pair));
	in = pair[0];
	out = pair[1];
}

static void make_pipe(void)
{
	int p[2];

	MUST(pipe(p));
	in = p[0];
	out = p[1];
}

static void make_stream(void)
{
	pair_of(AF_UNIX, SOCK_STREAM);
}

static void make_datagram(void)
{
	pair_of(AF_UNIX, SOCK_DGRAM);
}

static void fill(void)
{
	MUST(fcntl(out, F_SETFL, O_NONBLOCK));
	while (write(out, data, 4096) > 0)
		;
	MUST(fcntl(out, F_SETFL, 0));
}

static void make_full_pipe(void)
{
	make_pipe();
	fill();
}

static void make_full_stream(void)
{
	make_stream();
	fill();
}

static void make_limited_stream(void)
{
	struct timeval tv = { MANY_SECONDS, 0 };

	make_stream();
	MUST(setsockopt(in, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
}

static void make_listener(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	in = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(bind(in, (struct sockaddr *)&name, sizeof(sa_family_t)));
	MUST(listen(in, 5));
	out = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
}

/* A listener whose queue is full: one more connection has to wait for an accept. */
static void make_busy_listener(void)
{
	struct sockaddr_un name;
	socklen_t len = sizeof(name);
	int fd;

	make_listener();
	MUST(listen(in, 0));
	MUST(getsockname(in, (struct sockaddr *)&name, &len));
	fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(connect(fd, (struct sockaddr *)&name, len));
	close(fd);
}

static void make_terminal(void)
{
	in = (int)MUST(posix_openpt(O_RDWR | O_NOCTTY));
	MUST(grantpt(in));
	MUST(unlockpt(in));
	out = (int)MUST(open(ptsname(in), O_RDWR | O_NOCTTY));
}

static void make_fifo(void)
{
	MUST(mkfifo("fifo", 0600));
	in = out = -1;
}

static void make_child(void)
{
	int p[2];
	char c;

	MUST(pipe(p));
	child = (pid_t)MUST(fork());
	if (!child) {
		close(p[1]);
		_exit(read(p[0], &c, 1) == 0 ? 0 : 1);
	}
	close(p[0]);
	out = p[1];
	in = -1;
}

/* A file that is locked by another process (record locks) and another open file (the others). */
static void make_locks(void)
{
	struct flock lock = { .l_type = F_WRLCK };
	int ready[2], go[2];
	char c;

	MUST(pipe(ready));
	MUST(pipe(go));
	in = (int)MUST(open("locked", O_RDWR | O_CREAT, 0600));
	child = (pid_t)MUST(fork());
	if (!child) {
		int own = (int)MUST(open("locked", O_RDWR));

		close(go[1]);
		MUST(flock(own, LOCK_EX));
		MUST(fcntl(own, F_SETLK, &lock));
		MUST(write(ready[1], "r", 1));
		_exit(read(go[0], &c, 1) == 0 ? 0 : 1);
	}
	close(go[0]);
	close(ready[1]);
	MUST(read(ready[0], &c, 1));
	close(ready[0]);
	out = go[1];
}

static void make_eventfd(void)
{
	in = (int)MUST(eventfd(0, 0));
	out = dup(in);
}

static void make_timerfd(void)
{
	in = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	out = dup(in);
}

static void make_signalfd(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR2);
	in = (int)MUST(signalfd(-1, &set, 0));
	out = -1;
}

static void make_inotify(void)
{
	in = (int)MUST(inotify_init());
	MUST(inotify_add_watch(in, ".", IN_CREATE));
	out = -1;
}

static void make_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int p[2];

	MUST(pipe(p));
	in = (int)MUST(epoll_create1(0));
	MUST(epoll_ctl(in, EPOLL_CTL_ADD, p[0], &event));
	out = p[1];
	child = p[0];
}

static void make_word(void)
{
	word = 0;
	in = out = -1;
}

static void make_semaphore(void)
{
	in = (int)MUST(semget(IPC_PRIVATE, 1, 0600));
	out = -1;
}

struct text {
	long type;
	char text[512];
};

static void make_messages(void)
{
	struct text m = { 1, "" };

	in = (int)MUST(msgget(IPC_PRIVATE, 0600));
	while (msgsnd(in, &m, sizeof(m.text), IPC_NOWAIT) == 0)
		;
	out = -1;
}

static mqd_t open_queue(void)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	mqd_t q;

	(void)mq_unlink("/vm_restart");
	q = mq_open("/vm_restart", O_RDWR | O_CREAT, 0600, &attr);
	MUST(q);
	MUST(mq_unlink("/vm_restart"));
	return q;
}

static void make_queue(void)
{
	in = open_queue();
	out = -1;
}

static void make_full_queue(void)
{
	in = open_queue();
	MUST(mq_send(in, "one", 3, 0));
	out = -1;
}

static void make_nothing(void)
{
	in = out = -1;
}

/* ---- the calls ---- */

static struct iovec iov = { data, 16 };
static struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
static struct pollfd look;
static struct timespec patience = { MANY_SECONDS, 0 };

static struct pollfd *looking(void)
{
	look = (struct pollfd){ .fd = in, .events = POLLIN };
	return &look;
}

static fd_set *selecting(void)
{
	static fd_set set;

	FD_ZERO(&set);
	FD_SET(in, &set);
	return &set;
}

static long do_receive_many(void)
{
	struct mmsghdr m = { .msg_hdr = message };

	return recvmmsg(in, &m, 1, 0, NULL);
}

static long do_connect(void)
{
	struct sockaddr_un name;
	socklen_t len = sizeof(name);

	MUST(getsockname(in, (struct sockaddr *)&name, &len));
	return connect(out, (struct sockaddr *)&name, len);
}

static long do_open(void)
{
	in = open("fifo", O_RDONLY);
	return in < 0 ? -1 : 0;
}

static long do_lock(int how)
{
	struct flock lock = { .l_type = F_WRLCK };

	return fcntl(in, how, &lock);
}

static long futex(int op, const struct timespec *limit)
{
	return syscall(SYS_futex, &word, op, 0, limit, NULL, FUTEX_BITSET_MATCH_ANY);
}

static long do_semop(const struct timespec *limit)
{
	struct sembuf op = { 0, -1, 0 };

	return limit ? semtimedop(in, &op, 1, limit) : semop(in, &op, 1);
}

static long do_message_send(void)
{
	struct text m = { 1, "" };

	return msgsnd(in, &m, sizeof(m.text), 0);
}

static long do_message_receive(void)
{
	struct text m;

	return msgrcv(in, &m, sizeof(m.text), 99, 0);
}

static long do_wait_for_signal(const struct timespec *limit)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR2);
	return syscall(SYS_rt_sigtimedwait, &set, NULL, limit, 8);
}

static long do_suspend(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR2);
	return sigsuspend(&set);
}

static long do_sleep(void)
{
	return nanosleep(&patience, NULL);
}

static long do_sleep_until(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += MANY_SECONDS;
	errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	return errno ? -1 : 0;
}

/* ---- what lets the call end ---- */

static void end_write(void)
{
	(void)!write(out, "word\n", 5);
}

static void end_send(void)
{
	(void)!send(out, "word", 4, 0);
}

static void end_terminal(void)
{
	(void)!write(in, "word\n", 5);
}

static void end_drain(void)
{
	static char there[FULL];

	(void)!read(in, there, sizeof(there));
}

static void end_nothing(void)
{
}

static void end_connect(void)
{
	struct sockaddr_un name;
	socklen_t len = sizeof(name);

	MUST(getsockname(in, (struct sockaddr *)&name, &len));
	MUST(connect(out, (struct sockaddr *)&name, len));
}

static void end_accept(void)
{
	close(accept(in, NULL, NULL));
}

static void end_close(void)
{
	close(out);
	out = -1;
}

static void end_open(void)
{
	out = open("fifo", O_WRONLY | O_NONBLOCK);
}

static void end_count(void)
{
	uint64_t one = 1;

	MUST(write(out, &one, sizeof(one)));
}

static void end_timer(void)
{
	struct itimerspec soon = { .it_value = { 0, 1000000 } };

	MUST(timerfd_settime(out, 0, &soon, NULL));
}

static void end_file(void)
{
	close(open("made", O_CREAT | O_RDWR, 0600));
	(void)unlink("made");
}

static void end_wake(void)
{
	word = 1;
	(void)syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void end_post(void)
{
	struct sembuf op = { 0, 1, 0 };

	(void)semop(in, &op, 1);
}

static void end_messages(void)
{
	struct text m = { 99, "" };

	(void)msgrcv(in, &m, sizeof(m.text), 0, IPC_NOWAIT);
	m.type = 99;
	(void)msgsnd(in, &m, 4, IPC_NOWAIT);
}

static void end_queue(void)
{
	char text[8];
	struct timespec past = { 0 };

	if (mq_timedreceive(in, text, sizeof(text), NULL, &past) < 0)
		MUST(mq_timedsend(in, "one", 3, 0, &past));
}

static pthread_t caller;

static void end_signal(void)
{
	(void)pthread_kill(caller, SIGUSR2);
}

/* ---- after ---- */

static void clean(void)
{
	close(in);
	close(out);
	if (child > 0)
		(void)waitpid(child, NULL, WNOHANG);
	child = 0;
	(void)unlink("fifo");
	(void)unlink("locked");
}

static void clean_epoll(void)
{
	close(child);
	child = 0;
	clean();
}

static void clean_child(void)
{
	close(out);
	(void)waitpid(child, NULL, 0);
	child = 0;
	out = -1;
	clean();
}

static void clean_semaphore(void)
{
	MUST(semctl(in, 0, IPC_RMID));
}

static void clean_messages(void)
{
	MUST(msgctl(in, IPC_RMID, NULL));
}

#define CALL(name, before, call, end, after)    \
	static long call_##name(void)           \
	{                                       \
		return (call);                  \
	}
#define WAITS(name, make, call, end) CALL(name, make, call, end, clean)
#include "vm_restart.def"
#undef CALL

static const struct row {
	const char *name;
	void (*before)(void);
	long (*call)(void);
	void (*end)(void);
	void (*after)(void);
} rows[] = {
#define CALL(name, before, call, end, after) { #name, before, call_##name, end, after },
#include "vm_restart.def"
};

/* ---- one row ---- */

static int caller_tid;

/* Until the caller sleeps, in its call. */
static void until_it_sleeps(void)
{
	char path[64], text[256];
	const char *state;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", caller_tid);
	for (;;) {
		f = fopen(path, "re");
		state = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
		if (f)
			(void)fclose(f);
		if (atomic_load(&in_call) && state && state[2] == 'S')
			return;
		if (!atomic_load(&in_call) && caught)
			return; /* it has ended already */
		vm_sleep_ms(1);
	}
}

static void *disturb(void *arg)
{
	const struct row *row = arg;

	until_it_sleeps();
	(void)pthread_kill(caller, SIGUSR1);
	while (!caught)
		vm_sleep_ms(1);
	/* Sleeps again, or has come back. */
	while (atomic_load(&in_call)) {
		until_it_sleeps();
		if (!atomic_load(&in_call))
			break;
		row->end();
		while (atomic_load(&in_call))
			vm_sleep_ms(1);
	}
	return NULL;
}

static void check(const struct row *row, int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };
	pthread_t thread;
	long result;
	int error;

	MUST(sigaction(SIGUSR1, &sa, NULL));
	row->before();
	caught = 0;
	if (pthread_create(&thread, NULL, disturb, (void *)(uintptr_t)row) != 0)
		exit(1);
	atomic_store(&in_call, 1);
	errno = 0;
	result = row->call();
	error = errno;
	atomic_store(&in_call, 0);
	pthread_join(thread, NULL);
	row->after();
	errno = error;
	if (result == -1)
		SAME("%s, %s: %s", row->name, flags ? "SA_RESTART" : "no flag", strerrorname_np(error));
	else
		SAME("%s, %s: made again", row->name, flags ? "SA_RESTART" : "no flag");
}

int main(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t set;

	(void)signal(SIGPIPE, SIG_IGN);
	MUST(sigaction(SIGUSR2, &sa, NULL));
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR2);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	nowhere = (int)MUST(open("/dev/null", O_WRONLY));
	caller = pthread_self();
	caller_tid = (int)syscall(SYS_gettid);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		check(&rows[i], 0);
		check(&rows[i], SA_RESTART);
	}
	SHOWN("at %llu", (unsigned long long)vm_now());
	vm_end();
	return 0;
}
