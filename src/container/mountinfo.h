/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of mounts, as /proc/PID/mountinfo tells it. The parser is pure. */
#ifndef HS_CONTAINER_MOUNTINFO_H
#define HS_CONTAINER_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct mount_entry {
	int id, parent;
	char *root;    /* the directory of the file system that is mounted */
	char *point;   /* where, unescaped */
	char *options; /* per mount */
	char *type;
	char *source;
	char *super_options;
};

struct mount_table {
	struct mount_entry *entries; /* in the file's order: a later one covers an earlier one on the same point */
	size_t n;
	char *text; /* backs the strings */
};

/* Takes over `text` (also on failure), a heap string that it cuts up. -EINVAL names the line. */
int mount_table_parse(char *text, struct mount_table *ret, struct error *err);

/* Of a process; 0: the calling one. */
int mount_table_read(struct mount_table *ret, pid_t pid, struct error *err);

/* Keeps only entries that a path look-up reaches: not covered by another mount, and not below a covered one. */
void mount_table_drop_covered(struct mount_table *table);

void mount_table_free(struct mount_table *table);

/* True if path is dir or lies below it. Both absolute and without a trailing slash (except "/"). */
bool path_is_under(const char *path, const char *dir);

/* True if a mount lies strictly below path. */
bool mount_table_has_below(const struct mount_table *table, const char *path);

/* The mount that path itself is the root of, or NULL. */
const struct mount_entry *mount_table_find(const struct mount_table *table, const char *path);

/* The mount that contains path. */
const struct mount_entry *mount_table_containing(const struct mount_table *table, const char *path);

/* True if the comma-separated list has this word. */
bool options_have(const char *options, const char *word);

/* Which hierarchy a cgroup mount of version 1 is, by its super_options: "cpu,cpuacct", "name=systemd". */
void cgroup_v1_name(const char *super_options, char *buf, size_t size);

#endif
