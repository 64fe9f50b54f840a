/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a person can ask of a run, as one struct and one table. From the table come the options of `hermit run`, its --help,
 * the list in hermit-run(1) (a test compares), files of --save-config and --config-file, a command line that reproduces the
 * run, and the fingerprint that logs and recordings carry.
 *
 * Every option has a text form; setting an option from its text form and reading it back gives the same option.
 */
#ifndef HS_SUPERVISOR_OPTIONS_H
#define HS_SUPERVISOR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/strv.h"

enum base_env { BASE_ENV_EMPTY, BASE_ENV_MINIMAL, BASE_ENV_HOST };
enum option_network { NETWORK_LOCAL, NETWORK_HOST, NETWORK_VETH };
enum option_mtime { MTIME_FIXED, MTIME_KEEP };
enum option_pace { PACE_NONE, PACE_HOST };
enum option_seed_from { SEED_FROM_ARGS, SEED_FROM_SYSTEM };
enum option_log_bytes { LOG_BYTES_HASH, LOG_BYTES_OFF };

/*
 * A file that decides what the run is. It is read when the option is set: what is in it is what counts, and not what it is called.
 * (--replay-schedule is none: a run that follows a schedule is the run that the schedule was made by.)
 */
struct option_file {
	char *path; /* NULL: not given */
	char *text; /* with a NUL behind it */
	size_t len;
};

/* Zeroed, then run_options_init(). Strings are owned; NULL is "not given". */
struct run_options {
	struct strv argv; /* program and arguments */
	struct strv front, back; /* the words around the options where the command is not `hermit run ... -- PROGRAM ARGUMENT...` */

	uint64_t seed;
	char *rng_seed, *sched_seed, *fault_seed; /* NULL: seed */
	int seed_from; /* enum option_seed_from */
	bool chaos;
	struct strv faults; /* as fault_parse() takes them */
	char *sched_heuristic; /* as sched_policy_parse() takes it */
	int post_fork; /* enum engine_post_fork */
	int preempt;   /* enum engine_preempt */
	uint64_t preempt_budget;
	struct strv preempt_modules;
	struct option_file happens_before;
	struct strv interrupts; /* as interrupt_parse() takes them */
	uint64_t stop_at_turn, stacktrace_at; /* 0: never */
	char *record_schedule, *replay_schedule; /* FILE */
	uint64_t epoch_ns;
	uint64_t uptime_ns;
	uint64_t quantum_ns;
	uint64_t cpus;
	int cpu; /* enum cpuid_level */
	bool keep_instructions;
	int tsc; /* enum run_tsc */
	uint64_t spin_limit_ns; /* real time */
	uint64_t memory_bytes;
	char *hostname;

	int base_env; /* enum base_env */
	struct strv env; /* NAME=VALUE */
	char *workdir;
	char *user, *group;

	char *fs; /* "cwd", "overlay", "overlay:DIR", "host" */
	struct strv writable, bind, mount;
	char *tmp;
	int mtime; /* enum option_mtime */
	int pace;  /* enum option_pace */
	int network; /* enum option_network */

	bool strict, allow_uncontrolled;
	uint64_t timeout_ns; /* real time; 0: none */
	bool terminal;
	bool no_pin;
	bool quiet;
	char *log, *log_file;

	/* What is shown of the run; changes nothing in it. */
	char *log_events, *report;
	int log_bytes; /* enum option_log_bytes */
	bool summary;
	uint64_t verify; /* how many runs are compared; 0: no verification */
	char *verify_json, *verify_dir;
};

enum option_kind {
	OPTION_FLAG, /* bool; no argument */
	OPTION_NUMBER,
	OPTION_SIZE, /* bytes */
	OPTION_DURATION,
	OPTION_TIME,
	OPTION_TEXT,
	OPTION_FILE, /* struct option_file */
	OPTION_CHOICE, /* int, an index into choices */
	OPTION_LIST, /* may be given several times */
	OPTION_ENV, /* a list of NAME=VALUE; NAME alone takes the caller's value */
};

/*
 * Where an option can be set for the container of a bundle. What the document says itself (files, user, environment) is no option there.
 * Each one includes those above it; 0: nowhere.
 */
enum option_bundle {
	BUNDLE_COMMAND = 1, /* by the command line of a run in the foreground */
	BUNDLE_DEFAULTS,    /* also by the file of defaults: whoever may write a config.json may not always write files of the host */
	BUNDLE_ANNOTATION,  /* everywhere */
};

struct option_spec {
	const char *name; /* without the dashes */
	const char *alias; /* another long name, or NULL */
	char letter; /* 0: none */
	enum option_kind kind;
	enum option_bundle bundle;
	size_t offset; /* in struct run_options */
	const char *arg; /* what the argument is called in help */
	const char *implied; /* the argument can be left out and is then this; NULL: it cannot */
	const char *preset; /* text form of the default; NULL: not given, empty, off */
	const char *const *choices; /* OPTION_CHOICE, ended by NULL */
	uint64_t least, most; /* OPTION_NUMBER, OPTION_SIZE; 0, 0: any */
	bool outcome; /* part of the fingerprint: can change what the guest sees */
	const char *help; /* a sentence without final dot */
};

const struct option_spec *option_specs(size_t *ret_count);

/* By name, alias or "x" for the letter; NULL for none. */
const struct option_spec *option_find(const char *name);

/* All defaults. 0 or -ENOMEM. */
int run_options_init(struct run_options *o);
void run_options_clear(struct run_options *o);
#define _cleanup_run_options_ __attribute__((cleanup(run_options_clear)))

/* A copy that is the caller's to clear; of files, what was read once. 0 or -errno with a message. */
int run_options_copy(const struct run_options *o, struct run_options *ret, struct error *err);

/* Sets one option from its text form (lists: adds); text is NULL or "true" or "false" for a flag. */
int run_options_set(struct run_options *o, const struct option_spec *spec, const char *text, struct error *err);

/* What one option by itself cannot know: combinations. */
int run_options_check(const struct run_options *o, struct error *err);

/* The same, and there has to be a program. */
int run_options_validate(const struct run_options *o, struct error *err);

/* With --seed-from=system a seed is drawn, shown unless --quiet, and becomes the value of --seed, so that the run can be repeated. */
int run_options_draw_seed(struct run_options *o, struct error *err);

/* The seed of one kind: its own, or that of --seed. `own` has passed run_options_validate(). */
uint64_t run_options_seed(const struct run_options *o, const char *own);

/* Adds the text forms of an option's values: none when it has its default or is an empty list, unless `always`. */
int run_options_get(const struct run_options *o, const struct option_spec *spec, bool always, struct strv *values);

/*
 * "hermit run --seed=7 -- PROGRAM ARGS", or with front and back in place of these: only what differs from the defaults, quoted for a shell.
 * The caller frees.
 */
char *run_options_command_line(const struct run_options *o);

/*
 * What the fingerprint is made of, for people: "--seed=7" for each option that can change the outcome, then "argument N: TEXT" of the
 * program. What is too much is left out. 0 or -ENOMEM; the list is the caller's.
 */
int run_options_outcome(const struct run_options *o, struct strv *list);

/* SHA-256 over the options that can change the outcome, the program and its arguments, and the policy table. */
int run_options_fingerprint(const struct run_options *o, char ret_hex[HASH_HEX_SIZE]);

/* A JSON document with all of it; the caller frees. NULL when out of memory. */
char *run_options_to_json(const struct run_options *o);

/*
 * Sets what the document says, on top of what o has. `name` stands in front of messages. A document with a fingerprint that
 * does not fit its options is refused.
 */
int run_options_from_json(struct run_options *o, const char *text, const char *name, struct error *err);

/*
 * The same for a file of defaults that a person writes: one object of options and values, { "seed": 7, "strict": true }. Options that
 * `wanted` does not take are an error.
 */
int run_options_from_defaults(struct run_options *o, const char *text, const char *name,
			      bool (*wanted)(const struct option_spec *spec), struct error *err);

/* A word so that a POSIX shell reads it as it is; the caller frees. */
char *shell_quote(const char *word);

#endif
