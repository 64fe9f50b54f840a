/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit version: what a bug report should begin with. */
#include <stdio.h>
#include <sys/utsname.h>

#include "cli/commands.h"
#include "config.h"
#include "supervisor/exit_codes.h"

int cmd_version(int argc, char **argv)
{
	struct utsname host;

	if (argc > 1 && argv[1][0] == '-') {
		(void)printf("Usage: hermit version\nPrints the version of this program and of the kernel below it.\n");
		return 0;
	}
	if (argc > 1) {
		(void)fprintf(stderr, "hermit version: takes no arguments\n");
		return EXIT_CODE_TOOL;
	}
	(void)printf("%s\n", PACKAGE_STRING);
	if (uname(&host) == 0)
		(void)printf("%s %s %s\n", host.sysname, host.release, host.machine);
	return 0;
}
