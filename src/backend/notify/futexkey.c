/* SPDX-License-Identifier: BSD-3-Clause */
/* What is mapped at an address: which object, for futexes shared between address spaces; anything at all. */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

struct mapping {
	uint64_t start, end, offset;
	bool shared;
	struct object_id object;
};

/* "start-end perms offset major:minor inode path" */
static bool parse_mapping(const char *line, struct mapping *m)
{
	unsigned long start, end, offset, inode;
	unsigned dev_major, dev_minor;
	char perms[5];

	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu", &start, &end, perms, &offset, &dev_major, &dev_minor, &inode) != 7)
		return false;
	*m = (struct mapping){
		.start = start,
		.end = end,
		.offset = offset,
		.shared = perms[3] == 's',
		.object = { makedev(dev_major, dev_minor), inode },
	};
	return true;
}

static int open_mappings(struct notify *n, pid_t tid, FILE **ret_file)
{
	int fd = procfs_open(n, tid, "maps", O_RDONLY);

	if (fd < 0)
		return fd;
	*ret_file = fdopen(fd, "r");
	if (*ret_file)
		return 0;
	cleanup_close(&fd);
	return -ENOMEM;
}

int notify_memory_mapped(struct guest *g, int task, uint64_t addr, uint64_t len)
{
	const struct notify_task *t = notify_find(g, task);
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	struct mapping m;
	size_t room = 0;
	uint64_t end;
	int r;

	if (!t)
		return -ESRCH;
	if (__builtin_add_overflow(addr, len, &end))
		return 0;
	r = open_mappings(notify_of(g), t->tid, &f);
	if (r < 0)
		return r;
	while (addr < end && getline(&line, &room, f) > 0) {
		if (!parse_mapping(line, &m) || addr >= m.end)
			continue;
		if (addr < m.start)
			return 0;
		addr = m.end;
	}
	return addr >= end;
}

static int find_mapping(struct notify *n, pid_t tid, uint64_t addr, struct mapping *ret_mapping)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	struct mapping m;
	size_t room = 0;
	int r;

	r = open_mappings(n, tid, &f);
	if (r < 0)
		return r;
	while (getline(&line, &room, f) > 0) {
		if (!parse_mapping(line, &m) || addr >= m.end)
			continue;
		if (addr < m.start)
			break;
		*ret_mapping = m;
		return 0;
	}
	return -EFAULT;
}

/* Numbers objects from 1 in order of first sight. */
static int name_object(struct object_table *table, struct object_id id, uint64_t *ret_name)
{
	struct object_id *ids;
	size_t i, room;

	for (i = 0; i < table->n; i++)
		if (table->ids[i].dev == id.dev && table->ids[i].ino == id.ino)
			break;
	if (i == table->room) {
		room = table->room ? table->room * 2 : 16;
		ids = reallocarray(table->ids, room, sizeof(*ids));
		if (!ids)
			return -ENOMEM;
		table->ids = ids;
		table->room = room;
	}
	if (i == table->n)
		table->ids[table->n++] = id;
	*ret_name = i + 1;
	return 0;
}

int notify_futex_key(struct guest *g, int task, uint64_t addr, uint64_t *ret_object, uint64_t *ret_offset)
{
	const struct notify_task *t = notify_find(g, task);
	struct notify *n = notify_of(g);
	struct mapping m;
	int r;

	if (!t)
		return -ESRCH;
	r = find_mapping(n, t->tid, addr, &m);
	if (r < 0)
		return r;
	*ret_object = 0;
	*ret_offset = addr;
	if (!m.shared)
		return 0;
	*ret_offset = m.offset + (addr - m.start);
	return name_object(&n->objects, m.object, ret_object);
}
