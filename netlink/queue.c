/* SPDX-License-Identifier: BSD-3-Clause */
/* Receive queues: see queue.h. */
#include "netlink/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/netlink.h>

#include "base/cleanup.h"
#include "netlink/key.h"
#include "netlink/protocols.h"

/* A datagram, or a dump that is cut into datagrams as they are asked for. */
struct nl_item {
	struct nl_item *next;
	struct nl_dump *dump; /* owned, or NULL: then */
	struct nl_buf bytes;
	uint32_t group;
};

/* One notification, as the guest sees it. */
struct nl_notice {
	struct nl_key key;
	uint8_t *message; /* owned */
	uint32_t group;
	bool gone; /* the object is, after all that is pending */
};

static struct nl_dump *dump_free(struct nl_dump *dump)
{
	if (dump) {
		nl_dump_deinit(dump);
		free(dump);
	}
	return NULL;
}

static struct nl_item *item_free(struct nl_item *item)
{
	if (item) {
		dump_free(item->dump);
		nl_buf_deinit(&item->bytes);
		free(item);
	}
	return NULL;
}
DEFINE_CLEANUP(item, struct nl_item, item_free)

static void free_notices(struct nl_notice *notices, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(notices[i].message);
	free(notices);
}

void nl_queue_init(struct nl_queue *queue, struct nl_env *env, int protocol)
{
	*queue = (struct nl_queue){ .env = env, .protocol = protocol, .room = NL_DEFAULT_ROOM };
}

void nl_queue_deinit(struct nl_queue *queue)
{
	struct nl_item *next;

	for (struct nl_item *item = queue->first; item; item = next) {
		next = item->next;
		item_free(item);
	}
	item_free(queue->spent);
	dump_free(queue->incoming);
	free_notices(queue->pending, queue->n_pending);
	free_notices(queue->said, queue->n_said);
	nl_queue_init(queue, queue->env, queue->protocol);
}

void nl_queue_set_room(struct nl_queue *queue, size_t bytes)
{
	queue->room = bytes;
}

static size_t notice_cost(size_t len)
{
	return len + NL_NOTICE_OVERHEAD;
}

static void append_item(struct nl_queue *queue, struct nl_item *item)
{
	if (queue->last)
		queue->last->next = item;
	else
		queue->first = item;
	queue->last = item;
}

static int append_bytes(struct nl_queue *queue, const void *bytes, size_t len, uint32_t group)
{
	_cleanup_(cleanup_item) struct nl_item *item = NULL;

	item = calloc(1, sizeof(*item));
	if (!item || nl_buf_put(&item->bytes, bytes, len) < 0)
		return -ENOMEM;
	item->group = group;
	append_item(queue, take_ptr(item));
	return 0;
}

int nl_queue_finish_dump(struct nl_queue *queue)
{
	struct nl_item *item;
	int r;

	if (!queue->incoming)
		return 0;
	r = nl_dump_finish(queue->incoming, queue->env);
	if (r < 0)
		return r;
	if (nl_dump_is_done(queue->incoming)) {
		queue->incoming = dump_free(queue->incoming);
		return 0;
	}
	item = calloc(1, sizeof(*item));
	if (!item)
		return -ENOMEM;
	item->dump = take_ptr(queue->incoming);
	append_item(queue, item);
	return 0;
}

static int push_multi(struct nl_queue *queue, const struct nlmsghdr *nlh)
{
	int r;

	if (!queue->incoming) {
		queue->incoming = malloc(sizeof(*queue->incoming));
		if (!queue->incoming)
			return -ENOMEM;
		nl_dump_init(queue->incoming, queue->protocol);
	}
	r = nl_dump_add(queue->incoming, nlh);
	if (r < 0 || nlh->nlmsg_type != NLMSG_DONE)
		return r;
	return nl_queue_finish_dump(queue);
}

/* The answer to a question whose answer is hidden: without one the guest would wait for ever. */
static int put_absence(struct nl_queue *queue, const struct nlmsghdr *nlh, struct nl_buf *out)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
	} absence = {
		.header = {
			.nlmsg_len = sizeof(absence),
			.nlmsg_type = NLMSG_ERROR,
			.nlmsg_flags = NLM_F_CAPPED,
			.nlmsg_seq = nlh->nlmsg_seq,
			.nlmsg_pid = nl_ports_to_virtual(queue->env->ports, queue->protocol, nlh->nlmsg_pid),
		},
		.error = {
			.error = -ENOENT,
			.msg = {
				.nlmsg_len = sizeof(struct nlmsghdr),
				.nlmsg_type = nlh->nlmsg_type,
				.nlmsg_flags = NLM_F_REQUEST,
				.nlmsg_seq = nlh->nlmsg_seq,
			},
		},
	};

	if (queue->protocol == NETLINK_ROUTE)
		absence.error.msg.nlmsg_type = (uint16_t)((nlh->nlmsg_type & ~3u) | NL_VERB_GET);
	return nl_buf_put(out, &absence, sizeof(absence));
}

/* An answer that is no part of a dump. */
static int push_single(struct nl_queue *queue, const struct nlmsghdr *nlh, struct nl_buf *out)
{
	size_t before = out->len;
	int r;

	r = nl_canonicalise(queue->env, queue->protocol, nlh, nlh->nlmsg_len, out);
	if (r < 0 || out->len > before || nlh->nlmsg_type < NLMSG_MIN_TYPE)
		return r;
	return put_absence(queue, nlh, out);
}

static int push_answers(struct nl_queue *queue, const struct nl_buf *datagram)
{
	_cleanup_(nl_buf_deinit) struct nl_buf out = { 0 };
	const struct nlmsghdr *nlh;
	size_t at = 0;
	int r;

	while ((nlh = nl_message_at(datagram->data, datagram->len, &at))) {
		if ((nlh->nlmsg_flags & NLM_F_MULTI) || nlh->nlmsg_type == NLMSG_DONE)
			r = push_multi(queue, nlh);
		else
			r = push_single(queue, nlh, &out);
		if (r < 0)
			return r;
	}
	if (datagram->len - at >= sizeof(struct nlmsghdr))
		queue->env->counters->malformed++;
	return out.len ? append_bytes(queue, out.data, out.len, 0) : 0;
}

/* Adds to an array of notices, whose message becomes the array's. */
static int notice_add(struct nl_notice **notices, size_t *n, const struct nl_notice *notice)
{
	struct nl_notice *bigger = reallocarray(*notices, *n + 1, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	*notices = bigger;
	bigger[(*n)++] = *notice;
	return 0;
}

static int notice_copy(const struct nl_notice *from, struct nl_notice *ret)
{
	*ret = *from;
	ret->message = malloc(from->key.len);
	if (!ret->message)
		return -ENOMEM;
	memcpy(ret->message, from->message, from->key.len);
	ret->key.message = NULL;
	return 0;
}

/* Takes a copy of the notice into the array. */
static int notice_keep(struct nl_notice **notices, size_t *n, const struct nl_notice *from)
{
	struct nl_notice copy;
	int r;

	r = notice_copy(from, &copy);
	if (r < 0)
		return r;
	r = notice_add(notices, n, &copy);
	if (r < 0)
		free(copy.message);
	return r;
}

static int push_notices(struct nl_queue *queue, const struct nl_buf *datagram, uint32_t group)
{
	_cleanup_(nl_buf_deinit) struct nl_buf out = { 0 };
	const struct nlmsghdr *nlh;
	size_t at = 0;
	int r;

	r = nl_canonicalise(queue->env, queue->protocol, datagram->data, datagram->len, &out);
	if (r < 0)
		return r;
	while ((nlh = nl_message_at(out.data, out.len, &at))) {
		const struct nl_object *object = nl_object_find(queue->protocol, nlh->nlmsg_type, 0);
		struct nl_notice notice = { .message = (uint8_t *)(uintptr_t)nlh, .group = group };

		if (object && object->quiet)
			continue;
		nl_key_make(queue->protocol, nlh, queue->n_pending, &notice.key);
		/* What happens to one object stays in its order. */
		notice.key.by_bytes = false;
		if (queue->notice_bytes + notice_cost(notice.key.len) > queue->room) {
			queue->overrun = true;
			return 0;
		}
		queue->notice_bytes += notice_cost(notice.key.len);
		r = notice_keep(&queue->pending, &queue->n_pending, &notice);
		if (r < 0)
			return r;
	}
	return 0;
}

int nl_queue_push_raw(struct nl_queue *queue, const void *bytes, size_t len, uint32_t group)
{
	_cleanup_(nl_buf_deinit) struct nl_buf datagram = { 0 };

	if (nl_buf_put(&datagram, bytes, len) < 0)
		return datagram.status;
	if (group)
		return push_notices(queue, &datagram, group);
	return push_answers(queue, &datagram);
}

int nl_queue_push_own(struct nl_queue *queue, const void *messages, size_t len)
{
	_cleanup_(nl_buf_deinit) struct nl_buf copy = { 0 };
	const struct nlmsghdr *nlh;
	size_t at = 0;
	int r;

	if (nl_buf_put(&copy, messages, len) < 0)
		return copy.status;
	while ((nlh = nl_message_at(copy.data, copy.len, &at))) {
		r = append_bytes(queue, nlh, nlh->nlmsg_len, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

static struct nl_notice *find_said(const struct nl_queue *queue, const struct nl_notice *notice)
{
	for (size_t i = 0; i < queue->n_said; i++)
		if (memcmp(queue->said[i].key.bytes, notice->key.bytes, NL_KEY_SIZE) == 0)
			return &queue->said[i];
	return NULL;
}

/* Sequence number and port tell who has caused it, the rest tells what there is. */
static bool says_the_same(const struct nl_notice *a, const struct nl_notice *b)
{
	const size_t who = offsetof(struct nlmsghdr, nlmsg_seq), what = sizeof(struct nlmsghdr);

	return a->key.len == b->key.len && memcmp(a->message, b->message, who) == 0 &&
	       memcmp(a->message + what, b->message + what, a->key.len - what) == 0;
}

/* Remembers the notice as the last about its object. Returns whether it says something new, or -ENOMEM. */
static int remember(struct nl_queue *queue, const struct nl_notice *notice)
{
	struct nl_notice *before = find_said(queue, notice), copy;
	int r;

	if (before && says_the_same(before, notice))
		return false;
	if (!before && queue->n_said >= NL_MAX_REMEMBERED)
		return true;
	if (!before) {
		r = notice_keep(&queue->said, &queue->n_said, notice);
		return r < 0 ? r : true;
	}
	r = notice_copy(notice, &copy);
	if (r < 0)
		return r;
	free(before->message);
	*before = copy;
	return true;
}

static int compare_notices(const void *a, const void *b)
{
	const struct nl_notice *x = a, *y = b;

	return nl_key_compare(&x->key, &y->key);
}

/* The types of objects are the first bytes of their keys, and their numbers rise from what others stand on to those: links come first. */
static int compare_settled(const void *a, const void *b)
{
	const struct nl_notice *x = a, *y = b;
	int r;

	if (x->gone != y->gone)
		return x->gone ? -1 : 1;
	r = memcmp(x->key.bytes, y->key.bytes, sizeof(uint16_t));
	if (x->gone && r)
		return -r;
	return compare_notices(a, b);
}

/*
 * In order of objects, those that are gone before the others; what stood on a link goes before it, as with the kernel: its name is
 * known for as long as something is said of it.
 */
static void sort_notices(int protocol, struct nl_notice *notices, size_t n)
{
	bool gone = false;

	qsort(notices, n, sizeof(*notices), compare_notices);
	for (size_t i = n; i-- > 0;) {
		const struct nlmsghdr *nlh = (const void *)notices[i].message;

		if (i + 1 == n || memcmp(notices[i].key.bytes, notices[i + 1].key.bytes, NL_KEY_SIZE) != 0)
			gone = protocol == NETLINK_ROUTE && nl_route_verb(nlh->nlmsg_type) == NL_VERB_DEL;
		notices[i].gone = gone;
	}
	qsort(notices, n, sizeof(*notices), compare_settled);
}

int nl_queue_settle(struct nl_queue *queue)
{
	size_t n = queue->n_pending;
	struct nl_notice *pending = take_ptr(queue->pending);
	int r = 0;

	queue->n_pending = 0;
	if (n)
		sort_notices(queue->protocol, pending, n);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		r = remember(queue, &pending[i]);
		if (r == 0)
			queue->notice_bytes -= notice_cost(pending[i].key.len);
		else if (r > 0)
			r = append_bytes(queue, pending[i].message, pending[i].key.len, pending[i].group);
	}
	free_notices(pending, n);
	return r < 0 ? r : 0;
}

bool nl_queue_is_ready(const struct nl_queue *queue)
{
	return queue->first || queue->overrun;
}

bool nl_queue_is_collecting(const struct nl_queue *queue)
{
	return queue->incoming;
}

/* The item's next datagram. */
static void item_look(struct nl_queue *queue, struct nl_item *item, struct nl_datagram *ret)
{
	size_t limit = queue->largest_buffer > NL_GOOD_SIZE ? queue->largest_buffer : NL_GOOD_SIZE;

	if (item->dump) {
		ret->full_len = nl_dump_cut(item->dump, limit);
		ret->bytes = item->dump->seen.data + item->dump->at;
	} else {
		ret->full_len = item->bytes.len;
		ret->bytes = item->bytes.data;
	}
	ret->group = item->group;
}

/* Takes it away; the bytes stay until the next call. */
static void item_consume(struct nl_queue *queue, struct nl_item *item)
{
	if (item->dump)
		nl_dump_advance(item->dump);
	if (item->dump && !nl_dump_is_done(item->dump))
		return;
	if (item->group)
		queue->notice_bytes -= notice_cost(item->bytes.len);
	queue->first = item->next;
	if (!queue->first)
		queue->last = NULL;
	queue->spent = item;
}

int nl_queue_next(struct nl_queue *queue, size_t buf_len, int flags, struct nl_datagram *ret)
{
	struct nl_item *item = queue->first;
	size_t counted = buf_len < NL_LARGEST ? buf_len : NL_LARGEST;
	struct nl_datagram datagram = { 0 };

	queue->spent = item_free(queue->spent);
	if (counted > queue->largest_buffer)
		queue->largest_buffer = counted;
	if (queue->overrun) {
		queue->overrun = false;
		return NL_QUEUE_OVERRUN;
	}
	if (!item)
		return NL_QUEUE_EMPTY;

	item_look(queue, item, &datagram);
	datagram.len = datagram.full_len < buf_len ? datagram.full_len : buf_len;
	datagram.truncated = datagram.len < datagram.full_len;
	datagram.result = (flags & MSG_TRUNC) ? datagram.full_len : datagram.len;
	if (!(flags & MSG_PEEK))
		item_consume(queue, item);
	*ret = datagram;
	return NL_QUEUE_DATAGRAM;
}

uint32_t nl_group_mask(uint32_t group)
{
	return group >= 1 && group <= 32 ? 1u << (group - 1) : 0;
}
