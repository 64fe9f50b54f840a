/* SPDX-License-Identifier: BSD-3-Clause */
/* Exact comparison of what two runs left behind. Functions return 1 equal, 0 different with words in *ret_what, -errno with err. */
#ifndef HS_SUPERVISOR_COMPARE_H
#define HS_SUPERVISOR_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct mount_table;
struct place_contents;

struct difference {
	char text[1024];
};

/* What is not as it was before the first run: entries of files, at most CHANGES_MAX of them. */
enum { CHANGES_MAX = 10000 };
struct changes {
	struct change {
		char *path;       /* owned; as the guest calls it */
		const char *what; /* "file", "directory", "removed"... */
	} *items;
	size_t n, room;
	uint64_t total;
};

void changes_clear(struct changes *changes);

/* Two files from their beginnings, by descriptor. In words: the first byte that differs, with the two lines it is in. */
int compare_contents(int fd_a, int fd_b, struct difference *ret_what, struct error *err);

/*
 * Two directories (of copy-on-write layers, one entry for each layer): names, kinds, permissions, owners, contents, link targets, device
 * numbers, extended attributes. Not times: those of the host are not the guest's. A layer without entries is as good as none. Entries that are not as
 * they were in the first one before it ran are added to *changes.
 */
int compare_layers(const char *dir_a, const char *dir_b, const struct place_contents *before, struct changes *changes,
		   struct difference *ret_what, struct error *err);

/*
 * Two directories by descriptor (O_PATH will do): the same. path: how the guest calls them, for words; what is below one of the mounts of its
 * container is left out.
 */
int compare_trees(int fd_a, int fd_b, const char *path, const struct mount_table *mounts, const struct place_contents *before,
		  struct changes *changes, struct difference *ret_what, struct error *err);

#endif
