/* SPDX-License-Identifier: BSD-3-Clause */
/* Where this user's results are kept across runs: $XDG_CACHE_HOME/hermit, or $HOME/.cache/hermit (XDG Base Directory
 * Specification). */
#ifndef HS_SUPERVISOR_CACHE_DIRECTORY_H
#define HS_SUPERVISOR_CACHE_DIRECTORY_H

/* The path, which the caller frees; the directory need not exist. NULL when neither variable is an absolute path. */
char *cache_directory(void);

#endif
