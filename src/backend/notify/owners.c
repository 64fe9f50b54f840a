/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owners of files as the guest's user namespace counts them. What the supervisor asks the kernel for comes in the numbers of its own; where the
 * guest's is another, both have to say what the kernel would tell the guest (user_namespaces(7)).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/notify/notify.h"
#include "base/cleanup.h"
#include "base/fd.h"

enum { MAP_LIMIT = 1 << 16, MAP_LINES_MAX = 340 /* the kernel's own limit */, NOBODY = 65534 };

static uint32_t show(const struct owner_map *map, uint32_t id)
{
	for (size_t i = 0; i < map->n; i++)
		if (id >= map->ranges[i].outside && id - map->ranges[i].outside < map->ranges[i].count)
			return map->ranges[i].inside + (id - map->ranges[i].outside);
	return map->ranges ? NOBODY : id;
}

void owners_show(const struct notify *n, uint32_t *uid, uint32_t *gid)
{
	*uid = show(&n->owners[0], *uid);
	*gid = show(&n->owners[1], *gid);
}

/* Read by somebody outside of the namespace the file has that one's numbers. */
static int read_map(const struct notify *n, pid_t tid, const char *name, struct owner_map *map)
{
	_cleanup_free_ char *text = NULL;
	struct owner_range range;
	char path[64];
	int r, used;

	(void)snprintf(path, sizeof(path), "%d/%s", (int)tid, name);
	r = fd_read_file(n->proc_fd, path, MAP_LIMIT, &text, NULL);
	if (r < 0)
		return r;
	map->ranges = calloc(MAP_LINES_MAX, sizeof(*map->ranges));
	if (!map->ranges)
		return -ENOMEM;
	for (const char *p = text; map->n < MAP_LINES_MAX && sscanf(p, "%u %u %u%n", &range.inside, &range.outside, &range.count, &used) == 3;
	     p += used)
		map->ranges[map->n++] = range;
	return 0;
}

int owners_init(struct notify *n, pid_t tid)
{
	struct stat ours, theirs;
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "%d/ns/user", (int)tid);
	if (fstatat(n->proc_fd, "self/ns/user", &ours, 0) < 0 || fstatat(n->proc_fd, path, &theirs, 0) < 0)
		return 0; /* a kernel without them */
	if (ours.st_ino == theirs.st_ino)
		return 0;
	r = read_map(n, tid, "uid_map", &n->owners[0]);
	return r < 0 ? r : read_map(n, tid, "gid_map", &n->owners[1]);
}

void owners_deinit(struct notify *n)
{
	for (size_t i = 0; i < ARRAY_SIZE(n->owners); i++)
		free(n->owners[i].ranges);
}
