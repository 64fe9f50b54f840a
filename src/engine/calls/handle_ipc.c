/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of SysV IPC objects hold times of the host's clock: they are shown as virtual times. Blocking calls are in handle_lock.c. */
#include <errno.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/files/paths.h"

/* Places of the times in struct shmid64_ds, msqid64_ds, semid64_ds of x86-64 (asm/shmbuf.h, msgbuf.h, sembuf.h); 0 ends. */
static const uint8_t shm_times[] = { 56, 64, 72, 0 };
static const uint8_t msg_times[] = { 48, 56, 64, 0 };
static const uint8_t sem_times[] = { 48, 64, 0 };

/* Set times become now, those that were never set stay 0. */
static int rewrite_times(struct engine *e, struct task *t, uint64_t addr, const uint8_t *places, struct verdict *v)
{
	int64_t now = file_now(e).tv_sec, time;
	int r = 0;

	v->kind = VERDICT_GO;
	if (t->call.result < 0)
		return 0;
	for (; *places && r >= 0; places++) {
		r = guest_read(e, t, addr + *places, &time, sizeof(time));
		if (r >= 0 && time)
			r = guest_write(e, t, addr + *places, &now, sizeof(now));
	}
	return r == -EFAULT ? 0 : r;
}

static bool is_stat(int command, int stat, int stat_any)
{
	return command == IPC_STAT || command == stat || command == stat_any;
}

int handle_ipc_shmctl(struct engine *e, struct task *t, struct verdict *v)
{
	if (!is_stat((int)t->call.args[1], SHM_STAT, 15 /* SHM_STAT_ANY */))
		return verdict_continue(v);
	return t->call.done ? rewrite_times(e, t, t->call.args[2], shm_times, v) : verdict_hook(v);
}

int handle_ipc_msgctl(struct engine *e, struct task *t, struct verdict *v)
{
	if (!is_stat((int)t->call.args[1], MSG_STAT, 13 /* MSG_STAT_ANY */))
		return verdict_continue(v);
	return t->call.done ? rewrite_times(e, t, t->call.args[2], msg_times, v) : verdict_hook(v);
}

int handle_ipc_semctl(struct engine *e, struct task *t, struct verdict *v)
{
	if (!is_stat((int)t->call.args[2], SEM_STAT, 20 /* SEM_STAT_ANY */))
		return verdict_continue(v);
	return t->call.done ? rewrite_times(e, t, t->call.args[3], sem_times, v) : verdict_hook(v);
}
