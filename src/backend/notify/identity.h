/* SPDX-License-Identifier: BSD-3-Clause */
/* With whose rights a path is looked up: the file system credentials of a task, which the supervisor takes on for a while. */
#ifndef HS_BACKEND_NOTIFY_IDENTITY_H
#define HS_BACKEND_NOTIFY_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct notify;

enum { GROUPS_MAX = 256 };

/* Read from /proc/TID/status. */
struct identity {
	uid_t fsuid;
	gid_t fsgid;
	uint64_t overrides; /* of the capabilities that make permissions not matter, those it has: bits of CapEff */
	gid_t groups[GROUPS_MAX];
	int n_groups;
};

/* 0 or -errno; -ENOTSUP: more groups than there is room for. */
int identity_read(const struct notify *n, pid_t tid, struct identity *identity);

/* What the supervisor was, while it goes by a task's identity. */
struct disguise {
	bool worn;
	gid_t groups[GROUPS_MAX];
	int n_groups;
	uint64_t effective;
	pid_t parent;
	int death_signal;
};

/* 0, or -ENOTSUP when that cannot be done. In any case disguise_take_off() restores what there was. */
int disguise_put_on(const struct notify *n, struct disguise *disguise, const struct identity *identity);
void disguise_take_off(struct disguise *disguise);

#endif
