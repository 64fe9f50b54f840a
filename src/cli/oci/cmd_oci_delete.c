/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor delete: nothing is left of a container. */
#include <argp.h>
#include <errno.h>
#include <regex.h>

#include "base/strv.h"
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"
#include "supervisor/oci/state.h"

enum { KEY_REGEX = 256 };

struct arguments {
	const char *id;
	bool force, regex;
};

static const struct argp_option options[] = {
	{ "force", 'f', NULL, 0, "kill what still runs; clear what a broken-off command left", 0 },
	{ "regex", KEY_REGEX, NULL, 0, "ID is an extended regular expression: all containers that it fits", 0 },
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
	case KEY_REGEX:
		a->regex = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* One that cannot be deleted does not keep the others; the first failure is told. */
static int delete_fitting(const struct arguments *a, const regex_t *regex, struct error *err)
{
	_cleanup_strv_ struct strv ids = { 0 };
	int r = state_list(arg_oci.runtime.root, &ids, err);

	for (size_t i = 0; i < ids.count; i++) {
		struct error failure = { 0 };
		int one = 0;

		if (regexec(regex, ids.items[i], 0, NULL, 0) == 0)
			one = lifecycle_delete(&arg_oci.runtime, ids.items[i], a->force, &failure);
		if (one < 0 && r == 0)
			r = error_set(err, -one, "%s: %s", ids.items[i], failure.text);
	}
	return r;
}

static int delete_by_regex(const struct arguments *a, struct error *err)
{
	char reason[128];
	regex_t regex;
	int r;

	r = regcomp(&regex, a->id, REG_EXTENDED | REG_NOSUB);
	if (r != 0) {
		(void)regerror(r, &regex, reason, sizeof(reason));
		return error_set(err, EINVAL, "--regex: '%s': %s", a->id, reason);
	}
	r = delete_fitting(a, &regex, err);
	regfree(&regex);
	return r;
}

int cmd_oci_delete(int argc, char **argv)
{
	static const struct argp_child children[] = { { &oci_id_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { options, parse_one, NULL, "Removes a container that has stopped.", children, NULL, NULL };
	struct arguments arguments = { 0 };
	struct error err = { 0 };
	int r;

	oci_parse(&argp, argc, argv, 0, &arguments);
	if (arguments.regex)
		r = delete_by_regex(&arguments, &err);
	else
		r = lifecycle_delete(&arg_oci.runtime, arguments.id, arguments.force, &err);
	return r < 0 ? oci_fail(&err, OCI_EXIT_FAILURE) : 0;
}
