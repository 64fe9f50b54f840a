/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor start: the program of a created container runs. */
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"

int cmd_oci_start(int argc, char **argv)
{
	struct error err = { 0 };
	const char *id;
	int status;

	oci_parse_id(argc, argv, "Lets the program of a created container run.", &id);
	if (lifecycle_start(&arg_oci.runtime, id, NULL, &status, &err) < 0)
		return oci_fail(&err, OCI_EXIT_FAILURE);
	return 0;
}
