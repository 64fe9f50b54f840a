/* SPDX-License-Identifier: BSD-3-Clause */
/* Births and deaths of tasks and processes: see task.h. Lists are kept in order of birth, so that walking them is deterministic. */
#include "engine/task.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <utlist.h>

#include "engine/engine_internal.h"
#include "engine/net/link_numbers.h"
#include "engine/net/passed.h"
#include "engine/files/fdtable.h"
#include "engine/proc/family.h"
#include "engine/wait.h"

struct task *task_find(struct engine *e, int id)
{
	struct task *t;

	LL_FOREACH(e->tasks, t) {
		if (t->id == id)
			return t;
	}
	return NULL;
}

struct process *process_find(struct engine *e, int vpid)
{
	struct process *p;

	LL_FOREACH(e->processes, p) {
		if (p->vpid == vpid)
			return p;
	}
	return NULL;
}

static struct mm *mm_new(struct engine *e)
{
	struct mm *mm;

	mm = calloc(1, sizeof(*mm));
	if (mm) {
		mm->refs = 1;
		mm->id = e->next_mm_id++;
	}
	return mm;
}

static void mm_unref(struct mm *mm)
{
	if (mm && --mm->refs == 0)
		free(mm);
}

static struct process *process_new(struct engine *e, struct process *parent, int vpid)
{
	struct process *p;

	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->id = e->next_process_id++;
	p->vpid = vpid;
	p->start_known = parent && parent->start_known;
	p->exit_signal = SIGCHLD;
	p->born_ns = e->clock.now_ns;
	family_join(parent, p);
	LL_APPEND(e->processes, p);
	return p;
}

void task_release_hold(struct engine *e, struct task *t)
{
	if (t->hold >= 0)
		e->g->ops->handle_release(e->g, t->hold);
	t->hold = -1;
	t->hold_waits = false;
}

static void task_free(struct engine *e, struct task *t)
{
	if (!t)
		return;
	wait_clear(e, t);
	task_release_hold(e, t);
	link_numbers_forget(t);
	fdtable_unref(e, t->fds);
	mm_unref(t->mm);
	free(t);
}

static struct task *task_new(struct engine *e, int id, int vtid, struct process *p)
{
	struct task *t;

	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->id = id;
	t->vtid = vtid;
	t->process = p;
	t->priority = PRIORITY_DEFAULT;
	t->hold = -1;
	t->born_ns = e->clock.now_ns;
	t->wait.deadline_ns = TIME_NEVER;
	t->slice_end_ns = time_add(e->clock.now_ns, e->options.quantum_ns);
	return t;
}

static void task_join(struct engine *e, struct task *t)
{
	chaos_birth(e, t);
	t->process->n_tasks++;
	LL_APPEND(e->tasks, t);
}

/* The only thread of a process whose parent is not one of ours. It leads a session. */
static struct task *task_from_outside(struct engine *e, int id, int vtid, int vpid)
{
	struct process *p;
	struct task *t;

	p = process_new(e, NULL, vpid);
	if (!p)
		return NULL;
	t = task_new(e, id, vtid, p);
	if (!t)
		return NULL;
	t->mm = mm_new(e);
	t->fds = fdtable_new();
	task_traits_init(&t->traits, e->options.cpus);
	process_traits_init(&p->traits, e->options.limits);
	if (!t->mm || !t->fds) {
		task_free(e, t);
		return NULL;
	}
	p->leader = t;
	p->pgid = p->sid = vpid;
	task_join(e, t);
	return t;
}

struct task *task_first(struct engine *e, int vtid, int vpid)
{
	struct task *t;

	t = task_from_outside(e, 0, vtid, vpid);
	if (!t)
		return NULL;
	t->rng = e->task_rng;
	e->first = t->process;
	e->init_is_guest = vpid == 1;
	return t;
}

struct task *task_joined(struct engine *e, int id, int vtid, int vpid)
{
	struct task *t;

	t = task_from_outside(e, id, vtid, vpid);
	if (!t)
		return NULL;
	t->process->joined = t->process->outsider = t->process->foreign = true;
	rng_init(&t->rng, e->options.seed, "joined", e->n_joined++);
	return t;
}

/* The process a child of `parent` by clone flags belongs to. */
static struct process *child_process(struct engine *e, struct task *parent, uint64_t flags, int vpid)
{
	struct process *p;

	if (flags & CLONE_THREAD)
		return parent->process;
	p = process_new(e, flags & CLONE_PARENT ? parent->process->parent : parent->process, vpid);
	if (!p)
		return NULL;
	p->exit_signal = flags & CLONE_PARENT ? parent->process->exit_signal : parent->clone_exit_signal;
	p->pgid = parent->process->pgid;
	p->sid = parent->process->sid;
	p->outsider = parent->process->outsider;
	process_traits_born(&p->traits, &parent->process->traits);
	return p;
}

struct task *task_born(struct engine *e, struct task *parent, int id, int vtid, int vpid)
{
	uint64_t flags = parent->clone_flags;
	struct process *p;
	struct task *t;

	p = child_process(e, parent, flags, vpid);
	if (!p)
		return NULL;
	t = task_new(e, id, vtid, p);
	if (!t)
		return NULL;
	if (flags & CLONE_VM) {
		t->mm = parent->mm;
		t->mm->refs++;
	} else {
		t->mm = mm_new(e);
		if (t->mm)
			t->mm->brk = parent->mm->brk;
	}
	t->fds = flags & CLONE_FILES ? fdtable_ref(parent->fds) : fdtable_copy(parent->fds);
	if (!t->mm || !t->fds) {
		task_free(e, t);
		return NULL;
	}
	rng_init_child(&t->rng, &parent->rng, parent->children++);
	if (flags & CLONE_CHILD_CLEARTID)
		t->clear_tid_addr = parent->clone_child_tid;
	t->priority = parent->priority;
	task_traits_born(&t->traits, &parent->traits);
	memcpy(t->comm, parent->comm, sizeof(t->comm));
	if (!p->leader)
		p->leader = t;
	task_join(e, t);
	return t;
}

void process_mark_dying(struct engine *e, struct process *p)
{
	if (p->dying || p->zombie)
		return;
	p->dying = true;
	e->n_dying++;
}

void process_unmark_dying(struct engine *e, struct process *p)
{
	if (!p->dying)
		return;
	p->dying = false;
	e->n_dying--;
}

void process_forget(struct engine *e, struct process *p)
{
	itimers_deinit(e, &p->itimers);
	family_leave(p);
	LL_DELETE(e->processes, p);
	if (e->first == p)
		e->first = NULL;
	free(p);
}

static int process_died(struct engine *e, struct process *p, int wait_status)
{
	int r;

	process_unmark_dying(e, p);
	itimers_deinit(e, &p->itimers);
	p->zombie = true;
	p->wait_status = wait_status;
	p->leader = NULL;
	if (p == e->first) {
		e->ended = true;
		e->exit_status = wait_status;
		return 0;
	}
	r = family_orphan(e, p);
	return r < 0 ? r : family_death(e, p);
}

static int release_vfork_parents(struct engine *e, struct task *child)
{
	struct task *t;
	int r;

	LL_FOREACH(e->tasks, t) {
		if (t->state != TASK_VFORK || t->vfork_child != child)
			continue;
		t->vfork_child = NULL;
		t->state = TASK_READY;
		r = sched_push_back(&e->sched, t);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What the kernel does for others at a thread's end: wake who joins it, pass on robust locks. */
int task_end_effects(struct engine *e, struct task *t)
{
	int r;

	if (t->clear_tid_addr && t->mm->refs > 1) {
		r = futex_wake_addr(e, t, t->clear_tid_addr, 1);
		if (r < 0)
			return r;
	}
	t->clear_tid_addr = 0;
	return futex_owner_died(e);
}

int task_died(struct engine *e, struct task *t, int wait_status)
{
	struct process *p = t->process;
	int r;

	if (t->state == TASK_READY)
		sched_remove(&e->sched, t);
	if (e->running == t)
		e->running = NULL;
	t->state = TASK_DEAD;
	LL_DELETE(e->tasks, t);
	p->n_tasks--;
	futex_forget(e, t);
	e->io_dirty = e->event_dirty = true;
	e->network_dirty |= e->network_used; /* its sockets are closed */
	passed_note_closed(e);
	/* Of a process that dies as a whole, only the last task's end means something to others. */
	r = p->dying && p->n_tasks ? 0 : task_end_effects(e, t);
	if (r >= 0)
		r = release_vfork_parents(e, t);
	if (p->leader == t) {
		p->wait_status = wait_status;
		p->remains = t->traits;
	}
	if (r >= 0 && p->n_tasks == 0)
		r = process_died(e, p, wait_status);
	task_free(e, t);
	return r;
}

int task_exec(struct engine *e, struct task *t)
{
	struct mm *mm;
	struct fdtable *fds;
	int r;

	mm = mm_new(e);
	fds = fdtable_new();
	if (!mm || !fds) {
		free(mm);
		fdtable_unref(e, fds);
		return -ENOMEM;
	}
	mm_unref(t->mm);
	t->mm = mm;
	fdtable_unref(e, t->fds);
	t->fds = fds;
	t->clear_tid_addr = 0;
	t->sleep.valid = false;
	t->process->leader = t;
	t->process->execed = true;
	t->process->foreign = false;
	itimers_exec(e, &t->process->itimers);
	process_traits_exec(&t->process->traits);
	t->vtid = t->process->vpid;
	e->io_dirty = true;
	r = release_vfork_parents(e, t);
	return r;
}

void task_free_all(struct engine *e)
{
	struct task *t, *tmp;
	struct process *p, *ptmp;

	LL_FOREACH_SAFE(e->tasks, t, tmp) {
		futex_forget(e, t);
		task_free(e, t);
	}
	LL_FOREACH_SAFE(e->processes, p, ptmp) {
		itimers_deinit(e, &p->itimers);
		free(p);
	}
	e->tasks = NULL;
	e->processes = NULL;
}
