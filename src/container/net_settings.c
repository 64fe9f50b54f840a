/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What links do with packets, of all links, of those to come, of lo: as an ordinary kernel has it. A new namespace inherits IPv4's of the host's own
 * one, and IPv6's too where net.core.devconf_inherit_init_net says so.
 */
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/internal.h"

enum { LINKS = 3 };
static const char *const links[LINKS] = { "all", "default", "lo" };

static const struct {
	const char *name, *values[LINKS];
} ip4[] = {
	{ "forwarding", { "0", "0", "0" } }, /* sets the redirects */
	{ "accept_redirects", { "1", "1", "1" } },
	{ "secure_redirects", { "1", "1", "1" } },
	{ "send_redirects", { "1", "1", "1" } },
	{ "accept_source_route", { "0", "1", "1" } },
	{ "accept_local", { "0", "0", "0" } },
	{ "arp_accept", { "0", "0", "0" } },
	{ "arp_announce", { "0", "0", "0" } },
	{ "arp_evict_nocarrier", { "1", "1", "1" } },
	{ "arp_filter", { "0", "0", "0" } },
	{ "arp_ignore", { "0", "0", "0" } },
	{ "arp_notify", { "0", "0", "0" } },
	{ "bc_forwarding", { "0", "0", "0" } },
	{ "bootp_relay", { "0", "0", "0" } },
	{ "disable_policy", { "0", "0", "1" } },
	{ "disable_xfrm", { "0", "0", "1" } },
	{ "drop_gratuitous_arp", { "0", "0", "0" } },
	{ "drop_unicast_in_l2_multicast", { "0", "0", "0" } },
	{ "force_igmp_version", { "0", "0", "0" } },
	{ "igmpv2_unsolicited_report_interval", { "10000", "10000", "10000" } },
	{ "igmpv3_unsolicited_report_interval", { "1000", "1000", "1000" } },
	{ "ignore_routes_with_linkdown", { "0", "0", "0" } },
	{ "log_martians", { "0", "0", "0" } },
	{ "medium_id", { "0", "0", "0" } },
	{ "promote_secondaries", { "0", "0", "0" } },
	{ "proxy_arp", { "0", "0", "0" } },
	{ "proxy_arp_pvlan", { "0", "0", "0" } },
	{ "route_localnet", { "0", "0", "0" } },
	{ "rp_filter", { "0", "0", "0" } },
	{ "shared_media", { "1", "1", "1" } },
	{ "src_valid_mark", { "0", "0", "0" } },
	{ "tag", { "0", "0", "0" } },
};

/* The same for all three, and of one. What is not here net.c sets in any case, or nobody can. */
static const struct {
	const char *name, *value;
} ip6[] = {
	{ "accept_ra", "1" },
	{ "accept_ra_defrtr", "1" },
	{ "accept_ra_from_local", "0" },
	{ "accept_ra_min_hop_limit", "1" },
	{ "accept_ra_min_lft", "0" },
	{ "accept_ra_mtu", "1" },
	{ "accept_ra_pinfo", "1" },
	{ "accept_ra_rt_info_max_plen", "0" },
	{ "accept_ra_rt_info_min_plen", "0" },
	{ "accept_ra_rtr_pref", "1" },
	{ "accept_redirects", "1" },
	{ "accept_source_route", "0" },
	{ "accept_untracked_na", "0" },
	{ "autoconf", "1" },
	{ "disable_policy", "0" },
	{ "drop_unicast_in_l2_multicast", "0" },
	{ "drop_unsolicited_na", "0" },
	{ "enhanced_dad", "1" },
	{ "force_forwarding", "0" },
	{ "force_mld_version", "0" },
	{ "force_tllao", "0" },
	{ "forwarding", "0" },
	{ "hop_limit", "64" },
	{ "ignore_routes_with_linkdown", "0" },
	{ "ioam6_enabled", "0" },
	{ "ioam6_id", "65535" },
	{ "ioam6_id_wide", "4294967295" },
	{ "keep_addr_on_down", "0" },
	{ "max_addresses", "16" },
	{ "max_desync_factor", "600" },
	{ "mldv1_unsolicited_report_interval", "10000" },
	{ "mldv2_unsolicited_report_interval", "1000" },
	{ "ndisc_evict_nocarrier", "1" },
	{ "ndisc_notify", "0" },
	{ "ndisc_tclass", "0" },
	{ "optimistic_dad", "0" },
	{ "proxy_ndp", "0" },
	{ "ra_defrtr_metric", "1024" },
	{ "ra_honor_pio_life", "0" },
	{ "ra_honor_pio_pflag", "0" },
	{ "regen_max_retry", "3" },
	{ "regen_min_advance", "2" },
	{ "router_probe_interval", "60" },
	{ "router_solicitation_delay", "1" },
	{ "router_solicitation_interval", "4" },
	{ "router_solicitation_max_interval", "3600" },
	{ "router_solicitations", "-1" },
	{ "rpl_seg_enabled", "0" },
	{ "seg6_enabled", "0" },
	{ "seg6_require_hmac", "0" },
	{ "suppress_frag_ndisc", "1" },
	{ "temp_prefered_lft", "86400" },
	{ "temp_valid_lft", "604800" },
	{ "use_oif_addrs_only", "0" },
	{ "use_optimistic", "0" },
};

static const struct {
	const char *link, *name, *value;
} ip6_of[] = {
	{ "all", "mtu", "1280" },
	{ "default", "mtu", "1280" },
	{ "all", "dad_transmits", "1" },
	{ "lo", "dad_transmits", "1" },
	{ "lo", "use_tempaddr", "-1" },
};

static void set(int dir, const char *link, const char *name, const char *value)
{
	char path[64];

	/* A host without IPv6, or with an older kernel, has no such file; one that forbids writing has its own values for every run. */
	(void)snprintf(path, sizeof(path), "%s/%s", link, name);
	(void)fd_write_file(dir, path, value);
}

bool net_links_inherit(void)
{
	char value = '1';
	_cleanup_close_ int fd = open("/proc/sys/net/core/devconf_inherit_init_net", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)fd_read_full(fd, &value, 1);
	return value == '1' || value == '3'; /* only the host's own namespace has the file */
}

void net_link_settings(bool inherits)
{
	_cleanup_close_ int dir4 = open("/proc/sys/net/ipv4/conf", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int dir6 = inherits ? open("/proc/sys/net/ipv6/conf", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	for (size_t i = 0; i < LINKS; i++) {
		for (size_t k = 0; dir4 >= 0 && k < ARRAY_SIZE(ip4); k++)
			set(dir4, links[i], ip4[k].name, ip4[k].values[i]);
		for (size_t k = 0; dir6 >= 0 && k < ARRAY_SIZE(ip6); k++)
			set(dir6, links[i], ip6[k].name, ip6[k].value);
	}
	for (size_t k = 0; dir6 >= 0 && k < ARRAY_SIZE(ip6_of); k++)
		set(dir6, ip6_of[k].link, ip6_of[k].name, ip6_of[k].value);
}
