/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Engines list their own binds in an order that changes from one container to the next (podman's is that of a hash table), and the guest would see
 * it in mountinfo.
 */
#include "supervisor/oci/bind_order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/fsops.h"

/* ---- where a target is ---- */

/* Moves the last name of a path to the front of the rest. 0, or -errno: -EINVAL for "." and "..", which mean something else where nothing is. */
static int move_name(char *path, char **rest)
{
	size_t n = strlen(path);
	char *longer;

	while (n > 0 && path[n - 1] == '/')
		path[--n] = '\0';
	while (n > 0 && path[n - 1] != '/')
		n--;
	if (!path[n] || !strcmp(path + n, ".") || !strcmp(path + n, ".."))
		return -EINVAL;
	if (asprintf(&longer, "/%s%s", path + n, *rest) < 0)
		return -ENOMEM;
	free(*rest);
	*rest = longer;
	path[n] = '\0';
	return 0;
}

/* Does the rest begin with a link? What it leads to is missing, and will be made: somewhere else. */
static bool is_behind_link(int directory, const char *rest)
{
	_cleanup_free_ char *name = strndup(rest + 1, strcspn(rest + 1, "/"));
	char target[1];

	return !name || readlinkat(directory, name, target, sizeof(target)) >= 0;
}

/* With links followed inside of the root, as far as there is something: the rest is made. NULL: it cannot be told, or out of memory. */
static char *place_of(int root, const char *target)
{
	_cleanup_free_ char *path = strdup(target), *rest = strdup("");
	char top[FD_NAME_SIZE], place[FD_NAME_SIZE], *whole;
	_cleanup_close_ int fd = -ENOENT;

	while (path && rest && fd == -ENOENT) {
		fd = root_open(root, *path ? path : ".", 0);
		if (fd == -ENOENT && move_name(path, &rest) < 0)
			return NULL;
	}
	if (fd < 0 || (*rest && is_behind_link(fd, rest)))
		return NULL;
	(void)fd_name(root, top);
	(void)fd_name(fd, place);
	return asprintf(&whole, "%s%s", place + (top[1] ? strlen(top) : 0), rest) < 0 ? NULL : whole;
}

/* ---- the order ---- */

struct entry {
	struct container_mount mount;
	char *place; /* NULL: it stays where it is */
};

static bool is_below(const char *path, const char *directory)
{
	size_t n = strlen(directory);

	return strncmp(path, directory, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool may_swap(const struct entry *a, const struct entry *b)
{
	return a->place && b->place && !is_below(a->place, b->place) && !is_below(b->place, a->place);
}

static void sort(struct entry *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct entry next = list[i];
		size_t place = i;

		for (; place > 0 && may_swap(&list[place - 1], &next) && strcmp(list[place - 1].place, next.place) > 0; place--)
			list[place] = list[place - 1];
		list[place] = next;
	}
}

int bind_order_apply(struct container_spec *spec, struct oci_arena *arena, struct error *err)
{
	_cleanup_close_ int root = open(spec->root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct container_mount *ordered = oci_arena_array(arena, spec->n_mounts + 1, sizeof(*ordered));
	_cleanup_free_ struct entry *list = calloc(spec->n_mounts + 1, sizeof(*list));

	if (!ordered || !list)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < spec->n_mounts; i++) {
		list[i].mount = spec->mounts[i];
		if (root >= 0 && spec->mounts[i].flags & MS_BIND)
			list[i].place = place_of(root, spec->mounts[i].target);
	}
	sort(list, spec->n_mounts);
	for (size_t i = 0; i < spec->n_mounts; i++) {
		ordered[i] = list[i].mount;
		free(list[i].place);
	}
	spec->mounts = ordered;
	return 0;
}
