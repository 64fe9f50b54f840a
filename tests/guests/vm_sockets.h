/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of the loopback device, for the guests of vm.sh. */
#ifndef HS_TESTS_GUESTS_VM_SOCKETS_H
#define HS_TESTS_GUESTS_VM_SOCKETS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "vm.h"

/* Port 0: whichever is free. */
static inline struct sockaddr_in loopback(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static inline int port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);

	MUST(getsockname(fd, (struct sockaddr *)&a, &len));
	return ntohs(a.sin_port);
}

/* A socket at this port. */
static inline int bound(int type, int port)
{
	struct sockaddr_in a = loopback(port);
	int fd = (int)MUST(socket(AF_INET, type, 0));

	MUST(bind(fd, (struct sockaddr *)&a, sizeof(a)));
	return fd;
}

static inline int connected(int type, int port)
{
	struct sockaddr_in a = loopback(port);
	int fd = (int)MUST(socket(AF_INET, type, 0));

	MUST(connect(fd, (struct sockaddr *)&a, sizeof(a)));
	return fd;
}

static inline void stream_pair(int *a, int *b)
{
	int listener = bound(SOCK_STREAM, 0);

	MUST(listen(listener, 5));
	*a = connected(SOCK_STREAM, port_of(listener));
	*b = (int)MUST(accept(listener, NULL, NULL));
	close(listener);
}

#endif
