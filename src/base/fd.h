/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors of our own process. All are close-on-exec. Functions return 0 or a count, or -errno. */
#ifndef HS_BASE_FD_H
#define HS_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * To be called first of all: nothing that is opened later may take the place of a standard descriptor that the caller has closed, or a guest
 * would read and write it. Such a one becomes /dev/null, opened the wrong way round: who reads or writes gets EBADF, as from a closed one.
 * Returns 0 or -errno.
 */
int fd_reserve_standard(void);

/* Is it there, and open for reading? */
bool fd_is_readable(int fd);

/* Duplicates above the standard descriptors. Returns the new descriptor or -errno. */
int fd_duplicate(int fd);

/* Reads until len bytes or end of file, across EINTR. Returns the bytes read or -errno. */
ssize_t fd_read_full(int fd, void *buf, size_t len);

/* Writes all len bytes, across EINTR and short writes. Returns 0 or -errno. */
int fd_write_full(int fd, const void *buf, size_t len);

/* Copies from where `from` stands to its end. Returns 0 or -errno. */
int fd_copy(int from, int to);

/*
 * Reads a whole file into a fresh NUL-terminated buffer (the NUL is not counted). dirfd/path as for openat(2).
 * -EFBIG beyond `limit` bytes. *ret_text is the caller's.
 */
int fd_read_file(int dirfd, const char *path, size_t limit, char **ret_text, size_t *ret_len);

/* The same for files by name: the new one has the usual rights (0666 less the umask), and what was in it is gone. Returns 0 or -errno. */
int fd_copy_file(const char *from, const char *to);

/* Makes a file a descriptor: open(2) with flags and 0600, and dup2(2). Returns 0 or -errno. */
int fd_redirect(const char *path, int flags, int to);

/* Writes text to an existing file (a /proc or /sys knob, say). Returns 0 or -errno. */
int fd_write_file(int dirfd, const char *path, const char *text);

/* What a descriptor is open on, for messages: its path, or what the kernel calls it. Returns name. */
enum { FD_NAME_SIZE = 4096 };
const char *fd_name(int fd, char name[FD_NAME_SIZE]);

/* Is there a regular file, or may there be one? Not of a device, a pipe or a directory, nor of a link to one. */
bool fd_is_plain_file(const char *path);

/* Could the file be written, or made where it is not there? Nothing is touched. Returns 0 or -errno. */
int fd_check_writable(const char *path);

/*
 * Makes text the whole content of a file (0666 less the umask) in one step: nobody sees half of it, and a failure leaves what was there.
 * The file that a link names is replaced, not the link. What is there and no regular file (/dev/null, /dev/stdout, a pipe) is
 * written to: renaming over it would replace the device itself. Returns 0 or -errno.
 */
int fd_replace_file(const char *path, const char *text);

#endif
