/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of options: see options.h. */
#include "supervisor/options/options.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

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
	{ "seed", .kind = OPTION_NUMBER, .bundle = BUNDLE_ANNOTATION, .offset = AT(seed),
	  .arg = "N", .preset = "0", .outcome = true,
	  .help = "root of all random numbers that the program sees" },
	{ "rng-seed", .kind = OPTION_TEXT, .bundle = BUNDLE_ANNOTATION, .offset = AT(rng_seed), .arg = "N", .outcome = true,
	  .help = "root of the random numbers that the program sees, when not --seed" },
	{ "sched-seed", .kind = OPTION_TEXT, .bundle = BUNDLE_ANNOTATION, .offset = AT(sched_seed), .arg = "N", .outcome = true,
	  .help = "root of the choices of the scheduler, when not --seed" },
	{ "fault-seed", .kind = OPTION_TEXT, .bundle = BUNDLE_ANNOTATION, .offset = AT(fault_seed), .arg = "N", .outcome = true,
	  .help = "root of the choices of faults, when not --seed" },
	{ "seed-from", .kind = OPTION_CHOICE, .bundle = BUNDLE_COMMAND, .offset = AT(seed_from),
	  .arg = "WHICH", .preset = "args", .choices = seed_from_names,
	  .help = "args: --seed; system: a seed is drawn, and shown first" },
	{ "fault", .kind = OPTION_LIST, .bundle = BUNDLE_ANNOTATION, .offset = AT(faults),
	  .arg = "KIND[:P][@WHERE]", .outcome = true,
	  .help = "let calls fail, do less or take time by chance, with probability P (0.01), in one call or on files of one path: short, eintr, "
		  "eagain, enospc, nomem, reset, udp-drop, udp-delay, latency, clock-jump; may be repeated" },
	{ "chaos", .kind = OPTION_FLAG, .bundle = BUNDLE_ANNOTATION, .offset = AT(chaos), .outcome = true,
	  .help = "another schedule for each seed: a switch may happen at every event, and what Linux leaves open is drawn" },
	{ "sched-heuristic", .kind = OPTION_TEXT, .bundle = BUNDLE_ANNOTATION, .offset = AT(sched_heuristic),
	  .arg = "LIST", .preset = "mixed", .outcome = true,
	  .help = "how --chaos chooses: one of roundrobin, random, stickyrandom[:P], pct[:D], mixed, and any of connectbind, "
		  "slowdown[:R], with commas between them" },
	{ "preempt", .kind = OPTION_CHOICE, .bundle = BUNDLE_ANNOTATION, .offset = AT(preempt),
	  .arg = "WHERE", .preset = "syscalls", .choices = preempt_names,
	  .outcome = true, .help = "where --chaos takes the turn from a thread: none, only where it blocks; syscalls, at each call; steps, also some "
				   "instructions behind one; functions, also where functions and basic blocks begin" },
	{ "preempt-modules", .kind = OPTION_LIST, .bundle = BUNDLE_ANNOTATION, .offset = AT(preempt_modules),
	  .arg = "PATTERN", .outcome = true,
	  .help = "files whose code --preempt=functions looks at: names, or paths, with wildcards; may be repeated (default: the program, and "
		  "what lies outside of the system's folders)" },
	{ "preempt-budget", .kind = OPTION_NUMBER, .bundle = BUNDLE_ANNOTATION, .offset = AT(preempt_budget),
	  .arg = "N", .preset = "200000", .outcome = true,
	  .help = "how many instructions or places --preempt counts at most" },
	{ "interrupt-at", .kind = OPTION_LIST, .bundle = BUNDLE_ANNOTATION, .offset = AT(interrupts),
	  .arg = "THREAD:TURN[+K]", .outcome = true,
	  .help = "at this turn another thread goes on, after K instructions of this one; may be repeated" },
	{ "happens-before", .kind = OPTION_FILE, .offset = AT(happens_before), .arg = "FILE", .outcome = true,
	  .help = "keep the order of calls, functions and source lines of threads that this file asks for, as JSON" },
	{ "runs-post-fork", .kind = OPTION_CHOICE, .bundle = BUNDLE_ANNOTATION, .offset = AT(post_fork),
	  .arg = "WHO", .preset = "parent",
	  .choices = post_fork_names, .outcome = true, .help = "who goes on after a fork or the start of a thread: parent, child or random" },
	{ "stacktrace-at", .kind = OPTION_NUMBER, .bundle = BUNDLE_COMMAND, .offset = AT(stacktrace_at), .arg = "N", .preset = "0",
	  .help = "show what all threads do, and their stacks, when turn N comes, and go on; 0: never" },
	{ "record-schedule", .kind = OPTION_TEXT, .bundle = BUNDLE_COMMAND, .offset = AT(record_schedule), .arg = "FILE",
	  .help = "write who was picked when, as JSON" },
	{ "replay-schedule", .kind = OPTION_TEXT, .bundle = BUNDLE_COMMAND, .offset = AT(replay_schedule), .arg = "FILE",
	  .help = "pick threads as such a file says; status 119 when the program does not fit it" },
	{ "stop-at-turn", .kind = OPTION_NUMBER, .bundle = BUNDLE_COMMAND, .offset = AT(stop_at_turn), .arg = "N", .preset = "0",
	  .help = "end the run, with status 118, when it comes to turn N; 0: never" },
	{ "epoch", .kind = OPTION_TIME, .bundle = BUNDLE_ANNOTATION, .offset = AT(epoch_ns),
	  .arg = "TIME", .preset = "2026-01-01T00:00:00Z",
	  .outcome = true, .help = "date and time at the start, as in 2026-01-01T00:00:00Z or @SECONDS" },
	{ "uptime", "sysinfo-uptime-offset", .kind = OPTION_DURATION, .bundle = BUNDLE_ANNOTATION, .offset = AT(uptime_ns),
	  .arg = "TIME",
	  .preset = "120", .outcome = true, .help = "how long the machine seems to be up at the start" },
	{ "quantum", .kind = OPTION_DURATION, .bundle = BUNDLE_ANNOTATION, .offset = AT(quantum_ns),
	  .arg = "TIME", .preset = "0.001", .outcome = true,
	  .help = "virtual time after which another thread of the same priority gets its turn" },
	{ "cpus", .kind = OPTION_NUMBER, .bundle = BUNDLE_ANNOTATION, .offset = AT(cpus),
	  .arg = "N", .preset = "1", .least = 1, .most = 1024,
	  .outcome = true, .help = "how many processors the program sees" },
	{ "cpu", .kind = OPTION_CHOICE, .bundle = BUNDLE_ANNOTATION, .offset = AT(cpu),
	  .arg = "WHICH", .preset = "host", .choices = cpu_names, .outcome = true,
	  .help = "which processor the program sees: host, this one, less what no run can control; or one that is the same on every "
		  "host: baseline, x86-64-v2, x86-64-v3" },
	{ "spin-limit", .kind = OPTION_DURATION, .bundle = BUNDLE_ANNOTATION, .offset = AT(spin_limit_ns),
	  .arg = "TIME", .preset = "60", .outcome = true,
	  .help = "real time after which a loop that others wait for is left although it changes something each time; 0: never" },
	{ "tsc", .kind = OPTION_CHOICE, .bundle = BUNDLE_ANNOTATION, .offset = AT(tsc),
	  .arg = "HOW", .preset = "auto", .choices = tsc_names, .outcome = true,
	  .help = "how RDTSC is put under control: replace, in files that programs map; fault, by the processor, everywhere; auto: fault "
		  "where that works" },
	{ "keep-instructions", .kind = OPTION_FLAG, .bundle = BUNDLE_ANNOTATION, .offset = AT(keep_instructions), .outcome = true,
	  .help = "leave instructions as they are that show the host: RDTSC, CPUID, RDRAND and their like" },
	{ "memory", .kind = OPTION_SIZE, .bundle = BUNDLE_ANNOTATION, .offset = AT(memory_bytes),
	  .arg = "BYTES", .preset = "1GB", .least = 1 << 20,
	  .most = 1ull << 50, .outcome = true, .help = "how much memory the program sees; nothing is enforced" },
	{ "hostname", .kind = OPTION_TEXT, .offset = AT(hostname), .arg = "NAME", .preset = "hermit", .outcome = true,
	  .help = "name of the machine" },
	{ "base-env", .kind = OPTION_CHOICE, .offset = AT(base_env), .arg = "WHICH", .preset = "minimal",
	  .choices = base_env_names, .outcome = true,
	  .help = "environment to start from: empty, nothing; minimal, PATH and HOME (and TERM on a terminal); host, the caller's" },
	{ "env", .letter = 'e', .kind = OPTION_ENV, .offset = AT(env), .arg = "NAME[=VALUE]", .outcome = true,
	  .help = "add a variable; NAME alone takes the caller's value; may be repeated" },
	{ "workdir", "cwd", 'w', .kind = OPTION_TEXT, .offset = AT(workdir), .arg = "DIR", .outcome = true,
	  .help = "directory to start in, in the program's view (default: the caller's)" },
	{ "user", .letter = 'u', .kind = OPTION_TEXT, .offset = AT(user), .arg = "USER[:GROUP]", .outcome = true,
	  .help = "user and group to run as, in the container: numbers, or names of this host; a user's name says the group as well (default: 0)" },
	{ "group", .kind = OPTION_TEXT, .offset = AT(group), .arg = "GROUP", .outcome = true,
	  .help = "group to run as, a number or a name" },
	{ "fs", .kind = OPTION_TEXT, .offset = AT(fs), .arg = "WHICH", .preset = "cwd", .outcome = true,
	  .help = "what is written for real: cwd, the working directory only; overlay, nothing; overlay:DIR, nothing, but what "
		  "would be is kept in DIR, which has to exist; host, everything" },
	{ "writable", .kind = OPTION_LIST, .offset = AT(writable), .arg = "DIR", .outcome = true,
	  .help = "a directory that is written for real; may be repeated" },
	{ "bind", .kind = OPTION_LIST, .offset = AT(bind), .arg = "SRC[:DST[:ro]]", .outcome = true,
	  .help = "show a file or directory of the host at DST; may be repeated" },
	{ "mount", .kind = OPTION_LIST, .offset = AT(mount), .arg = "SPEC", .outcome = true,
	  .help = "type=bind,source=SRC,target=DST[,readonly] or type=tmpfs,target=DST[,size=BYTES]; may be repeated" },
	{ "tmp", .kind = OPTION_TEXT, .offset = AT(tmp), .arg = "DIR", .outcome = true,
	  .help = "directory of the host to show as /tmp (default: an empty one that is thrown away)" },
	{ "mtime", .kind = OPTION_CHOICE, .bundle = BUNDLE_ANNOTATION, .offset = AT(mtime),
	  .arg = "WHICH", .preset = "fixed", .choices = mtime_names,
	  .outcome = true, .help = "times of files that the run has not touched: fixed, one for all; keep, the real ones" },
	{ "network", "net", .kind = OPTION_CHOICE, .offset = AT(network), .arg = "KIND", .preset = "local",
	  .choices = network_names, .outcome = true,
	  .help = "which network the program has: local, one of its own with nothing but loopback; veth, also with a pair of virtual devices, "
		  "eth0 and peer0; host, the host's, which no run controls and which is listed as such" },
	{ "strict", .kind = OPTION_FLAG, .bundle = BUNDLE_ANNOTATION, .offset = AT(strict), .outcome = true,
	  .help = "end the run at the first thing that is not under control" },
	{ "allow-uncontrolled", .kind = OPTION_FLAG, .bundle = BUNDLE_ANNOTATION, .offset = AT(allow_uncontrolled), .outcome = true,
	  .help = "let calls through that are not modelled, and report them" },
	{ "timeout", .kind = OPTION_DURATION, .bundle = BUNDLE_ANNOTATION, .offset = AT(timeout_ns), .arg = "TIME", .preset = "0",
	  .help = "end the run after this much real time, with status 124; 0: never" },
	{ "terminal", .letter = 't', .kind = OPTION_FLAG, .offset = AT(terminal),
	  .help = "give the program a terminal of its own, with job control" },
	{ "pace", .kind = OPTION_CHOICE, .bundle = BUNDLE_ANNOTATION, .offset = AT(pace),
	  .arg = "WHICH", .preset = "none", .choices = pace_names,
	  .help = "none: time that everybody waits for is skipped; host: it passes, so that others find the program there meanwhile" },
	{ "no-pin", .kind = OPTION_FLAG, .bundle = BUNDLE_ANNOTATION, .offset = AT(no_pin),
	  .help = "do not keep the program and its supervisor on one processor (slow)" },
	{ "quiet", .letter = 'q', .kind = OPTION_FLAG, .bundle = BUNDLE_ANNOTATION, .offset = AT(quiet),
	  .help = "do not list uncontrolled happenings at the end" },
	{ "log", .kind = OPTION_TEXT, .bundle = BUNDLE_ANNOTATION, .offset = AT(log), .arg = "LEVEL",
	  .help = "messages of the tool itself: off, error, warning, info, debug" },
	{ "log-file", .kind = OPTION_TEXT, .bundle = BUNDLE_DEFAULTS, .offset = AT(log_file), .arg = "FILE",
	  .help = "write these messages to a file instead of standard error" },
	{ "log-events", .kind = OPTION_TEXT, .bundle = BUNDLE_DEFAULTS, .offset = AT(log_events), .arg = "FILE",
	  .help = "write what happens to a log, one event a line ('-': standard output; compressed when the name ends in .zst)" },
	{ "log-bytes", .kind = OPTION_CHOICE, .bundle = BUNDLE_ANNOTATION, .offset = AT(log_bytes),
	  .arg = "WHICH", .preset = "hash", .choices = log_bytes_names,
	  .help = "what such a log has of the bytes that calls move: hash, or nothing (off), which is faster" },
	{ "verify", .kind = OPTION_NUMBER, .bundle = BUNDLE_COMMAND, .offset = AT(verify),
	  .arg = "N", .implied = "2", .preset = "0", .most = 1000,
	  .help = "run the program N times (2 when no number is given) from equal starting points, writing nothing for real, and "
		  "compare the runs" },
	{ "verify-json", .kind = OPTION_TEXT, .bundle = BUNDLE_COMMAND, .offset = AT(verify_json), .arg = "FILE",
	  .help = "write the result of --verify to a file" },
	{ "verify-dir", .kind = OPTION_TEXT, .bundle = BUNDLE_COMMAND, .offset = AT(verify_dir), .arg = "DIR",
	  .help = "where --verify keeps logs and output of runs that differ (default: a new directory in TMPDIR)" },
	{ "report", .kind = OPTION_TEXT, .bundle = BUNDLE_COMMAND, .offset = AT(report), .arg = "FILE",
	  .help = "write a report on the run to a file, as JSON ('-': standard output)" },
	{ "summary", .kind = OPTION_FLAG, .bundle = BUNDLE_COMMAND, .offset = AT(summary),
	  .help = "print a summary of the run at its end" },
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
