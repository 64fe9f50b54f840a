/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as netlink messages: as answers, notifications, requests, and for the decoder. The first byte chooses the
 * family and the way. What comes out must be whole messages, however broken what goes in.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "base/cleanup.h"
#include "netlink/hex.h"
#include "netlink/print.h"
#include "netlink/queue.h"
#include "netlink/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	int protocol;
	struct nl_map map;
	struct nl_ports ports;
	struct nl_counters counters;
	struct nl_env env;
};

/* Complete messages to the last byte, each padded, the lengths of their top-level attributes within them. */
static void check_messages(const uint8_t *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		struct nlmsghdr nlh;

		assert(len - at >= sizeof(nlh));
		memcpy(&nlh, bytes + at, sizeof(nlh));
		assert(nlh.nlmsg_len >= sizeof(nlh) && nlh.nlmsg_len <= len - at);
		at += NLMSG_ALIGN(nlh.nlmsg_len);
	}
}

static void receive_all(struct nl_queue *queue, size_t size)
{
	struct nl_datagram peeked, taken;

	while (nl_queue_next(queue, size, MSG_PEEK | MSG_TRUNC, &peeked) == NL_QUEUE_DATAGRAM) {
		size_t full_len = peeked.full_len;

		assert(peeked.result == full_len && peeked.len <= size);
		assert(nl_queue_next(queue, size * 2, 0, &taken) == NL_QUEUE_DATAGRAM);
		assert(taken.full_len == full_len && taken.len <= full_len);
		assert(taken.truncated == (taken.len < full_len));
		check_messages(taken.bytes, taken.full_len);
	}
}

static void as_answers(struct run *run, const uint8_t *data, size_t size, uint32_t group)
{
	struct nl_datagram lost;
	struct nl_queue queue;

	nl_queue_init(&queue, &run->env, run->protocol);
	assert(nl_queue_push_raw(&queue, data, size, group) == 0);
	if (queue.overrun)
		assert(nl_queue_next(&queue, 0, 0, &lost) == NL_QUEUE_OVERRUN);
	assert(nl_queue_settle(&queue) == 0);
	assert(nl_queue_finish_dump(&queue) == 0);
	receive_all(&queue, size % 5000);
	/* Once more, now that the map and the queue know what there is. */
	assert(nl_queue_push_raw(&queue, data, size / 2, group) == 0);
	nl_queue_deinit(&queue);
}

/*
 * A translated request has the length of the original, and back again it is the original where all its links are known.
 */
static void as_request(struct run *run, const uint8_t *data, size_t size)
{
	_cleanup_(nl_buf_deinit) struct nl_buf real = { 0 }, answers = { 0 };
	struct nl_request_report report;
	struct nl_queue queue;

	assert(nl_request_prepare(&run->env, run->protocol, 7, size & 1, data, size, &real, &answers, &report) == 0);
	assert(real.len <= size && (report.refused || real.len == size));
	assert(report.refused <= report.messages && (report.refused > 0) == (answers.len > 0));
	check_messages(answers.data, answers.len);
	nl_queue_init(&queue, &run->env, run->protocol);
	assert(nl_queue_push_own(&queue, answers.data, answers.len) == 0);
	receive_all(&queue, 100);
	nl_queue_deinit(&queue);
}

static void as_text(struct run *run, const uint8_t *data, size_t size)
{
	_cleanup_(nl_buf_deinit) struct nl_buf aligned = { 0 }, bytes = { 0 };
	struct nl_printer printer;
	char *text = NULL;
	size_t len;
	FILE *out;

	assert(nl_buf_put(&aligned, data, size) == 0);
	out = open_memstream(&text, &len);
	assert(out);
	nl_printer_init(&printer, out, run->protocol);
	(void)nl_print_messages(&printer, aligned.data, aligned.len);
	assert(fclose(out) == 0);
	free(text);
	(void)nl_hex_is_text(data, size);
	(void)nl_hex_protocol((const char *)data, size);
	(void)nl_hex_parse((const char *)data, size, &bytes, NULL);
}

static void fill(struct run *run, const uint8_t *data, size_t size)
{
	_cleanup_(nl_buf_deinit) struct nl_buf aligned = { 0 };

	assert(nl_buf_put(&aligned, data, size) == 0);
	assert(nl_map_fill(&run->map, aligned.data, aligned.len) == 0);
	for (size_t i = 0; i < run->map.n_links; i++) {
		const struct nl_link *link = &run->map.links[i];

		assert(nl_map_index(&run->map, NL_TO_VIRTUAL, link->real_index, NULL) == link->virtual_index);
		assert(nl_map_index(&run->map, NL_TO_REAL, link->virtual_index, NULL) == link->real_index);
		assert(i == 0 || link[-1].real_index < link->real_index);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run run = { 0 };
	uint8_t way;

	if (size == 0)
		return 0;
	way = data[0];
	data++;
	size--;
	run.protocol = way & 1 ? NETLINK_SOCK_DIAG : NETLINK_ROUTE;
	run.env = (struct nl_env){ .map = &run.map, .ports = &run.ports, .counters = &run.counters };
	nl_map_init(&run.map);
	nl_ports_init(&run.ports);
	if (way & 2)
		fill(&run, data, size);
	if (way & 4)
		as_answers(&run, data, size, way & 8 ? 1 : 0);
	if (way & 16)
		as_request(&run, data, size);
	if (way & 32)
		as_text(&run, data, size);
	nl_map_deinit(&run.map);
	nl_ports_deinit(&run.ports);
	return 0;
}
