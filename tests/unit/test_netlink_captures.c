/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures of real namespaces (tests/netlink, made with tests/support/nl_capture on Linux 6.18): two of each kind, of
 * equal configuration, with other numbers, other traffic, at other times. What is checked are properties, not copies of
 * the output.
 */
#include "netlink_test.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/fd.h"
#include "netlink/print.h"
#include "netlink/queue.h"

struct capture_row {
	const char *what;
	const char *files[2];
	int protocol;
};

static const struct capture_row rows[] = {
	{ "loopback only", { "lo_a.hex", "lo_b.hex" }, NETLINK_ROUTE },
	{ "pair, bridge, neighbours, queueing discipline", { "veth_a.hex", "veth_b.hex" }, NETLINK_ROUTE },
	{ "sockets", { "sockets_a.hex", "sockets_b.hex" }, NETLINK_SOCK_DIAG },
};

static void read_capture(const char *name, struct nl_buf *out)
{
	const char *top = getenv("top_srcdir");
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };
	char path[4096];
	size_t len;

	(void)snprintf(path, sizeof(path), "%s/tests/netlink/%s", top ? top : ".", name);
	cr_assert_eq(fd_read_file(AT_FDCWD, path, 1 << 24, &text, &len), 0, "%s", path);
	cr_assert_eq(nl_hex_parse(text, len, out, &err), 0, "%s: %s", path, err.text);
}

/* What a guest receives of the messages, in datagrams of that size. */
static void receive(int protocol, const struct nl_buf *messages, size_t size, struct nl_buf *seen,
		    struct nl_counters *counters)
{
	struct nl_map map;
	struct nl_env env = { .map = &map, .counters = counters };
	struct nl_datagram datagram;
	struct nl_queue queue;

	nl_map_init(&map);
	nl_queue_init(&queue, &env, protocol);
	if (protocol == NETLINK_ROUTE)
		cr_assert_eq(nl_map_fill(&map, messages->data, messages->len), 0);
	cr_assert_eq(nl_queue_push_raw(&queue, messages->data, messages->len, 0), 0);
	cr_assert_not(nl_queue_is_collecting(&queue));
	while (nl_queue_next(&queue, size, 0, &datagram) == NL_QUEUE_DATAGRAM)
		nl_buf_put(seen, datagram.bytes, datagram.len);
	nl_queue_deinit(&queue);
	nl_map_deinit(&map);
}

static bool equal(const struct nl_buf *a, const struct nl_buf *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* The control, and the point: what is different comes out equal. */
Test(netlink_captures, two_namespaces_look_alike)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct nl_buf real[2] = { 0 }, seen[2] = { 0 };
		struct nl_counters counters = { 0 };

		for (int k = 0; k < 2; k++) {
			read_capture(rows[i].files[k], &real[k]);
			receive(rows[i].protocol, &real[k], 8192, &seen[k], &counters);
		}
		cr_assert_not(equal(&real[0], &real[1]), "%s: the captures are one", rows[i].what);
		cr_assert(equal(&seen[0], &seen[1]), "%s", rows[i].what);
		cr_assert_eq(counters.unknown_attributes, 0, "%s", rows[i].what);
		cr_assert_eq(counters.unknown_messages, 0, "%s", rows[i].what);
		cr_assert_eq(counters.malformed, 0, "%s", rows[i].what);
		cr_assert_eq(counters.unknown_indexes, 0, "%s", rows[i].what);
		for (int k = 0; k < 2; k++) {
			nl_buf_deinit(&real[k]);
			nl_buf_deinit(&seen[k]);
		}
	}
}

/* What a guest sees is a fixed point: seen again, it is itself. So nothing real is left that a rule would change. */
Test(netlink_captures, rewriting_twice_is_rewriting_once)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(nl_buf_deinit) struct nl_buf real = { 0 }, once = { 0 }, twice = { 0 };
		struct nl_counters counters = { 0 };

		read_capture(rows[i].files[0], &real);
		receive(rows[i].protocol, &real, 8192, &once, &counters);
		receive(rows[i].protocol, &once, 8192, &twice, &counters);
		cr_assert(equal(&once, &twice), "%s", rows[i].what);
	}
}

Test(netlink_captures, the_size_of_datagrams_changes_nothing)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(nl_buf_deinit) struct nl_buf real = { 0 }, small = { 0 }, large = { 0 };
		struct nl_counters counters = { 0 };

		read_capture(rows[i].files[0], &real);
		receive(rows[i].protocol, &real, 4096, &small, &counters);
		receive(rows[i].protocol, &real, 1 << 20, &large, &counters);
		cr_assert(equal(&small, &large), "%s", rows[i].what);
	}
}

static char *print(int protocol, const struct nl_buf *messages, size_t *ret_n)
{
	struct nl_printer printer;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	nl_printer_init(&printer, out, protocol);
	*ret_n = nl_print_messages(&printer, messages->data, messages->len);
	fclose(out);
	return text;
}

/* Where a path has a number for a name: ".13" behind a name or a bracket. */
static const char *find_number_in_path(const char *text)
{
	for (const char *dot = strchr(text, '.'); dot; dot = strchr(dot + 1, '.'))
		if (dot > text && strchr("abcdefghijklmnopqrstuvwxyz_]", dot[-1]) && dot[1] >= '0' && dot[1] <= '9')
			return dot;
	return NULL;
}

/* The decoder reaches the end of both, and has a name for all that a guest sees. */
Test(netlink_captures, decoded)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(nl_buf_deinit) struct nl_buf real = { 0 }, seen = { 0 };
		struct nl_counters counters = { 0 };
		_cleanup_free_ char *raw = NULL, *text = NULL;
		size_t n_raw, n_seen;

		read_capture(rows[i].files[0], &real);
		receive(rows[i].protocol, &real, 8192, &seen, &counters);
		raw = print(rows[i].protocol, &real, &n_raw);
		text = print(rows[i].protocol, &seen, &n_seen);
		cr_assert_gt(n_seen, 10, "%s", rows[i].what);
		cr_assert_eq(n_seen + counters.hidden_messages, n_raw, "%s: %zu of %zu", rows[i].what, n_seen, n_raw);
		cr_assert_null(strstr(raw, "broken off"), "%s", rows[i].what);
		cr_assert_null(strstr(text, "broken off"), "%s", rows[i].what);
		cr_assert_null(find_number_in_path(text), "%s: no name: %.40s", rows[i].what,
			       find_number_in_path(text));
	}
}

/* Every way to cut a real capture short is survived, and what comes out is whole messages. */
Test(netlink_captures, cut_anywhere)
{
	_cleanup_(nl_buf_deinit) struct nl_buf real = { 0 };

	read_capture("lo_a.hex", &real);
	for (size_t len = 0; len < real.len; len += len < 2000 ? 1 : 101) {
		_cleanup_(nl_buf_deinit) struct nl_buf seen = { 0 };
		struct nl_counters counters = { 0 };
		struct nl_map map;
		struct nl_env env = { .map = &map, .counters = &counters };
		size_t at = 0;

		nl_map_init(&map);
		cr_assert_eq(nl_canonicalise(&env, NETLINK_ROUTE, real.data, len, &seen), 0);
		for (uint32_t one; at < seen.len; at += (one + 3) & ~3u) {
			memcpy(&one, seen.data + at, sizeof(one));
			cr_assert_geq(one, 16);
		}
		cr_assert_eq(at, seen.len);
		nl_map_deinit(&map);
	}
}
