/* SPDX-License-Identifier: BSD-3-Clause */
/* What /proc says about open files, locks and System V objects: see procfs_rows.h. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/proc/procfs_rows.h"
#include "engine/time/timerfd.h"

/* ---- fdinfo ---- */

enum { ROOT_MOUNT = 20 }; /* procfs_mounts.c numbers from here; which one a file is on is not told */

/* The descriptor that is described; -1 when it cannot be told. */
static int described_fd(const struct procfs_view *view)
{
	struct piece number = piece_of(view->rest), word;
	uint64_t fd;

	(void)piece_until(&number, '/', &word);
	return view->task && piece_number(number, 10, &fd) && fd <= INT_MAX ? (int)fd : -1;
}

/* The inode behind it; 0 when it cannot be told. */
static int described_inode(const struct procfs_view *view, int fd, uint64_t *ret)
{
	struct guest *g = view->e->g;
	struct procfs_identity id;
	struct file_stat stat;
	int handle, r;

	*ret = 0;
	handle = fd < 0 ? fd : g->ops->fd_borrow(g, view->task->id, fd);
	if (handle < 0)
		return 0;
	r = g->ops->handle_stat(g, handle, &stat);
	g->ops->handle_release(g, handle);
	if (r == 0)
		r = procfs_identify(view->e, stat.dev, stat.ino, &id);
	if (r == 0)
		*ret = id.ino;
	return r == -ENOMEM ? r : 0;
}

/* "... ino:1f sdev:800001 ...", in hexadecimal: of epoll and inotify descriptors. */
static int put_watch_line(const struct procfs_view *view, struct piece line, FILE *out)
{
	struct piece whole = line, word, value;
	uint64_t ino = 0, dev = 0;
	struct procfs_identity id;
	const char *blank = "";
	int r;

	while (piece_word(&whole, &word)) {
		value = word;
		if (piece_starts(word, "ino:") && piece_until(&value, ':', &word))
			(void)piece_number(value, 16, &ino);
		else if (piece_starts(word, "sdev:") && piece_until(&value, ':', &word))
			(void)piece_number(value, 16, &dev);
	}
	r = procfs_identify(view->e, makedev(dev >> 20, dev & 0xfffff), ino, &id);
	if (r < 0)
		return r;
	while (piece_word(&line, &word)) {
		if (piece_starts(word, "fhandle") || piece_starts(word, "f_handle"))
			continue; /* holds the host's inode number */
		if (piece_starts(word, "ino:"))
			fprintf(out, "%sino:%" PRIx64, blank, id.ino);
		else if (piece_starts(word, "sdev:"))
			fprintf(out, "%ssdev:%x", blank, id.major << 20 | id.minor);
		else
			fprintf(out, "%s%.*s", blank, PIECE_ARG(word));
		blank = " ";
	}
	fputs("\n", out);
	return 0;
}

int procfs_filter_fdinfo(const struct procfs_view *view, FILE *out)
{
	static const char *const of_timer[] = { "clockid", "ticks", "settime flags", "it_value", "it_interval" };
	int fd = described_fd(view), r = 0;
	struct piece text = view->text, line, key, rest;
	const struct fd_info *info;
	bool timer = false;
	uint64_t ino;

	if (fd >= 0 && fdtable_info(view->e, view->task, fd, &info) == 0)
		timer = info->kind == FD_TIMERFD;
	r = described_inode(view, fd, &ino);
	while (r == 0 && piece_line(&text, &line)) {
		rest = line;
		(void)piece_until(&rest, ':', &key);
		if (timer && piece_is(key, of_timer[0]) && fdtable_info(view->e, view->task, fd, &info) == 0)
			(void)timerfd_describe(view->e, info, out);
		for (size_t i = 0; i < ARRAY_SIZE(of_timer) && timer && key.n; i++)
			if (piece_is(key, of_timer[i]))
				key.n = 0;
		if (!key.n)
			continue;
		if (piece_is(key, "mnt_id"))
			fprintf(out, "mnt_id:\t%d\n", ROOT_MOUNT);
		else if (piece_is(key, "ino"))
			fprintf(out, "ino:\t%" PRIu64 "\n", ino);
		else if (piece_is(key, "tfd") || piece_starts(key, "inotify"))
			r = put_watch_line(view, line, out);
		else if (piece_is(key, "eventfd-id"))
			fputs("eventfd-id: 0\n", out); /* counts the whole host's */
		else if (!piece_is(key, "lock"))
			fprintf(out, "%.*s\n", PIECE_ARG(line));
	}
	return r;
}

/* ---- locks ---- */

/* "major:minor:inode", the first two in hexadecimal */
static int put_lock_file(const struct procfs_view *view, struct piece word, FILE *out)
{
	struct piece major_part, minor_part;
	uint64_t high = 0, low = 0, ino = 0;
	struct procfs_identity id;
	int r;

	if (!piece_until(&word, ':', &major_part) || !piece_until(&word, ':', &minor_part) ||
	    !piece_number(major_part, 16, &high) || !piece_number(minor_part, 16, &low) || !piece_number(word, 10, &ino))
		return -EIO;
	r = procfs_identify(view->e, makedev(high, low), ino, &id);
	if (r == 0)
		fprintf(out, " %02x:%02x:%" PRIu64, id.major, id.minor, id.ino);
	return r;
}

/* Locks of open files have no owner's id: they count as the run's when it has seen the file. */
static bool is_lock_of_run(const struct procfs_view *view, struct piece owner, struct piece file)
{
	struct piece major_part, minor_part;
	uint64_t high = 0, low = 0, ino = 0, pid;

	if (piece_number(owner, 10, &pid))
		return pid <= INT_MAX && process_find(view->e, (int)pid);
	return piece_is(owner, "-1") && piece_until(&file, ':', &major_part) && piece_until(&file, ':', &minor_part) &&
	       piece_number(major_part, 16, &high) && piece_number(minor_part, 16, &low) && piece_number(file, 10, &ino) &&
	       inode_is_known(&view->e->inodes, makedev(high, low), ino);
}

/* "1: POSIX  ADVISORY  WRITE 12 fe:00:1234 0 EOF" */
int procfs_filter_locks(const struct procfs_view *view, FILE *out)
{
	enum { PID_WORD = 4, FILE_WORD = 5 };
	struct piece text = view->text, line, word, words, owner = { 0 }, file = { 0 };
	unsigned number = 0, i;
	int r = 0;

	while (r == 0 && piece_line(&text, &line)) {
		for (words = line, i = 0; i <= FILE_WORD && piece_word(&words, &word); i++) {
			owner = i == PID_WORD ? word : owner;
			file = i == FILE_WORD ? word : file;
		}
		if (!is_lock_of_run(view, owner, file))
			continue;
		(void)piece_word(&line, &word);
		fprintf(out, "%u:", ++number);
		for (i = 1; r == 0 && piece_word(&line, &word); i++) {
			if (i == FILE_WORD)
				r = put_lock_file(view, word, out);
			else
				fprintf(out, " %.*s", PIECE_ARG(word));
		}
		fputs("\n", out);
	}
	return r;
}

/* ---- System V objects ---- */

/* Is the column of this number one of times or of residency? */
static bool is_host_column(struct piece header, unsigned column)
{
	struct piece word;

	for (unsigned i = 0; i <= column; i++)
		if (!piece_word(&header, &word))
			return false;
	return piece_ends(word, "time") || piece_is(word, "rss") || piece_is(word, "swap");
}

int procfs_filter_sysvipc(const struct procfs_view *view, FILE *out)
{
	struct piece text = view->text, header, line, word;
	const char *from;
	unsigned column;

	if (!piece_line(&text, &header))
		return 0;
	fprintf(out, "%.*s\n", PIECE_ARG(header));
	while (piece_line(&text, &line)) {
		for (column = 0, from = line.at; piece_word(&line, &word); column++, from = line.at) {
			if (is_host_column(header, column))
				fprintf(out, "%*d", (int)(word.at + word.n - from), 0);
			else
				fprintf(out, "%.*s", (int)(word.at + word.n - from), from);
		}
		fputs("\n", out);
	}
	return 0;
}
