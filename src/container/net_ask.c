/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions and requests to the kernel about the network namespace we are in: see internal.h. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

#include "container/internal.h"

int net_dump(struct mnl_socket *socket, uint16_t type, unsigned char family, mnl_cb_t take, void *data)
{
	char buf[1 << 15];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	ssize_t n;
	int r = MNL_CB_OK;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	((struct ifinfomsg *)mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg)))->ifi_family = family;
	if (mnl_socket_sendto(socket, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	while (r > MNL_CB_STOP) {
		n = mnl_socket_recvfrom(socket, buf, sizeof(buf));
		r = n < 0 ? MNL_CB_ERROR : mnl_cb_run(buf, (size_t)n, 0, 0, take, data);
	}
	return r < 0 ? -errno : 0;
}

struct nlmsghdr *net_begin(char *buf, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
	return nlh;
}

int net_carry_out(struct mnl_socket *socket, const struct nlmsghdr *nlh)
{
	char buf[4096];
	ssize_t n;

	if (mnl_socket_sendto(socket, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	n = mnl_socket_recvfrom(socket, buf, sizeof(buf));
	return n < 0 || mnl_cb_run(buf, (size_t)n, 0, 0, NULL, NULL) < 0 ? -errno : 0;
}
