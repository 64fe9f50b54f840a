/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that an engine binds into a container of its own making, and that have the name which the hook replaces. */
#ifndef HS_SUPERVISOR_HOOK_FILES_H
#define HS_SUPERVISOR_HOOK_FILES_H

#include "base/error.h"

/*
 * original: the engine's document; *changed: what the hook makes of it, on the heap. Where its mounts bind files that have the original's hostname in
 * them to /etc/hostname and /etc/hosts, copies with the hostname of *changed in place of that are bound, which are made beside the engine's
 * files and so go with them. Files that cannot be read or written there stay, with a warning. 0 or -errno with a message.
 */
int hook_files_rewrite(const char *original, char **changed, struct error *err);

#endif
