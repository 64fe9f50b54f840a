/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that join a run from outside: see backend.h. */
#include <errno.h>

#include "backend/notify/notify.h"
#include "backend/notify/start.h"

int backend_first_ids(struct guest *g, int *ret_vtid, int *ret_vpid)
{
	struct notify *n = notify_of(g);
	const struct notify_task *t = notify_find(g, 0);
	struct proc_ids ids;
	int r;

	r = t ? procfs_ids(n, t->tid, n->pid_depth, &ids) : -ESRCH;
	if (r < 0)
		return r;
	*ret_vtid = ids.vtid;
	*ret_vpid = ids.vpid;
	return 0;
}

int backend_join_attach(struct guest *g, pid_t pid, const int *outside_fds, struct event *ret_event, struct error *err)
{
	struct notify *n = notify_of(g);
	struct notify_task *t;
	struct proc_ids ids;
	int r;

	r = n->old_cpus ? surroundings_pin(pid, n->cpu) : 0;
	if (r < 0)
		return error_errno(err, -r, "cannot pin process %d to CPU %u", (int)pid, n->cpu);
	r = companion_seize(pid);
	if (r < 0)
		return error_errno(err, -r, "cannot trace process %d", (int)pid);
	r = procfs_ids(n, pid, n->pid_depth, &ids);
	if (r < 0)
		return error_errno(err, -r, "cannot read the ids in /proc/%d/status", (int)pid);
	t = tasks_add(&n->tasks, pid, ids.tgid, ids.vpid);
	if (!t)
		return error_errno(err, ENOMEM, "backend");
	handles_note_outside(n, pid, outside_fds);
	*ret_event = (struct event){ .kind = EVENT_JOIN, .task = t->number, .join = { .vtid = ids.vtid, .vpid = ids.vpid } };
	return 0;
}

int backend_join_start(struct guest *g, int task, struct error *err)
{
	struct notify *n = notify_of(g);
	struct notify_task *t;
	int r;

	t = notify_find(g, task);
	if (!t)
		return error_set(err, ESRCH, "the process is gone");
	r = start_take_listener(n, t, err);
	if (r == -ECHILD) {
		tasks_remove(&n->tasks, task);
		return r;
	}
	if (r < 0)
		return r;
	r = companion_go(t->tid, 0);
	return r < 0 ? error_errno(err, -r, "the process cannot go on") : 0;
}
