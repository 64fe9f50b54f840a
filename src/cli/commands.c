/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding a command, suggesting one, help: see commands.h. */
#include "cli/commands.h"

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "config.h"
#include "supervisor/exit_codes.h"

enum { MAX_NAME = 31 };

enum log_level arg_log_level = LOG_LEVEL_WARNING;

const struct command *command_find(const struct command_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (!strcmp(table->commands[i].name, name))
			return &table->commands[i];
	return NULL;
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Insertions, deletions and replacements that turn a into b. Both are at most MAX_NAME long. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[MAX_NAME + 1], n = strlen(b), diagonal, above;

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			above = row[j];
			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[n];
}

/* 0 for a beginning of the command's name; SIZE_MAX when they have nothing in common. */
static size_t distance_to(const char *name, const struct command *command)
{
	size_t len = strlen(name), distance;

	if (len == 0 || len > MAX_NAME || strlen(command->name) > MAX_NAME)
		return SIZE_MAX;
	if (!strncmp(command->name, name, len))
		return 0;
	distance = edit_distance(name, command->name);
	return distance <= 2 && distance < len ? distance : SIZE_MAX;
}

size_t command_nearest(const struct command_table *table, const char *name, const struct command **ret, size_t max)
{
	size_t n = 0;

	for (size_t wanted = 0; wanted <= 2; wanted++)
		for (size_t i = 0; i < table->count && n < max; i++)
			if (distance_to(name, &table->commands[i]) == wanted)
				ret[n++] = &table->commands[i];
	return n;
}

void command_print_help(const struct command_table *table, FILE *to)
{
	(void)fprintf(to, "Usage: %s %s\n%s\n", table->program, table->usage, table->purpose);
	if (table->count > 0)
		(void)fputs("\nCommands:\n", to);
	for (size_t i = 0; i < table->count; i++)
		(void)fprintf(to, "  %-16s %s\n", table->commands[i].name, table->commands[i].help);
	if (table->trailer)
		(void)fprintf(to, "\n%s", table->trailer);
}

int command_unknown(const struct command_table *table, const char *name)
{
	const struct command *near[4];
	size_t n = command_nearest(table, name, near, ARRAY_SIZE(near));

	(void)fprintf(stderr, "%s: there is no command '%s'", table->program, name);
	for (size_t i = 0; i < n; i++)
		(void)fprintf(stderr, "%s'%s'", i == 0 ? "; did you mean " : i + 1 == n ? " or " : ", ", near[i]->name);
	(void)fprintf(stderr, "%s\n%s: '%s --help' lists the commands\n", n ? "?" : "", table->program, table->program);
	return table->unknown ?: EXIT_CODE_TOOL;
}

static int print_help_of(const struct command_table *table, const char *name)
{
	const struct command *command = command_find(table, name);
	char option[] = "--help", copy[MAX_NAME + 1];
	char *argv[] = { copy, option, NULL };

	if (!command)
		return command_unknown(table, name);
	(void)snprintf(copy, sizeof(copy), "%s", command->name);
	return command->run(2, argv);
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return !strcmp(word, a) || !strcmp(word, b);
}

/* What help is has no page of its own. */
static bool asks_for_list(int argc, char **argv)
{
	if (is_one_of(argv[0], "--help", "-h"))
		return true;
	return !strcmp(argv[0], "help") && (argc < 2 || !strcmp(argv[1], "help") || is_one_of(argv[1], "--help", "-h"));
}

int command_dispatch(const struct command_table *table, int argc, char **argv)
{
	const struct command *command;

	if (argc < 1) {
		command_print_help(table, stderr);
		return EXIT_CODE_TOOL;
	}
	if (asks_for_list(argc, argv)) {
		command_print_help(table, stdout);
		return 0;
	}
	if (is_one_of(argv[0], "--version", "-V")) {
		(void)printf("%s %s\n", table->program, PACKAGE_VERSION);
		return 0;
	}
	if (!strcmp(argv[0], "help"))
		return print_help_of(table, argv[1]);
	if (argv[0][0] == '-') {
		(void)fprintf(stderr, "%s: there is no option '%s' before the command\n", table->program, argv[0]);
		return EXIT_CODE_TOOL;
	}
	command = command_find(table, argv[0]);
	return command ? command->run(argc, argv) : command_unknown(table, argv[0]);
}

static void check_output(int status, void *failure)
{
	bool failed = ferror(stdout);

	errno = 0;
	failed |= fflush(stdout) != 0;
	if (!failed || status == (int)(intptr_t)failure)
		return;
	(void)fprintf(stderr, "%s: cannot write to standard output: %s\n", program_invocation_short_name, strerror(errno ?: EIO));
	_exit((int)(intptr_t)failure);
}

void command_watch_output(int failure)
{
	(void)on_exit(check_output, (void *)(intptr_t)failure); /* argp ends the process after its --help */
}

static void print_version(FILE *to, struct argp_state *state)
{
	(void)fprintf(to, "%s\n", PACKAGE_STRING);
}

void command_prepare(const char *program, const char *command, char **argv)
{
	static char full_name[80];

	argp_err_exit_status = EXIT_CODE_TOOL;
	argp_program_version_hook = print_version;
	(void)snprintf(full_name, sizeof(full_name), "%s%s%s", program, command ? " " : "", command ? command : "");
	argv[0] = full_name;
	program_invocation_name = full_name;
	program_invocation_short_name = full_name;
}

void command_take_only(const char **to, const char *arg, const char *what, struct argp_state *state)
{
	if (*to)
		argp_error(state, "'%s' comes after '%s': name one %s, and call the command again for the next one", arg, *to, what);
	*to = arg;
}

uint64_t command_number(const char *option, const char *text, uint64_t least, uint64_t most, struct argp_state *state)
{
	uint64_t value;

	if (parse_u64(text, &value) < 0 || value < least || value > most)
		argp_error(state, "--%s: '%s' is not a number from %llu to %llu", option, text, (unsigned long long)least,
			   (unsigned long long)most);
	return value;
}

uint64_t command_duration(const char *option, const char *text, struct argp_state *state)
{
	uint64_t value;

	if (parse_duration_ns(text, &value) < 0)
		argp_error(state, "--%s: '%s' is not a duration such as 1.5, 200ms or 2h", option, text);
	return value;
}
