/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of /proc about process 1, when it is the supervisor's: an init that does nothing but reap. The same of a process that somebody outside has made
 * and that waits to execute the guest's program.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/proc/machine.h"
#include "engine/proc/procfs.h"
#include "engine/proc/procfs_rows.h"

static int init_pid(const struct procfs_view *view)
{
	return view->tid ? view->tid : view->pid;
}

static int make_init_stat(const struct procfs_view *view, FILE *out)
{
	int pid = init_pid(view);

	fprintf(out, "%d (init) S 0 %d %d 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 0 8192000 1024 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 "
		     "17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", pid, pid, pid);
	return 0;
}

static int make_init_status(const struct procfs_view *view, FILE *out)
{
	static const char template[] =
		"Name:\tinit\nUmask:\t0022\nTgid:\t%1$d\nPid:\t%1$d\nPPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t \n"
		"NStgid:\t%1$d\nNSpid:\t%1$d\nNSpgid:\t%1$d\nNSsid:\t%1$d\nVmPeak:\t    8000 kB\nVmSize:\t    8000 kB\n"
		"VmLck:\t       0 kB\nVmPin:\t       0 kB\nVmData:\t     200 kB\nVmStk:\t     132 kB\nVmExe:\t     100 kB\n"
		"VmLib:\t    2000 kB\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\nSigBlk:\t0000000000000000\n"
		"SigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\nCapInh:\t0000000000000000\n"
		"CapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n"
		"CapAmb:\t0000000000000000\nNoNewPrivs:\t0\n";
	struct procfs_view init = *view;
	struct task task = { .state = TASK_BLOCKED };
	char text[sizeof(template) + 64];

	(void)snprintf(text, sizeof(text), template, init_pid(view));
	init.text = piece_of(text);
	init.task = &task;
	task_traits_init(&task.traits, machine_cpus(view->e));
	return procfs_filter_status(&init, out);
}

static const struct procfs_row init_rows[] = {
	ROW_MAKE("stat", make_init_stat),
	ROW_MAKE("status", make_init_status),
	ROW_TEXT("statm", "2000 1024 768 25 0 83 0\n"),
	ROW_TEXT("comm", "init\n"),
	ROW_TEXT("cmdline", "init"),
	ROW_TEXT("environ", ""),
	ROW_TEXT("maps", ""),
	ROW_TEXT("smaps", ""),
	ROW_TEXT("smaps_rollup", ""),
	ROW_TEXT("numa_maps", ""),
	ROW_LIVE("children"),
	ROW_TEXT("oom_score_adj", "0\n"),
	ROW_TEXT("coredump_filter", "00000033\n"),
	ROW_TEXT("setgroups", "allow\n"),
	ROW_FILTER("uid_map", procfs_filter_id_map),
	ROW_FILTER("gid_map", procfs_filter_id_map),
	ROW_FILTER("mountinfo", procfs_filter_mountinfo),
	ROW_FILTER("mounts", procfs_filter_mounts),
	ROW_FILTER("mountstats", procfs_filter_mountstats),
	ROW_MAKE("limits", procfs_make_limits),
	ROW_TEXT("cgroup", "0::/\n"),
	ROW_TEXT("cpuset", "/\n"),
	ROW_TEXT("io", PROCFS_NO_IO),
	ROW_TEXT("schedstat", "0 0 0\n"),
	ROW_TEXT("wchan", "0"),
	ROW_REFUSE("stack", EACCES), /* as to all but the host's root */
	ROW_TEXT("oom_score", "666\n"),
	ROW_TEXT("loginuid", "4294967295"),
	ROW_TEXT("sessionid", "4294967295"),
	ROW_UNKNOWN("net/**"),
	ROW_LIVE("cwd"),
	ROW_LIVE("exe"),
	ROW_LIVE("fd"),
	ROW_LIVE("fdinfo"),
	ROW_LIVE("net"),
	ROW_LIVE("ns"),
	ROW_LIVE("root"),
	ROW_LIVE("task"),
};
const struct procfs_table procfs_init_table = { init_rows, ARRAY_SIZE(init_rows) };
