/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results of scanning, kept in a directory across runs: one small file per scanned file, named by its key. A cache file
 * is written under a temporary name and renamed, so that readers see all or nothing and concurrent writers do not
 * disturb each other. What is read is checked from end to end (version, key, checksum, every field against the scanned
 * file's own bytes); anything wrong with it means that there is no entry.
 */
#ifndef HS_INSN_CACHE_H
#define HS_INSN_CACHE_H

#include "base/hash.h"
#include "insn/map.h"

/*
 * What identifies the content of a file: its build-id with size, time of its last change, and program headers, or the hash of all of it. The
 * headers are in the key because tools that move segments keep the build-id, and the time because code that is edited in place keeps it, too: a
 * copy with another time is scanned once more.
 */
struct insn_key {
	unsigned char bytes[HASH_BYTES];
	bool from_build_id;
};

/* Reads as little as possible: 0; -ENOEXEC when it is no 64-bit x86 ELF program or library; -errno. */
int insn_key_of(int fd, struct insn_key *ret);

/*
 * The entry for key in the directory, checked against the file fd. *ret_map is the caller's. 0; -ENOENT when there is
 * none that is valid; -ENOMEM.
 */
int insn_cache_load(int dirfd, const struct insn_key *key, int fd, struct insn_map **ret_map);

/* Writes the entry. 0 or -errno; the cache is as before then. */
int insn_cache_save(int dirfd, const struct insn_key *key, const struct insn_map *map);

/* The file name of a key. */
#define INSN_CACHE_NAME_SIZE (HASH_HEX_SIZE + sizeof(".insn"))
void insn_cache_name(const struct insn_key *key, char ret[INSN_CACHE_NAME_SIZE]);

#endif
