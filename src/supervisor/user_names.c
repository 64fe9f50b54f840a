/* SPDX-License-Identifier: BSD-3-Clause */
/* See user_names.h. */
#include "supervisor/user_names.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"

/* -1 is "unchanged" to the kernel. */
bool user_names_is_number(const char *text, uint32_t *ret)
{
	uint64_t value;

	if (parse_u64(text, &value) < 0 || value >= UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

/* The next entry: its name, and the numbers that go with it. False: there is no more. */
typedef bool next_fn(FILE *list, const char **ret_name, uint32_t *ret_number, uint32_t *ret_group);

static bool next_user(FILE *list, const char **ret_name, uint32_t *ret_number, uint32_t *ret_group)
{
	const struct passwd *user = fgetpwent(list);

	if (!user)
		return false;
	*ret_name = user->pw_name;
	*ret_number = user->pw_uid;
	*ret_group = user->pw_gid;
	return true;
}

static bool next_group(FILE *list, const char **ret_name, uint32_t *ret_number, uint32_t *ret_group)
{
	const struct group *group = fgetgrent(list);

	if (!group)
		return false;
	*ret_name = group->gr_name;
	*ret_number = *ret_group = group->gr_gid;
	return true;
}

static const struct name_list {
	const char *option, *kind, *path; /* NULL: only numbers are taken */
	next_fn *next;
} users = { "--user", "user", "/etc/passwd", next_user }, groups = { "--group", "group", "/etc/group", next_group },
  numbers = { "--user", "user or group", NULL, NULL };

/* A number is what it is, and says nothing of a group. */
static int find(const struct name_list *in, const char *text, uint32_t *ret_number, uint32_t *ret_group, struct error *err)
{
	_cleanup_fclose_ FILE *list = NULL;
	uint32_t number, group;
	const char *name;

	if (user_names_is_number(text, ret_number))
		return 0;
	if (!in->path)
		return error_set(err, EINVAL, "%s: '%s' is not the number of a %s", in->option, text, in->kind);
	list = fopen(in->path, "re");
	if (!list)
		return error_errno(err, errno, "%s: %s", in->option, in->path);
	while (in->next(list, &name, &number, &group)) {
		if (strcmp(name, text) != 0)
			continue;
		*ret_number = number;
		*ret_group = group;
		return 0;
	}
	return error_set(err, EINVAL, "%s: '%s' is no number, and no %s of %s", in->option, text, in->kind, in->path);
}

/* "USER[:GROUP]" */
static int find_both(const struct name_list *user, const struct name_list *group, const char *text, uid_t *ret_uid, gid_t *ret_gid, struct error *err)
{
	const char *colon = strchr(text, ':');
	_cleanup_free_ char *name = strndup(text, colon ? (size_t)(colon - text) : strlen(text));
	int r;

	if (!name)
		return error_errno(err, ENOMEM, "--user");
	r = find(user, name, ret_uid, ret_gid, err);
	return r == 0 && colon ? find(group, colon + 1, ret_gid, ret_gid, err) : r;
}

int user_names_find(const char *text, uid_t *ret_uid, gid_t *ret_gid, struct error *err)
{
	return find_both(&users, &groups, text, ret_uid, ret_gid, err);
}

int user_names_find_group(const char *text, gid_t *ret_gid, struct error *err)
{
	return find(&groups, text, ret_gid, ret_gid, err);
}

int user_names_parse_numbers(const char *text, uid_t *ret_uid, gid_t *ret_gid, struct error *err)
{
	return find_both(&numbers, &numbers, text, ret_uid, ret_gid, err);
}
