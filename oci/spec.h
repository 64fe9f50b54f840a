/* SPDX-License-Identifier: BSD-3-Clause */
/* The config.json that the command `spec` writes: something to start from, as other runtimes write it. */
#ifndef HS_OCI_SPEC_H
#define HS_OCI_SPEC_H

#include <stdbool.h>
#include <stdint.h>

/*
 * rootless: with a user namespace in which root is the user host_uid, host_gid, and without what that user may not have
 * (a network of its own, resources, sysfs, the group of terminals). *ret_text is the caller's. 0 or -ENOMEM.
 */
int oci_spec_format(bool rootless, uint32_t host_uid, uint32_t host_gid, char **ret_text);

#endif
