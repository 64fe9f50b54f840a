/* SPDX-License-Identifier: BSD-3-Clause */
/* See image_user.h. */
#include "supervisor/oci/image_user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/fsops.h"
#include "supervisor/user_names.h"

enum { MAX_GROUPS = 256 };

struct lists {
	FILE *users, *groups; /* NULL: the image has no such list */
};

/* A link in the image leads nowhere outside of it, and nobody waits for the writer of a FIFO. */
static FILE *open_list(int root, const char *path)
{
	_cleanup_close_ int place = root_open(root, path, 0);
	char name[40];
	FILE *file;
	int fd;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
	fd = place < 0 ? -1 : open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (fd >= 0 && !file)
		(void)close(fd);
	return file;
}

/* A name that is a number counts as the name first, as useradd(8) would have it be none. */
static struct passwd *find_user(FILE *list, const char *text)
{
	struct passwd *user;
	uint32_t number = 0;
	bool numeric = user_names_is_number(text, &number);

	while (list && (user = fgetpwent(list)))
		if (!strcmp(user->pw_name, text) || (numeric && user->pw_uid == number))
			return user;
	return NULL;
}

static int find_group(FILE *list, const char *text, uint32_t *ret, struct error *err)
{
	struct group *group;

	while (list && (group = fgetgrent(list)))
		if (!strcmp(group->gr_name, text)) {
			*ret = group->gr_gid;
			return 0;
		}
	return user_names_is_number(text, ret) ? 0 : error_set(err, EINVAL, "--user: the image has no group '%s'", text);
}

static bool lists_member(const struct group *group, const char *name)
{
	for (char **member = group->gr_mem; *member; member++)
		if (!strcmp(*member, name))
			return true;
	return false;
}

static int take_groups_of(FILE *list, const char *name, struct oci_arena *arena, struct oci_user *ret, struct error *err)
{
	struct group *group;

	ret->additional_gids = oci_arena_array(arena, MAX_GROUPS, sizeof(*ret->additional_gids));
	if (!ret->additional_gids)
		return error_set(err, ENOMEM, "out of memory");
	while (list && ret->n_additional_gids < MAX_GROUPS && (group = fgetgrent(list)))
		if (lists_member(group, name))
			ret->additional_gids[ret->n_additional_gids++] = group->gr_gid;
	return 0;
}

static int find(const struct lists *lists, const char *name, const char *group, struct oci_arena *arena, struct oci_user *ret,
		char **ret_home, struct error *err)
{
	const struct passwd *user = find_user(lists->users, name);
	_cleanup_free_ char *home = NULL;
	int r = 0;

	if (!user && !user_names_is_number(name, &ret->uid))
		return error_set(err, EINVAL, "--user: the image has no user '%s'", name);
	if (user) {
		ret->uid = user->pw_uid;
		ret->gid = user->pw_gid;
	}
	if (asprintf(&home, "HOME=%s", user && *user->pw_dir ? user->pw_dir : "/") < 0)
		home = NULL;
	*ret_home = home ? oci_arena_strdup(arena, home) : NULL;
	if (!*ret_home)
		return error_set(err, ENOMEM, "out of memory");
	if (group)
		r = find_group(lists->groups, group, &ret->gid, err);
	else if (user)
		r = take_groups_of(lists->groups, user->pw_name, arena, ret, err);
	return r;
}

int image_user(const char *root, const char *text, struct oci_arena *arena, struct oci_user *ret, char **ret_home, struct error *err)
{
	_cleanup_close_ int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *colon = strchr(text, ':');
	_cleanup_free_ char *name = strndup(text, colon ? (size_t)(colon - text) : strlen(text));
	struct lists lists;
	int r;

	if (fd < 0)
		return error_errno(err, errno, "%s", root);
	if (!name)
		return error_set(err, ENOMEM, "out of memory");
	*ret = (struct oci_user){ .umask = ret->umask };
	lists = (struct lists){ .users = open_list(fd, "/etc/passwd"), .groups = open_list(fd, "/etc/group") };
	r = find(&lists, name, colon ? colon + 1 : NULL, arena, ret, ret_home, err);
	if (lists.users)
		(void)fclose(lists.users);
	if (lists.groups)
		(void)fclose(lists.groups);
	return r;
}
