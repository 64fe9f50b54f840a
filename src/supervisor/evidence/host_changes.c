/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes by others: see host_changes.h. */
#include "supervisor/evidence/host_changes.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_MOST = 200000 };

int host_changes_start(struct host_changes *c, const char *mark, struct error *err)
{
	struct stat st;

	if (chmod(mark, 0700) < 0 || stat(mark, &st) < 0)
		return error_errno(err, errno, "%s", mark);
	*c = (struct host_changes){ .start = st.st_ctim };
	return 0;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* What the caller's shell directs to a file grows by what we say. */
static bool is_output(const struct stat *st)
{
	struct stat own;

	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (fstat(fd, &own) == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino)
			return true;
	return false;
}

static bool is_ours(const struct stat *st, const char *const *but)
{
	struct stat own;

	for (; *but; but++)
		if (stat(*but, &own) == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino)
			return true;
	return is_output(st);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void look_at(struct host_changes *c, FTS *walk, FTSENT *entry, const char *const *but)
{
	if (entry->fts_info == FTS_DP || entry->fts_info == FTS_NS || entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR)
		return;
	if (!is_later(&entry->fts_statp->st_ctim, &c->start))
		return;
	if (is_ours(entry->fts_statp, but)) {
		(void)fts_set(walk, entry, FTS_SKIP);
		return;
	}
	/* A file tells more than the directory in which it has changed its name. */
	if (c->n++ == 0 || (c->is_directory && entry->fts_info != FTS_D)) {
		c->is_directory = entry->fts_info == FTS_D;
		(void)snprintf(c->first, sizeof(c->first), "%s", entry->fts_path);
	}
}

void host_changes_find(struct host_changes *c, const struct strv *sources, const char *const *but)
{
	FTS *walk = fts_open(sources->items, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV | FTS_COMFOLLOW, by_name);
	FTSENT *entry;

	for (int i = 0; walk && i < ENTRIES_MOST && (entry = fts_read(walk)); i++)
		look_at(c, walk, entry, but);
	if (walk)
		(void)fts_close(walk);
}
