/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of futex(2): the kernel's own futexes are never used by guests. Waiters queue per key, first come first served within a
 * priority. A key names a word of memory: (address space, address) for private ones, (object, offset) for shared ones.
 */
#ifndef HS_ENGINE_FUTEX_H
#define HS_ENGINE_FUTEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct task;

struct futex_key {
	uint64_t space; /* mm id, or object with the top bit set */
	uint64_t word;
};

struct futex_waiter {
	struct futex_waiter *prev, *next;
	struct task *task;
	struct futex_key key;
	uint32_t bitset;
	uint64_t addr;       /* in the waiter's own address space */
	bool pi;             /* waits for a PI lock */
	struct futex_key pi_target; /* FUTEX_WAIT_REQUEUE_PI: where it is to be requeued to */
	uint64_t pi_target_addr;
	bool woken;
};

struct futexes {
	struct futex_waiter *waiters; /* in order of arrival */
};

/* Wakes up to n waiters at the private word `addr` of the task's address space. Used for CLONE_CHILD_CLEARTID. */
int futex_wake_addr(struct engine *e, struct task *t, uint64_t addr, int n);

/* After a task's death: wakes one waiter of each word that the kernel marked FUTEX_OWNER_DIED. */
int futex_owner_died(struct engine *e);

/* Forgets a task that will not wait any more (killed). */
void futex_forget(struct engine *e, struct task *t);

void futex_deinit(struct engine *e);

#endif
