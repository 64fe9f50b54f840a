/* SPDX-License-Identifier: BSD-3-Clause */
/* The price of looking in vain: see looks.h. */
#include "engine/time/looks.h"

#include <errno.h>

#include "engine/engine_internal.h"
#include "engine/files/paths.h"

/* ---- what is a look ---- */

static bool is_look(const struct look *look, const struct call *call)
{
	switch (look->when) {
	case LOOK_ALWAYS:
		return true;
	case LOOK_ZERO:
		return (uint32_t)call->args[look->argument] == 0; /* an int */
	case LOOK_BITS:
		return (call->args[look->argument] & look->bits) != 0;
	case LOOK_GIVES_WAY:
		return call->gives_way;
	}
	return false;
}

static const struct look *look_of(const struct call *call)
{
	const struct look *look = looks_row(call->nr);

	return look && is_look(look, call) ? look : NULL;
}

static bool is_vain(const struct look *look, int64_t result)
{
	switch (look->vain) {
	case VAIN_ANY:
		return true;
	case VAIN_NOTHING:
		return result <= 0;
	case VAIN_FAILED:
		return result < 0;
	case VAIN_AGAIN:
		return result == -EAGAIN;
	}
	return false;
}

/* ---- what it asks ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * 0x100000001b3ull; /* FNV-1a */
}

/* A name of the question. Two that are equal by chance are in every run, and count as one. */
static int name_question(struct engine *e, struct task *t, uint64_t *ret)
{
	const struct policy_row *row = t->call.row;
	uint64_t hash = mix(0xcbf29ce484222325ull, (uint64_t)t->call.nr);
	struct guest_path path;
	int r;

	for (int i = 0; i < row->nargs; i++) {
		hash = mix(hash, t->call.args[i]);
		if (row->args[i].kind != ARG_PATH)
			continue;
		r = path_read(e, t, -1, t->call.args[i], &path);
		if (r < 0 && (r == -ENOMEM || r == -ESRCH))
			return r;
		for (const char *c = path.text; r >= 0 && *c; c++)
			hash = mix(hash, (unsigned char)*c);
	}
	*ret = hash;
	return 0;
}

/* True when it was asked before. A streak with too many questions is a search: it begins anew. */
static bool is_repeat(struct task_looks *l, uint64_t question)
{
	for (uint32_t i = 0; i < l->n_questions; i++)
		if (l->questions[i] == question)
			return true;
	if (l->n_questions == LOOK_QUESTIONS)
		l->n_questions = l->repeats = 0;
	l->questions[l->n_questions++] = question;
	return false;
}

/* ---- what it costs ---- */

uint64_t looks_cost(uint64_t cost_ns, uint64_t most_ns, uint32_t repeats)
{
	for (uint32_t i = repeats / LOOK_STEP; i > 0 && cost_ns < most_ns; i--)
		cost_ns *= 2;
	return cost_ns < most_ns ? cost_ns : most_ns;
}

/* What it costs more than it did at first, up to the next thing that happens by itself. */
static uint64_t look_again(struct engine *e, struct task_looks *l, uint64_t question, uint64_t cost_ns, uint64_t most_ns)
{
	uint64_t due = timers_next(&e->timers) < e->next_deadline_ns ? timers_next(&e->timers) : e->next_deadline_ns;
	uint64_t more, left = time_left(due, e->clock.now_ns);

	if (!is_repeat(l, question))
		return 0;
	l->repeats += l->repeats < UINT32_MAX;
	most_ns = most_ns > cost_ns ? most_ns : cost_ns;
	more = looks_cost(cost_ns, most_ns, l->repeats) - cost_ns;
	return more < left ? more : left;
}

static void settle(struct engine *e, struct task *t, bool vain)
{
	struct task_looks *l = &t->looks;
	const struct look *look = l->look;

	l->look = NULL;
	l->asked = false;
	if (vain)
		task_charge(e, t, look_again(e, l, l->question, t->call.row->cost_ns, look->most_ns));
	else
		looks_end(t);
}

/* ---- the call's way ---- */

int looks_consider(struct engine *e, struct task *t)
{
	struct task_looks *l = &t->looks;

	l->asked = false;
	l->look = look_of(&t->call);
	if (l->look)
		return name_question(e, t, &l->question);
	looks_end(t);
	return 0;
}

void looks_told(struct engine *e, struct task *t, const struct verdict *v)
{
	struct task_looks *l = &t->looks;

	if (!l->look)
		return;
	if (t->call.waited || v->kind == VERDICT_INSTALL || v->kind == VERDICT_RESTART)
		settle(e, t, false);
	else if (v->kind == VERDICT_RETURN)
		settle(e, t, is_vain(l->look, v->value));
	else if (t->call.done)
		settle(e, t, is_vain(l->look, v->set_result ? v->value : t->call.result));
	else if (v->kind != VERDICT_CONTINUE)
		return; /* a hook: it comes again */
	else if (l->look->vain == VAIN_ANY || (l->repeats + 1) % LOOK_ASK || !(e->g->abilities & GUEST_CAN_HOOK))
		settle(e, t, true);
	else
		l->asked = true;
}

void looks_answered(struct engine *e, struct task *t, int64_t result)
{
	if (t->looks.asked)
		settle(e, t, is_vain(t->looks.look, result));
}

uint64_t looks_at_counter(struct engine *e, struct task *t)
{
	return CLOCK_READ_COST_NS + look_again(e, &t->looks, 0, CLOCK_READ_COST_NS, LOOK_MOST_REAL_NS);
}

void looks_end(struct task *t)
{
	t->looks = (struct task_looks){ 0 };
}
