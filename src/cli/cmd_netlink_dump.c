/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hermit netlink-dump: a capture of netlink messages as text, one line for each value, as the kernel has sent it or as
 * a guest would see it. Decoding and rewriting are those of netlink/, so this is also what their tests look through.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include <linux/netlink.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/commands.h"
#include "netlink/hex.h"
#include "netlink/print.h"
#include "netlink/protocols.h"
#include "netlink/queue.h"
#include "supervisor/exit_codes.h"

enum { LARGEST_CAPTURE = 1 << 30, READ_SIZE = 1 << 16, OPTION_RAW = 256, OPTION_CANONICAL };

struct dump_options {
	const char *file;
	bool canonical;
	int protocol; /* -1: what the capture says, else route */
};

static int find_protocol(const char *name)
{
	const struct nl_protocol *protocol;

	for (size_t i = 0; (protocol = nl_protocol_at(i)); i++)
		if (strcmp(protocol->name, name) == 0)
			return protocol->number;
	return -1;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct dump_options *options = state->input;

	switch (key) {
	case OPTION_RAW:
		options->canonical = false;
		return 0;
	case OPTION_CANONICAL:
		options->canonical = true;
		return 0;
	case 'p':
		options->protocol = find_protocol(arg);
		if (options->protocol < 0)
			argp_error(state, "there is no netlink family '%s'", arg);
		return 0;
	case ARGP_KEY_ARG:
		command_take_only(&options->file, arg, "capture", state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which capture? Give a file, or - for standard input");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int read_capture(const char *file, struct nl_buf *capture, struct error *err)
{
	_cleanup_close_ int opened = -1;
	bool is_stdin = strcmp(file, "-") == 0;
	uint8_t block[READ_SIZE];
	ssize_t n;

	if (!is_stdin)
		opened = open(file, O_RDONLY | O_CLOEXEC);
	if (!is_stdin && opened < 0)
		return error_errno(err, errno, "%s", file);
	while ((n = fd_read_full(is_stdin ? STDIN_FILENO : opened, block, sizeof(block))) > 0) {
		if (capture->len > LARGEST_CAPTURE)
			return error_set(err, EFBIG, "%s: larger than 1 GiB", file);
		if (nl_buf_put(capture, block, (size_t)n) < 0)
			return error_errno(err, ENOMEM, "%s", file);
	}
	return n < 0 ? error_errno(err, (int)-n, "%s", file) : 0;
}

/* Replaces a capture that is text by the bytes it means. */
static int decode_text(struct dump_options *options, struct nl_buf *capture, struct error *err)
{
	struct nl_buf bytes = { 0 };
	int r;

	if (!nl_hex_is_text(capture->data, capture->len))
		return 0;
	if (options->protocol < 0)
		options->protocol = nl_hex_protocol((const char *)capture->data, capture->len);
	r = nl_hex_parse((const char *)capture->data, capture->len, &bytes, err);
	if (r < 0) {
		nl_buf_deinit(&bytes);
		error_prefix(err, "%s", options->file);
		return r;
	}
	nl_buf_deinit(capture);
	*capture = bytes;
	return 0;
}

/* All that a guest would receive, in one buffer. */
static int receive_all(struct nl_queue *queue, struct nl_buf *seen)
{
	struct nl_datagram datagram;

	while (nl_queue_next(queue, NL_LARGEST, 0, &datagram) == NL_QUEUE_DATAGRAM)
		if (nl_buf_put(seen, datagram.bytes, datagram.len) < 0)
			return seen->status;
	return 0;
}

static int canonicalise(int protocol, struct nl_buf *capture)
{
	struct nl_counters counters = { 0 };
	struct nl_map map;
	struct nl_env env = { .map = &map, .counters = &counters };
	struct nl_queue queue;
	struct nl_buf seen = { 0 };
	int r;

	nl_map_init(&map);
	nl_queue_init(&queue, &env, protocol);
	r = protocol == NETLINK_ROUTE ? nl_map_fill(&map, capture->data, capture->len) : 0;
	if (r >= 0)
		r = nl_queue_push_raw(&queue, capture->data, capture->len, 0);
	if (r >= 0)
		r = nl_queue_finish_dump(&queue);
	if (r >= 0)
		r = receive_all(&queue, &seen);
	nl_queue_deinit(&queue);
	nl_map_deinit(&map);
	nl_buf_deinit(capture);
	*capture = seen;
	return r;
}

static int dump(struct dump_options *options, struct error *err)
{
	_cleanup_(nl_buf_deinit) struct nl_buf capture = { 0 };
	struct nl_printer printer;
	int r;

	r = read_capture(options->file, &capture, err);
	if (r < 0)
		return r;
	r = decode_text(options, &capture, err);
	if (r < 0)
		return r;
	if (options->protocol < 0)
		options->protocol = NETLINK_ROUTE;
	if (options->canonical && canonicalise(options->protocol, &capture) < 0)
		return error_errno(err, ENOMEM, "%s", options->file);

	nl_printer_init(&printer, stdout, options->protocol);
	(void)nl_print_messages(&printer, capture.data, capture.len);
	if (fflush(stdout) != 0 || ferror(stdout))
		return error_errno(err, EIO, "cannot write");
	return 0;
}

int cmd_netlink_dump(int argc, char **argv)
{
	static const struct argp_option known[] = {
		{ "raw", OPTION_RAW, NULL, 0, "as the kernel has sent it (the default)", 0 },
		{ "canonical", OPTION_CANONICAL, NULL, 0, "as a guest sees it", 0 },
		{ "protocol", 'p', "NAME", 0, "the netlink family: route or sock_diag; a capture may say it", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		.options = known,
		.parser = parse_option,
		.args_doc = "FILE|-",
		.doc = "Decodes a capture of netlink messages: the bytes as they were received, one message after the "
		       "other, or "
		       "the same as hexadecimal text.",
	};
	struct dump_options options = { .protocol = -1 };
	struct error err = { 0 };

	command_prepare("hermit", "netlink-dump", argv);
	if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_CODE_TOOL;
	if (dump(&options, &err) < 0) {
		(void)fprintf(stderr, "hermit netlink-dump: %s\n", err.text);
		return EXIT_CODE_TOOL;
	}
	return 0;
}
