/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing array of known files, searched from the end: a run maps dozens, and asks most often for those it mapped
 * last. */
#include "insn/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "insn/cache.h"
#include "insn/scan.h"

struct known_file {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime, ctime;
	struct insn_map *map; /* NULL: nothing to find in it */
};

struct insn_store {
	int cache_fd; /* -1: none */
	struct known_file *files;
	size_t count, room;
	struct insn_store_stats stats;
};

static int open_directory(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Makes the last parent and the directory itself, no more: a cache below a home that does not exist is no use. */
static int open_cache(const char *path)
{
	_cleanup_free_ char *parent = NULL;
	char *slash;
	int fd;

	fd = open_directory(path);
	if (fd >= 0 || errno != ENOENT)
		return fd;
	parent = strdup(path);
	if (!parent)
		return -1;
	slash = strrchr(parent, '/');
	if (slash && slash != parent) {
		*slash = '\0';
		(void)mkdir(parent, 0700);
	}
	(void)mkdir(path, 0700);
	return open_directory(path);
}

struct insn_store *insn_store_new(const char *cache_dir)
{
	struct insn_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->cache_fd = cache_dir ? open_cache(cache_dir) : -1;
	return store;
}

struct insn_store *insn_store_free(struct insn_store *store)
{
	if (!store)
		return NULL;
	for (size_t i = 0; i < store->count; i++)
		(void)insn_map_free(store->files[i].map);
	free(store->files);
	cleanup_close(&store->cache_fd);
	free(store);
	return NULL;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static const struct known_file *find_known(const struct insn_store *store, const struct stat *st)
{
	for (size_t i = store->count; i-- > 0;) {
		const struct known_file *f = &store->files[i];

		if (f->ino == st->st_ino && f->dev == st->st_dev && f->size == st->st_size &&
		    same_time(f->mtime, st->st_mtim) && same_time(f->ctime, st->st_ctim))
			return f;
	}
	return NULL;
}

/* Takes the map over, also on failure. */
static int add_known(struct insn_store *store, const struct stat *st, struct insn_map *map)
{
	if (store->count == store->room) {
		size_t room = store->room ? 2 * store->room : 32;
		struct known_file *grown = reallocarray(store->files, room, sizeof(*grown));

		if (!grown) {
			(void)insn_map_free(map);
			return -ENOMEM;
		}
		store->files = grown;
		store->room = room;
	}
	store->files[store->count++] = (struct known_file){ .dev = st->st_dev,
							    .ino = st->st_ino,
							    .size = st->st_size,
							    .mtime = st->st_mtim,
							    .ctime = st->st_ctim,
							    .map = map };
	if (map) {
		store->stats.sites += insn_map_count_trusted(map);
		store->stats.unsure += map->count - insn_map_count_trusted(map);
	}
	return 0;
}

static int load_or_scan(struct insn_store *store, int fd, struct insn_map **ret_map)
{
	struct insn_key key;
	int r;

	if (store->cache_fd < 0) {
		store->stats.scanned++;
		return insn_scan_fd(fd, ret_map);
	}
	r = insn_key_of(fd, &key);
	if (r < 0)
		return r;
	r = insn_cache_load(store->cache_fd, &key, fd, ret_map);
	if (r != -ENOENT) {
		store->stats.from_cache += r == 0;
		return r;
	}
	store->stats.scanned++;
	r = insn_scan_fd(fd, ret_map);
	if (r == 0)
		(void)insn_cache_save(store->cache_fd, &key, *ret_map); /* a full or read-only disk costs time only */
	return r;
}

int insn_store_get(struct insn_store *store, int fd, const struct insn_map **ret_map)
{
	const struct known_file *known;
	struct insn_map *map = NULL;
	struct stat st;
	int r;

	store->stats.asked++;
	if (fstat(fd, &st) < 0)
		return -errno;
	known = find_known(store, &st);
	if (known) {
		store->stats.known++;
		*ret_map = known->map;
		return known->map ? 0 : -ENOEXEC;
	}
	r = load_or_scan(store, fd, &map);
	if (r < 0 && r != -ENOEXEC)
		return r;
	store->stats.not_elf += r == -ENOEXEC;
	if (add_known(store, &st, map) < 0)
		return -ENOMEM;
	*ret_map = map;
	return r;
}

const struct insn_store_stats *insn_store_stats(const struct insn_store *store)
{
	return &store->stats;
}
