/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit run: one program, deterministically. Its options are made from the table in supervisor/options/options_table.c. */
#include "cli/commands.h"
#include "cli/run_arguments.h"
#include "supervisor/exit_codes.h"
#include "supervisor/evidence/observed.h"
#include "supervisor/evidence/verify.h"

int cmd_run(int argc, char **argv)
{
	_cleanup_run_arguments_ struct run_arguments arguments = { 0 };
	int r, status;

	r = run_arguments_parse(&arguments, "run", argc, argv);
	if (r != 0)
		return r < 0 ? EXIT_CODE_TOOL : 0;
	status = arguments.options.verify ? verify_main(&arguments.options) : observed_main(&arguments.options);
	return run_arguments_end(&arguments, status);
}
