/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loopback, and the namespace's own addresses, without delayed acknowledgements. The kernel holds an acknowledgement back for up to 40 ms
 * of real time, and a sender that waits for it holds data back: when these arrive would depend on the host, or they would never arrive in
 * time that is virtual. The route's quickack metric has every segment acknowledged when it comes. Nor does a sender that waits for the
 * window to open ask for that after 200 ms of real time, as it does natively: nothing is lost here, so its timers have nothing to do.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "container/internal.h"

enum { LO = 1, REQUEST_SIZE = 512, NEVER_MS = 120000 /* TCP_RTO_MAX */ };

/* A route of the local table to an address of the namespace's. */
struct local_route {
	int family;
	const char *address, *source;
	unsigned char bits;
	uint32_t priority; /* 0: not said */
	uint32_t link;
};

static void put_address(struct nlmsghdr *message, int family, const char *text, uint16_t type)
{
	unsigned char address[16];

	if (inet_pton(family, text, address) == 1)
		mnl_attr_put(message, type, family == AF_INET ? 4 : 16, address);
}

static struct nlmsghdr *route_message(char *buf, const struct local_route *route, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *message = net_begin(buf, type, flags);
	struct rtmsg *body = mnl_nlmsg_put_extra_header(message, sizeof(*body));

	body->rtm_family = (unsigned char)route->family;
	body->rtm_dst_len = route->bits;
	body->rtm_table = RT_TABLE_LOCAL;
	body->rtm_type = RTN_LOCAL;
	body->rtm_protocol = RTPROT_KERNEL;
	body->rtm_scope = route->family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
	put_address(message, route->family, route->address, RTA_DST);
	mnl_attr_put_u32(message, RTA_OIF, route->link);
	if (route->priority)
		mnl_attr_put_u32(message, RTA_PRIORITY, route->priority);
	return message;
}

static int set_quickack(struct mnl_socket *socket, const struct local_route *route)
{
	char buf[REQUEST_SIZE];
	struct nlmsghdr *message;
	struct nlattr *metrics;

	message = route_message(buf, route, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE);
	if (route->source)
		put_address(message, route->family, route->source, RTA_PREFSRC);
	metrics = mnl_attr_nest_start(message, RTA_METRICS);
	mnl_attr_put_u32(message, RTAX_LOCK, 1u << RTAX_RTO_MIN); /* is looked at only when it is locked */
	mnl_attr_put_u32(message, RTAX_RTO_MIN, NEVER_MS);
	mnl_attr_put_u32(message, RTAX_QUICKACK, 1);
	mnl_attr_nest_end(message, metrics);
	return net_carry_out(socket, message);
}

/* The end of the pair that is the guest's. Its IPv6 address gets its route from a worker of the kernel's, when that comes to it. */
static int set_pair(struct mnl_socket *socket)
{
	static const unsigned char ip4[] = CONTAINER_PAIR_IP4;
	char address[INET_ADDRSTRLEN];

	if (!inet_ntop(AF_INET, ip4, address, sizeof(address)))
		return -errno;
	return set_quickack(socket, &(struct local_route){ AF_INET, address, address, 32, 0, container_pair[0].index });
}

int net_acknowledge_at_once(bool pair, struct error *err)
{
	static const struct local_route four[] = {
		{ AF_INET, "127.0.0.1", "127.0.0.1", 32, 0, LO },
		{ AF_INET, "127.0.0.0", "127.0.0.1", 8, 0, LO },
	};
	/* The kernel's own route, of metric 0, cannot be replaced, only taken away when there is another. */
	static const struct local_route six = { AF_INET6, "::1", NULL, 128, 1024, LO };
	static const struct local_route six_kernel = { AF_INET6, "::1", NULL, 128, 0, LO };
	char buf[REQUEST_SIZE];
	struct mnl_socket *socket;
	int r = 0;

	socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!socket)
		return error_errno(err, errno, "cannot open a netlink socket");
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0)
		r = -errno;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(four); i++)
		r = set_quickack(socket, &four[i]);
	if (r == 0 && pair)
		r = set_pair(socket);
	/* A host may be without IPv6. */
	if (r == 0 && set_quickack(socket, &six) == 0)
		(void)net_carry_out(socket, route_message(buf, &six_kernel, RTM_DELROUTE, 0));
	(void)mnl_socket_close(socket);
	return r < 0 ? error_errno(err, -r, "cannot set the routes to the container's own addresses") : 0;
}
