/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call that sends or receives on a netlink socket, with every shape of buffer; what is printed is the same natively in a namespace
 * that has nothing but loopback: lengths only as relations, since a kernel's messages are longer than those of the next.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned sequence;
static _Alignas(8) char buffer[1 << 16];

struct request {
	struct nlmsghdr header;
	struct ifinfomsg info;
};

/* About the loopback: one datagram is the answer. */
static struct request links(void)
{
	return (struct request){ .header = { sizeof(struct request), RTM_GETLINK, NLM_F_REQUEST, ++sequence, 0 },
				 .info = { .ifi_index = 1 } };
}

static int open_socket(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		exit(99);
	return fd;
}

static void ask(int fd)
{
	struct request request = links();

	if (send(fd, &request, sizeof(request), 0) != sizeof(request))
		exit(98);
}

static const char *error_of(long result)
{
	return result < 0 ? strerrorname_np(errno) : "fine";
}

/* poll, select and epoll: all three must agree. */
static void readiness(const char *when, int fd, int set)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timeval now = { 0 };
	struct epoll_event event;
	fd_set fds;

	FD_ZERO(&fds);
	FD_SET(fd, &fds);
	printf("%s: poll %d select %d epoll %d\n", when, poll(&p, 1, 0), select(fd + 1, &fds, NULL, NULL, &now),
	       epoll_wait(set, &event, 1, 0));
}

static void peek_and_cut(int fd)
{
	ssize_t whole, n;

	ask(fd);
	whole = recv(fd, buffer, sizeof(buffer), MSG_PEEK);
	printf("peeked again: %d\n", recv(fd, buffer, sizeof(buffer), MSG_PEEK) == whole);
	n = recv(fd, buffer, 20, MSG_PEEK);
	printf("peek of 20: %zd, true length: %d\n", n, recv(fd, buffer, 20, MSG_PEEK | MSG_TRUNC) == whole);
	n = recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC);
	printf("empty peek: %d\n", n == whole);
	n = recv(fd, buffer, 20, 0);
	printf("cut to 20: %zd\n", n);
	n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
	printf("the rest: %s\n", error_of(n));
	ask(fd);
	n = recv(fd, buffer, 0, 0);
	printf("into nothing: %zd, then %s\n", n, error_of(recv(fd, buffer, 1, MSG_DONTWAIT)));
	ask(fd);
	n = read(fd, buffer, 0);
	printf("read of nothing: %zd, then whole: %d\n", n, read(fd, buffer, sizeof(buffer)) == whole);
	n = pread(fd, buffer, 10, 0);
	printf("pread: %s\n", error_of(n));
}

static void scattered(int fd)
{
	char a[3], b[14], c[60000], control[200];
	struct iovec iov[] = { { a, sizeof(a) }, { b, sizeof(b) }, { c, sizeof(c) } };
	struct sockaddr_nl from;
	struct msghdr message = { .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = iov, .msg_iovlen = 3,
				  .msg_control = control, .msg_controllen = sizeof(control) };
	struct nlmsghdr header;
	int on = 1;
	ssize_t n;

	ask(fd);
	n = recvmsg(fd, &message, MSG_PEEK);
	memcpy(buffer, a, sizeof(a));
	memcpy(buffer + sizeof(a), b, sizeof(b));
	memcpy(&header, buffer, sizeof(header));
	printf("scattered: type %d seq %d flags %d port mine %d; family %d pid %u groups %u name %u control %zu flags %x\n",
	       header.nlmsg_type, header.nlmsg_seq == sequence, header.nlmsg_flags, header.nlmsg_pid == (unsigned)getpid(),
	       from.nl_family, from.nl_pid, from.nl_groups, message.msg_namelen, message.msg_controllen, message.msg_flags);
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_PKTINFO, &on, sizeof(on));
	message = (struct msghdr){ .msg_iov = iov, .msg_iovlen = 2, .msg_control = control, .msg_controllen = sizeof(control) };
	n = recvmsg(fd, &message, MSG_PEEK);
	printf("two of three: %zd flags %x control %zu type %d\n", n, message.msg_flags, message.msg_controllen,
	       CMSG_FIRSTHDR(&message)->cmsg_type);
	message.msg_controllen = 8;
	n = recvmsg(fd, &message, 0);
	printf("no room for control: %zd flags %x control %zu\n", n, message.msg_flags, message.msg_controllen);
	ask(fd);
	n = readv(fd, iov, 3);
	printf("readv: %d\n", n > 17);
}

static void senders(int fd)
{
	struct request requests[2] = { links(), links() };
	struct iovec halves[] = { { &requests[0], 9 }, { (char *)&requests[0] + 9, sizeof(requests[0]) - 9 } };
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct msghdr message = { .msg_name = &kernel, .msg_namelen = sizeof(kernel), .msg_iov = halves, .msg_iovlen = 2 };
	struct iovec wholes[] = { { &requests[0], sizeof(requests[0]) }, { &requests[1], sizeof(requests[1]) } };
	struct mmsghdr many[2] = { { .msg_hdr = { .msg_iov = &wholes[0], .msg_iovlen = 1 } },
				   { .msg_hdr = { .msg_iov = &wholes[1], .msg_iovlen = 1 } } };
	struct nlmsghdr *header = (struct nlmsghdr *)buffer;
	int n;

	printf("sendmsg in halves: %zd", sendmsg(fd, &message, 0));
	printf(", answered: %d\n", read(fd, buffer, sizeof(buffer)) > 0);
	printf("writev: %zd", writev(fd, halves, 2));
	printf(", answered: %d\n", read(fd, buffer, sizeof(buffer)) > 0);
	printf("write: %zd", write(fd, &requests[0], sizeof(requests[0])));
	printf(", answered: %d\n", read(fd, buffer, sizeof(buffer)) > 0);
	printf("sendto a short address: %s\n", error_of(sendto(fd, &requests[0], 32, 0, (void *)&kernel, 4)));
	requests[0].header.nlmsg_type = requests[1].header.nlmsg_type = NLMSG_NOOP;
	requests[0].header.nlmsg_flags = requests[1].header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	n = sendmmsg(fd, many, 2, 0);
	printf("sendmmsg: %d lengths %u %u\n", n, many[0].msg_len, many[1].msg_len);
	for (int i = 0; i < 2; i++) {
		n = (int)recv(fd, buffer, sizeof(buffer), 0);
		printf("acknowledged: type %d error %d of seq %d\n", header->nlmsg_type, ((struct nlmsgerr *)NLMSG_DATA(header))->error,
		       header->nlmsg_seq == requests[i].header.nlmsg_seq);
	}
}

/* Through pipes and out of files, with what has no buffer of the caller's. */
static void movers(int fd)
{
	struct request requests[2] = { links(), links() };
	char path[] = "/tmp/netlink_calls.XXXXXX";
	struct iovec iov = { &requests[0], sizeof(requests[0]) };
	int file = mkstemp(path), p[2], q[2];
	struct nlmsghdr header;
	loff_t at = 0;
	ssize_t n;

	if (file < 0 || unlink(path) < 0 || pipe(p) < 0 || pipe(q) < 0 || write(file, requests, sizeof(requests)) != sizeof(requests))
		exit(97);
	printf("vmsplice: %zd", vmsplice(p[1], &iov, 1, 0));
	printf(", splice: %zd", splice(p[0], NULL, fd, NULL, 1000, 0));
	printf(", answered: %d\n", read(fd, buffer, sizeof(buffer)) > 0);
	printf("sendfile: %zd", sendfile(fd, file, &at, 32));
	printf(", at %d", (int)at);
	printf(", answered: %d\n", read(fd, buffer, sizeof(buffer)) > 0);
	printf("sendfile of more: %zd", sendfile(fd, file, &at, 5000));
	printf(", at its end: %zd", sendfile(fd, file, &at, 5000));
	n = recv(fd, buffer, sizeof(buffer), 0);
	memcpy(&header, buffer, sizeof(header));
	printf(", answered: %d, the second: %d\n", n > 0, header.nlmsg_seq == requests[1].header.nlmsg_seq);
	printf("copy_file_range: %s", error_of(copy_file_range(file, &at, fd, NULL, 32, 0)));
	printf(", back: %s\n", error_of(copy_file_range(fd, NULL, file, NULL, 32, 0)));
	printf("tee: %s", error_of(tee(p[0], fd, 32, 0)));
	printf(", vmsplice: %s", error_of(vmsplice(fd, &iov, 1, 0)));
	printf(", splice of files: %s", error_of(splice(file, NULL, fd, NULL, 32, 0)));
	printf(", at an offset: %s\n", error_of(splice(p[0], NULL, fd, &at, 32, 0)));
	printf("sendfile to a file: %s\n", error_of(sendfile(file, fd, NULL, 32)));

	ask(fd);
	n = splice(fd, NULL, p[1], NULL, 1 << 16, 0);
	memset(&header, 0, sizeof(header));
	(void)read(p[0], buffer, sizeof(buffer));
	memcpy(&header, buffer, sizeof(header));
	printf("splice from it: whole %d, type %d, port mine %d\n", n == header.nlmsg_len, header.nlmsg_type, header.nlmsg_pid == (unsigned)getpid());
	ask(fd);
	printf("splice of 20: %zd", splice(fd, NULL, p[1], NULL, 20, 0));
	printf(", the rest: %s\n", error_of(recv(fd, buffer, 20, MSG_DONTWAIT)));
	ask(fd);
	printf("sendfile of 10: %zd", sendfile(p[1], fd, NULL, 10));
	printf(", the rest: %s\n", error_of(recv(fd, buffer, 20, MSG_DONTWAIT)));
	printf("in the pipe: %zd\n", read(p[0], buffer, sizeof(buffer)));
	(void)fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK);
	printf("nothing: splice %s", error_of(splice(fd, NULL, p[1], NULL, 20, 0)));
	printf(", sendfile %s\n", error_of(sendfile(p[1], fd, NULL, 20)));
	(void)fcntl(fd, F_SETFL, O_RDWR);
	iov = (struct iovec){ buffer, 20 };
	printf("preadv2 without waiting: %s\n", error_of(preadv2(fd, &iov, 1, -1, RWF_NOWAIT)));
	iov = (struct iovec){ &requests[0], sizeof(requests[0]) };
	printf("pwritev2 without waiting: %zd", pwritev2(fd, &iov, 1, -1, RWF_NOWAIT));
	printf(", answered: %d", read(fd, buffer, sizeof(buffer)) > 0);
	printf(", at a position: %s", error_of(pwritev2(fd, &iov, 1, 0, 0)));
	printf(", in an unknown way: %s\n", error_of(pwritev2(fd, &iov, 1, -1, 1 << 20)));
	(void)signal(SIGPIPE, SIG_IGN);
	(void)close(p[0]);
	ask(fd);
	printf("nobody reads the pipe: %s", error_of(splice(fd, NULL, p[1], NULL, 20, 0)));
	printf(", still there: %d\n", recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) > 20);
	(void)close(q[1]);
	printf("nobody writes: %zd\n", splice(q[0], NULL, fd, NULL, 20, 0));
	(void)close(p[1]);
	(void)close(q[0]);
	(void)close(file);
}

static void many(int fd)
{
	char buffers[3][8192];
	struct iovec iov[3];
	struct mmsghdr messages[3];
	struct timespec soon = { .tv_nsec = 1000000 };
	struct request request;
	int n;

	memset(messages, 0, sizeof(messages));
	for (int i = 0; i < 3; i++) {
		iov[i] = (struct iovec){ buffers[i], sizeof(buffers[i]) };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
	}
	for (int i = 0; i < 2; i++) {
		request = links();
		request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
		request.header.nlmsg_type = NLMSG_NOOP;
		(void)send(fd, &request, sizeof(request), 0);
	}
	n = recvmmsg(fd, messages, 3, MSG_WAITFORONE, NULL);
	printf("recvmmsg: %d, same lengths: %d\n", n, messages[0].msg_len == messages[1].msg_len && messages[0].msg_len > 0);
	n = recvmmsg(fd, messages, 3, MSG_DONTWAIT, &soon);
	printf("recvmmsg of nothing: %s\n", error_of(n));
}

/* The first socket has the pid, the others a negative number; a child's are its own. */
static void ports(void)
{
	struct sockaddr_nl self = { .nl_family = AF_NETLINK }, named = { .nl_family = AF_NETLINK, .nl_pid = 77 };
	socklen_t len = sizeof(self);
	int fd[3] = { open_socket(), open_socket(), open_socket() };

	(void)bind(fd[0], (struct sockaddr *)&self, sizeof(self));
	(void)getsockname(fd[0], (struct sockaddr *)&self, &len);
	printf("first: pid %d length %u\n", self.nl_pid == (unsigned)getpid(), len);
	printf("bound twice to another: %s\n", error_of(bind(fd[0], (struct sockaddr *)&named, sizeof(named))));
	ask(fd[1]);
	(void)getsockname(fd[1], (struct sockaddr *)&self, &len);
	printf("second, by sending: negative %d\n", (int)self.nl_pid < 0);
	(void)read(fd[1], buffer, sizeof(buffer));
	printf("its answer names it: %d\n", ((struct nlmsghdr *)buffer)->nlmsg_pid == self.nl_pid);
	printf("named: %s, taken: %s\n", error_of(bind(fd[2], (struct sockaddr *)&named, sizeof(named))),
	       error_of(bind(open_socket(), (struct sockaddr *)&named, sizeof(named))));
	close(fd[0]);
	close(fd[2]);
	fd[0] = open_socket();
	self.nl_pid = 0;
	(void)bind(fd[0], (struct sockaddr *)&self, sizeof(self));
	(void)getsockname(fd[0], (struct sockaddr *)&self, &len);
	printf("after the first was closed: pid %d\n", self.nl_pid == (unsigned)getpid());
	close(fd[0]);
	close(fd[1]);
}

/* A child waits on a shared socket; the parent asks. */
static void across_fork(int fd)
{
	int status, p[2];
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(recv(fd, buffer, sizeof(buffer), 0) > 0 && ((struct nlmsghdr *)buffer)->nlmsg_type == RTM_NEWLINK ? 7 : 8);
	usleep(10000);
	ask(fd);
	(void)waitpid(pid, &status, 0);
	printf("the child got the answer: %d\n", WEXITSTATUS(status) == 7);
	if (pipe(p) < 0)
		exit(96);
	fflush(stdout);
	pid = fork();
	if (pid == 0) /* the flag is about the pipe */
		_exit(splice(fd, NULL, p[1], NULL, sizeof(buffer), SPLICE_F_NONBLOCK) > 20 ? 7 : 8);
	usleep(10000);
	ask(fd);
	(void)waitpid(pid, &status, 0);
	printf("it came through a pipe: %d\n", WEXITSTATUS(status) == 7 && read(p[0], buffer, sizeof(buffer)) > 20 &&
	       ((struct nlmsghdr *)buffer)->nlmsg_type == RTM_NEWLINK);
	(void)close(p[0]);
	(void)close(p[1]);
}

int main(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = open_socket(), set = epoll_create1(0);

	(void)epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
	readiness("new", fd, set);
	ask(fd);
	readiness("asked", fd, set);
	(void)recv(fd, buffer, sizeof(buffer), MSG_PEEK);
	readiness("peeked", fd, set);
	(void)recv(fd, buffer, sizeof(buffer), 0);
	readiness("read", fd, set);
	peek_and_cut(fd);
	readiness("after", fd, set);
	scattered(fd);
	senders(fd);
	movers(fd);
	many(fd);
	across_fork(fd);
	readiness("in the end", fd, set);
	close(fd);
	ports();
	return 0;
}
