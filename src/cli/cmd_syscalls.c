/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hermit syscalls: the policy table, for a person or a program. A format is three functions; rows come in order of number.
 * The table's texts are plain ASCII without quotes or backslashes (a unit test sees to it), so they go into JSON as they are.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "engine/policy/decode.h"
#include "engine/policy/policy.h"
#include "supervisor/exit_codes.h"

struct format {
	void (*begin)(void);
	void (*row)(int nr, const struct policy_row *row, bool first);
	void (*end)(void);
};

static void nothing(void)
{
}

static void print_args(const struct policy_row *row)
{
	for (unsigned i = 0; i < row->nargs; i++)
		(void)printf("%s%s", i ? ", " : "", policy_kind_name(row->args[i].kind));
}

static void list_begin(void)
{
	(void)printf("%3s  %-24s %-8s %6s  %s\n", "NR", "NAME", "CLASS", "NS", "WHY");
}

static void list_row(int nr, const struct policy_row *row, bool first)
{
	(void)printf("%3d  %-24s %-8s %6u  %s%s%s\n", nr, row->name ? row->name : "-", policy_class_name(row->class), row->cost_ns,
		     row->class == CLASS_REFUSE ? decode_errno_name(row->error) : "", row->class == CLASS_REFUSE ? ": " : "",
		     row->why);
}

static const char *interruption(const struct policy_row *row)
{
	if (row->flags & CALL_RESTARTS)
		return "restarted under SA_RESTART, else EINTR";
	if (row->flags & CALL_NOHAND)
		return "EINTR, restarted when no handler ran";
	return "EINTR";
}

static void details_row(int nr, const struct policy_row *row, bool first)
{
	(void)printf("%s%s (%d)\n", first ? "" : "\n", row->name ? row->name : "-", nr);
	(void)printf("  class      %s: %s\n", policy_class_name(row->class), policy_class_meaning(row->class));
	(void)printf("  why        %s\n", row->why);
	(void)printf("  arguments  ");
	print_args(row);
	(void)printf("\n");
	if (row->class == CLASS_REFUSE)
		(void)printf("  error      %s\n", decode_errno_name(row->error));
	else
		(void)printf("  result     %s\n", policy_ret_name(row->ret));
	if (row->flags & CALL_MAY_BLOCK)
		(void)printf("  blocks     yes; after a signal: %s\n", interruption(row));
	(void)printf("  cost       %u ns of virtual time\n", row->cost_ns);
}

static void markdown_begin(void)
{
	(void)printf("| number | name | class | arguments | error | cost/ns | why |\n");
	(void)printf("| ---: | --- | --- | --- | --- | ---: | --- |\n");
}

static void markdown_row(int nr, const struct policy_row *row, bool first)
{
	(void)printf("| %d | %s | %s | ", nr, row->name ? row->name : "-", policy_class_name(row->class));
	print_args(row);
	(void)printf(" | %s | %u | %s |\n", row->error ? decode_errno_name(row->error) : "", row->cost_ns, row->why);
}

static void json_begin(void)
{
	(void)printf("[");
}

static void json_row(int nr, const struct policy_row *row, bool first)
{
	(void)printf("%s\n\t{\"number\": %d, \"name\": \"%s\", \"class\": \"%s\", \"arguments\": [", first ? "" : ",", nr,
		     row->name ? row->name : "", policy_class_name(row->class));
	for (unsigned i = 0; i < row->nargs; i++)
		(void)printf("%s\"%s\"", i ? ", " : "", policy_kind_name(row->args[i].kind));
	(void)printf("], \"result\": \"%s\", \"may_block\": %s, ", policy_ret_name(row->ret),
		     row->flags & CALL_MAY_BLOCK ? "true" : "false");
	if (row->error)
		(void)printf("\"error\": \"%s\", ", decode_errno_name(row->error));
	(void)printf("\"cost_ns\": %u, \"why\": \"%s\"}", row->cost_ns, row->why);
}

static void json_end(void)
{
	(void)printf("\n]\n");
}

static const struct format format_list = { list_begin, list_row, nothing };
static const struct format format_details = { nothing, details_row, nothing };
static const struct format format_markdown = { markdown_begin, markdown_row, nothing };
static const struct format format_json = { json_begin, json_row, json_end };

struct options {
	const struct format *format; /* NULL: a list for all, details for those that are named */
	bool classes[CLASS_REFUSE + 1];
	bool by_class;
	bool wanted[POLICY_MAX_NR + 1];
	bool by_name;
};

static int choose_class(struct options *options, const char *name)
{
	for (enum policy_class class = CLASS_PASS; class <= CLASS_REFUSE; class++) {
		if (strcasecmp(policy_class_name(class), name) != 0)
			continue;
		options->classes[class] = true;
		options->by_class = true;
		return 0;
	}
	return -1;
}

static int choose_call(struct options *options, const char *word)
{
	int nr = policy_number(word);
	uint64_t number;

	if (nr < 0 && parse_u64(word, &number) == 0 && number <= POLICY_MAX_NR)
		nr = (int)number;
	if (nr < 0)
		return -1;
	options->wanted[nr] = true;
	options->by_name = true;
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'c':
		if (choose_class(options, arg) < 0)
			argp_error(state, "there is no class '%s': PASS, ORDER, FIXUP, EMULATE and REFUSE are known", arg);
		return 0;
	case 'm':
		options->format = &format_markdown;
		return 0;
	case 'j':
		options->format = &format_json;
		return 0;
	case ARGP_KEY_ARG:
		if (choose_call(options, arg) < 0)
			argp_error(state, "there is no system call '%s'", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool is_chosen(const struct options *options, int nr, const struct policy_row *row)
{
	if (options->by_name && !options->wanted[nr])
		return false;
	if (options->by_class)
		return options->classes[row->class];
	return row->name || options->by_name;
}

static size_t print_rows(const struct options *options, const struct format *format)
{
	size_t n = 0;

	format->begin();
	for (int nr = 0; nr <= POLICY_MAX_NR; nr++) {
		const struct policy_row *row = policy_row(nr);

		if (is_chosen(options, nr, row))
			format->row(nr, row, n++ == 0);
	}
	format->end();
	return n;
}

int cmd_syscalls(int argc, char **argv)
{
	static const struct argp_option known[] = {
		{ "class", 'c', "CLASS", 0, "only calls of this class: PASS, ORDER, FIXUP, EMULATE or REFUSE; may be repeated", 0 },
		{ "markdown", 'm', NULL, 0, "print a table in Markdown", 0 },
		{ "json", 'j', NULL, 0, "print JSON", 0 },
		{ 0 },
	};
	static const struct argp argp = {
		.options = known,
		.parser = parse_option,
		.args_doc = "[NAME|NUMBER...]",
		.doc = "Prints what is done about each system call, and why: all of them in a list, or those named in detail.",
	};
	struct options options = { 0 };
	const struct format *format;

	command_prepare("hermit", "syscalls", argv);
	if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_CODE_TOOL;
	format = options.format;
	if (!format)
		format = options.by_name ? &format_details : &format_list;
	(void)print_rows(&options, format);
	return 0;
}
