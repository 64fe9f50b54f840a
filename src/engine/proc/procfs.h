/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What files on procfs, sysfs and cgroupfs say. They are known by the object that was opened, however it was reached, by tables of rows:
 * a pattern of the object's usual name, and how its text comes about. The text is made whole and served from there by every call that
 * reads; the position is the open file's own. What no row knows is let through and reported (refused under strict).
 *
 * Names: "/proc/..." (all of "/proc/PID/" and "/proc/PID/task/TID/" is taken off for the rows of tasks), "/sys/...".
 */
#ifndef HS_ENGINE_PROCFS_H
#define HS_ENGINE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/uio.h>

#include "engine/guest.h"
#include "engine/piece.h"
#include "engine/task.h"

struct engine;
struct guest_path;
struct verdict;

/* What is being read, and by whom. */
struct procfs_view {
	struct engine *e;
	struct task *reader;
	const char *name;    /* the object's */
	const char *rest;    /* what the row's pattern was held against */
	int pid, tid;        /* from the name; 0: it has none */
	struct process *process; /* pid's; NULL when it is not the guest's (the container's init) */
	struct task *task;       /* tid's, or the leader of pid; NULL: a zombie, or not the guest's */
	struct piece text;   /* PROCFS_FILTER: as the kernel has it */
};

/* Writes the text. 0 or -errno, which the reader gets. */
typedef int procfs_fn(const struct procfs_view *view, FILE *out);

enum procfs_action {
	PROCFS_UNKNOWN = 0,
	PROCFS_MAKE,   /* fn makes it from nothing but the engine's state */
	PROCFS_FILTER, /* fn rewrites what the kernel has */
	PROCFS_TEXT,   /* it is always `text` */
	PROCFS_LIVE,   /* the kernel serves it: a function of the guest's own doings */
	PROCFS_REFUSE, /* reading fails with `error` */
};

struct procfs_row {
	const char *pattern; /* piece_matches() */
	enum procfs_action action;
	procfs_fn *fn;
	const char *text;
	int error;
};

/* The rows of a table: a fixed text; the kernel's, rewritten; made; the kernel's as it is; refused; reported. */
#define ROW_TEXT(name, content)	   { .pattern = (name), .action = PROCFS_TEXT, .text = (content) }
#define ROW_FILTER(name, function) { .pattern = (name), .action = PROCFS_FILTER, .fn = (function) }
#define ROW_MAKE(name, function)   { .pattern = (name), .action = PROCFS_MAKE, .fn = (function) }
#define ROW_LIVE(name)		   { .pattern = (name), .action = PROCFS_LIVE }
#define ROW_REFUSE(name, number)   { .pattern = (name), .action = PROCFS_REFUSE, .error = (number) }
#define ROW_UNKNOWN(name)	   { .pattern = (name), .action = PROCFS_UNKNOWN }

struct procfs_table {
	const struct procfs_row *rows;
	size_t n;
};

/* The tables; the first row that matches counts. */
extern const struct procfs_table procfs_task_table;    /* below /proc/PID/ */
extern const struct procfs_table procfs_init_table;    /* the same of process 1, when that is not the guest's */
extern const struct procfs_table procfs_net_table;     /* below /proc/PID/net/ */
extern const struct procfs_table procfs_machine_table; /* below /proc/ */
extern const struct procfs_table procfs_sysctl_table;  /* below /proc/sys/ */
extern const struct procfs_table procfs_sysfs_table;   /* below /sys/ */
extern const struct procfs_table procfs_sysfs_net_table; /* below /sys/devices/virtual/net/ */

/* The row for view->name; fills pid, tid, process, task and rest. NULL: nobody knows it. */
const struct procfs_row *procfs_find(struct procfs_view *view);

/* Is this descriptor's text ours to make? */
static inline bool procfs_serves(const struct fd_info *info)
{
	return (info->kind == FD_PROC || info->kind == FD_SYS) && (info->mode & 0170000) == 0100000;
}

enum { PROCFS_AT_CURSOR = -1 };

/* A read of the descriptor into guest memory, at an offset or at the cursor. */
int procfs_read_file(struct engine *e, struct task *t, int fd, const struct iovec *iov, size_t n_iov, int64_t offset,
		struct verdict *v);

/*
 * lseek by SEEK_SET or SEEK_CUR. Linux makes the text up to the new position (seq_file.c), so where reading is refused there is no position but
 * the start: for everybody, as reading is.
 */
int procfs_seek_file(struct engine *e, struct task *t, int fd, int64_t offset, struct verdict *v);

/* Is this entry of a directory, which goes by its usual name, to be seen in listings? */
bool procfs_lists(struct engine *e, const char *directory, const char *entry);

/*
 * procfs_hidden.c: what listings do not show is not there by its name either, whatever the host has: ENOENT for every call with such a path. 1: that
 * is the verdict; 0, or -errno. Paths that may come into procfs by links, or from a current directory there, are gone by whole (path_hidden); which
 * those are is known by their text and by what the guest has done before, so that others cost nothing.
 */
int procfs_hide(struct engine *e, struct task *t, struct verdict *v);

/*
 * Does the path, whatever way it goes, lead into procfs to what is no process's, and so the same in all of its mounts? flags as for path_stat.
 * 1, 0 (also where that cannot be told), or -errno.
 */
int procfs_is_common(struct engine *e, struct task *t, const struct guest_path *path, int flags);

/* Where in the path, which starts at this directory, the first name ends that is not listed; 0: all are. */
size_t procfs_hidden(struct engine *e, const struct task *t, const char *directory, const char *path);

/* The directory's entries as they are to be seen, in order: hides what is not the guest's and what only some kernels have. */
int procfs_arrange(struct engine *e, const char *name, struct dir_entry *entries, size_t *n);

/* The target of a link (readlink): rewritten in place where it names host objects. */
int procfs_link(struct engine *e, char *target, size_t size); /* 1: rewritten, 0: left alone */

/* Gives the guest's namespaces the numbers of an ordinary machine's. */
int procfs_name_namespaces(struct engine *e);

/* Helpers of the rows. */
/* Major and minor number of a device and number of an inode, as the guest is shown them. */
struct procfs_identity {
	unsigned major, minor;
	uint64_t ino;
};
int procfs_identify(struct engine *e, uint64_t dev, uint64_t ino, struct procfs_identity *ret);
/* Of a device alone. */
int procfs_identify_device(struct engine *e, uint64_t dev, struct procfs_identity *ret);

#endif
