/* SPDX-License-Identifier: BSD-3-Clause */
/* The resource limits that a guest starts with: those of whoever started the run never show. */
#ifndef HS_BASE_LIMITS_H
#define HS_BASE_LIMITS_H

#include <sys/resource.h>

enum { LIMITS_COUNT = 16 }; /* RLIMIT_* 0..15 of Linux */

/* "RLIMIT_NOFILE" and so on; "a resource limit" for others. */
const char *limits_name(unsigned resource);

/* The limit of a resource (RLIMIT_*, below LIMITS_COUNT). */
const struct rlimit *limits_default(unsigned resource);

#endif
