/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of a run: text, command line, JSON and fingerprint are the same thing seen four ways. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "engine/policy/policy.h"
#include "engine/time/looks.h"
#include "supervisor/options/options.h"

/* The options know the policy table and that of looks only for the fingerprint; tables of one row stand in for them. */
static struct policy_row only_row = { .name = "read", .class = CLASS_ORDER, .cost_ns = 2000 };

const struct policy_row *policy_row(int64_t nr)
{
	static const struct policy_row none = { 0 };

	return nr == POLICY_MAX_NR ? &only_row : &none;
}

static struct look only_look;

const struct look *looks_row(int64_t nr)
{
	return nr == POLICY_MAX_NR && only_look.most_ns ? &only_look : NULL;
}

static void set(struct run_options *o, const char *name, const char *text)
{
	struct error err = { 0 };

	cr_assert_not_null(option_find(name), "%s", name);
	cr_assert_eq(run_options_set(o, option_find(name), text, &err), 0, "%s", err.text);
}

static void start(struct run_options *o)
{
	cr_assert_eq(run_options_init(o), 0);
	cr_assert_eq(strv_add(&o->argv, "/bin/echo"), 0);
	cr_assert_eq(strv_add(&o->argv, "it's \xff"), 0);
}

/* For each option a value that is not its default. */
static const struct {
	const char *name, *value;
} other_values[] = {
	{ "seed", "18446744073709551615" },
	{ "rng-seed", "1" },
	{ "sched-seed", "0x10" },
	{ "fault-seed", "3" },
	{ "seed-from", "system" },
	{ "fault", "enospc:0.5@write" },
	{ "chaos", "true" },
	{ "sched-heuristic", "random,slowdown:3" },
	{ "preempt", "none" },
	{ "preempt-modules", "lib*.so" },
	{ "preempt-budget", "7" },
	{ "interrupt-at", "3:80+2" },
	{ "happens-before", "/dev/null" },
	{ "runs-post-fork", "random" },
	{ "stacktrace-at", "9" },
	{ "record-schedule", "a.json" },
	{ "replay-schedule", "b.json" },
	{ "stop-at-turn", "100" },
	{ "epoch", "1999-12-31T23:59:59.5Z" },
	{ "uptime", "7.25" },
	{ "quantum", "1" },
	{ "cpus", "4" },
	{ "cpu", "baseline" },
	{ "spin-limit", "5" },
	{ "tsc", "fault" },
	{ "keep-instructions", "true" },
	{ "memory", "2147483648" },
	{ "hostname", "box" },
	{ "base-env", "host" },
	{ "env", "A=b c" },
	{ "workdir", "/tmp" },
	{ "user", "1000:100" },
	{ "group", "5" },
	{ "fs", "overlay:/var/x" },
	{ "writable", "/a" },
	{ "bind", "/x:/y" },
	{ "mount", "type=tmpfs,target=/z" },
	{ "tmp", "/tmp" },
	{ "mtime", "keep" },
	{ "network", "host" },
	{ "strict", "true" },
	{ "allow-uncontrolled", "true" },
	{ "timeout", "1.5" },
	{ "terminal", "true" },
	{ "pace", "host" },
	{ "no-pin", "true" },
	{ "quiet", "true" },
	{ "log", "debug" },
	{ "log-file", "-" },
	{ "log-events", "/tmp/log" },
	{ "log-bytes", "off" },
	{ "verify", "3" },
	{ "verify-json", "v.json" },
	{ "verify-dir", "/tmp/kept" },
	{ "report", "-" },
	{ "summary", "true" },
};

Test(options, every_option_is_tested_here)
{
	size_t n;
	const struct option_spec *specs = option_specs(&n);

	cr_assert_eq(n, ARRAY_SIZE(other_values));
	for (size_t i = 0; i < n; i++)
		cr_assert_str_eq(specs[i].name, other_values[i].name);
}

Test(options, names_and_letters_are_unique)
{
	size_t n;
	const struct option_spec *specs = option_specs(&n);

	for (size_t i = 0; i < n; i++) {
		char letter[2] = { specs[i].letter, '\0' };

		cr_assert_eq(option_find(specs[i].name), &specs[i], "%s", specs[i].name);
		if (specs[i].alias)
			cr_assert_eq(option_find(specs[i].alias), &specs[i], "%s", specs[i].alias);
		if (specs[i].letter)
			cr_assert_eq(option_find(letter), &specs[i], "%s", letter);
	}
	cr_assert_null(option_find("see"));
	cr_assert_null(option_find(""));
}

/* Value -> option -> value gives the value. */
/* Whoever reads --help has to find there what can be said. */
Test(options, choices_are_in_the_help)
{
	size_t n, checked = 0;
	const struct option_spec *specs = option_specs(&n);

	for (size_t i = 0; i < n; i++)
		for (int k = 0; specs[i].kind == OPTION_CHOICE && specs[i].choices[k]; k++, checked++)
			cr_expect(strstr(specs[i].help, specs[i].choices[k]), "--%s: %s", specs[i].name, specs[i].choices[k]);
	cr_assert_gt(checked, 20);
}

Test(options, text_round_trip)
{
	for (size_t i = 0; i < ARRAY_SIZE(other_values); i++) {
		_cleanup_run_options_ struct run_options o = { 0 };
		_cleanup_strv_ struct strv values = { 0 }, preset = { 0 };
		const struct option_spec *spec = option_find(other_values[i].name);

		start(&o);
		cr_assert_eq(run_options_get(&o, spec, false, &preset), 0);
		cr_assert_eq(preset.count, 0, "%s is not at its default", spec->name);
		set(&o, spec->name, other_values[i].value);
		cr_assert_eq(run_options_get(&o, spec, false, &values), 0);
		cr_assert_eq(values.count, 1, "%s", spec->name);
		cr_assert_str_eq(values.items[0], other_values[i].value);
	}
}

/* All options at once -> JSON -> options -> the same JSON. */
Test(options, json_round_trip)
{
	_cleanup_run_options_ struct run_options o = { 0 }, back = { 0 };
	_cleanup_free_ char *text = NULL, *again = NULL;
	struct error err = { 0 };

	start(&o);
	for (size_t i = 0; i < ARRAY_SIZE(other_values); i++)
		set(&o, other_values[i].name, other_values[i].value);
	text = run_options_to_json(&o);
	cr_assert_not_null(text);
	cr_assert_eq(run_options_init(&back), 0);
	cr_assert_eq(run_options_from_json(&back, text, "f.json", &err), 0, "%s", err.text);
	cr_assert_eq(back.argv.count, 2);
	cr_assert_str_eq(back.argv.items[1], "it's \xff");
	again = run_options_to_json(&back);
	cr_assert_str_eq(text, again);
}

Test(options, fingerprint_follows_outcome_only)
{
	_cleanup_run_options_ struct run_options base = { 0 };
	char before[HASH_HEX_SIZE], after[HASH_HEX_SIZE];

	start(&base);
	cr_assert_eq(run_options_fingerprint(&base, before), 0);
	for (size_t i = 0; i < ARRAY_SIZE(other_values); i++) {
		_cleanup_run_options_ struct run_options o = { 0 };
		const struct option_spec *spec = option_find(other_values[i].name);

		start(&o);
		set(&o, spec->name, other_values[i].value);
		cr_assert_eq(run_options_fingerprint(&o, after), 0);
		cr_assert_eq(strcmp(before, after) != 0, spec->outcome, "%s", spec->name);
	}
	cr_assert_eq(strv_add(&base.argv, ""), 0);
	cr_assert_eq(run_options_fingerprint(&base, after), 0);
	cr_assert_str_neq(before, after, "an empty argument is an argument");
	only_row.cost_ns++;
	cr_assert_eq(run_options_fingerprint(&base, before), 0);
	cr_assert_str_neq(before, after, "a change of the last row of the policy table counts");
	only_look.most_ns = 1;
	cr_assert_eq(run_options_fingerprint(&base, after), 0);
	cr_assert_str_neq(before, after, "so does one of the table of looks");
}

Test(options, command_line_is_short_and_quoted)
{
	_cleanup_run_options_ struct run_options o = { 0 };
	_cleanup_free_ char *line = NULL;

	start(&o);
	set(&o, "seed", "7");
	set(&o, "uptime", "2m");
	set(&o, "env", "A=x y");
	set(&o, "env", "B=");
	set(&o, "strict", NULL);
	line = run_options_command_line(&o);
	cr_assert_str_eq(line, "hermit run --seed=7 '--env=A=x y' --env=B= --strict -- /bin/echo 'it'\\''s \xff'");
}

Test(options, mistakes_are_named)
{
	static const struct {
		const char *name, *value, *message;
	} rows[] = {
		{ "seed", "x", "--seed: 'x' is not a number" },
		{ "cpus", "0", "--cpus: '0' is not between 1 and 1024" },
		{ "seed", "18446744073709551616", "--seed: '18446744073709551616' is out of range" },
		{ "base-env", "all", "--base-env: there is no 'all'; known: empty, minimal, host" },
		{ "strict", "yes", "--strict: is true or false, not 'yes'" },
		{ "env", "=x", "--env: '=x' has no name" },
		{ "env", "SURELY_NOT_SET_ANYWHERE", "--env: 'SURELY_NOT_SET_ANYWHERE' is not set in the environment" },
		{ "hostname", NULL, "--hostname: needs an argument" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_run_options_ struct run_options o = { 0 };
		struct error err = { 0 };

		start(&o);
		cr_assert_lt(run_options_set(&o, option_find(rows[i].name), rows[i].value, &err), 0, "%s", rows[i].name);
		cr_assert_str_eq(err.text, rows[i].message);
	}
}

Test(options, combinations)
{
	static const struct {
		const char *a, *va, *b, *vb;
		int result;
	} rows[] = {
		{ "strict", "true", "allow-uncontrolled", "true", -EINVAL },
		{ "strict", "true", "network", "host", -EINVAL },
		{ "fs", "host", "writable", "/a", -EINVAL },
		{ "fs", "overlay:", "seed", "1", -EINVAL },
		{ "fs", "elsewhere", "seed", "1", -EINVAL },
		{ "quantum", "0", "seed", "1", -EINVAL },
		{ "fs", "overlay", "writable", "/a", 0 },
		{ "strict", "true", "network", "local", 0 },
	};
	_cleanup_run_options_ struct run_options empty = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_run_options_ struct run_options o = { 0 };
		struct error err = { 0 };

		start(&o);
		set(&o, rows[i].a, rows[i].va);
		set(&o, rows[i].b, rows[i].vb);
		cr_assert_eq(run_options_validate(&o, &err), rows[i].result, "row %zu: %s", i, err.text);
	}
	cr_assert_eq(run_options_init(&empty), 0);
	cr_assert_eq(run_options_validate(&empty, NULL), -EINVAL);
}

Test(options, bad_documents)
{
#define HEAD "{\"format\":\"hermit-config\",\"version\":1,"
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "", "f:1:0: '[' or '{' expected near end of file" },
		{ "[]", "f: not a document of format 'hermit-config'" },
		{ "{\"format\":\"hermit-config\",\"version\":2}", "f: version 2 of the format is not known, only 1" },
		{ HEAD "\"options\":{}}", "f: 'options' (an object) or 'command' (an array) is missing" },
		{ HEAD "\"options\":{\"sed\":1},\"command\":[]}", "f: options: there is no option 'sed'" },
		{ HEAD "\"options\":{\"e\":[]},\"command\":[]}", "f: options: there is no option 'e'" },
		{ HEAD "\"options\":{\"seed\":-1},\"command\":[]}", "f: --seed: the value has no text form" },
		{ HEAD "\"options\":{\"seed\":[1]},\"command\":[]}", "f: --seed: must not be an array" },
		{ HEAD "\"options\":{\"env\":\"A=1\"},\"command\":[]}", "f: --env: has to be an array" },
		{ HEAD "\"options\":{},\"command\":[{\"hex\":\"6\"}]}", "f: command: item 0 is not a string" },
		{ HEAD "\"options\":{},\"command\":[{\"hex\":\"00\"}]}", "f: command: item 0 is not a string" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_run_options_ struct run_options o = { 0 };
		struct error err = { 0 };

		cr_assert_eq(run_options_init(&o), 0);
		cr_assert_lt(run_options_from_json(&o, rows[i].text, "f", &err), 0, "row %zu", i);
		cr_assert_str_eq(err.text, rows[i].message);
	}
}

/* A file is what is in it, whatever it is called. */
Test(options, files_count_by_content)
{
	char paths[2][32] = { "/tmp/hermit-options-XXXXXX", "/tmp/hermit-options-XXXXXX" };
	char one[HASH_HEX_SIZE], other[HASH_HEX_SIZE];

	for (int i = 0; i < 2; i++) {
		int fd = mkstemp(paths[i]);

		cr_assert(fd >= 0 && write(fd, "{}", 2) == 2);
		(void)close(fd);
	}
	for (int i = 0; i < 3; i++) {
		_cleanup_run_options_ struct run_options o = { 0 };

		start(&o);
		if (i == 2)
			cr_assert_eq(truncate(paths[1], 1), 0);
		set(&o, "happens-before", paths[i > 0]);
		cr_assert_eq(run_options_fingerprint(&o, i ? other : one), 0);
		cr_expect_eq(strcmp(one, i ? other : one) == 0, i < 2, "file %d", i);
	}
	for (int i = 0; i < 2; i++)
		(void)unlink(paths[i]);
}

Test(options, files_that_are_not_there)
{
	_cleanup_run_options_ struct run_options o = { 0 };
	struct error err = { 0 };

	start(&o);
	cr_assert_eq(run_options_set(&o, option_find("happens-before"), "/nowhere/order", &err), -ENOENT);
	cr_expect_str_eq(err.text, "--happens-before: /nowhere/order: No such file or directory");
}

Test(options, foreign_fingerprint_is_refused)
{
	static const char text[] = HEAD "\"fingerprint\":\"0123456789abcdef\",\"options\":{},\"command\":[\"x\"]}";
	_cleanup_run_options_ struct run_options o = { 0 };
	struct error err = { 0 };

	cr_assert_eq(run_options_init(&o), 0);
	cr_assert_eq(run_options_from_json(&o, text, "f", &err), -EINVAL);
	cr_assert_not_null(strstr(err.text, "fingerprint 0123456789ab... does not fit"), "%s", err.text);
}
