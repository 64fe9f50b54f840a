/* SPDX-License-Identifier: BSD-3-Clause */
/* Parents and children: see family.h. */
#include "engine/proc/family.h"

#include <signal.h>
#include <stdbool.h>
#include <utlist.h>

#include "engine/engine_internal.h"

void family_join(struct process *parent, struct process *p)
{
	p->parent = parent;
	if (parent)
		DL_APPEND2(parent->children, p, elder, younger);
}

void family_leave(struct process *p)
{
	if (p->parent)
		DL_DELETE2(p->parent->children, p, elder, younger);
	p->parent = NULL;
}

/* It must be gone before anybody runs. */
static int settle(struct engine *e, struct process *p)
{
	int r = 0;

	if (!p->joined)
		r = e->g->ops->settle_reaped(e->g, p->vpid);
	process_forget(e, p);
	return r;
}

static int wake_waiting(struct engine *e, struct process *parent)
{
	struct task *t;
	int r;

	LL_FOREACH(e->tasks, t) {
		if (t->process != parent || t->state != TASK_BLOCKED || t->wait.kind != WAIT_CHILD)
			continue;
		r = task_wake(e, t, WAKE_READY);
		if (r < 0)
			return r;
	}
	return 0;
}

int family_change(struct engine *e, struct process *p)
{
	if (!p->parent)
		return 0;
	signals_changed(e, p->parent);
	return wake_waiting(e, p->parent);
}

/* SIGCHLD ignored or SA_NOCLDWAIT: the kernel knows which children that is about, and leaves no zombie. */
static int drop_unwanted(struct engine *e, struct process *p)
{
	int r = e->g->ops->reaped(e->g, p->vpid);

	return r > 0 ? settle(e, p) : r;
}

int family_death(struct engine *e, struct process *p)
{
	int r;

	if (!p->parent)
		return settle(e, p);
	r = family_change(e, p);
	return r < 0 ? r : drop_unwanted(e, p);
}

/* Who adopts its children: the next subreaper above it, else process 1. NULL: that is not one of ours. */
static struct process *find_heir(struct engine *e, const struct process *dead)
{
	struct process *a;

	for (a = dead->parent; a; a = a->parent)
		if (a->subreaper)
			return a;
	return e->init_is_guest && dead != e->first ? e->first : NULL;
}

/* Whatever signal was its own at its end: an adopted one ends with SIGCHLD (reparent_leader()). */
static int pass_on(struct engine *e, struct process *p, struct process *heir)
{
	family_leave(p);
	family_join(heir, p);
	p->adopted = true;
	p->exit_signal = SIGCHLD;
	if (p->zombie)
		return family_death(e, p);
	if (p->leader && p->leader->traits.death_signal)
		signals_changed(e, p);
	return 0;
}

int family_orphan(struct engine *e, struct process *dead)
{
	struct process *heir = find_heir(e, dead);
	int r = 0;

	while (r == 0 && dead->children)
		r = pass_on(e, dead->children, heir);
	return r;
}
