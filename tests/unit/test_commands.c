/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding commands and guessing what was meant. */
#include <criterion/criterion.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "supervisor/exit_codes.h"

static int first(int argc, char **argv)
{
	return 40 + argc;
}

static int second(int argc, char **argv)
{
	return argc == 2 && !strcmp(argv[1], "--help") ? 60 : 61;
}

static const struct command commands[] = {
	{ "run", "first", first },
	{ "replay", "second", second },
	{ "record", "third", first },
	{ "log-diff", "fourth", first },
};

static const struct command_table table = { .program = "prog", .usage = "X", .purpose = "Y.", .commands = commands,
					    .count = ARRAY_SIZE(commands) };

static int dispatch(char *a, char *b)
{
	char *argv[] = { a, b, NULL };

	return command_dispatch(&table, a ? b ? 2 : 1 : 0, argv);
}

Test(commands, dispatch)
{
	char run[] = "run", word[] = "x", help[] = "help", replay[] = "replay", option[] = "--nonsense", about_help[] = "--help";

	cr_assert_eq(dispatch(run, word), 42);
	cr_assert_eq(dispatch(help, replay), 60);
	cr_assert_eq(dispatch(word, NULL), EXIT_CODE_TOOL);
	cr_assert_eq(dispatch(NULL, NULL), EXIT_CODE_TOOL);
	cr_assert_eq(dispatch(option, NULL), EXIT_CODE_TOOL);
	cr_assert_eq(dispatch(help, NULL), 0);
	cr_assert_eq(dispatch(help, help), 0);
	cr_assert_eq(dispatch(help, about_help), 0);
}

Test(commands, first_and_last_are_found)
{
	cr_assert_eq(command_find(&table, "run"), &commands[0]);
	cr_assert_eq(command_find(&table, "log-diff"), &commands[3]);
	cr_assert_null(command_find(&table, "log-dif"));
	cr_assert_null(command_find(&table, ""));
}

Test(commands, nearest)
{
	const struct command *near[4];

	cr_assert_eq(command_nearest(&table, "rnu", near, 4), 1);
	cr_assert_str_eq(near[0]->name, "run");
	cr_assert_eq(command_nearest(&table, "re", near, 4), 2, "beginnings of two names");
	cr_assert_eq(command_nearest(&table, "logdiff", near, 4), 1);
	cr_assert_str_eq(near[0]->name, "log-diff");
	cr_assert_eq(command_nearest(&table, "zebra", near, 4), 0);
	cr_assert_eq(command_nearest(&table, "", near, 4), 0);
	cr_assert_eq(command_nearest(&table, "a-name-that-is-much-longer-than-any-command-can-be", near, 4), 0);
}
