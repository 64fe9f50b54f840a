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
	r = procfs_read(notify_of(g), t->tid, "status", text, sizeof(text));
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

/* The kernel lets nobody queue these contents for others: they are kept here and put in place at delivery. */
static int remember(struct notify_process *p, pid_t tid, const siginfo_t *info)
{
	struct sent_signal *sent, **link;

	for (link = &p->sent; (sent = *link); link = &sent->next) {
		if (sent->tid != tid || sent->info.si_signo != info->si_signo)
			continue;
		if (info->si_signo < SIGRTMIN)
			return 0; /* pending already: the kernel drops the newer one too */
	}
	sent = calloc(1, sizeof(*sent));
	if (!sent)
		return -ENOMEM;
	sent->tid = tid;
	sent->info = *info;
	*link = sent;
	return 0;
}

static int send_plain(struct notify_process *p, pid_t tid, const siginfo_t *info)
{
	int r;

	r = remember(p, tid, info);
	if (r < 0)
		return r;
	if (tid)
		return syscall(SYS_tgkill, p->tgid, tid, info->si_signo) < 0 ? -errno : 0;
	return kill(p->tgid, info->si_signo) < 0 ? -errno : 0;
}

int notify_signal_send(struct guest *g, int task, bool to_thread, const siginfo_t *info)
{
	const struct notify_task *t = notify_find(g, task);
	siginfo_t copy = *info;
	long r;

	if (!t)
		return -ESRCH;
	if (info->si_code >= 0 || info->si_code == SI_TKILL)
		return send_plain(t->process, to_thread ? t->tid : 0, info);
	if (to_thread)
		r = syscall(SYS_rt_tgsigqueueinfo, t->process->tgid, t->tid, info->si_signo, &copy);
	else
		r = syscall(SYS_rt_sigqueueinfo, t->process->tgid, info->si_signo, &copy);
	return r < 0 ? -errno : 0;
}
