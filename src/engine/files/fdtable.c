/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about descriptors: see fdtable.h. */
#include "engine/files/fdtable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "engine/files/directory.h"
#include "engine/engine_internal.h"

#define FDTABLE_LIMIT 65536 /* numbers above are looked up each time */

struct slot {
	struct fd_info info;
	struct dir_listing *listing;
	char *text;
	size_t text_size;
};

struct fdtable {
	unsigned refs;
	size_t n;
	struct slot **slots; /* by number; NULL: not known */
	struct fd_info scratch; /* for numbers beyond the limit */
};

struct fdtable *fdtable_new(void)
{
	struct fdtable *table;

	table = calloc(1, sizeof(*table));
	if (table)
		table->refs = 1;
	return table;
}

struct fdtable *fdtable_ref(struct fdtable *table)
{
	table->refs++;
	return table;
}

struct fdtable *fdtable_copy(const struct fdtable *table)
{
	struct fdtable *copy;

	copy = fdtable_new();
	if (!copy || !table->n)
		return copy;
	copy->slots = calloc(table->n, sizeof(*copy->slots));
	if (!copy->slots)
		return copy; /* a cache may be empty */
	copy->n = table->n;
	for (size_t i = 0; i < table->n; i++) {
		if (!table->slots[i])
			continue;
		copy->slots[i] = calloc(1, sizeof(**copy->slots));
		if (copy->slots[i])
			copy->slots[i]->info = table->slots[i]->info;
	}
	return copy;
}

void fdtable_unref(struct engine *e, struct fdtable *table)
{
	(void)e;
	if (!table || --table->refs > 0)
		return;
	fdtable_forget_range(table, 0, UINT32_MAX);
	free(table->slots);
	free(table);
}

void fdtable_forget(struct fdtable *table, int fd)
{
	if (fd >= 0)
		fdtable_forget_range(table, (unsigned)fd, (unsigned)fd);
}

void fdtable_forget_range(struct fdtable *table, unsigned first, unsigned last)
{
	for (size_t i = first; i < table->n && i <= last; i++) {
		if (!table->slots[i])
			continue;
		dir_listing_free(table->slots[i]->listing);
		free(table->slots[i]->text);
		free(table->slots[i]);
		table->slots[i] = NULL;
	}
}

/* The place for a number's facts; NULL when it has none (too high, no memory). */
static struct slot **place(struct fdtable *table, int fd)
{
	struct slot **grown;
	size_t n;

	if (fd < 0 || fd >= FDTABLE_LIMIT)
		return NULL;
	if ((size_t)fd >= table->n) {
		n = (size_t)fd + 16;
		grown = realloc(table->slots, n * sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + table->n, 0, (n - table->n) * sizeof(*grown));
		table->slots = grown;
		table->n = n;
	}
	return &table->slots[fd];
}

int fdtable_look(struct engine *e, struct task *t, int fd, struct fd_info *ret_info)
{
	int handle, r;

	handle = e->g->ops->fd_borrow(e->g, t->id, fd);
	if (handle < 0)
		return handle;
	r = e->g->ops->handle_info(e->g, handle, ret_info);
	e->g->ops->handle_release(e->g, handle);
	return r;
}

int fdtable_info(struct engine *e, struct task *t, int fd, const struct fd_info **ret_info)
{
	struct fd_info info;
	struct slot **at;
	int r;

	at = place(t->fds, fd);
	if (at && *at) {
		*ret_info = &(*at)->info;
		return 0;
	}
	r = fdtable_look(e, t, fd, &info);
	if (r < 0)
		return r;
	e->network_used |= info.kind == FD_INET;
	e->terminals_used |= info.kind == FD_TTY && !info.external;
	if (at)
		*at = calloc(1, sizeof(**at));
	if (at && *at) {
		(*at)->info = info;
		*ret_info = &(*at)->info;
	} else {
		t->fds->scratch = info;
		*ret_info = &t->fds->scratch;
	}
	return 0;
}

int fdtable_nonblocking(struct engine *e, struct task *t, int fd)
{
	int handle, flags;

	handle = e->g->ops->fd_borrow(e->g, t->id, fd);
	if (handle < 0)
		return handle;
	flags = e->g->ops->handle_flags(e->g, handle);
	e->g->ops->handle_release(e->g, handle);
	return flags < 0 ? flags : (flags & O_NONBLOCK) != 0;
}

const struct fd_info *fdtable_known(const struct fdtable *table, int fd)
{
	return fd >= 0 && (size_t)fd < table->n && table->slots[fd] ? &table->slots[fd]->info : NULL;
}

struct dir_listing *fdtable_listing(struct fdtable *table, int fd)
{
	struct slot **at = place(table, fd);

	return at && *at ? (*at)->listing : NULL;
}

int fdtable_set_listing(struct fdtable *table, int fd, struct dir_listing *listing)
{
	struct slot **at = place(table, fd);

	if (!at || !*at) {
		dir_listing_free(listing);
		return -ENOMEM;
	}
	dir_listing_free((*at)->listing);
	(*at)->listing = listing;
	return 0;
}

bool fdtable_text(struct fdtable *table, int fd, struct piece *ret)
{
	struct slot **at = place(table, fd);

	if (!at || !*at || !(*at)->text)
		return false;
	*ret = (struct piece){ (*at)->text, (*at)->text_size };
	return true;
}

int fdtable_set_text(struct fdtable *table, int fd, char *text, size_t size)
{
	struct slot **at = place(table, fd);

	if (!at || !*at) {
		free(text);
		return -ENOMEM;
	}
	free((*at)->text);
	(*at)->text = text;
	(*at)->text_size = size;
	return 0;
}

/* 0 with the facts, or NULL when they are kept nowhere. */
static int own_info(struct engine *e, struct task *t, int fd, struct fd_info **ret)
{
	const struct fd_info *info;
	struct slot **at;
	int r;

	*ret = NULL;
	r = fdtable_info(e, t, fd, &info);
	if (r < 0)
		return r;
	at = place(t->fds, fd);
	if (at && *at)
		*ret = &(*at)->info;
	return 0;
}

int fdtable_mark_asks_caller(struct engine *e, struct task *t, int fd)
{
	struct fd_info *info;
	int r = own_info(e, t, fd, &info);

	if (info)
		info->asks_caller = true;
	return r;
}

int fdtable_mark_edge(struct engine *e, struct task *t, int fd)
{
	struct fd_info *info;
	int r = own_info(e, t, fd, &info);

	if (info)
		info->edge = true;
	return r;
}
