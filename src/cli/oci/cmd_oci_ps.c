/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor ps: the processes of a container, as numbers or as ps(1) shows them. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"

struct arguments {
	const char *id;
	bool json;
	struct strv ps; /* arguments for ps(1) */
};

static const struct argp_option options[] = {
	OCI_FORMAT_OPTION,
	{ 0 },
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'f':
		a->json = oci_format_is_json(arg, state);
		return 0;
	case ARGP_KEY_ARG:
		a->id = arg;
		for (; state->next < state->argc; state->next++)
			if (strv_add(&a->ps, state->argv[state->next]) < 0)
				return ENOMEM;
		return 0;
	case ARGP_KEY_END:
		oci_need_id(a->id, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_numbers(const pid_t *pids, size_t n)
{
	(void)putchar('[');
	for (size_t i = 0; i < n; i++)
		(void)printf("%s%d", i ? "," : "", (int)pids[i]);
	(void)printf("]\n");
}

/* Word number `column` (from 0) of the line, or NULL. */
static const char *find_column(const char *line, int column)
{
	for (;; column--) {
		line += strspn(line, " \t");
		if (!*line || column == 0)
			return *line ? line : NULL;
		line += strcspn(line, " \t");
	}
}

static int find_pid_column(const char *header)
{
	const char *word;

	for (int column = 0; (word = find_column(header, column)); column++)
		if (!strncmp(word, "PID", 3) && strcspn(word, " \t\n") == 3)
			return column;
	return -1;
}

static bool is_ours(const char *line, int column, const pid_t *pids, size_t n)
{
	const char *word = find_column(line, column);
	long pid = word ? strtol(word, NULL, 10) : 0;

	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static int filter(FILE *from, const pid_t *pids, size_t n, struct error *err)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	int column;

	if (getline(&line, &room, from) < 0)
		return error_set(err, EIO, "ps printed nothing");
	column = find_pid_column(line);
	if (column < 0)
		return error_set(err, EINVAL, "couldn't find PID field in ps output");
	do {
		if (find_pid_column(line) == column || is_ours(line, column, pids, n))
			(void)fputs(line, stdout);
	} while (getline(&line, &room, from) >= 0);
	return 0;
}

static int print_table(const struct strv *words, const pid_t *pids, size_t n, struct error *err)
{
	_cleanup_strv_ struct strv argv = { 0 };
	_cleanup_fclose_ FILE *from = NULL;
	int ends[2], status, r;
	pid_t child;

	r = strv_add(&argv, "ps");
	for (size_t i = 0; r == 0 && i < words->count; i++)
		r = strv_add(&argv, words->items[i]);
	if (r == 0 && words->count == 0)
		r = strv_add(&argv, "-ef");
	if (r < 0 || pipe(ends) < 0)
		return error_errno(err, r < 0 ? -r : errno, "ps");
	child = fork();
	if (child == 0) {
		if (dup2(ends[1], STDOUT_FILENO) >= 0 && close_range(3, ~0U, 0) == 0)
			(void)execvp("ps", argv.items);
		_exit(127);
	}
	(void)close(ends[1]);
	from = fdopen(ends[0], "r");
	r = child > 0 && from ? filter(from, pids, n, err) : error_errno(err, errno, "ps");
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return r;
}

int cmd_oci_ps(int argc, char **argv)
{
	static const struct argp argp = { options, parse_one, "ID [PS-ARGUMENT...]", "Shows the processes of a container.", NULL, NULL,
					  NULL };
	struct arguments arguments = { 0 };
	_cleanup_free_ pid_t *pids = NULL;
	struct error err = { 0 };
	size_t n;
	int r;

	oci_parse(&argp, argc, argv, ARGP_IN_ORDER, &arguments);
	r = lifecycle_pids(&arg_oci.runtime, arguments.id, &pids, &n, &err);
	if (r == 0 && arguments.json)
		print_numbers(pids, n);
	else if (r == 0)
		r = print_table(&arguments.ps, pids, n, &err);
	strv_clear(&arguments.ps);
	return r < 0 ? oci_fail(&err, OCI_EXIT_FAILURE) : 0;
}
