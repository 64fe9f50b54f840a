/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time stamps of what sockets receive (socket(7), Linux' Documentation/networking/timestamping). The kernel says which messages have one; when
 * it was is the time at which the guest takes the data. Whether the first packets have SCM_TIMESTAMPING depends on work that the kernel does
 * later: here all have it.
 */
#include <asm/socket.h>
#include <errno.h>
#include <linux/net_tstamp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/net/socket_note.h"
#include "engine/net/sockets.h"

enum { CONTROL_MAX = 65536, STAMPING_WORDS = 6 };

bool socket_received(struct engine *e, const struct fd_info *info)
{
	struct socket_note *note = socket_note(e, info, false);

	if (!note)
		return false;
	(void)clock_value(&e->clock, CLOCK_REALTIME, &note->received_ns);
	return note->stamps;
}

uint64_t socket_stamp(struct engine *e, const struct fd_info *info)
{
	const struct socket_note *note = socket_note(e, info, false);
	uint64_t ns = 0;

	if (note && note->received_ns)
		return note->received_ns;
	(void)clock_value(&e->clock, CLOCK_REALTIME, &ns);
	return ns;
}

static bool is_stamping(int type)
{
	return type == SO_TIMESTAMPING_OLD || type == SO_TIMESTAMPING_NEW;
}

static bool is_stamp(int type)
{
	return type == SO_TIMESTAMP_OLD || type == SO_TIMESTAMP_NEW || type == SO_TIMESTAMPNS_OLD || type == SO_TIMESTAMPNS_NEW;
}

/* Seconds and the rest: a struct timeval or timespec. */
static void put_stamp(int type, void *data, uint64_t ns)
{
	int64_t parts[2] = { (int64_t)(ns / NS_PER_S), (int64_t)(ns % NS_PER_S) };

	if (type == SO_TIMESTAMP_OLD || type == SO_TIMESTAMP_NEW)
		parts[1] /= 1000;
	memcpy(data, parts, sizeof(parts));
}

/* The slots that are in use: software, (deprecated), hardware. There is no hardware. */
static void put_stamping(void *data, uint64_t ns)
{
	int64_t slots[STAMPING_WORDS] = { 0 };

	put_stamp(SO_TIMESTAMPNS_OLD, slots, ns);
	memcpy(data, slots, sizeof(slots));
}

/* Control messages while they are being gone through. */
struct control {
	unsigned char *bytes; /* room for one message more than was received */
	size_t len;
	size_t after_stamps; /* where SCM_TIMESTAMPING stands when there is one */
	bool has_stamping;
};

static void rewrite(struct control *control, uint64_t ns)
{
	struct cmsghdr header;

	for (size_t at = 0; at + sizeof(header) <= control->len; at += CMSG_ALIGN(header.cmsg_len)) {
		memcpy(&header, control->bytes + at, sizeof(header));
		if (header.cmsg_len < sizeof(header) || header.cmsg_len > control->len - at)
			return;
		if (header.cmsg_level != SOL_SOCKET)
			continue;
		if (is_stamp(header.cmsg_type) && header.cmsg_len >= CMSG_LEN(2 * sizeof(int64_t))) {
			put_stamp(header.cmsg_type, control->bytes + at + CMSG_LEN(0), ns);
			control->after_stamps = at + CMSG_ALIGN(header.cmsg_len);
		}
		if (is_stamping(header.cmsg_type) && header.cmsg_len >= CMSG_LEN(STAMPING_WORDS * sizeof(int64_t))) {
			put_stamping(control->bytes + at + CMSG_LEN(0), ns);
			control->has_stamping = true;
		}
	}
}

static void insert_stamping(struct control *control, int type, uint64_t ns)
{
	struct cmsghdr header = { .cmsg_level = SOL_SOCKET, .cmsg_type = type };
	size_t size = CMSG_SPACE(STAMPING_WORDS * sizeof(int64_t)), at = control->after_stamps;

	header.cmsg_len = CMSG_LEN(STAMPING_WORDS * sizeof(int64_t));
	memmove(control->bytes + at + size, control->bytes + at, control->len - at);
	memcpy(control->bytes + at, &header, sizeof(header));
	put_stamping(control->bytes + at + CMSG_LEN(0), ns);
	control->len += size;
}

/* A message with data, not from the queue of errors, ought to have it. */
static bool wants_stamping(const struct socket_note *note, const struct msghdr *message)
{
	const uint32_t both = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;

	return (note->timestamping & both) == both && !(message->msg_flags & MSG_ERRQUEUE);
}

int socket_stamp_message(struct engine *e, struct task *t, const struct fd_info *info, uint64_t msghdr_addr, uint64_t control_room)
{
	const struct socket_note *note = socket_note(e, info, false);
	_cleanup_free_ unsigned char *bytes = NULL;
	struct control control = { 0 };
	struct msghdr message;
	uint64_t addr;
	int r;

	if (!note || !note->stamps || !control_room || control_room > CONTROL_MAX)
		return 0;
	r = guest_read(e, t, msghdr_addr, &message, sizeof(message));
	if (r < 0 || message.msg_controllen > control_room)
		return r;
	bytes = calloc(1, message.msg_controllen + CMSG_SPACE(STAMPING_WORDS * sizeof(int64_t)));
	if (!bytes)
		return -ENOMEM;
	control.bytes = bytes;
	control.len = message.msg_controllen;
	addr = (uint64_t)(uintptr_t)message.msg_control;
	r = control.len ? guest_read(e, t, addr, bytes, control.len) : 0;
	if (r < 0)
		return r;
	rewrite(&control, note->received_ns);
	if (!control.has_stamping && wants_stamping(note, &message)) {
		if (control.len + CMSG_SPACE(STAMPING_WORDS * sizeof(int64_t)) <= control_room)
			insert_stamping(&control, note->timestamping_type, note->received_ns);
		else
			message.msg_flags |= MSG_CTRUNC;
		message.msg_controllen = control.len;
		r = guest_write(e, t, msghdr_addr, &message, sizeof(message));
	}
	return r == 0 && control.len ? guest_write(e, t, addr, bytes, control.len) : r;
}
