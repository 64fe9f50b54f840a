/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Beacons (engine/guest.h) are timerfds that never run: set readable by an expiry in the past, cleared by disarming. Their number is kept in the
 * interval, which /proc shows of every descriptor of the same open file.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { UNIT_S = 1000000 /* seconds of interval per number: far from running */, SETTLE_MS = 10000 };

int notify_beacon_set(struct guest *g, int handle, int id, bool readable)
{
	struct itimerspec spec = { .it_interval = { .tv_sec = (time_t)id * UNIT_S } };
	struct pollfd p = { .fd = handle, .events = POLLIN };

	spec.it_value.tv_nsec = readable; /* 1 ns after the start of the clock, or never */
	if (timerfd_settime(handle, TFD_TIMER_ABSTIME, &spec, NULL) < 0)
		return -errno;
	/* The kernel's timer fires a moment later; nobody goes on before. */
	if (readable && poll(&p, 1, SETTLE_MS) != 1)
		return -ETIME;
	return 0;
}

int notify_beacon_new(struct guest *g, int id, int open_flags)
{
	int fd, r;

	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | (open_flags & O_NONBLOCK ? TFD_NONBLOCK : 0));
	if (fd < 0)
		return -errno;
	r = notify_beacon_set(g, fd, id, false);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return fd;
}

void beacon_info(const struct notify *n, int fd, struct fd_info *info)
{
	char name[64], text[2048];
	const char *field;
	long long seconds;

	(void)snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (procfs_read(n, n->self, name, text, sizeof(text)) < 0)
		return;
	field = procfs_field(text, "sigmask");
	if (field)
		info->sigmask = strtoull(field, NULL, 16);
	field = procfs_field(text, "it_interval");
	if (field && sscanf(field, " (%lld,", &seconds) == 1 && seconds % UNIT_S == 0)
		info->beacon = (int)(seconds / UNIT_S);
}
