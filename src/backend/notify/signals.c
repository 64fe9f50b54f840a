/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's signal state of a task, and signals sent in somebody's name. */
#include "backend/notify/notify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct mask_field {
	const char *key;
	size_t offset;
};

static const struct mask_field mask_fields[] = {
	{ "SigPnd", offsetof(struct signal_state, thread_pending) },
	{ "ShdPnd", offsetof(struct signal_state, process_pending) },
	{ "SigBlk", offsetof(struct signal_state, blocked) },
	{ "SigIgn", offsetof(struct signal_state, ignored) },
	{ "SigCgt", offsetof(struct signal_state, caught) },
};

int notify_signal_state(struct guest *g, int task, struct signal_state *ret_state)
{
	const struct notify_task *t = notify_find(g, task);
	struct signal_state state;
	char text[4096];
	const char *value;
	size_t i;
	int r;

	if (!t)
		return -ESRCH;
	r = procfs_status(notify_of(g), t->tid, text, sizeof(text));
	if (r < 0)
		return r;
	for (i = 0; i < sizeof(mask_fields) / sizeof(mask_fields[0]); i++) {
		value = procfs_field(text, mask_fields[i].key);
		if (!value)
			return -EPROTO;
		*(uint64_t *)((char *)&state + mask_fields[i].offset) = strtoull(value, NULL, 16);
	}
	*ret_state = state;
	return 0;
}

static bool is_entry(const struct sent_signal *sent, pid_t tid, int signo)
{
	return sent->tid == tid && sent->info.si_signo == signo;
}

/* Drops entries of signals that were taken another way than by delivery (sigtimedwait, signalfd, SIG_IGN). */
static void forget_taken(struct notify_process *p, pid_t tid, int signo)
{
	struct sent_signal **link = &p->sent, *sent;

	while ((sent = *link)) {
		if (is_entry(sent, tid, signo)) {
			*link = sent->next;
			free(sent);
		} else {
			link = &sent->next;
		}
	}
}

static int is_pending(struct guest *g, int task, bool to_thread, int signo)
{
	struct signal_state state;
	int r;

	r = notify_signal_state(g, task, &state);
	if (r < 0)
		return r;
	return ((to_thread ? state.thread_pending : state.process_pending) >> (signo - 1)) & 1;
}

static int append(struct notify_process *p, pid_t tid, const siginfo_t *info)
{
	struct sent_signal *sent, **link;

	sent = calloc(1, sizeof(*sent));
	if (!sent)
		return -ENOMEM;
	sent->tid = tid;
	sent->info = *info;
	for (link = &p->sent; *link; link = &(*link)->next)
		;
	*link = sent;
	return 0;
}

/* The kernel lets nobody queue these contents for others: they are kept here and put in place at delivery. */
static int remember(struct guest *g, const struct notify_task *t, bool to_thread, const siginfo_t *info)
{
	pid_t tid = to_thread ? t->tid : 0;
	int pending;

	if (info->si_signo < 1 || info->si_signo > SIGRTMAX)
		return -EINVAL;
	pending = is_pending(g, t->number, to_thread, info->si_signo);
	if (pending < 0)
		return pending;
	if (!pending)
		forget_taken(t->process, tid, info->si_signo);
	else if (info->si_signo < SIGRTMIN)
		return 0; /* the kernel drops the newer one */
	return append(t->process, tid, info);
}

static int send_plain(struct guest *g, const struct notify_task *t, bool to_thread, const siginfo_t *info)
{
	int r;

	r = remember(g, t, to_thread, info);
	if (r < 0)
		return r;
	if (to_thread)
		return syscall(SYS_tgkill, t->process->tgid, t->tid, info->si_signo) < 0 ? -errno : 0;
	return kill(t->process->tgid, info->si_signo) < 0 ? -errno : 0;
}

int notify_signal_send(struct guest *g, int task, bool to_thread, const siginfo_t *info)
{
	const struct notify_task *t = notify_find(g, task);
	siginfo_t copy = *info;
	long r;

	if (!t)
		return -ESRCH;
	if (info->si_code >= 0 || info->si_code == SI_TKILL)
		return send_plain(g, t, to_thread, info);
	if (to_thread)
		r = syscall(SYS_rt_tgsigqueueinfo, t->process->tgid, t->tid, info->si_signo, &copy);
	else
		r = syscall(SYS_rt_sigqueueinfo, t->process->tgid, info->si_signo, &copy);
	return r < 0 ? -errno : 0;
}
