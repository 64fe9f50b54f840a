/* SPDX-License-Identifier: BSD-3-Clause */
/* The beginning of a run whose container another runtime has made: see backend.h. */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "backend/notify/adopt.h"
#include "backend/notify/filter.h"
#include "backend/notify/notify.h"
#include "backend/notify/start.h"
#include "base/cleanup.h"

/*
 * The call that is parked becomes the first event. The clock page is mapped by calls that are answered, which a filter of another make need not
 * notify.
 */
static int begin_adopted(struct notify *n, const struct adopted *adopted, bool own_filter, struct error *err)
{
	struct notify_task *t = notify_find(&n->guest, 0);
	struct event event = adopted->event;
	int r;

	if (!t)
		return error_set(err, ESRCH, "the container's process is gone");
	if (own_filter)
		clockpage_init(n);
	r = start_look_around(n, t, "container", err);
	if (r < 0)
		return r;
	t->where = WHERE_CALL;
	t->cookie = adopted->cookie;
	t->call_nr = event.call.nr;
	event.task = t->number;
	r = queue_push(&n->queue, &event);
	return r < 0 ? error_errno(err, -r, "backend") : 0;
}

/* Up to the execve, with the listener that stays. */
static int await_program(struct notify *n, const struct backend_adoptee *adoptee, struct adopted *adopted, struct error *err)
{
	int r;

	r = start_open_proc(n, err);
	if (r < 0)
		return r;
	n->replacement = adoptee->filter;
	n->adopting = n->fresh = true;
	r = adopt_await_exec(n, adoptee->pid, adopted);
	if (r == -EBUSY)
		return error_errno(err, -r, "the runtime keeps the listener that it has sent open, so there cannot be another");
	if (r < 0)
		return error_errno(err, -r, "the container ended before its program was executed");
	if (n->replacement)
		return error_set(err, ENOTSUP, "the runtime's filter cannot be replaced when the container's process executes its program: %s",
				 n->why_not);
	r = n->listener_made ? n->listener_made(n->listener_arg, n->listeners[0]) : 0;
	return r < 0 ? error_errno(err, -r, "seccomp listener") : 0;
}

static int adopt(struct notify *n, const struct backend_options *options, const struct backend_adoptee *adoptee,
		 struct backend_adoption *ret_adoption, struct error *err)
{
	struct adopted adopted;
	int r;

	r = listeners_add(n, *adoptee->listener);
	if (r < 0)
		return error_errno(err, -r, "the listener that was sent");
	(void)take_fd(adoptee->listener);
	r = await_program(n, adoptee, &adopted, err);
	if (r < 0)
		return r;
	ret_adoption->killable = adoptee->filter && filter_flags() == BACKEND_FILTER_FLAGS;
	r = start_attach(n, options, adopted.tid, err);
	if (r < 0)
		return r;
	r = adopt_fix_addresses(n, &adopted);
	if (r < 0)
		return error_errno(err, -r, "cannot prepare the container's process");
	ret_adoption->randomised = r == 1;
	r = adopt_fix_numbers(n, adopted.tid);
	if (r < 0)
		return error_errno(err, -r, "the ids of the container's processes");
	ret_adoption->numbered = r == 1;
	ret_adoption->shared = adopt_shared_namespaces(adopted.tid);
	if (ret_adoption->shared & CLONE_NEWNET)
		n->network = BACKEND_NETWORK_HOST;
	ret_adoption->early_calls = n->strange_calls;
	ret_adoption->stderr_fd = handles_borrow(n, adopted.tid, STDERR_FILENO);
	return begin_adopted(n, &adopted, adoptee->filter != NULL, err);
}

int backend_adopt(const struct backend_options *options, const struct backend_adoptee *adoptee, struct guest **ret_guest,
		  struct backend_adoption *ret_adoption, struct error *err)
{
	struct notify *n = start_new(options);
	int r;

	*ret_adoption = (struct backend_adoption){ .stderr_fd = -1 };
	if (!n)
		return error_errno(err, ENOMEM, "backend");
	r = adopt(n, options, adoptee, ret_adoption, err);
	if (r < 0) {
		(void)backend_close(&n->guest);
		return r;
	}
	*ret_guest = &n->guest;
	return 0;
}
