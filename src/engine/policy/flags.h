/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of the bits and numbers that arguments are made of, for logs. Values are Linux x86-64's. */
#ifndef HS_ENGINE_FLAGS_H
#define HS_ENGINE_FLAGS_H

#include <stddef.h>
#include <stdint.h>

enum flag_set {
	FLAG_SET_NONE = 0,
	FLAG_SET_ACCESS,
	FLAG_SET_ARCH_PRCTL,
	FLAG_SET_AT,
	FLAG_SET_AT_ACCESS,
	FLAG_SET_AT_UNLINK,
	FLAG_SET_CLOCK,
	FLAG_SET_CLONE,
	FLAG_SET_CLOSE_RANGE,
	FLAG_SET_EPOLL_CTL,
	FLAG_SET_EVENTFD,
	FLAG_SET_FADVISE,
	FLAG_SET_FALLOC,
	FLAG_SET_FAMILY,
	FLAG_SET_FCNTL,
	FLAG_SET_FD_FLAGS,
	FLAG_SET_FLOCK,
	FLAG_SET_FUTEX,
	FLAG_SET_GETRANDOM,
	FLAG_SET_ID_TYPE,
	FLAG_SET_INOTIFY_MASK,
	FLAG_SET_IOCTL,
	FLAG_SET_IPC_CMD,
	FLAG_SET_IPC_GET,
	FLAG_SET_ITIMER,
	FLAG_SET_MADVISE,
	FLAG_SET_MEMBARRIER,
	FLAG_SET_MEMFD,
	FLAG_SET_MLOCKALL,
	FLAG_SET_MMAP,
	FLAG_SET_MPOL,
	FLAG_SET_MREMAP,
	FLAG_SET_MSG,
	FLAG_SET_MSGRCV,
	FLAG_SET_MSYNC,
	FLAG_SET_OPEN,
	FLAG_SET_PIDFD,
	FLAG_SET_PRCTL,
	FLAG_SET_PRIO,
	FLAG_SET_PROT,
	FLAG_SET_RENAME,
	FLAG_SET_RLIMIT,
	FLAG_SET_RUSAGE,
	FLAG_SET_RWF,
	FLAG_SET_SCHED,
	FLAG_SET_SECCOMP,
	FLAG_SET_SEEK,
	FLAG_SET_SEM_CMD,
	FLAG_SET_SHMAT,
	FLAG_SET_SHMGET,
	FLAG_SET_SHUT,
	FLAG_SET_SIGNAL,
	FLAG_SET_SIG_HOW,
	FLAG_SET_SOCK_FLAGS,
	FLAG_SET_SOCK_LEVEL,
	FLAG_SET_SOCK_TYPE,
	FLAG_SET_SPLICE,
	FLAG_SET_STATX,
	FLAG_SET_SYNC_RANGE,
	FLAG_SET_TIMER,
	FLAG_SET_TIMERFD,
	FLAG_SET_TIMERFD_SET,
	FLAG_SET_WAIT,
	FLAG_SET_XATTR,
	N_FLAG_SETS,
};

/*
 * Writes the names of `value` (its low 32 bits: that is all the kernel looks at), joined by '|'; bits without a name follow in
 * hex; "0" for nothing. Cut off at `size`, always NUL-terminated. Returns the length that the whole text has.
 */
size_t flags_format(enum flag_set set, uint64_t value, char *buf, size_t size);

/* The name of a number that stands alone in its set, or NULL. */
const char *flags_name(enum flag_set set, uint64_t value);

#endif
