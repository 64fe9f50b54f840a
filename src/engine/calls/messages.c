/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls with several messages, in parts: see messages.h. */
#include "engine/calls/messages.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "engine/engine_internal.h"
#include "engine/net/network.h"
#include "engine/wait.h"

bool parts_is_one(const struct task *t)
{
	return t->messages.on && t->messages.nr == t->call.nr && !memcmp(t->messages.part, t->call.args, sizeof(t->messages.part));
}

void parts_begin(struct task *t)
{
	t->messages.on = true;
	t->messages.nr = t->call.nr;
	t->messages.moved = 0;
	t->messages.cut = false;
	t->messages.deadline_ns = TIME_NEVER;
	memcpy(t->messages.args, t->call.args, sizeof(t->messages.args));
	memcpy(t->messages.part, t->call.args, sizeof(t->messages.part));
}

int parts_set_args(struct engine *e, struct task *t, const uint64_t args[6])
{
	int r;

	if (!memcmp(t->call.args, args, sizeof(t->call.args)))
		return 0;
	r = e->g->ops->set_args(e->g, t->id, args);
	if (r == 0)
		memcpy(t->call.args, args, sizeof(t->call.args));
	return r;
}

void parts_rest(const struct task *t, uint64_t args[6])
{
	memcpy(args, t->messages.args, sizeof(t->messages.args));
	args[AT_MESSAGES] += t->messages.moved * sizeof(struct mmsghdr);
	args[AT_COUNT] = t->messages.cut ? 0 : args[AT_COUNT] - t->messages.moved;
}

int parts_finish(struct engine *e, struct task *t, int64_t result, struct verdict *v)
{
	t->messages.on = false;
	v->kind = VERDICT_GO;
	v->set_result = true;
	v->value = result;
	return parts_set_args(e, t, t->messages.args);
}

int parts_next(struct engine *e, struct task *t, struct verdict *v)
{
	parts_rest(t, t->messages.part);
	v->kind = VERDICT_GO;
	v->set_result = true;
	v->value = WAIT_ERESTARTSYS;
	return parts_set_args(e, t, t->messages.part);
}

int parts_socket_is(struct engine *e, struct task *t, short events)
{
	struct handle_poll look = { .handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]), .events = events };
	int r;

	if (look.handle < 0)
		return look.handle == -EBADF ? 0 : look.handle;
	r = network_settle(e);
	if (r == 0)
		r = e->g->ops->handles_poll(e->g, &look, 1, 0);
	e->g->ops->handle_release(e->g, look.handle);
	return r < 0 ? r : (look.revents & events) != 0;
}

int parts_last(struct task *t, struct verdict *v)
{
	t->call.scratch[1] = true;
	t->call.attempt = true;
	return verdict_hook(v);
}
