/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of futex(2): see futex.h. Semantics from futex(2); locks that know their owner are in futex_pi.c. Words are read and written
 * without atomic instructions: no guest task runs while a call is considered.
 */
#include "engine/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <time.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "engine/time/clock.h"
#include "engine/engine_internal.h"
#include "engine/futex_internal.h"
#include "engine/calls/handlers.h"
#include "engine/wait.h"

#define OBJECT_SPACE (1ull << 63)

static int key_of(struct engine *e, struct task *t, uint64_t addr, bool private, struct futex_key *ret)
{
	uint64_t object = 0, offset = 0;
	int r;

	if (!private) {
		r = e->g->ops->futex_key(e->g, t->id, addr, &object, &offset);
		if (r < 0)
			return r;
	}
	if (object)
		*ret = (struct futex_key){ object | OBJECT_SPACE, offset };
	else
		*ret = (struct futex_key){ t->mm->id, addr };
	return 0;
}

bool futex_same_key(const struct futex_key *a, const struct futex_key *b)
{
	return a->space == b->space && a->word == b->word;
}

int futex_read_word(struct engine *e, struct task *t, uint64_t addr, uint32_t *ret)
{
	return guest_read(e, t, addr, ret, sizeof(*ret));
}

int futex_write_word(struct engine *e, struct task *t, uint64_t addr, uint32_t value)
{
	return guest_write(e, t, addr, &value, sizeof(value));
}

static void unqueue(struct engine *e, struct task *t)
{
	struct futex_waiter *w = t->wait.futex;

	if (!w)
		return;
	if (!w->woken)
		DL_DELETE(e->futexes.waiters, w);
	t->wait.futex = NULL;
	free(w);
}

void futex_forget(struct engine *e, struct task *t)
{
	unqueue(e, t);
}

void futex_deinit(struct engine *e)
{
	struct futex_waiter *w, *tmp;

	DL_FOREACH_SAFE(e->futexes.waiters, w, tmp)
		free(w);
	e->futexes.waiters = NULL;
}

struct futex_waiter *futex_enqueue(struct engine *e, struct task *t, const struct futex_key *key, uint64_t addr,
				    uint32_t bitset)
{
	struct futex_waiter *w;

	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->task = t;
	w->key = *key;
	w->addr = addr;
	w->bitset = bitset;
	DL_APPEND(e->futexes.waiters, w);
	t->wait.futex = w;
	wait_for(t, WAIT_FUTEX);
	return w;
}

int futex_wake_waiter(struct engine *e, struct futex_waiter *w)
{
	DL_DELETE(e->futexes.waiters, w);
	w->woken = true;
	return task_wake(e, w->task, WAKE_FUTEX);
}

static uint64_t count_waiters(struct engine *e, const struct futex_key *key, uint32_t bitset)
{
	struct futex_waiter *w;
	uint64_t n = 0;

	DL_FOREACH(e->futexes.waiters, w)
		n += futex_same_key(&w->key, key) && w->bitset & bitset;
	return n;
}

/* There are more than `nth` of them. */
static struct futex_waiter *nth_waiter(struct engine *e, const struct futex_key *key, uint32_t bitset, uint64_t nth)
{
	struct futex_waiter *w;

	DL_FOREACH(e->futexes.waiters, w) {
		if (futex_same_key(&w->key, key) && w->bitset & bitset && nth-- == 0)
			break;
	}
	return w;
}

/* Wakes up to n, the first ones first unless chaos was asked for; their number, or -errno. */
static int wake_key(struct engine *e, const struct futex_key *key, int n, uint32_t bitset)
{
	struct futex_waiter *w;
	uint64_t waiting;
	int woken, r;

	for (woken = 0; woken < n; woken++) {
		waiting = count_waiters(e, key, bitset);
		if (!waiting)
			break;
		w = nth_waiter(e, key, bitset, chaos_draw(e, waiting));
		r = futex_wake_waiter(e, w);
		if (r < 0)
			return r;
	}
	return woken;
}

int futex_wake_addr(struct engine *e, struct task *t, uint64_t addr, int n)
{
	struct futex_key key = { t->mm->id, addr };
	int r;

	r = wake_key(e, &key, n, FUTEX_BITSET_MATCH_ANY);
	return r < 0 ? r : 0;
}

/* Reads the timeout argument and notes the deadline. A positive return is an errno for the guest. */
int futex_note_timeout(struct engine *e, struct task *t, int op, bool realtime)
{
	uint64_t addr = t->call.args[3], ns, deadline;
	struct timespec ts;
	int r;

	if (!addr)
		return 0;
	r = guest_read(e, t, addr, &ts, sizeof(ts));
	if (r == -EFAULT)
		return EFAULT;
	if (r < 0)
		return r;
	if (!time_from_parts(ts.tv_sec, ts.tv_nsec, &ns))
		return EINVAL;
	if (op == FUTEX_WAIT)
		deadline = time_add(t->call.start_ns, ns);
	else if (!clock_deadline(&e->clock, realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC, ns, &deadline))
		return EINVAL;
	wait_until(e, t, deadline);
	return 0;
}

/* A waiter is considered again: what became of it? */
static int continue_wait(struct engine *e, struct task *t, struct verdict *v)
{
	bool timed = t->wait.deadline_ns != TIME_NEVER;

	if (t->wait.futex->woken) {
		unqueue(e, t);
		return verdict_return(v, 0);
	}
	if (wait_timed_out(t)) {
		unqueue(e, t);
		return verdict_errno(v, ETIMEDOUT);
	}
	if (wait_interrupted(t)) {
		unqueue(e, t);
		return wait_interrupt(t, v, timed ? WAIT_ERESTARTNOHAND : WAIT_ERESTARTSYS);
	}
	return verdict_block(v);
}

static int op_wait(struct engine *e, struct task *t, struct futex_call *c, struct verdict *v)
{
	uint32_t bitset = c->op == FUTEX_WAIT ? FUTEX_BITSET_MATCH_ANY : c->val3, word;
	struct futex_waiter *w;
	int r;

	if (!bitset)
		return verdict_errno(v, EINVAL);
	r = futex_note_timeout(e, t, c->op, c->realtime);
	if (r)
		return r < 0 ? r : verdict_errno(v, r);
	r = futex_read_word(e, t, c->addr, &word);
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (word != c->val)
		return verdict_errno(v, EAGAIN);
	w = futex_enqueue(e, t, &c->key, c->addr, bitset);
	if (!w)
		return -ENOMEM;
	if (c->op == FUTEX_WAIT_REQUEUE_PI) {
		w->pi_target = c->key2;
		w->pi_target_addr = c->addr2;
	}
	return verdict_block(v);
}

/* The kernel wakes one before it counts. */
static int one_at_least(uint32_t n)
{
	return (int)n < 1 ? 1 : (int)n;
}

static int op_wake(struct engine *e, struct task *t, struct futex_call *c, struct verdict *v)
{
	uint32_t bitset = c->op == FUTEX_WAKE ? FUTEX_BITSET_MATCH_ANY : c->val3;
	int r;

	if (!bitset)
		return verdict_errno(v, EINVAL);
	r = wake_key(e, &c->key, one_at_least(c->val), bitset);
	return r < 0 ? r : verdict_return(v, r);
}

static int op_requeue(struct engine *e, struct task *t, struct futex_call *c, struct verdict *v)
{
	struct futex_waiter *w, *tmp;
	int woken = 0, moved = 0, r;
	uint32_t word;

	if ((int)c->val < 0 || (int)c->val2 < 0)
		return verdict_errno(v, EINVAL);
	if (c->op == FUTEX_CMP_REQUEUE) {
		r = futex_read_word(e, t, c->addr, &word);
		if (r < 0)
			return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
		if (word != c->val3)
			return verdict_errno(v, EAGAIN);
	}
	woken = wake_key(e, &c->key, (int)c->val, FUTEX_BITSET_MATCH_ANY);
	if (woken < 0)
		return woken;
	DL_FOREACH_SAFE(e->futexes.waiters, w, tmp) {
		if (futex_same_key(&w->key, &c->key) && moved < (int)c->val2) {
			w->key = c->key2;
			w->addr = c->addr2;
			moved++;
		}
	}
	return verdict_return(v, c->op == FUTEX_CMP_REQUEUE ? woken + moved : woken);
}

static uint32_t wake_op_apply(int op, uint32_t old, uint32_t arg)
{
	switch (op) {
	case FUTEX_OP_SET:
		return arg;
	case FUTEX_OP_ADD:
		return old + arg;
	case FUTEX_OP_OR:
		return old | arg;
	case FUTEX_OP_ANDN:
		return old & ~arg;
	default:
		return old ^ arg;
	}
}

static bool wake_op_compare(int cmp, int32_t old, int32_t arg)
{
	switch (cmp) {
	case FUTEX_OP_CMP_EQ:
		return old == arg;
	case FUTEX_OP_CMP_NE:
		return old != arg;
	case FUTEX_OP_CMP_LT:
		return old < arg;
	case FUTEX_OP_CMP_LE:
		return old <= arg;
	case FUTEX_OP_CMP_GT:
		return old > arg;
	default:
		return old >= arg;
	}
}

static int op_wake_op(struct engine *e, struct task *t, struct futex_call *c, struct verdict *v)
{
	int op = (int)(c->val3 >> 28 & 7), cmp = (int)(c->val3 >> 24 & 15), n = 0, r;
	int32_t oparg = (int32_t)(c->val3 << 8) >> 20, cmparg = (int32_t)(c->val3 << 20) >> 20;
	uint32_t old;

	if (op > FUTEX_OP_XOR || cmp > FUTEX_OP_CMP_GE)
		return verdict_errno(v, ENOSYS);
	if (c->val3 >> 28 & FUTEX_OP_OPARG_SHIFT)
		oparg = (int32_t)(1u << (oparg & 31));
	r = futex_read_word(e, t, c->addr2, &old);
	if (r >= 0)
		r = futex_write_word(e, t, c->addr2, wake_op_apply(op, old, (uint32_t)oparg));
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	r = wake_key(e, &c->key, one_at_least(c->val), FUTEX_BITSET_MATCH_ANY);
	if (r < 0)
		return r;
	n = r;
	if (wake_op_compare(cmp, (int32_t)old, cmparg)) {
		r = wake_key(e, &c->key2, one_at_least(c->val2), FUTEX_BITSET_MATCH_ANY);
		if (r < 0)
			return r;
		n += r;
	}
	return verdict_return(v, n);
}

static const struct {
	futex_op_fn *run;
	bool second_key, may_realtime;
} ops[] = {
	[FUTEX_WAIT] = { op_wait, false, true },
	[FUTEX_WAKE] = { op_wake, false, false },
	[FUTEX_REQUEUE] = { op_requeue, true, false },
	[FUTEX_CMP_REQUEUE] = { op_requeue, true, false },
	[FUTEX_WAKE_OP] = { op_wake_op, true, false },
	[FUTEX_LOCK_PI] = { futex_lock_pi, false, false },
	[FUTEX_UNLOCK_PI] = { futex_unlock_pi, false, false },
	[FUTEX_TRYLOCK_PI] = { futex_lock_pi, false, false },
	[FUTEX_WAIT_BITSET] = { op_wait, false, true },
	[FUTEX_WAKE_BITSET] = { op_wake, false, false },
	[FUTEX_WAIT_REQUEUE_PI] = { op_wait, true, true },
	[FUTEX_CMP_REQUEUE_PI] = { futex_cmp_requeue_pi, true, false },
	[FUTEX_LOCK_PI2] = { futex_lock_pi, false, true },
};

/* One word's key; a positive return is an errno for the guest. */
static int checked_key(struct engine *e, struct task *t, uint64_t addr, bool private, struct futex_key *ret)
{
	int r;

	if (addr % 4)
		return EINVAL;
	r = key_of(e, t, addr, private, ret);
	return r == -EFAULT ? EFAULT : r;
}

int handle_futex_call(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct futex_call c = {
		.addr = a[0],
		.addr2 = a[4],
		.op = (int)a[1] & FUTEX_CMD_MASK,
		.private = a[1] & FUTEX_PRIVATE_FLAG,
		.realtime = a[1] & FUTEX_CLOCK_REALTIME,
		.val = (uint32_t)a[2],
		.val2 = (uint32_t)a[3],
		.val3 = (uint32_t)a[5],
	};
	int r;

	if (t->wait.futex)
		return continue_wait(e, t, v);
	if (c.op < 0 || (size_t)c.op >= ARRAY_SIZE(ops) || !ops[c.op].run)
		return verdict_errno(v, ENOSYS);
	if (c.realtime && !ops[c.op].may_realtime)
		return verdict_errno(v, ENOSYS);
	r = checked_key(e, t, c.addr, c.private, &c.key);
	if (!r && ops[c.op].second_key)
		r = checked_key(e, t, c.addr2, c.private, &c.key2);
	if (r)
		return r < 0 ? r : verdict_errno(v, r);
	return ops[c.op].run(e, t, &c, v);
}
