/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A FIFO is opened by two: who comes first is parked, who comes second lets the other through. While it is parked its end is held open, as the kernel
 * would: so others find it, those of the outside too, who are then in the FIFO and not refused. Who is let through has both ends held for it until
 * it has opened its own, whatever its partner does meanwhile.
 */
#include "engine/files/fifo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <utlist.h>

#include "engine/engine_internal.h"
#include "engine/wait.h"

/* What a parked task has noted in scratch: device, inode, end. */
enum { NOTE_DEV, NOTE_INO, NOTE_READS };

bool fifo_waits(const struct task *t)
{
	return t->state == TASK_BLOCKED && t->wait.kind == WAIT_EVENT && t->hold_waits;
}

/* Whoever may not have both of them keeps the one that it has. */
static int let_through(struct engine *e, struct task *t, int both)
{
	if (both < 0) {
		t->hold_waits = false;
		return both == -ENOMEM || both == -ESRCH ? both : 0;
	}
	task_release_hold(e, t);
	t->hold = both;
	return 0;
}

/* Those who wait for somebody who opens with these flags. Returns how many, or -errno. */
static int wake_waiters(struct engine *e, struct task *t, const struct guest_path *path, const struct file_stat *stat, int flags)
{
	int mode = flags & O_ACCMODE, woken = 0, r;
	struct task *other;

	LL_FOREACH(e->tasks, other) {
		const uint64_t *note = other->call.scratch;

		if (!other->hold_waits || note[NOTE_DEV] != stat->dev || note[NOTE_INO] != stat->ino ||
		    mode == (note[NOTE_READS] ? O_RDONLY : O_WRONLY))
			continue;
		r = let_through(e, other, e->g->ops->fifo_hold(e->g, t->id, path->dirfd, path->text));
		if (r == 0)
			r = task_wake(e, other, WAKE_READY);
		if (r < 0)
			return r;
		woken++;
	}
	return woken;
}

static int report(struct engine *e, int handle)
{
	char name[PATH_MAX];
	int r;

	r = e->g->ops->handle_reach(e->g, handle);
	if (r <= REACH_GUEST || !e->g->ops->fifo_is_foreign)
		return r < 0 ? r : 0;
	r = e->g->ops->fifo_is_foreign(e->g, handle);
	if (r <= 0)
		return r;
	r = e->g->ops->handle_path(e->g, handle, name, sizeof(name));
	engine_report_uncontrolled(e, UNCONTROLLED_EXCHANGE, r < 0 ? "a FIFO" : name);
	return 0;
}

int fifo_report_outsider(struct engine *e, int handle)
{
	char name[PATH_MAX];
	int r;

	r = e->g->ops->handle_outsider ? e->g->ops->handle_outsider(e->g, handle, name, sizeof(name)) : 0;
	if (r > 0)
		engine_report_uncontrolled(e, UNCONTROLLED_EXCHANGE, name);
	return r < 0 ? r : 0;
}

/* Its own end, and whether somebody has the other one. */
static int enter(struct engine *e, struct task *t, const struct guest_path *path, int flags)
{
	if (t->hold < 0)
		t->hold = e->g->ops->fifo_enter(e->g, t->id, path->dirfd, path->text, flags);
	if (t->hold == -EACCES) /* ours to enter it is not, whatever the task may */
		return 0;
	return t->hold < 0 ? t->hold : e->g->ops->fifo_met(e->g, t->hold);
}

static int wait_for_partner(struct engine *e, struct task *t, const struct guest_path *path, const struct file_stat *stat, int flags,
			    struct verdict *v)
{
	int woken, r;

	r = enter(e, t, path, flags);
	if (r < 0)
		return r == -ENOMEM || r == -ESRCH ? r : verdict_continue(v);
	woken = wake_waiters(e, t, path, stat, flags);
	if (woken < 0)
		return woken;
	if (r == 0 && woken == 0) {
		t->call.scratch[NOTE_DEV] = stat->dev;
		t->call.scratch[NOTE_INO] = stat->ino;
		t->call.scratch[NOTE_READS] = (flags & O_ACCMODE) == O_RDONLY;
		t->hold_waits = true;
		wait_for(t, WAIT_EVENT);
		return verdict_block(v);
	}
	r = woken == 0 ? report(e, t->hold) : 0;
	if (r == 0)
		r = let_through(e, t, e->g->ops->fifo_hold(e->g, t->id, path->dirfd, path->text));
	return r < 0 ? r : verdict_continue(v);
}

int fifo_open(struct engine *e, struct task *t, const struct guest_path *path, const struct file_stat *stat, int flags, struct verdict *v)
{
	bool waits = !(flags & O_NONBLOCK) && (flags & O_ACCMODE) != O_RDWR;
	int r;

	if (flags & O_PATH || (t->hold >= 0 && !t->hold_waits))
		return verdict_continue(v);
	if (waits)
		return wait_for_partner(e, t, path, stat, flags, v);
	r = wake_waiters(e, t, path, stat, flags);
	return r < 0 ? r : verdict_continue(v);
}
