/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Breakpoints where functions and basic blocks begin (insn/places.h), in private copies of pages only. An address space gets them when a task of
 * it is first to count places, and from then on in all code that it maps; a fork copies the table with the memory, an exec begins anew.
 * A breakpoint is written where the byte is the file's, or is one already (text that was made executable once more).
 */
#include "backend/notify/points.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/search.h"

int points_init(struct notify *n, const struct backend_options *options)
{
	n->modules = calloc(1, sizeof(*n->modules));
	if (!n->modules)
		return -ENOMEM;
	n->modules->patterns = options->place_modules;
	n->modules->n_patterns = options->n_place_modules;
	n->modules->budget = options->places_budget;
	n->modules->passes = options->passes;
	for (size_t i = 0; options->order && i < options->order->n_anchors; i++)
		if (options->order->anchors[i].kind != ANCHOR_CALL)
			n->modules->order = options->order;
	return 0;
}

void points_deinit(struct notify *n)
{
	if (!n->modules)
		return;
	for (size_t i = 0; i < n->modules->n; i++) {
		insn_places_deinit(&n->modules->items[i].places);
		free(n->modules->items[i].anchors);
	}
	free(n->modules->items);
	free(n->modules);
	n->modules = NULL;
}

static bool is_of_system(const char *path)
{
	static const char *const folders[] = { "/usr/lib", "/usr/bin/", "/usr/sbin/", "/lib", "/bin/", "/sbin/" };

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return true;
	return false;
}

/* What the first process has executed. */
static bool is_program(struct notify *n, const struct notify_task *t, const char *path)
{
	char name[64], exe[4096];
	const struct notify_task *first = tasks_by_number(&n->tasks, 0);
	ssize_t len;

	if (!first || first->process != t->process)
		return false;
	(void)snprintf(name, sizeof(name), "%d/exe", (int)t->tid);
	len = readlinkat(n->proc_fd, name, exe, sizeof(exe) - 1);
	if (len < 0)
		return false;
	exe[len] = '\0';
	return strcmp(exe, path) == 0;
}

static bool is_chosen(struct notify *n, const struct notify_task *t, const char *path)
{
	const struct code_modules *m = n->modules;
	const char *base = strrchr(path, '/');

	if (path[0] != '/')
		return false;
	for (size_t i = 0; i < m->n_patterns; i++)
		if (fnmatch(m->patterns[i], strchr(m->patterns[i], '/') ? path : base + 1, 0) == 0)
			return true;
	return m->n_patterns == 0 && (!is_of_system(path) || is_program(n, t, path));
}

/* What is known of a file from now on. NULL: nothing can be known, or no memory is left. */
static struct code_module *module_of(struct code_modules *m, int fd, const char *path)
{
	struct code_module *grown;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return NULL;
	for (size_t i = 0; i < m->n; i++)
		if (m->items[i].dev == st.st_dev && m->items[i].ino == st.st_ino)
			return &m->items[i];
	grown = reallocarray(m->items, m->n + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	m->items = grown;
	grown[m->n] = (struct code_module){ .dev = st.st_dev, .ino = st.st_ino };
	if (m->order && anchors_of_file(m->order, fd, path, &grown[m->n]) < 0)
		return NULL;
	return &grown[m->n++];
}

static void look_for_places(struct code_module *module, int fd)
{
	if (!module->has_places && insn_places_fd(fd, &module->places) < 0)
		module->places = (struct insn_places){ 0 };
	module->has_places = true;
}

static size_t lower_bound(const struct task_code *code, uint64_t address)
{
	return LOWER_BOUND(code->places, code->n_places, address, address);
}

struct code_place *code_place_find(const struct task_code *code, uint64_t address)
{
	size_t i = lower_bound(code, address);

	return i < code->n_places && code->places[i].address == address ? &code->places[i] : NULL;
}

static void forget(struct task_code *code, uint64_t start, uint64_t end)
{
	size_t first = lower_bound(code, start), last = lower_bound(code, end);

	if (last > first) /* there may be no list at all */
		memmove(code->places + first, code->places + last, (code->n_places - last) * sizeof(*code->places));
	code->n_places -= last - first;
}

static bool write_breakpoint(int memory_fd, uint64_t address, uint8_t original)
{
	const uint8_t byte = BREAKPOINT;
	uint8_t now;

	if (pread(memory_fd, &now, 1, (off_t)address) != 1)
		return false;
	return now == BREAKPOINT || (now == original && pwrite(memory_fd, &byte, 1, (off_t)address) == 1);
}

/* Where it is to be, as the file says, in this mapping; what is outside of the mapping is left out. */
static int put_one(struct notify *n, struct task_code *code, const struct code_area *area, int memory_fd, const struct insn_place *in_file,
		   uint64_t anchors)
{
	uint64_t address = area->start + (in_file->offset - area->offset);
	struct code_place *grown, *place;
	uint8_t original;
	size_t at;

	if (in_file->offset < area->offset || in_file->offset - area->offset >= area->end - area->start)
		return 0;
	place = code_place_find(code, address);
	if (!place) {
		original = insn_traps_jumps(&code->traps, address) ? INSN_JUMP : in_file->original;
		if (!write_breakpoint(memory_fd, address, original))
			return 0;
		grown = code->n_places % PLACES_STEP ? code->places
						     : reallocarray(code->places, code->n_places + PLACES_STEP, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		code->places = grown;
		at = lower_bound(code, address);
		place = &code->places[at];
		memmove(place + 1, place, (code->n_places++ - at) * sizeof(*place));
		*place = (struct code_place){ .address = address, .original = original };
		n->guest.preempt_cost.placed++;
	}
	place->anchors |= anchors;
	place->counted |= !anchors;
	return 0;
}

static int put_into(struct notify *n, const struct notify_task *t, const struct code_area *area, const struct code_module *module)
{
	struct task_code *code = t->process->code;
	_cleanup_close_ int memory_fd = procfs_open(n, t->tid, "mem", O_RDWR);
	int r = memory_fd < 0 ? memory_fd : 0;

	for (size_t i = 0; code->places_wanted && i < module->places.count && r == 0; i++)
		r = put_one(n, code, area, memory_fd, &module->places.items[i], 0);
	for (size_t i = 0; i < module->n_anchors && r == 0; i++)
		r = put_one(n, code, area, memory_fd, &module->anchors[i].place, module->anchors[i].bits);
	return r;
}

static int put_area(struct notify *n, const struct notify_task *t, const struct code_area *area)
{
	struct code_module *module;
	_cleanup_close_ int fd = -1;

	forget(t->process->code, area->start, area->end);
	if (area->shared || !is_chosen(n, t, area->path))
		return 0;
	fd = text_open_file(n, t, area);
	module = fd < 0 ? NULL : module_of(n->modules, fd, area->path);
	if (!module)
		return 0;
	if (t->process->code->places_wanted)
		look_for_places(module, fd);
	return put_into(n, t, area, module);
}

bool code_places_are_wanted(const struct notify *n, const struct notify_task *t)
{
	return t->process->code->places_wanted || n->modules->order;
}

int code_places_put(struct notify *n, const struct notify_task *t, uint64_t start, uint64_t end)
{
	_cleanup_fclose_ FILE *maps = NULL;
	char line[CODE_LINE_SIZE];
	struct code_area area;
	int r;

	r = procfs_stream(n, t->tid, "maps", &maps);
	while (r == 0 && fgets(line, sizeof(line), maps))
		if (text_parse_area(line, &area) && area.exec && area.start < end && area.end > start)
			r = put_area(n, t, &area);
	return r;
}
