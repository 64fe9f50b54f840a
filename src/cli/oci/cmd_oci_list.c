/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor list: all containers below --root. */
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"

struct arguments {
	bool quiet, json;
};

static const struct argp_option options[] = {
	OCI_FORMAT_OPTION,
	{ "quiet", 'q', NULL, 0, "only the ids", 0 },
	{ 0 },
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'f':
		a->json = oci_format_is_json(arg, state);
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_line(const struct oci_state *s)
{
	(void)printf("%-19s %-7d %-10s %s   %s   %s\n", s->id, s->pid, oci_status_name(s->status), s->bundle, s->created, s->owner);
}

static json_t *to_json(const struct oci_state *s)
{
	return json_pack("{s:s, s:s, s:i, s:s, s:s, s:s, s:s, s:s}", "ociVersion", s->oci_version, "id", s->id, "pid", s->pid,
			 "status", oci_status_name(s->status), "bundle", s->bundle, "rootfs", s->rootfs, "created", s->created,
			 "owner", s->owner);
}

/* One that is just being made, or was deleted meanwhile, is left out. */
static int show(const char *id, const struct arguments *a, json_t *array)
{
	struct oci_runtime_state state;
	struct error unread = { 0 };
	struct oci_state for_person;
	enum oci_status status;
	int r = 0;

	if (a->quiet) {
		(void)printf("%s\n", id);
		return 0;
	}
	if (lifecycle_state(&arg_oci.runtime, id, &state, &status, &unread) < 0)
		return 0;
	for_person = state_for_others(&state, status);
	if (a->json)
		r = json_array_append_new(array, to_json(&for_person)) < 0 ? -ENOMEM : 0;
	else
		print_line(&for_person);
	oci_runtime_state_free(&state);
	return r;
}

int cmd_oci_list(int argc, char **argv)
{
	static const struct argp argp = { options, parse_one, "", "Lists the containers.", NULL, NULL, NULL };
	_cleanup_strv_ struct strv ids = { 0 };
	struct arguments arguments = { 0 };
	struct error err = { 0 };
	json_t *array = json_array();
	int r;

	oci_parse(&argp, argc, argv, 0, &arguments);
	r = array ? state_list(arg_oci.runtime.root, &ids, &err) : error_errno(&err, ENOMEM, "list");
	if (r == 0 && !arguments.json && !arguments.quiet)
		(void)printf("%-19s %-7s %-10s %s   %s   %s\n", "ID", "PID", "STATUS", "BUNDLE", "CREATED", "OWNER");
	for (size_t i = 0; r == 0 && i < ids.count; i++)
		r = show(ids.items[i], &arguments, array);
	if (r == 0 && arguments.json && !arguments.quiet && (json_dumpf(array, stdout, JSON_COMPACT) < 0 || putchar('\n') < 0))
		r = -EIO;
	json_decref(array);
	if (r < 0 && !err.code)
		(void)error_errno(&err, -r, "list");
	return r < 0 ? oci_fail(&err, OCI_EXIT_FAILURE) : 0;
}
