/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has to hold between members of a config. Each rule is a function in one list; the first that is broken is
 * reported by the path of the member that is at fault.
 */
#ifndef HS_OCI_VALIDATE_H
#define HS_OCI_VALIDATE_H

#include "oci/config.h"

struct oci_problem {
	char path[256]; /* "linux.sysctl.net.ipv4.ip_forward" */
	char text[512];
};

/* 0, or -EINVAL and *ret_problem. For every document, whatever it is used for. */
int oci_config_validate(const struct oci_config *cfg, struct oci_problem *ret_problem);

/* The rules for resources alone. `prefix` comes before the paths: "linux.resources.", or "" for a document of their
 * own. */
int oci_resources_validate(const struct oci_resources *resources, const char *prefix, struct oci_problem *ret_problem);

/* In addition: is there something to start? A config may be created without (runtime-spec, config.md, Process). */
int oci_config_validate_start(const struct oci_config *cfg, struct oci_problem *ret_problem);

/* Which kind of namespace a sysctl belongs to. -ENOENT: none, it is the host's; -EINVAL: that is no name of one. */
int oci_sysctl_namespace(const char *name, enum oci_namespace_type *ret);

#endif
