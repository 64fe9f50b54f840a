/* SPDX-License-Identifier: BSD-3-Clause */
/* Task numbers and host ids: see tasks.h. */
#include "backend/notify/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static void sent_free(struct sent_signal *sent)
{
	struct sent_signal *next;

	for (; sent; sent = next) {
		next = sent->next;
		free(sent);
	}
}

static void code_put(struct task_code *code)
{
	if (!code || --code->refs > 0)
		return;
	insn_traps_deinit(&code->traps);
	free(code->places);
	free(code);
}

int tasks_fresh_code(struct notify_process *p)
{
	struct task_code *code = calloc(1, sizeof(*code));

	if (!code)
		return -ENOMEM;
	code->refs = 1;
	code_put(p->code);
	p->code = code;
	return 0;
}

/* The memory is a copy, with the breakpoints in it. */
static int copy_places(struct task_code *to, const struct task_code *from)
{
	to->vdso = from->vdso;
	to->vdso_end = from->vdso_end;
	to->block = from->block;
	to->block_end = from->block_end;
	to->places_wanted = from->places_wanted;
	if (!from->n_places)
		return 0;
	to->places = reallocarray(NULL, PLACES_ROOM(from->n_places), sizeof(*to->places));
	if (!to->places)
		return -ENOMEM;
	memcpy(to->places, from->places, from->n_places * sizeof(*to->places));
	to->n_places = from->n_places;
	return 0;
}

int tasks_inherit_code(struct notify_process *child, const struct notify_process *parent, bool shares)
{
	int r;

	if (!shares) {
		r = tasks_fresh_code(child);
		if (r == 0)
			r = copy_places(child->code, parent->code);
		if (r == 0)
			child->code->writable = parent->code->writable;
		return r < 0 ? r : insn_traps_copy(&child->code->traps, &parent->code->traps);
	}
	code_put(child->code);
	child->code = parent->code;
	child->code->refs++;
	return 0;
}

static void process_free(struct notify_process *p)
{
	code_put(p->code);
	sent_free(p->sent);
	free(p);
}

struct notify_process *tasks_process(struct task_table *table, pid_t tgid)
{
	struct notify_process *p;

	HASH_FIND(hh, table->processes, &tgid, sizeof(tgid), p);
	return p;
}

static struct notify_process *process_get(struct task_table *table, pid_t tgid, int vpid)
{
	struct notify_process *p;

	p = tasks_process(table, tgid);
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	if (tasks_fresh_code(p) < 0) {
		free(p);
		return NULL;
	}
	p->tgid = tgid;
	p->vpid = vpid;
	HASH_ADD(hh, table->processes, tgid, sizeof(p->tgid), p);
	if (p->unlisted) {
		process_free(p);
		return NULL;
	}
	(void)tasks_take_dead(table, vpid); /* the number is in use again */
	return p;
}

static int note_dead(struct task_table *table, const struct notify_process *p)
{
	struct dead_process *dead;

	dead = calloc(1, sizeof(*dead));
	if (!dead)
		return -ENOMEM;
	dead->vpid = p->vpid;
	dead->pid = p->tgid;
	HASH_ADD(hh, table->dead, vpid, sizeof(dead->vpid), dead);
	if (!dead->unlisted)
		return 0;
	free(dead);
	return -ENOMEM;
}

static int process_put(struct task_table *table, struct notify_process *p)
{
	int r;

	if (p->n_tasks > 0)
		return 0;
	r = note_dead(table, p);
	HASH_DELETE(hh, table->processes, p);
	process_free(p);
	return r;
}

struct notify_task *tasks_add(struct task_table *table, pid_t tid, pid_t tgid, int vpid)
{
	struct notify_process *p;
	struct notify_task *t;

	p = process_get(table, tgid, vpid);
	if (!p)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->number = table->next_number;
	t->tid = tid;
	t->process = p;
	HASH_ADD(hh_number, table->by_number, number, sizeof(t->number), t);
	if (t->unlisted) {
		free(t);
		return NULL;
	}
	HASH_ADD(hh_tid, table->by_tid, tid, sizeof(t->tid), t);
	if (t->unlisted) {
		HASH_DELETE(hh_number, table->by_number, t);
		free(t);
		return NULL;
	}
	table->next_number++;
	p->n_tasks++;
	return t;
}

struct notify_task *tasks_by_number(struct task_table *table, int number)
{
	struct notify_task *t;

	HASH_FIND(hh_number, table->by_number, &number, sizeof(number), t);
	return t;
}

struct notify_task *tasks_by_tid(struct task_table *table, pid_t tid)
{
	struct notify_task *t;

	HASH_FIND(hh_tid, table->by_tid, &tid, sizeof(tid), t);
	return t;
}

int tasks_bury(struct task_table *table, struct notify_task *task)
{
	struct notify_process *p = task->process;

	HASH_DELETE(hh_tid, table->by_tid, task);
	task->process = NULL;
	task->where = WHERE_DEAD;
	p->n_tasks--;
	return process_put(table, p);
}

void tasks_remove(struct task_table *table, int number)
{
	struct notify_task *t;

	t = tasks_by_number(table, number);
	if (!t)
		return;
	HASH_DELETE(hh_number, table->by_number, t);
	free(t->loop);
	free(t);
}

int tasks_become_leader(struct task_table *table, struct notify_task *task)
{
	HASH_DELETE(hh_tid, table->by_tid, task);
	task->tid = task->process->tgid;
	HASH_ADD(hh_tid, table->by_tid, tid, sizeof(task->tid), task);
	return task->unlisted ? -ENOMEM : 0;
}

struct notify_task *tasks_sibling(struct task_table *table, const struct notify_task *except)
{
	struct notify_task *t, *tmp;

	/* uthash iterates in order of insertion: in order of numbers */
	HASH_ITER(hh_number, table->by_number, t, tmp)
		if (t != except && t->process && t->process == except->process)
			return t;
	return NULL;
}

struct notify_task *tasks_thread_beside(struct task_table *table, const struct notify_task *except)
{
	struct notify_task *t, *tmp, *leader = NULL;

	HASH_ITER(hh_number, table->by_number, t, tmp) {
		if (t == except || !t->process || t->process != except->process)
			continue;
		if (t->tid != t->process->tgid)
			return t;
		leader = t;
	}
	return leader;
}

pid_t tasks_dead(const struct task_table *table, int vpid)
{
	const struct dead_process *dead;

	HASH_FIND(hh, table->dead, &vpid, sizeof(vpid), dead);
	return dead ? dead->pid : 0;
}

pid_t tasks_take_dead(struct task_table *table, int vpid)
{
	struct dead_process *dead;
	pid_t pid;

	HASH_FIND(hh, table->dead, &vpid, sizeof(vpid), dead);
	if (!dead)
		return 0;
	pid = dead->pid;
	HASH_DELETE(hh, table->dead, dead);
	free(dead);
	return pid;
}

void tasks_deinit(struct task_table *table)
{
	struct notify_process *p, *next_p;
	struct dead_process *d, *next_d;
	struct notify_task *t, *next_t;

	HASH_CLEAR(hh_tid, table->by_tid);
	HASH_ITER(hh_number, table->by_number, t, next_t) {
		HASH_DELETE(hh_number, table->by_number, t);
		free(t->loop);
		free(t);
	}
	HASH_ITER(hh, table->processes, p, next_p) {
		HASH_DELETE(hh, table->processes, p);
		process_free(p);
	}
	HASH_ITER(hh, table->dead, d, next_d) {
		HASH_DELETE(hh, table->dead, d);
		free(d);
	}
}

int newborns_add(struct newborns *newborns, pid_t tid)
{
	size_t room;
	pid_t *tids;

	if (newborns->n == newborns->room) {
		room = newborns->room ? newborns->room * 2 : 8;
		tids = reallocarray(newborns->tids, room, sizeof(*tids));
		if (!tids)
			return -ENOMEM;
		newborns->tids = tids;
		newborns->room = room;
	}
	newborns->tids[newborns->n++] = tid;
	return 0;
}

bool newborns_take(struct newborns *newborns, pid_t tid)
{
	size_t i;

	for (i = 0; i < newborns->n; i++) {
		if (newborns->tids[i] != tid)
			continue;
		newborns->tids[i] = newborns->tids[--newborns->n];
		return true;
	}
	return false;
}

void newborns_deinit(struct newborns *newborns)
{
	free(newborns->tids);
	*newborns = (struct newborns){ 0 };
}
