/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Netlink sockets on a guest in memory: one link of real index 7, a kernel that answers each request at once. Every receiving call, with
 * buffers of every shape, as netlink(7) and recvmsg(2) have it.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "support/fake_engine.h"

enum {
	FD = 31,
	DATAGRAMS = 16,
	ETH0 = 7,           /* real */
	LINK_LEN = 44,      /* of the message about it */
	DONE_LEN = 20,
	DUMP_LEN = LINK_LEN + DONE_LEN,
	ACK_LEN = 36,       /* of an acknowledgement, capped */
	REQUEST = 0,        /* places in the arena */
	NAME = 256,
	LENGTH = 512,
	MESSAGE = 1024,
	VECTOR = 2048,
	CONTROL = 3072,
	BUFFER = 4096,
	CALL_FAULT = 0x1,   /* no address of the guest's */
};

struct datagram {
	uint8_t bytes[256];
	size_t len;
	struct sockaddr_nl from;
};

static struct guest_ops ops;

/* The kernel's side. */
static struct {
	struct datagram queue[DATAGRAMS];
	size_t n, requests;
	uint32_t port;
	bool pktinfo, passcred;
	bool younger; /* says more of a link than is known */
} kernel;

static void arrives(const void *bytes, size_t len, uint32_t port, uint32_t groups)
{
	struct datagram *d = &kernel.queue[kernel.n++];

	cr_assert(kernel.n <= DATAGRAMS && len <= sizeof(d->bytes));
	*d = (struct datagram){ .len = len, .from = { .nl_family = AF_NETLINK, .nl_pid = port, .nl_groups = groups } };
	memcpy(d->bytes, bytes, len);
}

static size_t put_link(uint8_t *at, uint16_t type, uint16_t flags, uint32_t index, const char *name)
{
	const struct ifinfomsg info = { .ifi_type = index == 1 ? ARPHRD_LOOPBACK : ARPHRD_ETHER, .ifi_index = (int)index };
	const struct nlmsghdr header = { .nlmsg_len = LINK_LEN, .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = 5,
					 .nlmsg_pid = kernel.port };
	const struct nlattr attribute = { .nla_len = (uint16_t)(5 + strlen(name)), .nla_type = IFLA_IFNAME };

	memset(at, 0, LINK_LEN);
	memcpy(at, &header, sizeof(header));
	memcpy(at + 16, &info, sizeof(info));
	memcpy(at + 32, &attribute, sizeof(attribute));
	memcpy(at + 36, name, strlen(name) + 1);
	return LINK_LEN;
}

/* Behind a message of `len` bytes, as a part of it: an attribute that no rule knows. */
static size_t put_unknown(uint8_t *message, size_t len)
{
	const struct nlattr attribute = { .nla_len = 8, .nla_type = 200 };
	const uint32_t longer = (uint32_t)len + 8;

	memcpy(message, &longer, sizeof(longer));
	memcpy(message + len, &attribute, sizeof(attribute));
	return 8;
}

static size_t put_done(uint8_t *at)
{
	const struct nlmsghdr header = { .nlmsg_len = DONE_LEN, .nlmsg_type = NLMSG_DONE, .nlmsg_flags = NLM_F_MULTI, .nlmsg_seq = 5,
					 .nlmsg_pid = kernel.port };

	memset(at, 0, DONE_LEN);
	memcpy(at, &header, sizeof(header));
	return DONE_LEN;
}

static int net_info(struct guest *g, int handle, struct fd_info *ret)
{
	*ret = (struct fd_info){ .kind = FD_NETLINK, .mode = 0140777, .dev = 2, .ino = 99, .sock_type = SOCK_RAW, .sock_protocol = NETLINK_ROUTE };
	return 0;
}

static int net_poll(struct guest *g, struct handle_poll *polls, size_t n, int timeout_ms)
{
	for (size_t i = 0; i < n; i++)
		polls[i].revents = (short)(kernel.n ? POLLIN & polls[i].events : 0);
	return n && kernel.n;
}

static int net_bind(struct guest *g, int handle, const struct sockaddr_storage *address, socklen_t len)
{
	kernel.port = ((const struct sockaddr_nl *)address)->nl_pid;
	return 0;
}

/* A dump has one link; everything else is acknowledged. */
static ssize_t net_send(struct guest *g, int handle, const void *buf, size_t len, const void *to, socklen_t to_len)
{
	uint8_t answer[256] = { 0 };
	struct nlmsghdr header;
	size_t n;

	if (to) { /* to itself: so that it can be waited for */
		arrives(buf, len, ((const struct sockaddr_nl *)to)->nl_pid, 0);
		return (ssize_t)len;
	}
	kernel.requests++;
	memcpy(&header, buf, sizeof(header));
	if (header.nlmsg_flags & NLM_F_DUMP) {
		n = put_link(answer, RTM_NEWLINK, NLM_F_MULTI, ETH0, "eth0");
		n += kernel.younger ? put_unknown(answer, n) : 0;
		n += put_done(answer + n);
		arrives(answer, n, 0, 0);
		return (ssize_t)len;
	}
	memcpy(answer + 20, &header, sizeof(header));
	header = (struct nlmsghdr){ ACK_LEN, NLMSG_ERROR, NLM_F_CAPPED, header.nlmsg_seq, kernel.port };
	memcpy(answer, &header, sizeof(header));
	arrives(answer, ACK_LEN, 0, 0);
	return (ssize_t)len;
}

static ssize_t net_receive(struct guest *g, int handle, void *buf, size_t len, void *ret_from, socklen_t from_len)
{
	struct datagram d = kernel.queue[0];

	if (!kernel.n)
		return -EAGAIN;
	memmove(kernel.queue, kernel.queue + 1, --kernel.n * sizeof(d));
	memcpy(buf, d.bytes, d.len);
	memcpy(ret_from, &d.from, sizeof(d.from));
	return (ssize_t)d.len;
}

static int net_option(struct guest *g, int handle, int level, int name, void *ret_value, socklen_t len)
{
	int value = (level == SOL_NETLINK && name == NETLINK_PKTINFO && kernel.pktinfo) ||
		    (level == SOL_SOCKET && name == SO_PASSCRED && kernel.passcred);

	cr_assert_eq(len, sizeof(value));
	memcpy(ret_value, &value, sizeof(value));
	return 0;
}

static int net_ask(struct guest *g, int task, int protocol, const void *request, size_t len, void **ret_answer, size_t *ret_len)
{
	uint8_t *answer = malloc(256);

	if (!answer)
		return -ENOMEM;
	*ret_len = put_link(answer, RTM_NEWLINK, NLM_F_MULTI, 1, "lo");
	*ret_len += put_link(answer + *ret_len, RTM_NEWLINK, NLM_F_MULTI, ETH0, "eth0");
	*ret_len += put_done(answer + *ret_len);
	*ret_answer = answer;
	return 0;
}

static void start(void)
{
	struct engine_options options;

	fake_init(&fake);
	memset(&kernel, 0, sizeof(kernel));
	ops = *fake.guest.ops;
	ops.handle_info = net_info;
	ops.handles_poll = net_poll;
	ops.handle_bind = net_bind;
	ops.handle_send = net_send;
	ops.handle_receive = net_receive;
	ops.handle_option = net_option;
	ops.network_ask = net_ask;
	fake.guest.ops = &ops;
	engine_options_default(&options);
	begin(&options);
}

TestSuite(engine_netlink, .init = start, .fini = stop);

static void makes(int task, int nr, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
	happens(fake_call(task, nr, a0, a1, a2, a3, a4, a5));
}

/* Task 0 makes the call, which is answered at once. */
static int64_t make_call(int nr, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
	struct step step;

	makes(0, nr, FD, a1, a2, a3, a4, a5);
	step = next();
	cr_assert_eq(step.kind, STEP_RESUME);
	cr_assert_eq(step.verdict.kind, VERDICT_RETURN, "verdict %d", (int)step.verdict.kind);
	return step.verdict.value;
}

static void poke(size_t offset, const void *bytes, size_t len)
{
	memcpy(fake.arena + offset, bytes, len);
}

static size_t put_request(uint16_t type, uint16_t flags, uint32_t index)
{
	put_link(fake.arena + REQUEST, type, NLM_F_REQUEST | flags, index, "eth0");
	return LINK_LEN;
}

static int64_t ask(uint16_t type, uint16_t flags)
{
	return make_call(SYS_sendto, fake_address(REQUEST), put_request(type, flags, 2), 0, 0, 0);
}

static void ask_for_links(void)
{
	cr_assert_eq(ask(RTM_GETLINK, NLM_F_DUMP), LINK_LEN);
}

static void put_vector(size_t place, const size_t *lens, size_t n)
{
	uint64_t at = fake_address(BUFFER);
	struct iovec iov;

	for (size_t i = 0; i < n; i++) {
		iov = (struct iovec){ (void *)(uintptr_t)at, lens[i] };
		poke(place + i * sizeof(iov), &iov, sizeof(iov));
		at += lens[i];
	}
}

/* A message with one buffer of `len` bytes at BUFFER + at. */
static void put_message(size_t place, size_t at, size_t len, size_t control_len)
{
	const struct iovec iov = { (void *)(uintptr_t)fake_address(BUFFER + at), len };
	const struct msghdr message = {
		.msg_name = (void *)(uintptr_t)fake_address(NAME), .msg_namelen = 20,
		.msg_iov = (void *)(uintptr_t)fake_address(VECTOR + place), .msg_iovlen = 1,
		.msg_control = (void *)(uintptr_t)fake_address(CONTROL), .msg_controllen = control_len, .msg_flags = -1,
	};

	poke(VECTOR + place, &iov, sizeof(iov));
	poke(MESSAGE + place, &message, sizeof(message));
}

static struct msghdr got_message(size_t place)
{
	struct msghdr message;

	memcpy(&message, fake.arena + MESSAGE + place, sizeof(message));
	return message;
}

static void expect_dump(const char *what)
{
	struct nlmsghdr header;

	memcpy(&header, fake.arena + BUFFER, sizeof(header));
	cr_expect_eq(header.nlmsg_type, RTM_NEWLINK, "%s", what);
	cr_expect_eq(header.nlmsg_len, LINK_LEN, "%s", what);
	cr_expect_eq(header.nlmsg_pid, 2, "%s: the port is the process's number", what);
	cr_expect_eq(fake_peek(&fake, BUFFER + 20), 2, "%s: the link's number is the guest's", what);
	memcpy(&header, fake.arena + BUFFER + LINK_LEN, sizeof(header));
	cr_expect_eq(header.nlmsg_type, NLMSG_DONE, "%s", what);
	memset(fake.arena + BUFFER, 0, DUMP_LEN);
}

static void expect_nothing_left(void)
{
	cr_expect_eq(make_call(SYS_recvfrom, fake_address(BUFFER), 100, MSG_DONTWAIT, 0, 0), -EAGAIN);
}

Test(engine_netlink, every_receiving_call)
{
	const size_t parts[] = { 5, 0, 30, 29, 100 };
	struct sockaddr_nl from;

	ask_for_links();
	cr_expect_eq(make_call(SYS_read, fake_address(BUFFER), 4096, 0, 0, 0), DUMP_LEN);
	expect_dump("read");

	ask_for_links();
	put_vector(VECTOR, parts, 5);
	cr_expect_eq(make_call(SYS_readv, fake_address(VECTOR), 5, 0, 0, 0), DUMP_LEN);
	expect_dump("readv");

	ask_for_links();
	fake_poke(&fake, LENGTH, 4);
	memset(fake.arena + NAME, 0xee, 16);
	cr_expect_eq(make_call(SYS_recvfrom, fake_address(BUFFER), DUMP_LEN, 0, fake_address(NAME), fake_address(LENGTH)), DUMP_LEN);
	expect_dump("recvfrom");
	cr_expect_eq(fake_peek(&fake, LENGTH), sizeof(from), "the true length");
	cr_expect_eq(fake_peek(&fake, NAME), AF_NETLINK);
	cr_expect_eq(fake_peek(&fake, NAME + 4), 0xeeeeeeee, "only what there is room for");

	ask_for_links();
	put_message(0, 0, 4096, 0);
	cr_expect_eq(make_call(SYS_recvmsg, fake_address(MESSAGE), 0, 0, 0, 0), DUMP_LEN);
	expect_dump("recvmsg");
	cr_expect_eq(got_message(0).msg_flags, 0);
	cr_expect_eq(got_message(0).msg_namelen, sizeof(from));
	cr_expect_eq(got_message(0).msg_controllen, 0);

	ask_for_links();
	put_message(0, 0, 4096, 0);
	cr_expect_eq(make_call(SYS_recvmmsg, fake_address(MESSAGE), 1, 0, 0, 0), 1);
	expect_dump("recvmmsg");
	cr_expect_eq(fake_peek(&fake, MESSAGE + sizeof(struct msghdr)), DUMP_LEN);
	expect_nothing_left();
}

Test(engine_netlink, peeking_and_lengths)
{
	ask_for_links();
	cr_expect_eq(make_call(SYS_recvfrom, fake_address(BUFFER), 0, MSG_PEEK | MSG_TRUNC, 0, 0), DUMP_LEN, "iproute2 asks so for the length");
	cr_expect_eq(make_call(SYS_recvfrom, fake_address(BUFFER), 10, MSG_PEEK, 0, 0), 10);
	cr_expect_eq(make_call(SYS_recvfrom, fake_address(BUFFER), DUMP_LEN, MSG_PEEK, 0, 0), DUMP_LEN);
	expect_dump("peeked");
	put_message(0, 0, 16, 0);
	cr_expect_eq(make_call(SYS_recvmsg, fake_address(MESSAGE), MSG_PEEK, 0, 0, 0), 16);
	cr_expect_eq(got_message(0).msg_flags, MSG_TRUNC);
	cr_expect_eq(make_call(SYS_recvmsg, fake_address(MESSAGE), MSG_TRUNC, 0, 0, 0), DUMP_LEN);
	expect_nothing_left();
}

Test(engine_netlink, small_buffers_lose_the_rest)
{
	fake_poke(&fake, BUFFER + 8, 0xeeeeeeee);
	ask_for_links();
	cr_expect_eq(make_call(SYS_read, fake_address(BUFFER), 8, 0, 0, 0), 8);
	cr_expect_eq(fake_peek(&fake, BUFFER + 8), 0xeeeeeeee);
	expect_nothing_left();
	ask_for_links();
	cr_expect_eq(make_call(SYS_read, fake_address(BUFFER), 0, 0, 0, 0), 0, "read of nothing asks nobody");
	cr_expect_eq(make_call(SYS_recvfrom, fake_address(BUFFER), 0, 0, 0, 0), 0, "a datagram cut to nothing");
	expect_nothing_left();
}

Test(engine_netlink, several_at_once)
{
	for (int i = 0; i < 2; i++) {
		put_message((size_t)i * sizeof(struct mmsghdr), (size_t)i * 256, 256, 0);
		cr_assert_eq(ask(RTM_SETLINK, NLM_F_ACK), LINK_LEN);
	}
	cr_expect_eq(make_call(SYS_recvmmsg, fake_address(MESSAGE), 3, MSG_DONTWAIT, 0, 0), 2);
	for (size_t i = 0; i < 2; i++) {
		cr_expect_eq(fake_peek(&fake, MESSAGE + i * sizeof(struct mmsghdr) + sizeof(struct msghdr)), ACK_LEN);
		cr_expect_eq(fake_peek(&fake, BUFFER + i * 256 + 4) & 0xffff, NLMSG_ERROR);
		cr_expect_eq(fake_peek(&fake, BUFFER + i * 256 + 16), 0);
	}
	cr_expect_eq(make_call(SYS_recvmmsg, fake_address(MESSAGE), 3, MSG_DONTWAIT, 0, 0), -EAGAIN);
	cr_assert_eq(ask(RTM_SETLINK, NLM_F_ACK), LINK_LEN);
	cr_expect_eq(make_call(SYS_recvmmsg, fake_address(MESSAGE), 2, MSG_WAITFORONE, 0, 0), 1);
	cr_expect_eq(make_call(SYS_recvmmsg, fake_address(MESSAGE), 0, 0, 0, 0), 0);
}

/* With each notification the group that it came for, with each datagram who sent it, as far as there is room. */
Test(engine_netlink, control_messages)
{
	const size_t group_room = CMSG_SPACE(sizeof(struct nl_pktinfo)), all = group_room + CMSG_SPACE(12);
	uint8_t notice[64];
	struct msghdr message;

	cr_assert_eq(make_call(SYS_bind, fake_address(NAME), sizeof(struct sockaddr_nl), 0, 0, 0), -EINVAL, "no family");
	poke(NAME, &(struct sockaddr_nl){ .nl_family = AF_NETLINK, .nl_groups = 1 }, sizeof(struct sockaddr_nl));
	cr_assert_eq(make_call(SYS_bind, fake_address(NAME), sizeof(struct sockaddr_nl), 0, 0, 0), 0);
	kernel.pktinfo = kernel.passcred = true;
	for (size_t room = 0; room <= all; room += room < group_room ? group_room : all - group_room) {
		put_link(notice, room == group_room ? RTM_DELLINK : RTM_NEWLINK, 0, ETH0, "eth0"); /* each says something new */
		arrives(notice, LINK_LEN, 0, 1);
		put_message(0, 0, 4096, room);
		memset(fake.arena + CONTROL, 0, all);
		cr_expect_eq(make_call(SYS_recvmsg, fake_address(MESSAGE), 0, 0, 0, 0), LINK_LEN);
		message = got_message(0);
		cr_expect_eq(message.msg_controllen, room);
		cr_expect_eq(message.msg_flags, room == all ? 0 : MSG_CTRUNC);
		if (room >= group_room) {
			cr_expect_eq(fake_peek(&fake, CONTROL + 12), NETLINK_PKTINFO);
			cr_expect_eq(fake_peek(&fake, CONTROL + CMSG_LEN(0)), 1, "the group");
		}
		if (room == all)
			cr_expect_eq(fake_peek(&fake, CONTROL + group_room + 12), SCM_CREDENTIALS);
		cr_expect_eq(fake_peek(&fake, NAME + 8), 1, "the sender's groups");
		if (room == all)
			break;
	}
}

/* One waits, another of its threads asks: who asked is not who is answered. */
Test(engine_netlink, waiting)
{
	struct event birth = fake_birth(0, 1, 3, 2);
	struct step step;

	makes(0, SYS_clone, CLONE_VM | CLONE_FILES | CLONE_THREAD | CLONE_SIGHAND, 0, 0, 0, 0, 0);
	cr_assert_eq(next().verdict.kind, VERDICT_CONTINUE);
	cr_assert_eq(engine_event(e, &birth), 0);
	cr_assert_eq(next().task, 0);
	makes(0, SYS_recvfrom, FD, fake_address(BUFFER), 4096, 0, 0, 0);
	step = next();
	cr_assert_eq(step.task, 1, "the first is parked");
	makes(1, SYS_sendto, FD, fake_address(REQUEST), put_request(RTM_GETLINK, NLM_F_DUMP, 2), 0, 0, 0);
	step = next();
	cr_assert_eq(step.verdict.kind, VERDICT_RETURN);
	cr_assert_eq(step.verdict.value, LINK_LEN);
	makes(1, SYS_recvfrom, FD, fake_address(BUFFER), 0, 0, 0, 0); /* its turn ends when it has to wait */
	step = next();
	cr_assert_eq(step.kind, STEP_RESUME);
	cr_assert_eq(step.verdict.kind, VERDICT_RETURN);
}

Test(engine_netlink, nobody_asks)
{
	makes(0, SYS_read, FD, fake_address(BUFFER), 100, 0, 0, 0);
	cr_assert_eq(next().kind, STEP_DEADLOCK);
}

Test(engine_netlink, what_does_not_go_to_the_kernel)
{
	const struct sockaddr_nl other = { .nl_family = AF_NETLINK, .nl_pid = 1 }, groups = { .nl_family = AF_NETLINK, .nl_groups = 1 };

	cr_expect_eq(ask(86 /* RTM_GETMDB */, NLM_F_DUMP), LINK_LEN);
	cr_expect_eq(kernel.requests, 0);
	cr_expect_eq(make_call(SYS_read, fake_address(BUFFER), 4096, 0, 0, 0) >= ACK_LEN, true);
	cr_expect_eq(fake_peek(&fake, BUFFER + 4) & 0xffff, NLMSG_ERROR);
	cr_expect_eq((int)fake_peek(&fake, BUFFER + 16), -EOPNOTSUPP);
	poke(NAME, &other, sizeof(other));
	cr_expect_eq(make_call(SYS_sendto, fake_address(REQUEST), LINK_LEN, 0, fake_address(NAME), sizeof(other)), -EPERM);
	cr_expect_eq(make_call(SYS_connect, fake_address(NAME), sizeof(other), 0, 0, 0), -EPERM);
	poke(NAME, &groups, sizeof(groups));
	cr_expect_eq(make_call(SYS_sendto, fake_address(REQUEST), LINK_LEN, 0, fake_address(NAME), sizeof(groups)), -EPERM);
	cr_expect_eq(make_call(SYS_sendto, fake_address(REQUEST), 0, 0, 0, 0), -ENODATA);
	cr_expect_eq(make_call(SYS_sendto, fake_address(REQUEST), 1 << 20, 0, 0, 0), -EMSGSIZE);
	cr_expect_eq(make_call(SYS_sendto, fake_address(REQUEST), LINK_LEN, MSG_OOB, 0, 0), -EOPNOTSUPP);
	cr_expect_eq(kernel.requests, 0);
	expect_nothing_left();
}

/* What a younger kernel says more is left out; reports tell how much that was. */
Test(engine_netlink, what_is_unknown_is_counted)
{
	const struct nl_counters *counters = &engine_stats(e)->netlink;

	ask_for_links();
	cr_expect_eq(make_call(SYS_read, fake_address(BUFFER), 4096, 0, 0, 0), DUMP_LEN);
	cr_expect_eq(counters->unknown_attributes, 0);
	kernel.younger = true;
	ask_for_links();
	cr_expect_eq(make_call(SYS_read, fake_address(BUFFER), 4096, 0, 0, 0), DUMP_LEN);
	expect_dump("with an attribute that is unknown");
	cr_expect_eq(counters->unknown_attributes, 1);
	cr_expect_gt(counters->messages, 2);
}

Test(engine_netlink, every_sending_call)
{
	const size_t len = put_request(RTM_SETLINK, NLM_F_ACK, 2);
	const struct iovec iov[] = { { (void *)(uintptr_t)fake_address(REQUEST), 7 }, { (void *)(uintptr_t)fake_address(REQUEST + 7), len - 7 } };
	const struct msghdr message = { .msg_iov = (void *)(uintptr_t)fake_address(VECTOR), .msg_iovlen = 2 };

	poke(VECTOR, iov, sizeof(iov));
	poke(MESSAGE, &message, sizeof(message));
	poke(MESSAGE + sizeof(struct mmsghdr), &message, sizeof(message));
	cr_expect_eq(make_call(SYS_write, fake_address(REQUEST), len, 0, 0, 0), LINK_LEN);
	cr_expect_eq(make_call(SYS_writev, fake_address(VECTOR), 2, 0, 0, 0), LINK_LEN);
	cr_expect_eq(make_call(SYS_sendto, fake_address(REQUEST), len, 0, 0, 0), LINK_LEN);
	cr_expect_eq(make_call(SYS_sendmsg, fake_address(MESSAGE), 0, 0, 0, 0), LINK_LEN);
	cr_expect_eq(make_call(SYS_sendmmsg, fake_address(MESSAGE), 2, 0, 0, 0), 2);
	cr_expect_eq(fake_peek(&fake, MESSAGE + sizeof(struct mmsghdr) + sizeof(struct msghdr)), LINK_LEN);
	cr_expect_eq(kernel.requests, 6);
	for (int i = 0; i < 6; i++)
		cr_expect_eq(make_call(SYS_read, fake_address(BUFFER), 4096, 0, 0, 0), ACK_LEN);
	expect_nothing_left();
}

Test(engine_netlink, bad_addresses)
{
	cr_expect_eq(make_call(SYS_sendto, CALL_FAULT, LINK_LEN, 0, 0, 0), -EFAULT);
	cr_expect_eq(make_call(SYS_sendmsg, CALL_FAULT, 0, 0, 0, 0), -EFAULT);
	cr_expect_eq(make_call(SYS_sendmmsg, CALL_FAULT, 1, 0, 0, 0), -EFAULT);
	cr_expect_eq(make_call(SYS_recvmsg, CALL_FAULT, 0, 0, 0, 0), -EFAULT);
	cr_expect_eq(make_call(SYS_recvmmsg, CALL_FAULT, 1, 0, 0, 0), -EFAULT);
	cr_expect_eq(make_call(SYS_recvfrom, fake_address(BUFFER), 4, MSG_OOB, 0, 0), -EOPNOTSUPP);
	ask_for_links();
	cr_expect_eq(make_call(SYS_recvfrom, fake_address(BUFFER), 100, 0, fake_address(NAME), CALL_FAULT), -EFAULT);
	cr_expect_eq(make_call(SYS_recvfrom, CALL_FAULT, 100, MSG_PEEK, 0, 0), -EFAULT);
	cr_expect_eq(make_call(SYS_read, fake_address(BUFFER), 4096, 0, 0, 0), DUMP_LEN);
}

/* Wherever memory runs out, the run ends orderly. */
Test(engine_netlink, failures)
{
	for (unsigned i = 1; i < 60; i++) {
		struct event event = fake_call(0, SYS_sendto, FD, fake_address(REQUEST), LINK_LEN, 0, 0, 0);
		struct step step;

		stop();
		start();
		put_request(RTM_GETLINK, NLM_F_DUMP, 2);
		fake.fail_after = i;
		if (engine_event(e, &event) < 0 || engine_next(e, &step) < 0)
			continue;
		event = fake_call(0, SYS_recvmsg, FD, fake_address(MESSAGE), 0, 0, 0, 0);
		put_message(0, 0, 4096, 0);
		if (engine_event(e, &event) == 0)
			(void)engine_next(e, &step);
	}
}
