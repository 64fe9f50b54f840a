/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor create: a container that waits for `start`. */
#include <argp.h>
#include <limits.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"
#include "cli/oci/oci_create.h"

enum { KEY_NO_PIVOT = 0x100, KEY_NO_NEW_KEYRING };

static const struct argp_option options[] = {
	{ "bundle", 'b', "DIR", 0, "the bundle (default: the current directory)", 0 },
	{ "config", 'f', "FILE", 0, "the document (default: config.json in the bundle)", 0 },
	{ "no-pivot", KEY_NO_PIVOT, NULL, 0, "do not use pivot_root, for a root on an initramfs", 0 },
	{ "no-new-keyring", KEY_NO_NEW_KEYRING, NULL, 0, "accepted; the caller's keyring is kept anyway", 0 },
	{ 0 },
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct create_request *q = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &q->id;
		state->child_inputs[1] = &q->process;
		return 0;
	case 'b':
		q->bundle = arg;
		return 0;
	case 'f':
		q->config = arg;
		return 0;
	case KEY_NO_PIVOT:
		q->no_pivot = true;
		return 0;
	case KEY_NO_NEW_KEYRING:
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child shared[] = { { &oci_id_argp, 0, NULL, 0 }, { &oci_process_argp, 0, NULL, 0 }, { 0 } };

const struct argp oci_create_argp = { options, parse_one, NULL, NULL, shared, NULL, NULL };

static error_t hand_on(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

int cmd_oci_create(int argc, char **argv)
{
	static const struct argp_child children[] = { { &oci_create_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { NULL, hand_on, NULL, "Creates a container, which waits for 'start'.", children, NULL, NULL };
	struct create_request request = { .bundle = "." };
	struct created created;
	struct error err = { 0 };

	oci_parse(&argp, argc, argv, 0, &request);
	if (lifecycle_create(&arg_oci.runtime, &request, &created, &err) < 0)
		return oci_fail(&err, OCI_EXIT_FAILURE);
	return 0;
}
