/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults on request: calls fail as Linux may let them fail, or take longer, by draws from a stream of their own. Only in calls and on descriptors
 * where the failure is possible.
 */
#ifndef HS_ENGINE_FAULT_H
#define HS_ENGINE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct engine;
struct task;
struct verdict;

enum { FAULTS_MAX = 16, FAULT_CERTAIN = 1000000 };

struct fault_rule {
	unsigned kind;
	uint32_t probability; /* of FAULT_CERTAIN */
	int call; /* only in this one; -1: wherever the kind fits */
};

/* "KIND[:PROBABILITY][@CALL]", as in enospc:0.1@write. */
int fault_parse(const char *text, struct fault_rule *ret, struct error *err);

/* The name of the kind. */
const char *fault_name(const struct fault_rule *rule);

/* The task makes a call: does one of the rules strike? 1: *v is the failure; 0: the call goes on; -errno. */
int fault_strike(struct engine *e, struct task *t, struct verdict *v);

#endif
