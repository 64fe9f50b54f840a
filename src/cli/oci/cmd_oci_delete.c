/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor delete: nothing is left of a container. */
#include <argp.h>

#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"

struct arguments {
	const char *id;
	bool force;
};

static const struct argp_option options[] = {
	{ "force", 'f', NULL, 0, "kill what still runs; clear what a broken-off command left", 0 },
	{ 0 },
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->id;
		return 0;
	case 'f':
		a->force = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_oci_delete(int argc, char **argv)
{
	static const struct argp_child children[] = { { &oci_id_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { options, parse_one, NULL, "Removes a container that has stopped.", children, NULL, NULL };
	struct arguments arguments = { 0 };
	struct error err = { 0 };

	oci_parse(&argp, argc, argv, 0, &arguments);
	if (lifecycle_delete(&arg_oci.runtime, arguments.id, arguments.force, &err) < 0)
		return oci_fail(&err, OCI_EXIT_FAILURE);
	return 0;
}
