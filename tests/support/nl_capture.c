/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures what the kernel answers to dump requests in the present network namespace, as text for `hermit
 * netlink-dump`.
 *
 *   nl_capture link addr route ...     one socket for each name, one datagram after the other
 *   nl_capture -b link                 the bytes themselves
 *
 * The file tests/netlink/NAME.hex were made with it; so does tests/integration/netlink_namespaces.sh.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>

/* Longer than any structure that a dump request may have to have. */
enum { BODY_SIZE = 56, BUFFER_SIZE = 1 << 16 };

/* The same for all captures, so that the port is not what differs. */
enum { PORT = 4711 };

static const struct {
	const char *name;
	int protocol;
	uint16_t type;
	uint8_t body_len;
	uint8_t body[BODY_SIZE];
} requests[] = {
	{ "link", NETLINK_ROUTE, RTM_GETLINK, 16, { 0 } },
	{ "bridge", NETLINK_ROUTE, RTM_GETLINK, 16, { AF_BRIDGE } },
	{ "link6", NETLINK_ROUTE, RTM_GETLINK, 16, { AF_INET6 } },
	{ "addr", NETLINK_ROUTE, RTM_GETADDR, 8, { 0 } },
	{ "route", NETLINK_ROUTE, RTM_GETROUTE, 12, { 0 } },
	{ "neigh", NETLINK_ROUTE, RTM_GETNEIGH, 12, { 0 } },
	{ "fdb", NETLINK_ROUTE, RTM_GETNEIGH, 16, { AF_BRIDGE } },
	{ "neightbl", NETLINK_ROUTE, RTM_GETNEIGHTBL, 4, { 0 } },
	{ "rule", NETLINK_ROUTE, RTM_GETRULE, 12, { 0 } },
	{ "qdisc", NETLINK_ROUTE, RTM_GETQDISC, 20, { 0 } },
	{ "netconf", NETLINK_ROUTE, RTM_GETNETCONF, 1, { 0 } },
	{ "nsid", NETLINK_ROUTE, RTM_GETNSID, 1, { 0 } },
	{ "stats", NETLINK_ROUTE, RTM_GETSTATS, 12, { [8] = 1 } },
	{ "nexthop", NETLINK_ROUTE, RTM_GETNEXTHOP, 8, { 0 } },
	{ "multicast", NETLINK_ROUTE, RTM_GETMULTICAST, 8, { AF_INET6 } },
	{ "anycast", NETLINK_ROUTE, RTM_GETANYCAST, 8, { AF_INET6 } },
	{ "addrlabel", NETLINK_ROUTE, RTM_GETADDRLABEL, 12, { AF_INET6 } },
	/* All states; all extensions that a byte can ask for. */
	{ "tcp", NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, 56, { AF_INET, 6, 0xff, 0, 0xff, 0xff, 0xff, 0xff } },
	{ "udp", NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, 56, { AF_INET, 17, 0xff, 0, 0xff, 0xff, 0xff, 0xff } },
	{ "unix", NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, 24,
	  { AF_UNIX, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, [12] = 0x7f, [16] = 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } },
	{ "netlink", NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, 20, { AF_NETLINK, 255, [8] = 0xb } },
};

static void put_text(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		printf("%02x%s", bytes[i], i % 32 == 31 || i + 1 == len ? "\n" : i % 4 == 3 ? " " : "");
	printf("\n");
}

/* Whether the datagram's messages end the dump. */
static bool is_last(const uint8_t *bytes, size_t len)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)bytes;

	for (unsigned left = (unsigned)len; NLMSG_OK(nlh, left); nlh = NLMSG_NEXT(nlh, left))
		if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR)
			return true;
	return false;
}

static int capture(size_t i, bool binary)
{
	static _Alignas(8) uint8_t buffer[BUFFER_SIZE];
	struct {
		struct nlmsghdr header;
		uint8_t body[BODY_SIZE];
	} request = { 0 };
	const struct sockaddr_nl self = { .nl_family = AF_NETLINK, .nl_pid = PORT };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, requests[i].protocol);
	ssize_t n = -1;

	request.header = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)sizeof(request.header) + requests[i].body_len,
		.nlmsg_type = requests[i].type,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		.nlmsg_seq = 1,
	};
	memcpy(request.body, requests[i].body, BODY_SIZE);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&self, sizeof(self)) < 0 ||
	    send(fd, &request, request.header.nlmsg_len, 0) < 0) {
		fprintf(stderr, "nl_capture: %s: %s\n", requests[i].name, strerror(errno));
		return 1;
	}
	do {
		n = recv(fd, buffer, sizeof(buffer), 0);
		if (n <= 0)
			break;
		if (binary)
			(void)fwrite(buffer, 1, (size_t)n, stdout);
		else
			put_text(buffer, (size_t)n);
	} while (!is_last(buffer, (size_t)n));
	(void)close(fd);
	return n <= 0;
}

static int capture_name(const char *name, bool binary)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (strcmp(requests[i].name, name) != 0)
			continue;
		if (!binary)
			printf("# %s\n# protocol: %s\n", name,
			       requests[i].protocol == NETLINK_ROUTE ? "route" : "sock_diag");
		return capture(i, binary);
	}
	fprintf(stderr, "nl_capture: there is no request '%s'\n", name);
	return 1;
}

int main(int argc, char **argv)
{
	bool binary = argc > 1 && strcmp(argv[1], "-b") == 0;
	int failed = 0;

	for (int i = binary ? 2 : 1; i < argc; i++)
		failed |= capture_name(argv[i], binary);
	return failed || fflush(stdout) != 0;
}
