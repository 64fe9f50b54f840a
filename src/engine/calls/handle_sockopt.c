/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of sockets: those that would show the host read as fixed numbers; what the guest has set reads as Linux would have it, whatever the
 * host's limits and the grain of its timers are.
 */
#include <asm/socket.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/calls/handle_netlink.h"
#include "engine/calls/handlers.h"
#include "engine/net/connecting.h"
#include "engine/net/socket_note.h"
#include "engine/net/sockets.h"

/* Defaults and limits of Linux, whatever the host's net.core.?mem_max are. */
enum { BUFFER = 212992, BUFFER_RECEIVE_MIN = 2304, BUFFER_SEND_MIN = 4608 };

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/* ---- options that are noted ---- */

enum option_kind { OPTION_NONE = 0, OPTION_LIMIT, OPTION_BUFFER, OPTION_FORCED, OPTION_STAMP, OPTION_STAMPING, OPTION_SHARED_PORT };

static const struct {
	int name;
	enum option_kind kind;
	bool sends;
} noted[] = {
	{ SO_RCVTIMEO_OLD, OPTION_LIMIT, false },   { SO_RCVTIMEO_NEW, OPTION_LIMIT, false },
	{ SO_SNDTIMEO_OLD, OPTION_LIMIT, true },    { SO_SNDTIMEO_NEW, OPTION_LIMIT, true },
	{ SO_RCVBUF, OPTION_BUFFER, false },	    { SO_SNDBUF, OPTION_BUFFER, true },
	{ SO_RCVBUFFORCE, OPTION_FORCED, false },   { SO_SNDBUFFORCE, OPTION_FORCED, true },
	{ SO_TIMESTAMP_OLD, OPTION_STAMP, false },  { SO_TIMESTAMP_NEW, OPTION_STAMP, false },
	{ SO_TIMESTAMPNS_OLD, OPTION_STAMP, false }, { SO_TIMESTAMPNS_NEW, OPTION_STAMP, false },
	{ SO_TIMESTAMPING_OLD, OPTION_STAMPING, false }, { SO_TIMESTAMPING_NEW, OPTION_STAMPING, false },
	{ SO_REUSEPORT, OPTION_SHARED_PORT, false },
};

static enum option_kind option_kind(int name, bool *ret_sends)
{
	for (size_t i = 0; i < ARRAY_SIZE(noted); i++) {
		if (noted[i].name != name)
			continue;
		*ret_sends = noted[i].sends;
		return noted[i].kind;
	}
	return OPTION_NONE;
}

bool socket_option_is_noted(int level, int name)
{
	bool sends;

	return level == SOL_SOCKET && option_kind(name, &sends) != OPTION_NONE;
}

/* What the kernel makes of a size: twice of it, within limits. */
static uint32_t buffer_size(int asked, bool forced, bool sends)
{
	uint32_t size = (uint32_t)asked, least = sends ? BUFFER_SEND_MIN : BUFFER_RECEIVE_MIN;

	if (asked < 0)
		size = forced ? 0 : BUFFER; /* limits are compared without sign */
	if (!forced && size > BUFFER)
		size = BUFFER;
	if (size > INT32_MAX / 2)
		size = INT32_MAX / 2;
	return size * 2 > least ? size * 2 : least;
}

static uint64_t limit_of(const int64_t value[2])
{
	uint64_t ns;

	if (value[0] < 0)
		return 0; /* as the kernel takes it: no waiting at all */
	if (!time_from_parts(value[0], value[1] * 1000, &ns) || !ns)
		return TIME_NEVER;
	return ns;
}

/* Which of several sockets at a port gets a packet depends on a secret of the kernel's: the first one that was bound, from now on. */
int socket_port_taken(struct engine *e, struct task *t, bool listens)
{
	static const struct sock_filter first = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog program = { .len = 1, .filter = (struct sock_filter *)(uintptr_t)&first };
	const struct socket_note *note = NULL;
	const struct fd_info *info;
	int handle;

	if (fdtable_info(e, t, (int)t->call.args[0], &info) == 0)
		note = socket_note(e, info, false);
	if (!note || !note->shares_port || listens != (info->sock_type == SOCK_STREAM))
		return 0;
	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	(void)e->g->ops->handle_set_option(e->g, handle, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program));
	e->g->ops->handle_release(e->g, handle);
	return 0;
}

int socket_option_set(struct engine *e, struct task *t, const struct fd_info *info)
{
	int name = (int)t->call.args[2];
	struct socket_note *note;
	int64_t value[2] = { 0 };
	enum option_kind kind;
	bool sends = false;
	int number, r;

	kind = option_kind(name, &sends);
	r = guest_read(e, t, t->call.args[3], value, kind == OPTION_LIMIT ? sizeof(value) : sizeof(number));
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	memcpy(&number, value, sizeof(number));
	note = socket_note(e, info, true);
	if (!note)
		return -ENOMEM;
	switch (kind) {
	case OPTION_LIMIT:
		note->limit_ns[sends] = limit_of(value);
		break;
	case OPTION_BUFFER:
	case OPTION_FORCED:
		note->buffer[sends] = buffer_size(number, kind == OPTION_FORCED, sends);
		break;
	case OPTION_STAMP:
		note->stamps |= number != 0;
		break;
	case OPTION_STAMPING:
		note->stamps |= number != 0;
		note->timestamping = (uint32_t)number;
		note->timestamping_type = name;
		break;
	case OPTION_SHARED_PORT:
		note->shares_port = number != 0;
		break;
	case OPTION_NONE:
		break;
	}
	return 0;
}

bool socket_option_get(const struct socket_note *note, int name, void *ret_value, size_t *ret_len)
{
	bool sends = false;
	enum option_kind kind = option_kind(name, &sends);
	int64_t limit[2] = { 0 };

	if (kind == OPTION_BUFFER && note->buffer[sends]) {
		memcpy(ret_value, &note->buffer[sends], sizeof(note->buffer[sends]));
		*ret_len = sizeof(note->buffer[sends]);
		return true;
	}
	if (kind == OPTION_LIMIT) {
		if (note->limit_ns[sends] != TIME_NEVER) {
			limit[0] = (int64_t)(note->limit_ns[sends] / NS_PER_S);
			limit[1] = (int64_t)(note->limit_ns[sends] % NS_PER_S / 1000);
		}
		memcpy(ret_value, limit, sizeof(limit));
		*ret_len = sizeof(limit);
		return true;
	}
	return false;
}

/* The kernel has another value meanwhile, so that it does not give up by its own clock. 1: answered, 0: it is the kernel's to set, or -errno. */
static int set_count(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	int count, r;

	if ((int)a[1] != IPPROTO_TCP || (int)a[2] != TCP_SYNCNT || (int)a[4] < (int)sizeof(count) || !connecting_count(e, info, &count))
		return 0;
	r = guest_read(e, t, a[3], &count, sizeof(count));
	if (r == 0)
		r = connecting_set_count(e, info, count);
	if (r < 0 && r != -EFAULT && r != -EINVAL)
		return r;
	(void)verdict_return(v, r);
	return 1;
}

int handle_net_setsockopt(struct engine *e, struct task *t, struct verdict *v)
{
	bool timed, answered = false;
	const struct fd_info *info;
	int r;

	if (netlink_serves(e, t, (int)t->call.args[0], &info))
		return netlink_setsockopt(e, t, info, v);
	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r == 0 && !t->call.done)
		r = set_count(e, t, info, v);
	if (r > 0 || (r < 0 && r != -EBADF))
		return r > 0 ? 0 : r;
	timed = r == 0 && socket_option_is_timed(info, (int)t->call.args[1], (int)t->call.args[2]);
	if (!timed && !socket_option_is_noted((int)t->call.args[1], (int)t->call.args[2]))
		return verdict_continue(v);
	if (!t->call.done) {
		if (timed)
			r = socket_timed_option_answer(e, t, info, &answered);
		return answered ? verdict_return(v, r) : verdict_hook(v);
	}
	v->kind = VERDICT_GO;
	if (t->call.result != 0 || r < 0)
		return t->call.result != 0 || r == -EBADF ? 0 : r;
	return timed ? socket_timed_option_set(e, t, info) : socket_option_set(e, t, info);
}

/* ---- options that are shown ---- */

/* What an option shows: zeroes, or a fixed number, from `keep` on. */
struct shown_option {
	int level, name;
	size_t keep;    /* bytes at the start that are true in every run */
	uint64_t value; /* of what follows, as a 64-bit number; 0: zeroes */
};

static const struct shown_option shown_options[] = {
	{ SOL_SOCKET, SO_INCOMING_CPU, 0, 0 },
	{ SOL_SOCKET, SO_INCOMING_NAPI_ID, 0, 0 },
	{ SOL_SOCKET, SO_COOKIE, 0, 0 }, /* by socket */
	{ SOL_SOCKET, SO_ERROR, 4, 0 },	 /* but for what connecting.h has ended */
	{ SOL_SOCKET, SO_NETNS_COOKIE, 0, 1 },
	{ SOL_SOCKET, SO_RCVBUF, 0, BUFFER },
	{ SOL_SOCKET, SO_SNDBUF, 0, BUFFER },
	{ SOL_SOCKET, SO_RCVTIMEO_OLD, 16, 0 }, /* as it was set */
	{ SOL_SOCKET, SO_SNDTIMEO_OLD, 16, 0 },
	{ SOL_SOCKET, SO_RCVTIMEO_NEW, 16, 0 },
	{ SOL_SOCKET, SO_SNDTIMEO_NEW, 16, 0 },
	{ SOL_SOCKET, SO_MEMINFO, 0, 0 },
	{ IPPROTO_TCP, TCP_INFO, 8, 0 },
	{ IPPROTO_TCP, TCP_TIMESTAMP, 0, 1 },
	{ IPPROTO_TCP, TCP_CC_INFO, 0, 0 },
	{ IPPROTO_TCP, TCP_SYNCNT, 4, 0 }, /* but for what connecting.h has made of it */
};

static bool find_shown(const struct task *t, struct shown_option *ret)
{
	int level = (int)t->call.args[1], name = (int)t->call.args[2];

	for (size_t i = 0; i < ARRAY_SIZE(shown_options); i++) {
		*ret = shown_options[i];
		if (ret->level == level && ret->name == name)
			return true;
	}
	*ret = (struct shown_option){ .level = level, .name = name };
	return socket_timed_option_unset(level, name, &ret->keep, &ret->value);
}

/* The whole of what the option shows, of `bytes` that are zero; how much of it the kernel's answer keeps. */
static int fill_option(struct engine *e, struct task *t, const struct shown_option *option, size_t shown_len, unsigned char *bytes,
		       size_t *ret_keep)
{
	const struct fd_info *info;
	struct socket_note *note;
	struct inode *inode;
	uint64_t number;
	int count, r;
	size_t len;

	*ret_keep = option->keep;
	memcpy(bytes + option->keep, &option->value, sizeof(option->value));
	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r == -EBADF ? 0 : r;
	if (option->level == SOL_SOCKET && option->name == SO_COOKIE) {
		inode = inode_get(&e->inodes, info->dev, info->ino);
		number = inode ? inode_number(inode) : 0;
		memcpy(bytes, &number, sizeof(number));
		return inode ? 0 : -ENOMEM;
	}
	if (option->level == SOL_SOCKET && option->name == SO_ERROR && connecting_take_timeout(e, info)) {
		bytes[0] = ETIMEDOUT;
		*ret_keep = 0;
		return 0;
	}
	if (option->level == IPPROTO_TCP && option->name == TCP_SYNCNT && connecting_count(e, info, &count)) {
		memcpy(bytes, &count, sizeof(count));
		*ret_keep = 0;
		return 0;
	}
	note = socket_note(e, info, false);
	if (note && ((option->level == SOL_SOCKET && socket_option_get(note, option->name, bytes, &len)) ||
		     socket_timed_option_get(note, option->level, option->name, shown_len, bytes)))
		*ret_keep = 0;
	return 0;
}

int handle_net_getsockopt(struct engine *e, struct task *t, struct verdict *v)
{
	unsigned char bytes[512] = { 0 };
	struct shown_option option;
	bool shown = find_shown(t, &option);
	uint32_t len;
	size_t keep;
	int r;

	if (!t->call.done)
		return shown ? verdict_hook(v) : verdict_continue(v);
	v->kind = VERDICT_GO;
	if (t->call.result != 0)
		return 0;
	r = guest_read(e, t, t->call.args[4], &len, sizeof(len));
	if (r >= 0)
		r = fill_option(e, t, &option, len, bytes, &keep);
	if (r < 0 || len <= keep || len > sizeof(bytes))
		return r == -EFAULT || r >= 0 ? 0 : r;
	r = guest_write(e, t, t->call.args[3] + keep, bytes + keep, len - keep);
	return r == -EFAULT ? 0 : r;
}
