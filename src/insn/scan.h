/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the instructions of insn.h in the executable segments of an ELF file. Pure: a function of the file's bytes. */
#ifndef HS_INSN_SCAN_H
#define HS_INSN_SCAN_H

#include "insn/map.h"

/*
 * Scans an ELF file in memory. *ret_map is the caller's. 0; -ENOEXEC when it is no 64-bit x86 ELF program or library
 * (nothing to find); -ENOMEM.
 */
int insn_scan_elf(const void *bytes, size_t size, struct insn_map **ret_map);

/* The same for a file, which is mapped meanwhile; its offset is not used. Also -errno of fstat(2) and mmap(2). */
int insn_scan_fd(int fd, struct insn_map **ret_map);

#endif
