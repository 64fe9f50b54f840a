/* SPDX-License-Identifier: BSD-3-Clause */
/* What futex.c and futex_pi.c share. */
#ifndef HS_ENGINE_FUTEX_INTERNAL_H
#define HS_ENGINE_FUTEX_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/futex.h"

struct verdict;

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

/* The call's arguments. */
struct futex_call {
	uint64_t addr, addr2;
	int op;
	bool private, realtime;
	uint32_t val, val2, val3;
	struct futex_key key, key2;
};

/* An operation of futex(2): a handler, after the keys have been found. */
typedef int futex_op_fn(struct engine *e, struct task *t, struct futex_call *c, struct verdict *v);

futex_op_fn futex_lock_pi, futex_unlock_pi, futex_cmp_requeue_pi;

bool futex_same_key(const struct futex_key *a, const struct futex_key *b);
/* The word in the task's memory: 0, -EFAULT, or another -errno. */
int futex_read_word(struct engine *e, struct task *t, uint64_t addr, uint32_t *ret);
int futex_write_word(struct engine *e, struct task *t, uint64_t addr, uint32_t value);
/* The task waits at the word from now on; NULL when out of memory. */
struct futex_waiter *futex_enqueue(struct engine *e, struct task *t, const struct futex_key *key, uint64_t addr, uint32_t bitset);
int futex_wake_waiter(struct engine *e, struct futex_waiter *w);
/* Reads the timeout argument and notes the deadline. A positive return is an errno for the guest. */
int futex_note_timeout(struct engine *e, struct task *t, int op, bool realtime);

#endif
