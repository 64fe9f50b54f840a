/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cgroups of one container, in the layout that the host has:
 *   unified   one hierarchy of version 2 at /sys/fs/cgroup
 *   legacy    hierarchies of version 1; the hybrid layout counts as legacy, nothing is put into its version 2 part
 *   none      no cgroups, or none that this user may write: the container runs without, and limits are an error
 *
 * A path is looked up below the mount of each hierarchy. What is created is one directory per hierarchy, plus missing parents;
 * cgroup_remove() removes the container's own directory with everything below it, not the parents.
 */
#ifndef HS_CONTAINER_CGROUP_H
#define HS_CONTAINER_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "oci/config.h"

struct cgroup;

/*
 * Makes the cgroups for linux.cgroupsPath: absolute or not, from the mount's root on; NULL or empty: "/" and the id.
 * -EEXIST if processes live there already.
 */
int cgroup_create(const char *cgroups_path, const char *id, struct cgroup **ret, struct error *err);

/* The same without making anything: for a creation that was broken off before it could write down what it had made. */
int cgroup_at(const char *cgroups_path, const char *id, struct cgroup **ret, struct error *err);

/* Those of a container that exists, as cgroup_to_pairs() described them. Directories may be gone meanwhile. */
int cgroup_from_pairs(const struct oci_pairs *pairs, struct cgroup **ret, struct error *err);

/* Controllers ("memory", "cpu,cpuacct", "name=systemd", "" for version 2) and the path below the mount; in the arena. */
int cgroup_to_pairs(const struct cgroup *cgroup, struct oci_arena *arena, struct oci_pairs *ret);

/* The files that a process writes its number to in order to join; NULL-terminated, the cgroup's own. */
char **cgroup_procs_files(const struct cgroup *cgroup);

/*
 * The files of a cgroup below them, for `exec`: "PATH" of all hierarchies, or "CONTROLLER[,CONTROLLER...]:PATH" of those that have one of these,
 * the others as they are. It has to exist; "/" is the container's own. -ENOENT, -EINVAL with a message. Called once for each that is asked for.
 */
int cgroup_use_below(struct cgroup *cgroup, const char *which, struct error *err);

/* Applies what is set and leaves the rest as it is. err names the field: "linux.resources.memory.limit: ...". */
int cgroup_apply(const struct cgroup *cgroup, const struct oci_resources *resources, struct error *err);

/* Stops or continues all processes, and waits until it is so. -ENOTSUP without a freezer. */
int cgroup_freeze(const struct cgroup *cgroup, bool frozen, struct error *err);

/* It, or (version 1) one above it. */
bool cgroup_is_frozen(const struct cgroup *cgroup);

/* Thaws the cgroup in which the process is, whoever froze it. 0 or -errno. */
int cgroup_thaw_process(pid_t pid);

/* Tells the freezer, and waits for nothing. Without one it does nothing. */
void cgroup_freeze_begin(const struct cgroup *cgroup, bool frozen);

/* Process numbers of everything in the cgroup and below, ascending. *ret is the caller's. */
int cgroup_pids(const struct cgroup *cgroup, pid_t **ret, size_t *ret_n, struct error *err);

/* Sends the signal to everything in it. SIGKILL reaches also what is forked meanwhile. */
int cgroup_signal(const struct cgroup *cgroup, int signo, struct error *err);

/* What a file of this controller says (version 2: "" is none in particular); the caller's. NULL: it is not there. */
char *cgroup_read_text(const struct cgroup *cgroup, const char *controller, const char *file);
bool cgroup_has(const struct cgroup *cgroup, const char *controller);
bool cgroup_is_unified(const struct cgroup *cgroup); /* version 2 */

/* Removes the directories. Waits a moment for processes that are on their way out. -EBUSY if some stay. */
int cgroup_remove(const struct cgroup *cgroup, struct error *err);

/* NULL is fine. The directories stay. */
void cgroup_free(struct cgroup *cgroup);

#endif
