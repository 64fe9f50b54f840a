/* SPDX-License-Identifier: BSD-3-Clause */
/* Who a task is, as /proc says it. */
#include "backend/notify/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"

int notify_credentials(struct guest *g, int task, struct guest_credentials *ret)
{
	const struct notify_task *t = notify_find(g, task);
	const char *uids, *gids, *capabilities;
	char text[8192];
	int r;

	if (!t)
		return -ESRCH;
	r = procfs_status(notify_of(g), t->tid, text, sizeof(text));
	if (r < 0)
		return r;
	uids = procfs_field(text, "Uid");
	gids = procfs_field(text, "Gid");
	capabilities = procfs_field(text, "CapEff");
	if (!uids || !gids || !capabilities || sscanf(capabilities, "%" SCNx64, &ret->capabilities) != 1 ||
	    sscanf(uids, "%" SCNu32 "%" SCNu32 "%" SCNu32 "%" SCNu32, &ret->uids[0], &ret->uids[1], &ret->uids[2], &ret->uids[3]) != 4 ||
	    sscanf(gids, "%" SCNu32 "%" SCNu32 "%" SCNu32 "%" SCNu32, &ret->gids[0], &ret->gids[1], &ret->gids[2], &ret->gids[3]) != 4)
		return -EPROTO;
	for (size_t i = 0; i < ARRAY_SIZE(ret->uids); i++)
		owners_show(notify_of(g), &ret->uids[i], &ret->gids[i]);
	return 0;
}
