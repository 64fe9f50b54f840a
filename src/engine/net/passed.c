/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors in messages: see passed.h. */
#include "engine/net/passed.h"

#include <asm/unistd.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/net/socket_note.h"
#include "engine/net/sockets.h"
#include "engine/time/timerfd.h"
#include "netlink/peer.h"

enum {
	CONTROL_MAX = 1 << 20, /* more than optmem_max lets through */
	FDS_MAX = 253,         /* SCM_MAX_FD: more are refused */
	ASKED_MAX = NL_PEERS_MAX - 1,
};

/*
 * Sockets are garbage only in a circle: each is on its way in a message to the next. So one must have been passed, and have got such a message
 * itself; until there is one nothing is waited for, and then nothing needs to be noted any more.
 */
enum part { PART_PASSED = 1 << 0, PART_RECEIVER = 1 << 1 };

static int note_part(struct engine *e, const struct fd_info *info, enum part part)
{
	struct socket_note *note = socket_note(e, info, true);

	if (!note)
		return -ENOMEM;
	note->findable = true;
	note->parts |= part;
	e->garbage_possible = e->garbage_possible || note->parts == (PART_PASSED | PART_RECEIVER);
	return 0;
}

/* Sockets that one message takes along. */
struct cargo {
	struct fd_info sockets[ASKED_MAX];
	size_t n;
	bool too_many;
};

/* The kernel knows them all, and who gets the message: notes it. Otherwise any circle is possible. */
static int note_answer(struct engine *e, const struct fd_info *sender, const struct cargo *cargo, const void *answer, size_t len)
{
	struct fd_info peer = *sender;
	int r = 0;

	peer.ino = nl_peer(answer, len);
	e->garbage_possible = !peer.ino || nl_peers_gone(answer, len);
	for (size_t i = 0; i < cargo->n && r == 0 && !e->garbage_possible; i++)
		r = note_part(e, &cargo->sockets[i], PART_PASSED);
	return r == 0 && !e->garbage_possible ? note_part(e, &peer, PART_RECEIVER) : r;
}

/*
 * The task sends sockets by this one. Who gets them is not always known: one that is addressed by its name, or not accepted yet; and sockets of
 * another namespace would not be found again.
 */
static int note_cargo(struct engine *e, struct task *t, int fd, const struct cargo *cargo)
{
	struct nl_peer_request requests[1 + ASKED_MAX];
	_cleanup_free_ void *answer = NULL;
	const struct fd_info *info;
	struct fd_info sender;
	size_t len = 0;
	int r;

	r = fdtable_info(e, t, fd, &info);
	if (r < 0)
		return r == -EBADF ? 0 : r;
	sender = *info;
	for (size_t i = 0; i <= cargo->n; i++) {
		requests[i] = nl_peer_request((uint32_t)(i ? cargo->sockets[i - 1].ino : sender.ino));
		requests[i].header.nlmsg_seq = (uint32_t)i;
	}
	r = e->g->ops->network_ask ? e->g->ops->network_ask(e->g, t->id, NETLINK_SOCK_DIAG, requests, (cargo->n + 1) * sizeof(requests[0]),
							    &answer, &len) : -ENOENT;
	if (r >= 0)
		return note_answer(e, &sender, cargo, answer, len);
	e->garbage_possible = true;
	return r == -ENOMEM ? r : 0;
}

static int note_descriptor(struct engine *e, struct task *t, int fd, struct cargo *cargo)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, fd, &info);
	if (r < 0)
		return r == -EBADF ? 0 : r;
	if (info->kind == FD_TIMERFD)
		timerfd_sent(e, info->beacon);
	if (info->kind != FD_UNIX)
		return 0;
	if (cargo->n < ASKED_MAX)
		cargo->sockets[cargo->n++] = *info;
	else
		cargo->too_many = true;
	return 0;
}

static int note_descriptors(struct engine *e, struct task *t, const unsigned char *bytes, size_t n, struct cargo *cargo)
{
	int fd, r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		memcpy(&fd, bytes + i * sizeof(fd), sizeof(fd));
		r = note_descriptor(e, t, fd, cargo);
	}
	return r;
}

/* The descriptors of all its control messages. */
static int note_control(struct engine *e, struct task *t, void *control, size_t len, struct cargo *cargo)
{
	struct msghdr message = { .msg_control = control, .msg_controllen = len };
	int r = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c && r == 0; c = CMSG_NXTHDR(&message, c)) {
		size_t n = c->cmsg_len > CMSG_LEN(0) ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && n <= FDS_MAX &&
		    (char *)CMSG_DATA(c) + n * sizeof(int) <= (char *)control + len)
			r = note_descriptors(e, t, CMSG_DATA(c), n, cargo);
	}
	return r;
}

/* A copy of it, *ret NULL when there is none to look at. -EFAULT is the guest's. */
static int read_control(struct engine *e, struct task *t, const struct msghdr *message, void **ret)
{
	_cleanup_free_ void *control = NULL;
	int r;

	*ret = NULL;
	if (!message->msg_controllen || message->msg_controllen > CONTROL_MAX)
		return 0;
	control = malloc(message->msg_controllen);
	if (!control)
		return -ENOMEM;
	r = guest_read(e, t, (uint64_t)(uintptr_t)message->msg_control, control, message->msg_controllen);
	if (r < 0)
		return r;
	*ret = control;
	control = NULL;
	return 0;
}

bool passed_is_ignored(struct engine *e, struct task *t, const struct msghdr *message)
{
	_cleanup_free_ void *control = NULL;
	struct msghdr copy = *message;

	if (read_control(e, t, message, &control) < 0 || !control)
		return false;
	copy.msg_control = control;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&copy); c; c = CMSG_NXTHDR(&copy, c))
		if (c->cmsg_len < sizeof(*c) || c->cmsg_len > copy.msg_controllen - (size_t)((char *)c - (char *)control) ||
		    (c->cmsg_level == SOL_SOCKET && c->cmsg_type != SCM_RIGHTS && c->cmsg_type != SCM_CREDENTIALS))
			return false;
	return true;
}

int passed_note_message(struct engine *e, struct task *t, const struct msghdr *message)
{
	_cleanup_free_ void *control = NULL;
	struct cargo cargo = { .n = 0 };
	int r;

	r = read_control(e, t, message, &control);
	if (r == 0 && control)
		r = note_control(e, t, control, message->msg_controllen, &cargo);
	if (r < 0)
		return r == -EFAULT ? 0 : r; /* the kernel says so */
	/* To a name goes past the peer. */
	e->garbage_possible = e->garbage_possible || cargo.too_many || (cargo.n && message->msg_name);
	return cargo.n && !e->garbage_possible ? note_cargo(e, t, (int)t->call.args[0], &cargo) : 0;
}

void passed_note_closed(struct engine *e)
{
	e->garbage_dirty = e->garbage_possible;
}

/* Calls that close descriptors. Of close(2) it is known which one. */
static bool may_close_socket(struct engine *e, struct task *t)
{
	static const int closing[] = { __NR_dup2, __NR_dup3, __NR_close_range, __NR_execve, __NR_execveat };
	struct fd_info info;

	/* The handler has forgotten the number already: nobody is to remember it again. */
	if (t->call.nr == __NR_close)
		return fdtable_look(e, t, (int)t->call.args[0], &info) == 0 && info.kind == FD_UNIX;
	for (size_t i = 0; i < ARRAY_SIZE(closing); i++)
		if (t->call.nr == closing[i])
			return true;
	return false;
}

void passed_note_taken(struct engine *e, struct task *t, int fd)
{
	const struct fd_info *info;
	int handle;

	if (!e->garbage_possible || e->garbage_dirty || fdtable_info(e, t, fd, &info) < 0 || info->kind != FD_UNIX)
		return;
	handle = e->g->ops->fd_borrow(e->g, t->id, fd);
	if (handle < 0)
		return;
	e->garbage_dirty = !e->g->ops->handle_passed || e->g->ops->handle_passed(e->g, handle) != 0;
	e->g->ops->handle_release(e->g, handle);
}

/* Calls that take messages out of a socket's queue, and the place of the descriptor. connect(2) empties it when datagrams get another peer. */
static void note_taking(struct engine *e, struct task *t)
{
	static const struct {
		int nr;
		unsigned fd;
	} taking[] = {
		{ __NR_read, 0 }, { __NR_readv, 0 }, { __NR_preadv2, 0 }, { __NR_recvfrom, 0 }, { __NR_recvmsg, 0 }, { __NR_recvmmsg, 0 },
		{ __NR_splice, 0 }, { __NR_sendfile, 1 }, { __NR_connect, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(taking); i++)
		if (t->call.nr == taking[i].nr)
			passed_note_taken(e, t, (int)t->call.args[taking[i].fd]);
}

void passed_note_call(struct engine *e, struct task *t)
{
	if (!e->garbage_possible)
		return;
	if (t->call.row->flags & CALL_FD_CHANGE && may_close_socket(e, t))
		passed_note_closed(e);
	note_taking(e, t);
}

int passed_settle(struct engine *e)
{
	int r;

	if (!e->garbage_dirty)
		return 0;
	e->garbage_dirty = false;
	r = e->g->ops->settle_garbage ? e->g->ops->settle_garbage(e->g) : 0;
	if (r == -ETIMEDOUT || r == -ETOOMANYREFS) {
		engine_report_uncontrolled(e, "descriptors in messages", "when the kernel closes what nobody can receive");
		return 0;
	}
	return r;
}
