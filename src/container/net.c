/* SPDX-License-Identifier: BSD-3-Clause */
/* A network namespace with lo, up, and perhaps a pair of devices: the same each time. */
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/internal.h"

/*
 * No duplicate-address detection (it takes time on a clock that is not the guest's), no address derived from a MAC or drawn. TCP without what
 * depends on measured times or on the host's settings, which a new namespace inherits: windows that grow with the round trip, pacing,
 * probes by timer, windows that shrink in idle times, what was learned from earlier connections.
 */
static const struct {
	const char *path, *value;
} knobs[] = {
	{ "/proc/sys/net/ipv4/tcp_congestion_control", "reno" },
	{ "/proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456" },
	{ "/proc/sys/net/ipv4/tcp_wmem", "4096 16384 4194304" },
	{ "/proc/sys/net/ipv4/tcp_moderate_rcvbuf", "0" },
	{ "/proc/sys/net/ipv4/tcp_autocorking", "0" },
	{ "/proc/sys/net/ipv4/tcp_early_retrans", "0" },
	{ "/proc/sys/net/ipv4/tcp_recovery", "0" },
	{ "/proc/sys/net/ipv4/tcp_no_metrics_save", "1" },
	{ "/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0" },
	{ "/proc/sys/net/ipv4/tcp_comp_sack_nr", "0" },
	{ "/proc/sys/net/ipv4/tcp_tso_rtt_log", "0" },
	{ "/proc/sys/net/ipv4/tcp_limit_output_bytes", "4194304" },
	{ "/proc/sys/net/ipv4/tcp_notsent_lowat", "4294967295" },
	{ "/proc/sys/net/ipv4/tcp_adv_win_scale", "1" },
	{ "/proc/sys/net/ipv4/tcp_app_win", "31" },
	{ "/proc/sys/net/ipv4/tcp_ecn", "2" },
	/* Nothing is in TIME-WAIT, which would hold a port for 60 s, and an end that is closed waits for the other one's for a day instead of 60 s. */
	{ "/proc/sys/net/ipv4/tcp_fin_timeout", "86400" },
	{ "/proc/sys/net/ipv4/tcp_max_tw_buckets", "0" },
	{ "/proc/sys/net/core/somaxconn", "4096" },
	{ "/proc/sys/net/ipv6/conf/all/accept_dad", "0" },
	{ "/proc/sys/net/ipv6/conf/default/accept_dad", "0" },
	{ "/proc/sys/net/ipv6/conf/lo/accept_dad", "0" },
	{ "/proc/sys/net/ipv6/conf/default/dad_transmits", "0" },
	{ "/proc/sys/net/ipv6/conf/all/use_tempaddr", "0" },
	{ "/proc/sys/net/ipv6/conf/default/use_tempaddr", "0" },
	{ "/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1" },
	{ "/proc/sys/net/ipv6/conf/all/disable_ipv6", "0" },
	{ "/proc/sys/net/ipv6/conf/lo/disable_ipv6", "0" },
};

const struct container_device_end container_pair[2] = {
	{ "eth0", 2, { 2, 0, 0, 0, 0, 2 } },
	{ "peer0", 3, { 2, 0, 0, 0, 0, 3 } },
};

static int raise_device(int fd, const char *name, struct error *err)
{
	struct ifreq request = { 0 };

	memcpy(request.ifr_name, name, strlen(name));
	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return error_errno(err, errno, "cannot read the state of %s", name);
	request.ifr_flags = (short)(request.ifr_flags | IFF_UP | IFF_RUNNING);
	if (ioctl(fd, SIOCSIFFLAGS, &request) == 0)
		return 0;
	return error_errno(err, errno, "cannot bring up %s%s", name, errno == EPERM ? " (CAP_NET_ADMIN is missing)" : "");
}

int net_loopback_up(bool inherits, struct error *err)
{
	_cleanup_close_ int fd = -1;
	int r;

	net_link_settings(inherits);
	/* A host without IPv6 has none of these files; one that forbids writing has its own values for every run. */
	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
		(void)fd_write_file(AT_FDCWD, knobs[i].path, knobs[i].value);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	r = fd < 0 ? error_errno(err, errno, "cannot open a socket to bring up lo") : raise_device(fd, "lo", err);
	/*
	 * Written while lo is down it would make the kernel add ::1 at once, and look for duplicates of it in a worker of its own when lo comes up;
	 * at the end of which, some time later, it would put back the route that net_acknowledge_at_once() takes away. Of all links it is of each.
	 */
	if (inherits) {
		(void)fd_write_file(AT_FDCWD, "/proc/sys/net/ipv6/conf/all/addr_gen_mode", "0");
		(void)fd_write_file(AT_FDCWD, "/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1");
	}
	(void)fd_write_file(AT_FDCWD, "/proc/sys/net/ipv6/conf/lo/addr_gen_mode", "1");
	return r;
}

/* One end of the pair: what would be counted or drawn is said. */
static void put_device(struct nlmsghdr *nlh, const struct container_device_end *end)
{
	struct ifinfomsg *info = mnl_nlmsg_put_extra_header(nlh, sizeof(*info));

	info->ifi_index = (int)end->index;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, end->name);
	mnl_attr_put(nlh, IFLA_ADDRESS, sizeof(end->mac), end->mac);
	mnl_attr_put_u32(nlh, IFLA_NUM_TX_QUEUES, 1);
	mnl_attr_put_u32(nlh, IFLA_NUM_RX_QUEUES, 1);
}

static void put_pair(struct nlmsghdr *nlh)
{
	struct nlattr *link, *data, *peer;

	put_device(nlh, &container_pair[0]);
	link = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	peer = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	put_device(nlh, &container_pair[1]);
	mnl_attr_nest_end(nlh, peer);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, link);
}

/* An address that no other can be reached by: what is not the namespace's own is unreachable at once, in every run. */
static void put_address(struct nlmsghdr *nlh, unsigned char family, const void *address, size_t len)
{
	struct ifaddrmsg *info = mnl_nlmsg_put_extra_header(nlh, sizeof(*info));

	info->ifa_family = family;
	info->ifa_prefixlen = (unsigned char)(len * 8);
	info->ifa_index = container_pair[0].index;
	mnl_attr_put(nlh, IFA_LOCAL, len, address);
	mnl_attr_put(nlh, IFA_ADDRESS, len, address);
}

static int make_pair(struct mnl_socket *socket, struct error *err)
{
	static const unsigned char ip4[] = CONTAINER_PAIR_IP4, ip6[16] = CONTAINER_PAIR_IP6;
	char buf[4096];
	struct nlmsghdr *nlh;
	int r;

	nlh = net_begin(buf, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	put_pair(nlh);
	r = net_carry_out(socket, nlh);
	if (r < 0)
		return error_errno(err, -r, "cannot make a pair of virtual network devices (veth)");
	nlh = net_begin(buf, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	put_address(nlh, AF_INET, ip4, sizeof(ip4));
	r = net_carry_out(socket, nlh);
	if (r < 0)
		return error_errno(err, -r, "cannot give %s its address", container_pair[0].name);
	nlh = net_begin(buf, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	put_address(nlh, AF_INET6, ip6, sizeof(ip6));
	(void)net_carry_out(socket, nlh); /* a host without IPv6 */
	return 0;
}

static int raise_both(struct error *err)
{
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r = fd < 0 ? error_errno(err, errno, "cannot open a socket") : 0;

	for (size_t i = 0; i < ARRAY_SIZE(container_pair) && r == 0; i++)
		r = raise_device(fd, container_pair[i].name, err);
	return r;
}

int net_pair_up(struct error *err)
{
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	int r;

	if (!socket)
		return error_errno(err, errno, "cannot open a netlink socket");
	r = make_pair(socket, err);
	(void)mnl_socket_close(socket);
	if (r == 0)
		r = raise_both(err);
	return r;
}
