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
	ROW_FILTER("stat", procfs_filter_stat),
	ROW_FILTER("statm", procfs_filter_statm),
	ROW_FILTER("status", procfs_filter_status),
	ROW_FILTER("maps", procfs_filter_maps),
	ROW_FILTER("smaps", procfs_filter_smaps),
	ROW_FILTER("smaps_rollup", procfs_filter_smaps),
	ROW_FILTER("numa_maps", procfs_filter_numa_maps),
	ROW_FILTER("mountinfo", procfs_filter_mountinfo),
	ROW_FILTER("mounts", procfs_filter_mounts),
	ROW_FILTER("mountstats", procfs_filter_mountstats),
	ROW_FILTER("fdinfo/*", procfs_filter_fdinfo),
	ROW_FILTER("uid_map", procfs_filter_id_map),
	ROW_FILTER("gid_map", procfs_filter_id_map),
	ROW_FILTER("projid_map", procfs_filter_id_map),
	ROW_MAKE("limits", procfs_make_limits),
	ROW_MAKE("sched", make_sched),
	ROW_MAKE("timerslack_ns", make_timer_slack),
	ROW_MAKE("personality", make_personality),
	ROW_MAKE("autogroup", make_autogroup),
	ROW_TEXT("cgroup", "0::/\n"),
	ROW_TEXT("cpuset", "/\n"),
	ROW_TEXT("cpu_resctrl_groups", "res:\nmon:\n"),
	ROW_TEXT("io", PROCFS_NO_IO),
	ROW_TEXT("schedstat", "0 0 0\n"),
	ROW_TEXT("wchan", "0"),
	ROW_REFUSE("stack", EACCES), /* as to all but the host's root */
	ROW_TEXT("syscall", "running\n"),
	ROW_TEXT("latency", "Latency Top version : v0.1\n"),
	ROW_TEXT("oom_score", "666\n"),
	ROW_TEXT("loginuid", "4294967295"),
	ROW_TEXT("sessionid", "4294967295"),
	ROW_TEXT("arch_status", ""),
	ROW_TEXT("patch_state", "-1\n"),
	ROW_TEXT("timers", ""),
	ROW_TEXT("timens_offsets", "monotonic           0         0\nboottime            0         0\n"),
	ROW_TEXT("ksm_stat", NOT_SWAPPED),
	ROW_TEXT("ksm_merging_pages", "0\n"),
	ROW_REFUSE("attr/*", EINVAL), /* as without a security module */
	ROW_REFUSE("attr/*/*", EINVAL),
	ROW_REFUSE("pagemap", EPERM),
	ROW_REFUSE("seccomp_cache", EPERM),
	ROW_LIVE("map_files/*"),
	ROW_LIVE("oom_score_adj"), /* starts at 0, changed by the guest's own writes */
	ROW_LIVE("oom_adj"),
	ROW_LIVE("comm"),
	ROW_LIVE("cmdline"),
	ROW_LIVE("environ"),
	ROW_LIVE("auxv"),
	ROW_LIVE("mem"),
	ROW_LIVE("coredump_filter"),
	ROW_LIVE("setgroups"),
	ROW_LIVE("children"),
	ROW_LIVE("clear_refs"),
	/* Links and directories, shown in listings. */
	ROW_LIVE("attr"),
	ROW_LIVE("cwd"),
	ROW_LIVE("exe"),
	ROW_LIVE("fd"),
	ROW_LIVE("fdinfo"),
	ROW_LIVE("map_files"),
	ROW_LIVE("net"),
	ROW_LIVE("ns"),
	ROW_LIVE("root"),
	ROW_LIVE("task"),
};
const struct procfs_table procfs_task_table = { rows, ARRAY_SIZE(rows) };
