/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that the kernel would choose by chance: ports of bind(2) to port 0 and of sockets that are used unbound, abstract names of UNIX
 * sockets that bind to nothing. They come from allocators of the run instead, in order of the calls that need them. And what guests have set
 * of their sockets that the kernel would count or round by the host's measures.
 */
#ifndef HS_ENGINE_SOCKETS_H
#define HS_ENGINE_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct engine;
struct fd_info;
struct task;
struct verdict;

/* Made when an option is set that is noted here. Sockets without one have nothing of it. */
struct socket_note;

struct socket_notes {
	struct socket_note *by_inode;
	unsigned n_looked; /* how many were left when it was last looked which sockets still exist */
};

struct port_allocator {
	uint32_t next_port; /* 0: not used yet */
	uint32_t next_name;
};

/* The socket behind the task's descriptor gets a port when it has none yet. 0, or -errno of ours; what the guest did wrong is ignored here. */
int socket_give_port(struct engine *e, struct task *t, int fd);

/* The note of a socket, NULL when it has none; made when `make` (NULL: out of memory). */
struct socket_note *socket_note(struct engine *e, const struct fd_info *info, bool make);
void socket_notes_deinit(struct socket_notes *notes);

/*
 * Lets go of the notes of sockets that were passed in messages and exist no more, when there are twice as many as were left the last time. The
 * numbers of those do not come again, so nothing that is decided depends on when. 0 or -errno.
 */
int socket_notes_sweep(struct engine *e, struct task *t);

/*
 * Parks a call in which the task waits for its first descriptor (task->wait) to be ready, up to the time limit that the socket has (SO_RCVTIMEO,
 * SO_SNDTIMEO): when it is over, the verdict is what the call has done so far, or EAGAIN. For other descriptors there is no limit.
 */
int socket_block(struct engine *e, struct task *t, const struct fd_info *info, bool receives, struct verdict *v);
int socket_block_fd(struct engine *e, struct task *t, int fd, bool receives, struct verdict *v);
/*
 * Of datagrams: is there nothing to receive behind a descriptor that is ready, according to the last look (task->wait)? What makes it so is an error
 * that the next call hears of, or those that wait in its queue (ip(7): IP_RECVERR), which reading does not.
 */
bool socket_has_errors_only(const struct task *t, const struct fd_info *info);
/* Has it an error that the next call hears of? */
bool socket_is_broken(struct engine *e, int handle);
/* How much it has in its queues: changes when an error comes. */
uint32_t socket_queued(struct engine *e, int handle);
/* How much a stream that is ready for it takes at once. */
uint64_t socket_takes_surely(struct engine *e, const struct fd_info *info);

/* TCP cuts what it is given into packets. So much is one in any case (RFC 9293, 3.7.1). */
enum { SOCKET_PACKET_SURE = 536 };
bool socket_has_packets(const struct fd_info *info);

/*
 * How much of `most` bytes may be given to the stream at once: of TCP what is one packet. Answers to several of them, that come while the call which sends
 * them has the socket, become one answer, with the last one's window only (net/ipv4/tcp_ipv4.c: tcp_add_backlog); whether they come then or later is
 * a matter of the host's load, since the kernel puts its work off to ksoftirqd when another process is due. Given packet by packet, with the network at
 * rest between them, there is never more than one answer. The network is at rest when this is called.
 */
uint64_t socket_piece(struct engine *e, int handle, const struct fd_info *info, uint64_t most);
/* Is the first argument of the call a descriptor of something else? It is refused at once (ENOTSOCK), whatever that would wait for. */
bool socket_is_none(struct engine *e, struct task *t);
/*
 * Does a call with these flags come back at once, whatever is there to receive, or because it is no socket? Errors are of the internet's
 * sockets only, and bytes out of band are waited for like others by datagrams, which have none.
 */
bool socket_never_waits(const struct fd_info *info, int flags);
/* When a call on the socket that begins now ends by its time limit; TIME_NEVER. */
uint64_t socket_deadline(struct engine *e, const struct task *t, const struct fd_info *info, bool receives);

/* Socket `to` was accepted from `from`: it has the same options. */
int socket_note_copy(struct engine *e, uint64_t from_dev, uint64_t from_ino, const struct fd_info *to);

/* Options: takes note of one that the kernel has set; *ret_noted: it is of that kind. */
bool socket_option_is_noted(int level, int name);
int socket_option_set(struct engine *e, struct task *t, const struct fd_info *info);
/* How such an option reads; false: nothing was set, ret_len is untouched. */
bool socket_option_get(const struct socket_note *note, int name, void *ret_value, size_t *ret_len);

/*
 * Options that have the kernel wait by its own clock (timed_options.c). `answer`, before the kernel is asked for one of them:
 * *ret_answered: it is not to be asked, and the result is the call's. `set`: the kernel has taken it. `get`: how it reads for a value of
 * len bytes, as `socket_option_get`.
 */
bool socket_option_is_timed(const struct fd_info *info, int level, int name);
int socket_timed_option_answer(struct engine *e, struct task *t, const struct fd_info *info, bool *ret_answered);
int socket_timed_option_set(struct engine *e, struct task *t, const struct fd_info *info);
bool socket_timed_option_get(const struct socket_note *note, int level, int name, size_t len, void *ret_value);
/* How it reads where it is not set: a number behind so many bytes of the kernel's; false: it is none of them. */
bool socket_timed_option_unset(int level, int name, size_t *ret_keep, uint64_t *ret_value);
/* What was accepted has them from the socket that listens. */
void socket_timed_options_inherit(struct socket_note *to, const struct socket_note *from);

/*
 * The socket of the call has got its port, or listens there: if others may share it, the first one is to be chosen. Has its effect on streams when
 * they listen, on others when they are bound: earlier the kernel would take it for a reason not to share.
 */
int socket_port_taken(struct engine *e, struct task *t, bool listens);

/* Time stamps of what is received. A data is taken now; does the control part of messages want to be looked at? */
bool socket_received(struct engine *e, const struct fd_info *info);
/* Virtual CLOCK_REALTIME of the last data taken, as far as it is known; else of now. */
uint64_t socket_stamp(struct engine *e, const struct fd_info *info);
/* Puts virtual time stamps into a received message's control part. control_room: as the guest gave it. */
int socket_stamp_message(struct engine *e, struct task *t, const struct fd_info *info, uint64_t msghdr_addr, uint64_t control_room);

/* A call's address: 0; -EINVAL or -EFAULT are the guest's, or another -errno. */
int socket_read_address(struct engine *e, struct task *t, uint64_t addr, uint64_t len, struct sockaddr_storage *ret);
/* True for AF_INET and AF_INET6 addresses with port 0. */
int address_port(const struct sockaddr_storage *address, socklen_t len);

#endif
