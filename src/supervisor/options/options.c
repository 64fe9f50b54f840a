/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of a run: see options.h. */
#include "supervisor/options/options.h"
#include "supervisor/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "engine/sched/fault.h"
#include "engine/policy/policy.h"
#include "engine/sched/preempt.h"
#include "engine/sched/sched_policy.h"
#include "insn/cpuid.h"

static const char *const base_env_names[] = { "empty", "minimal", "host", NULL };
static const char *const network_names[] = { "local", "host", "veth", NULL };
static const char *const mtime_names[] = { "fixed", "keep", NULL };
static const char *const pace_names[] = { "none", "host", NULL };
static const char *const seed_from_names[] = { "args", "system", NULL };
static const char *const post_fork_names[] = { "parent", "child", "random", NULL };
static const char *const preempt_names[] = { "none", "syscalls", "steps", "functions", NULL };
/* In the order of enum cpuid_level. */
static const char *const tsc_names[] = { "auto", "replace", "fault", NULL };
static const char *const cpu_names[] = { "host", "baseline", "x86-64-v2", "x86-64-v3", NULL };
static const char *const log_bytes_names[] = { "hash", "off", NULL };

#define AT(member) offsetof(struct run_options, member)

static const struct option_spec specs[] = {
	{ "seed", .kind = OPTION_NUMBER, .offset = AT(seed), .arg = "N", .preset = "0", .outcome = true,
	  .help = "root of all random numbers that the program sees" },
	{ "rng-seed", .kind = OPTION_TEXT, .offset = AT(rng_seed), .arg = "N", .outcome = true,
	  .help = "root of the random numbers that the program sees, when not --seed" },
	{ "sched-seed", .kind = OPTION_TEXT, .offset = AT(sched_seed), .arg = "N", .outcome = true,
	  .help = "root of the choices of the scheduler, when not --seed" },
	{ "fault-seed", .kind = OPTION_TEXT, .offset = AT(fault_seed), .arg = "N", .outcome = true,
	  .help = "root of the choices of faults, when not --seed" },
	{ "seed-from", .kind = OPTION_CHOICE, .offset = AT(seed_from), .arg = "WHICH", .preset = "args", .choices = seed_from_names,
	  .help = "args: --seed; system: a seed is drawn, and shown at the end" },
	{ "fault", .kind = OPTION_LIST, .offset = AT(faults), .arg = "KIND[:P][@WHERE]", .outcome = true,
	  .help = "let calls fail, do less or take time by chance, with probability P (0.01), in one call or on files of one path: short, eintr, "
		  "eagain, enospc, nomem, reset, udp-drop, udp-delay, latency, clock-jump; may be repeated" },
	{ "chaos", .kind = OPTION_FLAG, .offset = AT(chaos), .outcome = true,
	  .help = "another schedule for each seed: a switch may happen at every event, and what Linux leaves open is drawn" },
	{ "sched-heuristic", .kind = OPTION_TEXT, .offset = AT(sched_heuristic), .arg = "LIST", .preset = "mixed", .outcome = true,
	  .help = "how --chaos chooses: one of roundrobin, random, stickyrandom[:P], pct[:D], mixed, and any of connectbind, "
		  "slowdown[:R], with commas between them" },
	{ "preempt", .kind = OPTION_CHOICE, .offset = AT(preempt), .arg = "WHERE", .preset = "syscalls", .choices = preempt_names,
	  .outcome = true, .help = "where --chaos takes the turn from a thread: none, only where it blocks; syscalls, at each call; steps, also some "
				   "instructions behind one; functions, also where functions and basic blocks begin" },
	{ "preempt-modules", .kind = OPTION_LIST, .offset = AT(preempt_modules), .arg = "PATTERN", .outcome = true,
	  .help = "files whose code --preempt=functions looks at: names, or paths, with wildcards; may be repeated (default: the program, and "
		  "what lies outside of the system's folders)" },
	{ "preempt-budget", .kind = OPTION_NUMBER, .offset = AT(preempt_budget), .arg = "N", .preset = "200000", .outcome = true,
	  .help = "how many instructions or places --preempt counts at most" },
	{ "interrupt-at", .kind = OPTION_LIST, .offset = AT(interrupts), .arg = "THREAD:TURN[+K]", .outcome = true,
	  .help = "at this turn another thread goes on, after K instructions of this one; may be repeated" },
	{ "happens-before", .kind = OPTION_TEXT, .offset = AT(happens_before), .arg = "FILE", .outcome = true,
	  .help = "keep the order of calls, functions and source lines of threads that this file asks for, as JSON" },
	{ "runs-post-fork", .kind = OPTION_CHOICE, .offset = AT(post_fork), .arg = "WHO", .preset = "parent",
	  .choices = post_fork_names, .outcome = true, .help = "who goes on after a fork or the start of a thread" },
	{ "stacktrace-at", .kind = OPTION_NUMBER, .offset = AT(stacktrace_at), .arg = "N", .preset = "0",
	  .help = "show what all threads do, and their stacks, when turn N comes, and go on; 0: never" },
	{ "record-schedule", .kind = OPTION_TEXT, .offset = AT(record_schedule), .arg = "FILE",
	  .help = "write who was picked when, as JSON" },
	{ "replay-schedule", .kind = OPTION_TEXT, .offset = AT(replay_schedule), .arg = "FILE",
	  .help = "pick threads as such a file says; status 119 when the program does not fit it" },
	{ "stop-at-turn", .kind = OPTION_NUMBER, .offset = AT(stop_at_turn), .arg = "N", .preset = "0",
	  .help = "end the run, with status 118, when it comes to turn N; 0: never" },
	{ "epoch", .kind = OPTION_TIME, .offset = AT(epoch_ns), .arg = "TIME", .preset = "2026-01-01T00:00:00Z",
	  .outcome = true, .help = "date and time at the start, as in 2026-01-01T00:00:00Z or @SECONDS" },
	{ "uptime", "sysinfo-uptime-offset", .kind = OPTION_DURATION, .offset = AT(uptime_ns), .arg = "TIME",
	  .preset = "120", .outcome = true, .help = "how long the machine seems to be up at the start" },
	{ "quantum", .kind = OPTION_DURATION, .offset = AT(quantum_ns), .arg = "TIME", .preset = "0.001", .outcome = true,
	  .help = "virtual time after which another thread of the same priority gets its turn" },
	{ "cpus", .kind = OPTION_NUMBER, .offset = AT(cpus), .arg = "N", .preset = "1", .least = 1, .most = 1024,
	  .outcome = true, .help = "how many processors the program sees" },
	{ "cpu", .kind = OPTION_CHOICE, .offset = AT(cpu), .arg = "WHICH", .preset = "host", .choices = cpu_names, .outcome = true,
	  .help = "which processor the program sees: this one, less what no run can control, or one that is the same on every host" },
	{ "spin-limit", .kind = OPTION_DURATION, .offset = AT(spin_limit_ns), .arg = "TIME", .preset = "60", .outcome = true,
	  .help = "real time after which a loop that others wait for is left although it changes something each time; 0: never" },
	{ "tsc", .kind = OPTION_CHOICE, .offset = AT(tsc), .arg = "HOW", .preset = "auto", .choices = tsc_names, .outcome = true,
	  .help = "how RDTSC is put under control: replace, in files that programs map; fault, by the processor, everywhere; auto: fault "
		  "where that works" },
	{ "keep-instructions", .kind = OPTION_FLAG, .offset = AT(keep_instructions), .outcome = true,
	  .help = "leave instructions as they are that show the host: RDTSC, CPUID, RDRAND and their like" },
	{ "memory", .kind = OPTION_SIZE, .offset = AT(memory_bytes), .arg = "BYTES", .preset = "1GB", .least = 1 << 20,
	  .most = 1ull << 50, .outcome = true, .help = "how much memory the program sees; nothing is enforced" },
	{ "hostname", .kind = OPTION_TEXT, .offset = AT(hostname), .arg = "NAME", .preset = "hermit", .outcome = true,
	  .help = "name of the machine" },
	{ "base-env", .kind = OPTION_CHOICE, .offset = AT(base_env), .arg = "WHICH", .preset = "minimal",
	  .choices = base_env_names, .outcome = true,
	  .help = "environment to start from: nothing, PATH and HOME (and TERM on a terminal), or the caller's" },
	{ "env", .letter = 'e', .kind = OPTION_ENV, .offset = AT(env), .arg = "NAME[=VALUE]", .outcome = true,
	  .help = "add a variable; NAME alone takes the caller's value; may be repeated" },
	{ "workdir", "cwd", 'w', OPTION_TEXT, AT(workdir), .arg = "DIR", .outcome = true,
	  .help = "directory to start in, in the program's view (default: the caller's)" },
	{ "user", .letter = 'u', .kind = OPTION_TEXT, .offset = AT(user), .arg = "UID[:GID]", .outcome = true,
	  .help = "numbers of the user and group to run as, in the container (default: 0)" },
	{ "group", .kind = OPTION_TEXT, .offset = AT(group), .arg = "GID", .outcome = true,
	  .help = "number of the group to run as" },
	{ "fs", .kind = OPTION_TEXT, .offset = AT(fs), .arg = "WHICH", .preset = "cwd", .outcome = true,
	  .help = "what is written for real: cwd, the working directory only; overlay, nothing; overlay:DIR, nothing, but what "
		  "would be is kept in DIR; host, everything" },
	{ "writable", .kind = OPTION_LIST, .offset = AT(writable), .arg = "DIR", .outcome = true,
	  .help = "a directory that is written for real; may be repeated" },
	{ "bind", .kind = OPTION_LIST, .offset = AT(bind), .arg = "SRC[:DST[:ro]]", .outcome = true,
	  .help = "show a file or directory of the host at DST; may be repeated" },
	{ "mount", .kind = OPTION_LIST, .offset = AT(mount), .arg = "SPEC", .outcome = true,
	  .help = "type=bind|tmpfs,source=SRC,target=DST[,readonly]; may be repeated" },
	{ "tmp", .kind = OPTION_TEXT, .offset = AT(tmp), .arg = "DIR", .outcome = true,
	  .help = "directory of the host to show as /tmp (default: an empty one that is thrown away)" },
	{ "mtime", .kind = OPTION_CHOICE, .offset = AT(mtime), .arg = "WHICH", .preset = "fixed", .choices = mtime_names,
	  .outcome = true, .help = "times of files that the run has not touched: one fixed time, or the real ones" },
	{ "network", "net", .kind = OPTION_CHOICE, .offset = AT(network), .arg = "WHICH", .preset = "local",
	  .choices = network_names, .outcome = true,
	  .help = "local: a network of its own with nothing but loopback; veth: with a pair of virtual devices, eth0 and peer0, too; "
		  "host: the host's, which no run controls" },
	{ "strict", .kind = OPTION_FLAG, .offset = AT(strict), .outcome = true,
	  .help = "end the run at the first thing that is not under control" },
	{ "allow-uncontrolled", .kind = OPTION_FLAG, .offset = AT(allow_uncontrolled), .outcome = true,
	  .help = "let calls through that are not modelled, and report them" },
	{ "timeout", .kind = OPTION_DURATION, .offset = AT(timeout_ns), .arg = "TIME", .preset = "0",
	  .help = "end the run after this much real time, with status 124; 0: never" },
	{ "terminal", .letter = 't', .kind = OPTION_FLAG, .offset = AT(terminal),
	  .help = "give the program a terminal of its own, with job control" },
	{ "pace", .kind = OPTION_CHOICE, .offset = AT(pace), .arg = "WHICH", .preset = "none", .choices = pace_names,
	  .help = "none: time that everybody waits for is skipped; host: it passes, so that others find the program there meanwhile" },
	{ "no-pin", .kind = OPTION_FLAG, .offset = AT(no_pin),
	  .help = "do not keep the program and its supervisor on one processor (slow)" },
	{ "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = AT(quiet),
	  .help = "do not list uncontrolled happenings at the end" },
	{ "log", .kind = OPTION_TEXT, .offset = AT(log), .arg = "LEVEL",
	  .help = "messages of the tool itself: off, error, warning, info, debug" },
	{ "log-file", .kind = OPTION_TEXT, .offset = AT(log_file), .arg = "FILE",
	  .help = "write these messages to a file instead of standard error" },
	{ "log-events", .kind = OPTION_TEXT, .offset = AT(log_events), .arg = "FILE",
	  .help = "write what happens to a log, one event a line ('-': standard output; compressed when the name ends in .zst)" },
	{ "log-bytes", .kind = OPTION_CHOICE, .offset = AT(log_bytes), .arg = "WHICH", .preset = "hash", .choices = log_bytes_names,
	  .help = "what such a log has of the bytes that calls move: a hash, or nothing (off), which is faster" },
	{ "verify", .kind = OPTION_NUMBER, .offset = AT(verify), .arg = "N", .implied = "2", .preset = "0", .most = 1000,
	  .help = "run the program N times (2 when no number is given) from equal starting points, writing nothing for real, and "
		  "compare the runs" },
	{ "verify-json", .kind = OPTION_TEXT, .offset = AT(verify_json), .arg = "FILE",
	  .help = "write the result of --verify to a file" },
	{ "verify-dir", .kind = OPTION_TEXT, .offset = AT(verify_dir), .arg = "DIR",
	  .help = "where --verify keeps logs and output of runs that differ (default: a new directory in TMPDIR)" },
	{ "report", .kind = OPTION_TEXT, .offset = AT(report), .arg = "FILE",
	  .help = "write a report on the run to a file, as JSON ('-': standard output)" },
	{ "summary", .kind = OPTION_FLAG, .offset = AT(summary), .help = "print a summary of the run at its end" },
};

const struct option_spec *option_specs(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(specs);
	return specs;
}

const struct option_spec *option_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		if (!strcmp(specs[i].name, name) || (specs[i].alias && !strcmp(specs[i].alias, name)) ||
		    (specs[i].letter && name[0] == specs[i].letter && name[1] == '\0'))
			return &specs[i];
	return NULL;
}

static void *member(struct run_options *o, const struct option_spec *spec)
{
	return (char *)o + spec->offset;
}

static const void *member_const(const struct run_options *o, const struct option_spec *spec)
{
	return (const char *)o + spec->offset;
}

/* ---- from text ---- */

typedef int option_set_fn(void *to, const struct option_spec *spec, const char *text, struct error *err);

static int set_flag(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return error_set(err, EINVAL, "--%s: is true or false, not '%s'", spec->name, text);
	*(bool *)to = !text || !strcmp(text, "true");
	return 0;
}

static int set_with(void *to, const struct option_spec *spec, const char *text, int (*parse)(const char *, uint64_t *),
		    const char *what, struct error *err)
{
	uint64_t value;
	int r;

	r = parse(text, &value);
	if (r == -ERANGE)
		return error_set(err, ERANGE, "--%s: '%s' is out of range", spec->name, text);
	if (r < 0)
		return error_set(err, EINVAL, "--%s: '%s' is not %s", spec->name, text, what);
	if (spec->most && (value < spec->least || value > spec->most))
		return error_set(err, ERANGE, "--%s: '%s' is not between %llu and %llu", spec->name, text,
				 (unsigned long long)spec->least, (unsigned long long)spec->most);
	*(uint64_t *)to = value;
	return 0;
}

static int set_number(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	return set_with(to, spec, text, parse_u64, "a number", err);
}

static int set_size(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	return set_with(to, spec, text, parse_bytes, "a size such as 512M or 2GB", err);
}

static int set_duration(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	return set_with(to, spec, text, parse_duration_ns, "a duration such as 1.5, 200ms or 2h", err);
}

static int set_time(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	return set_with(to, spec, text, parse_time_ns, "a time such as 2026-01-01T00:00:00Z or @1767225600", err);
}

static int set_text(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	char *copy = strdup(text);

	if (!copy)
		return error_errno(err, ENOMEM, "--%s", spec->name);
	free(*(char **)to);
	*(char **)to = copy;
	return 0;
}

static int set_choice(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	char known[128] = "";
	size_t n = 0;

	for (int i = 0; spec->choices[i]; i++) {
		if (!strcmp(spec->choices[i], text)) {
			*(int *)to = i;
			return 0;
		}
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", i ? ", " : "", spec->choices[i]);
	}
	return error_set(err, EINVAL, "--%s: there is no '%s'; known: %s", spec->name, text, known);
}

static int set_list(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	return strv_add(to, text) < 0 ? error_errno(err, ENOMEM, "--%s", spec->name) : 0;
}

static int set_env(void *to, const struct option_spec *spec, const char *text, struct error *err)
{
	_cleanup_free_ char *assignment = NULL;
	const char *value;

	if (*text == '\0' || *text == '=')
		return error_set(err, EINVAL, "--%s: '%s' has no name", spec->name, text);
	if (strchr(text, '='))
		return strv_set_env(to, text) < 0 ? error_errno(err, ENOMEM, "--%s", spec->name) : 0;
	value = getenv(text);
	if (!value)
		return error_set(err, EINVAL, "--%s: '%s' is not set in the environment", spec->name, text);
	if (asprintf(&assignment, "%s=%s", text, value) < 0) {
		assignment = NULL;
		return error_errno(err, ENOMEM, "--%s", spec->name);
	}
	return strv_set_env(to, assignment) < 0 ? error_errno(err, ENOMEM, "--%s", spec->name) : 0;
}

static option_set_fn *const setters[] = {
	[OPTION_FLAG] = set_flag,   [OPTION_NUMBER] = set_number, [OPTION_SIZE] = set_size,
	[OPTION_DURATION] = set_duration, [OPTION_TIME] = set_time, [OPTION_TEXT] = set_text,
	[OPTION_CHOICE] = set_choice, [OPTION_LIST] = set_list, [OPTION_ENV] = set_env,
};

int run_options_set(struct run_options *o, const struct option_spec *spec, const char *text, struct error *err)
{
	if (!text && spec->implied)
		text = spec->implied;
	if (!text && spec->kind != OPTION_FLAG)
		return error_set(err, EINVAL, "--%s: needs an argument", spec->name);
	return setters[spec->kind](member(o, spec), spec, text, err);
}

int run_options_init(struct run_options *o)
{
	int r;

	*o = (struct run_options){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		if (!specs[i].preset)
			continue;
		r = run_options_set(o, &specs[i], specs[i].preset, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

void run_options_clear(struct run_options *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		if (specs[i].kind == OPTION_LIST || specs[i].kind == OPTION_ENV)
			strv_clear(member(o, &specs[i]));
		if (specs[i].kind == OPTION_TEXT)
			free(*(char **)member(o, &specs[i]));
	}
	strv_clear(&o->argv);
	*o = (struct run_options){ 0 };
}

/* ---- combinations ---- */

static int check_fs(const char *fs, struct error *err)
{
	if (!strcmp(fs, "cwd") || !strcmp(fs, "overlay") || !strcmp(fs, "host"))
		return 0;
	if (!strncmp(fs, "overlay:", 8) && fs[8])
		return 0;
	return error_set(err, EINVAL, "--fs: there is no '%s'; known: cwd, overlay, overlay:DIR, host", fs);
}

static int check_seed(const char *name, const char *text, struct error *err)
{
	uint64_t value;

	if (!text || parse_u64(text, &value) == 0)
		return 0;
	return error_set(err, EINVAL, "--%s: '%s' is not a number", name, text);
}

static int check_faults(const struct run_options *o, struct error *err)
{
	struct fault_rule rule;
	int r = 0;

	if (o->faults.count > FAULTS_MAX)
		return error_set(err, EINVAL, "--fault: at most %d of them", FAULTS_MAX);
	for (size_t i = 0; i < o->faults.count && r == 0; i++)
		r = fault_parse(o->faults.items[i], &rule, err);
	if (r < 0)
		error_prefix(err, "--fault");
	return r;
}

static int check_interrupts(const struct run_options *o, struct error *err)
{
	struct interrupt_rule rule;
	int r = 0;

	if (o->interrupts.count > INTERRUPTS_MAX)
		return error_set(err, EINVAL, "--interrupt-at: at most %d of them", INTERRUPTS_MAX);
	for (size_t i = 0; i < o->interrupts.count && r == 0; i++)
		r = interrupt_parse(o->interrupts.items[i], &rule, err);
	if (r < 0)
		error_prefix(err, "--interrupt-at");
	return r;
}

/* What changes schedules. */
static int check_chaos(const struct run_options *o, struct error *err)
{
	struct sched_policy_spec policy;
	int r;

	r = check_seed("rng-seed", o->rng_seed, err);
	if (r == 0)
		r = check_seed("sched-seed", o->sched_seed, err);
	if (r == 0)
		r = check_seed("fault-seed", o->fault_seed, err);
	if (r < 0)
		return r;
	r = sched_policy_parse(o->sched_heuristic, &policy, err);
	if (r < 0)
		error_prefix(err, "--sched-heuristic");
	if (r == 0)
		r = check_interrupts(o, err);
	return r < 0 ? r : check_faults(o, err);
}

uint64_t run_options_seed(const struct run_options *o, const char *own)
{
	uint64_t value;

	return own && parse_u64(own, &value) == 0 ? value : o->seed;
}

int run_options_draw_seed(struct run_options *o, struct error *err)
{
	if (o->seed_from != SEED_FROM_SYSTEM)
		return 0;
	if (getrandom(&o->seed, sizeof(o->seed), 0) != (ssize_t)sizeof(o->seed))
		return error_errno(err, errno, "--seed-from=system");
	o->seed_from = SEED_FROM_ARGS;
	return 0;
}

int run_options_check(const struct run_options *o, struct error *err)
{
	int r;

	if (o->strict && o->allow_uncontrolled)
		return error_set(err, EINVAL, "--strict and --allow-uncontrolled exclude each other");
	if (o->strict && o->network == NETWORK_HOST)
		return error_set(err, EINVAL, "--strict and --network=host exclude each other: the host's network is not under "
					      "control");
	if (o->verify == 1)
		return error_set(err, EINVAL, "--verify=1: one run cannot be compared with anything");
	if (o->verify == 0 && (o->verify_json || o->verify_dir))
		return error_set(err, EINVAL, "--verify-json and --verify-dir need --verify");
	if (o->verify && o->record_schedule)
		return error_set(err, EINVAL, "--verify and --record-schedule exclude each other");
	if (o->verify && o->replay_schedule)
		return error_set(err, EINVAL, "--verify and --replay-schedule exclude each other");
	if (o->verify && o->log_events)
		return error_set(err, EINVAL, "--verify and --log-events exclude each other: --verify-dir keeps the logs of all runs");
	if (o->keep_instructions && o->cpu != CPUID_HOST)
		return error_set(err, EINVAL, "--keep-instructions and --cpu exclude each other: programs would see this processor");
	if (o->keep_instructions && o->tsc != RUN_TSC_AUTO)
		return error_set(err, EINVAL, "--keep-instructions and --tsc exclude each other");
	if (o->quantum_ns == 0)
		return error_set(err, EINVAL, "--quantum: must be above zero");
	r = check_chaos(o, err);
	if (r == 0)
		r = check_fs(o->fs, err);
	if (r < 0)
		return r;
	if (!strcmp(o->fs, "host") && o->writable.count > 0)
		return error_set(err, EINVAL, "--writable adds nothing to --fs=host, where everything is written for real");
	return 0;
}

int run_options_validate(const struct run_options *o, struct error *err)
{
	return o->argv.count == 0 ? error_set(err, EINVAL, "no program was given") : run_options_check(o, err);
}

/* ---- to text ---- */

static int value_text(const void *from, const struct option_spec *spec, struct strv *values)
{
	const struct strv *list = from;
	char buf[FORMAT_SIZE];
	int r = 0;

	switch (spec->kind) {
	case OPTION_FLAG:
		return strv_add(values, *(const bool *)from ? "true" : "false");
	case OPTION_NUMBER:
	case OPTION_SIZE:
		return strv_add(values, format_u64(*(const uint64_t *)from, buf));
	case OPTION_DURATION:
		return strv_add(values, format_duration_ns(*(const uint64_t *)from, buf));
	case OPTION_TIME:
		return strv_add(values, format_time_ns(*(const uint64_t *)from, buf));
	case OPTION_TEXT:
		return *(char *const *)from ? strv_add(values, *(char *const *)from) : 0;
	case OPTION_CHOICE:
		return strv_add(values, spec->choices[*(const int *)from]);
	case OPTION_LIST:
	case OPTION_ENV:
		for (size_t i = 0; i < list->count && r == 0; i++)
			r = strv_add(values, list->items[i]);
		return r;
	}
	return -EINVAL;
}

/* Whether the option has the value that its preset gives. */
static int is_preset(const struct run_options *o, const struct option_spec *spec, bool *ret)
{
	_cleanup_strv_ struct strv now = { 0 }, preset = { 0 };
	struct run_options fresh = { 0 };
	int r = 0;

	if (spec->preset)
		r = run_options_set(&fresh, spec, spec->preset, NULL);
	if (r == 0)
		r = value_text(member_const(&fresh, spec), spec, &preset);
	if (r == 0)
		r = value_text(member_const(o, spec), spec, &now);
	if (r == 0)
		*ret = now.count == preset.count && (now.count == 0 || (now.count == 1 && !strcmp(now.items[0], preset.items[0])));
	run_options_clear(&fresh);
	return r;
}

int run_options_get(const struct run_options *o, const struct option_spec *spec, bool always, struct strv *values)
{
	bool preset = false;
	int r;

	if (!always) {
		r = is_preset(o, spec, &preset);
		if (r < 0)
			return r;
	}
	return preset ? 0 : value_text(member_const(o, spec), spec, values);
}

char *shell_quote(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
	size_t quotes = 0, n = 0;
	char *text;

	if (*word && word[strspn(word, plain)] == '\0')
		return strdup(word);
	for (const char *c = word; *c; c++)
		quotes += *c == '\'';
	text = malloc(strlen(word) + 3 * quotes + 3);
	if (!text)
		return NULL;
	text[n++] = '\'';
	for (const char *c = word; *c; c++) {
		text[n++] = *c;
		if (*c == '\'') {
			text[n++] = '\\';
			text[n++] = '\'';
			text[n++] = '\'';
		}
	}
	text[n++] = '\'';
	text[n] = '\0';
	return text;
}

static int append_word(char **line, const char *word)
{
	_cleanup_free_ char *quoted = shell_quote(word);
	char *longer;

	if (!quoted || asprintf(&longer, "%s%s%s", *line, **line ? " " : "", quoted) < 0)
		return -ENOMEM;
	free(*line);
	*line = longer;
	return 0;
}

static int append_option(char **line, const struct option_spec *spec, const struct strv *values)
{
	_cleanup_free_ char *word = NULL;
	int r = 0;

	for (size_t i = 0; i < values->count && r == 0; i++) {
		free(word);
		if (spec->kind == OPTION_FLAG)
			r = asprintf(&word, "--%s", spec->name);
		else
			r = asprintf(&word, "--%s=%s", spec->name, values->items[i]);
		if (r < 0) {
			word = NULL;
			return -ENOMEM;
		}
		r = append_word(line, word);
	}
	return r;
}

static int append_options(char **line, const struct run_options *o)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(specs) && r == 0; i++) {
		_cleanup_strv_ struct strv values = { 0 };

		r = run_options_get(o, &specs[i], false, &values);
		if (r == 0)
			r = append_option(line, &specs[i], &values);
	}
	return r;
}

char *run_options_command_line(const struct run_options *o)
{
	_cleanup_free_ char *line = strdup("hermit run");
	int r;

	if (!line)
		return NULL;
	r = append_options(&line, o);
	if (r == 0)
		r = append_word(&line, "--");
	for (size_t i = 0; i < o->argv.count && r == 0; i++)
		r = append_word(&line, o->argv.items[i]);
	return r < 0 ? NULL : take_ptr(line);
}

/* ---- fingerprint ---- */

static void hash_text(struct hash *h, const char *text)
{
	hash_add(h, text, strlen(text) + 1);
}

/* What a run depends on in the table of calls. */
static void hash_policy(struct hash *h)
{
	for (int64_t nr = 0; nr <= POLICY_MAX_NR; nr++) {
		const struct policy_row *row = policy_row(nr);
		char text[160];

		if (!row->name)
			continue;
		(void)snprintf(text, sizeof(text), "%d %s %d %u %d %u", (int)nr, row->name, (int)row->class, row->flags,
			       row->error, row->cost_ns);
		hash_text(h, text);
	}
}

int run_options_outcome(const struct run_options *o, struct strv *list)
{
	enum { LISTED_MAX = 100 };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(specs) && r == 0; i++) {
		struct strv values _cleanup_strv_ = { 0 };

		if (!specs[i].outcome)
			continue;
		r = run_options_get(o, &specs[i], false, &values);
		for (size_t j = 0; j < values.count && r == 0 && list->count < LISTED_MAX / 2; j++)
			r = strv_addf(list, "--%s=%s", specs[i].name, values.items[j]);
	}
	for (size_t i = 0; i < o->argv.count && r == 0 && list->count < LISTED_MAX; i++)
		r = strv_addf(list, "argument %zu: %s", i, o->argv.items[i]);
	return r;
}

int run_options_fingerprint(const struct run_options *o, char ret_hex[HASH_HEX_SIZE])
{
	unsigned char digest[HASH_BYTES];
	struct hash h;
	int r;

	hash_init(&h);
	hash_text(&h, "hermit-options-1");
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		_cleanup_strv_ struct strv values = { 0 };

		if (!specs[i].outcome)
			continue;
		r = run_options_get(o, &specs[i], true, &values);
		if (r < 0)
			return r;
		hash_text(&h, specs[i].name);
		for (size_t k = 0; k < values.count; k++)
			hash_text(&h, values.items[k]);
		hash_text(&h, "");
	}
	hash_text(&h, "argv");
	for (size_t i = 0; i < o->argv.count; i++)
		hash_text(&h, o->argv.items[i]);
	hash_policy(&h);
	hash_final(&h, digest);
	hash_hex(digest, sizeof(digest), ret_hex);
	return 0;
}
