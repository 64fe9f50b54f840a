/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who can make a descriptor ready, beside the guest. Asked only when nobody can go on: then the run waits for them in real time, or time passes,
 * or it is a deadlock.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <linux/un.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The kernel's EP_MAX_NESTS, and the outermost one; how many sockets of a set are each looked at, which takes some calls. */
enum { SETS_DEEP = 5, SOCKETS_MOST = 64 };

/* One line of proc_pid_fdinfo(5) of a set. */
struct member {
	int fd; /* its number when it was added; of whoever added it */
	dev_t dev;
	ino_t ino;
};

/* What is asked: who can make it ready; or the name of what is so, and has one. */
struct question {
	char *name; /* NULL: who; else room for it, "" until it is found */
	size_t size;
	unsigned sets; /* that the descriptor is in, one in the other */
};

static int reach_of(struct notify *n, int fd, struct question *q);

static bool is_ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) > 0;
}

/* One that was there before the run is there for others. */
static enum guest_reach reach_of_fifo(struct notify *n, int fd, const struct fd_info *info, struct question *q)
{
	const struct guest *g = &n->guest;

	if (info->dev == g->identities.pipe_dev || !objects_shared(n, fd))
		return REACH_GUEST;
	if (q->name && is_ready(fd, POLLIN | POLLOUT) && objects_link(n, fd, q->name, q->size) < 0)
		q->name[0] = '\0';
	return g->made_here && g->made_here(g->made_here_arg, info->dev, info->ino) ? REACH_NEIGHBOURS : REACH_OUTSIDE;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *in = (const void *)address;
	const struct sockaddr_in6 *in6 = (const void *)address;
	bool mapped = address->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);

	if (address->ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return mapped ? in6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET : IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

static enum guest_reach reach_of_inet(const struct notify *n, int fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof(address);

	if (n->network == BACKEND_NETWORK_OWN)
		return REACH_GUEST;
	if (n->network == BACKEND_NETWORK_HOST || getsockname(fd, (void *)&address, &len) < 0 || !is_loopback(&address))
		return REACH_OUTSIDE;
	return REACH_NEIGHBOURS;
}

/* One that is gone makes nothing ready. Whoever's namespace we may not see is none of the guest's. */
static bool is_of_guest(struct notify *n, pid_t pid)
{
	const struct guest_identities *known = &n->guest.identities;
	char path[64];
	struct stat st;

	if (tasks_by_tid(&n->tasks, pid))
		return true;
	(void)snprintf(path, sizeof(path), "%d/ns/pid", (int)pid);
	if (fstatat(n->proc_fd, path, &st, 0) < 0)
		return errno == ENOENT || errno == ESRCH;
	for (size_t i = 0; i < GUEST_NAMESPACES; i++)
		if (known->namespaces[i].name && !strcmp(known->namespaces[i].name, "pid"))
			return known->namespaces[i].ino == st.st_ino;
	return false;
}

/*
 * Whoever finds its name can connect to it, or send to it: abstract ones are found in the network namespace, others where their file is. Where we may
 * not ask for that, the namespace is not ours.
 */
static enum guest_reach reach_of_name(struct notify *n, int fd, const struct sockaddr_un *address, socklen_t len)
{
	_cleanup_close_ int file = -1;

	if (len <= offsetof(struct sockaddr_un, sun_path))
		return REACH_GUEST;
	file = address->sun_path[0] ? ioctl(fd, SIOCUNIXFILE) : -1;
	if (file < 0)
		return n->network == BACKEND_NETWORK_OWN ? REACH_GUEST : REACH_NEIGHBOURS;
	if (!objects_shared(n, file))
		return REACH_GUEST;
	n->names_shared = true;
	return REACH_NEIGHBOURS;
}

static int option_of(int fd, int option)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : 0;
}

/* A listener has its own credentials for its peer's, a socket without a peer has none. */
static enum guest_reach reach_of_unix(struct notify *n, int fd, struct question *q)
{
	bool messages = option_of(fd, SO_TYPE) == SOCK_DGRAM;
	struct sockaddr_un address = { 0 };
	socklen_t address_len = sizeof(address);
	enum guest_reach reach;
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid != (uid_t)-1 &&
	    (peer.pid == 0 || !is_of_guest(n, peer.pid))) { /* 0: of no namespace that we see into */
		n->peers_outside = true;
		return REACH_OUTSIDE;
	}
	if (getsockname(fd, (void *)&address, &address_len) < 0)
		return REACH_GUEST;
	/* Before it listens, too: its name is known when it has been asked once (sockets_matter()). */
	reach = reach_of_name(n, fd, &address, address_len);
	if (!messages && !option_of(fd, SO_ACCEPTCONN))
		return REACH_GUEST;
	if (q->name && reach > REACH_GUEST && messages && is_ready(fd, POLLIN))
		(void)snprintf(q->name, q->size, "%.*s", (int)(address_len - offsetof(struct sockaddr_un, sun_path)),
			       address.sun_path[0] ? address.sun_path : address.sun_path + 1);
	return reach;
}

static enum guest_reach reach_of_socket(struct notify *n, int fd, struct question *q)
{
	socklen_t len = sizeof(int);
	int domain;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
		return REACH_GUEST;
	switch (domain) {
	case AF_UNIX:
		return reach_of_unix(n, fd, q);
	case AF_INET:
	case AF_INET6:
		return reach_of_inet(n, fd);
	case AF_PACKET:
	case AF_VSOCK:
		return n->network == BACKEND_NETWORK_OWN ? REACH_GUEST : REACH_OUTSIDE;
	default:
		return REACH_GUEST;
	}
}

/* ---- sets ---- */

static bool parse_member(const char *line, struct member *ret)
{
	const char *at = strstr(line, " ino:");
	uint64_t ino;
	unsigned dev; /* as the kernel has it */

	if (sscanf(line, "tfd: %d", &ret->fd) != 1 || !at || sscanf(at, " ino:%" SCNx64 " sdev:%x", &ino, &dev) != 2)
		return false;
	ret->dev = makedev(dev >> 20, dev & 0xfffff);
	ret->ino = ino;
	return true;
}

/* The member itself, by a task that has it under the number under which it was added: anonymous inodes have nothing else to be told by. */
static int borrow_member(struct notify *n, int set, const struct member *m)
{
	const struct kcmp_epoll_slot slot = { .efd = (__u32)set, .tfd = (__u32)m->fd };
	struct notify_task *t, *tmp;

	HASH_ITER(hh_number, n->tasks.by_number, t, tmp) {
		if (t->where != WHERE_DEAD && syscall(SYS_kcmp, t->tid, n->self, KCMP_EPOLL_TFD, m->fd, &slot) == 0)
			return handles_borrow(n, t->tid, m->fd);
	}
	return -EBADF;
}

static bool is_from_outside(const struct notify *n, const struct member *m)
{
	for (size_t i = 0; i < n->n_outside; i++)
		if (n->outside[i].dev == m->dev && n->outside[i].ino == m->ino)
			return true;
	return false;
}

/*
 * In a network of the guest's own only those with a peer outside: whoever has got one has been asked about it when it connected, or has it from
 * a socket that comes from there, by accept(2) or in a message.
 */
static bool peers_matter(const struct notify *n)
{
	bool matter = n->network != BACKEND_NETWORK_OWN || n->peers_outside;

	for (size_t i = 0; i < n->n_outside && !matter; i++)
		matter = n->outside[i].dev == n->guest.identities.socket_dev;
	return matter;
}

/* And those with a name that is found outside, which were asked about when they got it. */
static bool sockets_matter(const struct notify *n)
{
	return n->names_shared || peers_matter(n);
}

static int reach_of_member(struct notify *n, int set, const struct member *m, struct question *q)
{
	bool is_socket = m->dev == n->guest.identities.socket_dev;
	_cleanup_close_ int fd = -1;

	if (is_from_outside(n, m))
		return REACH_OUTSIDE;
	if (m->dev == n->guest.identities.pipe_dev || (is_socket && !sockets_matter(n)))
		return REACH_GUEST;
	fd = borrow_member(n, set, m);
	if (fd < 0 && is_socket)
		fd = notify_fd_find(&n->guest, m->dev, m->ino);
	if (fd >= 0)
		return reach_of(n, fd, q);
	if (fd != -EBADF && fd != -ESRCH)
		return fd;
	/* On its way in a message: nothing more can be said. */
	return !is_socket ? REACH_GUEST : peers_matter(n) ? REACH_OUTSIDE : REACH_NEIGHBOURS;
}

/* From its beginning on, where it is then again. */
static bool has_many_sockets(const struct notify *n, FILE *file)
{
	_cleanup_free_ char *line = NULL;
	struct member member;
	size_t room = 0;
	int count = 0;

	while (getline(&line, &room, file) >= 0)
		count += parse_member(line, &member) && member.dev == n->guest.identities.socket_dev;
	rewind(file);
	return count > SOCKETS_MOST;
}

static int reach_of_set(struct notify *n, int set, struct question *q)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	int most = REACH_GUEST, r;
	struct member member;
	char name[64];
	size_t room = 0;

	if (q->sets == SETS_DEEP)
		return REACH_GUEST;
	(void)snprintf(name, sizeof(name), "fdinfo/%d", set);
	r = procfs_stream(n, n->self, name, &file);
	if (r >= 0 && sockets_matter(n) && has_many_sockets(n, file)) /* one of them may be. All alike, since their order is that of addresses in the kernel */
		return peers_matter(n) ? REACH_OUTSIDE : REACH_NEIGHBOURS;
	q->sets++;
	while (r >= 0 && (q->name ? !q->name[0] : most < REACH_OUTSIDE) && getline(&line, &room, file) >= 0) {
		r = parse_member(line, &member) ? reach_of_member(n, set, &member, q) : REACH_GUEST;
		most = r > most ? r : most;
	}
	q->sets--;
	return r < 0 ? r : most;
}

static int reach_of(struct notify *n, int fd, struct question *q)
{
	struct fd_info info;
	int r;

	r = info_of_object(n, fd, &info);
	if (r < 0)
		return r;
	if (info.external)
		return REACH_OUTSIDE;
	if (S_ISSOCK(info.mode))
		return (int)reach_of_socket(n, fd, q);
	if (S_ISFIFO(info.mode))
		return (int)reach_of_fifo(n, fd, &info, q);
	return info.kind == FD_EPOLL ? reach_of_set(n, fd, q) : REACH_GUEST;
}

int notify_handle_reach(struct guest *g, int handle)
{
	struct question who = { 0 };

	return reach_of(notify_of(g), handle, &who);
}

int notify_handle_outsider(struct guest *g, int handle, char *buf, size_t size)
{
	struct question name = { .name = buf, .size = size };
	int r;

	buf[0] = '\0';
	r = reach_of(notify_of(g), handle, &name);
	return r < 0 ? r : buf[0] != '\0';
}
