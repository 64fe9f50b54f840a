/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of /proc about the machine as a whole. All are made here, from the figures of machine.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/proc/machine.h"
#include "engine/proc/procfs.h"
#include "engine/proc/procfs_rows.h"

enum { NS_PER_TICK = 1000000000 / MACHINE_HZ, KB = 1024 };

static int make_uptime(const struct procfs_view *view, FILE *out)
{
	uint64_t ticks = machine_uptime_ns(view->e) / NS_PER_TICK, idle = ticks * machine_cpus(view->e);

	fprintf(out, "%" PRIu64 ".%02" PRIu64 " %" PRIu64 ".%02" PRIu64 "\n", ticks / MACHINE_HZ, ticks % MACHINE_HZ,
		idle / MACHINE_HZ, idle % MACHINE_HZ);
	return 0;
}

/* The highest id in use stands for the last one that was given out. */
static int last_id(const struct engine *e)
{
	const struct process *p;
	const struct task *t;
	int last = 1;

	LL_FOREACH(e->tasks, t) {
		last = t->vtid > last ? t->vtid : last;
	}
	LL_FOREACH(e->processes, p) {
		last = p->vpid > last ? p->vpid : last;
	}
	return last;
}

static int make_loadavg(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "0.00 0.00 0.00 1/%u %d\n", machine_count_tasks(view->e), last_id(view->e));
	return 0;
}

static int make_version(const struct procfs_view *view, FILE *out)
{
	char version[MACHINE_TEXT_SIZE];

	machine_version(view->e, version);
	fprintf(out, "Linux version %s (builder@build) (gcc, GNU ld) %s\n", MACHINE_RELEASE, version);
	return 0;
}

static int make_stat(const struct procfs_view *view, FILE *out)
{
	const struct engine *e = view->e;
	uint64_t idle = machine_uptime_ns(e) / NS_PER_TICK;
	unsigned cpus = machine_cpus(e);

	fprintf(out, "cpu  0 0 0 %" PRIu64 " 0 0 0 0 0 0\n", idle * cpus);
	for (unsigned i = 0; i < cpus; i++)
		fprintf(out, "cpu%u 0 0 0 %" PRIu64 " 0 0 0 0 0 0\n", i, idle);
	fprintf(out, "intr 0\nctxt %" PRIu64 "\nbtime %" PRIu64 "\nprocesses %" PRIu64 "\n", e->turn,
		machine_boot_time_s(e), e->stats.births + 1);
	fputs("procs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n", out);
	return 0;
}

static const char *const meminfo_zeros[] = {
	"Unevictable", "Mlocked", "SwapTotal", "SwapFree", "Zswap", "Zswapped", "Dirty", "Writeback",
};

static void put_kb(FILE *out, const char *key, uint64_t bytes)
{
	fprintf(out, "%s:%*s%8" PRIu64 " kB\n", key, (int)(15 - strlen(key)), "", bytes / KB);
}

static int make_meminfo(const struct procfs_view *view, FILE *out)
{
	struct machine_memory m = machine_memory(view->e);
	uint64_t anonymous = m.total - m.free - m.buffers - m.cached, slab = m.total / 128;

	put_kb(out, "MemTotal", m.total);
	put_kb(out, "MemFree", m.free);
	put_kb(out, "MemAvailable", m.available);
	put_kb(out, "Buffers", m.buffers);
	put_kb(out, "Cached", m.cached);
	put_kb(out, "SwapCached", 0);
	put_kb(out, "Active", anonymous + m.cached / 2);
	put_kb(out, "Inactive", m.cached - m.cached / 2);
	put_kb(out, "Active(anon)", anonymous);
	put_kb(out, "Inactive(anon)", 0);
	put_kb(out, "Active(file)", m.cached / 2);
	put_kb(out, "Inactive(file)", m.cached - m.cached / 2);
	for (size_t i = 0; i < ARRAY_SIZE(meminfo_zeros); i++)
		put_kb(out, meminfo_zeros[i], 0);
	put_kb(out, "AnonPages", anonymous);
	put_kb(out, "Mapped", m.cached / 4);
	put_kb(out, "Shmem", m.shared);
	put_kb(out, "KReclaimable", slab / 2);
	put_kb(out, "Slab", slab);
	put_kb(out, "SReclaimable", slab / 2);
	put_kb(out, "SUnreclaim", slab - slab / 2);
	put_kb(out, "KernelStack", 2048 * KB);
	put_kb(out, "PageTables", 1024 * KB);
	put_kb(out, "SecPageTables", 0);
	put_kb(out, "NFS_Unstable", 0);
	put_kb(out, "Bounce", 0);
	put_kb(out, "WritebackTmp", 0);
	put_kb(out, "CommitLimit", m.total / 2);
	put_kb(out, "Committed_AS", anonymous);
	fprintf(out, "VmallocTotal:   34359738367 kB\nVmallocUsed:        8192 kB\nVmallocChunk:          0 kB\n");
	put_kb(out, "Percpu", 512 * KB * machine_cpus(view->e));
	fputs("HugePages_Total:       0\nHugePages_Free:        0\nHugePages_Rsvd:        0\nHugePages_Surp:        0\n"
	      "Hugepagesize:       2048 kB\nHugetlb:               0 kB\n", out);
	put_kb(out, "DirectMap4k", 0);
	put_kb(out, "DirectMap2M", m.total);
	put_kb(out, "DirectMap1G", 0);
	return 0;
}

/* A processor as any; the supervisor has a better one where it knows the processor that instructions show. */
static int make_cpuinfo(const struct procfs_view *view, FILE *out)
{
	unsigned cpus = machine_cpus(view->e);

	if (view->e->options.cpuinfo)
		return fputs(view->e->options.cpuinfo, out) < 0 ? -1 : 0;
	for (unsigned i = 0; i < cpus; i++)
		fprintf(out, "processor\t: %u\nvendor_id\t: GenuineIntel\nsiblings\t: %u\ncore id\t\t: %u\ncpu cores\t: %u\n\n", i,
			cpus, i, cpus);
	return 0;
}

static const char *const softirqs[] = { "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU" };

static void put_cpu_header(const struct procfs_view *view, FILE *out, int indent)
{
	fprintf(out, "%*s", indent, "");
	for (unsigned i = 0; i < machine_cpus(view->e); i++)
		fprintf(out, "CPU%-8u", i);
	fputs("\n", out);
}

static int make_softirqs(const struct procfs_view *view, FILE *out)
{
	put_cpu_header(view, out, 20);
	for (size_t i = 0; i < ARRAY_SIZE(softirqs); i++) {
		fprintf(out, "%12s:", softirqs[i]);
		for (unsigned cpu = 0; cpu < machine_cpus(view->e); cpu++)
			fprintf(out, " %10d", 0);
		fputs("\n", out);
	}
	return 0;
}

static int make_interrupts(const struct procfs_view *view, FILE *out)
{
	put_cpu_header(view, out, 11);
	return 0;
}

static int make_schedstat(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "version 16\ntimestamp %" PRIu64 "\n", machine_uptime_ns(view->e) / (NS_PER_TICK));
	for (unsigned i = 0; i < machine_cpus(view->e); i++)
		fprintf(out, "cpu%u 0 0 0 0 0 0 0 0 0\n", i);
	return 0;
}

static const char *const vmstat_zeros[] = {
	"nr_free_cma", "nr_unaccepted", "numa_hit", "numa_miss", "numa_foreign", "numa_interleave", "numa_local", "numa_other",
	"nr_inactive_anon", "nr_unevictable", "nr_isolated_anon", "nr_isolated_file", "workingset_nodes",
	"workingset_refault_anon", "workingset_refault_file", "nr_dirty", "nr_writeback", "nr_shmem_hugepages",
	"nr_file_hugepages", "nr_anon_transparent_hugepages", "nr_vmscan_write", "nr_dirtied", "nr_written", "pgpgin", "pgpgout",
	"pswpin", "pswpout", "pgalloc_dma", "pgalloc_dma32", "pgalloc_normal", "pgalloc_movable", "pgfree", "pgactivate",
	"pgdeactivate", "pgfault", "pgmajfault", "pgrefill", "pgsteal_kswapd", "pgsteal_direct", "pgscan_kswapd",
	"pgscan_direct", "pgscan_anon", "pgscan_file", "slabs_scanned", "kswapd_inodesteal", "pageoutrun", "drop_pagecache",
	"drop_slab", "oom_kill", "pgmigrate_success", "pgmigrate_fail", "compact_stall", "compact_fail", "compact_success",
	"unevictable_pgs_culled", "thp_fault_alloc", "thp_collapse_alloc", "thp_split_page", "swap_ra", "swap_ra_hit",
};

static int make_vmstat(const struct procfs_view *view, FILE *out)
{
	struct machine_memory m = machine_memory(view->e);

	fprintf(out, "nr_free_pages %" PRIu64 "\nnr_active_anon %" PRIu64 "\nnr_anon_pages %" PRIu64 "\n", m.free / MACHINE_PAGE,
		(m.total - m.free - m.buffers - m.cached) / MACHINE_PAGE,
		(m.total - m.free - m.buffers - m.cached) / MACHINE_PAGE);
	fprintf(out, "nr_file_pages %" PRIu64 "\nnr_mapped %" PRIu64 "\nnr_shmem %" PRIu64 "\n",
		(m.buffers + m.cached) / MACHINE_PAGE, m.cached / 4 / MACHINE_PAGE, m.shared / MACHINE_PAGE);
	for (size_t i = 0; i < ARRAY_SIZE(vmstat_zeros); i++)
		fprintf(out, "%s 0\n", vmstat_zeros[i]);
	return 0;
}

/* One zone that has it all. */
static int make_zoneinfo(const struct procfs_view *view, FILE *out)
{
	struct machine_memory m = machine_memory(view->e);

	fprintf(out, "Node 0, zone   Normal\n  pages free     %" PRIu64 "\n        min      1024\n        low      2048\n"
		     "        high     3072\n        spanned  %" PRIu64 "\n        present  %" PRIu64 "\n        managed  %" PRIu64 "\n",
		m.free / MACHINE_PAGE, m.total / MACHINE_PAGE, m.total / MACHINE_PAGE, m.total / MACHINE_PAGE);
	return 0;
}

#define PRESSURE "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"

static const char filesystems[] = "nodev\tsysfs\nnodev\ttmpfs\nnodev\tbdev\nnodev\tproc\nnodev\tcgroup\nnodev\tcgroup2\n"
				  "nodev\tdevtmpfs\nnodev\tpipefs\nnodev\tsockfs\nnodev\tdevpts\nnodev\tramfs\nnodev\tmqueue\n"
				  "nodev\toverlay\n\text4\n\text3\n\text2\n";

static const char devices[] = "Character devices:\n  1 mem\n  4 tty\n  5 /dev/tty\n  5 /dev/console\n  5 /dev/ptmx\n"
			      " 10 misc\n136 pts\n\nBlock devices:\n259 blkext\n";

static const char cgroups[] = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t0\t1\t1\ncpu\t0\t1\t1\n"
			      "cpuacct\t0\t1\t1\nblkio\t0\t1\t1\nmemory\t0\t1\t1\npids\t0\t1\t1\n";

static const struct procfs_row rows[] = {
	ROW_MAKE("uptime", make_uptime),
	ROW_MAKE("loadavg", make_loadavg),
	ROW_MAKE("version", make_version),
	ROW_MAKE("stat", make_stat),
	ROW_MAKE("meminfo", make_meminfo),
	ROW_MAKE("cpuinfo", make_cpuinfo),
	ROW_MAKE("softirqs", make_softirqs),
	ROW_MAKE("interrupts", make_interrupts),
	ROW_MAKE("schedstat", make_schedstat),
	ROW_MAKE("vmstat", make_vmstat),
	ROW_MAKE("zoneinfo", make_zoneinfo),
	ROW_TEXT("cmdline", "BOOT_IMAGE=/boot/vmlinuz-" MACHINE_RELEASE " root=/dev/root ro\n"),
	ROW_TEXT("filesystems", filesystems),
	ROW_TEXT("devices", devices),
	ROW_TEXT("cgroups", cgroups),
	ROW_TEXT("partitions", "major minor  #blocks  name\n\n"),
	ROW_TEXT("swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"),
	ROW_TEXT("pressure/cpu", PRESSURE),
	ROW_TEXT("pressure/io", PRESSURE),
	ROW_TEXT("pressure/memory", PRESSURE),
	ROW_TEXT("pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
	ROW_TEXT("buddyinfo", "Node 0, zone   Normal      0      0      0      0      0      0      0      0      0      0      0 \n"),
	ROW_TEXT("slabinfo", "slabinfo - version: 2.1\n"
			     "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> "
			     "<batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n"),
	ROW_TEXT("execdomains", "0-0\tLinux           \t[kernel]\n"),
	ROW_TEXT("misc", ""),
	ROW_TEXT("consoles", ""),
	ROW_TEXT("modules", ""),
	ROW_TEXT("diskstats", ""),
	ROW_TEXT("crypto", ""),
	ROW_TEXT("dma", " 4: cascade\n"),
	ROW_TEXT("iomem", ""),
	ROW_TEXT("ioports", ""),
	ROW_TEXT("fb", ""),
	ROW_TEXT("mtrr", ""),
	ROW_TEXT("keys", ""),
	ROW_TEXT("key-users", ""),
	ROW_TEXT("kallsyms", ""),
	ROW_TEXT("timer_list", ""),
	ROW_TEXT("vmallocinfo", ""),
	ROW_TEXT("pagetypeinfo", ""),
	ROW_TEXT("mdstat", "Personalities : \nunused devices: <none>\n"),
	/* No devices: what the host has, what it does with them, its file systems and their disks are its own affair. See procfs_arrange(), too. */
	ROW_TEXT("bus/pci/devices", ""),
	ROW_TEXT("bus/input/devices", ""),
	ROW_TEXT("bus/input/handlers", ""),
	ROW_REFUSE("bus/**", EACCES),
	ROW_REFUSE("irq/**", EACCES),
	ROW_REFUSE("tty/driver/**", EACCES),
	ROW_REFUSE("fs/**", EACCES),
	ROW_REFUSE("acpi/**", EACCES),
	ROW_REFUSE("asound/**", EACCES),
	ROW_REFUSE("driver/**", EACCES),
	ROW_REFUSE("scsi/**", EACCES),
	ROW_REFUSE("kcore", EPERM),
	ROW_REFUSE("kmsg", EPERM),
	ROW_REFUSE("kpagecgroup", EPERM),
	ROW_REFUSE("kpagecount", EPERM),
	ROW_REFUSE("kpageflags", EPERM),
	ROW_TEXT("tty/drivers", "/dev/tty             /dev/tty        5       0 system:/dev/tty\n"
				"/dev/console         /dev/console    5       1 system:console\n"
				"/dev/ptmx            /dev/ptmx       5       2 system\n"
				"pty_slave            /dev/pts      136 0-1048575 pty:slave\n"
				"pty_master           /dev/ptm      128 0-1048575 pty:master\n"),
	ROW_TEXT("tty/ldiscs", "n_tty       0\n"),
	ROW_FILTER("sysvipc/*", procfs_filter_sysvipc),
	ROW_FILTER("locks", procfs_filter_locks),
	/* Links and directories, shown in listings. */
	ROW_LIVE("self"),
	ROW_LIVE("thread-self"),
	ROW_LIVE("mounts"),
	ROW_LIVE("net"),
	ROW_LIVE("sys"),
	ROW_LIVE("fs"),
	ROW_LIVE("tty"),
	ROW_LIVE("sysvipc"),
	ROW_LIVE("pressure"),
};

const struct procfs_table procfs_machine_table = { rows, ARRAY_SIZE(rows) };
