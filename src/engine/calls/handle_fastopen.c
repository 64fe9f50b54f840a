/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending that connects: see handle_fastopen.h. */
#include "engine/calls/handle_fastopen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>

#include "engine/calls/handle_write.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/net/connecting.h"
#include "engine/net/sockets.h"
#include "engine/span.h"
#include "engine/wait.h"

enum { CONNECTED }; /* of call.scratch */

bool fastopen_serves(struct engine *e, struct task *t, int msg_flags)
{
	const struct fd_info *info;

	return msg_flags & MSG_FASTOPEN && e->g->ops->handle_open_fast && fdtable_info(e, t, (int)t->call.args[0], &info) == 0 &&
	       info->kind == FD_INET && info->sock_type == SOCK_STREAM;
}

/* The verdict is 0 when it is connected. What is wrong with the address the kernel says. */
static int connect_first(struct engine *e, struct task *t, uint64_t name, uint64_t len, int msg_flags, struct verdict *v)
{
	struct sockaddr_storage address;
	int r;

	r = socket_read_address(e, t, name, len, &address);
	if (r == -EFAULT || r == -EINVAL || (r == 0 && address.ss_family == AF_UNSPEC))
		return verdict_continue(v);
	if (r == 0 && connecting_waits(t))
		return connecting_wait(e, t, &address, (socklen_t)len, v);
	if (r == 0)
		r = socket_give_port(e, t, (int)t->call.args[0]);
	return r < 0 ? r : connecting_call(e, t, &address, (socklen_t)len, msg_flags, v);
}

static int open_and_send(struct engine *e, struct task *t, const struct span *span, uint64_t name, uint64_t len, int msg_flags, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	if (!t->call.scratch[CONNECTED]) {
		r = connect_first(e, t, name, len, msg_flags, v);
		if (r < 0 || v->kind != VERDICT_RETURN || v->value != 0)
			return r;
		wait_drop(e, t);
		t->call.scratch[CONNECTED] = true;
	}
	r = wait_fd(e, t, (int)t->call.args[0], POLLOUT);
	if (r >= 0)
		r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r == -EBADF ? verdict_errno(v, EBADF) : r;
	r = wait_is_nonblocking(e, t);
	return r < 0 ? r : write_pieces(e, t, info, span, msg_flags | (r ? MSG_DONTWAIT : 0), v);
}

int fastopen_sendto(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct span span;

	span_buffer(&span, a[1], a[2]);
	return open_and_send(e, t, &span, a[4], a[5], (int)a[3], v);
}

static int send_message(struct engine *e, struct task *t, uint64_t address, int msg_flags, struct verdict *v)
{
	struct msghdr message;
	struct span span;
	int r;

	r = guest_read(e, t, address, &message, sizeof(message));
	if (r >= 0)
		r = span_vector(e, t, (uint64_t)(uintptr_t)message.msg_iov, message.msg_iovlen, &span);
	if (r < 0)
		return r == -EFAULT || r == -EINVAL ? verdict_continue(v) : r;
	return open_and_send(e, t, &span, (uint64_t)(uintptr_t)message.msg_name, message.msg_namelen, msg_flags, v);
}

int fastopen_sendmsg(struct engine *e, struct task *t, struct verdict *v)
{
	return send_message(e, t, t->call.args[1], (int)t->call.args[2], v);
}

/* Behind the first message the socket is connected, and the next one is refused for that (EISCONN): that ends the call. */
int fastopen_sendmmsg(struct engine *e, struct task *t, struct verdict *v)
{
	unsigned sent;
	int r;

	r = send_message(e, t, t->call.args[1], (int)t->call.args[3], v);
	if (r < 0 || v->kind != VERDICT_RETURN || v->value < 0)
		return r;
	sent = (unsigned)v->value;
	r = guest_write(e, t, t->call.args[1] + offsetof(struct mmsghdr, msg_len), &sent, sizeof(sent));
	return r < 0 && r != -EFAULT ? r : verdict_return(v, r < 0 ? r : 1);
}
