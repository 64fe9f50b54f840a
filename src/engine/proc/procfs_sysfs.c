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
	ROW_MAKE("devices/system/cpu/online", make_cpu_list),
	ROW_MAKE("devices/system/cpu/possible", make_cpu_list),
	ROW_MAKE("devices/system/cpu/present", make_cpu_list),
	ROW_TEXT("devices/system/cpu/offline", "\n"),
	ROW_TEXT("devices/system/cpu/isolated", "\n"),
	ROW_TEXT("devices/system/cpu/kernel_max", "1023\n"),
	ROW_TEXT("devices/system/node/online", "0\n"),
	ROW_TEXT("devices/system/node/possible", "0\n"),
	ROW_TEXT("devices/system/node/has_cpu", "0\n"),
	ROW_TEXT("devices/system/node/has_memory", "0\n"),
	ROW_MAKE("devices/system/node/node0/cpulist", make_cpu_list),
	ROW_MAKE("devices/system/node/node0/meminfo", make_node_meminfo),
	ROW_TEXT("devices/system/node/node0/distance", "10\n"),
	ROW_TEXT("kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
	ROW_TEXT("kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n"),
	ROW_TEXT("kernel/uevent_seqnum", "1000\n"),
	/* Cgroups: no limits but those that the machine has. */
	ROW_TEXT("fs/cgroup/cpu.max", "max 100000\n"),
	ROW_TEXT("fs/cgroup/cpu.weight", "100\n"),
	ROW_TEXT("fs/cgroup/cpu.stat", "usage_usec 0\nuser_usec 0\nsystem_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"),
	ROW_MAKE("fs/cgroup/cpuset.cpus.effective", make_cpu_list),
	ROW_TEXT("fs/cgroup/cpuset.cpus", "\n"),
	ROW_TEXT("fs/cgroup/cpuset.mems.effective", "0\n"),
	ROW_TEXT("fs/cgroup/memory.max", "max\n"),
	ROW_TEXT("fs/cgroup/memory.high", "max\n"),
	ROW_TEXT("fs/cgroup/memory.low", "0\n"),
	ROW_TEXT("fs/cgroup/memory.min", "0\n"),
	ROW_TEXT("fs/cgroup/memory.current", "16777216\n"),
	ROW_TEXT("fs/cgroup/memory.peak", "16777216\n"),
	ROW_TEXT("fs/cgroup/memory.swap.max", "max\n"),
	ROW_TEXT("fs/cgroup/memory.swap.current", "0\n"),
	ROW_TEXT("fs/cgroup/pids.max", "max\n"),
	ROW_TEXT("fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n"),
	ROW_TEXT("fs/cgroup/cgroup.type", "domain\n"),
	ROW_LIVE("fs/cgroup/cgroup.procs"),
	ROW_LIVE("fs/cgroup/cgroup.threads"),
};

const struct procfs_table procfs_sysfs_table = { rows, ARRAY_SIZE(rows) };
