/* SPDX-License-Identifier: BSD-3-Clause */
/* The features document (runtime-spec, features.md), made from the tables that the parser reads with. */
#ifndef HS_OCI_FEATURES_H
#define HS_OCI_FEATURES_H

/* The versions of the specification that this program says it knows; it accepts any 1.x. */
#define OCI_VERSION_MIN "1.0.0"
#define OCI_VERSION_MAX "1.2.1"

/* program_version goes into the annotations. *ret_text is the caller's; indented, ends in a newline. 0 or -ENOMEM. */
int oci_features_format(const char *program_version, char **ret_text);

#endif
