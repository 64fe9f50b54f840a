/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets: what they say of time, of the host's processors and buffers, who asks; their addresses; not waiting. vm_socket_waits.c has the waits. See vm.h. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "vm_sockets.h"

/* ---- time stamps ---- */

static const char *stamp_name(int type)
{
	switch (type) {
	case SO_TIMESTAMP_OLD:
		return "TIMESTAMP_OLD";
	case SO_TIMESTAMPNS_OLD:
		return "TIMESTAMPNS_OLD";
	case SO_TIMESTAMPING_OLD:
		return "TIMESTAMPING_OLD";
	case SO_TIMESTAMP_NEW:
		return "TIMESTAMP_NEW";
	case SO_TIMESTAMPNS_NEW:
		return "TIMESTAMPNS_NEW";
	case SO_TIMESTAMPING_NEW:
		return "TIMESTAMPING_NEW";
	default:
		return "?";
	}
}

/* Prints the stamps; they lie between the clock when it was sent and now. */
static void show_stamps(struct msghdr *m, uint64_t sent)
{
	uint64_t now = vm_clock(CLOCK_REALTIME), ns;
	int64_t parts[6] = { 0 };

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET) {
			SHOWN("other message %d %d", c->cmsg_level, c->cmsg_type);
			continue;
		}
		memcpy(parts, CMSG_DATA(c), n < sizeof(parts) ? n : sizeof(parts));
		ns = (uint64_t)parts[0] * 1000000000 +
		     (uint64_t)parts[1] * (c->cmsg_type == SO_TIMESTAMP_OLD || c->cmsg_type == SO_TIMESTAMP_NEW ? 1000 : 1);
		/* Natively SCM_TIMESTAMPING comes, or does not come yet. */
		vm_line(n > 16 ? '#' : '=', "stamp %s of %zu bytes, in order %d, others %d", stamp_name(c->cmsg_type), n,
			ns / 1000 >= sent / 1000 && ns <= now, (parts[2] | parts[3] | parts[4] | parts[5]) != 0);
		SHOWN("stamp %llu", (unsigned long long)ns);
	}
}

static void stamped(int option, int value, const char *how)
{
	int in = bound(SOCK_DGRAM, 0), out = connected(SOCK_DGRAM, port_of(in));
	char data[8], control[256];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct mmsghdr mm = { .msg_hdr = m };
	struct timespec limit = { 1, 0 };
	uint64_t sent;

	SAME("option %s: %s", stamp_name(option), RESULT(setsockopt(in, SOL_SOCKET, option, &value, sizeof(value))));
	sent = vm_clock(CLOCK_REALTIME);
	MUST(send(out, "stamp", 5, 0));
	if (!strcmp(how, "recvmsg")) {
		SAME("recvmsg %s", RESULT(recvmsg(in, &m, 0)));
	} else {
		SAME("recvmmsg %s", RESULT(recvmmsg(in, &mm, 1, MSG_WAITFORONE, &limit)));
		m = mm.msg_hdr;
	}
	show_stamps(&m, sent);
	close(in);
	close(out);
}

static void stamp_requests(void)
{
	int in = bound(SOCK_DGRAM, 0), out = connected(SOCK_DGRAM, port_of(in));
	uint64_t before, after;
	struct timespec ts;
	struct timeval tv;
	char data[8];

	SAME("SIOCGSTAMP of nothing: %s", RESULT(ioctl(in, SIOCGSTAMP_OLD, &tv)));
	MUST(send(out, "a", 1, 0));
	MUST(recv(in, data, sizeof(data), 0));
	before = vm_clock(CLOCK_REALTIME);
	SAME("SIOCGSTAMP: %s", RESULT(ioctl(in, SIOCGSTAMP_OLD, &tv)));
	SAME("SIOCGSTAMPNS: %s", RESULT(ioctl(in, SIOCGSTAMPNS_OLD, &ts)));
	after = vm_clock(CLOCK_REALTIME);
	SAME("near now: %d %d", (uint64_t)tv.tv_sec >= before / 1000000000 - 1 && (uint64_t)tv.tv_sec <= after / 1000000000,
	     (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec <= after);
	SHOWN("%lld.%06ld %lld.%09ld", (long long)tv.tv_sec, (long)tv.tv_usec, (long long)ts.tv_sec, ts.tv_nsec);
	SAME("SIOCGSTAMP, newer form: %s", RESULT(ioctl(in, SIOCGSTAMP_NEW, &ts)));
	SAME("SIOCGSTAMPNS, newer form: %s", RESULT(ioctl(in, SIOCGSTAMPNS_NEW, &ts)));
	close(in);
	close(out);
}

/* ---- options ---- */

static long option_number(int fd, int level, int name, size_t size)
{
	uint64_t value = 0;
	socklen_t len = (socklen_t)size;

	return getsockopt(fd, level, name, &value, &len) < 0 ? -1 : (long)value;
}

static void options(void)
{
	int a, b, udp = (int)MUST(socket(AF_INET, SOCK_DGRAM, 0)), value;
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	char data[8];
	uint32_t meminfo[9] = { 0 };

	stream_pair(&a, &b);
	MUST(write(b, "abc", 3));
	MUST(read(a, data, sizeof(data)));
	SAME("TCP_INFO %s", RESULT(getsockopt(a, IPPROTO_TCP, TCP_INFO, &info, &len)));
	SAME("state %d", info.tcpi_state);
	SHOWN("rtt %u %u %u %u %u", info.tcpi_rtt, info.tcpi_rttvar, info.tcpi_last_data_recv, info.tcpi_rcv_rtt, info.tcpi_last_ack_recv);
	SHOWN("processor %ld, buffers %ld %ld, %ld %ld", option_number(a, SOL_SOCKET, SO_INCOMING_CPU, 4),
	      option_number(udp, SOL_SOCKET, SO_RCVBUF, 4), option_number(udp, SOL_SOCKET, SO_SNDBUF, 4),
	      option_number(a, SOL_SOCKET, SO_RCVBUF, 4), option_number(a, SOL_SOCKET, SO_SNDBUF, 4));
	value = 20000;
	MUST(setsockopt(udp, SOL_SOCKET, SO_RCVBUF, &value, sizeof(value)));
	MUST(setsockopt(udp, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value)));
	SAME("buffers that were set %ld %ld", option_number(udp, SOL_SOCKET, SO_RCVBUF, 4), option_number(udp, SOL_SOCKET, SO_SNDBUF, 4));
	value = 1;
	MUST(setsockopt(udp, SOL_SOCKET, SO_RCVBUF, &value, sizeof(value)));
	SAME("the smallest %ld", option_number(udp, SOL_SOCKET, SO_RCVBUF, 4));
	SHOWN("cookies %ld %ld %ld", option_number(a, SOL_SOCKET, SO_COOKIE, 8), option_number(b, SOL_SOCKET, SO_COOKIE, 8),
	      option_number(udp, SOL_SOCKET, SO_COOKIE, 8));
	SAME("of their own %d, and lasting %d", option_number(a, SOL_SOCKET, SO_COOKIE, 8) != option_number(b, SOL_SOCKET, SO_COOKIE, 8),
	     option_number(a, SOL_SOCKET, SO_COOKIE, 8) == option_number(a, SOL_SOCKET, SO_COOKIE, 8));
	len = sizeof(meminfo);
	MUST(getsockopt(a, SOL_SOCKET, 55 /* SO_MEMINFO */, meminfo, &len));
	SHOWN("memory %u %u %u", meminfo[0], meminfo[1], meminfo[3]);
	MUST(write(b, "abc", 3));
	MUST(poll(&(struct pollfd){ .fd = a, .events = POLLIN }, 1, -1));
	MUST(ioctl(a, SIOCINQ, &value));
	SAME("SIOCINQ %d", value);
	MUST(ioctl(b, SIOCOUTQ, &value));
	SHOWN("SIOCOUTQ %d", value);
	close(a);
	close(b);
	close(udp);
}

/* ---- who is at the other end ---- */

static void credentials(void)
{
	int pair[2], on = 1;
	struct ucred peer, sent;
	socklen_t len = sizeof(peer);
	char data[8], control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	pid_t child;

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	MUST(getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &peer, &len));
	SAME("SO_PEERCRED is us: %d", peer.pid == getpid() && peer.uid == getuid() && peer.gid == getgid());
	MUST(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
	child = fork();
	if (!child) {
		MUST(write(pair[1], "child", 5));
		_exit(0);
	}
	SAME("recvmsg %s", RESULT(recvmsg(pair[0], &m, 0)));
	c = CMSG_FIRSTHDR(&m);
	memcpy(&sent, CMSG_DATA(c), sizeof(sent));
	SAME("type %d, from the child %d", c->cmsg_type, sent.pid == child && sent.uid == getuid());
	SHOWN("pid %d", sent.pid);
	waitpid(child, NULL, 0);
	close(pair[0]);
	close(pair[1]);
}

/* ---- addresses ---- */

static void addresses(void)
{
	int fds[5], a, b, c, on = 1;
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in;
	socklen_t len;

	for (int i = 0; i < 5; i++)
		fds[i] = bound(i % 2 ? SOCK_DGRAM : SOCK_STREAM, 0);
	SHOWN("ports %d %d %d %d %d", port_of(fds[0]), port_of(fds[1]), port_of(fds[2]), port_of(fds[3]), port_of(fds[4]));
	for (int i = 0; i < 5; i++)
		close(fds[i]);
	for (int i = 0; i < 3; i++) {
		fds[i] = (int)MUST(socket(AF_UNIX, i == 0 ? SOCK_STREAM : i == 1 ? SOCK_DGRAM : SOCK_SEQPACKET, 0));
		un.sun_family = AF_UNIX;
		MUST(bind(fds[i], (struct sockaddr *)&un, sizeof(sa_family_t)));
		len = sizeof(un);
		MUST(getsockname(fds[i], (struct sockaddr *)&un, &len));
		SAME("a name of %u bytes", len);
		SHOWN("name %.5s", un.sun_path + 1);
	}
	/* Two listeners at one port: who gets the connection? */
	a = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	b = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	MUST(setsockopt(a, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)));
	MUST(setsockopt(b, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)));
	in = loopback(0);
	MUST(bind(a, (struct sockaddr *)&in, sizeof(in)));
	in = loopback(port_of(a));
	MUST(bind(b, (struct sockaddr *)&in, sizeof(in)));
	MUST(listen(a, 20));
	MUST(listen(b, 20));
	for (int i = 0; i < 6; i++) {
		struct pollfd p[2] = { { .fd = a, .events = POLLIN }, { .fd = b, .events = POLLIN } };

		c = connected(SOCK_STREAM, ntohs(in.sin_port));
		MUST(poll(p, 2, -1));
		SHOWN("connection %d from %d to %s", i, port_of(c), p[0].revents ? "the first" : "the second");
		close((int)MUST(accept(p[0].revents ? a : b, NULL, NULL)));
		close(c);
	}
	close(a);
	close(b);
}

static void without_waiting(void)
{
	int listener = bound(SOCK_STREAM, 0), fd, error = -1;
	struct sockaddr_in to = loopback(port_of(listener));
	socklen_t len = sizeof(error);
	struct pollfd p;

	MUST(listen(listener, 5));
	fd = (int)MUST(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	SHOWN("connect: %s", RESULT(connect(fd, (struct sockaddr *)&to, sizeof(to))));
	p = (struct pollfd){ .fd = fd, .events = POLLOUT };
	SAME("poll: %s, %x", RESULT(poll(&p, 1, -1)), (unsigned)p.revents);
	MUST(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len));
	SAME("error %d", error);
	SAME("connect again: %s", RESULT(connect(fd, (struct sockaddr *)&to, sizeof(to))));
	close(fd);
	close(listener);
	fd = (int)MUST(socket(AF_INET, SOCK_STREAM, 0));
	SAME("connect to nobody: %s", RESULT(connect(fd, (struct sockaddr *)&to, sizeof(to))));
	close(fd);
}

/* Messages with descriptors until the queue is full: one more does not wait, nor ever sends less. */
static void descriptors_without_waiting(int type)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	char byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes) };
	int pair[2], n = 0;

	MUST(socketpair(AF_UNIX, type, 0, pair));
	memcpy(CMSG_DATA(&control.header), &pair[0], sizeof(int));
	while (n < 10000 && sendmsg(pair[0], &message, MSG_DONTWAIT) == 1)
		n++;
	SAME("descriptors without waiting: %d, then %s", n > 0 && n < 10000, strerrorname_np(errno));
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	stamped(SO_TIMESTAMP_OLD, 1, "recvmsg");
	stamped(SO_TIMESTAMPNS_OLD, 1, "recvmsg");
	stamped(SO_TIMESTAMP_NEW, 1, "recvmsg");
	stamped(SO_TIMESTAMPNS_NEW, 1, "recvmmsg");
	stamped(SO_TIMESTAMPING_OLD, SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE, "recvmsg");
	stamped(SO_TIMESTAMPING_NEW, SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE, "recvmmsg");
	stamp_requests();
	options();
	credentials();
	addresses();
	without_waiting();
	descriptors_without_waiting(SOCK_STREAM);
	descriptors_without_waiting(SOCK_DGRAM);
	vm_end();
	return 0;
}
