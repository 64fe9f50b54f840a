/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run writes to memory and nobody keeps: /tmp, /dev/shm, the container's own root directory where that is no overlay, and
 * whatever else is a writable tmpfs in the container. They are found before the program begins and held open, so that they can still be
 * read when the container is gone.
 */
#ifndef HS_SUPERVISOR_PLACES_H
#define HS_SUPERVISOR_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "container/mountinfo.h"

enum { PLACES_MAX = 64 };

/* What was there at the beginning: by node number. */
struct place_contents {
	struct place_entry {
		uint64_t ino;
		struct timespec changed;
	} *entries; /* owned, in the order of numbers */
	size_t n;
};

struct places {
	struct mount_table mounts; /* of the container: what is below another mount is out of sight */
	size_t n;
	struct {
		char *path; /* as the guest calls it */
		int fd;     /* O_PATH */
		struct place_contents before; /* places_note() */
	} items[PLACES_MAX];
};

/* Looks at the mounts of a process of the container. Release with places_clear(), also after failure. */
int places_find(struct places *places, pid_t pid, struct error *err);
void places_clear(struct places *places);

/* Notes what is in a directory, or in all places, so that what a run changes can be told from what was there. 0 or -ENOMEM. */
int place_note(struct place_contents *ret, const char *path);
int places_note(struct places *places);
void place_contents_clear(struct place_contents *contents);

/* Is the entry of a place as it was? */
bool place_is_as_before(const struct place_contents *before, const struct stat *st);

/* The place of that name, -1 where there is none. */
int places_fd(const struct places *places, const char *path);

#endif
