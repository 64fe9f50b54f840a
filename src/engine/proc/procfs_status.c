/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/PID/status. */
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/proc/machine.h"
#include "engine/proc/procfs.h"
#include "engine/proc/procfs_rows.h"

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

/* ---- status ---- */

typedef void status_fn(const struct procfs_view *view, FILE *out);

static void put_state(const struct procfs_view *view, FILE *out)
{
	fputs(state_name(procfs_state_letter(view)), out);
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
	struct task_traits traits = procfs_traits(view);
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
	struct task_traits traits = procfs_traits(view);
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
