/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparison of outputs and files: see compare.h. */
#include "supervisor/evidence/compare.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "container/mountinfo.h"
#include "supervisor/evidence/places.h"

enum { PIECE = 65536, LINE_SHOWN = 160, LINK_SIZE = 4096 };

#define SAY(what, ...) ((void)snprintf((what)->text, sizeof((what)->text), __VA_ARGS__), 0)

/* ---- contents ---- */

/* Bytes as a person can read them, quoted. */
static void quote(char *out, size_t size, const char *bytes, size_t len)
{
	size_t at = 1;

	out[0] = '"';
	for (size_t i = 0; i < len && at + 8 < size; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c == '\\' || c == '"')
			at += (size_t)snprintf(out + at, size - at, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			at += (size_t)snprintf(out + at, size - at, "\\x%02x", c);
		else
			out[at++] = (char)c;
	}
	out[at++] = '"';
	out[at] = '\0';
}

/* The line around an offset, at most so much of it as is worth showing. */
static void show_line(int fd, uint64_t line_start, uint64_t offset, char *out, size_t size)
{
	char bytes[LINE_SHOWN];
	const char *newline;
	ssize_t n;

	if (offset - line_start > LINE_SHOWN / 2)
		line_start = offset - LINE_SHOWN / 2;
	n = pread(fd, bytes, sizeof(bytes), (off_t)line_start);
	n = n < 0 ? 0 : n;
	newline = memchr(bytes, '\n', (size_t)n);
	quote(out, size, bytes, newline ? (size_t)(newline - bytes) : (size_t)n);
}

static void say_place(int fd_a, int fd_b, uint64_t offset, uint64_t line, uint64_t line_start, struct difference *what)
{
	char a[4 * LINE_SHOWN + 16], b[sizeof(a)];

	show_line(fd_a, line_start, offset, a, sizeof(a));
	show_line(fd_b, line_start, offset, b, sizeof(b));
	(void)SAY(what, "first at byte %llu, line %llu: %.400s and %.400s", (unsigned long long)offset + 1, (unsigned long long)line, a, b);
}

/* The next piece of both. 1: read; -errno. */
static int read_both(int fd_a, int fd_b, char *a, char *b, uint64_t offset, ssize_t *n_a, ssize_t *n_b)
{
	*n_a = pread(fd_a, a, PIECE, (off_t)offset);
	if (*n_a < 0)
		return -errno;
	*n_b = pread(fd_b, b, PIECE, (off_t)offset);
	return *n_b < 0 ? -errno : 1;
}

int compare_contents(int fd_a, int fd_b, struct difference *ret_what, struct error *err)
{
	char a[PIECE], b[PIECE];
	uint64_t offset = 0, line = 1, line_start = 0;
	ssize_t n_a = 0, n_b = 0;
	int r;

	for (;;) {
		r = read_both(fd_a, fd_b, a, b, offset, &n_a, &n_b);
		if (r < 0)
			return error_errno(err, -r, "comparing");
		for (ssize_t i = 0; i < n_a && i < n_b; i++) {
			if (a[i] != b[i]) {
				say_place(fd_a, fd_b, offset + (uint64_t)i, line, line_start, ret_what);
				return 0;
			}
			if (a[i] == '\n') {
				line++;
				line_start = offset + (uint64_t)i + 1;
			}
		}
		if (n_a != n_b) {
			offset += (uint64_t)(n_a < n_b ? n_a : n_b);
			say_place(fd_a, fd_b, offset, line, line_start, ret_what);
			return 0;
		}
		if (n_a == 0)
			return 1;
		offset += (uint64_t)n_a;
	}
}

/* ---- trees ---- */

struct listing {
	struct dirent **entries;
	int n;
};

static void listing_free(struct listing *l)
{
	for (int i = 0; i < l->n; i++)
		free(l->entries[i]);
	free(l->entries);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int no_dots(const struct dirent *e)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int list(int dirfd, struct listing *l)
{
	l->n = scandirat(dirfd, ".", &l->entries, no_dots, by_name);
	if (l->n >= 0)
		return 0;
	l->n = 0;
	return -errno;
}

struct walk {
	struct changes *changes;
	const struct mount_table *mounts; /* NULL or: what is below one of these is out of sight */
	const struct place_contents *before; /* what is as it was is not counted */
	struct difference *what;
	struct error *err;
	char path[4096]; /* of the current entry, as the guest calls it */
};

static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symbolic link";
	case S_IFIFO:
		return "FIFO";
	case S_IFSOCK:
		return "socket";
	default:
		return "device";
	}
}

/* Overlay's mark of something that was removed. */
static bool is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == 0;
}

static const char *what_is(const struct stat *st)
{
	return is_whiteout(st) ? "removed" : kind_name(st->st_mode);
}

void changes_clear(struct changes *changes)
{
	for (size_t i = 0; i < changes->n; i++)
		free(changes->items[i].path);
	free(changes->items);
	*changes = (struct changes){ 0 };
}

static int note_change(struct walk *w, const char *what)
{
	struct changes *c = w->changes;
	struct change *grown;
	char *path;

	if (c->total++ >= CHANGES_MAX)
		return 0;
	grown = array_grow(c->items, c->n, &c->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	c->items = grown;
	path = strdup(w->path);
	if (!path)
		return -ENOMEM;
	c->items[c->n++] = (struct change){ path, what };
	return 0;
}

/* Opened for reading even when the guest left it unreadable for its owner. */
static int open_entry(int dirfd, const char *name, const struct stat *st, int flags)
{
	int fd = openat(dirfd, name, flags | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == EACCES && fchmodat(dirfd, name, st->st_mode | S_IRUSR | S_IXUSR, 0) == 0) {
		fd = openat(dirfd, name, flags | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		(void)fchmodat(dirfd, name, st->st_mode, 0);
	}
	return fd < 0 ? -errno : fd;
}

static int compare_dirs(struct walk *w, int fd_a, int fd_b, bool top);

static int compare_opened(struct walk *w, int dir_a, int dir_b, const char *name, const struct stat *a, const struct stat *b)
{
	bool is_dir = S_ISDIR(a->st_mode);
	_cleanup_close_ int fd_a = open_entry(dir_a, name, a, is_dir ? O_DIRECTORY : 0);
	_cleanup_close_ int fd_b = open_entry(dir_b, name, b, is_dir ? O_DIRECTORY : 0);
	struct difference where;
	int r;

	if (fd_a < 0 || fd_b < 0)
		return error_errno(w->err, fd_a < 0 ? -fd_a : -fd_b, "comparing %s", w->path);
	if (is_dir)
		return compare_dirs(w, fd_a, fd_b, false);
	r = compare_contents(fd_a, fd_b, &where, w->err);
	if (r == 0)
		(void)SAY(w->what, "%.300s: contents differ, %.700s", w->path, where.text);
	return r;
}

static int compare_links(struct walk *w, int dir_a, int dir_b, const char *name)
{
	char a[LINK_SIZE] = "", b[LINK_SIZE] = "";

	if (readlinkat(dir_a, name, a, sizeof(a) - 1) < 0 || readlinkat(dir_b, name, b, sizeof(b) - 1) < 0)
		return error_errno(w->err, errno, "comparing %s", w->path);
	if (!strcmp(a, b))
		return 1;
	return SAY(w->what, "%.300s: links to %.300s and to %.300s", w->path, a, b);
}

/* ---- extended attributes ---- */

enum { XATTR_LIST = 65536, XATTR_VALUE = 65536 };

/* What overlay notes for itself about where a file came from; what it says of a directory's contents does count. */
static bool is_bookkeeping(const char *name)
{
	static const char *const words[] = { "origin", "impure", "uuid", "nlink" };
	const char *word = strstr(name, ".overlay.");

	for (size_t i = 0; word && i < ARRAY_SIZE(words); i++)
		if (!strcmp(word + strlen(".overlay."), words[i]))
			return true;
	return false;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a list of the kernel's, in order. The array is the caller's to free. Returns their number or -ENOMEM. */
static ssize_t sorted_names(char *list, size_t size, char ***ret)
{
	char **names;
	size_t n = 0;

	names = calloc(size ? size : 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (char *name = list; name < list + size; name += strlen(name) + 1)
		if (!is_bookkeeping(name))
			names[n++] = name;
	qsort(names, n, sizeof(*names), by_text);
	*ret = names;
	return (ssize_t)n;
}

static int compare_attribute(struct walk *w, char paths[2][64 + NAME_MAX], const char *name)
{
	_cleanup_free_ char *a = malloc(XATTR_VALUE), *b = malloc(XATTR_VALUE);
	ssize_t n_a, n_b;

	if (!a || !b)
		return error_errno(w->err, ENOMEM, "comparing %s", w->path);
	n_a = lgetxattr(paths[0], name, a, XATTR_VALUE);
	n_b = lgetxattr(paths[1], name, b, XATTR_VALUE);
	if (n_a < 0 || n_b < 0)
		return error_errno(w->err, errno, "comparing %s", w->path);
	if (n_a == n_b && !memcmp(a, b, (size_t)n_a))
		return 1;
	return SAY(w->what, "%.700s: extended attribute %.200s differs", w->path, name);
}

static int compare_names(struct walk *w, char paths[2][64 + NAME_MAX], char **names[2], const ssize_t n[2])
{
	int order, r = 1;

	for (ssize_t i = 0; r > 0 && (i < n[0] || i < n[1]); i++) {
		order = i >= n[0] ? 1 : i >= n[1] ? -1 : strcmp(names[0][i], names[1][i]);
		if (order)
			return SAY(w->what, "%.700s: extended attribute %.200s only in the %s run", w->path, names[order > 0][i],
				   order < 0 ? "first" : "other");
		r = compare_attribute(w, paths, names[0][i]);
	}
	return r;
}

static int compare_attributes(struct walk *w, int dir_a, int dir_b, const char *entry)
{
	_cleanup_free_ char *a = malloc(XATTR_LIST), *b = malloc(XATTR_LIST);
	_cleanup_free_ char **names_a = NULL, **names_b = NULL;
	char *lists[2] = { a, b }, paths[2][64 + NAME_MAX], **names[2];
	const int dirs[2] = { dir_a, dir_b };
	ssize_t n[2];

	if (!a || !b)
		return error_errno(w->err, ENOMEM, "comparing %s", w->path);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "/proc/self/fd/%d/%s", dirs[i], entry);
		n[i] = llistxattr(paths[i], lists[i], XATTR_LIST);
		if (n[i] < 0 && errno != ENOTSUP)
			return error_errno(w->err, errno, "comparing %s", w->path);
		n[i] = sorted_names(lists[i], n[i] < 0 ? 0 : (size_t)n[i], i ? &names_b : &names_a);
		if (n[i] < 0)
			return error_errno(w->err, ENOMEM, "comparing %s", w->path);
	}
	names[0] = names_a;
	names[1] = names_b;
	return compare_names(w, paths, names, n);
}

/* ---- entries ---- */

static int compare_entry(struct walk *w, int dir_a, int dir_b, const char *name, bool top)
{
	struct stat a, b;
	int r;

	if (w->mounts && mount_table_find(w->mounts, w->path))
		return 1;
	if (fstatat(dir_a, name, &a, AT_SYMLINK_NOFOLLOW) < 0 || fstatat(dir_b, name, &b, AT_SYMLINK_NOFOLLOW) < 0)
		return error_errno(w->err, errno, "comparing %s", w->path);
	if (!top && !place_is_as_before(w->before, &a) && note_change(w, what_is(&a)) < 0)
		return error_errno(w->err, ENOMEM, "comparing %s", w->path);
	if ((a.st_mode & S_IFMT) != (b.st_mode & S_IFMT) || is_whiteout(&a) != is_whiteout(&b))
		return SAY(w->what, "%.900s: %s and %s", w->path, what_is(&a), what_is(&b));
	if (a.st_mode != b.st_mode)
		return SAY(w->what, "%.900s: mode %04o and %04o", w->path, a.st_mode & 07777, b.st_mode & 07777);
	if (a.st_uid != b.st_uid || a.st_gid != b.st_gid)
		return SAY(w->what, "%.900s: owner %u:%u and %u:%u", w->path, a.st_uid, a.st_gid, b.st_uid, b.st_gid);
	r = compare_attributes(w, dir_a, dir_b, name);
	if (r <= 0)
		return r;
	if (S_ISCHR(a.st_mode) || S_ISBLK(a.st_mode)) {
		if (a.st_rdev == b.st_rdev)
			return 1;
		return SAY(w->what, "%.900s: device %u:%u and %u:%u", w->path, major(a.st_rdev), minor(a.st_rdev), major(b.st_rdev),
			   minor(b.st_rdev));
	}
	if (S_ISLNK(a.st_mode))
		return compare_links(w, dir_a, dir_b, name);
	return S_ISREG(a.st_mode) || S_ISDIR(a.st_mode) ? compare_opened(w, dir_a, dir_b, name, &a, &b) : 1;
}

/* A layer's name becomes the path that it was made of (cow_overlay.c: layer_name). */
static void layer_path(char *name)
{
	char *to = name;
	unsigned code;

	for (const char *from = name; *from; from++) {
		if (*from == '%' && sscanf(from, "%%%2x", &code) == 1) {
			*to++ = (char)code;
			from += 2;
		} else {
			*to++ = *from == '@' ? '/' : *from;
		}
	}
	*to = '\0';
}

/* Appends to the path; `top`: the name of a layer. Returns the old length. */
static size_t push_name(struct walk *w, const char *name, bool top)
{
	size_t len = strlen(w->path);

	if (!top) {
		(void)snprintf(w->path + len, sizeof(w->path) - len, "/%s", name);
		return len;
	}
	(void)snprintf(w->path + len, sizeof(w->path) - len, "%s", name);
	layer_path(w->path + len);
	return len;
}

static bool is_empty_dir(int dirfd, const char *name)
{
	_cleanup_(listing_free) struct listing l = { 0 };
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && list(fd, &l) == 0 && l.n == 0;
}

/* An entry that only one side has. */
static int compare_lone(struct walk *w, int dirfd, const char *name, bool top, const char *which)
{
	struct stat st = { 0 };
	size_t len;

	if (top && is_empty_dir(dirfd, name))
		return 1;
	(void)fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW);
	len = push_name(w, name, top);
	(void)SAY(w->what, "%.900s: %s, only in the %s", w->path, what_is(&st), which);
	w->path[len] = '\0';
	return 0;
}

static int compare_dirs(struct walk *w, int fd_a, int fd_b, bool top)
{
	_cleanup_(listing_free) struct listing a = { 0 }, b = { 0 };
	int r, i = 0, j = 0, order;
	size_t len;

	r = list(fd_a, &a);
	if (r == 0)
		r = list(fd_b, &b);
	if (r < 0)
		return error_errno(w->err, -r, "comparing %s", w->path);
	while (i < a.n || j < b.n) {
		order = i == a.n ? 1 : j == b.n ? -1 : strcmp(a.entries[i]->d_name, b.entries[j]->d_name);
		if (order < 0) {
			r = compare_lone(w, fd_a, a.entries[i++]->d_name, top, "first run");
		} else if (order > 0) {
			r = compare_lone(w, fd_b, b.entries[j++]->d_name, top, "other run");
		} else if (top && is_empty_dir(fd_a, a.entries[i]->d_name) && is_empty_dir(fd_b, b.entries[j]->d_name)) {
			/* Untouched: its mode is that of the host's directory, which others may have changed meanwhile. */
			i++;
			j++;
			continue;
		} else {
			len = push_name(w, a.entries[i]->d_name, top);
			r = compare_entry(w, fd_a, fd_b, a.entries[i]->d_name, top);
			w->path[len] = '\0';
			i++;
			j++;
		}
		if (r <= 0)
			return r;
	}
	return 1;
}

int compare_layers(const char *dir_a, const char *dir_b, const struct place_contents *before, struct changes *changes,
		   struct difference *ret_what, struct error *err)
{
	_cleanup_close_ int fd_a = open(dir_a, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd_b = open(dir_b, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct walk w = { .what = ret_what, .err = err, .before = before, .changes = changes };

	if (fd_a < 0 || fd_b < 0)
		return error_errno(err, errno, "%s", fd_a < 0 ? dir_a : dir_b);
	return compare_dirs(&w, fd_a, fd_b, true);
}

int compare_trees(int fd_a, int fd_b, const char *path, const struct mount_table *mounts, const struct place_contents *before,
		  struct changes *changes, struct difference *ret_what, struct error *err)
{
	struct walk w = { .what = ret_what, .err = err, .mounts = mounts, .before = before, .changes = changes };
	struct stat a, b;

	if (fstat(fd_a, &a) < 0 || fstat(fd_b, &b) < 0)
		return error_errno(err, errno, "%s", path);
	if (a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return 1; /* of the host: shared by both */
	(void)snprintf(w.path, sizeof(w.path), "%s", strcmp(path, "/") != 0 ? path : "");
	if (a.st_mode != b.st_mode)
		return SAY(ret_what, "%.900s: mode %04o and %04o", path, a.st_mode & 07777, b.st_mode & 07777);
	return compare_dirs(&w, fd_a, fd_b, false);
}
