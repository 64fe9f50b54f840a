/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of oci/: objects that are read in more than one place, and names that are read, printed and listed. */
#ifndef HS_OCI_TABLES_H
#define HS_OCI_TABLES_H

#include "oci/config.h"
#include "oci/jread.h"

extern const struct jread_object oci_process_object;   /* struct oci_process */
extern const struct jread_object oci_mount_object;     /* struct oci_mount */
extern const struct jread_object oci_hooks_object;     /* struct oci_hooks[OCI_HOOK_STAGES] */
extern const struct jread_object oci_linux_object;     /* struct oci_linux */
extern const struct jread_object oci_resources_object; /* struct oci_resources */
extern const struct jread_object oci_seccomp_object;   /* struct oci_seccomp */

/* struct oci_id_mappings; neither side may overlap or run past 2^32 - 1. */
jread_convert_fn oci_to_id_mappings;

/* -EINVAL with a complaint about `value` if two entries share ids on either side. */
int oci_check_overlap(struct jread_reader *r, const struct jread_value *value, const struct oci_id_mappings *maps);

/*
 * What stands behind "idmap=": "uids=0-1-10#10-11-10;gids=@0-3-10", triplets of an id in the file system, an id outside
 * and a size; "@" makes the outside ids those of the container. Sets the mappings of *m.
 */
int oci_parse_idmap(struct jread_reader *r, const struct jread_value *value, const char *text, struct oci_mount *m);

/* Replaces the outside ids of relative mappings by what the mappings of the container make of them. */
int oci_resolve_idmaps(struct jread_reader *r, const struct jread_value *value, struct oci_config *cfg);

/* Gives a list that was not written its empty array. */
int oci_strings_default(struct jread_reader *r, struct oci_strings *strings);

/* All end with a NULL name. */
extern const struct jread_name oci_status_names[]; /* enum oci_status; in state.c */
extern const struct jread_name oci_capability_names[];
extern const struct jread_name oci_rlimit_names[];
extern const struct jread_name oci_namespace_names[];
extern const struct jread_name oci_seccomp_action_names[];
extern const struct jread_name oci_seccomp_op_names[];
extern const struct jread_name oci_seccomp_arch_names[];
extern const struct jread_name oci_seccomp_flag_names[];
extern const struct jread_name oci_propagation_names[]; /* MS_*, also of rootfsPropagation */

/* What a mount option does. Sorted by name. */
enum oci_mount_option_kind {
	OCI_OPTION_FLAG, /* set and clear are MS_* */
	OCI_OPTION_PROPAGATION,
	OCI_OPTION_RECURSIVE, /* MOUNT_ATTR_* */
	OCI_OPTION_TMPCOPYUP,
	OCI_OPTION_IDMAP, /* set is an enum oci_idmap */
};

struct oci_mount_option {
	const char *name;
	enum oci_mount_option_kind kind;
	uint64_t set, clear;
};

extern const struct oci_mount_option oci_mount_options[];
extern const size_t oci_n_mount_options;

#endif
