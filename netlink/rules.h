/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vocabulary of the rule tables. A table says, for one set of attributes, what the guest may see of each: that is
 * all there is to know about an attribute, and three readers share it: the rewriter of answers (walk.c), the translator
 * of requests (request.c) and the decoder (print.c).
 *
 * An attribute without a row is NL_UNKNOWN: it is dropped and counted, so that a newer kernel says no more than an
 * older one. The allow-list ends with Linux 5.15: younger attributes that are known have a row NL_DROP for the same
 * reason.
 */
#ifndef HS_NETLINK_RULES_H
#define HS_NETLINK_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nl_buf;
struct nl_env;
struct nl_pass;
struct nl_ruleset;
struct nlattr;

enum nl_action {
	NL_UNKNOWN, /* no row: drop and count */
	NL_KEEP,    /* the same in every run already */
	NL_DROP,
	NL_ZERO,     /* all zeroes; `size`, if given, is how many */
	NL_FIXED,    /* `value` in `size` bytes */
	NL_BYTES,    /* `size` bytes at `bytes` */
	NL_COUNTED,  /* a u64 that counts the u64 elements, itself among them; `value` elements, all others 0 */
	NL_CLEAR,    /* an integer of `size` bytes whose bits `value` are cleared */
	NL_INDEX,    /* u32 interface index */
	NL_MAC,      /* 6 bytes; other lengths (tunnels) are addresses */
	NL_ADDRESS,  /* an address of the message's family, 4 or 16 bytes */
	NL_GATEWAY,  /* struct rtvia: u16 family, address */
	NL_HANDLE,   /* u32 traffic-control handle */
	NL_INODE,    /* u32 inode of a socket */
	NL_COOKIE,   /* u64 cookie of a socket, only 4-aligned */
	NL_PORT,     /* u32 netlink port id */
	NL_NESTED,   /* attributes with a table of their own */
	NL_LIST,     /* numbered attributes that each hold attributes with that table */
	NL_NEXTHOPS, /* struct rtnexthop, each with attributes of that table */
	NL_CUSTOM,   /* only `emit` knows */
	NL_ACTION_COUNT,
};

/* How the decoder writes a value. */
enum nl_format {
	NL_HEX,
	NL_NUMBER, /* unsigned, of the size that it has */
	NL_SIGNED,
	NL_BITS, /* 0x... */
	NL_STRING,
	NL_IP,
};

/* Writes the attribute as the guest may see it, or nothing. Returns 0 or -errno. */
typedef int (*nl_emit_fn)(struct nl_pass *pass, const struct nlattr *attr, struct nl_buf *out);

struct nl_rule {
	const char *name;
	enum nl_action action;
	enum nl_format format;
	uint16_t size; /* what the kernel sends, where that is fixed; what is written for ZERO, FIXED, BYTES */
	uint64_t value;
	const void *bytes;
	const struct nl_ruleset *nested;  /* NESTED, LIST, NEXTHOPS; of a CUSTOM one for the decoder */
	const struct nl_ruleset *bridge;  /* instead of `nested` in messages of family AF_BRIDGE, for the decoder */
	/* What a request nests here, where the answer's row does not say it; chosen by the attributes beside it. */
	const struct nl_ruleset *(*request)(const void *siblings, size_t len);
	nl_emit_fn emit; /* goes before the action, which then says what to do with the value in requests */
};

struct nl_ruleset {
	const struct nl_rule *rules;
	size_t n_rules;
	size_t header; /* bytes of a structure before the attributes (the peer of a veth) */
	size_t index_at; /* where in that structure an interface index is, plus one; 0: none */
};

/* A field of the structure in front of the attributes. The same actions as for attributes of that size. */
struct nl_field {
	const char *name;
	uint8_t offset;
	uint8_t size;
	enum nl_action action;
	enum nl_format format;
	uint64_t value;
};

/* One part of the key by which the messages of a dump are sorted. */
struct nl_key_part {
	bool is_attribute;
	uint16_t where; /* offset in the structure, or type of the attribute */
	uint8_t size;   /* bytes; what an attribute lacks counts as 0 */
	bool is_number; /* host-endian, compared by value; else byte by byte */
	uint64_t mask;  /* of a number; 0: all of it */
	uint16_t inside; /* of an attribute: the type of the one inside it that is meant; 0: itself */
};

/* The messages about one kind of thing: NEW, DEL, GET, SET share structure and attributes. */
struct nl_object {
	const char *name;
	uint16_t base_type; /* of NEW */
	uint8_t header;     /* bytes of the structure */
	uint8_t request_header; /* of a request, where it differs */
	int refuse_get;     /* errno for GET requests, 0: they go to the kernel */
	bool quiet;         /* notifications about it are not passed on */
	bool distinct; /* of equal messages in a dump, one is shown: the kernel may begin again behind a chunk's border
			*/
	bool by_bytes; /* the kernel's order is a hash table's: messages with equal keys are ordered by their bytes */
	const struct nl_field *fields;
	size_t n_fields;
	const struct nl_field *request_fields;
	size_t n_request_fields;
	const struct nl_ruleset *attributes;
	const struct nl_key_part *key;
	size_t n_key;
	/* Takes numbers from the real messages of a dump, or from one message, before any is rewritten. May be NULL. */
	int (*prepare)(struct nl_env *env, const void *messages, size_t len);
	/*
	 * Looks at a real message first, attributes behind the structure; false: the guest does not see it. May be
	 * NULL.
	 */
	bool (*wanted)(struct nl_pass *pass, const void *structure, const void *attributes, size_t len);
	/* Last touch to the structure that the guest sees. May be NULL. */
	void (*finish)(struct nl_pass *pass, void *structure);
};

/* Rows. The name is what the decoder prints. */
#define NL_ROW_KEEP(n, f)           { .name = (n), .action = NL_KEEP, .format = (f) }
#define NL_ROW_KEEP_SIZED(n, f, s)  { .name = (n), .action = NL_KEEP, .format = (f), .size = (s) }
#define NL_ROW_DROP(n)              { .name = (n), .action = NL_DROP }
#define NL_ROW_ZERO(n)              { .name = (n), .action = NL_ZERO }
#define NL_ROW_ZERO_SIZED(n, s)     { .name = (n), .action = NL_ZERO, .size = (s) }
#define NL_ROW_FIXED(n, s, v)       { .name = (n), .action = NL_FIXED, .format = NL_NUMBER, .size = (s), .value = (v) }
#define NL_ROW_BYTES(n, array)      { .name = (n), .action = NL_BYTES, .size = sizeof(array), .bytes = (array) }
#define NL_ROW_COUNTED(n, elements) { .name = (n), .action = NL_COUNTED, .value = (elements) }
#define NL_ROW_CLEAR(n, s, bits)    { .name = (n), .action = NL_CLEAR, .format = NL_BITS, .size = (s), .value = (bits) }
#define NL_ROW_INDEX(n)             { .name = (n), .action = NL_INDEX, .format = NL_NUMBER, .size = 4 }
#define NL_ROW_MAC(n)               { .name = (n), .action = NL_MAC }
#define NL_ROW_ADDRESS(n)           { .name = (n), .action = NL_ADDRESS, .format = NL_IP }
#define NL_ROW_NESTED(n, set)       { .name = (n), .action = NL_NESTED, .nested = (set) }
#define NL_ROW_LIST(n, set)         { .name = (n), .action = NL_LIST, .nested = (set) }
#define NL_ROW_CUSTOM(n, f, fn)     { .name = (n), .action = NL_CUSTOM, .format = (f), .emit = (fn) }

#define NL_RULESET(array) { .rules = (array), .n_rules = ARRAY_SIZE(array) }

#endif
