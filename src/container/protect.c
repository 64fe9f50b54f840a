/* SPDX-License-Identifier: BSD-3-Clause */
/* The program out of reach: see protect.h. */
#include "container/protect.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/internal.h"

/* Since Linux 6.3 a descriptor in memory that is to be executed should say so; before, nobody asked. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

static const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

/* ---- a mount of its own ---- */

/* A file that is the root of a mount in no mount namespace has the path "/", which nothing else that is executed can have. */
static bool is_behind_own_mount(int program)
{
	struct statvfs fs;
	char path[4];

	return readlink("/proc/self/exe", path, sizeof(path)) == 1 && path[0] == '/' && fstatvfs(program, &fs) == 0 &&
	       (fs.f_flag & ST_RDONLY);
}

/* Closed when it is executed: then the mount belongs to the process only. */
static int mount_program(int program)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int mount;

	mount = open_tree(program, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (mount < 0)
		return -errno;
	if (mount_setattr(mount, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0)
		return mount;
	(void)close(mount);
	return -EPERM;
}

/* ---- a copy ---- */

static int create_file(void)
{
	int fd;

	fd = memfd_create("hermit-supervisor", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("hermit-supervisor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

/* Where the part ends that is loaded: what follows are tables for debuggers, often the larger part of the file. */
static off_t end_of_program(int fd, off_t size)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;
	off_t end = 0;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) || head.e_phentsize != sizeof(part))
		return size;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (pread(fd, &part, sizeof(part), (off_t)(head.e_phoff + i * sizeof(part))) != sizeof(part))
			return size;
		if ((off_t)(part.p_offset + part.p_filesz) > end)
			end = (off_t)(part.p_offset + part.p_filesz);
	}
	return end > 0 && end < size ? end : size;
}

static int copy_program(int from, int to)
{
	struct stat st;
	off_t size;
	int r;

	if (fstat(from, &st) < 0)
		return -errno;
	size = end_of_program(from, st.st_size);
	r = copy_bytes(from, to, size);
	if (r == 0 && (fstat(to, &st) < 0 || st.st_size != size))
		r = -EIO;
	if (r < 0)
		return r;
	return fcntl(to, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

int container_protect_program(char **argv, struct error *err)
{
	_cleanup_close_ int program = -1, mount = -1, copy = -1;
	int r;

	program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (program < 0)
		return error_errno(err, errno, "cannot open this program");
	if (fcntl(program, F_GET_SEALS) == seals || is_behind_own_mount(program))
		return 0;
	mount = mount_program(program);
	if (mount >= 0)
		(void)fexecve(mount, argv, environ);
	copy = create_file();
	if (copy < 0)
		return error_errno(err, -copy, "cannot make a copy of this program");
	r = copy_program(program, copy);
	if (r < 0)
		return error_errno(err, -r, "cannot make a copy of this program");
	(void)fexecve(copy, argv, environ);
	return error_errno(err, errno, "cannot execute the copy of this program");
}
