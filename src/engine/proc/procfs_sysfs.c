/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /sys, where it is a real sysfs (bundles that ask for one; `hermit run` has a tree of its own there): the files that programs read to
 * learn the size of the machine agree with everything else. And the files of cgroups.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/proc/machine.h"
#include "engine/proc/procfs.h"

static int make_cpu_list(const struct procfs_view *view, FILE *out)
{
	unsigned cpus = machine_cpus(view->e);

	fprintf(out, cpus > 1 ? "0-%u\n" : "%u\n", cpus - 1);
	return 0;
}

static int make_node_meminfo(const struct procfs_view *view, FILE *out)
{
	struct machine_memory m = machine_memory(view->e);

	fprintf(out, "Node 0 MemTotal:  %9" PRIu64 " kB\nNode 0 MemFree:   %9" PRIu64 " kB\nNode 0 MemUsed:   %9" PRIu64 " kB\n",
		m.total / 1024, m.free / 1024, (m.total - m.free) / 1024);
	return 0;
}

static const struct procfs_row rows[] = {
	{ .pattern = "devices/system/cpu/online", .action = PROCFS_MAKE, .fn = make_cpu_list },
	{ .pattern = "devices/system/cpu/possible", .action = PROCFS_MAKE, .fn = make_cpu_list },
	{ .pattern = "devices/system/cpu/present", .action = PROCFS_MAKE, .fn = make_cpu_list },
	{ .pattern = "devices/system/cpu/offline", .action = PROCFS_TEXT, .text = "\n" },
	{ .pattern = "devices/system/cpu/isolated", .action = PROCFS_TEXT, .text = "\n" },
	{ .pattern = "devices/system/cpu/kernel_max", .action = PROCFS_TEXT, .text = "1023\n" },
	{ .pattern = "devices/system/node/online", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "devices/system/node/possible", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "devices/system/node/has_cpu", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "devices/system/node/has_memory", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "devices/system/node/node0/cpulist", .action = PROCFS_MAKE, .fn = make_cpu_list },
	{ .pattern = "devices/system/node/node0/meminfo", .action = PROCFS_MAKE, .fn = make_node_meminfo },
	{ .pattern = "devices/system/node/node0/distance", .action = PROCFS_TEXT, .text = "10\n" },
	{ .pattern = "kernel/mm/transparent_hugepage/enabled", .action = PROCFS_TEXT, .text = "always [madvise] never\n" },
	{ .pattern = "kernel/mm/transparent_hugepage/hpage_pmd_size", .action = PROCFS_TEXT, .text = "2097152\n" },
	{ .pattern = "kernel/uevent_seqnum", .action = PROCFS_TEXT, .text = "1000\n" },
	/* Cgroups: no limits but those that the machine has. */
	{ .pattern = "fs/cgroup/cpu.max", .action = PROCFS_TEXT, .text = "max 100000\n" },
	{ .pattern = "fs/cgroup/cpu.weight", .action = PROCFS_TEXT, .text = "100\n" },
	{ .pattern = "fs/cgroup/cpu.stat", .action = PROCFS_TEXT, .text = "usage_usec 0\nuser_usec 0\nsystem_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n" },
	{ .pattern = "fs/cgroup/cpuset.cpus.effective", .action = PROCFS_MAKE, .fn = make_cpu_list },
	{ .pattern = "fs/cgroup/cpuset.cpus", .action = PROCFS_TEXT, .text = "\n" },
	{ .pattern = "fs/cgroup/cpuset.mems.effective", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "fs/cgroup/memory.max", .action = PROCFS_TEXT, .text = "max\n" },
	{ .pattern = "fs/cgroup/memory.high", .action = PROCFS_TEXT, .text = "max\n" },
	{ .pattern = "fs/cgroup/memory.low", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "fs/cgroup/memory.min", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "fs/cgroup/memory.current", .action = PROCFS_TEXT, .text = "16777216\n" },
	{ .pattern = "fs/cgroup/memory.peak", .action = PROCFS_TEXT, .text = "16777216\n" },
	{ .pattern = "fs/cgroup/memory.swap.max", .action = PROCFS_TEXT, .text = "max\n" },
	{ .pattern = "fs/cgroup/memory.swap.current", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "fs/cgroup/pids.max", .action = PROCFS_TEXT, .text = "max\n" },
	{ .pattern = "fs/cgroup/cgroup.controllers", .action = PROCFS_TEXT, .text = "cpuset cpu io memory pids\n" },
	{ .pattern = "fs/cgroup/cgroup.type", .action = PROCFS_TEXT, .text = "domain\n" },
	{ .pattern = "fs/cgroup/cgroup.procs", .action = PROCFS_LIVE },
	{ .pattern = "fs/cgroup/cgroup.threads", .action = PROCFS_LIVE },
};

const struct procfs_table procfs_sysfs_table = { rows, ARRAY_SIZE(rows) };
