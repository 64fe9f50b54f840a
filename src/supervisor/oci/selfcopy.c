/* SPDX-License-Identifier: BSD-3-Clause */
/* The sealed copy of our own program: see selfcopy.h. */
#include "supervisor/oci/selfcopy.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

extern char **environ;

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

static int copy_all(int to, int from)
{
	struct stat st;
	ssize_t n = 1;

	if (fstat(from, &st) < 0)
		return -errno;
	for (off_t left = end_of_program(from, st.st_size); left > 0 && n > 0; left -= n)
		n = sendfile(to, from, NULL, (size_t)left);
	if (n <= 0)
		return n < 0 ? -errno : -EIO;
	return fcntl(to, F_ADD_SEALS, SEALS) < 0 ? -errno : 0;
}

int selfcopy_ensure(char **argv, struct error *err)
{
	_cleanup_close_ int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), copy = -1;
	int r;

	if (self < 0)
		return error_errno(err, errno, "cannot open /proc/self/exe");
	if (fcntl(self, F_GET_SEALS) == SEALS)
		return 0;
	copy = memfd_create("hermit-supervisor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (copy < 0)
		return error_errno(err, errno, "cannot copy the program");
	r = copy_all(copy, self);
	if (r < 0)
		return error_errno(err, -r, "cannot copy the program");
	(void)fexecve(copy, argv, environ);
	return error_errno(err, errno, "cannot execute a copy of the program");
}
