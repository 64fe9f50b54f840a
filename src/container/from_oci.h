/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a bundle's config.json to the description of a container. What needs the host is checked here: does the root exist,
 * is a namespace file of the type that the document says.
 */
#ifndef HS_CONTAINER_FROM_OCI_H
#define HS_CONTAINER_FROM_OCI_H

#include "container/container.h"
#include "oci/config.h"

/* A description and what its pointers point to, beside the document, which has to live as long. */
struct container_bundle {
	struct container_spec spec;
	struct oci_arena *arena;
};

/*
 * Fills ret->spec: the guest itself is process 1, the mounts are the document's, stdio is 0, 1, 2. `bundle` is the directory
 * that relative paths start from. Left to the caller: cgroups (cgroup.h), hooks, seccomp, console socket.
 * -EINVAL or the error of the host, naming the field.
 */
int container_from_oci(const struct oci_config *cfg, const char *bundle, struct container_bundle *ret, struct error *err);

/* The same for a process alone, as `exec` starts one; only what belongs to the process is filled in. */
int container_process_from_oci(const struct oci_process *process, struct container_bundle *ret, struct error *err);

/* A list of CPUs as in cpuset(7), which the document's reader has found valid. -EINVAL for a CPU that no set can hold. */
int container_cpus_from_oci(const char *list, cpu_set_t *ret, struct error *err);

/* May be called twice, and on a zeroed struct. */
void container_bundle_free(struct container_bundle *bundle);

#endif
