/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets and their addresses, which come from allocators of the run (sockets.h). */
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "engine/attempt.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/calls/handle_netlink.h"
#include "engine/calls/handlers.h"
#include "engine/net/connecting.h"
#include "engine/net/link_numbers.h"
#include "engine/files/paths.h"
#include "engine/net/sockets.h"
#include "netlink/protocols.h"

/* The ephemeral range of Linux (ip(7)), whatever the host's sysctl says. */
enum { PORT_FIRST = 32768, PORT_LAST = 60999, NAMES = 1 << 20 };

static in_port_t *port_of(struct sockaddr_storage *address, socklen_t len)
{
	if (address->ss_family == AF_INET && len >= sizeof(struct sockaddr_in))
		return &((struct sockaddr_in *)address)->sin_port;
	if (address->ss_family == AF_INET6 && len >= offsetof(struct sockaddr_in6, sin6_scope_id))
		return &((struct sockaddr_in6 *)address)->sin6_port;
	return NULL;
}

int address_port(const struct sockaddr_storage *address, socklen_t len)
{
	struct sockaddr_storage copy = *address;
	in_port_t *port = port_of(&copy, len);

	return port ? ntohs(*port) : -1;
}

static uint16_t next_port(struct engine *e)
{
	uint32_t port = e->ports.next_port ? e->ports.next_port : PORT_FIRST;

	e->ports.next_port = port == PORT_LAST ? PORT_FIRST : port + 1;
	return (uint16_t)port;
}

/* Binds with the first free port; what bind(2) says in the end. */
static int bind_any_port(struct engine *e, int handle, struct sockaddr_storage *address, socklen_t len)
{
	in_port_t *port = port_of(address, len);
	int r = -EADDRINUSE;

	for (int i = PORT_FIRST; i <= PORT_LAST && r == -EADDRINUSE; i++) {
		*port = htons(next_port(e));
		r = e->g->ops->handle_bind(e->g, handle, address, len);
	}
	return r;
}

/* An abstract name as the kernel forms them: a NUL and five hexadecimal digits (unix(7), autobind). */
static int bind_any_name(struct engine *e, int handle)
{
	struct sockaddr_storage address = { .ss_family = AF_UNIX };
	struct sockaddr_un *un = (struct sockaddr_un *)&address;
	socklen_t len = offsetof(struct sockaddr_un, sun_path) + 6;
	char name[8];
	int r = -EADDRINUSE;

	for (int i = 0; i < NAMES && r == -EADDRINUSE; i++) {
		(void)snprintf(name, sizeof(name), "%05x", e->ports.next_name++ % NAMES);
		memcpy(un->sun_path + 1, name, 5);
		r = e->g->ops->handle_bind(e->g, handle, &address, len);
	}
	return r;
}

int socket_read_address(struct engine *e, struct task *t, uint64_t addr, uint64_t len, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (len < sizeof(sa_family_t) || len > sizeof(*ret))
		return -EINVAL;
	return guest_read(e, t, addr, ret, len);
}

/* Who else finds the name: asked for once, it is known from then on (guest_ops.handle_reach). */
static int note_name(struct engine *e, struct task *t)
{
	int handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]), r;

	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	r = e->g->ops->handle_reach(e->g, handle);
	e->g->ops->handle_release(e->g, handle);
	return r < 0 ? r : 0;
}

static int bind_done(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct sockaddr_storage address;
	struct sockaddr_un *un = (struct sockaddr_un *)&address;
	struct guest_path path = { .dirfd = -100 /* AT_FDCWD */ };
	int r;

	v->kind = VERDICT_GO;
	if (t->call.result != 0)
		return 0;
	r = socket_read_address(e, t, a[1], a[2], &address);
	if (r < 0)
		return r == -EFAULT || r == -EINVAL ? 0 : r;
	if (address.ss_family != AF_UNIX)
		return socket_port_taken(e, t, false);
	(void)snprintf(path.text, sizeof(path.text), "%.*s", (int)sizeof(un->sun_path), un->sun_path);
	r = note_name(e, t);
	return r < 0 ? r : path_created(e, t, &path);
}

/* Binds through a handle and turns bind's answer into the call's. */
static int bind_for(struct engine *e, struct task *t, struct sockaddr_storage *address, socklen_t len,
		    struct verdict *v)
{
	int handle, r;

	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (handle < 0)
		return handle == -EBADF ? verdict_errno(v, EBADF) : handle;
	link_numbers_address(e, t, address, len);
	r = address->ss_family == AF_UNIX ? bind_any_name(e, handle) : bind_any_port(e, handle, address, len);
	e->g->ops->handle_release(e->g, handle);
	if (r == 0)
		r = socket_port_taken(e, t, false);
	return verdict_return(v, r);
}

int handle_net_bind(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct sockaddr_storage address;
	socklen_t len = (socklen_t)a[2];
	const struct fd_info *info;
	int r;

	if (t->call.done)
		return bind_done(e, t, v);
	if (netlink_serves(e, t, (int)a[0], &info))
		return netlink_bind(e, t, info, v);
	r = fdtable_info(e, t, (int)a[0], &info);
	if (r >= 0)
		r = socket_read_address(e, t, a[1], len, &address);
	if (r < 0)
		return r == -EBADF || r == -EFAULT || r == -EINVAL ? verdict_continue(v) : r;
	if (info->kind == FD_UNIX && address.ss_family == AF_UNIX && len == sizeof(sa_family_t))
		return bind_for(e, t, &address, len, v);
	if (info->kind == FD_UNIX && len > sizeof(sa_family_t) && ((struct sockaddr_un *)&address)->sun_path[0])
		return verdict_hook(v);
	if (info->kind == FD_INET && address_port(&address, len) == 0)
		return bind_for(e, t, &address, len, v);
	return socket_note(e, info, false) ? verdict_hook(v) : verdict_continue(v);
}

int socket_give_port(struct engine *e, struct task *t, int fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof(address);
	const struct fd_info *info;
	int handle, r;

	r = fdtable_info(e, t, fd, &info);
	if (r < 0)
		return r == -EBADF ? 0 : r;
	if (info->kind != FD_INET || (info->sock_type != SOCK_STREAM && info->sock_type != SOCK_DGRAM))
		return 0;
	handle = e->g->ops->fd_borrow(e->g, t->id, fd);
	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	r = e->g->ops->handle_address(e->g, handle, &address, &len);
	if (r == 0 && address_port(&address, len) == 0)
		(void)bind_any_port(e, handle, &address, len);
	e->g->ops->handle_release(e->g, handle);
	return 0;
}

/* A service of the host's that the guest has found by its name: what it says, and when, is nobody's to decide. */
static int report_peer(struct engine *e, struct task *t, const struct sockaddr_un *address)
{
	int handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]), r;

	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	r = e->g->ops->handle_reach(e->g, handle);
	if (r == REACH_OUTSIDE)
		engine_report_uncontrolled(e, "connection to a process outside", address->sun_path[0] ? address->sun_path : address->sun_path + 1);
	e->g->ops->handle_release(e->g, handle);
	return r < 0 ? r : 0;
}

/* Waits while the queue is full. */
static int connect_unix(struct engine *e, struct task *t, const struct fd_info *info, const struct sockaddr_un *address, struct verdict *v)
{
	int r = t->call.done && t->call.result == 0 ? report_peer(e, t, address) : 0;

	return r < 0 ? r : attempt_call(e, t, socket_deadline(e, t, info, false), EAGAIN, v);
}

int handle_net_connect(struct engine *e, struct task *t, struct verdict *v)
{
	struct sockaddr_storage address;
	const struct fd_info *info;
	int r;

	if (netlink_serves(e, t, (int)t->call.args[0], &info))
		return netlink_connect(e, t, info, v);
	r = socket_read_address(e, t, t->call.args[1], t->call.args[2], &address);
	if (r < 0)
		return r == -EFAULT || r == -EINVAL ? verdict_continue(v) : r;
	if (address.ss_family == AF_UNIX && fdtable_info(e, t, (int)t->call.args[0], &info) == 0)
		return connect_unix(e, t, info, (const void *)&address, v);
	if (connecting_waits(t))
		return connecting_wait(e, t, &address, (socklen_t)t->call.args[2], v);
	r = address_port(&address, (socklen_t)t->call.args[2]) > 0 ? socket_give_port(e, t, (int)t->call.args[0]) : 0;
	if (r < 0)
		return r;
	if (e->g->ops->handle_connect && fdtable_info(e, t, (int)t->call.args[0], &info) == 0 && info->kind == FD_INET && info->sock_type == SOCK_STREAM)
		return connecting_call(e, t, &address, (socklen_t)t->call.args[2], 0, v);
	return verdict_continue(v);
}

int handle_net_listen(struct engine *e, struct task *t, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	if (t->call.done) {
		v->kind = VERDICT_GO;
		return t->call.result == 0 ? socket_port_taken(e, t, true) : 0;
	}
	r = socket_give_port(e, t, (int)t->call.args[0]);
	if (r < 0)
		return r;
	r = fdtable_info(e, t, (int)t->call.args[0], &info);
	return r == 0 && socket_note(e, info, false) ? verdict_hook(v) : verdict_continue(v);
}

/* Names are what was bound: nothing of the host is in them. */
int handle_net_getsockname(struct engine *e, struct task *t, struct verdict *v)
{
	return verdict_continue(v);
}

int handle_net_getpeername(struct engine *e, struct task *t, struct verdict *v)
{
	return verdict_continue(v);
}

/* Families that are modelled; the others are what a kernel without them says. */
int handle_net_socket(struct engine *e, struct task *t, struct verdict *v)
{
	const struct nl_protocol *protocol;

	switch ((int)t->call.args[0]) {
	case AF_UNIX:
	case AF_INET:
	case AF_INET6:
		return verdict_continue(v);
	case AF_NETLINK:
		protocol = nl_protocol_get((int)t->call.args[2]);
		return protocol->modelled ? verdict_continue(v) : verdict_errno(v, protocol->refusal);
	default:
		return verdict_errno(v, EAFNOSUPPORT);
	}
}
