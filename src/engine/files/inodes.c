/* SPDX-License-Identifier: BSD-3-Clause */
/* Identity and times of files: see inodes.h. */
#include "engine/files/inodes.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The library's default function does not compile cleanly with clang. */
#define HASH_FUNCTION HASH_FNV
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/cleanup.h"
#include "engine/engine.h"

enum { FIRST_NUMBER = 1000, DEVICE_MAJOR = 259, BLOCK = 4096 };

struct inode_key {
	uint64_t dev, ino;
};

struct inode {
	UT_hash_handle hh;
	struct inode_key key;
	uint64_t number;
	bool made;    /* by the run */
	unsigned set; /* INODE_ bits: which times are ours */
	struct timespec atime, mtime, ctime, btime;
};

void inodes_init(struct inodes *inodes, uint64_t untouched_ns, bool keep)
{
	*inodes = (struct inodes){
		.next_number = FIRST_NUMBER,
		.untouched = { (time_t)(untouched_ns / NS_PER_S), (long)(untouched_ns % NS_PER_S) },
		.keep = keep,
	};
}

void inodes_deinit(struct inodes *inodes)
{
	struct inode *inode, *tmp;

	HASH_ITER(hh, inodes->by_key, inode, tmp) {
		HASH_DEL(inodes->by_key, inode);
		free(inode);
	}
}

struct inode *inode_get(struct inodes *inodes, uint64_t dev, uint64_t ino)
{
	struct inode_key key = { dev, ino };
	struct inode *inode;

	HASH_FIND(hh, inodes->by_key, &key, sizeof(key), inode);
	if (inode)
		return inode;
	inode = calloc(1, sizeof(*inode));
	if (!inode)
		return NULL;
	inode->key = key;
	inode->number = inodes->next_number++;
	HASH_ADD(hh, inodes->by_key, key, sizeof(inode->key), inode);
	if (!inode->hh.tbl) { /* out of memory in the table */
		free(inode);
		return NULL;
	}
	return inode;
}

bool inode_is_known(const struct inodes *inodes, uint64_t dev, uint64_t ino)
{
	struct inode_key key = { dev, ino };
	struct inode *inode;

	HASH_FIND(hh, inodes->by_key, &key, sizeof(key), inode);
	return inode;
}

bool inode_is_made(const struct inodes *inodes, uint64_t dev, uint64_t ino)
{
	struct inode_key key = { dev, ino };
	struct inode *inode;

	HASH_FIND(hh, inodes->by_key, &key, sizeof(key), inode);
	return inode && inode->made;
}

struct inode *inode_created(struct inodes *inodes, uint64_t dev, uint64_t ino, struct timespec now)
{
	uint64_t before = inodes->next_number;
	struct inode *inode;

	inode = inode_get(inodes, dev, ino);
	if (!inode)
		return NULL;
	if (inodes->next_number == before) /* a number that the host uses again */
		inode->number = inodes->next_number++;
	inode->made = true;
	inode->set = 0;
	inode_set_times(inode, INODE_ATIME | INODE_MTIME | INODE_CTIME | INODE_BTIME, now);
	return inode;
}

void inode_set_times(struct inode *inode, unsigned which, struct timespec to)
{
	if (which & INODE_ATIME)
		inode->atime = to;
	if (which & INODE_MTIME)
		inode->mtime = to;
	if (which & INODE_CTIME)
		inode->ctime = to;
	if (which & INODE_BTIME)
		inode->btime = to;
	inode->set |= which;
}

uint64_t inode_number(const struct inode *inode)
{
	return inode->number;
}

uint64_t inode_find_number(const struct inodes *inodes, uint64_t dev, uint64_t number)
{
	struct inode *inode, *tmp;

	HASH_ITER(hh, inodes->by_key, inode, tmp) {
		if (inode->key.dev == dev && inode->number == number)
			return inode->key.ino;
	}
	return 0;
}

struct inode *inode_numbered(struct inodes *inodes, uint64_t dev, uint64_t ino, uint64_t number)
{
	uint64_t next = inodes->next_number;
	struct inode *inode;

	inode = inode_get(inodes, dev, ino);
	if (!inode)
		return NULL;
	inodes->next_number = next;
	inode->number = number;
	return inode;
}

/* Device numbers by order of first sight; the last one stands for all beyond the table. */
uint64_t inodes_device(struct inodes *inodes, uint64_t dev)
{
	unsigned i;

	for (i = 0; i < inodes->n_devices; i++)
		if (inodes->devices[i] == dev)
			return makedev(DEVICE_MAJOR, i);
	if (i < ARRAY_SIZE(inodes->devices))
		inodes->devices[inodes->n_devices++] = dev;
	return makedev(DEVICE_MAJOR, i);
}

static struct timespec shown(const struct inodes *inodes, const struct inode *inode, unsigned which,
			     struct timespec own, struct timespec real)
{
	if (inode->set & which)
		return own;
	return inodes->keep ? real : inodes->untouched;
}

/* How many processes or devices the host has shows in sizes of files. */
static void present_synthetic(struct file_stat *stat)
{
	enum { LARGEST = 1 << 20 };

	stat->blocks = 0;
	if (S_ISDIR(stat->mode) || stat->size > LARGEST)
		stat->size = 0;
}

void inode_present(struct inodes *inodes, const struct inode *inode, struct file_stat *stat)
{
	stat->dev = inodes_device(inodes, inode->key.dev);
	stat->ino = inode->number;
	stat->atime = shown(inodes, inode, INODE_ATIME, inode->atime, stat->atime);
	stat->mtime = shown(inodes, inode, INODE_MTIME, inode->mtime, stat->mtime);
	stat->ctime = shown(inodes, inode, INODE_CTIME, inode->ctime, stat->ctime);
	stat->btime = shown(inodes, inode, INODE_BTIME, inode->btime, stat->btime);
	stat->blksize = BLOCK;
	stat->attributes = stat->attributes_mask = 0;
	if (S_ISDIR(stat->mode)) {
		/* Some file systems count directories, layers stop it when something is written; as those say that never do (btrfs). 0: removed. */
		if (stat->nlink > 1)
			stat->nlink = 1;
		if (!stat->synthetic)
			stat->size = BLOCK;
	}
	/* How many blocks a file has is the allocator's accident. */
	stat->blocks = S_ISREG(stat->mode) || S_ISDIR(stat->mode) ? (stat->size + BLOCK - 1) / BLOCK * (BLOCK / 512) : 0;
	if (stat->synthetic)
		present_synthetic(stat);
}
