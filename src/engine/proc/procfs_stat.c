/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/PID/stat and statm, and what the files about a task say of its state. */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <sys/resource.h>

#include "engine/engine_internal.h"
#include "engine/proc/machine.h"
#include "engine/proc/procfs.h"
#include "engine/proc/procfs_rows.h"

enum {
	NS_PER_TICK = 1000000000 / MACHINE_HZ,
	RESIDENT_PAGES = PROCFS_RESIDENT_KB / 4,
	SHARED_PAGES = RESIDENT_PAGES / 4 * 3,
	RANDOMIZED = 0x400000, /* PF_RANDOMIZE, the one flag to be seen */
	TTY_PTS = 136 << 8,
};

/* 'R', 'S' ... as Linux would say of a task that does what the guest's does. */
char procfs_state_letter(const struct procfs_view *view)
{
	const struct task *t = view->task;

	if (!t || t->leader_gone)
		return 'Z';
	if (t == view->reader)
		return 'R';
	switch (t->state) {
	case TASK_READY:
	case TASK_HELD:
	case TASK_SPINNING:
	case TASK_RUNNING:
		return 'R';
	case TASK_VFORK:
		return 'D';
	case TASK_STOPPED:
		return 'T';
	case TASK_DEAD:
		return 'X';
	case TASK_BLOCKED:
	case TASK_ADRIFT:
		break;
	}
	return 'S';
}

/* Traits of the task; of a zombie, those that it had; of what is not the guest's, those of a fresh one. */
struct task_traits procfs_traits(const struct procfs_view *view)
{
	struct task_traits traits;

	if (view->task)
		return view->task->traits;
	if (view->process)
		return view->process->remains;
	task_traits_init(&traits, machine_cpus(view->e));
	return traits;
}

bool procfs_is_realtime(const struct task_traits *traits)
{
	return traits->policy == SCHED_FIFO || traits->policy == SCHED_RR;
}

/* ---- stat ---- */

/* Numbers of fields as proc_pid_stat(5) counts them. */
enum stat_field {
	STAT_TTY = 7,
	STAT_FLAGS = 9,
	STAT_MINFLT = 10,
	STAT_CMAJFLT = 13,
	STAT_UTIME,
	STAT_STIME,
	STAT_CUTIME,
	STAT_CSTIME,
	STAT_PRIORITY,
	STAT_NICE,
	STAT_THREADS,
	STAT_ITREALVALUE,
	STAT_STARTTIME,
	STAT_RSS = 24,
	STAT_RSSLIM = 25,
	STAT_KSTKESP = 29,
	STAT_KSTKEIP = 30,
	STAT_WCHAN = 35,
	STAT_CNSWAP = 37,
	STAT_PROCESSOR = 39,
	STAT_RT_PRIORITY = 40,
	STAT_POLICY = 41,
	STAT_BLKIO = 42,
	STAT_CGUEST = 44,
};

/* Half of the time counts as the kernel's. Of one thread when the view is of one. */
static uint64_t cpu_ticks(const struct procfs_view *view)
{
	if (view->tid && view->task)
		return view->task->cpu_ns / 2 / NS_PER_TICK;
	return view->process ? view->process->cpu_ns / 2 / NS_PER_TICK : 0;
}

static uint64_t start_ticks(const struct procfs_view *view)
{
	uint64_t born = view->tid && view->task ? view->task->born_ns : view->process ? view->process->born_ns : 0;

	return time_add(born, view->e->clock.uptime_ns) / NS_PER_TICK;
}

static int priority_of(const struct task_traits *traits)
{
	return procfs_is_realtime(traits) ? -1 - traits->rt_priority : 20 + traits->nice;
}

/* The field as it is to be seen; false: as it is. */
static bool stat_value(const struct procfs_view *view, int field, uint64_t own, int64_t *ret)
{
	struct task_traits traits = procfs_traits(view);
	const struct process *p = view->process;

	switch (field) {
	case STAT_TTY:
		*ret = own ? TTY_PTS : 0;
		return true;
	case STAT_FLAGS:
		*ret = RANDOMIZED;
		return true;
	case STAT_UTIME:
	case STAT_STIME:
		*ret = (int64_t)cpu_ticks(view);
		return true;
	case STAT_CUTIME:
	case STAT_CSTIME:
		*ret = p ? (int64_t)(p->children_cpu_ns / 2 / NS_PER_TICK) : 0;
		return true;
	case STAT_PRIORITY:
		*ret = priority_of(&traits);
		return true;
	case STAT_NICE:
		*ret = traits.nice;
		return true;
	case STAT_THREADS:
		*ret = p && p->n_tasks ? p->n_tasks : 1;
		return true;
	case STAT_STARTTIME:
		*ret = (int64_t)start_ticks(view);
		return true;
	case STAT_RSS:
		*ret = own && view->task ? RESIDENT_PAGES : 0;
		return true;
	case STAT_PROCESSOR:
		*ret = task_traits_cpu(&traits);
		return true;
	case STAT_RT_PRIORITY:
		*ret = traits.rt_priority;
		return true;
	case STAT_POLICY:
		*ret = traits.policy;
		return true;
	default:
		*ret = 0;
		return (field >= STAT_MINFLT && field <= STAT_CMAJFLT) || field == STAT_ITREALVALUE || field == STAT_KSTKESP ||
		       field == STAT_KSTKEIP || (field >= STAT_WCHAN && field <= STAT_CNSWAP) ||
		       (field >= STAT_BLKIO && field <= STAT_CGUEST);
	}
}

/* "pid (name) S ...": the name may contain anything, so it ends at the last ')'. */
static bool split_stat(struct piece text, struct piece *ret_head, struct piece *ret_tail)
{
	size_t n = text.n;

	while (n > 0 && text.at[n - 1] != ')')
		n--;
	if (!n || text.n - n < 3)
		return false;
	*ret_head = (struct piece){ text.at, n };
	*ret_tail = (struct piece){ text.at + n + 2, text.n - n - 2 };
	return true;
}

int procfs_filter_stat(const struct procfs_view *view, FILE *out)
{
	struct piece head, tail, word;
	uint64_t own;
	int64_t value;
	int field = 4;

	if (!split_stat(view->text, &head, &tail))
		return -EIO;
	fprintf(out, "%.*s %c", PIECE_ARG(head), procfs_state_letter(view));
	if (tail.n && tail.at[tail.n - 1] == '\n')
		tail.n--;
	for (; piece_word(&tail, &word); field++) {
		own = 0;
		(void)piece_number(word, 10, &own);
		if (field == STAT_RSSLIM)
			fprintf(out, " %" PRIu64, view->process ? view->process->traits.limits[RLIMIT_RSS].rlim_cur : own);
		else if (stat_value(view, field, own, &value))
			fprintf(out, " %" PRId64, value);
		else
			fprintf(out, " %.*s", PIECE_ARG(word));
	}
	fputs("\n", out);
	return 0;
}

/* ---- statm ---- */

int procfs_filter_statm(const struct procfs_view *view, FILE *out)
{
	struct piece text = view->text, size, resident, shared, code, lib, data;
	uint64_t pages = 0;

	if (!piece_word(&text, &size) || !piece_word(&text, &resident) || !piece_word(&text, &shared) ||
	    !piece_word(&text, &code) || !piece_word(&text, &lib) || !piece_word(&text, &data) ||
	    !piece_number(size, 10, &pages))
		return -EIO;
	fprintf(out, "%.*s %d %d %.*s 0 %.*s 0\n", PIECE_ARG(size), pages ? RESIDENT_PAGES : 0, pages ? SHARED_PAGES : 0,
		PIECE_ARG(code), PIECE_ARG(data));
	return 0;
}
