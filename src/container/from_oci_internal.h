/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of from_oci.c, one file for each large part of the document. Memory is the arena's. All int functions: 0 or -errno, with a message. */
#ifndef HS_CONTAINER_FROM_OCI_INTERNAL_H
#define HS_CONTAINER_FROM_OCI_INTERNAL_H

#include <stdbool.h>

#include "container/from_oci.h"
#include "oci/arena.h"

int from_oci_no_memory(struct error *err);

/* Is this path of the host's there? */
bool from_oci_host_has(const char *path);

/* "process" (from_oci_process.c). */
int from_oci_process(const struct oci_process *p, struct oci_arena *arena, struct container_spec *spec, struct error *err);

/* "linux.namespaces", and whether hostname, domainname and sysctls would be the host's own (from_oci_namespaces.c). */
int from_oci_namespaces(const struct oci_config *cfg, struct oci_arena *arena, struct container_spec *spec, struct error *err);

#endif
