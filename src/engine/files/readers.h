/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading by any call (read, readv, pread64, preadv, preadv2) from descriptors whose contents are not the kernel's to show: one reader per
 * kind of descriptor, in the table of handle_read.c.
 */
#ifndef HS_ENGINE_READERS_H
#define HS_ENGINE_READERS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/files/fdtable.h"
#include "engine/span.h"

struct verdict;

struct read_request {
	int fd;
	const struct fd_info *info;
	const struct span *span; /* where the bytes go */
	bool nowait;             /* preadv2(2): RWF_NOWAIT */
	bool positional;         /* pread and its kin: from `position`, the file's own position stays */
	uint64_t position;
};

/* A reader makes the verdict, or answers READER_DECLINES: the kernel reads, when there is something to read. Or -errno. */
enum { READER_DECLINES = 1 };
typedef int reader_fn(struct engine *e, struct task *t, const struct read_request *request, struct verdict *v);

reader_fn read_random_device; /* handle_rand.c */
bool is_random_device(const struct fd_info *info);
reader_fn read_timerfd;       /* timerfd.c */
reader_fn read_signalfd;      /* signalfd.c */
reader_fn read_inotify;       /* inotify.c */
reader_fn read_procfs;        /* handle_read.c, by procfs.h */

/* Ends a reader: the bytes go to the guest, their count (or EFAULT) is the verdict. */
int reader_answer(struct engine *e, struct task *t, const struct read_request *request, const void *data, size_t size,
		  struct verdict *v);

/* Parks the task until the descriptor is ready, unless it is non-blocking; then, or when ready, the kernel runs the call. */
int call_when_ready(struct engine *e, struct task *t, int fd, short events, struct verdict *v);

/* The same for calls that receive: what only its error queue makes ready (ip(7): IP_RECVERR) has nothing for them. */
int receive_when_ready(struct engine *e, struct task *t, int fd, struct verdict *v);

/* Does no call that does what `events` wait for (POLLIN reading, POLLOUT writing) ever wait on this descriptor? */
bool fd_never_waits(const struct fd_info *info, short events);

/* Can the kernel block on this kind of descriptor? Files and directories cannot; what is not known may. */
bool fd_may_block(enum fd_kind kind);

#endif
