/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What signalfd(2) descriptors read. The kernel takes signals out of its queues and writes what they say; of those that were queued from
 * here it knows less than it would of its own: who sent them in whose name, and how often a timer ran over.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

#include "engine/engine_internal.h"
#include "engine/files/readers.h"
#include "engine/time/itimers.h"

/* Like sigtimedwait's. True when the record has changed. Or -errno. */
static int correct(struct engine *e, struct task *t, struct signalfd_siginfo *record)
{
	siginfo_t info = { .si_signo = (int)record->ssi_signo, .si_code = record->ssi_code };
	int r;

	if (info.si_code == SI_TIMER) {
		info.si_timerid = (int)record->ssi_tid;
		itimers_delivered(t->process, &info);
		record->ssi_overrun = (uint32_t)info.si_overrun;
		return 1;
	}
	if (!e->g->ops->signal_taken || (info.si_code != SI_USER && info.si_code != SI_TKILL))
		return 0;
	info.si_pid = (pid_t)record->ssi_pid;
	info.si_uid = record->ssi_uid;
	r = e->g->ops->signal_taken(e->g, t->id, &info);
	if (r > 0) {
		record->ssi_code = info.si_code;
		record->ssi_pid = (uint32_t)info.si_pid;
		record->ssi_uid = info.si_uid;
	}
	return r;
}

/* A record may lie in several ranges of the caller's. */
static int fetch(struct engine *e, struct task *t, const struct span *span, uint64_t at, struct signalfd_siginfo *ret)
{
	size_t done = 0, n = 0;
	int r = 0;

	while (r == 0 && done < sizeof(*ret)) {
		r = span_fetch(e, t, span, at + done, (char *)ret + done, sizeof(*ret) - done, &n);
		if (r == 0 && n == 0)
			return -EFAULT;
		done += n;
	}
	return r;
}

static int correct_all(struct engine *e, struct task *t, const struct span *span, int64_t size)
{
	struct signalfd_siginfo record;
	size_t stored;
	int r = 0;

	for (int64_t at = 0; r >= 0 && at + (int64_t)sizeof(record) <= size; at += (int64_t)sizeof(record)) {
		r = fetch(e, t, span, (uint64_t)at, &record);
		if (r == 0)
			r = correct(e, t, &record);
		if (r > 0)
			r = span_store(e, t, span, (uint64_t)at, &record, sizeof(record), &stored);
	}
	return r == -EFAULT ? 0 : r;
}

int read_signalfd(struct engine *e, struct task *t, const struct read_request *request, struct verdict *v)
{
	int r;

	if (request->positional)
		return READER_DECLINES; /* has no positions: the kernel says so */
	if (t->call.done) {
		v->kind = VERDICT_GO;
		return correct_all(e, t, request->span, t->call.result);
	}
	r = call_when_ready(e, t, request->fd, POLLIN, v);
	return r == 0 && v->kind == VERDICT_CONTINUE ? verdict_hook(v) : r;
}
