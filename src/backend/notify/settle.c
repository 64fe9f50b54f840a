/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Effects that the kernel completes on its own time: the supervisor waits for them, so that no guest task sees them half
 * done. While it waits it yields the CPU, which it shares with whoever has to do the work.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define PATIENCE_NS 60000000000ull /* then something else is wrong than that the host is busy */

/* Asks `done` until it says 1 (settled) or an error. */
static int until(int (*done)(struct notify *n, pid_t pid), struct notify *n, pid_t pid)
{
	uint64_t end = host_clock_ns() + PATIENCE_NS;
	int r;

	for (;;) {
		r = done(n, pid);
		if (r != 0)
			return r < 0 ? r : 0;
		if (host_clock_ns() > end)
			return -ETIMEDOUT;
		(void)sched_yield();
	}
}

static int is_gone(struct notify *n, pid_t pid)
{
	if (kill(pid, 0) == 0)
		return 0;
	return errno == ESRCH ? 1 : -errno;
}

/* The tracer has had its end by then, and so has its parent: what the kernel reaps by itself is gone, or in state X on its way there. */
int notify_reaped(struct guest *g, int vpid)
{
	const struct notify *n = notify_of(g);
	pid_t pid = tasks_dead(&n->tasks, vpid);
	char state;
	int r;

	if (!pid)
		return 0;
	r = procfs_state(n, pid, &state);
	if (r < 0)
		return r == -ESRCH ? 1 : r;
	return state == 'X';
}

int notify_settle_reaped(struct guest *g, int vpid)
{
	struct notify *n = notify_of(g);
	pid_t pid;

	pid = tasks_take_dead(&n->tasks, vpid);
	return pid ? until(is_gone, n, pid) : 0;
}

static int is_zombie(struct notify *n, pid_t tid)
{
	char state;
	int r;

	r = procfs_state(n, tid, &state);
	if (r < 0)
		return r == -ESRCH ? 1 : r;
	return state == 'Z' || state == 'X';
}

/*
 * A task that only waits for us is asleep or stopped (in a call it may be in state D, but then its call waits for an answer). One whose process is
 * killed has SIGKILL pending, then runs towards its end (state R, D or I), then is dead: until it is the one or the other it is asked again.
 */
static int is_decided(struct notify *n, const struct notify_task *t, bool *ret_alive)
{
	char text[4096];
	const char *state, *pending;
	int r;

	*ret_alive = false;
	r = procfs_status(n, t->tid, text, sizeof(text));
	if (r < 0)
		return r == -ESRCH || r == -ENOENT ? 1 : r;
	state = procfs_field(text, "State");
	pending = procfs_field(text, "SigPnd");
	if (!state || !pending)
		return -EPROTO;
	state += strspn(state, " \t");
	if (strtoull(pending, NULL, 16) & 1ull << (SIGKILL - 1))
		return 1;
	*ret_alive = *state == 'S' || *state == 't' || (*state == 'D' && t->where == WHERE_CALL && listener_waits(&t->cookie));
	return *ret_alive || *state == 'Z' || *state == 'X';
}

int notify_settle_alive(struct notify *n, const struct notify_task *t)
{
	uint64_t end = host_clock_ns() + PATIENCE_NS;
	bool alive;
	int r;

	while ((r = is_decided(n, t, &alive)) == 0 && host_clock_ns() < end)
		(void)sched_yield();
	return r < 0 ? r : alive;
}

int notify_settle_zombie(struct notify *n, pid_t tid)
{
	return until(is_zombie, n, tid);
}

int notify_settle_leader(struct guest *g, int task)
{
	const struct notify_task *t = notify_find(g, task);

	return t ? until(is_zombie, notify_of(g), t->tid) : 0;
}

/*
 * Loopback delivery goes through a queue of the CPU that sends, which all network namespaces share: first in, first out. A
 * probe of our own, sent on the same CPU, comes out after everything that was in the queue before it. What was in there
 * may put more in (an acknowledgement, an answer to a SYN). The kernel counts the packets it takes out: when only the
 * probe itself was counted between two looks, nothing was in the queue. Needs supervisor and guest on one CPU.
 */
static int bound_socket(struct sockaddr_in *address)
{
	_cleanup_close_ int fd = -1;
	socklen_t len = sizeof(*address);

	*address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)address, len) < 0 || getsockname(fd, (struct sockaddr *)address, &len) < 0)
		return -errno;
	return take_fd(&fd);
}

static int connect_pair(struct network_probe *probe)
{
	struct sockaddr_in sender, receiver;

	probe->send_fd = bound_socket(&sender);
	probe->receive_fd = bound_socket(&receiver);
	if (probe->send_fd < 0 || probe->receive_fd < 0)
		return -EIO;
	/* both ways: nobody else can put a datagram in */
	if (connect(probe->send_fd, (struct sockaddr *)&receiver, sizeof(receiver)) < 0 ||
	    connect(probe->receive_fd, (struct sockaddr *)&sender, sizeof(sender)) < 0)
		return -errno;
	return 0;
}

static int raise_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	_cleanup_close_ int fd = -1;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0;
}

static int connect_there(void *probe)
{
	int r = raise_loopback();

	return r < 0 ? r : connect_pair(probe);
}

static void probe_close(struct network_probe *probe)
{
	cleanup_close(&probe->send_fd);
	cleanup_close(&probe->receive_fd);
	cleanup_close(&probe->stat_fd);
	probe->send_fd = probe->receive_fd = probe->stat_fd = -1;
}

static int probe_open(struct notify *n)
{
	struct network_probe *probe = &n->probe;
	int r;

	if (probe->stat_fd >= 0)
		return 0;
	probe->stat_fd = openat(n->proc_fd, "net/softnet_stat", O_RDONLY | O_CLOEXEC);
	/* In a namespace of its own, so that neither host nor guest has anything to do with it. */
	r = probe->stat_fd < 0 ? -errno : elsewhere(-1, connect_there, probe);
	if (r < 0)
		probe_close(probe);
	return r;
}

struct queue_count {
	unsigned cpu;
	uint32_t packets;
};

/* A line of softnet_stat: its first column counts, its 13th is the CPU. */
static bool is_of_cpu(char *line, void *count)
{
	struct queue_count *c = count;
	unsigned packets, cpu;

	if (sscanf(line, "%x %*x %*x %*x %*x %*x %*x %*x %*x %*x %*x %*x %x", &packets, &cpu) != 2 || cpu != c->cpu)
		return false;
	c->packets = packets;
	return true;
}

/* The count of packets taken out of the queue of this CPU. */
static int packets_taken(const struct network_probe *probe, uint32_t *ret_count)
{
	struct queue_count count = { .cpu = (unsigned)sched_getcpu() };
	int r;

	r = procfs_each(probe->stat_fd, '\n', is_of_cpu, &count);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	*ret_count = count.packets;
	return 0;
}

/* One probe through the queue. */
static int probe_once(struct network_probe *probe)
{
	struct pollfd fd = { .fd = probe->receive_fd, .events = POLLIN };
	char byte = 0;

	if (send(probe->send_fd, &byte, 1, MSG_DONTWAIT) < 0)
		return -errno;
	if (poll(&fd, 1, (int)(PATIENCE_NS / 1000000)) <= 0)
		return -ETIMEDOUT;
	return recv(probe->receive_fd, &byte, 1, MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int probe_until_quiet(struct network_probe *probe)
{
	uint64_t end = host_clock_ns() + PATIENCE_NS;
	uint32_t before = 0, after = 0;
	int r;

	r = packets_taken(probe, &before);
	while (r == 0) {
		r = probe_once(probe);
		if (r == 0)
			r = packets_taken(probe, &after);
		if (r < 0 || after - before == 1)
			return r;
		before = after;
		if (host_clock_ns() > end)
			return -ETIMEDOUT;
	}
	return r;
}

int notify_settle_network(struct guest *g)
{
	struct notify *n = notify_of(g);
	int r;

	r = probe_open(n);
	return r < 0 ? r : probe_until_quiet(&n->probe);
}

void settle_deinit(struct notify *n)
{
	probe_close(&n->probe);
}
