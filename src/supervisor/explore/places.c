/* SPDX-License-Identifier: BSD-3-Clause */
/* Places that a run writes in memory: see places.h. */
#include "supervisor/explore/places.h"

#include <errno.h>
#include <fcntl.h>
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

void places_clear(struct places *places)
{
	for (size_t i = 0; i < places->n; i++) {
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
