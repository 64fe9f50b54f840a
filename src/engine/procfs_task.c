/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of /proc about one task. What the kernel counts (faults, switches, residency, processor time) is its own affair: fixed or virtual
 * here. What a tracer and a filter change in a task's looks is taken back.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/machine.h"
#include "engine/procfs.h"
#include "engine/procfs_rows.h"

enum {
	NS_PER_TICK = 1000000000 / MACHINE_HZ,
	RESIDENT_PAGES = PROCFS_RESIDENT_KB / 4,
	SHARED_PAGES = RESIDENT_PAGES / 4 * 3,
	RANDOMIZED = 0x400000, /* PF_RANDOMIZE, the one flag to be seen */
	TTY_PTS = 136 << 8,
};

/* 'R', 'S' ... as Linux would say of a task that does what the guest's does. */
static char state_of(const struct procfs_view *view)
{
	const struct task *t = view->task;

	if (!t || t->leader_gone)
		return 'Z';
	if (t == view->reader)
		return 'R';
	switch (t->state) {
	case TASK_READY:
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

static const char *state_name(char state)
{
	switch (state) {
	case 'R':
		return "R (running)";
	case 'D':
		return "D (disk sleep)";
	case 'T':
		return "T (stopped)";
	case 'Z':
		return "Z (zombie)";
	case 'X':
		return "X (dead)";
	default:
		return "S (sleeping)";
	}
}

/* Traits of the task; of a zombie, those of a fresh one. */
static struct task_traits traits_of(const struct procfs_view *view)
{
	struct task_traits traits;

	if (view->task)
		return view->task->traits;
	task_traits_init(&traits, machine_cpus(view->e));
	return traits;
}

static bool is_realtime(const struct task_traits *traits)
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
	return is_realtime(traits) ? -1 - traits->rt_priority : 20 + traits->nice;
}

/* The field as it is to be seen; false: as it is. */
static bool stat_value(const struct procfs_view *view, int field, uint64_t own, int64_t *ret)
{
	struct task_traits traits = traits_of(view);
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
	fprintf(out, "%.*s %c", PIECE_ARG(head), state_of(view));
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

/* ---- status ---- */

typedef void status_fn(const struct procfs_view *view, FILE *out);

static void put_state(const struct procfs_view *view, FILE *out)
{
	fputs(state_name(state_of(view)), out);
}

static void put_threads(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "%u", view->process && view->process->n_tasks ? view->process->n_tasks : 1);
}

static void put_queued_signals(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "0/%" PRIu64,
		view->process ? (uint64_t)view->process->traits.limits[RLIMIT_SIGPENDING].rlim_cur : (uint64_t)0);
}

static void put_filter_mode(const struct procfs_view *view, FILE *out)
{
	fputs(view->task && view->task->traits.filters ? "2" : "0", out);
}

static void put_filter_count(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "%u", view->task ? view->task->traits.filters : 0);
}

/* The kernel's form of a mask: groups of 32 bits, the highest first. */
static void put_cpus(const struct procfs_view *view, FILE *out)
{
	struct task_traits traits = traits_of(view);
	unsigned groups = (machine_cpus(view->e) + 31) / 32, digits = machine_cpus(view->e) % 32;

	for (unsigned i = groups; i-- > 0;) {
		uint32_t bits = (uint32_t)(traits.cpus[i / 2] >> (i % 2 * 32));

		if (i + 1 == groups)
			fprintf(out, "%0*" PRIx32, (int)((digits ? digits + 3 : 35) / 4), bits);
		else
			fprintf(out, ",%08" PRIx32, bits);
	}
}

static bool has_cpu(const struct task_traits *traits, unsigned cpu)
{
	return cpu < TRAITS_CPUS_MAX && traits->cpus[cpu / 64] >> cpu % 64 & 1;
}

static void put_cpu_list(const struct procfs_view *view, FILE *out)
{
	struct task_traits traits = traits_of(view);
	const char *comma = "";
	unsigned last;

	for (unsigned cpu = 0; cpu < TRAITS_CPUS_MAX; cpu++) {
		if (!has_cpu(&traits, cpu))
			continue;
		for (last = cpu; has_cpu(&traits, last + 1); last++)
			;
		fprintf(out, last > cpu ? "%s%u-%u" : "%s%u", comma, cpu, last);
		comma = ",";
		cpu = last;
	}
}

/* Lines in their order; text and fn NULL: as the kernel has it, left out when it has none. Lines that are not here are not shown. */
static const struct {
	const char *key, *text;
	status_fn *fn;
} status_lines[] = {
	{ .key = "Name" },
	{ .key = "Umask" },
	{ .key = "State", .fn = put_state },
	{ .key = "Tgid" },
	{ .key = "Ngid", .text = "0" },
	{ .key = "Pid" },
	{ .key = "PPid" },
	{ .key = "TracerPid", .text = "0" },
	{ .key = "Uid" },
	{ .key = "Gid" },
	{ .key = "FDSize", .text = "256" },
	{ .key = "Groups" },
	{ .key = "NStgid" },
	{ .key = "NSpid" },
	{ .key = "NSpgid" },
	{ .key = "NSsid" },
	{ .key = "Kthread", .text = "0" },
	{ .key = "VmPeak" },
	{ .key = "VmSize" },
	{ .key = "VmLck" },
	{ .key = "VmPin" },
	{ .key = "VmHWM", .text = "    4096 kB" },
	{ .key = "VmRSS", .text = "    4096 kB" },
	{ .key = "RssAnon", .text = "    1024 kB" },
	{ .key = "RssFile", .text = "    3072 kB" },
	{ .key = "RssShmem", .text = "       0 kB" },
	{ .key = "VmData" },
	{ .key = "VmStk" },
	{ .key = "VmExe" },
	{ .key = "VmLib" },
	{ .key = "VmPTE", .text = "      64 kB" },
	{ .key = "VmSwap", .text = "       0 kB" },
	{ .key = "HugetlbPages", .text = "       0 kB" },
	{ .key = "CoreDumping", .text = "0" },
	{ .key = "THP_enabled", .text = "1" },
	{ .key = "untag_mask", .text = "0xffffffffffffffff" },
	{ .key = "Threads", .fn = put_threads },
	{ .key = "SigQ", .fn = put_queued_signals },
	{ .key = "SigPnd" },
	{ .key = "ShdPnd" },
	{ .key = "SigBlk" },
	{ .key = "SigIgn" },
	{ .key = "SigCgt" },
	{ .key = "CapInh" },
	{ .key = "CapPrm" },
	{ .key = "CapEff" },
	{ .key = "CapBnd" },
	{ .key = "CapAmb" },
	{ .key = "NoNewPrivs" },
	{ .key = "Seccomp", .fn = put_filter_mode },
	{ .key = "Seccomp_filters", .fn = put_filter_count },
	{ .key = "Speculation_Store_Bypass", .text = "not vulnerable" },
	{ .key = "SpeculationIndirectBranch", .text = "not affected" },
	{ .key = "Cpus_allowed", .fn = put_cpus },
	{ .key = "Cpus_allowed_list", .fn = put_cpu_list },
	{ .key = "Mems_allowed", .text = "1" },
	{ .key = "Mems_allowed_list", .text = "0" },
	{ .key = "voluntary_ctxt_switches", .text = "0" },
	{ .key = "nonvoluntary_ctxt_switches", .text = "0" },
};

/* The value after "key:\t" in the kernel's text. */
static bool status_find(struct piece text, const char *key, struct piece *ret)
{
	struct piece line, name;

	while (piece_line(&text, &line)) {
		if (!piece_until(&line, ':', &name) || !piece_is(name, key))
			continue;
		*ret = line;
		if (ret->n && *ret->at == '\t') {
			ret->at++;
			ret->n--;
		}
		return true;
	}
	return false;
}

/* Lines about memory are missing for zombies. */
static bool is_about_memory(const char *key)
{
	return !strncmp(key, "Vm", 2) || !strncmp(key, "Rss", 3) || !strcmp(key, "HugetlbPages") || !strcmp(key, "CoreDumping") ||
	       !strcmp(key, "THP_enabled") || !strcmp(key, "untag_mask");
}

int procfs_filter_status(const struct procfs_view *view, FILE *out)
{
	struct piece own;
	bool has_memory = status_find(view->text, "VmSize", &own);

	for (size_t i = 0; i < ARRAY_SIZE(status_lines); i++) {
		const char *key = status_lines[i].key;

		if (is_about_memory(key) && !has_memory)
			continue;
		if (!status_lines[i].text && !status_lines[i].fn && !status_find(view->text, key, &own))
			continue;
		fprintf(out, "%s:\t", key);
		if (status_lines[i].fn)
			status_lines[i].fn(view, out);
		else if (status_lines[i].text)
			fputs(status_lines[i].text, out);
		else
			fprintf(out, "%.*s", PIECE_ARG(own));
		fputs("\n", out);
	}
	return 0;
}

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

static int make_limits(const struct procfs_view *view, FILE *out)
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
	struct task_traits traits = traits_of(view);
	const char *comm = view->task ? view->task->comm : "";

	fprintf(out, "%s (%d, #threads: %u)\n-------------------------------------------------------------------\n", comm,
		view->tid ? view->tid : view->pid, view->process ? view->process->n_tasks : 1);
	fprintf(out, "%-45s:%21d\n%-45s:%21d\n", "policy", traits.policy, "prio", is_realtime(&traits) ? 99 - traits.rt_priority : 120 + traits.nice);
	return 0;
}

static int make_timer_slack(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "%" PRIu64 "\n", traits_of(view).timer_slack_ns);
	return 0;
}

static int make_personality(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "%08" PRIx32 "\n", traits_of(view).persona);
	return 0;
}

/* Ids outside are those of whoever started the run: shown as if nothing was mapped. */
static int filter_id_map(const struct procfs_view *view, FILE *out)
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

#define NO_IO "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"
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
	{ .pattern = "uid_map", .action = PROCFS_FILTER, .fn = filter_id_map },
	{ .pattern = "gid_map", .action = PROCFS_FILTER, .fn = filter_id_map },
	{ .pattern = "projid_map", .action = PROCFS_FILTER, .fn = filter_id_map },
	{ .pattern = "limits", .action = PROCFS_MAKE, .fn = make_limits },
	{ .pattern = "sched", .action = PROCFS_MAKE, .fn = make_sched },
	{ .pattern = "timerslack_ns", .action = PROCFS_MAKE, .fn = make_timer_slack },
	{ .pattern = "personality", .action = PROCFS_MAKE, .fn = make_personality },
	{ .pattern = "autogroup", .action = PROCFS_MAKE, .fn = make_autogroup },
	{ .pattern = "cgroup", .action = PROCFS_TEXT, .text = "0::/\n" },
	{ .pattern = "cpuset", .action = PROCFS_TEXT, .text = "/\n" },
	{ .pattern = "cpu_resctrl_groups", .action = PROCFS_TEXT, .text = "res:\nmon:\n" },
	{ .pattern = "io", .action = PROCFS_TEXT, .text = NO_IO },
	{ .pattern = "schedstat", .action = PROCFS_TEXT, .text = "0 0 0\n" },
	{ .pattern = "wchan", .action = PROCFS_TEXT, .text = "0" },
	{ .pattern = "stack", .action = PROCFS_TEXT, .text = "" },
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

/* ---- process 1, when it is the supervisor's: an init that does nothing but reap ---- */

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
	{ .pattern = "uid_map", .action = PROCFS_FILTER, .fn = filter_id_map },
	{ .pattern = "gid_map", .action = PROCFS_FILTER, .fn = filter_id_map },
	{ .pattern = "mountinfo", .action = PROCFS_FILTER, .fn = procfs_filter_mountinfo },
	{ .pattern = "mounts", .action = PROCFS_FILTER, .fn = procfs_filter_mounts },
	{ .pattern = "mountstats", .action = PROCFS_FILTER, .fn = procfs_filter_mountstats },
	{ .pattern = "limits", .action = PROCFS_MAKE, .fn = make_limits },
	{ .pattern = "cgroup", .action = PROCFS_TEXT, .text = "0::/\n" },
	{ .pattern = "cpuset", .action = PROCFS_TEXT, .text = "/\n" },
	{ .pattern = "io", .action = PROCFS_TEXT, .text = NO_IO },
	{ .pattern = "schedstat", .action = PROCFS_TEXT, .text = "0 0 0\n" },
	{ .pattern = "wchan", .action = PROCFS_TEXT, .text = "0" },
	{ .pattern = "stack", .action = PROCFS_TEXT, .text = "" },
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
