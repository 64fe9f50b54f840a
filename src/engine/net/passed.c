/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors in messages: see passed.h. */
#include "engine/net/passed.h"

#include <asm/unistd.h>
#include <errno.h>
#include <stdbool.h>
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
	CONTROL_MAX = 8192,
	FDS_MAX = 253, /* SCM_MAX_FD: more are refused */
};

/*
 * Sockets are garbage only in a circle: each is on its way in a message to the next. So one must have been passed, and have got such a message
 * itself; until there is one nothing is waited for.
 */
enum part { PART_PASSED = 1 << 0, PART_RECEIVER = 1 << 1 };

static int note_part(struct engine *e, const struct fd_info *info, enum part part)
{
	struct socket_note *note = socket_note(e, info, true);

	if (!note)
		return -ENOMEM;
	note->parts |= part;
	e->garbage_possible = e->garbage_possible || note->parts == (PART_PASSED | PART_RECEIVER);
	return 0;
}

/* The task sends sockets by this one. Who gets them is not always known: one that is addressed by its name, or not accepted yet. */
static int note_receiver(struct engine *e, struct task *t, int sender)
{
	_cleanup_free_ void *answer = NULL;
	const struct fd_info *info;
	struct nl_peer_request request;
	struct fd_info peer;
	size_t len = 0;
	int r;

	r = fdtable_info(e, t, sender, &info);
	if (r < 0)
		return r == -EBADF ? 0 : r;
	peer = *info;
	peer.ino = 0;
	request = nl_peer_request((uint32_t)info->ino);
	if (e->g->ops->network_ask && e->g->ops->network_ask(e->g, t->id, NETLINK_SOCK_DIAG, &request, sizeof(request), &answer, &len) >= 0)
		peer.ino = nl_peer(answer, len);
	e->garbage_possible = e->garbage_possible || !peer.ino;
	return peer.ino ? note_part(e, &peer, PART_RECEIVER) : 0;
}

/* 1: a socket, 0, or -errno. */
static int note_descriptor(struct engine *e, struct task *t, int fd)
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
	r = note_part(e, info, PART_PASSED);
	return r < 0 ? r : 1;
}

static int note_descriptors(struct engine *e, struct task *t, const unsigned char *bytes, size_t n)
{
	bool sockets = false;
	int fd, r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		memcpy(&fd, bytes + i * sizeof(fd), sizeof(fd));
		r = note_descriptor(e, t, fd);
		sockets = sockets || r > 0;
	}
	if (r >= 0 && sockets && !e->garbage_possible)
		r = note_receiver(e, t, (int)t->call.args[0]);
	return r < 0 ? r : 0;
}

int passed_note_message(struct engine *e, struct task *t, const struct msghdr *message)
{
	_Alignas(struct cmsghdr) char control[CONTROL_MAX];
	struct msghdr copy = { .msg_control = control, .msg_controllen = message->msg_controllen };
	int r;

	if (!message->msg_controllen || message->msg_controllen > sizeof(control))
		return 0;
	r = guest_read(e, t, (uint64_t)(uintptr_t)message->msg_control, control, message->msg_controllen);
	for (struct cmsghdr *c = r < 0 ? NULL : CMSG_FIRSTHDR(&copy); c && r == 0; c = CMSG_NXTHDR(&copy, c)) {
		size_t n = c->cmsg_len > CMSG_LEN(0) ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && n <= FDS_MAX &&
		    (char *)CMSG_DATA(c) + n * sizeof(int) <= control + copy.msg_controllen)
			r = note_descriptors(e, t, CMSG_DATA(c), n);
	}
	return r == -EFAULT ? 0 : r; /* the kernel says so */
}

void passed_note_closed(struct engine *e)
{
	e->garbage_dirty = e->garbage_possible;
}

/* Calls that close descriptors. Of close(2) it is known which one. */
static bool may_close_socket(struct engine *e, struct task *t)
{
	static const int closing[] = { __NR_dup2, __NR_dup3, __NR_close_range, __NR_execve, __NR_execveat };
	const struct fd_info *info;

	if (t->call.nr == __NR_close)
		return fdtable_info(e, t, (int)t->call.args[0], &info) == 0 && info->kind == FD_UNIX;
	for (size_t i = 0; i < ARRAY_SIZE(closing); i++)
		if (t->call.nr == closing[i])
			return true;
	return false;
}

void passed_note_call(struct engine *e, struct task *t)
{
	if (e->garbage_possible && t->call.row->flags & CALL_FD_CHANGE && may_close_socket(e, t))
		passed_note_closed(e);
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
