/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name of a container's host. Engines that were told none make one of the container's id, which is drawn. Kubernetes draws the end of the names
 * of pods that it makes for a Job or a Deployment; the document of a container in a pod may have it in HOSTNAME only, since the pod's
 * sandbox has set it in the kernel. It is in config.json (hostname, the variable HOSTNAME) and in the files that the engine binds to
 * /etc/hostname and /etc/hosts. In a container under control all of them have the name of all runs instead.
 */
#ifndef HS_SUPERVISOR_HOST_NAME_H
#define HS_SUPERVISOR_HOST_NAME_H

#include "oci/config.h"
#include "supervisor/oci/state.h"

/* The name by the document: its hostname, or, of a container in a pod, HOSTNAME. NULL: it says none. */
const char *host_name_by_document(const struct oci_config *cfg);

/* The same, if somebody has given it to the container `id`; NULL also when it is drawn. */
const char *host_name_given(const struct oci_config *cfg, const char *id);

/*
 * Sets `name` in the document: hostname, HOSTNAME, and copies of the two files in the state directory, from which they are bound instead of
 * the engine's. Nothing where the name is not drawn (for the container dir->id). 0 or -errno with a message.
 */
int host_name_settle(struct oci_config *cfg, const struct state_dir *dir, const char *name, struct error *err);

/* Only the variable, of one more process: `env` is its environment. What is made is in the document's arena. */
int host_name_in_environment(const struct oci_config *cfg, struct oci_strings *env, const char *id, const char *name, struct error *err);

/*
 * The text of a hosts or hostname file with `name` for each word `drawn`. In lines that have it, names that engines draw for containers
 * (two words of small letters with an underscore between, a digit or none behind: no host name can be that) are left out. NULL: out of
 * memory; the caller frees.
 */
char *host_name_rewrite(const char *text, const char *drawn, const char *name);

#endif
