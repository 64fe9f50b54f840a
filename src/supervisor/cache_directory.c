/* SPDX-License-Identifier: BSD-3-Clause */
/* The specification says that relative paths are to be ignored. */
#include "supervisor/cache_directory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *below(const char *base, const char *rest)
{
	char *path;

	if (!base || base[0] != '/' || asprintf(&path, "%s%s", base, rest) < 0)
		return NULL;
	return path;
}

char *cache_directory(void)
{
	char *path = below(getenv("XDG_CACHE_HOME"), "/hermit");

	if (!path)
		path = below(getenv("HOME"), "/.cache/hermit");
	return path || geteuid() != 0 ? path : strdup("/var/cache/hermit");
}
