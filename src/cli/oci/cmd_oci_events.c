/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor events: what a container uses, one JSON document a line. */
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"

enum { KEY_STATS = 0x100, KEY_INTERVAL };

struct arguments {
	const char *id;
	bool once;
	uint64_t interval_ns;
};

static const struct argp_option options[] = {
	{ "stats", KEY_STATS, NULL, 0, "once", 0 },
	{ "interval", KEY_INTERVAL, "TIME", 0, "time between two documents (default: 5s)", 0 },
	{ 0 },
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_STATS:
		a->once = true;
		return 0;
	case KEY_INTERVAL:
		if (parse_duration_ns(arg, &a->interval_ns) < 0 || a->interval_ns == 0)
			argp_error(state, "--interval: '%s' is no time", arg);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->id;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int print_stats(const char *id, struct error *err)
{
	json_t *json, *data;
	int r;

	r = lifecycle_stats(&arg_oci.runtime, id, &data, err);
	if (r < 0)
		return r;
	json = json_pack("{s:s, s:s, s:o}", "type", "stats", "id", id, "data", data);
	if (!json || json_dumpf(json, stdout, JSON_COMPACT) < 0 || putchar('\n') < 0 || fflush(stdout) < 0)
		r = error_errno(err, json ? errno : ENOMEM, "events");
	json_decref(json);
	return r;
}

int cmd_oci_events(int argc, char **argv)
{
	static const struct argp_child children[] = { { &oci_id_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { options, parse_one, NULL, "Prints what a container uses, until it has stopped.", children, NULL,
					  NULL };
	struct arguments arguments = { .interval_ns = 5000000000ull };
	struct timespec interval;
	struct error err = { 0 };
	bool printed = false;

	oci_parse(&argp, argc, argv, 0, &arguments);
	interval = (struct timespec){ .tv_sec = (time_t)(arguments.interval_ns / 1000000000u),
				      .tv_nsec = (long)(arguments.interval_ns % 1000000000u) };
	while (print_stats(arguments.id, &err) == 0) {
		printed = true;
		if (arguments.once)
			return 0;
		(void)nanosleep(&interval, NULL);
	}
	return printed && (err.code == ESRCH || err.code == ENOENT) ? 0 : oci_fail(&err, OCI_EXIT_FAILURE);
}
