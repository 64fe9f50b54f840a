/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the outside can make ready. Asked only when nobody can go on: then the run waits for it in real time, or time passes, or it is a
 * deadlock.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

static bool is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *in = (const void *)address;
	const struct sockaddr_in6 *in6 = (const void *)address;
	bool mapped = address->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);

	if (address->ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return mapped ? in6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET : IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

/* A network socket that others may send to, or connect to. */
static bool socket_is_in_reach(const struct notify *n, int fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof(int);
	int domain;

	if (n->network == BACKEND_NETWORK_OWN || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
		return false;
	if (domain != AF_INET && domain != AF_INET6)
		return domain == AF_PACKET || domain == AF_VSOCK;
	len = sizeof(address);
	return n->network == BACKEND_NETWORK_HOST || getsockname(fd, (void *)&address, &len) < 0 || !is_loopback(&address);
}

static bool is_from_outside(const struct notify *n, dev_t dev, ino_t ino)
{
	for (size_t i = 0; i < n->n_outside; i++)
		if (n->outside[i].dev == dev && n->outside[i].ino == ino)
			return true;
	return false;
}

/*
 * Lines of proc_pid_fdinfo(5): the members' inodes, and the device as the kernel has it. Of a socket in a set nothing more is known: it may be one that is in
 * reach.
 */
static bool member_is_external(const struct notify *n, const char *line)
{
	const char *at = strstr(line, " ino:");
	uint64_t ino;
	unsigned sdev;
	dev_t dev;

	if (strncmp(line, "tfd:", 4) != 0 || !at || sscanf(at, " ino:%" SCNx64 " sdev:%x", &ino, &sdev) != 2)
		return false;
	dev = makedev(sdev >> 20, sdev & 0xfffff);
	return is_from_outside(n, dev, ino) || (n->network != BACKEND_NETWORK_OWN && dev == n->guest.identities.socket_dev);
}

static int set_is_external(const struct notify *n, int fd)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	char name[64];
	size_t room = 0;
	bool found = false;

	(void)snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	file = fopen(name, "re");
	if (!file)
		return -errno;
	while (!found && getline(&line, &room, file) >= 0)
		found = member_is_external(n, line);
	return found;
}

int notify_handle_is_external(struct guest *g, int handle)
{
	struct notify *n = notify_of(g);
	struct fd_info info;
	int r;

	r = info_of_object(n, handle, &info);
	if (r < 0 || info.external)
		return r < 0 ? r : 1;
	if (S_ISSOCK(info.mode))
		return socket_is_in_reach(n, handle);
	return info.kind == FD_EPOLL ? set_is_external(n, handle) : 0;
}
