/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network namespace that others have made may be on its way still: an IPv6 address cannot be used before the kernel has looked for
 * duplicates, for a random time of up to some seconds after the link came up. The guest starts when that is over.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "container/internal.h"

enum { LONGEST_MS = 10000 }; /* the kernel's usual settings make it 1 s to 2 s */

struct passing {
	uint32_t *carriers; /* owned: indexes of links that carry */
	size_t n;
	bool found; /* something will be otherwise soon */
};

/* A link that carries will be running in a moment; then it gets an address. */
static int look_at_link(const struct nlmsghdr *nlh, void *data)
{
	const unsigned carrying = IFF_UP | IFF_LOWER_UP;
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(nlh);
	struct passing *p = data;
	uint32_t *grown;

	if ((info->ifi_flags & carrying) != carrying)
		return MNL_CB_OK;
	p->found = p->found || !(info->ifi_flags & IFF_RUNNING);
	grown = reallocarray(p->carriers, p->n + 1, sizeof(*grown));
	if (!grown)
		return MNL_CB_ERROR;
	p->carriers = grown;
	p->carriers[p->n++] = (uint32_t)info->ifi_index;
	return MNL_CB_OK;
}

/* Without a carrier nothing is looked for, and an address that has been found elsewhere stays as it is. */
static int look_at_address(const struct nlmsghdr *nlh, void *data)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(nlh);
	struct passing *p = data;

	if (!(info->ifa_flags & IFA_F_TENTATIVE) || (info->ifa_flags & IFA_F_DADFAILED))
		return MNL_CB_OK;
	for (size_t i = 0; i < p->n; i++)
		p->found = p->found || p->carriers[i] == info->ifa_index;
	return MNL_CB_OK;
}

/* 1: something is on its way, 0: nothing, or -errno. */
static int is_passing(struct mnl_socket *socket)
{
	struct passing p = { 0 };
	int r;

	r = net_dump(socket, RTM_GETLINK, AF_UNSPEC, look_at_link, &p);
	if (r == 0)
		r = net_dump(socket, RTM_GETADDR, AF_INET6, look_at_address, &p);
	free(p.carriers);
	return r < 0 ? r : p.found;
}

/* Until something is said, then reads it; an overflow says something, too. False: it is too late. */
static bool wait_for_news(struct mnl_socket *news, int64_t end)
{
	struct pollfd ready = { .fd = mnl_socket_get_fd(news), .events = POLLIN };
	char buf[1 << 13];
	int64_t left = end - host_clock_ms();

	if (left <= 0 || poll(&ready, 1, (int)left) == 0)
		return false;
	(void)mnl_socket_recvfrom(news, buf, sizeof(buf));
	return true;
}

static int settle(struct mnl_socket *news, struct mnl_socket *questions, struct error *err)
{
	const int64_t end = host_clock_ms() + LONGEST_MS;
	int r;

	if (mnl_socket_bind(news, RTMGRP_LINK | RTMGRP_IPV6_IFADDR, MNL_SOCKET_AUTOPID) < 0)
		return error_errno(err, errno, "cannot listen to changes of the network namespace");
	while ((r = is_passing(questions)) > 0)
		if (!wait_for_news(news, end)) {
			log_warning("the network namespace that is joined has a link or an IPv6 address that is not ready after %d s: "
				    "when it can be used is not under control",
				    LONGEST_MS / 1000);
			return 0;
		}
	return r < 0 ? error_errno(err, -r, "cannot read the addresses of the network namespace") : 0;
}

int net_settle(struct error *err)
{
	struct mnl_socket *news = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	struct mnl_socket *questions = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int r;

	r = news && questions ? settle(news, questions, err) : error_errno(err, errno, "cannot open a netlink socket");
	if (news)
		(void)mnl_socket_close(news);
	if (questions)
		(void)mnl_socket_close(questions);
	return r;
}
