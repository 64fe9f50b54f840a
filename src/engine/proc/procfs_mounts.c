/* SPDX-License-Identifier: BSD-3-Clause */
/* The mounts that a process sees: see procfs_rows.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/proc/procfs_rows.h"

enum { FIRST_ID = 20 };

/* File systems without a device show as what they are; what disk the host has is its own affair, as in statfs(2). */
static const char *const virtual_types[] = {
	"proc", "sysfs", "tmpfs", "devpts", "devtmpfs", "mqueue", "cgroup", "cgroup2", "overlay", "ramfs", "securityfs", "debugfs",
	"tracefs", "bpf", "pstore", "configfs", "fusectl", "hugetlbfs", "binfmt_misc", "nsfs",
};

static bool is_virtual(struct piece type)
{
	for (size_t i = 0; i < ARRAY_SIZE(virtual_types); i++)
		if (piece_is(type, virtual_types[i]))
			return true;
	return false;
}

static struct piece shown_type(struct piece type)
{
	return is_virtual(type) ? type : piece_of("ext4");
}

/* What is mounted by a name has it from who mounted it: the container's description, or the guest. "hermit" is from us. */
static struct piece shown_source(struct piece type, struct piece source)
{
	if (!is_virtual(type))
		return piece_of("/dev/root");
	return piece_is(source, "hermit") || piece_is(source, "") || !piece_is(type, "tmpfs") ? type : source;
}

/* Of the options those that mount(2) itself knows; how access times are kept is not the host's to say. */
static void put_options(struct piece options, FILE *out)
{
	static const char *const known[] = { "ro", "rw", "nosuid", "nodev", "noexec", "sync", "dirsync" };
	const char *comma = "";
	struct piece option;

	while (piece_until(&options, ',', &option))
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			if (piece_is(option, known[i])) {
				fprintf(out, "%s%s", comma, known[i]);
				comma = ",";
			}
	fprintf(out, "%srelatime", comma);
}

static const char *read_write(struct piece options)
{
	struct piece first;

	return piece_until(&options, ',', &first) && piece_is(first, "ro") ? "ro" : "rw";
}

/* How a file system without a device is written is a matter of its description. */
static void put_super_options(struct piece type, struct piece options, FILE *out)
{
	struct piece option;

	fputs(read_write(options), out);
	while (is_virtual(type) && piece_until(&options, ',', &option))
		if (piece_is(option, "sync") || piece_is(option, "dirsync"))
			fprintf(out, ",%.*s", PIECE_ARG(option));
}

/* POINT is at DIRECTORY, or (whole) at or below it? In lists a blank and its like are three octal digits. */
static bool is_at(struct piece point, const char *directory, bool whole)
{
	size_t i = 0;

	for (; *directory; directory++) {
		const char *at = point.at + i;

		if (i + 3 < point.n && at[0] == '\\') {
			if (*directory != (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0')))
				return false;
			i += 4;
		} else if (i < point.n && at[0] == *directory) {
			i++;
		} else {
			return false;
		}
	}
	return i == point.n || (whole && point.at[i] == '/');
}

static bool is_listed(const struct engine *e, struct piece point)
{
	const char *const *own = e->options.mount_points;

	if (!own || piece_is(point, "/"))
		return true;
	for (; *own; own++)
		if (is_at(point, *own + (**own == '='), **own != '='))
			return true;
	return false;
}

/* A line of mountinfo: see proc_pid_mountinfo(5). */
struct mount_line {
	uint64_t id, parent, dev;
	struct piece root, point, options, type, source, super_options;
};

static bool parse_line(struct piece line, struct mount_line *m)
{
	struct piece id, parent, device, major_part, word;
	uint64_t high, low;

	if (!piece_word(&line, &id) || !piece_word(&line, &parent) || !piece_word(&line, &device) ||
	    !piece_word(&line, &m->root) || !piece_word(&line, &m->point) || !piece_word(&line, &m->options))
		return false;
	do /* propagation, up to the dash */
		if (!piece_word(&line, &word))
			return false;
	while (!piece_is(word, "-"));
	if (!piece_word(&line, &m->type) || !piece_word(&line, &m->source))
		return false;
	if (!piece_word(&line, &m->super_options))
		m->super_options = piece_of("rw");
	if (!piece_until(&device, ':', &major_part) || !piece_number(major_part, 10, &high) || !piece_number(device, 10, &low))
		return false;
	m->dev = makedev(high, low);
	return piece_number(id, 10, &m->id) && piece_number(parent, 10, &m->parent);
}

static size_t count_lines(struct piece text)
{
	struct piece line;
	size_t n = 0;

	while (piece_line(&text, &line))
		n++;
	return n;
}

/* A mount's number in the order of the lines. */
static uint64_t shown_id(const struct mount_line *mounts, size_t n, uint64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (mounts[i].id == id)
			return FIRST_ID + i;
	return FIRST_ID - 1; /* outside of what is seen */
}

static int put_line(const struct procfs_view *view, const struct mount_line *mounts, size_t n, const struct mount_line *m,
		    FILE *out)
{
	struct procfs_identity id;
	int r;

	r = procfs_identify_device(view->e, m->dev, &id);
	if (r < 0)
		return r;
	fprintf(out, "%" PRIu64 " %" PRIu64 " %u:%u ", shown_id(mounts, n, m->id), shown_id(mounts, n, m->parent), id.major,
		id.minor);
	/* the part of a disk's file system that is mounted is a place on the host */
	fprintf(out, "%.*s %.*s ", PIECE_ARG(is_virtual(m->type) ? m->root : piece_of("/")), PIECE_ARG(m->point));
	put_options(m->options, out);
	fprintf(out, " - %.*s %.*s ", PIECE_ARG(shown_type(m->type)), PIECE_ARG(shown_source(m->type, m->source)));
	put_super_options(m->type, m->super_options, out);
	(void)fputc('\n', out);
	return 0;
}

int procfs_filter_mountinfo(const struct procfs_view *view, FILE *out)
{
	_cleanup_free_ struct mount_line *mounts = NULL;
	struct piece text = view->text, line;
	size_t lines = count_lines(text), n = 0;
	int r = 0;

	mounts = calloc(lines + 1, sizeof(*mounts));
	if (!mounts)
		return -ENOMEM;
	while (piece_line(&text, &line)) {
		if (!parse_line(line, &mounts[n]))
			return -EIO;
		n += is_listed(view->e, mounts[n].point);
	}
	for (size_t i = 0; i < n && r == 0; i++)
		r = put_line(view, mounts, n, &mounts[i], out);
	return r;
}

/* "source point type options 0 0" */
int procfs_filter_mounts(const struct procfs_view *view, FILE *out)
{
	struct piece text = view->text, line, source, point, type, options;

	while (piece_line(&text, &line)) {
		if (!piece_word(&line, &source) || !piece_word(&line, &point) || !piece_word(&line, &type) ||
		    !piece_word(&line, &options))
			return -EIO;
		if (!is_listed(view->e, point))
			continue;
		fprintf(out, "%.*s %.*s %.*s ", PIECE_ARG(shown_source(type, source)), PIECE_ARG(point), PIECE_ARG(shown_type(type)));
		put_options(options, out);
		fputs(" 0 0\n", out);
	}
	return 0;
}

/* "device S mounted on P with fstype T [statistics]" */
int procfs_filter_mountstats(const struct procfs_view *view, FILE *out)
{
	struct piece text = view->text, line, word, source = { 0 }, point = { 0 }, type = { 0 };

	while (piece_line(&text, &line)) {
		if (!piece_starts(line, "device ") && !piece_starts(line, "no device "))
			continue; /* statistics */
		source = piece_of("");
		if (piece_starts(line, "device ")) {
			(void)piece_word(&line, &word);
			(void)piece_word(&line, &source);
		}
		while (piece_word(&line, &word)) {
			if (piece_is(word, "on"))
				(void)piece_word(&line, &point);
			if (piece_is(word, "fstype"))
				(void)piece_word(&line, &type);
		}
		if (!is_listed(view->e, point))
			continue;
		fprintf(out, "device %.*s mounted on %.*s with fstype %.*s\n", PIECE_ARG(shown_source(type, source)), PIECE_ARG(point),
			PIECE_ARG(shown_type(type)));
	}
	return 0;
}
