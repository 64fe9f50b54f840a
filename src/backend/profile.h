/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A filter of the container's own (linux.seccomp), below the supervisor's. The kernel takes the stricter of two verdicts: a call
 * that the profile denies never reaches the supervisor, one that it allows does.
 *
 *	backend_profile_new(); backend_profile_arch(), backend_profile_rule() ...; backend_profile_compile();
 *	then, in the guest, before backend_filter_install(): backend_profile_install()
 */
#ifndef HS_BACKEND_PROFILE_H
#define HS_BACKEND_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum profile_action {
	PROFILE_ALLOW,
	PROFILE_LOG,
	PROFILE_ERRNO,
	PROFILE_TRACE,
	PROFILE_TRAP,
	PROFILE_KILL_THREAD,
	PROFILE_KILL_PROCESS,
};

enum profile_op { PROFILE_NE, PROFILE_LT, PROFILE_LE, PROFILE_EQ, PROFILE_GE, PROFILE_GT, PROFILE_MASKED_EQ };

struct profile_condition {
	unsigned index;
	enum profile_op op;
	uint64_t value, value_two; /* PROFILE_MASKED_EQ: mask, then what is left */
};

struct profile_verdict {
	enum profile_action action;
	uint16_t number; /* of PROFILE_ERRNO, PROFILE_TRACE */
};

struct backend_profile;

/* keep_seccomp: seccomp(2) stays allowed, because the supervisor's filter is installed after this one. */
struct backend_profile *backend_profile_new(struct profile_verdict preset, bool keep_seccomp, struct error *err);
struct backend_profile *backend_profile_free(struct backend_profile *profile);

/* One more architecture, an AUDIT_ARCH token. Those that this machine cannot have are left out. */
int backend_profile_arch(struct backend_profile *profile, uint32_t token, struct error *err);

/* A name that this kernel or library does not know matches nothing. All conditions have to hold. */
int backend_profile_rule(struct backend_profile *profile, const char *name, struct profile_verdict verdict,
			 const struct profile_condition *conditions, size_t n, struct error *err);

/* flags: SECCOMP_FILTER_FLAG_* */
int backend_profile_compile(struct backend_profile *profile, uint64_t flags, struct error *err);

/* Async-signal-safe. 0 or -errno. */
int backend_profile_install(const struct backend_profile *profile);

#endif
