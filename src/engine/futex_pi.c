/* SPDX-License-Identifier: BSD-3-Clause */
/* Futexes that know their owner: PI locks and robust ones. Semantics from futex(2) and the kernel's documentation of both. */
#include <errno.h>
#include <linux/futex.h>
#include <utlist.h>

#include "engine/engine_internal.h"
#include "engine/futex_internal.h"
#include "engine/verdict.h"

static uint32_t waiters_bit(struct engine *e, const struct futex_key *key)
{
	struct futex_waiter *w;

	DL_FOREACH(e->futexes.waiters, w) {
		if (futex_same_key(&w->key, key))
			return FUTEX_WAITERS;
	}
	return 0;
}

/* Hands a PI lock to its first waiter; `extra`: FUTEX_OWNER_DIED or 0. The word is reachable through the waiter. */
static int hand_over(struct engine *e, struct futex_waiter *w, uint32_t extra)
{
	struct futex_key key = w->key;
	struct task *t = w->task;
	uint64_t addr = w->addr;
	int r;

	r = futex_wake_waiter(e, w);
	if (r < 0)
		return r;
	r = futex_write_word(e, t, addr, (uint32_t)t->vtid | extra | waiters_bit(e, &key));
	return r == -EFAULT || r == -ESRCH ? 0 : r;
}

int futex_owner_died(struct engine *e)
{
	struct futex_waiter *w, *tmp, *before;
	uint32_t word;
	int r;

	DL_FOREACH_SAFE(e->futexes.waiters, w, tmp) {
		/* Only the first waiter of a word is woken. */
		DL_FOREACH(e->futexes.waiters, before) {
			if (before == w || futex_same_key(&before->key, &w->key))
				break;
		}
		if (before != w || futex_read_word(e, w->task, w->addr, &word) < 0 || !(word & FUTEX_OWNER_DIED) ||
		    word & FUTEX_TID_MASK)
			continue;
		r = w->pi ? hand_over(e, w, FUTEX_OWNER_DIED) : futex_wake_waiter(e, w);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool owner_lives(struct engine *e, uint32_t vtid)
{
	struct task *t;

	LL_FOREACH(e->tasks, t) {
		if ((uint32_t)t->vtid == vtid && !t->leader_gone)
			return true;
	}
	return false;
}

int futex_lock_pi(struct engine *e, struct task *t, struct futex_call *c, struct verdict *v)
{
	struct futex_waiter *w;
	uint32_t word, owner;
	int r;

	r = futex_read_word(e, t, c->addr, &word);
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	owner = word & FUTEX_TID_MASK;
	if (owner == (uint32_t)t->vtid)
		return verdict_errno(v, EDEADLK);
	if (!owner) {
		r = futex_write_word(e, t, c->addr,
			       (uint32_t)t->vtid | (word & FUTEX_OWNER_DIED) | waiters_bit(e, &c->key));
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, 0);
	}
	if (!owner_lives(e, owner))
		return verdict_errno(v, ESRCH);
	if (c->op == FUTEX_TRYLOCK_PI)
		return verdict_errno(v, EAGAIN);
	r = futex_note_timeout(e, t, c->op, c->op == FUTEX_LOCK_PI || c->realtime);
	if (r)
		return r < 0 ? r : verdict_errno(v, r);
	r = futex_write_word(e, t, c->addr, word | FUTEX_WAITERS);
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	w = futex_enqueue(e, t, &c->key, c->addr, FUTEX_BITSET_MATCH_ANY);
	if (!w)
		return -ENOMEM;
	w->pi = true;
	return verdict_block(v);
}

int futex_unlock_pi(struct engine *e, struct task *t, struct futex_call *c, struct verdict *v)
{
	struct futex_waiter *w;
	uint32_t word;
	int r;

	r = futex_read_word(e, t, c->addr, &word);
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if ((word & FUTEX_TID_MASK) != (uint32_t)t->vtid)
		return verdict_errno(v, EPERM);
	DL_FOREACH(e->futexes.waiters, w) {
		if (futex_same_key(&w->key, &c->key) && w->pi)
			break;
	}
	r = w ? hand_over(e, w, 0) : futex_write_word(e, t, c->addr, 0);
	return r < 0 ? r : verdict_return(v, 0);
}

int futex_cmp_requeue_pi(struct engine *e, struct task *t, struct futex_call *c, struct verdict *v)
{
	struct futex_waiter *w, *tmp;
	uint32_t word, lock;
	int done = 0, r;

	if (c->val != 1)
		return verdict_errno(v, EINVAL);
	r = futex_read_word(e, t, c->addr, &word);
	if (r >= 0 && word != c->val3)
		return verdict_errno(v, EAGAIN);
	if (r >= 0)
		r = futex_read_word(e, t, c->addr2, &lock);
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	DL_FOREACH_SAFE(e->futexes.waiters, w, tmp) {
		if (!futex_same_key(&w->key, &c->key) || done > (int)c->val2)
			continue;
		if (!futex_same_key(&w->pi_target, &c->key2))
			return verdict_errno(v, EINVAL);
		w->key = c->key2;
		w->addr = w->pi_target_addr;
		w->pi = true;
		done++;
		if (!(lock & FUTEX_TID_MASK)) {
			lock = (uint32_t)w->task->vtid;
			r = hand_over(e, w, 0);
		} else {
			lock |= FUTEX_WAITERS;
			r = futex_write_word(e, t, c->addr2, lock);
		}
		if (r < 0)
			return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	}
	return verdict_return(v, done);
}
