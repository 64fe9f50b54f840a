/* SPDX-License-Identifier: BSD-3-Clause */
/* See user_names.h. */
#include "supervisor/user_names.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"

/* -1 is "unchanged" to the kernel. */
static bool is_number(const char *text, uint32_t *ret)
{
	uint64_t value;

	if (parse_u64(text, &value) < 0 || value >= UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static int find_user(const char *name, uid_t *ret_uid, gid_t *ret_gid, struct error *err)
{
	static const char path[] = "/etc/passwd";
	_cleanup_fclose_ FILE *list = NULL;
	const struct passwd *user;

	if (is_number(name, ret_uid))
		return 0;
	list = fopen(path, "re");
	if (!list)
		return error_errno(err, errno, "--user: %s", path);
	while ((user = fgetpwent(list)))
		if (!strcmp(user->pw_name, name)) {
			*ret_uid = user->pw_uid;
			*ret_gid = user->pw_gid;
			return 0;
		}
	return error_set(err, EINVAL, "--user: '%s' is no number, and no user of %s", name, path);
}

int user_names_find_group(const char *text, gid_t *ret_gid, struct error *err)
{
	static const char path[] = "/etc/group";
	_cleanup_fclose_ FILE *list = NULL;
	const struct group *group;

	if (is_number(text, ret_gid))
		return 0;
	list = fopen(path, "re");
	if (!list)
		return error_errno(err, errno, "--group: %s", path);
	while ((group = fgetgrent(list)))
		if (!strcmp(group->gr_name, text)) {
			*ret_gid = group->gr_gid;
			return 0;
		}
	return error_set(err, EINVAL, "--group: '%s' is no number, and no group of %s", text, path);
}

int user_names_find(const char *text, uid_t *ret_uid, gid_t *ret_gid, struct error *err)
{
	const char *colon = strchr(text, ':');
	_cleanup_free_ char *name = strndup(text, colon ? (size_t)(colon - text) : strlen(text));
	int r;

	if (!name)
		return error_errno(err, ENOMEM, "--user");
	r = find_user(name, ret_uid, ret_gid, err);
	return r == 0 && colon ? user_names_find_group(colon + 1, ret_gid, err) : r;
}
