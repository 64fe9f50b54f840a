/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors: sets of sets, what is passed on in messages, a queue of connections that is full; and whose files are, by mode and time. See vm.h. */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "vm.h"

/* ---- sets of sets ---- */

static int new_set(void)
{
	return (int)MUST(epoll_create1(0));
}

static long add(int set, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

static long ready(int set)
{
	struct epoll_event events[8];

	return epoll_wait(set, events, 8, 0);
}

static void nested(void)
{
	int inner = new_set(), outer = new_set(), chain[7], p[2], copy, file;
	struct epoll_event event;
	char c;

	MUST(pipe(p));
	SAME("itself %s", RESULT(add(inner, inner, EPOLLIN)));
	file = (int)MUST(open("/proc/self/exe", O_RDONLY));
	SAME("a file %s", RESULT(add(inner, file, EPOLLIN)));
	close(file);
	MUST(add(inner, p[0], EPOLLIN));
	SAME("twice %s", RESULT(add(inner, p[0], EPOLLIN)));
	MUST(add(outer, inner, EPOLLIN | EPOLLET));
	SAME("a circle %s", RESULT(add(inner, outer, EPOLLIN)));
	SAME("nothing %s", RESULT(ready(outer)));
	MUST(write(p[1], "x", 1));
	SAME("through both %s", RESULT(ready(outer)));
	SAME("once by edges %s", RESULT(ready(outer)));
	SAME("still inside %s", RESULT(ready(inner)));
	MUST(read(p[0], &c, 1));
	if (!MUST(fork())) {
		vm_sleep_ms(5);
		MUST(write(p[1], "y", 1));
		_exit(0);
	}
	SAME("waited for %s", RESULT(epoll_wait(outer, &event, 1, -1)));
	MUST(wait(NULL));
	/* The open file is in the set, not its number. */
	copy = dup(p[0]);
	close(p[0]);
	SAME("closed, but open elsewhere %s", RESULT(ready(inner)));
	event.events = EPOLLIN;
	SAME("not to be removed %s", RESULT(epoll_ctl(inner, EPOLL_CTL_DEL, p[0], &event)));
	close(copy);
	SAME("gone %s", RESULT(ready(inner)));
	for (int i = 0; i < 7; i++) {
		chain[i] = new_set();
		if (i)
			SAME("deep %d: %s", i, RESULT(add(chain[i], chain[i - 1], EPOLLIN)));
	}
	for (int i = 0; i < 7; i++)
		close(chain[i]);
	close(inner);
	close(outer);
	close(p[1]);
}

/* A hundred are ready: each call has some of them, all have their turn. */
static void many_ready(void)
{
	int set = new_set(), fds[100], first = -1, seen = 0;
	struct epoll_event events[10];
	char had[100] = "";
	unsigned sum = 0;

	for (int i = 0; i < 100; i++) {
		fds[i] = (int)MUST(eventfd(1, 0));
		MUST(add(set, fds[i], EPOLLIN));
	}
	for (int round = 0; round < 10; round++) {
		int n = (int)MUST(epoll_wait(set, events, 10, -1));

		for (int i = 0; i < n; i++) {
			int at = events[i].data.fd - fds[0];

			first = first < 0 ? at : first;
			sum = sum * 31 + (unsigned)at;
			seen += !had[at];
			had[at] = 1;
		}
	}
	SAME("of a hundred %d, from %d on, in order %x", seen, first, sum);
	for (int i = 0; i < 100; i++)
		close(fds[i]);
	close(set);
}

/* ---- in messages ---- */

static void send_fds(int s, const int *fds, int n)
{
	char control[CMSG_SPACE(sizeof(int) * 16)] = "", byte = 'm';
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)n);
	MUST(sendmsg(s, &m, 0));
}

static int receive_fds(int s, int *fds, size_t room, int flags, int *ret_flags)
{
	char control[CMSG_SPACE(sizeof(int) * 16)], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = room ? CMSG_SPACE(sizeof(int) * room) : 0 };
	struct cmsghdr *c;
	int n = 0;

	MUST(recvmsg(s, &m, flags));
	c = room ? CMSG_FIRSTHDR(&m) : NULL;
	if (c) {
		n = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), sizeof(int) * (size_t)n);
	}
	*ret_flags = m.msg_flags;
	return n;
}

static void passed_on(void)
{
	struct itimerspec soon = { .it_value = { 0, 3000000 } };
	sigset_t set;
	int s[2], fds[7], got[16], flags, n;
	uint64_t count;
	struct pollfd look = { .events = POLLIN };
	pid_t child = (pid_t)MUST(fork());

	if (!child) {
		(void)pause();
		_exit(0);
	}
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	fds[0] = new_set();
	fds[1] = (int)MUST(syscall(SYS_pidfd_open, child, 0));
	fds[2] = (int)MUST(memfd_create("passed", 0));
	fds[3] = (int)MUST(eventfd(7, 0));
	fds[4] = (int)MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	fds[5] = (int)MUST(signalfd(-1, &set, SFD_NONBLOCK));
	fds[6] = s[0];
	MUST(write(fds[2], "contents", 8));
	MUST(add(fds[0], fds[3], EPOLLIN));
	MUST(timerfd_settime(fds[4], 0, &soon, NULL));
	send_fds(s[0], fds, 7);
	for (int i = 0; i < 6; i++)
		close(fds[i]);
	/* Nobody has them now; the timer's time passes, and others come and go. */
	vm_sleep_ms(5);
	for (int i = 0; i < 150; i++)
		close((int)MUST(timerfd_create(CLOCK_MONOTONIC, 0)));
	n = receive_fds(s[1], got, 16, MSG_CMSG_CLOEXEC, &flags);
	SAME("received %d, flags %x", n, (unsigned)flags & ~(unsigned)MSG_CMSG_CLOEXEC);
	for (int i = 0; i < n; i++)
		SAME("number %d %d, close on exec %d", i, got[i] == fds[0] + i || i == 6, fcntl(got[i], F_GETFD));
	SAME("the set's member was closed, but is on its way %s", RESULT(ready(got[0])));
	look.fd = got[1];
	SAME("the process lives %s", RESULT(poll(&look, 1, 0)));
	MUST(syscall(SYS_pidfd_send_signal, got[1], SIGKILL, NULL, 0));
	SAME("and dies %s", RESULT(poll(&look, 1, -1)));
	MUST(waitpid(child, NULL, 0));
	SAME("memory %s", RESULT(lseek(got[2], 0, SEEK_CUR)));
	MUST(read(got[3], &count, sizeof(count)));
	SAME("count %d", (int)count);
	SAME("the timer %s", RESULT(read(got[4], &count, sizeof(count))));
	SAME("once %d", (int)count);
	MUST(timerfd_settime(got[4], 0, &soon, NULL));
	SAME("again %s", RESULT(read(got[4], &count, sizeof(count))));
	MUST(raise(SIGUSR1));
	SAME("signals %s", RESULT(read(got[5], (char[128]){ 0 }, 128)));
	for (int i = 0; i < n; i++)
		close(got[i]);
	/* Room for less, and for none. */
	send_fds(s[0], (int[]){ 0, 1, 2 }, 3);
	n = receive_fds(s[1], got, 1, 0, &flags);
	SAME("room for one: at least %d, flags %x", n > 0 && n < 3, (unsigned)flags);
	while (n > 0)
		close(got[--n]);
	send_fds(s[0], (int[]){ 0 }, 1);
	n = receive_fds(s[1], got, 0, 0, &flags);
	SAME("room for none: %d, flags %x", n, (unsigned)flags);
	n = (int)MUST(dup(0));
	SAME("the next number %d", n == fds[0]);
	close(n);
	close(s[0]);
	close(s[1]);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- what only messages refer to ---- */

/* How the last descriptors of two sockets are given up. */
static void by_close(const int *s)
{
	close(s[0]);
	close(s[1]);
}

static void by_dup2(const int *s)
{
	MUST(dup2(0, s[0]));
	MUST(dup3(0, s[1], O_CLOEXEC));
	by_close(s);
}

static void by_range(const int *s)
{
	MUST(syscall(SYS_close_range, s[0], s[0], 0));
	MUST(syscall(SYS_close_range, s[1], s[1], 0));
}

static void by_end(const int *s)
{
	pid_t child = (pid_t)MUST(fork());

	if (!child) {
		by_close(s);
		usleep(1000);
		_exit(0);
	}
	by_close(s);
	MUST(waitpid(child, NULL, 0));
}

static void by_exec(const int *s)
{
	pid_t child = (pid_t)MUST(fork());

	if (!child) {
		usleep(1000);
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	by_close(s);
	MUST(waitpid(child, NULL, 0));
}

/*
 * Two sockets that are on their way to each other, one with a pipe's end: the kernel finds out that nobody can receive them, and closes all. Not natively:
 * there it happens at any time later, and may wait until somebody on the host closes another socket.
 */
static void garbage(void)
{
	static const struct {
		const char *how;
		void (*give_up)(const int *s);
	} ways[] = { { "closed", by_close }, { "replaced", by_dup2 }, { "closed as ranges", by_range }, { "held until an end", by_end },
		     { "held until an exec", by_exec } };
	int s[2], ends[2];
	char byte;

	for (size_t i = 0; i < 2 * sizeof(ways) / sizeof(ways[0]); i++) {
		MUST(pipe2(ends, O_CLOEXEC | (i % 2 ? O_NONBLOCK : 0)));
		MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s));
		send_fds(s[0], (int[]){ s[1], ends[1] }, 2);
		send_fds(s[1], (int[]){ s[0] }, 1);
		close(ends[1]);
		ways[i / 2].give_up(s);
		if (i % 2)
			SHOWN("%s: the pipe at once %s", ways[i / 2].how, RESULT(read(ends[0], &byte, 1)));
		else
			SHOWN("%s: the pipe ends %s", ways[i / 2].how, RESULT(read(ends[0], &byte, 1)));
		close(ends[0]);
	}
}

/* Ways to take a message and to have no use for its descriptors. */
static long by_recv(int s, char *buf)
{
	return recv(s, buf, 1, 0);
}

static long by_all(int s, char *buf)
{
	return recv(s, buf, 1, MSG_WAITALL);
}

static long by_truncation(int s, char *buf)
{
	(void)recv(s, buf, 1, MSG_PEEK);
	return recv(s, buf, 0, MSG_TRUNC);
}

static long by_read(int s, char *buf)
{
	return read(s, buf, 1);
}

static long by_readv(int s, char *buf)
{
	struct iovec iov = { buf, 1 };

	return readv(s, &iov, 1);
}

static long by_preadv2(int s, char *buf)
{
	struct iovec iov = { buf, 1 };

	return preadv2(s, &iov, 1, -1, 0);
}

static long by_recvmsg(int s, char *buf)
{
	int flags;

	(void)buf;
	(void)receive_fds(s, NULL, 0, 0, &flags);
	return flags == MSG_CTRUNC;
}

static long by_recvmmsg(int s, char *buf)
{
	struct iovec iov = { buf, 1 };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } };

	return recvmmsg(s, &m, 1, 0, NULL);
}

/* A datagram's descriptors: a pipe takes its bytes. */
static long by_splice(int s, char *buf)
{
	int p[2];
	long n;

	MUST(pipe(p));
	n = splice(s, NULL, p[1], NULL, 1, 0);
	(void)read(p[0], buf, 1);
	close(p[0]);
	close(p[1]);
	return n;
}

static long by_sendfile(int s, char *buf)
{
	int p[2];
	long n;

	MUST(pipe(p));
	n = sendfile(p[1], s, NULL, 1);
	(void)read(p[0], buf, 1);
	close(p[0]);
	close(p[1]);
	return n;
}

static long by_other_peer(int s, char *buf)
{
	const struct sockaddr nobody = { .sa_family = AF_UNSPEC };

	(void)buf;
	return connect(s, &nobody, sizeof(nobody)) + 1;
}

/* The same as garbage(), but that a third socket has both in a message, until that is dropped. Nothing is closed then: natively nobody would look. */
static void dropped(void)
{
	static const struct {
		const char *how;
		long (*drop)(int s, char *buf);
	} ways[] = { { "recv", by_recv }, { "recv of all", by_all }, { "recv, cut", by_truncation }, { "read", by_read }, { "readv", by_readv },
		     { "preadv2", by_preadv2 }, { "recvmsg", by_recvmsg }, { "recvmmsg", by_recvmmsg }, { "splice", by_splice },
		     { "sendfile", by_sendfile }, { "connect", by_other_peer } };
	int s[2], keeper[2], ends[2];
	char byte;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int type = ways[i].drop == by_recv || ways[i].drop == by_all ? SOCK_STREAM : SOCK_DGRAM;

		MUST(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
		MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
		MUST(socketpair(AF_UNIX, type, 0, keeper));
		send_fds(s[0], (int[]){ s[1], ends[1] }, 2);
		send_fds(s[1], (int[]){ s[0] }, 1);
		send_fds(keeper[0], (int[]){ s[0], s[1] }, 2);
		close(ends[1]);
		by_close(s);
		SHOWN("%s: kept %s", ways[i].how, RESULT(read(ends[0], &byte, 1)));
		SHOWN("%s: dropped %s", ways[i].how, RESULT(ways[i].drop(keeper[1], &byte)));
		SHOWN("%s: closed %s", ways[i].how, RESULT(read(ends[0], &byte, 1)));
		by_close(keeper);
		close(ends[0]);
	}
}

/* What is sent to a name goes past the peer: a circle that the peer has no part in. */
static void by_name(void)
{
	const struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = "\0vm_descriptors" };
	const socklen_t len = sizeof(sa_family_t) + 15;
	char control[CMSG_SPACE(2 * sizeof(int))] = "", byte = 'm';
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_name = (void *)&to, .msg_namelen = len, .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int s[2], ends[2], named = (int)MUST(socket(AF_UNIX, SOCK_DGRAM, 0));

	MUST(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
	MUST(bind(named, (const struct sockaddr *)&to, len));
	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(2 * sizeof(int)) };
	memcpy(CMSG_DATA(c), (int[]){ named, ends[1] }, 2 * sizeof(int));
	MUST(sendmsg(s[0], &m, 0));
	close(ends[1]);
	close(named);
	SHOWN("to a name: the pipe at once %s", RESULT(read(ends[0], &byte, 1)));
	by_close(s);
	close(ends[0]);
}

/* ---- a full queue ---- */

static void full_queue(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = (int)MUST(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)), clients[20], n = 0, accepted = 0, fd;
	const int room = 6; /* one more than was asked for */
	socklen_t len = sizeof(to);
	struct pollfd look = { .events = POLLOUT };

	MUST(bind(listener, (struct sockaddr *)&to, sizeof(to)));
	MUST(listen(listener, 5));
	MUST(getsockname(listener, (struct sockaddr *)&to, &len));
	for (int i = 0; i < 20; i++) {
		clients[i] = (int)MUST(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
		(void)connect(clients[i], (struct sockaddr *)&to, sizeof(to));
	}
	for (int i = 0; i < room; i++) { /* natively the other end may answer later */
		look.fd = clients[i];
		MUST(poll(&look, 1, -1));
	}
	for (int i = 0; i < 20; i++) {
		look.fd = clients[i];
		n += poll(&look, 1, 0) == 1;
	}
	SAME("twenty want in, connected %d", n);
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		accepted++;
		close(fd);
	}
	SAME("accepted %d, then %s", accepted, strerrorname_np(errno));
	for (int i = 0; i < 20; i++)
		close(clients[i]);
	close(listener);
}

/* ---- modes and times ---- */

static unsigned mode_of(const char *name)
{
	struct stat st = { 0 };

	(void)lstat(name, &st);
	return st.st_mode;
}

static void modes(void)
{
	mode_t before = umask(027);
	int fd;

	SAME("open %s", RESULT(fd = open("made", O_RDWR | O_CREAT | O_TRUNC, 0777)));
	SAME("made %o", mode_of("made"));
	MUST(mkdir("directory", 0777));
	SAME("directory %o", mode_of("directory"));
	MUST(mknod("fifo", S_IFIFO | 0666, 0));
	SAME("fifo %o", mode_of("fifo"));
	MUST(symlink("made", "link"));
	SAME("link %o", mode_of("link"));
	SAME("mask %o", umask(before));
	MUST(fchmod(fd, 06711));
	SAME("bits %o", mode_of("made"));
	MUST(fchown(fd, getuid(), getgid()));
	SAME("after chown %o", mode_of("made"));
	MUST(fchmod(fd, 01755));
	SAME("sticky %o", mode_of("made"));
	MUST(chmod("directory", 02775));
	MUST(mkdir("directory/inner", 0755));
	SAME("inherited %o", mode_of("directory/inner"));
	SAME("by a link %s", RESULT(fchmodat(AT_FDCWD, "link", 0600, 0)));
	SAME("the file's %o", mode_of("made"));
	SAME("nobody's %s", RESULT(chmod("none", 0600)));
	SAME("exchange %s", RESULT(syscall(SYS_renameat2, AT_FDCWD, "made", AT_FDCWD, "fifo", 2)));
	SAME("now %o", mode_of("made"));
	SAME("replace nothing %s", RESULT(syscall(SYS_renameat2, AT_FDCWD, "made", AT_FDCWD, "fifo", 1)));
	SAME("both %s", RESULT(syscall(SYS_renameat2, AT_FDCWD, "made", AT_FDCWD, "fifo", 3)));
	close(fd);
	MUST(rmdir("directory/inner"));
	MUST(rmdir("directory"));
	MUST(unlink("made"));
	MUST(unlink("fifo"));
	MUST(unlink("link"));
}

static void read_times(const char *what, int flags)
{
	static const struct timespec old[2] = { { 1000000, 1 }, { 2000000, 2 } };
	struct stat before, after;
	char c;
	int fd;

	fd = (int)MUST(open("read", O_RDWR | O_CREAT | O_TRUNC, 0600));
	MUST(write(fd, "text", 4));
	close(fd);
	MUST(utimensat(AT_FDCWD, "read", old, 0));
	fd = (int)MUST(open("read", O_RDONLY | flags));
	MUST(fstat(fd, &before));
	MUST(read(fd, &c, 1));
	MUST(fstat(fd, &after));
	SAME("%s: before %lld.%ld", what, (long long)before.st_atim.tv_sec, before.st_atim.tv_nsec);
	SHOWN("%s: after %lld.%09ld", what, (long long)after.st_atim.tv_sec, after.st_atim.tv_nsec);
	SAME("%s: content as it was %d", what, after.st_mtim.tv_sec == 2000000 && after.st_mtim.tv_nsec == 2);
	close(fd);
	MUST(unlink("read"));
}

static void omitted(void)
{
	static const struct timespec both[2] = { { 5, 6 }, { 7, 8 } }, one[2] = { { 0, UTIME_OMIT }, { 9, 10 } },
				     none[2] = { { 0, UTIME_OMIT }, { 0, UTIME_OMIT } }, wrong[2] = { { 1, 1000000000 }, { 1, 1 } };
	struct stat st;
	int fd = (int)MUST(open("timed", O_RDWR | O_CREAT | O_TRUNC, 0600));

	MUST(futimens(fd, both));
	MUST(futimens(fd, one));
	MUST(futimens(fd, none));
	SAME("wrong %s", RESULT(futimens(fd, wrong)));
	MUST(fstat(fd, &st));
	SAME("read %lld.%ld written %lld.%ld", (long long)st.st_atim.tv_sec, st.st_atim.tv_nsec, (long long)st.st_mtim.tv_sec,
	     st.st_mtim.tv_nsec);
	SHOWN("changed %lld.%09ld", (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	close(fd);
	MUST(unlink("timed"));
}

int main(void)
{
	(void)close_range(3, ~0u, 0); /* what the caller of the test has left open */
	nested();
	many_ready();
	passed_on();
	if (getenv("VM_CALLS_REFUSED")) {
		by_name();
		garbage();
		dropped();
	}
	full_queue();
	modes();
	read_times("read", 0);
	read_times("read, O_NOATIME", O_NOATIME);
	omitted();
	vm_end();
	return 0;
}
