/* SPDX-License-Identifier: BSD-3-Clause */
/* What a container uses, as a document with the members of runc's `events --stats`. */
#ifndef HS_SUPERVISOR_USAGE_H
#define HS_SUPERVISOR_USAGE_H

#include <jansson.h>

#include "container/cgroup.h"

/*
 * The member "data": a new reference, or NULL when there is no memory. As with runc a number that is 0, or that nobody counts here, is left out where it
 * is in other runtimes' documents as well ("omitempty" in runc's types/events.go).
 */
json_t *usage_document(const struct cgroup *cgroup);

#endif
