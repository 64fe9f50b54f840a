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
	PATIENTLY = 127,  /* TCP_SYNCNT: the kernel does not give up by itself */
	LONGEST_S = 120,  /* between two requests: TCP_RTO_MAX */
	/*
	 * What the kernel has asked for meanwhile may have left half a connection behind, whose end refuses the first new request: the next one comes at
	 * once (TCP_TIMEOUT_MIN). Less than the second after which it would ask again by its clock.
	 */
	ANSWERS_MS = 900,
};

struct connecting {
	struct connecting *prev, *next;
	struct timer timer;
	uint64_t dev, ino; /* of the socket */
	int beginner;	   /* the task whose call has begun it and waits still; -1: nobody */
	struct sockaddr_storage address;
	socklen_t len;
	uint64_t start_ns;
	int tries;
	int count;    /* how many requests may follow the first one: TCP_SYNCNT as it was */
	int limit_ms; /* and for how long, 0: as long as they take (TCP_USER_TIMEOUT, timed_options.c) */
	bool over;
};

/* Is it an address that this is about? */
static bool is_local(const struct sockaddr_storage *address, socklen_t len)
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

static bool is_of(struct engine *e, const struct connecting *c, int handle)
{
	struct fd_info info;

	return e->g->ops->handle_info(e->g, handle, &info) == 0 && info.dev == c->dev && info.ino == c->ino;
}

/*
 * Whoever has the socket still, in a call if nowhere else: a handle, or -EBADF. Held for longer it would not be closed when the guest closes it.
 * *ret_own: the handle is to be released.
 */
static int borrow(struct engine *e, const struct connecting *c, bool *ret_own)
{
	struct task *t;

	*ret_own = false;
	LL_FOREACH(e->tasks, t)
		for (size_t i = 0; t->state == TASK_BLOCKED && i < t->wait.n_polls; i++)
			if (t->wait.polls[i].handle >= 0 && is_of(e, c, t->wait.polls[i].handle))
				return t->wait.polls[i].handle;
	*ret_own = true;
	return e->g->ops->fd_find(e->g, c->dev, c->ino);
}

/* Has it come to an end, good or bad? After all that was under way. 1, 0, or -errno. */
static int settled(struct engine *e, int handle, int timeout_ms)
{
	int r;

	e->network_dirty = true;
	r = network_settle(e);
	if (r == 0)
		r = e->g->ops->handle_await(e->g, handle, POLLOUT, timeout_ms);
	return r;
}

static uint8_t state_of(struct engine *e, int handle)
{
	uint8_t state = TCP_CLOSE; /* what tcp_info begins with */

	(void)e->g->ops->handle_option(e->g, handle, IPPROTO_TCP, TCP_INFO, &state, sizeof(state));
	return state;
}

/* SO_ERROR, which is none any more then. */
static int take_error(struct engine *e, int handle)
{
	int error = 0;

	(void)e->g->ops->handle_option(e->g, handle, SOL_SOCKET, SO_ERROR, &error, sizeof(error));
	return error;
}

/* No answer arrives any more, and the kernel asks for long. */
static void cut_off(struct engine *e, int handle)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	const struct sock_fprog program = { 1, &nothing };
	const int count = PATIENTLY;

	(void)e->g->ops->handle_set_option(e->g, handle, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
	(void)e->g->ops->handle_set_option(e->g, handle, IPPROTO_TCP, TCP_SYNCNT, &count, sizeof(count));
}

/* The socket is as it was, but for what has come of it. */
static void restore(struct engine *e, const struct connecting *c, int handle)
{
	const int none = 0;

	(void)e->g->ops->handle_set_option(e->g, handle, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none));
	(void)e->g->ops->handle_set_option(e->g, handle, IPPROTO_TCP, TCP_SYNCNT, &c->count, sizeof(c->count));
}

/* It becomes unconnected, with nothing of what was. The error is what the kernel says of such an end. */
static void begin_anew(struct engine *e, const struct connecting *c, int handle)
{
	(void)e->g->ops->handle_connect(e->g, handle, NULL, 0);
	(void)take_error(e, handle);
	restore(e, c, handle);
	(void)e->g->ops->handle_connect(e->g, handle, &c->address, c->len);
}

static uint64_t limit_of(const struct connecting *c)
{
	return c->limit_ms > 0 ? c->start_ns + (uint64_t)c->limit_ms * 1000000 : TIME_NEVER;
}

static bool is_last(const struct engine *e, const struct connecting *c)
{
	return c->tries > c->count || (c->tries > 1 && e->clock.now_ns >= limit_of(c));
}

/* The first request is always followed by another one, a second later. */
static void wait_longer(struct engine *e, struct connecting *c)
{
	const uint64_t second = 1000000000;
	uint64_t at = c->start_ns, limit = limit_of(c);

	for (int i = 0; i <= c->tries; i++)
		at += (i < 7 ? 1ull << i : LONGEST_S) * second;
	if (c->tries++ > 0 && at > limit)
		at = limit > e->clock.now_ns ? limit : e->clock.now_ns;
	timers_arm(&e->timers, &c->timer, at);
}

/* One request, and what comes of it: 1, 0 nothing yet, or -errno. */
static int request(struct engine *e, const struct connecting *c, int handle)
{
	int r;

	begin_anew(e, c, handle);
	r = settled(e, handle, 0);
	return r == 0 ? settled(e, handle, ANSWERS_MS) : r;
}

/*
 * Where the request comes within milliseconds of the one that has left half a connection behind, its numbers fit to that, which ends by a
 * refusal of both. So only the second one is the listener's.
 */
static int try_again(struct engine *e, struct connecting *c, int handle)
{
	int r;

	r = request(e, c, handle);
	if (r > 0 && state_of(e, handle) == TCP_CLOSE)
		r = request(e, c, handle);
	if (r == 0) {
		cut_off(e, handle);
		wait_longer(e, c);
	} else if (r > 0) {
		forget(e, c);
	}
	return r < 0 ? r : 0;
}

/* One of the times at which the kernel would ask again. */
static int ask_again(struct engine *e, struct timer *timer)
{
	struct connecting *c = timer->owner;
	int handle, r = 0;
	bool own;

	handle = borrow(e, c, &own);
	if (handle < 0) {
		forget(e, c);
		return 0;
	}
	e->io_dirty = true;
	if (state_of(e, handle) != TCP_SYN_SENT) { /* somebody has ended it */
		restore(e, c, handle);
		forget(e, c);
	} else if (is_last(e, c)) {
		(void)e->g->ops->handle_connect(e->g, handle, NULL, 0);
		restore(e, c, handle);
		c->over = true;
	} else {
		r = try_again(e, c, handle);
	}
	if (own)
		e->g->ops->handle_release(e->g, handle);
	return r;
}

static int hold(struct engine *e, struct task *t, const struct fd_info *info, const struct sockaddr_storage *address, socklen_t len, int handle)
{
	const struct socket_note *note = socket_note(e, info, false);
	struct connecting *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->timer.owner = c;
	c->timer.fire = ask_again;
	c->dev = info->dev;
	c->ino = info->ino;
	c->beginner = t->id;
	c->address = *address;
	c->len = len;
	c->start_ns = e->clock.now_ns;
	(void)e->g->ops->handle_option(e->g, handle, IPPROTO_TCP, TCP_SYNCNT, &c->count, sizeof(c->count));
	if (note)
		(void)socket_timed_option_get(note, IPPROTO_TCP, TCP_USER_TIMEOUT, sizeof(c->limit_ms), &c->limit_ms);
	cut_off(e, handle);
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

bool connecting_count(struct engine *e, const struct fd_info *info, int *ret_count)
{
	const struct connecting *c = find(e, info);

	if (c)
		*ret_count = c->count;
	return c;
}

int connecting_set_count(struct engine *e, const struct fd_info *info, int count)
{
	struct connecting *c = find(e, info);

	if (!c)
		return -ENOENT;
	if (count < 1 || count > PATIENTLY) /* MAX_TCP_SYNCNT */
		return -EINVAL;
	c->count = count;
	return 0;
}

/* What the kernel says when it is over: who asks for it anew would begin the next one. */
static int end_badly(struct engine *e, struct connecting *c, int handle)
{
	bool over = c && c->over;
	int error;

	if (c && !over)
		restore(e, c, handle);
	if (c)
		forget(e, c);
	error = take_error(e, handle);
	(void)e->g->ops->handle_connect(e->g, handle, NULL, 0);
	if (!error)
		return -ECONNABORTED;
	return over ? -ETIMEDOUT : -error;
}

/* What has come of it. Several may have waited. */
static int outcome(struct engine *e, struct connecting *c, int handle, const struct sockaddr_storage *address, socklen_t len)
{
	int r;

	if (state_of(e, handle) == TCP_CLOSE)
		return end_badly(e, c, handle);
	r = e->g->ops->handle_connect(e->g, handle, address, len);
	return r == -EISCONN ? 0 : r;
}

bool connecting_waits(const struct task *t)
{
	return !t->call.first && t->wait.n_polls;
}

/* A call that waits, as for anything else that a descriptor is to be ready for; the descriptor itself may be closed meanwhile. */
int connecting_wait(struct engine *e, struct task *t, const struct sockaddr_storage *address, socklen_t len, struct verdict *v)
{
	struct connecting *c;
	struct fd_info info;
	int handle, r;

	r = wait_fd(e, t, (int)t->call.args[0], POLLOUT);
	if (r < 0)
		return r == -EBADF ? verdict_errno(v, EBADF) : r;
	handle = t->wait.polls[0].handle;
	if (e->g->ops->handle_info(e->g, handle, &info) < 0)
		return verdict_errno(v, EBADF);
	c = find(e, &info);
	if (r > 0)
		return verdict_return(v, outcome(e, c, handle, address, len));
	if (wait_timed_out(t))
		return verdict_errno(v, c && c->beginner != t->id ? EALREADY : EINPROGRESS);
	return socket_block(e, t, &info, false, v);
}

/* One that is there when a call comes: it may have ended, or be ended by this one (AF_UNSPEC). */
static struct connecting *known(struct engine *e, struct task *t, const struct fd_info *info, int handle, bool ends)
{
	struct connecting *c = find(e, info);

	if (c && (ends || (!c->over && state_of(e, handle) != TCP_SYN_SENT))) {
		if (!c->over)
			restore(e, c, handle);
		forget(e, c);
		return NULL;
	}
	if (c && c->beginner == t->id)
		c->beginner = -1;
	return c;
}

static int begin(struct engine *e, struct task *t, const struct fd_info *info, int handle, const struct sockaddr_storage *address,
		 socklen_t len, bool fast)
{
	int ended, r;

	r = (fast ? e->g->ops->handle_open_fast : e->g->ops->handle_connect)(e->g, handle, address, len);
	if (r != -EINPROGRESS)
		return r;
	ended = settled(e, handle, 0);
	if (ended == 0)
		ended = hold(e, t, info, address, len, handle);
	return ended < 0 ? ended : r;
}

int connecting_call(struct engine *e, struct task *t, const struct sockaddr_storage *address, socklen_t len, int msg_flags, struct verdict *v)
{
	bool ends = address->ss_family == AF_UNSPEC, waits;
	const struct fd_info *info;
	struct connecting *c;
	int handle, r;

	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r == -EBADF ? verdict_continue(v) : r;
	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (handle < 0)
		return handle == -EBADF ? verdict_errno(v, EBADF) : handle;
	r = e->g->ops->handle_flags(e->g, handle);
	waits = r >= 0 && !(r & O_NONBLOCK) && !(msg_flags & MSG_DONTWAIT);
	c = known(e, t, info, handle, ends);
	if (c && c->over)
		r = end_badly(e, c, handle);
	else if (ends || (!c && !is_local(address, len)))
		r = 1;
	else
		r = c && waits ? -EINPROGRESS : begin(e, t, info, handle, address, len, msg_flags & MSG_FASTOPEN);
	e->g->ops->handle_release(e->g, handle);
	if (r > 0)
		return verdict_continue(v);
	if (r == -EINPROGRESS && waits)
		return connecting_wait(e, t, address, len, v);
	return r == -ENOMEM ? r : verdict_return(v, r);
}
