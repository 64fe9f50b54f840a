/* SPDX-License-Identifier: BSD-3-Clause */
/* The overlays of a copy-on-write view, and their layers: see cow_internal.h. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/cow_internal.h"
#include "container/fsops.h"

/* "/var/lib" -> "@var@lib": one file name for a path, and no other's (compare.c: layer_path). False when that is too long for one. */
static bool layer_name(const char *path, char *buf, size_t size)
{
	size_t n = 0;

	for (; *path && n + 3 < size; path++) {
		if (*path == '@' || *path == '%')
			n += (size_t)snprintf(buf + n, size - n, "%%%02x", *path);
		else
			buf[n++] = *path == '/' ? '@' : *path;
	}
	buf[n] = '\0';
	return !*path;
}

/* Makes NAME in the upper directory of LAYERS (like the lower layer) and in the work directory; a kept one may exist. */
static int make_layers(const struct cow *cow, const char *path, const struct stat *st, char *upper, char *work,
		       struct error *err)
{
	char name[NAME_MAX + 3];
	int r;

	if (!layer_name(path, name, sizeof(name)) ||
	    snprintf(upper, PATH_MAX, "%s/%s/%s", cow->layers, COW_UPPER, name) >= PATH_MAX ||
	    snprintf(work, PATH_MAX, "%s/%s/%s", cow->layers, COW_WORK, name) >= PATH_MAX)
		return error_set(err, ENAMETOOLONG, "%s", path);
	if (mkdir(work, 0700) < 0 && errno != EEXIST)
		return error_errno(err, errno, "cannot create %s", work);
	if (mkdir(upper, 0700) < 0)
		return errno == EEXIST ? 0 : error_errno(err, errno, "cannot create %s", upper);
	r = copy_attributes(AT_FDCWD, upper, st);
	return r < 0 ? error_errno(err, -r, "cannot set the attributes of %s", upper) : 0;
}

/*
 * In a user namespace the kernel cannot copy a directory up whose owner is not mapped (EOVERFLOW), so nothing could be created
 * below one. Where the guest is likely to write, the directories are made in the upper layer beforehand: an upper directory
 * shows the lower one's entries just as well.
 */
static int make_upper_ancestors(const struct cow *cow, const char *path, const char *upper, const char *goal)
{
	size_t start = strcmp(path, "/") == 0 ? 0 : strlen(path);
	char from[PATH_MAX], to[PATH_MAX];
	struct stat st;

	for (const char *p = goal + start; *p; p += strcspn(p, "/")) {
		p += strspn(p, "/");
		if (!*p)
			break;
		size_t end = (size_t)(p - goal) + strcspn(p, "/");

		if (end >= sizeof(from) ||
		    snprintf(to, sizeof(to), "%s%.*s", upper, (int)(end - start), goal + start) >= PATH_MAX)
			return -ENAMETOOLONG;
		memcpy(from, goal, end);
		from[end] = '\0';
		if (lstat(from, &st) < 0 || !S_ISDIR(st.st_mode) || cow_must_open_up(cow, from))
			return 0;
		if (mkdir(to, 0700) == 0)
			(void)copy_attributes(AT_FDCWD, to, &st);
	}
	return 0;
}

static void prepare_upper(const struct cow *cow, const char *path, const char *upper)
{
	const struct container_spec *spec = cow->stage->spec;
	char cwd[PATH_MAX];

	if (path_is_under("/var/tmp", path))
		(void)make_upper_ancestors(cow, path, upper, "/var/tmp");
	if (getcwd(cwd, sizeof(cwd)) && cwd[0] == '/' && path_is_under(cwd, path))
		(void)make_upper_ancestors(cow, path, upper, cwd);
	for (char **e = spec->envp; e && *e; e++) {
		const char *value = strncmp(*e, "HOME=/", 6) == 0     ? *e + 5
				    : strncmp(*e, "TMPDIR=/", 8) == 0 ? *e + 7
								      : NULL;

		if (value && path_is_under(value, path) && !strstr(value, "/.."))
			(void)make_upper_ancestors(cow, path, upper, value);
	}
	for (size_t i = 0; spec->cow_binds && i < spec->n_mounts; i++)
		if (spec->mounts[i].source && path_is_under(spec->mounts[i].source, path))
			(void)make_upper_ancestors(cow, path, upper, spec->mounts[i].source);
}

/* In lowerdir a colon separates and a backslash escapes. */
static void escape_lower(const char *path, char *buf, size_t size)
{
	size_t n = 0;

	for (; *path && n + 2 < size; path++) {
		if (*path == ':' || *path == '\\')
			buf[n++] = '\\';
		buf[n++] = *path;
	}
	buf[n] = '\0';
}

/* A read-only mount stays read-only, except the root itself, which needs mount points. */
static unsigned mount_attributes(const struct cow *cow, const char *path)
{
	const struct mount_entry *entry = mount_table_containing(&cow->stage->mounts, path);
	static const struct {
		const char *word;
		unsigned attribute;
	} map[] = {
		{ "nosuid", MOUNT_ATTR_NOSUID },
		{ "nodev", MOUNT_ATTR_NODEV },
		{ "noexec", MOUNT_ATTR_NOEXEC },
	};
	unsigned attributes = 0;

	if (entry && strcmp(path, cow->source) != 0 && options_have(entry->options, "ro"))
		attributes |= MOUNT_ATTR_RDONLY; /* a directory below one, when that had to be opened up */
	for (size_t i = 0; entry && i < ARRAY_SIZE(map); i++)
		if (options_have(entry->options, map[i].word))
			attributes |= map[i].attribute;
	return attributes;
}

int cow_create_overlay(struct cow *cow, const char *path, const struct stat *st, struct error *err)
{
	char lower[3 * PATH_MAX], upper[PATH_MAX], work[PATH_MAX];
	/*
	 * The layers' numbers of inodes are kept apart (xino): else files have a device number by their layer, entries of directories are
	 * numbered without it, and a new file's small number may be that of a directory of the host.
	 */
	struct fs_option options[] = {
		{ "lowerdir", lower }, { "upperdir", upper }, { "workdir", work }, { "xino", "on" }, { 0 }, { 0 },
	};
	int r, n = 0;

	r = make_layers(cow, path, st, upper, work, err);
	if (r < 0)
		return r;
	if (host_files_have_below(cow->stage, path))
		n = snprintf(lower, sizeof(lower), "%s/files%s:", cow->stage->path, path[1] ? path : "");
	escape_lower(path, lower + n, sizeof(lower) - (size_t)n);
	if (cow->stage->userns) {
		options[4].key = "userxattr";
		prepare_upper(cow, path, upper);
	}
	return fs_create("overlay", "overlay", options, mount_attributes(cow, path), err);
}

/* A file cannot be overlaid: the copy lies among the upper layers, with which it is kept and compared. */
int cow_create_copy(struct cow *cow, const char *path, const struct stat *st, struct error *err)
{
	_cleanup_close_ int from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), to = -1;
	char name[NAME_MAX + 3], copy[PATH_MAX];
	int r;

	if (from < 0)
		return error_errno(err, errno, "cannot read %s", path);
	if (!layer_name(path, name, sizeof(name)) ||
	    snprintf(copy, sizeof(copy), "%s/%s/%s", cow->layers, COW_UPPER, name) >= (int)sizeof(copy))
		return error_set(err, ENAMETOOLONG, "%s", path);
	to = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return error_errno(err, errno, "cannot create %s", copy);
	r = copy_bytes(from, to, st->st_size);
	if (r == 0)
		r = copy_attributes(AT_FDCWD, copy, st);
	return r < 0 ? error_errno(err, -r, "cannot copy %s", path) : fs_clone(AT_FDCWD, copy, false, err);
}
