/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of sockets in /proc/net. Rows are sorted and numbered anew; addresses in the kernel, counts of references, timers and what TCP has
 * measured are fixed; inodes are those that stat(2) shows. TCP connections in TIME-WAIT, which there are in a namespace that was joined, do not
 * show: they end by the host's clock.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/proc/procfs.h"
#include "engine/proc/procfs_rows.h"
#include "netlink/protocols.h"

enum { WORDS_MAX = 24, ROW_MAX = 512 };

/* A row that was made, and what it is sorted by. */
struct row {
	char *key, *text;
};

struct rows {
	struct row *list;
	size_t n;
};

static void rows_deinit(struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		free(rows->list[i].key);
		free(rows->list[i].text);
	}
	free(rows->list);
}

static int compare_rows(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->key, ((const struct row *)b)->key);
}

/* Takes ownership of both, which may be NULL: out of memory. */
static int rows_add(struct rows *rows, char *key, char *text)
{
	struct row *grown = key && text ? reallocarray(rows->list, rows->n + 1, sizeof(*grown)) : NULL;

	if (!grown) {
		free(key);
		free(text);
		return -ENOMEM;
	}
	rows->list = grown;
	grown[rows->n++] = (struct row){ key, text };
	return 0;
}

static char *format(const char *text, ...) __attribute__((format(printf, 1, 2)));
static char *format(const char *text, ...)
{
	char made[ROW_MAX];
	va_list ap;

	va_start(ap, text);
	(void)vsnprintf(made, sizeof(made), text, ap);
	va_end(ap);
	return strdup(made);
}

static size_t split(struct piece line, struct piece *words)
{
	size_t n = 0;

	while (n < WORDS_MAX && piece_word(&line, &words[n]))
		n++;
	return n;
}

/* The number under which stat(2) shows the socket; 0 stays 0. */
static uint64_t shown_inode(const struct procfs_view *view, struct piece word)
{
	uint64_t ino = 0;
	struct inode *inode;

	if (!piece_number(word, 10, &ino) || !ino)
		return 0;
	inode = inode_get(&view->e->inodes, view->e->g->identities.socket_dev, ino);
	return inode ? inode_number(inode) : 0;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sockets that were never seen get their numbers in the order of their making, whatever the kernel's order is. */
static int number_inodes(const struct procfs_view *view, size_t column, size_t owner)
{
	_cleanup_free_ uint64_t *list = NULL;
	struct piece text = view->text, line, words[WORDS_MAX];
	size_t n = 0;

	list = calloc(text.n / 8 + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	while (piece_line(&text, &line))
		if (split(line, words) > column && (!owner || !piece_is(words[owner], "0")) &&
		    piece_number(words[column], 10, &list[n]) && list[n])
			n++;
	qsort(list, n, sizeof(*list), compare_numbers);
	for (size_t i = 0; i < n; i++)
		if (!inode_get(&view->e->inodes, view->e->g->identities.socket_dev, list[i]))
			return -ENOMEM;
	return 0;
}

typedef int row_fn(const struct procfs_view *view, const struct piece *words, size_t n, struct rows *rows);

/* The header as it is, the rows through `make`, sorted. With `numbered` they begin with their number and are padded to `width`. */
struct layout {
	row_fn *make;
	size_t inode_column;
	int number_width; /* 0: not numbered */
	int width;
	size_t owner_column; /* which is 0 in rows of the kernel's own; 0: there are none */
};

static int put_rows(const struct layout *layout, const struct rows *rows, FILE *out)
{
	for (size_t i = 0; i < rows->n; i++) {
		int n = 0;

		if (layout->number_width)
			n = fprintf(out, "%*zu: ", layout->number_width, i);
		n += fprintf(out, "%s", rows->list[i].text);
		fprintf(out, "%*s\n", n < layout->width ? layout->width - n : 0, "");
	}
	return 0;
}

static int filter(const struct procfs_view *view, const struct layout *layout, FILE *out)
{
	_cleanup_(rows_deinit) struct rows rows = { 0 };
	struct piece text = view->text, line, words[WORDS_MAX];
	size_t n;
	int r;

	r = number_inodes(view, layout->inode_column, layout->owner_column);
	if (r == 0 && piece_line(&text, &line))
		fprintf(out, "%.*s\n", PIECE_ARG(line));
	while (r == 0 && piece_line(&text, &line)) {
		n = split(line, words);
		if (n > layout->inode_column)
			r = layout->make(view, words, n, &rows);
	}
	if (r < 0)
		return r;
	if (rows.n)
		qsort(rows.list, rows.n, sizeof(*rows.list), compare_rows);
	return put_rows(layout, &rows, out);
}

/* sl local remote st tx:rx tr:when retrnsmt uid timeout inode ref pointer ... */
enum { SL, LOCAL, REMOTE, STATE, QUEUES, TIMER, RETRANSMIT, UID, TIMEOUT, INODE };

#define STATE_LISTEN "0A"
#define STATE_TIME_WAIT "06"

/* What waits to be read is the guest's doing; what is not yet acknowledged is the clock's. */
static char *common_columns(const struct procfs_view *view, const struct piece *words, const char *end)
{
	struct piece receive = words[QUEUES], send;
	uint64_t uid = 0;

	(void)piece_until(&receive, ':', &send);
	(void)piece_number(words[UID], 10, &uid);
	if (!piece_is(words[STATE], STATE_LISTEN))
		send = piece_of("00000000");
	return format("%.*s %.*s %.*s %.*s:%.*s 00:00000000 00000000 %5" PRIu64 " %8d %" PRIu64 " 1 0000000000000000 %s",
		      PIECE_ARG(words[LOCAL]), PIECE_ARG(words[REMOTE]), PIECE_ARG(words[STATE]), PIECE_ARG(send),
		      PIECE_ARG(receive), uid, 0, shown_inode(view, words[INODE]), end);
}

static char *address_key(const struct procfs_view *view, const struct piece *words)
{
	return format("%.*s %.*s %020" PRIu64, PIECE_ARG(words[LOCAL]), PIECE_ARG(words[REMOTE]),
		      shown_inode(view, words[INODE]));
}

static int make_tcp(const struct procfs_view *view, const struct piece *words, size_t n, struct rows *rows)
{
	bool listens = piece_is(words[STATE], STATE_LISTEN);

	(void)n;
	if (piece_is(words[STATE], STATE_TIME_WAIT))
		return 0;
	return rows_add(rows, address_key(view, words),
			common_columns(view, words, listens ? "100 0 0 10 0" : "20 4 0 10 -1"));
}

static int make_datagram(const struct procfs_view *view, const struct piece *words, size_t n, struct rows *rows)
{
	(void)n;
	return rows_add(rows, address_key(view, words), common_columns(view, words, "0"));
}

int procfs_filter_tcp(const struct procfs_view *view, FILE *out)
{
	static const struct layout layout = { make_tcp, INODE, 4, 149, 0 };

	return filter(view, &layout, out);
}

int procfs_filter_tcp6(const struct procfs_view *view, FILE *out)
{
	static const struct layout layout = { make_tcp, INODE, 4, 0, 0 };

	return filter(view, &layout, out);
}

int procfs_filter_udp(const struct procfs_view *view, FILE *out)
{
	static const struct layout layout = { make_datagram, INODE, 5, 127, 0 };

	return filter(view, &layout, out);
}

int procfs_filter_udp6(const struct procfs_view *view, FILE *out)
{
	static const struct layout layout = { make_datagram, INODE, 5, 0, 0 };

	return filter(view, &layout, out);
}

int procfs_filter_raw(const struct procfs_view *view, FILE *out)
{
	static const struct layout layout = { make_datagram, INODE, 4, 0, 0 };

	return filter(view, &layout, out);
}

/* Num: RefCount Protocol Flags Type St Inode Path */
static int make_unix(const struct procfs_view *view, const struct piece *words, size_t n, struct rows *rows)
{
	uint64_t ino = shown_inode(view, words[6]);
	struct piece path = n > 7 ? words[7] : piece_of("");

	return rows_add(rows, format("%020" PRIu64, ino),
			format("0000000000000000: 00000002 %.*s %.*s %.*s %.*s %5" PRIu64 "%s%.*s", PIECE_ARG(words[2]),
			       PIECE_ARG(words[3]), PIECE_ARG(words[4]), PIECE_ARG(words[5]), ino, n > 7 ? " " : "",
			       PIECE_ARG(path)));
}

int procfs_filter_unix(const struct procfs_view *view, FILE *out)
{
	static const struct layout layout = { make_unix, 6, 0, 0, 0 };

	return filter(view, &layout, out);
}

/* sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode; the kernel's own sockets only of families that the guest can open. */
static int make_netlink(const struct procfs_view *view, const struct piece *words, size_t n, struct rows *rows)
{
	uint64_t family = 0, port = 0;

	(void)n;
	if (!piece_number(words[1], 10, &family) || !piece_number(words[2], 10, &port))
		return 0;
	if (family > INT_MAX || !nl_protocol_get((int)family)->modelled)
		return 0;
	return rows_add(rows, format("%03" PRIu64 " %010" PRIu64 " %020" PRIu64, family, port, shown_inode(view, words[9])),
			format("0000000000000000 %-3" PRIu64 " %-10" PRIu64 " %.*s 0        0        0     2        0        %-8" PRIu64,
			       family, port, PIECE_ARG(words[3]), port ? shown_inode(view, words[9]) : 0));
}

int procfs_filter_netlink(const struct procfs_view *view, FILE *out)
{
	static const struct layout layout = { make_netlink, 9, 0, 0, 2 };

	return filter(view, &layout, out);
}
