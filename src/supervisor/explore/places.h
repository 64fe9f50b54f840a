/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run writes to memory and nobody keeps: /tmp, /dev/shm, the container's own root directory where that is no overlay, and
 * whatever else is a writable tmpfs in the container. They are found before the program begins and held open, so that they can still be
 * read when the container is gone.
 */
#ifndef HS_SUPERVISOR_PLACES_H
#define HS_SUPERVISOR_PLACES_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "container/mountinfo.h"

enum { PLACES_MAX = 64 };

struct places {
	struct mount_table mounts; /* of the container: what is below another mount is out of sight */
	size_t n;
	struct {
		char *path; /* as the guest calls it */
		int fd;     /* O_PATH */
	} items[PLACES_MAX];
};

/* Looks at the mounts of a process of the container. Release with places_clear(), also after failure. */
int places_find(struct places *places, pid_t pid, struct error *err);
void places_clear(struct places *places);

/* The place of that name, -1 where there is none. */
int places_fd(const struct places *places, const char *path);

#endif
