/* SPDX-License-Identifier: BSD-3-Clause */
/* Where state directories are: see state.h. */
#include "supervisor/oci/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Of an ordinary user without a directory for such things: in a place where everybody may make names. NULL: out of memory. */
static char *shared_root(void)
{
	char *path;

	return asprintf(&path, "/tmp/hermit-supervisor-%u", geteuid()) < 0 ? NULL : path;
}

char *state_default_root(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *path;

	if (geteuid() == 0)
		return strdup("/run/hermit-supervisor");
	if (!runtime || !*runtime)
		return shared_root();
	return asprintf(&path, "%s/hermit-supervisor", runtime) < 0 ? NULL : path;
}

int state_check_root(const char *root, struct error *err)
{
	_cleanup_free_ char *shared = shared_root();
	struct stat st;

	if (!shared)
		return error_errno(err, ENOMEM, "%s", root);
	if (geteuid() == 0 || strcmp(root, shared) != 0)
		return 0;
	if (lstat(root, &st) < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", root);
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	return error_set(err, EPERM, "%s is %s; set XDG_RUNTIME_DIR, or say --root=DIR", root,
			 !S_ISDIR(st.st_mode)	    ? "no directory"
			 : st.st_uid != geteuid() ? "another user's"
						  : "writable by others");
}

/* Missing parents too. */
static int make_directories(const char *root)
{
	_cleanup_free_ char *path = strdup(root);

	if (!path)
		return -ENOMEM;
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, 0711) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int state_make_root(const char *root, struct error *err)
{
	int r = make_directories(root);

	return r < 0 ? error_errno(err, -r, "cannot make the directory %s", root) : state_check_root(root, err);
}
