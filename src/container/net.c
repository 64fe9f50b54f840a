/* SPDX-License-Identifier: BSD-3-Clause */
/* A network namespace whose only device is lo, up, and the same each time. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/internal.h"

/* No duplicate-address detection (it takes time on a clock that is not the guest's), no address derived from a MAC or drawn. */
static const struct {
	const char *path, *value;
} knobs[] = {
	{ "/proc/sys/net/ipv6/conf/all/accept_dad", "0" },
	{ "/proc/sys/net/ipv6/conf/default/accept_dad", "0" },
	{ "/proc/sys/net/ipv6/conf/lo/accept_dad", "0" },
	{ "/proc/sys/net/ipv6/conf/default/dad_transmits", "0" },
	{ "/proc/sys/net/ipv6/conf/all/use_tempaddr", "0" },
	{ "/proc/sys/net/ipv6/conf/default/use_tempaddr", "0" },
	{ "/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1" },
	{ "/proc/sys/net/ipv6/conf/lo/addr_gen_mode", "1" },
	{ "/proc/sys/net/ipv6/conf/all/disable_ipv6", "0" },
	{ "/proc/sys/net/ipv6/conf/lo/disable_ipv6", "0" },
};

int net_loopback_up(struct error *err)
{
	_cleanup_close_ int fd = -1;
	struct ifreq request = { .ifr_name = "lo" };

	/* A host without IPv6 has none of these files; one that forbids writing has its own values for every run. */
	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
		(void)fd_write_file(AT_FDCWD, knobs[i].path, knobs[i].value);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_errno(err, errno, "cannot open a socket to bring up lo");
	if (ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return error_errno(err, errno, "cannot read the state of lo");
	request.ifr_flags = (short)(request.ifr_flags | IFF_UP | IFF_RUNNING);
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return error_errno(err, errno, "cannot bring up lo");
	return 0;
}
