/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ioctl(2): a family of its own, by request number. What is not in the table is refused with ENOTTY and reported: nobody knows what it would
 * show or whether it would block.
 */
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/files/terminals.h"
#include "engine/calls/handle_link.h"
#include "engine/calls/handlers.h"
#include "engine/net/network_rest.h"
#include "engine/net/sockets.h"

enum ioctl_kind {
	IOCTL_UNKNOWN = 0,
	IOCTL_RUN,     /* the kernel runs it: a function of what guests did to the object */
	IOCTL_SIGNALS, /* as RUN, may raise signals */
	IOCTL_MOVES,   /* as RUN, may set going what a terminal has held back */
	IOCTL_LINK,    /* handle_link.h */
	IOCTL_STIRS,   /* as RUN, changes links, addresses or routes */
	IOCTL_STAMP,   /* when the last packet came: in virtual time */
	IOCTL_REFUSE,  /* fixed errno: depends on the host's file system or hardware */
};

struct ioctl_row {
	uint32_t request;
	enum ioctl_kind kind;
	int error;
};

#define RUN(request) { request, IOCTL_RUN, 0 }
#define MOVES(request) { request, IOCTL_MOVES, 0 }
#define STIRS(request) { request, IOCTL_STIRS, 0 }
#define LINK(request) { request, IOCTL_LINK, 0 }
#define STAMP(request) { request, IOCTL_STAMP, 0 }
#define REFUSED(request, error) { request, IOCTL_REFUSE, error }

static const struct ioctl_row rows[] = {
	/* terminals */
	RUN(TCGETS), MOVES(TCSETS), MOVES(TCSETSW), MOVES(TCSETSF), RUN(TCGETS2), MOVES(TCSETS2), MOVES(TCSETSW2), MOVES(TCSETSF2),
	RUN(TCGETA), MOVES(TCSETA), MOVES(TCSETAW), MOVES(TCSETAF), RUN(TCSBRK), RUN(TCSBRKP), MOVES(TCXONC), MOVES(TCFLSH),
	RUN(TIOCGWINSZ), RUN(TIOCGPGRP), RUN(TIOCGSID), RUN(TIOCEXCL), RUN(TIOCNXCL), RUN(TIOCOUTQ), RUN(TIOCGETD),
	RUN(TIOCSETD), RUN(TIOCGPTN), RUN(TIOCSPTLCK), RUN(TIOCGPTLCK), RUN(TIOCGPTPEER), RUN(TIOCPKT), RUN(TIOCGPKT),
	RUN(TIOCGLCKTRMIOS), RUN(TIOCMGET), RUN(TIOCGSOFTCAR),
	{ TIOCSWINSZ, IOCTL_SIGNALS, 0 }, { TIOCSPGRP, IOCTL_SIGNALS, 0 }, { TIOCSCTTY, IOCTL_SIGNALS, 0 },
	{ TIOCNOTTY, IOCTL_SIGNALS, 0 }, { TIOCSIG, IOCTL_SIGNALS, 0 },
	REFUSED(TIOCSTI, EIO), REFUSED(TIOCLINUX, EINVAL), REFUSED(TIOCCONS, EPERM),
	/* any descriptor */
	RUN(FIONREAD), RUN(FIONBIO), RUN(FIOASYNC), RUN(FIOCLEX), RUN(FIONCLEX), RUN(FIOSETOWN), RUN(FIOGETOWN),
	RUN(SIOCSPGRP), RUN(SIOCGPGRP), RUN(SIOCATMARK), RUN(SIOCOUTQNSD),
	/* what file systems may or may not offer */
	REFUSED(FICLONE, EOPNOTSUPP), REFUSED(FICLONERANGE, EOPNOTSUPP), REFUSED(FIDEDUPERANGE, EOPNOTSUPP),
	REFUSED(FS_IOC_FIEMAP, EOPNOTSUPP), REFUSED(FIBMAP, EPERM), REFUSED(FIGETBSZ, EOPNOTSUPP),
	REFUSED(FS_IOC_GETFLAGS, ENOTTY), REFUSED(FS_IOC_SETFLAGS, ENOTTY), REFUSED(FS_IOC_FSGETXATTR, ENOTTY),
	REFUSED(FS_IOC_FSSETXATTR, ENOTTY), REFUSED(FS_IOC_GETVERSION, ENOTTY), REFUSED(FS_IOC_SETVERSION, ENOTTY),
	REFUSED(FIFREEZE, EPERM), REFUSED(FITHAW, EPERM), REFUSED(FITRIM, EPERM),
	REFUSED(BLKGETSIZE, ENOTTY), REFUSED(BLKGETSIZE64, ENOTTY), REFUSED(BLKSSZGET, ENOTTY),
	/* interfaces of the run's own network namespace */
	LINK(SIOCGIFNAME), LINK(SIOCGIFCONF), LINK(SIOCGIFHWADDR), LINK(SIOCGIFINDEX), LINK(SIOCGIFFLAGS), LINK(SIOCGIFMAP),
	LINK(SIOCSIFHWADDR), LINK(SIOCSIFNAME),
	RUN(SIOCGIFADDR), RUN(SIOCGIFDSTADDR), RUN(SIOCGIFBRDADDR), RUN(SIOCGIFNETMASK), RUN(SIOCGIFMETRIC), RUN(SIOCGIFMTU),
	RUN(SIOCGIFTXQLEN), STIRS(SIOCSIFFLAGS), STIRS(SIOCSIFADDR), STIRS(SIOCDIFADDR), STIRS(SIOCSIFDSTADDR), STIRS(SIOCSIFBRDADDR),
	STIRS(SIOCSIFNETMASK), STIRS(SIOCSIFMTU), STIRS(SIOCSIFTXQLEN), STIRS(SIOCADDRT), STIRS(SIOCDELRT),
	REFUSED(SIOCETHTOOL, EOPNOTSUPP),
	/* sockets */
	STAMP(SIOCGSTAMP_OLD), STAMP(SIOCGSTAMP_NEW), STAMP(SIOCGSTAMPNS_OLD), STAMP(SIOCGSTAMPNS_NEW),
};

/* Whether there is a stamp is the kernel's answer. All forms are two 64-bit numbers. */
static int handle_stamp(struct engine *e, struct task *t, uint32_t request, struct verdict *v)
{
	bool micro = request == SIOCGSTAMP_OLD || request == (uint32_t)SIOCGSTAMP_NEW;
	const struct fd_info *info;
	int64_t parts[2];
	uint64_t ns;
	int r;

	if (!t->call.done)
		return verdict_hook(v);
	v->kind = VERDICT_GO;
	r = t->call.result == 0 ? fdtable_info(e, t, (int)t->call.args[0], &info) : -EBADF;
	if (r < 0)
		return r == -EBADF ? 0 : r;
	ns = socket_stamp(e, info);
	parts[0] = (int64_t)(ns / NS_PER_S);
	parts[1] = (int64_t)(ns % NS_PER_S) / (micro ? 1000 : 1);
	r = guest_write(e, t, t->call.args[2], parts, sizeof(parts));
	return r == -EFAULT ? 0 : r;
}

int handle_fs_ioctl(struct engine *e, struct task *t, struct verdict *v)
{
	uint32_t request = (uint32_t)t->call.args[1];
	char name[24];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].request != request)
			continue;
		if (rows[i].kind == IOCTL_REFUSE)
			return verdict_errno(v, rows[i].error);
		if (rows[i].kind == IOCTL_LINK)
			return handle_link_ioctl(e, t, v);
		if (rows[i].kind == IOCTL_STAMP)
			return handle_stamp(e, t, request, v);
		if (rows[i].kind == IOCTL_SIGNALS)
			signals_changed(e, NULL);
		if (rows[i].kind == IOCTL_STIRS)
			network_stirred(e);
		if (rows[i].kind == IOCTL_MOVES)
			terminals_moved(e, true);
		return verdict_continue(v);
	}
	(void)snprintf(name, sizeof(name), "0x%x", request);
	engine_report_uncontrolled(e, "unknown ioctl", name);
	return e->options.allow_uncontrolled ? verdict_continue(v) : verdict_errno(v, ENOTTY);
}
