/* SPDX-License-Identifier: BSD-3-Clause */
/* Links in socket calls: see link_numbers.h. */
#include "engine/net/link_numbers.h"

#include <asm/unistd.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/net/link_shapes.h"

enum {
	CONTROL_LIMIT = 1 << 16, /* bytes of control messages that are looked at */
};

/* Bytes of the guest's that were replaced for the duration of a call. */
struct link_patch {
	uint64_t addr;
	size_t len;
	unsigned char original[LINK_SHAPE_MAX];
};

struct link_patches {
	struct link_patch *patches; /* owned */
	size_t n;
	bool handler; /* the handler wants to see the result as well */
	enum nl_direction direction; /* of what goes on now */
	bool found;   /* something is, or will be, translated */
	uint32_t *rooms; /* owned: for the address of each message that is to come; afterwards its own length stands there */
	size_t n_rooms;
};

/* How a call's arguments name memory; numbers are those of arguments. */
struct link_call {
	int nr;
	enum { BY_ADDRESS_IN = 1, BY_ADDRESS_OUT, BY_MESSAGE, BY_MESSAGES, BY_SET_OPTION, BY_GET_OPTION, BY_REQUEST } how;
	unsigned at, len; /* the memory, and its length (OUT: the address of the length) */
	bool out;         /* the kernel writes it */
	bool datagrams;   /* streams have nothing of the kind, and may wait for all that is asked for */
};

static const struct link_call calls[] = {
	{ __NR_bind, BY_ADDRESS_IN, 1, 2, false, false },
	{ __NR_connect, BY_ADDRESS_IN, 1, 2, false, false },
	{ __NR_sendto, BY_ADDRESS_IN, 4, 5, false, false },
	{ __NR_recvfrom, BY_ADDRESS_OUT, 4, 5, true, true },
	{ __NR_accept, BY_ADDRESS_OUT, 1, 2, true, false },
	{ __NR_accept4, BY_ADDRESS_OUT, 1, 2, true, false },
	{ __NR_getsockname, BY_ADDRESS_OUT, 1, 2, true, false },
	{ __NR_getpeername, BY_ADDRESS_OUT, 1, 2, true, false },
	{ __NR_sendmsg, BY_MESSAGE, 1, 0, false, false },
	{ __NR_recvmsg, BY_MESSAGE, 1, 0, true, true },
	{ __NR_sendmmsg, BY_MESSAGES, 1, 2, false, false },
	{ __NR_recvmmsg, BY_MESSAGES, 1, 2, true, true },
	{ __NR_setsockopt, BY_SET_OPTION, 3, 4, false, false },
	{ __NR_getsockopt, BY_GET_OPTION, 3, 4, true, false },
	{ __NR_ioctl, BY_REQUEST, 2, 0, false, false },
};

static const struct link_call *link_call(const struct task *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].nr == t->call.nr)
			return &calls[i];
	return NULL;
}

/* One call at work. */
struct work {
	struct engine *e;
	struct task *t;
	struct link_patches *patches;
};

static int remember(struct work *w, uint64_t addr, const void *original, size_t len)
{
	struct link_patches *all = w->patches;
	struct link_patch *grown = reallocarray(all->patches, all->n + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	all->patches = grown;
	grown[all->n] = (struct link_patch){ .addr = addr, .len = len };
	memcpy(grown[all->n++].original, original, len);
	return 0;
}

static bool translate_bytes(const struct work *w, const struct link_shape *shape, unsigned char *bytes, size_t n)
{
	const struct nl_map *map = &w->e->netlinks.map;

	if (n < shape->least && w->patches->direction == NL_TO_VIRTUAL)
		return link_shape_translate_cut(map, shape, bytes, n);
	return link_shape_translate(map, w->patches->direction, shape, bytes, n);
}

/*
 * Translates what is at `addr`, of which `len` bytes are there. Memory that cannot be read or written is the kernel's to complain of. 0 or
 * -errno, when the run cannot go on.
 */
static int translate_at(struct work *w, const struct link_shape *shape, uint64_t addr, uint64_t len)
{
	unsigned char original[LINK_SHAPE_MAX], bytes[LINK_SHAPE_MAX];
	size_t n = len < shape->size ? (size_t)len : shape->size;
	int r;

	r = guest_read(w->e, w->t, addr, bytes, n);
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	memcpy(original, bytes, n);
	if (!translate_bytes(w, shape, bytes, n))
		return 0;
	w->patches->found = true;
	if (memcmp(original, bytes, n) == 0)
		return 0;
	r = guest_write(w->e, w->t, addr, bytes, n);
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	return w->patches->direction == NL_TO_REAL ? remember(w, addr, original, n) : 0;
}

static int translate_control(struct work *w, uint64_t addr, uint64_t len)
{
	const struct link_shape *shape;
	struct cmsghdr header;
	int r = 0;

	if (len > CONTROL_LIMIT)
		len = CONTROL_LIMIT;
	for (uint64_t at = 0; r >= 0 && len - at >= sizeof(header); at += CMSG_ALIGN(header.cmsg_len)) {
		r = guest_read(w->e, w->t, addr + at, &header, sizeof(header));
		if (r < 0)
			return r == -EFAULT ? 0 : r;
		if (header.cmsg_len < sizeof(header) || header.cmsg_len > len - at)
			return 0;
		shape = link_shape_of_control(header.cmsg_level, header.cmsg_type);
		if (shape)
			r = translate_at(w, shape, addr + at + CMSG_LEN(0), header.cmsg_len - CMSG_LEN(0));
		if (CMSG_ALIGN(header.cmsg_len) > len - at)
			return r;
	}
	return r;
}

/* How much of an address of `len` bytes, which the kernel has given to the message of this number, is in the guest's memory. */
static uint64_t there(const struct work *w, size_t number, uint64_t len)
{
	if (w->patches->direction == NL_TO_REAL)
		return len;
	if (number >= w->patches->n_rooms)
		return 0;
	return len < w->patches->rooms[number] ? len : w->patches->rooms[number];
}

static int translate_message(struct work *w, uint64_t addr, size_t number)
{
	uint64_t name;
	struct msghdr message;
	int r;

	r = guest_read(w->e, w->t, addr, &message, sizeof(message));
	if (r < 0)
		return r == -EFAULT ? 0 : r;
	name = (uint64_t)(uintptr_t)message.msg_name;
	r = name ? translate_at(w, link_shape_of_address(), name, there(w, number, message.msg_namelen)) : 0;
	if (r >= 0 && message.msg_control)
		r = translate_control(w, (uint64_t)(uintptr_t)message.msg_control, message.msg_controllen);
	return r;
}

static int translate_messages(struct work *w, uint64_t addr, uint64_t n)
{
	int r = 0;

	for (uint64_t i = 0; r >= 0 && i < n && i < UIO_MAXIOV; i++)
		r = translate_message(w, addr + i * sizeof(struct mmsghdr), (size_t)i);
	return r;
}

/* A length that stands in memory, 0 if it cannot be read. */
static int stored_length(struct work *w, uint64_t addr, uint64_t *ret)
{
	uint32_t len = 0;
	int r;

	r = addr ? guest_read(w->e, w->t, addr, &len, sizeof(len)) : 0;
	*ret = len;
	return r == -EFAULT ? 0 : r;
}

/* An option, or what is asked or answered about it. */
static int translate_option(struct work *w, bool set)
{
	const uint64_t *a = w->t->call.args;
	unsigned use = set ? LINK_SET : w->patches->direction == NL_TO_REAL ? LINK_QUESTION : LINK_ANSWER;
	const struct link_shape *shape = link_shape_of_option((int)a[1], (int)a[2], use);
	uint64_t len = a[4];
	int r = 0;

	if (!set)
		r = stored_length(w, a[4], &len);
	if (r < 0)
		return r;
	if (use == LINK_ANSWER && link_option_is_control((int)a[1], (int)a[2]))
		return translate_control(w, a[3], len);
	return shape ? translate_at(w, shape, a[3], len) : 0;
}

/* Through IPv6 sockets addresses and routes are set by index (ipv6(7)). */
static int translate_request(struct work *w)
{
	const uint64_t *a = w->t->call.args;
	const struct link_shape *shape = link_shape_of_request((uint32_t)a[1]);
	int handle, domain = 0;

	if (!shape)
		return 0;
	handle = w->e->g->ops->fd_borrow(w->e->g, w->t->id, (int)a[0]);
	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	(void)w->e->g->ops->handle_option(w->e->g, handle, SOL_SOCKET, SO_DOMAIN, &domain, sizeof(domain));
	w->e->g->ops->handle_release(w->e->g, handle);
	return domain == AF_INET6 ? translate_at(w, shape, a[2], shape->size) : 0;
}

/* The call's memory, in the direction of the patches; `n`: how many messages there are. */
static int translate_call(struct work *w, const struct link_call *call, uint64_t n)
{
	const uint64_t *a = w->t->call.args;
	uint64_t len;
	int r;

	switch (call->how) {
	case BY_ADDRESS_IN:
		return a[call->at] ? translate_at(w, link_shape_of_address(), a[call->at], a[call->len]) : 0;
	case BY_ADDRESS_OUT:
		r = stored_length(w, a[call->len], &len);
		return r < 0 || !a[call->at] ? r : translate_at(w, link_shape_of_address(), a[call->at], there(w, 0, len));
	case BY_MESSAGE:
		return translate_message(w, a[call->at], 0);
	case BY_MESSAGES:
		return translate_messages(w, a[call->at], n);
	case BY_SET_OPTION:
		return translate_option(w, true);
	case BY_GET_OPTION:
		return translate_option(w, false);
	case BY_REQUEST:
		return translate_request(w);
	}
	return 0;
}

/* Does it have to be looked at what the kernel gives? */
static int gives(struct engine *e, struct task *t, const struct link_call *call)
{
	const uint64_t *a = t->call.args;
	struct msghdr message;
	int r;

	switch (call->how) {
	case BY_ADDRESS_OUT:
		return a[call->at] != 0;
	case BY_GET_OPTION:
		return link_shape_of_option((int)a[1], (int)a[2], LINK_ANSWER) || link_option_is_control((int)a[1], (int)a[2]);
	case BY_MESSAGE:
		r = guest_read(e, t, a[call->at], &message, sizeof(message));
		if (r < 0)
			return r == -EFAULT ? 0 : r;
		return (message.msg_name && message.msg_namelen) || (message.msg_control && message.msg_controllen);
	case BY_MESSAGES:
		return 1;
	case BY_ADDRESS_IN:
	case BY_SET_OPTION:
	case BY_REQUEST:
		break;
	}
	return 0;
}

static int note_room(struct work *w, size_t number, uint64_t addr)
{
	uint32_t room = 0;
	int r;

	r = guest_read(w->e, w->t, addr, &room, sizeof(room));
	w->patches->rooms[number] = r < 0 ? 0 : room;
	return r == -EFAULT ? 0 : r;
}

/* Before the kernel overwrites them: the lengths of the buffers for addresses. */
static int note_rooms(struct work *w, const struct link_call *call)
{
	const uint64_t *a = w->t->call.args;
	uint64_t n = call->how != BY_MESSAGES ? 1 : a[call->len] < UIO_MAXIOV ? a[call->len] : UIO_MAXIOV;
	int r = 0;

	if (!call->out || (call->how != BY_ADDRESS_OUT && call->how != BY_MESSAGE && call->how != BY_MESSAGES))
		return 0;
	w->patches->rooms = calloc(n + 1, sizeof(*w->patches->rooms));
	if (!w->patches->rooms)
		return -ENOMEM;
	w->patches->n_rooms = (size_t)n;
	if (call->how == BY_ADDRESS_OUT)
		return a[call->at] && a[call->len] ? note_room(w, 0, a[call->len]) : 0;
	for (uint64_t i = 0; i < n && r >= 0; i++)
		r = note_room(w, (size_t)i, a[call->at] + i * sizeof(struct mmsghdr) + offsetof(struct msghdr, msg_namelen));
	return r;
}

/* Are there links beside loopback, and is it an internet socket? */
static int matters(struct engine *e, struct task *t, const struct link_call *call)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	if (r < 0)
		return r == -EBADF ? 0 : r;
	if (info->kind != FD_INET || (call->datagrams && info->sock_type == SOCK_STREAM))
		return 0;
	return (e->g->abilities & GUEST_CAN_HOOK) && netlinks_usable(e, t) &&
	       nl_map_has_links(&e->netlinks.map);
}

/* The kernel is about to run the call: translates what it takes, and has it stopped if there is more to do afterwards. */
static int before(struct engine *e, struct task *t, struct verdict *v)
{
	const struct link_call *call = link_call(t);
	struct work w = { .e = e, .t = t };
	int r;

	r = call ? matters(e, t, call) : 0;
	if (r <= 0)
		return r;
	link_numbers_forget(t);
	w.patches = t->links = calloc(1, sizeof(*t->links));
	if (!w.patches)
		return -ENOMEM;
	w.patches->direction = NL_TO_REAL;
	w.patches->handler = v->kind == VERDICT_HOOK;
	r = call->out && call->how != BY_GET_OPTION ? 0 : translate_call(&w, call, t->call.args[call->len]);
	if (r >= 0 && !w.patches->found && call->out)
		r = gives(e, t, call);
	if (r > 0) {
		r = note_rooms(&w, call);
		r = r < 0 ? r : 1;
	}
	if (r > 0 || (r == 0 && w.patches->found))
		v->kind = VERDICT_HOOK;
	else
		link_numbers_forget(t);
	return r < 0 ? r : 0;
}

static int put_back(struct work *w)
{
	struct link_patches *all = w->patches;
	int r = 0;

	for (size_t i = all->n; i > 0 && (r >= 0 || r == -EFAULT); i--)
		r = guest_write(w->e, w->t, all->patches[i - 1].addr, all->patches[i - 1].original, all->patches[i - 1].len);
	return r == -EFAULT ? 0 : r;
}

/* The kernel has run it. */
static int after(struct engine *e, struct task *t)
{
	const struct link_call *call = link_call(t);
	struct work w = { .e = e, .t = t, .patches = t->links };
	int r;

	r = put_back(&w);
	if (r < 0 || !call || !call->out || t->call.result < 0)
		return r;
	w.patches->direction = NL_TO_VIRTUAL;
	return translate_call(&w, call, (uint64_t)t->call.result);
}

int link_numbers_call(struct engine *e, struct task *t, struct verdict *v)
{
	bool handler = true;
	int r;

	if (t->call.done && t->links) {
		handler = t->links->handler;
		r = after(e, t);
		link_numbers_forget(t);
		v->kind = VERDICT_GO;
		if (r < 0 || !handler)
			return r;
	}
	r = t->call.row->handler(e, t, v);
	if (r < 0 || t->call.done || (v->kind != VERDICT_CONTINUE && v->kind != VERDICT_HOOK))
		return r;
	return before(e, t, v);
}

void link_numbers_address(struct engine *e, struct task *t, struct sockaddr_storage *address, size_t len)
{
	if (netlinks_usable(e, t))
		(void)link_shape_translate(&e->netlinks.map, NL_TO_REAL, link_shape_of_address(), (unsigned char *)address, len);
}

void link_numbers_forget(struct task *t)
{
	if (!t->links)
		return;
	free(t->links->patches);
	free(t->links->rooms);
	free(t->links);
	t->links = NULL;
}
