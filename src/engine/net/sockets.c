/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of sockets beside what the kernel knows: see sockets.h. */
#include "engine/net/sockets.h"

#include <asm/socket.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/net/socket_note.h"
#include "engine/wait.h"

/* Readiness promises a third of the buffer at least, of which books are a part. */
uint64_t socket_takes_surely(struct engine *e, const struct fd_info *info)
{
	enum { USUALLY = 65536 }; /* of 208 KiB */
	const struct socket_note *note = socket_note(e, info, false);

	return note && note->buffer[1] && note->buffer[1] / 4 < USUALLY ? note->buffer[1] / 4 : USUALLY;
}

bool socket_has_packets(const struct fd_info *info)
{
	return info->kind == FD_INET && info->sock_type == SOCK_STREAM;
}

/* A packet is as many segments as fit into half of the largest window that there was (net/ipv4/tcp.c: tcp_xmit_size_goal); this one is no larger. */
uint64_t socket_piece(struct engine *e, int handle, const struct fd_info *info, uint64_t most)
{
	enum { LARGEST = 65536 - 512 }; /* a packet of the kernel's with its headers: GSO_LEGACY_MAX_SIZE, MAX_TCP_HEADER */
	struct tcp_info state = { 0 };
	uint64_t limit, packet;

	if (!socket_has_packets(info) || !e->g->ops->handle_option || e->g->ops->handle_option(e->g, handle, IPPROTO_TCP, TCP_INFO, &state, sizeof(state)) < 0 ||
	    !state.tcpi_snd_mss)
		return most;
	limit = state.tcpi_snd_wnd / 2 < LARGEST ? state.tcpi_snd_wnd / 2 : LARGEST;
	packet = limit / state.tcpi_snd_mss * state.tcpi_snd_mss;
	if (packet < state.tcpi_snd_mss)
		packet = state.tcpi_snd_mss;
	return packet < most ? packet : most;
}

static bool is_socket(const struct fd_info *info)
{
	return info->kind == FD_UNIX || info->kind == FD_INET || info->kind == FD_NETLINK || info->kind == FD_SOCKET;
}

bool socket_is_none(struct engine *e, struct task *t)
{
	const struct fd_info *info;

	return fdtable_info(e, t, (int)t->call.args[0], &info) == 0 && !is_socket(info);
}

bool socket_has_errors_only(const struct task *t, const struct fd_info *info)
{
	return info->kind == FD_INET && info->sock_type != SOCK_STREAM && t->wait.n_polls && t->wait.polls[0].revents == POLLERR;
}

bool socket_is_broken(struct engine *e, int handle)
{
	struct handle_poll look = { .handle = handle };

	return e->g->ops->handles_poll(e->g, &look, 1, 0) > 0 && look.revents & POLLERR;
}

uint32_t socket_queued(struct engine *e, int handle)
{
	uint32_t memory[SK_MEMINFO_VARS] = { 0 };

	(void)e->g->ops->handle_option(e->g, handle, SOL_SOCKET, SO_MEMINFO, memory, sizeof(memory));
	return memory[SK_MEMINFO_RMEM_ALLOC];
}

bool socket_never_waits(const struct fd_info *info, int flags)
{
	bool datagrams = info->kind == FD_INET && info->sock_type == SOCK_DGRAM;

	return !is_socket(info) || flags & MSG_DONTWAIT || (flags & MSG_ERRQUEUE && info->kind == FD_INET) || (flags & MSG_OOB && !datagrams);
}

uint64_t socket_deadline(struct engine *e, const struct task *t, const struct fd_info *info, bool receives)
{
	const struct socket_note *note = socket_note(e, info, false);

	return note ? time_add(t->call.start_ns, note->limit_ns[!receives]) : TIME_NEVER;
}

int socket_block(struct engine *e, struct task *t, const struct fd_info *info, bool receives, struct verdict *v)
{
	uint64_t deadline = socket_deadline(e, t, info, receives);

	if (wait_timed_out(t))
		return t->call.progress ? verdict_return(v, (int64_t)t->call.progress) : verdict_errno(v, EAGAIN);
	if (deadline != TIME_NEVER) {
		t->wait.limited = true;
		wait_until(e, t, deadline);
	}
	return verdict_block(v);
}

int socket_block_fd(struct engine *e, struct task *t, int fd, bool receives, struct verdict *v)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, fd, &info);
	if (r < 0)
		return r == -EBADF ? verdict_block(v) : r;
	return socket_block(e, t, info, receives, v);
}
