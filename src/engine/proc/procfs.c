/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding and serving: see procfs.h. What the files say is in procfs_*.c. */
#include "engine/proc/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/verdict.h"

/* ---- finding ---- */

static const struct procfs_row *look_up(const struct procfs_table *table, const char *name)
{
	for (size_t i = 0; i < table->n; i++)
		if (piece_matches(table->rows[i].pattern, name))
			return &table->rows[i];
	return NULL;
}

/* Takes "NUMBER/" off the start of a name; 0 when it does not start so. */
static int take_number(const char **name)
{
	struct piece rest = piece_of(*name), number;
	uint64_t value;

	if (!piece_until(&rest, '/', &number) || !rest.n || !piece_number(number, 10, &value) || value > INT_MAX)
		return 0;
	*name = rest.at;
	return (int)value;
}

static bool take_word(const char **name, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*name, word, n) != 0)
		return false;
	*name += n;
	return true;
}

static void find_subject(struct procfs_view *view)
{
	struct task *t;

	view->process = process_find(view->e, view->pid);
	LL_FOREACH(view->e->tasks, t) {
		if (view->process && (view->tid ? t->vtid == view->tid : t == view->process->leader))
			view->task = t;
	}
}

/* Process 1 when it is not the guest's, and who has not executed the guest's program yet: files that every process has are there, and most are closed. */
static const struct procfs_row *find_of_init(const struct procfs_view *view)
{
	static const struct procfs_row closed = { .action = PROCFS_REFUSE, .error = EACCES };
	const struct procfs_row *row = look_up(&procfs_init_table, view->rest);

	return row || !look_up(&procfs_task_table, view->rest) ? row : &closed;
}

static const struct procfs_row *find_of_task(struct procfs_view *view)
{
	if (take_word(&view->rest, "task/"))
		view->tid = take_number(&view->rest);
	find_subject(view);
	if (take_word(&view->rest, "net/")) /* one network for all, process 1 included */
		return look_up(&procfs_net_table, view->rest);
	if (!view->process || view->process->foreign)
		return find_of_init(view);
	return look_up(&procfs_task_table, view->rest);
}

/* Below the directory of a network device; one that is gone has no name, and its files say what the kernel's say. */
static const struct procfs_row *find_of_device(const struct procfs_view *view)
{
	static const struct procfs_row gone = { .action = PROCFS_REFUSE, .error = ENODEV };

	return view->rest[0] == '/' ? &gone : look_up(&procfs_sysfs_net_table, view->rest);
}

const struct procfs_row *procfs_find(struct procfs_view *view)
{
	view->rest = view->name;
	if (take_word(&view->rest, "/proc/sys/"))
		return look_up(&procfs_sysctl_table, view->rest);
	if (take_word(&view->rest, "/sys/devices/virtual/net/"))
		return find_of_device(view);
	if (take_word(&view->rest, "/sys/"))
		return look_up(&procfs_sysfs_table, view->rest);
	if (!take_word(&view->rest, "/proc/"))
		return NULL;
	view->pid = take_number(&view->rest);
	return view->pid ? find_of_task(view) : look_up(&procfs_machine_table, view->rest);
}

/* ---- the text ---- */

static int produce(struct engine *e, int handle, struct procfs_view *view, const struct procfs_row *row, FILE *out)
{
	_cleanup_free_ char *kernel = NULL;
	size_t size;
	int r;

	if (row->action == PROCFS_TEXT)
		return fputs(row->text, out) < 0 ? -ENOMEM : 0;
	if (row->action == PROCFS_MAKE)
		return row->fn(view, out);
	r = e->g->ops->handle_read_all(e->g, handle, &kernel, &size);
	if (r < 0)
		return r;
	view->text = (struct piece){ kernel, size };
	return row->fn(view, out);
}

/* The whole text in one block that the caller frees. -errno as the reader is to get it. */
static int make_text(struct engine *e, int handle, struct procfs_view *view, const struct procfs_row *row,
		     char **ret_text, size_t *ret_size)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int r;

	out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	r = produce(e, handle, view, row, out);
	if (fclose(out) != 0 && r == 0)
		r = -ENOMEM;
	if (r < 0) {
		free(text);
		return r;
	}
	*ret_text = text;
	*ret_size = size;
	return 0;
}

/* ---- serving ---- */

/* The name of an object without the numbers in it, for reports. */
static void report_unknown(struct engine *e, const char *name)
{
	char shown[sizeof(e->uncontrolled[0].where)];
	size_t n = 0;

	for (; *name && n < sizeof(shown) - 1; name++) {
		if (*name < '0' || *name > '9')
			shown[n++] = *name;
		else if (!n || shown[n - 1] != '*')
			shown[n++] = '*';
	}
	shown[n] = '\0';
	engine_report_uncontrolled(e, "read of a file that is not modelled", shown);
}

static int scatter(struct engine *e, struct task *t, const struct piece *data, const struct iovec *iov, size_t n_iov,
		   uint64_t *ret_done)
{
	size_t n;
	int r;

	*ret_done = 0;
	for (size_t i = 0; i < n_iov && *ret_done < data->n; i++) {
		n = data->n - *ret_done < iov[i].iov_len ? data->n - *ret_done : iov[i].iov_len;
		r = guest_write(e, t, (uint64_t)(uintptr_t)iov[i].iov_base, data->at + *ret_done, n);
		if (r < 0)
			return *ret_done && r == -EFAULT ? 0 : r;
		*ret_done += n;
	}
	return 0;
}

struct request {
	int fd, handle;
	const struct iovec *iov;
	size_t n_iov;
	int64_t offset;
};

/* The text from `at` on goes to the reader. */
static int serve(struct engine *e, struct task *t, const struct request *q, const struct piece *text, uint64_t at,
		 struct verdict *v)
{
	struct piece left = { 0 };
	uint64_t done;
	int r;

	if (at < text->n)
		left = (struct piece){ text->at + at, text->n - at };
	r = scatter(e, t, &left, q->iov, q->n_iov, &done);
	if (r < 0)
		return r == -EFAULT ? verdict_errno(v, EFAULT) : r;
	if (q->offset == PROCFS_AT_CURSOR && done)
		(void)e->g->ops->handle_seek(e->g, q->handle, (int64_t)(at + done), SEEK_SET);
	return verdict_return(v, (int64_t)done);
}

/* A read at the start makes the text anew; further ones go on in the same text, if it is still known. */
static int read_known(struct engine *e, struct task *t, const struct request *q, struct procfs_view *view,
		      const struct procfs_row *row, struct verdict *v)
{
	int64_t at = q->offset;
	struct piece text;
	char *made;
	int r;

	if (at == PROCFS_AT_CURSOR)
		at = e->g->ops->handle_seek(e->g, q->handle, 0, SEEK_CUR);
	if (at < 0)
		return verdict_continue(v); /* the kernel says what is wrong */
	if (at == 0 || !fdtable_text(t->fds, q->fd, &text)) {
		r = make_text(e, q->handle, view, row, &made, &text.n);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			return verdict_return(v, r);
		text.at = made;
		r = fdtable_set_text(t->fds, q->fd, made, text.n);
		if (r < 0)
			return r;
	}
	return serve(e, t, q, &text, (uint64_t)at, v);
}

static int read_handle(struct engine *e, struct task *t, const struct request *q, struct verdict *v)
{
	const struct procfs_row *row;
	struct procfs_view view = { .e = e, .reader = t };
	char name[PATH_MAX];
	int r;

	r = e->g->ops->handle_object(e->g, t->id, q->handle, name, sizeof(name));
	if (r < 0)
		return r == -ESRCH ? r : verdict_continue(v);
	view.name = name;
	row = procfs_find(&view);
	if (!row || row->action == PROCFS_UNKNOWN) {
		report_unknown(e, name);
		return verdict_continue(v);
	}
	if (row->action == PROCFS_LIVE)
		return verdict_continue(v);
	if (row->action == PROCFS_REFUSE)
		return verdict_errno(v, row->error);
	return read_known(e, t, q, &view, row, v);
}

int procfs_read_file(struct engine *e, struct task *t, int fd, const struct iovec *iov, size_t n_iov, int64_t offset,
		struct verdict *v)
{
	struct request q = { .fd = fd, .iov = iov, .n_iov = n_iov, .offset = offset };
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, fd, &info);
	if (r < 0)
		return r == -EBADF ? verdict_errno(v, EBADF) : r;
	if ((info->open_flags & O_ACCMODE) == O_WRONLY || !e->g->ops->handle_object || !e->g->ops->handle_read_all)
		return verdict_continue(v);
	q.handle = e->g->ops->fd_borrow(e->g, t->id, fd);
	if (q.handle < 0)
		return q.handle == -EBADF ? verdict_errno(v, EBADF) : q.handle;
	r = read_handle(e, t, &q, v);
	e->g->ops->handle_release(e->g, q.handle);
	return r;
}

int procfs_seek_file(struct engine *e, struct task *t, int fd, int64_t offset, struct verdict *v)
{
	const struct procfs_row *row = NULL;
	struct procfs_view view = { .e = e, .reader = t };
	char name[PATH_MAX];
	int handle, r;

	if (offset <= 0 || !e->g->ops->handle_object)
		return verdict_continue(v); /* the start is everybody's; below it the kernel says what is wrong */
	handle = e->g->ops->fd_borrow(e->g, t->id, fd);
	if (handle < 0)
		return handle == -EBADF ? verdict_errno(v, EBADF) : handle;
	r = e->g->ops->handle_object(e->g, t->id, handle, name, sizeof(name));
	e->g->ops->handle_release(e->g, handle);
	if (r == -ESRCH)
		return r;
	view.name = name;
	if (r >= 0)
		row = procfs_find(&view);
	return row && row->action == PROCFS_REFUSE ? verdict_errno(v, row->error) : verdict_continue(v);
}

/* ---- directories ---- */

/* What hosts have with a module or a device, or if they were built so. */
static bool is_accident(const char *name)
{
	static const char *const accidents[] = { "/proc/fb", "/proc/kcore", "/proc/mdstat", "/proc/mtrr" };

	for (size_t i = 0; i < ARRAY_SIZE(accidents); i++)
		if (!strcmp(name, accidents[i]))
			return true;
	return false;
}

/* Names in these directories that every kernel of our time has; the others show how the host's was built. */
static bool is_shown(struct engine *e, const char *directory, const char *entry)
{
	struct procfs_view view = { .e = e };
	char name[PATH_MAX];
	struct piece number = piece_of(entry);
	uint64_t pid;

	if (!strcmp(entry, ".") || !strcmp(entry, ".."))
		return true;
	if (!strcmp(directory, "/proc") && piece_number(number, 10, &pid))
		return pid == 1 || (pid <= INT_MAX && process_find(e, (int)pid));
	if (snprintf(name, sizeof(name), "%s/%s", directory, entry) >= (int)sizeof(name))
		return false;
	view.name = name;
	return !is_accident(name) && procfs_find(&view) != NULL;
}

/* Below these is what the host has for devices and file systems: nothing of it is listed. */
static bool is_of_host(const char *directory)
{
	static const char *const hosts[] = {
		"/proc/acpi", "/proc/asound", "/proc/bus", "/proc/driver", "/proc/fs", "/proc/irq", "/proc/scsi", "/proc/tty/driver",
	};

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		const char *rest = directory;

		if (take_word(&rest, hosts[i]) && (*rest == '\0' || *rest == '/'))
			return true;
	}
	return false;
}

/*
 * Directories whose entries are all named in the tables: /proc, /proc/PID, /proc/PID/task/TID, those of network devices, and of settings those that
 * modules add to.
 */
static bool is_filtered(const char *directory)
{
	uint64_t number;

	if (!strcmp(directory, "/proc") || !strcmp(directory, "/proc/sys/fs") || !strcmp(directory, "/proc/sys/net"))
		return true;
	if (take_word(&directory, "/sys/devices/virtual/net/"))
		return true;
	if (!take_word(&directory, "/proc/"))
		return false;
	if (take_number(&directory) && !take_word(&directory, "task/"))
		return false;
	return piece_number(piece_of(directory), 10, &number);
}

static int rank(const char *name)
{
	if (!strcmp(name, "."))
		return 0;
	return strcmp(name, "..") ? 2 : 1;
}

static int by_order(const void *a, const void *b)
{
	const struct dir_entry *x = a, *y = b;

	return rank(x->name) != rank(y->name) ? rank(x->name) - rank(y->name) : piece_compare_natural(x->name, y->name);
}

bool procfs_lists(struct engine *e, const char *directory, const char *entry)
{
	return is_of_host(directory) ? entry[0] == '.' : !is_filtered(directory) || is_shown(e, directory, entry);
}

int procfs_arrange(struct engine *e, const char *name, struct dir_entry *entries, size_t *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++)
		if (procfs_lists(e, name, entries[i].name))
			entries[kept++] = entries[i];
	*n = kept;
	if (kept)
		qsort(entries, kept, sizeof(*entries), by_order);
	return 0;
}

/* ---- identities ---- */

int procfs_identify(struct engine *e, uint64_t dev, uint64_t ino, struct procfs_identity *ret)
{
	struct inode *inode;
	uint64_t shown;

	inode = inode_get(&e->inodes, dev, ino);
	if (!inode)
		return -ENOMEM;
	shown = inodes_device(&e->inodes, dev);
	*ret = (struct procfs_identity){ major(shown), minor(shown), inode_number(inode) };
	return 0;
}

int procfs_identify_device(struct engine *e, uint64_t dev, struct procfs_identity *ret)
{
	uint64_t shown = inodes_device(&e->inodes, dev);

	*ret = (struct procfs_identity){ .major = major(shown), .minor = minor(shown) };
	return 0;
}
