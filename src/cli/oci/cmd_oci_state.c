/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor state: what a container is. */
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"

int cmd_oci_state(int argc, char **argv)
{
	struct oci_runtime_state state;
	_cleanup_free_ char *text = NULL;
	struct oci_state for_person;
	struct error err = { 0 };
	enum oci_status status;
	const char *id;
	int r;

	oci_parse_id(argc, argv, "Prints the state of a container.", &id);
	if (lifecycle_state(&arg_oci.runtime, id, &state, &status, &err) < 0)
		return oci_fail(&err, OCI_EXIT_FAILURE);
	for_person = state_for_others(&state, status);
	r = oci_state_format(&for_person, OCI_STATE_FOR_PERSON, &text);
	oci_runtime_state_free(&state);
	if (r < 0) {
		(void)error_errno(&err, -r, "state");
		return oci_fail(&err, OCI_EXIT_FAILURE);
	}
	(void)fputs(text, stdout);
	return 0;
}
