/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A config.json of an engine's, changed so that a stock runtime hands its container over to the agent (agent.h). Pure: a document in, a
 * document out. What is changed:
 *
 *	linux.seccomp      the calls with which the runtime hands over are notified, at which the agent installs the filter of the policy table;
 *	                   what the profile denies stays denied, but for two calls that the agent makes; listenerPath is the agent's
 *	                   socket; only the x86-64 architecture is left
 *	linux.namespaces   those of processes, mounts, host name and System V objects are made when they are missing
 *	linux.devices      clocks and random sources of the machine are left out
 *	hostname, HOSTNAME the name that the engine shows (files with it: hook_files.h)
 */
#ifndef HS_SUPERVISOR_HOOK_CONFIG_H
#define HS_SUPERVISOR_HOOK_CONFIG_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strv.h"

/* linux.seccomp.listenerMetadata of such a profile. */
#define HOOK_METADATA "hermit"

struct hook_rewrite {
	const char *socket;   /* where the agent listens */
	const char *hostname;
	struct strv notes;    /* what the person should know, one sentence each; the caller's to clear */
};

/*
 * *ret_text is the caller's: the new document. -EINVAL when it is no config.json; -EBUSY when its profile has a listener of its own: a
 * task can have one only.
 */
int hook_config_rewrite(const char *text, size_t len, struct hook_rewrite *rewrite, char **ret_text, struct error *err);

/* An annotation's value in the document, *ret NULL when it has none; the caller frees. */
int hook_config_annotation(const char *text, size_t len, const char *name, char **ret, struct error *err);

#endif
