/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receive queue of one netlink socket, as the guest sees it. The engine keeps one for each open netlink socket
 * (open file description); every way to receive (read, readv, recvfrom, recvmsg, recvmmsg) is served from it.
 *
 * Use:
 *   send      nl_request_prepare() (request.h), the real send, then nl_queue_push_own() for refused messages, then read
 *             the real socket without blocking until it has nothing more, each datagram into nl_queue_push_raw().
 *             Netlink is synchronous: whatever a request causes is there, or is made by the reading, when the send has
 *             returned. A buffer of 64 KiB is enough for each read.
 *   receive   nl_queue_next() with the length of all the guest's buffers together and its flags; copy `len` bytes, set
 *             the sender's address (port 0, nl_groups), MSG_TRUNC in msg_flags when `truncated`, return `result`. When
 *             the queue is empty the guest blocks, or has EAGAIN.
 *   poll      nl_queue_is_ready().
 *   notify    datagrams that came for a multicast group are held back until nl_queue_settle(), which the engine calls
 *             at points that it decides: only then are they visible, sorted by object, those of one object in their
 *             order. Objects that are gone come first, what stood on a link before the link.
 *
 * Datagrams: replies and acknowledgements stay as the kernel cut them. A dump is held until its NLMSG_DONE has come,
 * and is then cut at the size that the kernel would use: the largest buffer that this socket was ever read with, at
 * least NL_GOOD_SIZE and at most NL_LARGEST. So a short buffer gets a truncated datagram, exactly as natively, and the
 * rest of it is lost; with MSG_PEEK it stays. NLMSG_DONE is in the last datagram if it fits.
 *
 * Notifications that nobody reads do not grow without end: what goes beyond SO_RCVBUF (nl_queue_set_room) is dropped,
 * and the next receiving call fails once with ENOBUFS. Answers are always kept: the kernel stops producing them when
 * there is no room.
 *
 * A notification that says of an object what the last one has said already is dropped: the kernel repeats some when its
 * asynchronous work gets to them.
 */
#ifndef HS_NETLINK_QUEUE_H
#define HS_NETLINK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netlink/dump.h"
#include "netlink/walk.h"

enum {
	NL_GOOD_SIZE = 3776, /* NLMSG_GOODSIZE with pages of 4096 bytes */
	NL_LARGEST = 32448,  /* 32 KiB less the kernel's bookkeeping */
	NL_DEFAULT_ROOM = 212992, /* net.core.rmem_default */
	NL_NOTICE_OVERHEAD = 512, /* what the kernel counts for a datagram beside its bytes, roughly */
	NL_MAX_REMEMBERED = 4096, /* objects whose last notification is remembered */
};

struct nl_item;
struct nl_notice;

struct nl_queue {
	struct nl_env *env; /* borrowed */
	int protocol;
	struct nl_item *first; /* owned, in order */
	struct nl_item *last;
	struct nl_item *spent;    /* owned: holds the bytes of the datagram that was consumed last */
	struct nl_dump *incoming; /* owned: a dump whose end has not come, or NULL */
	struct nl_notice *pending; /* owned: notifications that are not visible yet */
	size_t n_pending;
	struct nl_notice *said; /* owned: the last notification about each object */
	size_t n_said;
	size_t largest_buffer;
	size_t room;         /* for notifications, in bytes */
	size_t notice_bytes; /* that are pending or not read yet */
	bool overrun;        /* some were dropped, and the guest was not told yet */
};

struct nl_datagram {
	const uint8_t *bytes; /* borrowed until the next call on the queue */
	size_t len;           /* bytes to copy: no more than the buffers hold */
	size_t full_len;
	size_t result; /* what the receiving call returns */
	bool truncated;
	uint32_t group; /* multicast group (its number, for NETLINK_PKTINFO) or 0 */
};

enum nl_queue_outcome {
	NL_QUEUE_DATAGRAM = 0,
	NL_QUEUE_EMPTY = 1,
	NL_QUEUE_OVERRUN = 2, /* notifications were lost: ENOBUFS, unless NETLINK_NO_ENOBUFS is set */
};

void nl_queue_init(struct nl_queue *queue, struct nl_env *env, int protocol);
void nl_queue_deinit(struct nl_queue *queue);

/* SO_RCVBUF of the socket, as getsockopt() tells it. */
void nl_queue_set_room(struct nl_queue *queue, size_t bytes);

/*
 * Takes one datagram from the real socket. group is the number of the multicast group it came for (from NETLINK_PKTINFO
 * or nl_groups), 0 for an answer. 0 or -ENOMEM.
 */
int nl_queue_push_raw(struct nl_queue *queue, const void *bytes, size_t len, uint32_t group);

/* Takes messages that are in the guest's numbers already, each to be a datagram of its own. 0 or -ENOMEM. */
int nl_queue_push_own(struct nl_queue *queue, const void *messages, size_t len);

/* Serves a dump although its NLMSG_DONE has not come (a capture that was cut). 0 or -ENOMEM. */
int nl_queue_finish_dump(struct nl_queue *queue);

/* Makes the notifications visible that have come so far. 0 or -ENOMEM. */
int nl_queue_settle(struct nl_queue *queue);

/* Whether a receiving call would get a datagram, or ENOBUFS. */
bool nl_queue_is_ready(const struct nl_queue *queue);

/* Whether messages of a dump have come, but not its end: the real socket must be read on. */
bool nl_queue_is_collecting(const struct nl_queue *queue);

/*
 * The next datagram, for buffers of buf_len bytes in all and the flags of the receiving call (MSG_PEEK and MSG_TRUNC
 * matter). Returns an enum nl_queue_outcome; *ret is written for NL_QUEUE_DATAGRAM.
 */
int nl_queue_next(struct nl_queue *queue, size_t buf_len, int flags, struct nl_datagram *ret);

/* The bit of nl_groups for a group, 0 for none and for those above 32. */
uint32_t nl_group_mask(uint32_t group);

#endif
