/* SPDX-License-Identifier: BSD-3-Clause */
/* Small languages inside strings of a config.json. All are predicates on text, without the host. */
#ifndef HS_OCI_SYNTAX_H
#define HS_OCI_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

/* "0-3,7": numbers and ranges in increasing order within a range, blanks around them allowed. */
bool oci_cpu_list_valid(const char *list);

/* "64KB", "2MB", "1GB": as in the names of the hugetlb control files. */
bool oci_page_size_valid(const char *size);

/* A semantic version whose major number is 1, perhaps with a pre-release or build part ("1.0.2-dev", "1.2.0+x"). */
bool oci_version_supported(const char *version);

/* An absolute or relative path without a ".." component. */
bool oci_path_stays_below(const char *path);

/*
 * The path of a sysctl below /proc/sys. The first separator decides, as in sysctl(8): "net.ipv4.conf.eth0/100.x" has
 * dots, and '/' stands for a dot within a name; "net/ipv4/conf/eth0.100/x" has slashes. -EINVAL for a name that is
 * empty, has an empty component, or leaves the directory; -ENAMETOOLONG.
 */
int oci_sysctl_path(const char *name, char *buf, size_t size);

/* "_", letters, digits, "+", "-", "."; not "." and not "..": what may be the id of a container. */
bool oci_id_valid(const char *id);

#endif
