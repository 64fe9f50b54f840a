/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults that strike data on its way: less is moved than was asked for; datagrams are late, or lost. See fault.h. */
#include <asm/unistd.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/sched/fault.h"
#include "engine/files/fdtable.h"
#include "engine/span.h"

enum { SHORT_MOST = 65536, DATAGRAM_MOST = 65536 };

/* How a call names its data. */
enum form { FORM_BUFFER = 1, FORM_VECTOR, FORM_FLAGS, FORM_MESSAGE };

static const struct mover {
	int nr;
	enum form form;
	bool reads;
} movers[] = {
	{ __NR_read, FORM_BUFFER, true },      { __NR_readv, FORM_VECTOR, true },     { __NR_recvfrom, FORM_FLAGS, true },
	{ __NR_recvmsg, FORM_MESSAGE, true },  { __NR_write, FORM_BUFFER, false },    { __NR_writev, FORM_VECTOR, false },
	{ __NR_sendto, FORM_FLAGS, false },    { __NR_sendmsg, FORM_MESSAGE, false },
};

static const struct mover *mover_of(int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(movers); i++)
		if (movers[i].nr == nr)
			return &movers[i];
	return NULL;
}

bool fault_moves_data(int nr)
{
	return mover_of(nr);
}

bool fault_reads(int nr)
{
	const struct mover *m = mover_of(nr);

	return m && m->reads;
}

/* The data of a call without special wishes (flags, addresses of stream sockets, control messages). 1, 0, or -errno. */
static int plain_span(struct engine *e, struct task *t, const struct mover *m, struct span *span)
{
	const uint64_t *a = t->call.args;
	int r;

	switch (m->form) {
	case FORM_BUFFER:
		span_buffer(span, a[1], a[2]);
		return 1;
	case FORM_FLAGS:
		span_buffer(span, a[1], a[2]);
		return (a[3] & ~(uint64_t)MSG_NOSIGNAL) == 0 && a[4] == 0;
	case FORM_VECTOR:
		r = span_vector(e, t, a[1], a[2], span);
		return r == -EFAULT || r == -EINVAL ? 0 : r < 0 ? r : 1;
	case FORM_MESSAGE:
		break;
	}
	return 0;
}

static ssize_t move_some(struct engine *e, struct task *t, const struct mover *m, const struct span *span, int handle, size_t n)
{
	_cleanup_free_ unsigned char *buf = malloc(n);
	ssize_t moved;
	size_t some;
	int r;

	if (!buf)
		return -ENOMEM;
	if (m->reads) {
		moved = e->g->ops->handle_read(e->g, handle, buf, n);
		r = moved > 0 ? span_store(e, t, span, 0, buf, (size_t)moved, &some) : 0;
		return r < 0 ? r : moved;
	}
	r = span_fetch(e, t, span, 0, buf, n, &some);
	if (r < 0 || some == 0)
		return r < 0 ? r : -EAGAIN;
	return e->g->ops->handle_write(e->g, handle, buf, some);
}

/* What we cannot do, or what fails, is left to the kernel, which then does the whole. */
int fault_shorten(struct engine *e, struct task *t, struct verdict *v)
{
	const struct mover *m = mover_of(t->call.nr);
	struct span span;
	ssize_t moved;
	size_t most;
	int handle, r;

	if (!t->call.shorten || !m || v->kind != VERDICT_CONTINUE)
		return 0;
	r = plain_span(e, t, m, &span);
	if (r <= 0 || span.total < 2)
		return r;
	most = span.total - 1 < SHORT_MOST ? (size_t)span.total - 1 : SHORT_MOST;
	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	moved = move_some(e, t, m, &span, handle, 1 + rng_below(&e->fault_rng, most));
	e->g->ops->handle_release(e->g, handle);
	if (moved < 0)
		return moved == -ESRCH || moved == -ENOMEM ? (int)moved : 0;
	e->io_dirty = true;
	return verdict_return(v, moved);
}

/* ---- datagrams ---- */

struct held_datagram {
	struct held_datagram *prev, *next;
	struct timer timer;
	int handle;
	struct sockaddr_storage to;
	socklen_t to_len; /* 0: where the socket sends by itself */
	size_t len;
	unsigned char data[];
};

static void drop(struct engine *e, struct held_datagram *d)
{
	timers_disarm(&e->timers, &d->timer);
	e->g->ops->handle_release(e->g, d->handle);
	DL_DELETE(e->held_datagrams, d);
	free(d);
}

void fault_deinit(struct engine *e)
{
	while (e->held_datagrams)
		drop(e, e->held_datagrams);
}

/* What the network says to it nobody hears, as natively behind the first hop. */
static int send_held(struct engine *e, struct timer *timer)
{
	struct held_datagram *d = timer->owner;

	(void)e->g->ops->handle_send(e->g, d->handle, d->data, d->len, d->to_len ? &d->to : NULL, d->to_len);
	drop(e, d);
	e->network_dirty = e->io_dirty = true;
	return 0;
}

/* Where the datagram goes and what is in it, for a call that sends one. 1, 0: it is none that can be held, -errno. */
static int take_datagram(struct engine *e, struct task *t, struct span *span, struct sockaddr_storage *to, socklen_t *ret_to_len)
{
	const uint64_t *a = t->call.args;
	struct msghdr message;
	uint64_t name = 0, len = 0;
	int r = 0;

	if (t->call.nr == __NR_sendmsg) {
		r = guest_read(e, t, a[1], &message, sizeof(message));
		if (r >= 0)
			r = span_vector(e, t, (uint64_t)(uintptr_t)message.msg_iov, message.msg_iovlen, span);
		name = r < 0 ? 0 : (uint64_t)(uintptr_t)message.msg_name;
		len = r < 0 ? 0 : message.msg_namelen;
		if (r >= 0 && message.msg_controllen)
			return 0;
	} else if (t->call.nr == __NR_writev) {
		r = span_vector(e, t, a[1], a[2], span);
	} else {
		span_buffer(span, a[1], a[2]);
		name = t->call.nr == __NR_sendto ? a[4] : 0;
		len = t->call.nr == __NR_sendto ? a[5] : 0;
	}
	*ret_to_len = name ? (socklen_t)len : 0;
	if (r >= 0 && name)
		r = len > sizeof(*to) ? -EINVAL : guest_read(e, t, name, to, len);
	if (r == -EFAULT || r == -EINVAL)
		return 0;
	return r < 0 ? r : span->total <= DATAGRAM_MOST;
}

static int hold(struct engine *e, struct task *t, const struct span *span, struct held_datagram *d, uint64_t delay_ns)
{
	size_t n;
	int r;

	for (size_t done = 0; done < span->total; done += n) {
		r = span_fetch(e, t, span, done, d->data + done, span->total - done, &n);
		if (r < 0)
			return r;
	}
	d->handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (d->handle < 0)
		return d->handle;
	d->timer = (struct timer){ .fire = send_held, .owner = d };
	DL_APPEND(e->held_datagrams, d);
	timers_arm(&e->timers, &d->timer, time_add(e->clock.now_ns, delay_ns));
	return 0;
}

int fault_datagram(struct engine *e, struct task *t, uint64_t delay_ns, struct verdict *v)
{
	_cleanup_free_ struct held_datagram *d = NULL;
	struct sockaddr_storage to = { 0 };
	struct span span;
	socklen_t to_len = 0;
	int r;

	r = take_datagram(e, t, &span, &to, &to_len);
	if (r <= 0)
		return r;
	if (delay_ns) {
		d = calloc(1, sizeof(*d) + span.total);
		if (!d)
			return -ENOMEM;
		d->to = to;
		d->to_len = to_len;
		d->len = span.total;
		r = hold(e, t, &span, d, delay_ns);
		if (r < 0)
			return r == -EFAULT || r == -EBADF ? 0 : r;
		d = NULL; /* the timer's */
	}
	r = verdict_return(v, (int64_t)span.total);
	return r < 0 ? r : 1;
}
