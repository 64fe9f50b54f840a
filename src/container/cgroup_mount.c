/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mounts of type "cgroup": the container's own part of the host's cgroups, in whichever layout the host has. Version 2 is one
 * file system. Version 1 (and the hybrid layout, which counts as version 1) is a tmpfs with a directory for each hierarchy.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/fsops.h"
#include "container/internal.h"

#define HOST_CGROUP "/sys/fs/cgroup"

enum { MAX_CONTROLLERS = 16 };

static bool host_is_unified(void)
{
	struct statfs fs;

	return statfs(HOST_CGROUP, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/*
 * The path of this process in the hierarchy with these controllers ("" is version 2), from lines "4:memory:/a/b" of
 * /proc/self/cgroup. "/" if there is none.
 */
static void own_path(const char *controllers, char *buf, size_t size)
{
	_cleanup_free_ char *text = NULL;
	char *line, *rest, *colon;
	size_t len = strlen(controllers);

	(void)snprintf(buf, size, "/");
	if (fd_read_file(AT_FDCWD, "/proc/self/cgroup", 1 << 20, &text, NULL) < 0)
		return;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		colon = strchr(line, ':');
		if (!colon || strncmp(colon + 1, controllers, len) != 0 || colon[1 + len] != ':')
			continue;
		(void)snprintf(buf, size, "%s", colon + len + 2);
		return;
	}
}

/*
 * Where the hierarchy that is mounted at entry has our own cgroup. Of one that shows a part only, as in a container, that is what is below
 * its root.
 */
static const char *own_part(const struct mount_entry *entry, const char *controllers, char *buf, size_t size)
{
	char own[1024];
	size_t root = strcmp(entry->root, "/") != 0 ? strlen(entry->root) : 0;

	own_path(controllers, own, sizeof(own));
	(void)snprintf(buf, size, "%s%s", entry->point, !strstr(own, "/..") && path_is_under(own, entry->root) ? own + root : "");
	return buf;
}

/* Detached: a mount that shows the subtree of our own cgroup only. */
static int bind_own_part(const struct mount_entry *entry, const char *controllers, uint64_t attributes, struct error *err)
{
	char path[2048];
	int mount, r;

	mount = fs_clone(AT_FDCWD, own_part(entry, controllers, path, sizeof(path)), false, err);
	if (mount < 0)
		return mount;
	r = fs_set_attributes(mount, attributes, 0, false, path, err);
	if (r < 0)
		cleanup_close(&mount);
	return r < 0 ? r : mount;
}

static int create_unified(const struct stage *stage, bool own_namespace, uint64_t attributes, struct error *err)
{
	const struct mount_entry *entry = mount_table_find(&stage->mounts, HOST_CGROUP);
	struct error reason = { 0 };
	int mount = -EPERM;

	if (own_namespace)
		mount = fs_create("cgroup2", "cgroup2", NULL, (unsigned)attributes, &reason);
	if (mount >= 0)
		return mount;
	return entry ? bind_own_part(entry, "", attributes, err) : error_errno(err, ENOENT, "a mount at %s", HOST_CGROUP);
}

/* "cpu,cpuacct" as options of a mount; a hierarchy with a name has no controllers and must say so. Cuts up text. */
static void hierarchy_options(char *text, struct fs_option *options, size_t room)
{
	bool named = strncmp(text, "name=", 5) == 0;
	char *word, *value;
	size_t n = 0;

	if (named)
		options[n++] = (struct fs_option){ .key = "none" };
	while (n + 1 < room && (word = strsep(&text, ","))) {
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		options[n++] = (struct fs_option){ .key = word, .value = value };
	}
	options[n] = (struct fs_option){ 0 };
}

static int create_hierarchy(const struct mount_entry *entry, bool own_namespace, uint64_t attributes, struct error *err)
{
	struct fs_option options[MAX_CONTROLLERS + 2];
	char name[256], words[256];
	struct error reason = { 0 };
	int mount = -EPERM;

	cgroup_v1_name(entry->super_options, name, sizeof(name));
	memcpy(words, name, sizeof(words));
	hierarchy_options(words, options, ARRAY_SIZE(options));
	if (own_namespace)
		mount = fs_create("cgroup", "cgroup", options, (unsigned)attributes, &reason);
	return mount >= 0 ? mount : bind_own_part(entry, name, attributes, err);
}

/* "cpu,cpuacct" gets links "cpu" and "cpuacct" beside it, as every host has. */
static int link_names(int dir, const char *name, struct error *err)
{
	char words[256], *rest = words, *word;

	if (!strchr(name, ','))
		return 0;
	(void)snprintf(words, sizeof(words), "%s", name);
	while ((word = strsep(&rest, ",")))
		if (symlinkat(name, dir, word) < 0 && errno != EEXIST)
			return error_errno(err, errno, "cannot create the link %s", word);
	return 0;
}

static int attach_hierarchy(const struct mount_entry *entry, int dir, bool own_namespace, uint64_t attributes,
			    struct error *err)
{
	const char *name = strrchr(entry->point, '/') + 1;
	_cleanup_close_ int mount = -1, target = -1;
	int r;

	mount = create_hierarchy(entry, own_namespace, attributes, err);
	if (mount < 0)
		return mount;
	target = root_make(dir, name, true, err);
	if (target < 0)
		return target;
	r = fs_attach(mount, target, name, err);
	return r < 0 ? r : link_names(dir, name, err);
}

/* Mounted a second time, as by a container that shares the mount namespace. */
static bool is_repeated(const struct mount_table *table, size_t i)
{
	char name[256], earlier[256];

	cgroup_v1_name(table->entries[i].super_options, name, sizeof(name));
	for (size_t j = 0; j < i; j++) {
		if (strcmp(table->entries[j].type, "cgroup") != 0)
			continue;
		cgroup_v1_name(table->entries[j].super_options, earlier, sizeof(earlier));
		if (!strcmp(name, earlier))
			return true;
	}
	return false;
}

static int mount_version_1(struct stage *stage, const struct container_mount *m, bool own_namespace,
			   uint64_t attributes, struct error *err)
{
	static const struct fs_option options[] = { { "mode", "0755" }, { 0 } };
	_cleanup_close_ int dir = -1;
	int r;

	r = root_mount(stage->root, m->target, "tmpfs", "tmpfs", options,
		       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, err);
	if (r < 0)
		return r;
	dir = root_open(stage->root, m->target, O_DIRECTORY);
	if (dir < 0)
		return error_errno(err, -dir, "%s", m->target);
	for (size_t i = 0; r == 0 && i < stage->mounts.n; i++)
		if (strcmp(stage->mounts.entries[i].type, "cgroup") == 0 && !is_repeated(&stage->mounts, i))
			r = attach_hierarchy(&stage->mounts.entries[i], dir, own_namespace, attributes, err);
	if (r == 0 && (m->flags & MS_RDONLY))
		r = fs_set_attributes(dir, MOUNT_ATTR_RDONLY, 0, false, m->target, err);
	return r;
}

int cgroup_mount(struct stage *stage, const struct container_mount *m, uint64_t attributes, struct error *err)
{
	bool own_namespace = (stage->namespaces & CLONE_NEWCGROUP) != 0;
	_cleanup_close_ int mount = -1, target = -1;

	if (strcmp(m->type, "cgroup2") != 0 && !host_is_unified())
		return mount_version_1(stage, m, own_namespace, attributes, err);
	mount = create_unified(stage, own_namespace, attributes, err);
	if (mount < 0)
		return mount;
	target = root_make(stage->root, m->target, true, err);
	return target < 0 ? target : fs_attach(mount, target, m->target, err);
}
