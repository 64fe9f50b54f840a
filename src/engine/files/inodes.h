/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the guest sees of files' identity and times. Inode and device numbers are given out in order of first sight; an object that the run
 * creates is new even when the host uses an old number again. Files that the run has not touched show one fixed time (or their own, with
 * keep_mtime); touched ones show virtual time.
 */
#ifndef HS_ENGINE_INODES_H
#define HS_ENGINE_INODES_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "engine/guest.h"

/* Which of an inode's times were set by the run. */
enum { INODE_ATIME = 1, INODE_MTIME = 2, INODE_CTIME = 4, INODE_BTIME = 8 };

struct inode;

struct inodes {
	struct inode *by_key;
	uint64_t next_number;
	uint64_t devices[64]; /* host device numbers in order of first sight */
	unsigned n_devices;
	struct timespec untouched;
	bool keep;
};

void inodes_init(struct inodes *inodes, uint64_t untouched_ns, bool keep);
void inodes_deinit(struct inodes *inodes);

/* The inode behind a host identity; made on first sight. NULL when out of memory. */
struct inode *inode_get(struct inodes *inodes, uint64_t dev, uint64_t ino);

/* Has the run seen it? Made it? */
bool inode_is_known(const struct inodes *inodes, uint64_t dev, uint64_t ino);
bool inode_is_made(const struct inodes *inodes, uint64_t dev, uint64_t ino);

/* As inode_get(), but the object was created just now: a number of its own, all times `now`. */
struct inode *inode_created(struct inodes *inodes, uint64_t dev, uint64_t ino, struct timespec now);

/* Sets the times named by the INODE_ bits. */
void inode_set_times(struct inode *inode, unsigned which, struct timespec to);

uint64_t inode_number(const struct inode *inode);
/* The host's inode number of what is shown as `number` on this (host's) device; 0: there is none. */
uint64_t inode_find_number(const struct inodes *inodes, uint64_t dev, uint64_t number);
/* The inode with a number of the caller's choice, outside of those that are given out. NULL when out of memory. */
struct inode *inode_numbered(struct inodes *inodes, uint64_t dev, uint64_t ino, uint64_t number);

/* What a device of the host is called here. */
uint64_t inodes_device(struct inodes *inodes, uint64_t dev);

/* Turns what the host says of this inode into what the guest is shown. Objects on procfs keep their number 0 times. */
void inode_present(struct inodes *inodes, const struct inode *inode, struct file_stat *stat);

#endif
