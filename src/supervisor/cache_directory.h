/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where this user's results are kept across runs: $XDG_CACHE_HOME/hermit, or $HOME/.cache/hermit (XDG Base Directory
 * Specification). For root without either, as services are: /var/cache/hermit.
 */
#ifndef HS_SUPERVISOR_CACHE_DIRECTORY_H
#define HS_SUPERVISOR_CACHE_DIRECTORY_H

/* The path, which the caller frees; the directory need not exist. NULL when there is none of these. */
char *cache_directory(void);

#endif
