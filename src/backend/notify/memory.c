/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Guest memory. process_vm_readv and process_vm_writev respect the guest's own page protections, so a guest's bad pointer is
 * EFAULT here exactly when it would be for the kernel. Only memory_force_write() goes around protections.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { PAGE = 4096 };

static struct iovec remote_range(uint64_t addr, size_t len)
{
	return (struct iovec){ .iov_base = (void *)(uintptr_t)addr, .iov_len = len };
}

struct notify_task *notify_find(struct guest *g, int task)
{
	struct notify_task *t;

	t = tasks_by_number(&notify_of(g)->tasks, task);
	return t && t->where != WHERE_DEAD ? t : NULL;
}

static int all_or_fault(ssize_t n, size_t len)
{
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

int notify_read(struct guest *g, int task, uint64_t addr, void *buf, size_t len)
{
	const struct notify_task *t = notify_find(g, task);
	struct iovec local = { .iov_base = buf, .iov_len = len };
	struct iovec remote = remote_range(addr, len);

	if (!t)
		return -ESRCH;
	if (len == 0)
		return 0;
	return all_or_fault(process_vm_readv(t->tid, &local, 1, &remote, 1, 0), len);
}

int notify_write(struct guest *g, int task, uint64_t addr, const void *buf, size_t len)
{
	const struct notify_task *t = notify_find(g, task);
	struct iovec local = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	struct iovec remote = remote_range(addr, len);

	if (!t)
		return -ESRCH;
	if (len == 0)
		return 0;
	return all_or_fault(process_vm_writev(t->tid, &local, 1, &remote, 1, 0), len);
}

/* Reads up to len bytes, less when a page on the way is missing: the count, -EFAULT for none. */
static ssize_t read_some(pid_t tid, uint64_t addr, char *buf, size_t len)
{
	size_t first = PAGE - addr % PAGE;
	struct iovec local = { .iov_base = buf, .iov_len = len };
	struct iovec remote[2];
	ssize_t n;

	/* a range that cannot be read whole is cut only between the parts of the vector: one part a page */
	if (first > len)
		first = len;
	if (len - first > PAGE)
		len = first + PAGE;
	local.iov_len = len;
	remote[0] = remote_range(addr, first);
	remote[1] = remote_range(addr + first, len - first);
	n = process_vm_readv(tid, &local, 1, remote, len > first ? 2 : 1, 0);
	if (n < 0)
		return -errno;
	return n > 0 ? n : -EFAULT;
}

ssize_t notify_read_string(struct guest *g, int task, uint64_t addr, char *buf, size_t size)
{
	const struct notify_task *t = notify_find(g, task);
	size_t done = 0, want = 256;
	const char *end;
	ssize_t n;

	if (!t)
		return -ESRCH;
	while (done < size) {
		if (want > size - done)
			want = size - done;
		n = read_some(t->tid, addr + done, buf + done, want);
		if (n < 0)
			return n;
		end = memchr(buf + done, '\0', (size_t)n);
		if (end)
			return end - buf;
		done += (size_t)n;
		want = PAGE;
	}
	return -ENAMETOOLONG;
}

int memory_force_write(struct notify *n, pid_t tid, uint64_t addr, const void *buf, size_t len)
{
	_cleanup_close_ int fd = -1;
	ssize_t written;

	/* opened anew each time: a descriptor from before an exec would still show the old address space */
	fd = procfs_open(n, tid, "mem", O_WRONLY);
	if (fd < 0)
		return fd;
	written = pwrite(fd, buf, len, (off_t)addr);
	if (written < 0)
		return -errno;
	return (size_t)written == len ? 0 : -EFAULT;
}
