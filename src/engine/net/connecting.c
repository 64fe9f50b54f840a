/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that wait for a place in the listener's queue: see connecting.h. */
#include "engine/net/connecting.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/net/network.h"
#include "engine/net/sockets.h"
#include "engine/wait.h"

enum {
	TRIES = 7,        /* as tcp_syn_retries: at 2^n - 1 seconds, and at the last one it is over */
	PATIENTLY = 127,  /* TCP_SYNCNT: the kernel does not give up by itself */
	/*
	 * What the kernel has asked for meanwhile may have left half a connection behind, whose end refuses the first new request: the next one comes at
	 * once (TCP_TIMEOUT_MIN). Less than the second after which it would ask again by its clock.
	 */
	ANSWERS_MS = 900,
	NUMBERS_MOST = 1024, /* of descriptors: as many as a process may have that has not asked for more */
};

struct connecting {
	struct connecting *prev, *next;
	struct timer timer;
	uint64_t dev, ino; /* of the socket */
	int fd;            /* the number that it had last */
	struct sockaddr_storage address;
	socklen_t len;
	uint64_t start_ns;
	unsigned tries;
	int count; /* TCP_SYNCNT as it was */
	bool over;
};

bool connecting_is_local(const struct sockaddr_storage *address, socklen_t len)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	in_addr_t in;

	if (address->ss_family == AF_INET && len >= sizeof(struct sockaddr_in))
		in = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
	else if (address->ss_family == AF_INET6 && len >= sizeof(*in6) && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		memcpy(&in, in6->sin6_addr.s6_addr + 12, sizeof(in));
	else
		return address->ss_family == AF_INET6 && len >= sizeof(*in6) &&
		       (IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) || IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr));
	return in == INADDR_ANY || ntohl(in) >> 24 == IN_LOOPBACKNET;
}

static struct connecting *find(struct engine *e, const struct fd_info *info)
{
	struct connecting *c;

	DL_FOREACH(e->connecting, c)
		if (c->dev == info->dev && c->ino == info->ino)
			return c;
	return NULL;
}

static void forget(struct engine *e, struct connecting *c)
{
	timers_disarm(&e->timers, &c->timer);
	DL_DELETE(e->connecting, c);
	free(c);
}

void connecting_deinit(struct engine *e)
{
	while (e->connecting)
		forget(e, e->connecting);
}

/* A handle, or -EBADF: the task's descriptor is another one. */
static int borrow_from(struct engine *e, const struct task *t, const struct connecting *c, int fd)
{
	int handle = e->g->ops->fd_borrow(e->g, t->id, fd);
	struct fd_info info;

	if (handle < 0)
		return -EBADF;
	if (e->g->ops->handle_info(e->g, handle, &info) == 0 && info.dev == c->dev && info.ino == c->ino)
		return handle;
	e->g->ops->handle_release(e->g, handle);
	return -EBADF;
}

/* It has another number meanwhile (dup(2)), or nobody has it. */
static int seek(struct engine *e, struct connecting *c)
{
	const struct fdtable *table = NULL;
	struct task *t;
	int handle;

	LL_FOREACH(e->tasks, t) {
		if (t->fds == table) /* another thread */
			continue;
		table = t->fds;
		for (int fd = 0; fd < NUMBERS_MOST; fd++) {
			handle = borrow_from(e, t, c, fd);
			if (handle < 0)
				continue;
			c->fd = fd;
			return handle;
		}
	}
	return -EBADF;
}

/* Whoever has the socket still: a handle, or -EBADF. Held for longer it would not be closed when the guest closes it. */
static int borrow(struct engine *e, struct connecting *c)
{
	struct task *t;
	int handle;

	LL_FOREACH(e->tasks, t) {
		handle = borrow_from(e, t, c, c->fd);
		if (handle >= 0)
			return handle;
	}
	return seek(e, c);
}

/* Has it come to an end, good or bad? After all that was under way. 1, 0, or -errno. */
static int settled(struct engine *e, int handle, int timeout_ms)
{
	struct handle_poll poll = { .handle = handle, .events = POLLOUT };
	int r;

	e->network_dirty = true;
	r = network_settle(e);
	if (r == 0)
		r = e->g->ops->handles_poll(e->g, &poll, 1, timeout_ms);
	return r;
}

/* No answer arrives any more, and the kernel asks for long. */
static void cut_off(struct engine *e, struct connecting *c, int handle)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog program = { 1, &nothing };
	const int count = PATIENTLY;

	(void)e->g->ops->handle_set_option(e->g, handle, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
	(void)e->g->ops->handle_set_option(e->g, handle, IPPROTO_TCP, TCP_SYNCNT, &count, sizeof(count));
}

/* It becomes unconnected, with nothing of what was. The error is what the kernel says of such an end. */
static void begin_anew(struct engine *e, struct connecting *c, int handle)
{
	const int none = 0;
	int error;

	(void)e->g->ops->handle_connect(e->g, handle, NULL, 0);
	(void)e->g->ops->handle_option(e->g, handle, SOL_SOCKET, SO_ERROR, &error, sizeof(error));
	(void)e->g->ops->handle_set_option(e->g, handle, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none));
	(void)e->g->ops->handle_set_option(e->g, handle, IPPROTO_TCP, TCP_SYNCNT, &c->count, sizeof(c->count));
}

static void wait_longer(struct engine *e, struct connecting *c)
{
	const uint64_t second = 1000000000;

	c->tries++;
	timers_arm(&e->timers, &c->timer, c->start_ns + ((1ull << c->tries) - 1) * second);
}

/* One of the times at which the kernel would ask again. */
static int ask_again(struct engine *e, struct timer *timer)
{
	struct connecting *c = timer->owner;
	int handle, r = 0;

	handle = borrow(e, c);
	if (handle < 0) {
		forget(e, c);
		return 0;
	}
	e->io_dirty = true;
	if (c->tries == TRIES) {
		(void)e->g->ops->handle_connect(e->g, handle, NULL, 0);
		c->over = true;
	} else {
		begin_anew(e, c, handle);
		(void)e->g->ops->handle_connect(e->g, handle, &c->address, c->len);
		r = settled(e, handle, 0);
		if (r == 0)
			r = settled(e, handle, ANSWERS_MS);
		if (r == 0) {
			cut_off(e, c, handle);
			wait_longer(e, c);
		} else if (r > 0) {
			forget(e, c);
		}
	}
	e->g->ops->handle_release(e->g, handle);
	return r < 0 ? r : 0;
}

static int hold(struct engine *e, struct task *t, const struct fd_info *info, const struct sockaddr_storage *address, socklen_t len, int handle)
{
	struct connecting *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->timer.owner = c;
	c->timer.fire = ask_again;
	c->dev = info->dev;
	c->ino = info->ino;
	c->fd = (int)t->call.args[0];
	c->address = *address;
	c->len = len;
	c->start_ns = e->clock.now_ns;
	(void)e->g->ops->handle_option(e->g, handle, IPPROTO_TCP, TCP_SYNCNT, &c->count, sizeof(c->count));
	cut_off(e, c, handle);
	DL_APPEND(e->connecting, c);
	wait_longer(e, c);
	return 0;
}

bool connecting_take_timeout(struct engine *e, const struct fd_info *info)
{
	struct connecting *c = find(e, info);

	if (!c || !c->over)
		return false;
	forget(e, c);
	return true;
}

/* A call that waits, as for anything else that a descriptor is to be ready for. */
static int wait_for_end(struct engine *e, struct task *t, const struct fd_info *info, struct verdict *v)
{
	int r;

	if (connecting_take_timeout(e, info))
		return verdict_errno(v, ETIMEDOUT);
	if (wait_timed_out(t))
		return verdict_errno(v, EINPROGRESS);
	r = wait_fd(e, t, (int)t->call.args[0], POLLOUT);
	if (r == -EBADF || r > 0)
		return verdict_continue(v); /* says what has come of it */
	return r < 0 ? r : socket_block(e, t, info, false, v);
}

int connecting_call(struct engine *e, struct task *t, const struct sockaddr_storage *address, socklen_t len, struct verdict *v)
{
	const struct fd_info *info;
	int handle, flags, r;

	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (handle < 0)
		return handle == -EBADF ? verdict_errno(v, EBADF) : handle;
	flags = e->g->ops->handle_flags(e->g, handle);
	if (flags >= 0 && !(flags & O_NONBLOCK) && (!t->call.first || find(e, info))) {
		e->g->ops->handle_release(e->g, handle);
		return wait_for_end(e, t, info, v);
	}
	r = connecting_take_timeout(e, info) ? -ETIMEDOUT : e->g->ops->handle_connect(e->g, handle, address, len);
	if (r == -EINPROGRESS) {
		int ended = settled(e, handle, 0);

		if (ended == 0)
			ended = hold(e, t, info, address, len, handle);
		r = ended < 0 ? ended : r;
	}
	e->g->ops->handle_release(e->g, handle);
	if (r == -EINPROGRESS && !(flags & O_NONBLOCK))
		return wait_for_end(e, t, info, v);
	return r == -ENOMEM ? r : verdict_return(v, r);
}
