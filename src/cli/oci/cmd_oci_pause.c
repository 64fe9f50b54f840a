/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor pause and resume. */
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"

int cmd_oci_pause(int argc, char **argv)
{
	struct error err = { 0 };
	const char *id;

	oci_parse_id(argc, argv, "Stops all processes of a container, and its time.", &id);
	if (lifecycle_pause(&arg_oci.runtime, id, &err) < 0)
		return oci_fail(&err, OCI_EXIT_FAILURE);
	return 0;
}

int cmd_oci_resume(int argc, char **argv)
{
	struct error err = { 0 };
	const char *id;

	oci_parse_id(argc, argv, "Lets a paused container go on.", &id);
	if (lifecycle_resume(&arg_oci.runtime, id, &err) < 0)
		return oci_fail(&err, OCI_EXIT_FAILURE);
	return 0;
}
