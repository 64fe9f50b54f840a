/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of /proc about process 1, when it is the supervisor's: an init that does nothing but reap. */
#include <errno.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/proc/machine.h"
#include "engine/proc/procfs.h"
#include "engine/proc/procfs_rows.h"

#define INIT_STAT \
	"1 (init) S 0 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 0 8192000 1024 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 " \
	"17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

static int make_init_status(const struct procfs_view *view, FILE *out)
{
	static const char template[] =
		"Name:\tinit\nUmask:\t0022\nTgid:\t1\nPid:\t1\nPPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t \n"
		"NStgid:\t1\nNSpid:\t1\nNSpgid:\t1\nNSsid:\t1\nVmPeak:\t    8000 kB\nVmSize:\t    8000 kB\n"
		"VmLck:\t       0 kB\nVmPin:\t       0 kB\nVmData:\t     200 kB\nVmStk:\t     132 kB\nVmExe:\t     100 kB\n"
		"VmLib:\t    2000 kB\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\nSigBlk:\t0000000000000000\n"
		"SigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\nCapInh:\t0000000000000000\n"
		"CapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n"
		"CapAmb:\t0000000000000000\nNoNewPrivs:\t0\n";
	struct procfs_view init = *view;
	struct task task = { .state = TASK_BLOCKED };

	init.text = piece_of(template);
	init.task = &task;
	task_traits_init(&task.traits, machine_cpus(view->e));
	return procfs_filter_status(&init, out);
}

static const struct procfs_row init_rows[] = {
	{ .pattern = "stat", .action = PROCFS_TEXT, .text = INIT_STAT },
	{ .pattern = "status", .action = PROCFS_MAKE, .fn = make_init_status },
	{ .pattern = "statm", .action = PROCFS_TEXT, .text = "2000 1024 768 25 0 83 0\n" },
	{ .pattern = "comm", .action = PROCFS_TEXT, .text = "init\n" },
	{ .pattern = "cmdline", .action = PROCFS_TEXT, .text = "init" },
	{ .pattern = "environ", .action = PROCFS_TEXT, .text = "" },
	{ .pattern = "maps", .action = PROCFS_TEXT, .text = "" },
	{ .pattern = "smaps", .action = PROCFS_TEXT, .text = "" },
	{ .pattern = "smaps_rollup", .action = PROCFS_TEXT, .text = "" },
	{ .pattern = "numa_maps", .action = PROCFS_TEXT, .text = "" },
	{ .pattern = "children", .action = PROCFS_LIVE },
	{ .pattern = "oom_score_adj", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "coredump_filter", .action = PROCFS_TEXT, .text = "00000033\n" },
	{ .pattern = "setgroups", .action = PROCFS_TEXT, .text = "allow\n" },
	{ .pattern = "uid_map", .action = PROCFS_FILTER, .fn = procfs_filter_id_map },
	{ .pattern = "gid_map", .action = PROCFS_FILTER, .fn = procfs_filter_id_map },
	{ .pattern = "mountinfo", .action = PROCFS_FILTER, .fn = procfs_filter_mountinfo },
	{ .pattern = "mounts", .action = PROCFS_FILTER, .fn = procfs_filter_mounts },
	{ .pattern = "mountstats", .action = PROCFS_FILTER, .fn = procfs_filter_mountstats },
	{ .pattern = "limits", .action = PROCFS_MAKE, .fn = procfs_make_limits },
	{ .pattern = "cgroup", .action = PROCFS_TEXT, .text = "0::/\n" },
	{ .pattern = "cpuset", .action = PROCFS_TEXT, .text = "/\n" },
	{ .pattern = "io", .action = PROCFS_TEXT, .text = PROCFS_NO_IO },
	{ .pattern = "schedstat", .action = PROCFS_TEXT, .text = "0 0 0\n" },
	{ .pattern = "wchan", .action = PROCFS_TEXT, .text = "0" },
	{ .pattern = "stack", .action = PROCFS_REFUSE, .error = EACCES }, /* as to all but the host's root */
	{ .pattern = "oom_score", .action = PROCFS_TEXT, .text = "666\n" },
	{ .pattern = "loginuid", .action = PROCFS_TEXT, .text = "4294967295" },
	{ .pattern = "sessionid", .action = PROCFS_TEXT, .text = "4294967295" },
	{ .pattern = "net/**", .action = PROCFS_UNKNOWN },
	{ .pattern = "cwd", .action = PROCFS_LIVE },
	{ .pattern = "exe", .action = PROCFS_LIVE },
	{ .pattern = "fd", .action = PROCFS_LIVE },
	{ .pattern = "fdinfo", .action = PROCFS_LIVE },
	{ .pattern = "net", .action = PROCFS_LIVE },
	{ .pattern = "ns", .action = PROCFS_LIVE },
	{ .pattern = "root", .action = PROCFS_LIVE },
	{ .pattern = "task", .action = PROCFS_LIVE },
};
const struct procfs_table procfs_init_table = { init_rows, ARRAY_SIZE(init_rows) };
