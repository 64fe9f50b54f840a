/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of /proc about one task: the table, and the small ones. What the kernel counts (faults, switches, residency, processor time) is its
 * own affair: fixed or virtual here. What a tracer and a filter change in a task's looks is taken back.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/proc/machine.h"
#include "engine/proc/procfs.h"
#include "engine/proc/procfs_rows.h"

/* ---- limits ---- */

static const struct {
	const char *name, *unit;
	int resource;
} limit_lines[] = {
	{ "Max cpu time", "seconds", RLIMIT_CPU },
	{ "Max file size", "bytes", RLIMIT_FSIZE },
	{ "Max data size", "bytes", RLIMIT_DATA },
	{ "Max stack size", "bytes", RLIMIT_STACK },
	{ "Max core file size", "bytes", RLIMIT_CORE },
	{ "Max resident set", "bytes", RLIMIT_RSS },
	{ "Max processes", "processes", RLIMIT_NPROC },
	{ "Max open files", "files", RLIMIT_NOFILE },
	{ "Max locked memory", "bytes", RLIMIT_MEMLOCK },
	{ "Max address space", "bytes", RLIMIT_AS },
	{ "Max file locks", "locks", RLIMIT_LOCKS },
	{ "Max pending signals", "signals", RLIMIT_SIGPENDING },
	{ "Max msgqueue size", "bytes", RLIMIT_MSGQUEUE },
	{ "Max nice priority", "", RLIMIT_NICE },
	{ "Max realtime priority", "", RLIMIT_RTPRIO },
	{ "Max realtime timeout", "us", RLIMIT_RTTIME },
};

static void put_limit(FILE *out, rlim_t value)
{
	if (value == RLIM_INFINITY)
		fprintf(out, "%-20s ", "unlimited");
	else
		fprintf(out, "%-20" PRIu64 " ", (uint64_t)value);
}

int procfs_make_limits(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units");
	for (size_t i = 0; i < ARRAY_SIZE(limit_lines); i++) {
		const struct rlimit *limit = limits_default((unsigned)limit_lines[i].resource);

		if (view->process)
			limit = &view->process->traits.limits[limit_lines[i].resource];
		fprintf(out, "%-25s ", limit_lines[i].name);
		put_limit(out, limit->rlim_cur);
		put_limit(out, limit->rlim_max);
		fprintf(out, *limit_lines[i].unit ? "%-10s\n" : "%s\n", limit_lines[i].unit);
	}
	return 0;
}

/* ---- small ones ---- */

static int make_sched(const struct procfs_view *view, FILE *out)
{
	struct task_traits traits = procfs_traits(view);
	const char *comm = view->task ? view->task->comm : "";

	fprintf(out, "%s (%d, #threads: %u)\n-------------------------------------------------------------------\n", comm,
		view->tid ? view->tid : view->pid, view->process ? view->process->n_tasks : 1);
	fprintf(out, "%-45s:%21d\n%-45s:%21d\n", "policy", traits.policy, "prio", procfs_is_realtime(&traits) ? 99 - traits.rt_priority : 120 + traits.nice);
	return 0;
}

static int make_timer_slack(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "%" PRIu64 "\n", procfs_traits(view).timer_slack_ns);
	return 0;
}

static int make_personality(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "%08" PRIx32 "\n", procfs_traits(view).persona);
	return 0;
}

/* Ids outside are those of whoever started the run: shown as if nothing was mapped. */
int procfs_filter_id_map(const struct procfs_view *view, FILE *out)
{
	struct piece text = view->text, line, inside, outside, count;

	while (piece_line(&text, &line))
		if (piece_word(&line, &inside) && piece_word(&line, &outside) && piece_word(&line, &count))
			fprintf(out, "%10.*s %10.*s %10.*s\n", PIECE_ARG(inside), PIECE_ARG(inside), PIECE_ARG(count));
	return 0;
}

static int make_autogroup(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "/autogroup-%d nice %d\n", view->process ? view->process->sid : 1, 0);
	return 0;
}

#define NOT_SWAPPED "ksm_rmap_items 0\nksm_zero_pages 0\nksm_merging_pages 0\nksm_process_profit 0\n"

static const struct procfs_row rows[] = {
	{ .pattern = "stat", .action = PROCFS_FILTER, .fn = procfs_filter_stat },
	{ .pattern = "statm", .action = PROCFS_FILTER, .fn = procfs_filter_statm },
	{ .pattern = "status", .action = PROCFS_FILTER, .fn = procfs_filter_status },
	{ .pattern = "maps", .action = PROCFS_FILTER, .fn = procfs_filter_maps },
	{ .pattern = "smaps", .action = PROCFS_FILTER, .fn = procfs_filter_smaps },
	{ .pattern = "smaps_rollup", .action = PROCFS_FILTER, .fn = procfs_filter_smaps },
	{ .pattern = "numa_maps", .action = PROCFS_FILTER, .fn = procfs_filter_numa_maps },
	{ .pattern = "mountinfo", .action = PROCFS_FILTER, .fn = procfs_filter_mountinfo },
	{ .pattern = "mounts", .action = PROCFS_FILTER, .fn = procfs_filter_mounts },
	{ .pattern = "mountstats", .action = PROCFS_FILTER, .fn = procfs_filter_mountstats },
	{ .pattern = "fdinfo/*", .action = PROCFS_FILTER, .fn = procfs_filter_fdinfo },
	{ .pattern = "uid_map", .action = PROCFS_FILTER, .fn = procfs_filter_id_map },
	{ .pattern = "gid_map", .action = PROCFS_FILTER, .fn = procfs_filter_id_map },
	{ .pattern = "projid_map", .action = PROCFS_FILTER, .fn = procfs_filter_id_map },
	{ .pattern = "limits", .action = PROCFS_MAKE, .fn = procfs_make_limits },
	{ .pattern = "sched", .action = PROCFS_MAKE, .fn = make_sched },
	{ .pattern = "timerslack_ns", .action = PROCFS_MAKE, .fn = make_timer_slack },
	{ .pattern = "personality", .action = PROCFS_MAKE, .fn = make_personality },
	{ .pattern = "autogroup", .action = PROCFS_MAKE, .fn = make_autogroup },
	{ .pattern = "cgroup", .action = PROCFS_TEXT, .text = "0::/\n" },
	{ .pattern = "cpuset", .action = PROCFS_TEXT, .text = "/\n" },
	{ .pattern = "cpu_resctrl_groups", .action = PROCFS_TEXT, .text = "res:\nmon:\n" },
	{ .pattern = "io", .action = PROCFS_TEXT, .text = PROCFS_NO_IO },
	{ .pattern = "schedstat", .action = PROCFS_TEXT, .text = "0 0 0\n" },
	{ .pattern = "wchan", .action = PROCFS_TEXT, .text = "0" },
	{ .pattern = "stack", .action = PROCFS_REFUSE, .error = EACCES }, /* as to all but the host's root */
	{ .pattern = "syscall", .action = PROCFS_TEXT, .text = "running\n" },
	{ .pattern = "latency", .action = PROCFS_TEXT, .text = "Latency Top version : v0.1\n" },
	{ .pattern = "oom_score", .action = PROCFS_TEXT, .text = "666\n" },
	{ .pattern = "loginuid", .action = PROCFS_TEXT, .text = "4294967295" },
	{ .pattern = "sessionid", .action = PROCFS_TEXT, .text = "4294967295" },
	{ .pattern = "arch_status", .action = PROCFS_TEXT, .text = "" },
	{ .pattern = "patch_state", .action = PROCFS_TEXT, .text = "-1\n" },
	{ .pattern = "timers", .action = PROCFS_TEXT, .text = "" },
	{ .pattern = "timens_offsets", .action = PROCFS_TEXT, .text = "monotonic           0         0\nboottime            0         0\n" },
	{ .pattern = "ksm_stat", .action = PROCFS_TEXT, .text = NOT_SWAPPED },
	{ .pattern = "ksm_merging_pages", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "attr/*", .action = PROCFS_REFUSE, .error = EINVAL }, /* as without a security module */
	{ .pattern = "attr/*/*", .action = PROCFS_REFUSE, .error = EINVAL },
	{ .pattern = "pagemap", .action = PROCFS_REFUSE, .error = EPERM },
	{ .pattern = "seccomp_cache", .action = PROCFS_REFUSE, .error = EPERM },
	{ .pattern = "map_files/*", .action = PROCFS_LIVE },
	{ .pattern = "oom_score_adj", .action = PROCFS_LIVE }, /* starts at 0, changed by the guest's own writes */
	{ .pattern = "oom_adj", .action = PROCFS_LIVE },
	{ .pattern = "comm", .action = PROCFS_LIVE },
	{ .pattern = "cmdline", .action = PROCFS_LIVE },
	{ .pattern = "environ", .action = PROCFS_LIVE },
	{ .pattern = "auxv", .action = PROCFS_LIVE },
	{ .pattern = "mem", .action = PROCFS_LIVE },
	{ .pattern = "coredump_filter", .action = PROCFS_LIVE },
	{ .pattern = "setgroups", .action = PROCFS_LIVE },
	{ .pattern = "children", .action = PROCFS_LIVE },
	{ .pattern = "clear_refs", .action = PROCFS_LIVE },
	/* Links and directories, shown in listings. */
	{ .pattern = "attr", .action = PROCFS_LIVE },
	{ .pattern = "cwd", .action = PROCFS_LIVE },
	{ .pattern = "exe", .action = PROCFS_LIVE },
	{ .pattern = "fd", .action = PROCFS_LIVE },
	{ .pattern = "fdinfo", .action = PROCFS_LIVE },
	{ .pattern = "map_files", .action = PROCFS_LIVE },
	{ .pattern = "net", .action = PROCFS_LIVE },
	{ .pattern = "ns", .action = PROCFS_LIVE },
	{ .pattern = "root", .action = PROCFS_LIVE },
	{ .pattern = "task", .action = PROCFS_LIVE },
};
const struct procfs_table procfs_task_table = { rows, ARRAY_SIZE(rows) };
