/* SPDX-License-Identifier: BSD-3-Clause */
/* What /proc says of any process: see process.h. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* The kernel's flag, field 9 of /proc/PID/stat */
bool process_is_ending(int pid)
{
	enum { EXITING = 0x4 };
	_cleanup_free_ char *text = NULL;
	char path[32], *p;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	r = fd_read_file(AT_FDCWD, path, 4096, &text, NULL);
	if (r < 0)
		return r == -ENOENT || r == -ESRCH;
	p = strrchr(text, ')');
	for (int field = 2; p && field < 9; field++)
		p = strchr(p + 1, ' ');
	return p && strtoul(p + 1, NULL, 10) & EXITING;
}
