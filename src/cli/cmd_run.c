/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit run: one program, deterministically. Its options are made from the table in supervisor/options.c. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/run_arguments.h"
#include "supervisor/exit_codes.h"
#include "supervisor/launch.h"
#include "supervisor/options.h"
#include "supervisor/run.h"

static int run(const struct run_options *o)
{
	_cleanup_launch_ struct launch launch = { 0 };
	struct run_result result;
	struct error err = { 0 };
	int r;

	r = launch_init(&launch, o, &err);
	if (r < 0) {
		log_error("%s", err.text);
		return EXIT_CODE_TOOL;
	}
	r = run_guest(&launch.request, &result, &err);
	if (r < 0)
		log_error("%s", err.text);
	return result.exit_code;
}

int cmd_run(int argc, char **argv)
{
	_cleanup_run_arguments_ struct run_arguments arguments = { 0 };
	int r;

	r = run_arguments_parse(&arguments, "run", argc, argv);
	if (r != 0)
		return r < 0 ? EXIT_CODE_TOOL : 0;
	return run(&arguments.options);
}
