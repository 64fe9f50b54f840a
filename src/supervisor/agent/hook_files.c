/* SPDX-License-Identifier: BSD-3-Clause */
/* See hook_files.h. */
#include "supervisor/agent/hook_files.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/oci/host_name.h"

enum { FILE_LIMIT = 1 << 20 };

static void release_json(json_t **object)
{
	json_decref(*object);
}

#define _cleanup_json_ __attribute__((cleanup(release_json)))

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* With the owner and the mode of `st`. 0 or -errno. */
static int save(const char *path, const char *text, const struct stat *st)
{
	_cleanup_close_ int fd = -1;
	int r;

	(void)unlink(path); /* of a call before */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_full(fd, text, strlen(text));
	if (r == 0 && fchown(fd, st->st_uid, st->st_gid) < 0 && errno != EPERM)
		r = -errno;
	return r < 0 ? r : fchmod(fd, st->st_mode & 0777) < 0 ? -errno : 0;
}

/* *ret: where the copy is. -ENODATA: nothing to copy, or the name is not in it, as in a file that is the user's own and not the engine's. */
static int copy_renamed(const char *source, const char *old, const char *name, char **ret)
{
	_cleanup_free_ char *text = NULL, *made = NULL;
	struct stat st;
	int r;

	if (stat(source, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENODATA;
	r = fd_read_file(AT_FDCWD, source, FILE_LIMIT, &text, NULL);
	if (r < 0)
		return r;
	made = host_name_rewrite(text, old, name);
	if (!made)
		return -ENOMEM;
	if (!strcmp(made, text))
		return -ENODATA;
	if (asprintf(ret, "%s.hermit", source) < 0) {
		*ret = NULL;
		return -ENOMEM;
	}
	r = save(*ret, made, &st);
	if (r < 0) {
		free(*ret);
		*ret = NULL;
	}
	return r;
}

static int rewrite_mount(json_t *mount, const char *old, const char *name)
{
	const char *target = text_of(mount, "destination"), *source = text_of(mount, "source");
	_cleanup_free_ char *copy = NULL;
	int r;

	if (!target || !source || *source != '/' || (strcmp(target, "/etc/hostname") != 0 && strcmp(target, "/etc/hosts") != 0))
		return 0;
	r = copy_renamed(source, old, name, &copy);
	if (r == -ENODATA)
		return 0;
	if (r < 0) {
		log_warning("%s has the engine's name of the host: a copy of %s cannot be made: %s", target, source, strerrordesc_np(-r));
		return 0;
	}
	return json_object_set_new(mount, "source", json_string(copy)) < 0 ? -ENOMEM : 0;
}

int hook_files_rewrite(const char *original, char **changed, struct error *err)
{
	_cleanup_json_ json_t *before = json_loads(original, 0, NULL);
	_cleanup_json_ json_t *after = json_loads(*changed, 0, NULL);
	const char *old = text_of(before, "hostname"), *name = text_of(after, "hostname");
	json_t *mount;
	char *text;
	size_t i;
	int r = 0;

	if (!old || !name || strcmp(old, name) == 0)
		return 0;
	json_array_foreach(json_object_get(after, "mounts"), i, mount)
		if (r == 0)
			r = rewrite_mount(mount, old, name);
	text = r == 0 ? json_dumps(after, JSON_COMPACT) : NULL;
	if (!text)
		return error_errno(err, ENOMEM, "config.json");
	free(*changed);
	*changed = text;
	return 0;
}
