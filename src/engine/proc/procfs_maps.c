/* SPDX-License-Identifier: BSD-3-Clause */
/* The mappings of a process: see procfs_rows.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/paths.h"
#include "engine/proc/procfs_rows.h"

/* "start-end perms offset dev inode   path" */
struct mapping {
	struct piece range, perms, offset, path;
	uint64_t start, dev, ino;
};

static bool parse_device(struct piece word, uint64_t *ret)
{
	struct piece major;
	uint64_t high, low;

	if (!piece_until(&word, ':', &major) || !piece_number(major, 16, &high) || !piece_number(word, 16, &low))
		return false;
	*ret = makedev(high, low);
	return true;
}

static bool parse_mapping(struct piece line, struct mapping *ret)
{
	struct piece range, start, dev, ino;

	if (!piece_word(&line, &ret->range) || !piece_word(&line, &ret->perms) || !piece_word(&line, &ret->offset) ||
	    !piece_word(&line, &dev) || !piece_word(&line, &ino))
		return false;
	range = ret->range;
	if (!piece_until(&range, '-', &start) || !piece_number(start, 16, &ret->start) || !parse_device(dev, &ret->dev) ||
	    !piece_number(ino, 10, &ret->ino))
		return false;
	while (line.n && *line.at == ' ') {
		line.at++;
		line.n--;
	}
	ret->path = line;
	return true;
}

/* The file's identity as stat(2) gives it, which layered file systems tell differently here. */
static void find_file(const struct procfs_view *view, struct mapping *m)
{
	struct guest_path path = { .dirfd = AT_FDCWD };
	struct file_stat stat;

	if (!m->path.n || m->path.at[0] != '/' || m->path.n >= sizeof(path.text) || piece_ends(m->path, " (deleted)"))
		return;
	memcpy(path.text, m->path.at, m->path.n);
	if (path_stat(view->e, view->reader, &path, 0, &stat) < 0 || !S_ISREG(stat.mode))
		return;
	m->dev = stat.dev;
	m->ino = stat.ino;
}

static int put_mapping(const struct procfs_view *view, struct mapping *m, FILE *out)
{
	const int PATH_COLUMN = 73;
	struct procfs_identity id = { 0 };
	char head[128];
	int n, r = 0;

	find_file(view, m);
	if (m->ino)
		r = procfs_identify(view->e, m->dev, m->ino, &id);
	if (r < 0)
		return r;
	n = snprintf(head, sizeof(head), "%.*s %.*s %.*s %02x:%02x %" PRIu64 " ", PIECE_ARG(m->range), PIECE_ARG(m->perms),
		     PIECE_ARG(m->offset), id.major, id.minor, id.ino);
	if (m->path.n)
		fprintf(out, "%-*s%.*s\n", n < PATH_COLUMN ? PATH_COLUMN : n, head, PIECE_ARG(m->path));
	else
		fprintf(out, "%s\n", head);
	return 0;
}

static bool is_hidden(const struct procfs_view *view, const struct mapping *m)
{
	return view->e->g->clock_page_address && m->start == view->e->g->clock_page_address;
}

int procfs_filter_maps(const struct procfs_view *view, FILE *out)
{
	struct piece text = view->text, line;
	struct mapping m;
	int r = 0;

	while (r == 0 && piece_line(&text, &line)) {
		if (!parse_mapping(line, &m))
			return -EIO;
		if (!is_hidden(view, &m))
			r = put_mapping(view, &m, out);
	}
	return r;
}

/* A line below a mapping. Sizes stay, residency is none; what only some processors have is left out. */
static void put_smaps_line(struct piece line, FILE *out)
{
	static const char *const kept[] = { "Size", "KernelPageSize", "MMUPageSize", "VmFlags" };
	struct piece key, rest = line;

	if (!piece_until(&rest, ':', &key) || piece_is(key, "ProtectionKey"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (piece_is(key, kept[i])) {
			fprintf(out, "%.*s\n", PIECE_ARG(line));
			return;
		}
	if (piece_is(key, "THPeligible"))
		fputs("THPeligible:           0\n", out);
	else
		fprintf(out, "%.*s:%*s0 kB\n", PIECE_ARG(key), (int)(key.n < 23 ? 23 - key.n : 1), "");
}

int procfs_filter_smaps(const struct procfs_view *view, FILE *out)
{
	struct piece text = view->text, line;
	bool hidden = false;
	struct mapping m;
	int r = 0;

	while (r == 0 && piece_line(&text, &line)) {
		if (parse_mapping(line, &m)) {
			hidden = is_hidden(view, &m);
			r = hidden ? 0 : put_mapping(view, &m, out);
		} else if (!hidden) {
			put_smaps_line(line, out);
		}
	}
	return r;
}

/* "start policy [file=path] [stack] [heap] counts...": the counts are the host's. */
int procfs_filter_numa_maps(const struct procfs_view *view, FILE *out)
{
	struct piece text = view->text, line, word, start, policy;
	uint64_t address;

	while (piece_line(&text, &line)) {
		if (!piece_word(&line, &start) || !piece_word(&line, &policy) || !piece_number(start, 16, &address))
			return -EIO;
		if (view->e->g->clock_page_address && address == view->e->g->clock_page_address)
			continue;
		fprintf(out, "%.*s %.*s", PIECE_ARG(start), PIECE_ARG(policy));
		while (piece_word(&line, &word))
			if (piece_starts(word, "file=") || piece_is(word, "stack") || piece_is(word, "heap"))
				fprintf(out, " %.*s", PIECE_ARG(word));
		fputs("\n", out);
	}
	return 0;
}
