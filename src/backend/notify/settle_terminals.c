/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pseudo-terminals at rest. What is written to one side is passed on to the other by a work item of the kernel's, at some time: input is made
 * lines of, echoed, turned into signals. Nobody can ask about that item: poll(2) waits for it, but only where there is nothing to read yet.
 *
 * All such items wait in one queue for the kernel's unbound workers, and are taken out in the order in which they came (of one processor: supervisor
 * and guest share theirs). So one of our own, of a pseudo-terminal that always is empty and can be waited for, is taken out behind them: then
 * each of them is done, or in the hands of a worker. A worker says by its name that it has one: "kworker/u4:1+events_unbound", with "-" when
 * it had. Each that had one is waited for. What a slave is given may be echoed, which is an item of the master's: then all of it happens twice.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	LOOKS = 20000, /* a second at least: a work item of somebody else's may last */
	AT_ONCE = 20,  /* looks without sleeping: a worker on another processor is about to be done */
	NAP_NS = 50000,
	KTHREADD = 2,
	WORKERS_MAX = 256,
};

static void probe_close(struct terminal_probe *probe)
{
	cleanup_close(&probe->master);
	cleanup_close(&probe->slave);
	probe->master = probe->slave = -1;
}

static int set_raw(int fd)
{
	struct termios mode;

	if (tcgetattr(fd, &mode) < 0)
		return -errno;
	cfmakeraw(&mode);
	return tcsetattr(fd, TCSANOW, &mode) < 0 ? -errno : 0;
}

static int probe_make(struct terminal_probe *probe)
{
	int unlocked = 0;

	probe->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (probe->master < 0 || ioctl(probe->master, TIOCSPTLCK, &unlocked) < 0)
		return -errno;
	probe->slave = ioctl(probe->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	return probe->slave < 0 ? -errno : set_raw(probe->slave);
}

static int probe_open(struct terminal_probe *probe)
{
	int r;

	if (probe->slave >= 0)
		return 0;
	r = probe_make(probe);
	if (r < 0)
		probe_close(probe);
	return r;
}

/* One byte through the queue: poll(2) waits for its work item. */
static int probe_pass(const struct terminal_probe *probe)
{
	struct pollfd fd = { .fd = probe->slave, .events = POLLIN };
	char byte = 0;

	if (write(probe->master, &byte, 1) != 1)
		return -errno;
	while (poll(&fd, 1, -1) < 0)
		if (errno != EINTR)
			return -errno;
	return read(probe->slave, &byte, 1) == 1 ? 0 : -EIO;
}

/* Has this thread of the kernel a work item of the queue in hand? */
static bool is_at_work(const struct notify *n, pid_t pid)
{
	char name[64];
	int r;

	r = procfs_read(n, pid, "comm", name, sizeof(name));
	return r == 0 && strncmp(name, "kworker/u", strlen("kworker/u")) == 0 && strstr(name, "+events");
}

struct workers {
	const struct notify *n;
	pid_t pids[WORKERS_MAX];
	size_t found;
};

static bool note_worker(char *word, void *workers)
{
	struct workers *w = workers;
	pid_t pid = (pid_t)strtol(word, NULL, 10);

	if (is_at_work(w->n, pid))
		w->pids[w->found++] = pid;
	return w->found == WORKERS_MAX;
}

/* Those that have something in hand; none where the kernel's threads are not to be seen. */
static void look_for_workers(struct workers *workers)
{
	_cleanup_close_ int fd = -1;

	fd = procfs_open(workers->n, KTHREADD, "task/2/children", O_RDONLY);
	if (fd >= 0)
		(void)procfs_each(fd, ' ', note_worker, workers);
}

static int settle_once(struct notify *n)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct workers workers = { .n = n };
	int r;

	r = probe_pass(&n->terminal_probe);
	if (r < 0)
		return r;
	look_for_workers(&workers);
	for (size_t i = 0; i < workers.found; i++)
		for (int looks = 0; looks < LOOKS && is_at_work(n, workers.pids[i]); looks++)
			if (looks >= AT_ONCE)
				(void)nanosleep(&nap, NULL);
	return 0;
}

int notify_settle_terminals(struct guest *g, bool echoes)
{
	struct notify *n = notify_of(g);
	int r;

	r = probe_open(&n->terminal_probe);
	if (r < 0)
		return r == -ENOMEM ? r : 0; /* no pseudo-terminals here: what the kernel's worker has passed on stays open */
	r = settle_once(n);
	return r < 0 || !echoes ? r : settle_once(n);
}

/* SIGTTOU does not come to those who have blocked it or ignore it: the kernel lets them write. */
static bool takes_sigttou(struct guest *g, int task)
{
	struct signal_state state;

	return notify_signal_state(g, task, &state) == 0 && !((state.blocked | state.ignored) & 1ull << (SIGTTOU - 1));
}

bool notify_terminal_stops(struct guest *g, int task, int handle, dev_t rdev, bool writes)
{
	const struct notify_task *t = notify_find(g, task);
	long group, terminal, foreground;
	struct termios mode;
	const char *fields;
	char text[1024];

	if (!t || tcgetattr(handle, &mode) < 0 || (writes && !(mode.c_lflag & TOSTOP)) || procfs_read(notify_of(g), t->tid, "stat", text, sizeof(text)) < 0)
		return false;
	fields = strrchr(text, ')'); /* behind the name: state, parent, group, session, terminal, its group in the foreground */
	if (!fields || sscanf(fields + 1, " %*c %*d %ld %*d %ld %ld", &group, &terminal, &foreground) != 3)
		return false;
	return (dev_t)terminal == rdev && group != foreground && (!writes || takes_sigttou(g, task));
}

void settle_terminals_deinit(struct notify *n)
{
	probe_close(&n->terminal_probe);
}
