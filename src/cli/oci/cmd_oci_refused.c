/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hermit-supervisor checkpoint and restore: refused, also when asked for --help, by which engines find out whether a runtime can
 * do it.
 */
#include <errno.h>

#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"

static int refuse(const char *what)
{
	struct error err = { 0 };

	(void)error_set(&err, ENOTSUP, "%s is not supported: processes with a seccomp listener cannot be dumped", what);
	return oci_fail(&err, OCI_EXIT_FAILURE);
}

int cmd_oci_checkpoint(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return refuse("checkpoint");
}

int cmd_oci_restore(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return refuse("restore");
}
