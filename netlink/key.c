/* SPDX-License-Identifier: BSD-3-Clause */
/* Sort keys: see key.h. */
#include "netlink/key.h"

#include <endian.h>
#include <string.h>

#include <libmnl/libmnl.h>

#include "netlink/protocols.h"
#include "netlink/values.h"
#include "netlink/walk.h"

/* Everything that is part of a key is compared as bytes, so numbers are written with their high byte first. */
static size_t put_number(struct nl_key *key, size_t at, uint64_t number, size_t size)
{
	uint64_t high_first = htobe64(number << (64 - 8 * size));

	if (at + size > NL_KEY_SIZE)
		return NL_KEY_SIZE;
	memcpy(key->bytes + at, &high_first, size);
	return at + size;
}

static size_t put_bytes(struct nl_key *key, size_t at, const void *bytes, size_t len, size_t size)
{
	if (len > size)
		len = size;
	if (at + size > NL_KEY_SIZE)
		return NL_KEY_SIZE;
	if (len)
		memcpy(key->bytes + at, bytes, len);
	return at + size;
}

static size_t put_part(struct nl_key *key, size_t at, const struct nl_key_part *part, const uint8_t *value, size_t len)
{
	uint64_t number;

	if (!part->is_number)
		return put_bytes(key, at, value, len, part->size);
	number = len == part->size ? nl_load(value, len) : 0;
	return put_number(key, at, part->mask ? number & part->mask : number, part->size);
}

/* The attribute of each part of the key, or NULL: one walk for all, because this is done for every message of a dump. */
static void find_parts(const struct nl_object *object, const void *attributes, size_t len, const struct nlattr **found)
{
	const struct nlattr *attr;
	size_t at = 0;
	bool broken;

	while ((attr = nl_attr_at(attributes, len, &at, &broken))) {
		uint16_t type = mnl_attr_get_type(attr);

		for (size_t i = 0; i < object->n_key; i++)
			if (object->key[i].is_attribute && object->key[i].where == type && !found[i])
				found[i] = attr;
	}
}

static size_t put_attribute(struct nl_key *key, size_t at, const struct nl_key_part *part, const struct nlattr *attr)
{
	if (attr && part->inside)
		attr = nl_attr_find(mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr), part->inside);
	if (!attr)
		return put_part(key, at, part, NULL, 0);
	return put_part(key, at, part, mnl_attr_get_payload(attr), mnl_attr_get_payload_len(attr));
}

static void put_object(struct nl_key *key, size_t at, const struct nl_object *object, const uint8_t *structure,
		       size_t len)
{
	const struct nlattr *found[NL_KEY_PARTS] = { NULL };
	size_t attributes_at = MNL_ALIGN(object->header);

	if (len < object->header)
		return;
	if (len > attributes_at)
		find_parts(object, structure + attributes_at, len - attributes_at, found);
	for (size_t i = 0; i < object->n_key; i++) {
		const struct nl_key_part *part = &object->key[i];

		if (part->is_attribute)
			at = put_attribute(key, at, part, found[i]);
		else
			at = put_part(key, at, part, structure + part->where, part->size);
	}
}

void nl_key_make(int protocol, const struct nlmsghdr *nlh, size_t order, struct nl_key *ret_key)
{
	size_t len = mnl_nlmsg_get_payload_len(nlh), at;
	const uint8_t *structure = mnl_nlmsg_get_payload(nlh);
	const struct nl_object *object = nl_object_find(protocol, nlh->nlmsg_type, len ? structure[0] : 0);

	*ret_key = (struct nl_key){ .len = nlh->nlmsg_len, .order = order };
	at = put_number(ret_key, 0, object ? object->base_type : UINT16_MAX, 2);
	if (object) {
		ret_key->by_bytes = object->by_bytes;
		ret_key->distinct = object->distinct;
		put_object(ret_key, at, object, structure, len);
	}
}

int nl_key_compare(const void *a, const void *b)
{
	const struct nl_key *x = a, *y = b;
	int r = memcmp(x->bytes, y->bytes, NL_KEY_SIZE);

	if (r == 0 && x->by_bytes && x->message && y->message) {
		r = memcmp(x->message, y->message, x->len < y->len ? x->len : y->len);
		if (r == 0)
			r = (x->len > y->len) - (x->len < y->len);
	}
	if (r == 0)
		r = (x->order > y->order) - (x->order < y->order);
	return r;
}
