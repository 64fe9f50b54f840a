/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps: see dump.h. */
#include "netlink/dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "base/cleanup.h"
#include "netlink/key.h"
#include "netlink/walk.h"

void nl_dump_init(struct nl_dump *dump, int protocol)
{
	*dump = (struct nl_dump){ .protocol = protocol };
}

void nl_dump_deinit(struct nl_dump *dump)
{
	nl_buf_deinit(&dump->real);
	nl_buf_deinit(&dump->seen);
	nl_dump_init(dump, dump->protocol);
}

int nl_dump_add(struct nl_dump *dump, const struct nlmsghdr *nlh)
{
	(void)nl_buf_put(&dump->real, nlh, nlh->nlmsg_len);
	return nl_buf_align(&dump->real);
}

static const struct nlmsghdr *message_at(const struct nl_buf *buf, size_t offset)
{
	return (const struct nlmsghdr *)(buf->data + offset);
}

/* The keys of all messages of a well-formed buffer. NULL when memory is short. */
static struct nl_key *make_keys(int protocol, const struct nl_buf *messages, size_t *ret_n)
{
	struct nl_key *keys;
	size_t n = 0;

	for (size_t at = 0; at < messages->len; at += MNL_ALIGN(message_at(messages, at)->nlmsg_len))
		n++;
	keys = calloc(n + 1, sizeof(*keys));
	if (!keys)
		return NULL;
	n = 0;
	for (size_t at = 0; at < messages->len; at += MNL_ALIGN(message_at(messages, at)->nlmsg_len)) {
		nl_key_make(protocol, message_at(messages, at), n, &keys[n]);
		keys[n].message = messages->data + at;
		keys[n].offset = at;
		n++;
	}
	*ret_n = n;
	return keys;
}

static bool same_message(const struct nl_key *a, const struct nl_key *b)
{
	return a->len == b->len && memcmp(a->message, b->message, a->len) == 0;
}

static int sort_into(int protocol, const struct nl_buf *messages, struct nl_buf *sorted)
{
	_cleanup_free_ struct nl_key *keys = NULL;
	size_t n;

	keys = make_keys(protocol, messages, &n);
	if (!keys)
		return -ENOMEM;
	qsort(keys, n, sizeof(*keys), nl_key_compare);
	(void)nl_buf_reserve(sorted, messages->len);
	for (size_t i = 0; i < n; i++) {
		if (keys[i].distinct && i > 0 && same_message(&keys[i - 1], &keys[i]))
			continue;
		(void)nl_buf_put(sorted, keys[i].message, keys[i].len);
		(void)nl_buf_align(sorted);
	}
	return sorted->status;
}

int nl_dump_finish(struct nl_dump *dump, struct nl_env *env)
{
	_cleanup_(nl_buf_deinit) struct nl_buf rewritten = { 0 };
	int r;

	if (nl_buf_reserve(&rewritten, dump->real.len) < 0)
		return rewritten.status;
	r = nl_canonicalise(env, dump->protocol, dump->real.data, dump->real.len, &rewritten);
	if (r < 0)
		return r;
	r = sort_into(dump->protocol, &rewritten, &dump->seen);
	if (r < 0)
		return r;
	nl_buf_deinit(&dump->real);
	return 0;
}

size_t nl_dump_cut(struct nl_dump *dump, size_t limit)
{
	size_t left = dump->seen.len - dump->at, cut = 0;

	if (dump->cut > 0)
		return dump->cut;
	while (cut < left) {
		size_t next = MNL_ALIGN(message_at(&dump->seen, dump->at + cut)->nlmsg_len);

		if (cut > 0 && cut + next > limit)
			break;
		cut += next;
	}
	return dump->cut = cut;
}

void nl_dump_advance(struct nl_dump *dump)
{
	dump->at += dump->cut;
	dump->cut = 0;
}

bool nl_dump_is_done(const struct nl_dump *dump)
{
	return dump->at == dump->seen.len;
}
