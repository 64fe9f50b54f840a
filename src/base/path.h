/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths as text. */
#ifndef HS_BASE_PATH_H
#define HS_BASE_PATH_H

#include <string.h>

/* What is behind the root in an absolute path, which may be written in several ways: "x" of "/x", "//x" and "/./x". */
static inline const char *path_behind_root(const char *path)
{
	for (;; path++) {
		path += strspn(path, "/");
		if (path[0] != '.' || path[1] != '/')
			return path;
	}
}

#endif
