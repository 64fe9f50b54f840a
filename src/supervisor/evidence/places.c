/* SPDX-License-Identifier: BSD-3-Clause */
/* Places that a run writes in memory: see places.h. */
#include "supervisor/evidence/places.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


static int add(struct places *places, pid_t pid, const char *path, struct error *err)
{
	char name[PATH_MAX + 64];
	int fd;

	if (places->n == PLACES_MAX)
		return error_set(err, E2BIG, "more than %d places in memory", (int)PLACES_MAX);
	(void)snprintf(name, sizeof(name), "/proc/%d/root%.4000s", (int)pid, path);
	fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR ? 0 : error_errno(err, errno, "cannot open %s of the container", path);
	places->items[places->n].fd = fd;
	places->items[places->n].path = strdup(path);
	return places->items[places->n++].path ? 0 : error_errno(err, ENOMEM, "%s", path);
}

static bool is_in_memory(const struct mount_table *table, const struct mount_entry *entry)
{
	return !strcmp(entry->type, "tmpfs") && !options_have(entry->options, "ro") &&
	       mount_table_find(table, entry->point) == entry;
}

int places_find(struct places *places, pid_t pid, struct error *err)
{
	const struct mount_table *table = &places->mounts;
	int r;

	*places = (struct places){ 0 };
	r = mount_table_read(&places->mounts, pid, err);
	for (size_t i = 0; i < table->n && r == 0; i++)
		if (is_in_memory(table, &table->entries[i]))
			r = add(places, pid, table->entries[i].point, err);
	return r;
}

static int by_number(const void *a, const void *b)
{
	const struct place_entry *x = a, *y = b;

	return (x->ino > y->ino) - (x->ino < y->ino);
}

/* On the place's own file system: what is mounted below is a place of its own, or none, and has numbers of its own. */
static int note(struct place_contents *contents, FTS *walk)
{
	struct place_entry *grown;
	FTSENT *entry;
	dev_t own = 0;

	while ((entry = fts_read(walk))) {
		if (entry->fts_info == FTS_DP || entry->fts_info == FTS_NS)
			continue;
		if (entry->fts_level == FTS_ROOTLEVEL)
			own = entry->fts_statp->st_dev;
		if (entry->fts_statp->st_dev != own)
			continue;
		if ((contents->n & (contents->n - 1)) == 0) {
			grown = reallocarray(contents->entries, contents->n ? contents->n * 2 : 1, sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			contents->entries = grown;
		}
		contents->entries[contents->n++] = (struct place_entry){ entry->fts_statp->st_ino, entry->fts_statp->st_ctim };
	}
	if (contents->n)
		qsort(contents->entries, contents->n, sizeof(contents->entries[0]), by_number);
	return 0;
}

int place_note(struct place_contents *ret, const char *path)
{
	char *roots[] = { (char *)path, NULL };
	FTS *walk;
	int r;

	*ret = (struct place_contents){ 0 };
	walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	if (!walk)
		return -ENOMEM;
	r = note(ret, walk);
	(void)fts_close(walk);
	return r;
}

int places_note(struct places *places)
{
	char path[32];
	int r = 0;

	for (size_t i = 0; i < places->n && r == 0; i++) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/.", places->items[i].fd);
		r = place_note(&places->items[i].before, path);
	}
	return r;
}

void place_contents_clear(struct place_contents *contents)
{
	free(contents->entries);
	*contents = (struct place_contents){ 0 };
}

bool place_is_as_before(const struct place_contents *before, const struct stat *st)
{
	const struct place_entry key = { .ino = st->st_ino }, *entry = NULL;

	if (before->n)
		entry = bsearch(&key, before->entries, before->n, sizeof(key), by_number);
	return entry && entry->changed.tv_sec == st->st_ctim.tv_sec && entry->changed.tv_nsec == st->st_ctim.tv_nsec;
}

void places_clear(struct places *places)
{
	for (size_t i = 0; i < places->n; i++) {
		place_contents_clear(&places->items[i].before);
		(void)close(places->items[i].fd);
		free(places->items[i].path);
	}
	mount_table_free(&places->mounts);
	*places = (struct places){ 0 };
}

int places_fd(const struct places *places, const char *path)
{
	for (size_t i = 0; i < places->n; i++)
		if (!strcmp(places->items[i].path, path))
			return places->items[i].fd;
	return -1;
}
