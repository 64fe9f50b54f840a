/* SPDX-License-Identifier: BSD-3-Clause */
/* Targets of procfs links that name inodes: "pipe:[1234]", "socket:[1234]", "net:[4026531840]". */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "engine/proc/procfs.h"

static bool has_device(struct engine *e, struct piece kind, uint64_t *ret_dev)
{
	const struct guest_identities *known = &e->g->identities;

	if (piece_is(kind, "pipe")) {
		*ret_dev = known->pipe_dev;
		return true;
	}
	if (piece_is(kind, "socket")) {
		*ret_dev = known->socket_dev;
		return true;
	}
	for (int i = 0; i < GUEST_NAMESPACES; i++) {
		if (!known->namespaces[i].name || !piece_starts(kind, known->namespaces[i].name))
			continue;
		*ret_dev = known->namespace_dev;
		return true;
	}
	return false;
}

int procfs_link(struct engine *e, char *target, size_t size)
{
	struct piece rest = piece_of(target), kind;
	struct procfs_identity id;
	uint64_t dev, ino;
	size_t n;
	int r;

	(void)piece_until(&rest, ':', &kind);
	if (rest.n < 3 || rest.at[0] != '[' || rest.at[rest.n - 1] != ']' || !has_device(e, kind, &dev))
		return 0;
	if (!piece_number((struct piece){ rest.at + 1, rest.n - 2 }, 10, &ino))
		return 0;
	r = procfs_identify(e, dev, ino, &id);
	if (r < 0)
		return r;
	n = (size_t)(rest.at - target);
	(void)snprintf(target + n, size - n, "[%" PRIu64 "]", id.ino);
	return 1;
}

/* The numbers that the first namespaces of an ordinary machine have. */
int procfs_name_namespaces(struct engine *e)
{
	static const struct {
		const char *name;
		uint64_t number;
	} initial[] = {
		{ "time", 4026531834 }, { "cgroup", 4026531835 }, { "pid", 4026531836 }, { "user", 4026531837 },
		{ "uts", 4026531838 },	{ "ipc", 4026531839 },	  { "net", 4026531840 }, { "mnt", 4026531841 },
	};
	const struct guest_identities *known = &e->g->identities;

	for (int i = 0; i < GUEST_NAMESPACES && known->namespaces[i].name; i++)
		for (size_t k = 0; k < sizeof(initial) / sizeof(initial[0]); k++)
			if (!strcmp(known->namespaces[i].name, initial[k].name) &&
			    !inode_numbered(&e->inodes, known->namespace_dev, known->namespaces[i].ino, initial[k].number))
				return -ENOMEM;
	return 0;
}
