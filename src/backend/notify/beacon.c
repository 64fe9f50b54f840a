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
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"

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

/* The number of the beacon that an fdinfo shows, 0 when it shows none. */
static int number_in(const char *text)
{
	const char *field = procfs_field(text, "it_interval");
	long long seconds;

	return field && sscanf(field, " (%lld,", &seconds) == 1 && seconds % UNIT_S == 0 ? (int)(seconds / UNIT_S) : 0;
}

struct marks {
	bool *held;
	size_t n;
};

static int mark_descriptor(struct notify *n, pid_t tid, const char *fd, void *arg)
{
	char name[64], target[64], text[2048];
	const struct marks *marks = arg;
	ssize_t len;
	int number;

	(void)snprintf(name, sizeof(name), "%d/fd/%.20s", tid, fd);
	len = readlinkat(n->proc_fd, name, target, sizeof(target) - 1);
	if (len < 0)
		return 0;
	target[len] = '\0';
	(void)snprintf(name, sizeof(name), "fdinfo/%.20s", fd);
	if (!strstr(target, "[timerfd]") || procfs_read(n, tid, name, text, sizeof(text)) < 0)
		return 0;
	number = number_in(text);
	if (number > 0 && (size_t)number < marks->n)
		marks->held[number] = true;
	return 0;
}

int notify_beacons_held(struct guest *g, bool *held, size_t n_held)
{
	struct marks marks = { held, n_held };

	return handles_each(notify_of(g), mark_descriptor, &marks);
}

void beacon_info(const struct notify *n, int fd, struct fd_info *info)
{
	char name[64], text[2048];
	const char *field;

	(void)snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (procfs_read(n, n->self, name, text, sizeof(text)) < 0)
		return;
	field = procfs_field(text, "sigmask");
	if (field)
		info->sigmask = strtoull(field, NULL, 16);
	info->beacon = number_in(text);
}
