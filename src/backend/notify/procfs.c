/* SPDX-License-Identifier: BSD-3-Clause */
/* What /proc says about guest tasks, through the descriptor of the supervisor's own /proc. */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Younger than some headers (linux/nsfs.h) */
#ifndef NS_GET_PID_IN_PIDNS
#define NS_GET_PID_IN_PIDNS  _IOR(0xb7, 0x8, int)
#define NS_GET_TGID_IN_PIDNS _IOR(0xb7, 0x9, int)
#endif

int procfs_open(const struct notify *n, pid_t tid, const char *name, int flags)
{
	char path[PATH_MAX];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%d/%s", (int)tid, name) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = openat(n->proc_fd, path, flags | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -ESRCH : -errno;
}

int procfs_read(const struct notify *n, pid_t tid, const char *name, char *buf, size_t size)
{
	_cleanup_close_ int fd = -1;
	ssize_t len;

	fd = procfs_open(n, tid, name, O_RDONLY);
	if (fd < 0)
		return fd;
	/* these files are made in one piece: one read gets them whole */
	len = read(fd, buf, size - 1);
	if (len < 0)
		return -errno;
	buf[len] = '\0';
	return 0;
}

/*
 * A task may be in 65536 groups, and that line comes before most others. Where it is all of the file that does not fit, it is left out:
 * "many".
 */
static int read_without_groups(int fd, char *buf, size_t size)
{
	enum { ROOM = 1 << 20 };
	static const char key[] = "\nGroups:", many[] = "\tmany";
	_cleanup_free_ char *text = malloc(ROOM);
	char *groups, *end;
	ssize_t len;

	if (!text)
		return -ENOMEM;
	len = pread(fd, text, ROOM - 1, 0);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	groups = strstr(text, key);
	end = groups ? strchr(groups + 1, '\n') : NULL;
	if (end && end - groups > (ptrdiff_t)(sizeof(key) + sizeof(many))) {
		groups += sizeof(key) - 1;
		memcpy(groups, many, sizeof(many) - 1);
		memmove(groups + sizeof(many) - 1, end, strlen(end) + 1);
	}
	(void)snprintf(buf, size, "%s", text);
	return 0;
}

int procfs_status(const struct notify *n, pid_t tid, char *buf, size_t size)
{
	_cleanup_close_ int fd = -1;
	ssize_t len;

	fd = procfs_open(n, tid, "status", O_RDONLY);
	if (fd < 0)
		return fd;
	len = pread(fd, buf, size - 1, 0);
	if (len < 0)
		return -errno;
	buf[len] = '\0';
	return (size_t)len < size - 1 ? 0 : read_without_groups(fd, buf, size);
}

int procfs_each(int fd, char end, bool (*take)(char *record, void *arg), void *arg)
{
	char text[8192], *at, *mark;
	size_t kept = 0;
	off_t offset = 0;
	ssize_t len;

	while ((len = pread(fd, text + kept, sizeof(text) - kept, offset)) > 0) {
		offset += len;
		kept += (size_t)len;
		for (at = text; (mark = memchr(at, end, kept)); at = mark + 1) {
			*mark = '\0';
			if (take(at, arg))
				return 1;
			kept -= (size_t)(mark + 1 - at);
		}
		memmove(text, at, kept);
		if (kept == sizeof(text))
			return -EPROTO;
	}
	return len < 0 ? -errno : 0;
}

const char *procfs_field(const char *text, const char *key)
{
	size_t len = strlen(key);
	const char *line;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ':')
			return line + len + 1;
	}
	return NULL;
}

int procfs_state(const struct notify *n, pid_t tid, char *ret_state)
{
	char text[1024];
	const char *paren;
	int r;

	r = procfs_read(n, tid, "stat", text, sizeof(text));
	if (r < 0)
		return r;
	paren = strrchr(text, ')'); /* "pid (name) state ...": the name may contain anything */
	if (!paren || paren[1] == '\0')
		return -EPROTO;
	*ret_state = paren[2];
	return 0;
}

int procfs_column(const char *text, int want, int *ret_value)
{
	int columns = 0;
	char *end;
	long value;

	while (*text == ' ' || *text == '\t')
		text++;
	while (*text && *text != '\n') {
		value = strtol(text, &end, 10);
		if (end == text)
			break;
		columns++;
		if (want == 0 || columns == want)
			*ret_value = (int)value;
		for (text = end; *text == ' ' || *text == '\t'; text++)
			;
	}
	return columns;
}

int procfs_ids(const struct notify *n, pid_t tid, int depth, struct proc_ids *ret_ids)
{
	const char *tgid, *nspid, *nstgid;
	char text[4096];
	int r;

	r = procfs_status(n, tid, text, sizeof(text));
	if (r < 0)
		return r;
	tgid = procfs_field(text, "Tgid");
	nspid = procfs_field(text, "NSpid");
	nstgid = procfs_field(text, "NStgid");
	if (!tgid || !nspid || !nstgid)
		return -EPROTO;
	*ret_ids = (struct proc_ids){ 0 };
	(void)procfs_column(tgid, 1, &ret_ids->tgid);
	(void)procfs_column(nstgid, depth, &ret_ids->vpid);
	ret_ids->depth = procfs_column(nspid, depth, &ret_ids->vtid);
	return ret_ids->tgid > 0 && ret_ids->vtid > 0 ? 0 : -EPROTO;
}

/* A text file of /proc takes ten times as long to make as this question, which Linux knows since 6.11. */
int procfs_ids_at_birth(const struct notify *n, pid_t tid, pid_t parent_tgid, struct proc_ids *ret_ids)
{
	int vtid = -1, vpid = -1;

	if (n->pid_namespace >= 0) {
		vtid = ioctl(n->pid_namespace, NS_GET_PID_IN_PIDNS, tid);
		vpid = ioctl(n->pid_namespace, NS_GET_TGID_IN_PIDNS, tid);
	}
	if (vtid <= 0 || vpid <= 0)
		return procfs_ids(n, tid, n->pid_depth, ret_ids);
	*ret_ids = (struct proc_ids){ .tgid = vtid == vpid ? tid : parent_tgid, .vtid = vtid, .vpid = vpid, .depth = n->pid_depth };
	return 0;
}

int procfs_times(const struct notify *n, pid_t tid, uint64_t *ret_user, uint64_t *ret_system)
{
	char text[1024];
	const char *paren;
	int r;

	r = procfs_read(n, tid, "stat", text, sizeof(text));
	if (r < 0)
		return r;
	paren = strrchr(text, ')');
	if (!paren || sscanf(paren + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64, ret_user, ret_system) != 2)
		return -EPROTO;
	return 0;
}

int procfs_stream(const struct notify *n, pid_t tid, const char *name, FILE **ret)
{
	int fd = procfs_open(n, tid, name, O_RDONLY);

	if (fd < 0)
		return fd;
	*ret = fdopen(fd, "r");
	if (*ret)
		return 0;
	cleanup_close(&fd);
	return -ENOMEM;
}
