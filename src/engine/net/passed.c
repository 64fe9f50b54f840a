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
#include "engine/time/timerfd.h"

enum {
	CONTROL_MAX = 8192,
	FDS_MAX = 253, /* SCM_MAX_FD: more are refused */
};

static int note_descriptor(struct engine *e, struct task *t, int fd)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, fd, &info);
	if (r < 0)
		return r == -EBADF ? 0 : r;
	e->sockets_passed = e->sockets_passed || info->kind == FD_UNIX;
	if (info->kind == FD_TIMERFD)
		timerfd_sent(e, info->beacon);
	return 0;
}

static int note_descriptors(struct engine *e, struct task *t, const unsigned char *bytes, size_t n)
{
	int fd, r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		memcpy(&fd, bytes + i * sizeof(fd), sizeof(fd));
		r = note_descriptor(e, t, fd);
	}
	return r;
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
	e->garbage_dirty = e->sockets_passed;
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
	if (e->sockets_passed && t->call.row->flags & CALL_FD_CHANGE && may_close_socket(e, t))
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
