/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults on request: calls fail as Linux may let them fail, do less than was asked for, or take longer, by draws from a stream of their own.
 * Only in calls and on descriptors where that is possible: see the table in fault.c. Each one that strikes is counted, and told to
 * observers.
 */
#ifndef HS_ENGINE_FAULT_H
#define HS_ENGINE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct engine;
struct fd_info;
struct task;
struct verdict;

enum { FAULTS_MAX = 16, FAULT_CERTAIN = 1000000, FAULT_PATH_SIZE = 128 };

struct fault_rule {
	unsigned kind;
	uint32_t probability; /* of FAULT_CERTAIN */
	int call; /* only in this one; -1: wherever the kind fits */
	char path[FAULT_PATH_SIZE]; /* only on files of this name; "": on all */
};

/*
 * "KIND[:PROBABILITY][@WHERE]", as in enospc:0.1@write. WHERE is the name of a call, or a path: what has a '/', '.' or '*' in it. A path
 * without '/' is compared with the last component of names; '*' stands for any part of one component, a last "**" for all that is left.
 */
int fault_parse(const char *text, struct fault_rule *ret, struct error *err);

/* The name of the kind; "short, enospc, ...", for messages and help. */
const char *fault_name(const struct fault_rule *rule);
const char *fault_names(void);

/* Does some rule need brk(2) to be asked about? */
bool fault_needs_brk(const struct fault_rule *rules, size_t n);

/* The task makes a call: does one of the rules strike? 1: *v is the outcome; 0: the call goes on; -errno. */
int fault_strike(struct engine *e, struct task *t, struct verdict *v);

/* The kernel is about to run the call, which was to do less than was asked for: it is carried out here then. 0 or -errno. */
int fault_shorten(struct engine *e, struct task *t, struct verdict *v);

/* --- fault_data.c: what strikes data on its way --- */
/* Is it a call that moves data from or to a descriptor? One that reads? */
bool fault_moves_data(int nr);
bool fault_reads(int nr);
/* The datagram of the call is held for `delay_ns` of virtual time, or (0) lost; *v says it was sent. 1, or 0: it cannot be, -errno. */
int fault_datagram(struct engine *e, struct task *t, uint64_t delay_ns, struct verdict *v);
/* Datagrams that are still held at the end. */
void fault_deinit(struct engine *e);

#endif
