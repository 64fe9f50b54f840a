/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's own work on links and addresses: see network_rest.h. */
#include "engine/net/network_rest.h"

#include <errno.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "netlink/rest.h"

enum {
	PATIENCE_MS = 3000, /* real time without news: the kernel looks for duplicates of an address for 1 s to 2 s */
	ROUNDS = 1000,      /* of news */
	GROUPS = RTMGRP_LINK | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE,
};

void network_stirred(struct engine *e)
{
	e->netlinks.stirred = true;
}

static bool is_setting(const char *name)
{
	static const char *const below[] = { "/proc/sys/net/", "/sys/devices/virtual/net/" };

	for (size_t i = 0; i < ARRAY_SIZE(below); i++)
		if (strncmp(name, below[i], strlen(below[i])) == 0)
			return true;
	return false;
}

int network_note_write(struct engine *e, struct task *t, int fd, const struct fd_info *info)
{
	char name[PATH_MAX];
	int handle, r;

	if ((info->kind != FD_PROC && info->kind != FD_SYS) || !e->g->ops->handle_object)
		return 0;
	handle = e->g->ops->fd_borrow(e->g, t->id, fd);
	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	r = e->g->ops->handle_object(e->g, t->id, handle, name, sizeof(name));
	e->g->ops->handle_release(e->g, handle);
	if (r >= 0 && is_setting(name))
		network_stirred(e);
	return r == -ESRCH ? r : 0;
}

struct answer {
	void *bytes; /* owned */
	size_t len;
};

static void answer_deinit(struct answer *answer)
{
	free(answer->bytes);
}

static struct nl_answer seen(const struct answer *answer)
{
	return (struct nl_answer){ answer->bytes, answer->len };
}

/* A dump; all requests for one begin with a family and are as long as the longest needs. */
static int ask(struct engine *e, struct task *t, uint16_t type, unsigned char family, struct answer *ret_answer)
{
	const struct {
		struct nlmsghdr header;
		struct rtmsg info;
		uint32_t rest;
	} request = {
		.header = { sizeof(request), type, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 },
		.info = { .rtm_family = family },
	};

	_Static_assert(sizeof(request) >= sizeof(struct nlmsghdr) + sizeof(struct ifinfomsg), "a request for links fits");
	return e->g->ops->network_ask(e->g, t->id, NETLINK_ROUTE, &request, sizeof(request), &ret_answer->bytes, &ret_answer->len);
}

/*
 * 1, 0, or -errno. In the order in which one brings about the other. A dump of links, unlike others, waits for whoever is changing the
 * namespace (the RTNL lock): after the last one the work that made a route is over as a whole.
 */
static int is_at_rest(struct engine *e, struct task *t)
{
	_cleanup_(answer_deinit) struct answer links = { 0 }, addresses = { 0 }, routes = { 0 }, over = { 0 };
	int r;

	r = ask(e, t, RTM_GETLINK, AF_UNSPEC, &links);
	if (r == 0)
		r = ask(e, t, RTM_GETADDR, AF_INET6, &addresses);
	if (r == 0 && !e->netlinks.unrouted)
		r = ask(e, t, RTM_GETROUTE, AF_INET6, &routes);
	if (r == 0)
		r = ask(e, t, RTM_GETLINK, AF_UNSPEC, &over);
	return r < 0 ? r : nl_is_at_rest(seen(&links), seen(&addresses), seen(&routes));
}

/* What came is of no interest, but that it came. */
static void forget_news(struct engine *e, int news)
{
	char buf[4096];
	ssize_t n;

	do
		n = e->g->ops->handle_receive(e->g, news, buf, sizeof(buf), NULL, 0);
	while (n >= 0 || n == -ENOBUFS);
}

/* 1 at rest, 0 not in time, or -errno. */
static int await_rest(struct engine *e, struct task *t, int news)
{
	int r;

	for (int i = 0; i < ROUNDS; i++) {
		r = is_at_rest(e, t);
		if (r != 0)
			return r;
		r = e->g->ops->handle_await(e->g, news, POLLIN, PATIENCE_MS);
		if (r <= 0)
			return r;
		forget_news(e, news);
	}
	return 0;
}

int network_rest(struct engine *e, struct task *t)
{
	int news, r;

	if (!e->netlinks.stirred)
		return 0;
	e->netlinks.stirred = false;
	if (!e->g->ops->network_listen || e->netlinks.closed || e->netlinks.restless)
		return 0;
	r = is_at_rest(e, t);
	if (r == -EPERM || r == -EACCES)
		return 0; /* who looks at the network next says so */
	if (r != 0)
		return r < 0 ? r : 0;
	news = e->g->ops->network_listen(e->g, t->id, NETLINK_ROUTE, GROUPS);
	if (news < 0)
		return news;
	r = await_rest(e, t, news);
	e->g->ops->handle_release(e->g, news);
	if (r == 0) {
		e->netlinks.restless = true;
		engine_report_uncontrolled(e, "network namespace", "a link or an IPv6 address does not become ready");
	}
	return r < 0 ? r : 0;
}
