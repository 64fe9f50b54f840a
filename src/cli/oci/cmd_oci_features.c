/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor features: what this runtime can do, as a document. */
#include <argp.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"
#include "config.h"
#include "oci/features.h"

int cmd_oci_features(int argc, char **argv)
{
	static const struct argp argp = { NULL, NULL, "", "Prints what this runtime can do, as JSON.", NULL, NULL, NULL };
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };
	int r;

	oci_parse(&argp, argc, argv, 0, NULL);
	r = oci_features_format(PACKAGE_VERSION, &text);
	if (r < 0) {
		(void)error_errno(&err, -r, "features");
		return oci_fail(&err, OCI_EXIT_FAILURE);
	}
	(void)fputs(text, stdout);
	return 0;
}
