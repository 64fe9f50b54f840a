/* SPDX-License-Identifier: BSD-3-Clause */
/* The sealed copy: see protect.h. */
#include "container/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/internal.h"

/* Since Linux 6.3 a descriptor in memory that is to be executed should say so; before, nobody asked. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

static const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

static int create_file(void)
{
	int fd;

	fd = memfd_create("hermit-supervisor", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("hermit-supervisor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

static int copy_program(int from, int to)
{
	struct stat st;
	int r;

	if (fstat(from, &st) < 0)
		return -errno;
	r = copy_bytes(from, to, st.st_size);
	if (r < 0)
		return r;
	return fcntl(to, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

int container_protect_program(char **argv, struct error *err)
{
	_cleanup_close_ int program = -1, copy = -1;
	int have, r;

	program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (program < 0)
		return error_errno(err, errno, "cannot open this program");
	have = fcntl(program, F_GET_SEALS);
	if (have >= 0 && (have & seals) == seals)
		return 0;
	copy = create_file();
	if (copy < 0)
		return error_errno(err, -copy, "cannot make a copy of this program");
	r = copy_program(program, copy);
	if (r < 0)
		return error_errno(err, -r, "cannot make a copy of this program");
	(void)fexecve(copy, argv, environ);
	return error_errno(err, errno, "cannot execute the copy of this program");
}
