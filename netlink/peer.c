/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers of sockets: see peer.h. */
#include "netlink/peer.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

struct nl_peer_request nl_peer_request(uint32_t ino)
{
	return (struct nl_peer_request){
		.header = { sizeof(struct nl_peer_request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0 },
		.body = { .sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_ino = ino, .udiag_show = UDIAG_SHOW_PEER,
			  .udiag_cookie = { UINT32_MAX, UINT32_MAX } },
	};
}

uint64_t nl_peers_gone(const void *answer, size_t len)
{
	const struct nlmsghdr *nlh = answer;
	int left = (int)len;
	uint64_t gone = 0;

	for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
		const struct nlmsgerr *error = mnl_nlmsg_get_payload(nlh);

		if (nlh->nlmsg_type == NLMSG_ERROR && mnl_nlmsg_get_payload_len(nlh) >= sizeof(*error) && error->error == -ENOENT &&
		    error->msg.nlmsg_seq < NL_PEERS_MAX)
			gone |= UINT64_C(1) << error->msg.nlmsg_seq;
	}
	return gone;
}

uint32_t nl_peer(const void *answer, size_t len)
{
	const struct nlmsghdr *nlh = answer;
	const struct nlattr *attr;

	if (!mnl_nlmsg_ok(nlh, (int)len) || nlh->nlmsg_type != SOCK_DIAG_BY_FAMILY || mnl_nlmsg_get_payload_len(nlh) < sizeof(struct unix_diag_msg))
		return 0;
	mnl_attr_for_each(attr, nlh, sizeof(struct unix_diag_msg))
		if (mnl_attr_get_type(attr) == UNIX_DIAG_PEER && mnl_attr_get_payload_len(attr) >= sizeof(uint32_t))
			return mnl_attr_get_u32(attr);
	return 0;
}
