/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories for a while: see scratch.h. */
#include "supervisor/scratch.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/log.h"

enum { WALK_FDS = 16 };

int scratch_make(char *path, size_t size, const char *name, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(path, size, "%s/hermit-%s-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp", name);

	if (n < 0 || (size_t)n >= size)
		return error_errno(err, ENAMETOOLONG, "TMPDIR");
	return mkdtemp(path) ? 0 : error_errno(err, errno, "%s", path);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	if (type == FTW_DNR) {
		(void)chmod(path, 0700);
		return nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
	}
	if (remove(path) < 0 && errno != ENOENT)
		log_debug("cannot remove %s: %m", path);
	return 0;
}

void scratch_remove(const char *path)
{
	(void)nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
}
