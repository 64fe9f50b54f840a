/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of /proc/net about what links have: addresses, groups, source filters, IPv6 routes. They are in the order of hashes with a
 * secret, of addresses that follow random MACs, or in which the kernel came to join, partly on its own time; and have timers, uses, and
 * whether a report has gone out. Shown are the guest's numbers and what was configured, in order of links and lines.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/proc/procfs.h"
#include "engine/proc/procfs_rows.h"

enum {
	DECIMAL = 10,
	HEXADECIMAL = 16,
	WORDS_MAX = 10,
	PASSING_FLAGS = 0x4c, /* of an address: tentative, optimistic, not unique */
	LASTING_FLAGS = 0xc, /* of igmp6: never reported, joined at the device; the others tell of timers and reports */
};

struct group_line {
	uint32_t index;
	bool below; /* belongs to the line of its link */
	char text[192];
};

struct group_words {
	struct piece words[WORDS_MAX];
	size_t n;
};

/* The line in l. False: it is about no link. */
typedef bool write_line_fn(const struct procfs_view *view, const struct group_words *w, struct group_line *l);

static int compare(const void *a, const void *b)
{
	const struct group_line *x = a, *y = b;

	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	if (x->below != y->below)
		return x->below - y->below;
	return strcmp(x->text, y->text);
}

/* Lines that are about no link are headings. Those that begin with a tab belong to the link of the line before, where there are such. */
static int filter(const struct procfs_view *view, size_t n_words, write_line_fn *write, write_line_fn *write_below, FILE *out)
{
	_cleanup_free_ struct group_line *lines = calloc(view->text.n / 8 + 1, sizeof(*lines));
	struct piece text = view->text, line, rest;
	struct group_words w;
	uint32_t link = 0;
	size_t n = 0;
	bool below;
	int r;

	r = lines ? netlinks_update(view->e, view->reader) : -ENOMEM;
	while (r == 0 && piece_line(&text, &line)) {
		rest = line;
		for (w.n = 0; w.n < WORDS_MAX && piece_word(&rest, &w.words[w.n]); w.n++)
			;
		below = write_below && line.n && line.at[0] == '\t';
		lines[n] = (struct group_line){ .index = link, .below = below };
		if (below ? write_below(view, &w, &lines[n]) : w.n >= n_words && write(view, &w, &lines[n]))
			link = lines[n++].index;
		else
			fprintf(out, "%.*s\n", PIECE_ARG(line));
	}
	if (n)
		qsort(lines, n, sizeof(*lines), compare);
	for (size_t i = 0; r == 0 && i < n; i++)
		fprintf(out, "%s\n", lines[i].text);
	return r;
}

static bool is_link(const struct procfs_view *view, struct piece word, unsigned base, struct group_line *l)
{
	uint64_t real;

	if (!piece_number(word, base, &real))
		return false;
	l->index = nl_map_index(&view->e->netlinks.map, NL_TO_VIRTUAL, (uint32_t)real, NULL);
	return true;
}

/* A word of hexadecimal bytes, as the guest is to see it: addresses follow their links' MACs. */
static const char *shown_bytes(const struct procfs_view *view, struct piece word, uint32_t index, char buf[36])
{
	const struct nl_map *map = &view->e->netlinks.map;
	const struct nl_link *link = nl_map_find_virtual(map, index);
	uint32_t real = link ? link->real_index : 0;
	uint8_t bytes[16];
	size_t n = word.n / 2;

	buf[0] = '\0';
	if (n > sizeof(bytes) || !piece_bytes(word, bytes, n))
		return buf;
	if (n == sizeof(bytes))
		nl_map_ip6(map, NL_TO_VIRTUAL, real, bytes);
	else if (n == NL_MAC_LEN)
		nl_map_mac(map, NL_TO_VIRTUAL, real, bytes, NULL);
	for (size_t i = 0; i < n; i++)
		(void)snprintf(buf + 2 * i, 3, "%02x", bytes[i]);
	return buf;
}

/* index device users global address */
static bool write_dev_mcast(const struct procfs_view *view, const struct group_words *w, struct group_line *l)
{
	char bytes[36];

	if (!is_link(view, w->words[0], DECIMAL, l))
		return false;
	(void)snprintf(l->text, sizeof(l->text), "%-4u %-15.*s %-5.*s %-5.*s %s", l->index, PIECE_ARG(w->words[1]), PIECE_ARG(w->words[2]),
		       PIECE_ARG(w->words[3]), shown_bytes(view, w->words[4], l->index, bytes));
	return true;
}

int procfs_filter_dev_mcast(const struct procfs_view *view, FILE *out)
{
	return filter(view, 5, write_dev_mcast, NULL, out);
}

/* index device group users flags timer */
static bool write_igmp6(const struct procfs_view *view, const struct group_words *w, struct group_line *l)
{
	char bytes[36];
	uint64_t flags = 0;

	if (!is_link(view, w->words[0], DECIMAL, l))
		return false;
	(void)piece_number(w->words[4], HEXADECIMAL, &flags);
	(void)snprintf(l->text, sizeof(l->text), "%-4u %-15.*s %s %5.*s %08X 0", l->index, PIECE_ARG(w->words[1]),
		       shown_bytes(view, w->words[2], l->index, bytes), PIECE_ARG(w->words[3]), (unsigned)flags & LASTING_FLAGS);
	return true;
}

int procfs_filter_igmp6(const struct procfs_view *view, FILE *out)
{
	return filter(view, 6, write_igmp6, NULL, out);
}

/* index device address users */
static bool write_anycast6(const struct procfs_view *view, const struct group_words *w, struct group_line *l)
{
	char bytes[36];

	if (!is_link(view, w->words[0], DECIMAL, l))
		return false;
	(void)snprintf(l->text, sizeof(l->text), "%-4u %-15.*s %s %5.*s", l->index, PIECE_ARG(w->words[1]),
		       shown_bytes(view, w->words[2], l->index, bytes), PIECE_ARG(w->words[3]));
	return true;
}

int procfs_filter_anycast6(const struct procfs_view *view, FILE *out)
{
	return filter(view, 4, write_anycast6, NULL, out);
}

/* index device : count querier */
static bool write_igmp(const struct procfs_view *view, const struct group_words *w, struct group_line *l)
{
	struct piece name = w->words[1];
	bool apart = piece_is(w->words[2], ":");

	if (!is_link(view, w->words[0], DECIMAL, l))
		return false;
	if (!apart && name.n)
		name.n--; /* a long name touches the colon */
	(void)snprintf(l->text, sizeof(l->text), "%u\t%-10.*s: %5.*s %7.*s", l->index, PIECE_ARG(name), PIECE_ARG(w->words[apart ? 3 : 2]),
		       PIECE_ARG(w->words[apart ? 4 : 3]));
	return true;
}

/* group users timer reporter */
static bool write_igmp_group(const struct procfs_view *view, const struct group_words *w, struct group_line *l)
{
	if (w->n < 2)
		return false;
	(void)snprintf(l->text, sizeof(l->text), "\t\t\t\t%.*s %5.*s 0:00000000\t\t0", PIECE_ARG(w->words[0]), PIECE_ARG(w->words[1]));
	return true;
}

int procfs_filter_igmp(const struct procfs_view *view, FILE *out)
{
	return filter(view, 4, write_igmp, write_igmp_group, out);
}

/* index device group source included excluded */
static bool write_mcfilter(const struct procfs_view *view, const struct group_words *w, struct group_line *l)
{
	int name = w->words[1].n < 6 ? (int)w->words[1].n : 6;

	if (!is_link(view, w->words[0], DECIMAL, l))
		return false;
	(void)snprintf(l->text, sizeof(l->text), "%3u %6.*s %.*s %.*s %6.*s %6.*s", l->index, name, w->words[1].at, PIECE_ARG(w->words[2]),
		       PIECE_ARG(w->words[3]), PIECE_ARG(w->words[4]), PIECE_ARG(w->words[5]));
	return true;
}

int procfs_filter_mcfilter(const struct procfs_view *view, FILE *out)
{
	return filter(view, 6, write_mcfilter, NULL, out);
}

/* address index length scope flags name, in hexadecimal */
static bool write_if_inet6(const struct procfs_view *view, const struct group_words *w, struct group_line *l)
{
	char bytes[36];
	uint64_t flags = 0;

	if (!is_link(view, w->words[1], HEXADECIMAL, l) || !piece_number(w->words[4], HEXADECIMAL, &flags))
		return false;
	(void)snprintf(l->text, sizeof(l->text), "%s %02x %.*s %.*s %02x %8.*s", shown_bytes(view, w->words[0], l->index, bytes), l->index,
		       PIECE_ARG(w->words[2]), PIECE_ARG(w->words[3]), (unsigned)flags & ~(unsigned)PASSING_FLAGS, PIECE_ARG(w->words[5]));
	return true;
}

int procfs_filter_if_inet6(const struct procfs_view *view, FILE *out)
{
	return filter(view, 6, write_if_inet6, NULL, out);
}

/* destination length source length hop metric references uses flags device: in order of destinations, whatever the device */
static bool write_ipv6_route(const struct procfs_view *view, const struct group_words *w, struct group_line *l)
{
	char to[36], from[36], hop[36];

	(void)snprintf(l->text, sizeof(l->text), "%s %.*s %s %.*s %s %.*s 00000001 00000000 %.*s %8.*s", shown_bytes(view, w->words[0], 0, to),
		       PIECE_ARG(w->words[1]), shown_bytes(view, w->words[2], 0, from), PIECE_ARG(w->words[3]),
		       shown_bytes(view, w->words[4], 0, hop), PIECE_ARG(w->words[5]), PIECE_ARG(w->words[8]), PIECE_ARG(w->words[9]));
	return true;
}

int procfs_filter_ipv6_route(const struct procfs_view *view, FILE *out)
{
	return filter(view, 10, write_ipv6_route, NULL, out);
}
