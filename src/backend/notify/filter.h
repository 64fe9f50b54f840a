/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seccomp filter of the guest. What no rule names is notified; calls of another architecture (i386, x32) fail with
 * ENOSYS. libseccomp is known to filter.c and profile.c only.
 */
#ifndef HS_BACKEND_NOTIFY_FILTER_H
#define HS_BACKEND_NOTIFY_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/error.h"

struct filter_rule {
	int nr;
	int error; /* 0: allowed, not notified; else refused with this errno */
	bool if_clear;        /* the rule applies only when these bits of the argument are clear */
	unsigned argument;
	uint64_t bits;
};

/* BACKEND_FILTER_FLAGS, or what the kernel knows of them. */
int filter_flags(void);

struct sock_fprog;

/* The filter's. */
const struct sock_fprog *filter_program(const struct backend_filter *filter);

struct backend_filter *filter_build(const struct filter_rule *rules, size_t n_rules, struct error *err);

/*
 * The guest hands the listener over with a breakpoint instruction, the only way that is no system call: this number in rax,
 * the descriptor in rbx.
 */
#define FILTER_HANDOVER 0x6865726d6974ull

/* The program of a context of libseccomp. ret_program->filter is the caller's. 0 or -errno. */
int filter_export(void *context, struct sock_fprog *ret_program);

#endif
