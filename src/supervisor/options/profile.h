/* SPDX-License-Identifier: BSD-3-Clause */
/* linux.seccomp of a config.json as a filter that lies below the supervisor's. */
#ifndef HS_SUPERVISOR_PROFILE_H
#define HS_SUPERVISOR_PROFILE_H

#include <stdbool.h>

#include "backend/profile.h"
#include "base/error.h"
#include "oci/config.h"

/*
 * *ret is the caller's; NULL when the document has none. trapped: the supervisor's filter comes on top. SCMP_ACT_NOTIFY is refused:
 * a task has one listener.
 */
int profile_from_oci(const struct oci_seccomp *from, bool trapped, struct backend_profile **ret, struct error *err);

#endif
