/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets that are passed in messages, on a guest in memory: what is noted of them stays for as long as they exist, and who may be in a circle is
 * waited for (engine/net/passed.h).
 */
#include <asm/unistd.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The library's default function does not compile cleanly with clang. */
#define HASH_FUNCTION HASH_FNV
#include "engine/engine_internal.h"
#include "engine/net/socket_note.h"
#include "netlink/peer.h"
#include "support/fake_engine.h"

enum {
	PASSED = 2, /* descriptors: the socket that is passed, who passes it, a pipe's end */
	SENDER = 3,
	MESSAGE = 1024, /* places in the arena */
	VECTOR = 2048,
	CONTROL = 3072,
	ALWAYS = 1000, /* inodes: sender, receiver; those that are passed follow */
	PEER = 1001,
	FIRST = 2000,
};

static struct guest_ops ops;

/* The kernel's side. */
static struct {
	uint64_t now;      /* the inode of the socket that is passed now: the only one of its kind that exists */
	unsigned asked, settled;
	int passed;        /* descriptors that wait in a socket */
	bool silent;       /* nothing can be asked */
	uint32_t receiver; /* the peer of the sender */
} kernel;

static int info_of(struct guest *g, int handle, struct fd_info *ret)
{
	*ret = (struct fd_info){ .kind = FD_UNIX, .mode = 0140777, .dev = 8, .ino = handle == SENDER ? ALWAYS : kernel.now, .sock_type = SOCK_STREAM };
	return 0;
}

/* One answer to each request: about its peer, or that there is no such socket. */
static int ask(struct guest *g, int task, int protocol, const void *requests, size_t len, void **ret_answer, size_t *ret_len)
{
	struct found {
		struct nlmsghdr header;
		struct unix_diag_msg info;
		struct nlattr attribute;
		uint32_t peer;
	};
	char *answer = calloc(len / sizeof(struct nl_peer_request), sizeof(struct found) + sizeof(struct nlmsgerr) + NLMSG_HDRLEN), *at = answer;
	const struct nl_peer_request *request = requests;

	cr_assert_not_null(answer);
	cr_assert_eq(protocol, NETLINK_SOCK_DIAG);
	cr_assert_leq(len / sizeof(*request), NL_PEERS_MAX);
	if (kernel.silent) {
		free(answer);
		return -EPERM;
	}
	for (; len; request++, len -= sizeof(*request)) {
		uint64_t ino = request->body.udiag_ino;
		const struct found found = { { sizeof(found), SOCK_DIAG_BY_FAMILY, 0, request->header.nlmsg_seq, 0 },
					     { .udiag_family = AF_UNIX, .udiag_ino = (uint32_t)ino },
					     { 8, UNIX_DIAG_PEER },
					     kernel.receiver };
		const struct nlmsghdr header = { NLMSG_HDRLEN + sizeof(struct nlmsgerr), NLMSG_ERROR, 0, request->header.nlmsg_seq, 0 };
		const struct nlmsgerr error = { -ENOENT, request->header };

		kernel.asked++;
		if (ino == ALWAYS || ino == PEER || ino == kernel.now) {
			memcpy(at, &found, sizeof(found));
			at += sizeof(found);
		} else {
			memcpy(at, &header, sizeof(header));
			memcpy(at + sizeof(header), &error, sizeof(error));
			at += header.nlmsg_len;
		}
	}
	*ret_answer = answer;
	*ret_len = (size_t)(at - answer);
	return 0;
}

static int settle(struct guest *g)
{
	kernel.settled++;
	return 0;
}

static int passed(struct guest *g, int handle)
{
	return kernel.passed;
}

static void start(void)
{
	struct engine_options options;

	fake_init(&fake);
	memset(&kernel, 0, sizeof(kernel));
	kernel.receiver = PEER;
	kernel.now = FIRST;
	ops = *fake.guest.ops;
	ops.handle_info = info_of;
	ops.network_ask = ask;
	ops.settle_garbage = settle;
	ops.handle_passed = passed;
	fake.guest.ops = &ops;
	engine_options_default(&options);
	begin(&options);
}

TestSuite(engine_passed, .init = start, .fini = stop);

static void makes(int nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	happens(fake_call(0, nr, a0, a1, a2, 0, 0, 0));
	cr_assert_eq(next().kind, STEP_RESUME);
}

/* Sends the socket, by a peer or to a name. */
static void passes(bool named)
{
	const struct iovec iov = { (void *)(uintptr_t)fake_address(0), 1 };
	const int fd = PASSED;
	const struct cmsghdr header = { CMSG_LEN(sizeof(fd)), SOL_SOCKET, SCM_RIGHTS };
	const struct msghdr message = {
		.msg_name = named ? (void *)(uintptr_t)fake_address(0) : NULL, .msg_namelen = named ? 16 : 0,
		.msg_iov = (void *)(uintptr_t)fake_address(VECTOR), .msg_iovlen = 1,
		.msg_control = (void *)(uintptr_t)fake_address(CONTROL), .msg_controllen = CMSG_SPACE(sizeof(fd)),
	};

	memcpy(fake.arena + MESSAGE, &message, sizeof(message));
	memcpy(fake.arena + VECTOR, &iov, sizeof(iov));
	memcpy(fake.arena + CONTROL, &header, sizeof(header));
	memcpy(fake.arena + CONTROL + sizeof(header), &fd, sizeof(fd));
	makes(__NR_sendmsg, SENDER, fake_address(MESSAGE), MSG_DONTWAIT);
}

Test(engine_passed, ten_thousand_leave_few_notes)
{
	unsigned most = 0;

	for (int i = 0; i < 10000; i++, kernel.now++) {
		passes(false);
		makes(__NR_close, PASSED, 0, 0);
		if (HASH_COUNT(e->socket_notes.by_inode) > most)
			most = HASH_COUNT(e->socket_notes.by_inode);
	}
	cr_expect_not(e->garbage_possible, "no socket that was passed has got one");
	cr_expect_gt(most, 100);
	cr_expect_lt(most, 1200, "%u notes", most);
	cr_expect_lt(kernel.asked, 40000, "each was asked about some times, not again and again: %u", kernel.asked);
}

Test(engine_passed, a_socket_that_was_passed_gets_one)
{
	kernel.receiver = FIRST;
	passes(false);
	cr_expect(e->garbage_possible, "through itself: a circle of one");
}

Test(engine_passed, who_gets_it_is_not_known)
{
	passes(true);
	cr_expect(e->garbage_possible, "a name goes past the peer");
}

Test(engine_passed, nobody_can_be_asked)
{
	kernel.silent = true;
	passes(false);
	cr_expect(e->garbage_possible);
	cr_expect_null(e->socket_notes.by_inode, "and then nothing is noted");
}

/* One byte, without waiting. */
static void receives(void)
{
	happens(fake_call(0, __NR_recvfrom, SENDER, fake_address(0), 1, MSG_DONTWAIT, 0, 0));
	cr_assert_eq(next().kind, STEP_RESUME);
}

Test(engine_passed, receiving_drops_descriptors)
{
	passes(true);
	receives();
	cr_expect_not(e->garbage_dirty, "none wait there");
	kernel.passed = 1;
	receives();
	cr_expect(e->garbage_dirty);
	cr_expect_eq(kernel.settled, 0);
	kernel.passed = 0;
	receives();
	cr_expect_eq(kernel.settled, 1, "before the next look");
	cr_expect_not(e->garbage_dirty);
}
