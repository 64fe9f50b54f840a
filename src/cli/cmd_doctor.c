/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit doctor: what this host offers, and what that means for a run. */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/commands.h"
#include "supervisor/doctor/doctor.h"
#include "supervisor/exit_codes.h"

enum { KEY_JSON = 'j' };

static const struct argp_option options[] = {
	{ "json", KEY_JSON, NULL, 0, "print a JSON document", 0 },
	{ 0 },
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	if (key != KEY_JSON)
		return ARGP_ERR_UNKNOWN;
	*(bool *)state->input = true;
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_one,
	.doc = "Finds out by trying what this host offers, and says what that means for a run.\v"
	       "The exit status is 0 when a run is possible, else 1.",
};

int cmd_doctor(int argc, char **argv)
{
	_cleanup_doctor_report_ struct doctor_report report = { 0 };
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };
	bool json = false;

	command_prepare("hermit", "doctor", argv);
	if (argp_parse(&argp, argc, argv, 0, NULL, &json) != 0)
		return EXIT_CODE_TOOL;
	if (doctor_run(&report, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_CODE_TOOL;
	}
	if (!json)
		doctor_print(&report, stdout);
	else if ((text = doctor_to_json(&report)))
		(void)puts(text);
	else
		return EXIT_CODE_TOOL;
	return report.possible ? 0 : 1;
}
