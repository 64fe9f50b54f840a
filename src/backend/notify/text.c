/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaces instructions that show the host in a guest's text. Only the task's private copies of pages change: what is mapped shared
 * would change the file. Before each write the byte must be what the scanner saw; text that is otherwise is left alone.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/notify/points.h"
#include "base/cleanup.h"
#include "insn/store.h"

enum { PAGE = 4096 };

enum written { WRITTEN_NOW, WRITTEN_BEFORE, NOT_WRITTEN };

/* Puts one patch into a copy of the text around it. */
static enum written apply_patch(const struct insn_patch *patch, uint8_t *now)
{
	if (*now == INSN_TRAP || (*now == INSN_NEAR_JUMP && patch->site->padding))
		return WRITTEN_BEFORE;
	if (*now != patch->original)
		return NOT_WRITTEN;
	*now = INSN_TRAP;
	return WRITTEN_NOW;
}

/* How many patches from the first on lie within a page's length of it: nothing is touched that would not be by each of them alone. */
static size_t count_near(const struct insn_patch *patches, size_t count)
{
	size_t n = 1;

	while (n < count && patches[n].address - patches[0].address < PAGE)
		n++;
	return n;
}

/* Instructions that could not be replaced, unless they fault wherever they are. */
static void miss(const struct notify *n, const struct insn_patch *patches, size_t count, struct code_found *found)
{
	for (size_t i = 0; i < count; i++)
		found->missed += !(n->faulting_kinds >> patches[i].site->kind & 1);
}

/* Patches that are near each other: read and written in one piece, as each request costs as much as all the bytes. */
static void write_near(const struct notify *n, int memory_fd, const struct insn_patch *patches, size_t count, struct code_found *found)
{
	uint64_t start = patches[0].address;
	size_t len = (size_t)(patches[count - 1].address - start) + 1;
	unsigned replaced = 0;
	uint8_t text[PAGE];

	if (pread(memory_fd, text, len, (off_t)start) != (ssize_t)len) {
		miss(n, patches, count, found);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		enum written written = apply_patch(&patches[i], text + (patches[i].address - start));

		replaced += written == WRITTEN_NOW;
		if (written == NOT_WRITTEN)
			miss(n, &patches[i], 1, found);
	}
	if (replaced && pwrite(memory_fd, text, len, (off_t)start) != (ssize_t)len)
		miss(n, patches, count, found);
	else
		found->replaced += replaced;
}

static int write_patches(struct notify *n, const struct notify_task *t, const struct insn_patch *patches, size_t count,
			 struct code_found *found)
{
	_cleanup_close_ int memory_fd = procfs_open(n, t->tid, "mem", O_RDWR);
	size_t near;

	if (memory_fd < 0)
		return memory_fd;
	for (size_t i = 0; i < count; i += near) {
		near = count_near(patches + i, count - i);
		write_near(n, memory_fd, patches + i, near, found);
	}
	return 0;
}

static uint64_t count_unsure(const struct insn_map *map, unsigned kinds, uint64_t offset, uint64_t len)
{
	uint64_t count = 0;

	for (size_t i = insn_map_lower_bound(map, offset); i < map->count && map->sites[i].offset - offset < len; i++)
		count += map->sites[i].trust == INSN_UNSURE && kinds >> map->sites[i].kind & 1;
	return count;
}

static int replace_in(struct notify *n, const struct notify_task *t, const struct code_area *area, int fd, struct code_found *found)
{
	_cleanup_free_ struct insn_patch *patches = NULL;
	struct insn_traps *traps = &t->process->code->traps;
	uint64_t len = area->end - area->start;
	const struct insn_map *map;
	int count, r;

	r = insn_store_get(n->code, fd, &map);
	if (r < 0) {
		insn_traps_unmap(traps, area->start, len);
		found->missed += r != -ENOEXEC;
		return r == -ENOMEM ? r : 0;
	}
	count = insn_patch_mapping(map, n->kinds, area->offset, len, area->start, &patches);
	if (count < 0)
		return count;
	found->unsure += count_unsure(map, n->kinds & ~n->faulting_kinds, area->offset, len);
	if (area->shared) {
		insn_traps_unmap(traps, area->start, len);
		miss(n, patches, (size_t)count, found);
		return 0;
	}
	r = count > 0 ? write_patches(n, t, patches, (size_t)count, found) : 0;
	return r < 0 ? r : insn_traps_map(traps, map, n->kinds, area->offset, len, area->start);
}

bool text_parse_area(char *line, struct code_area *ret)
{
	char modes[5];
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &ret->start, &ret->end, modes, &ret->offset, &at) != 4)
		return false;
	ret->write = modes[1] == 'w';
	ret->exec = modes[2] == 'x';
	ret->shared = modes[3] == 's';
	ret->path = line + at;
	return true;
}

/*
 * The file of a mapping: exactly, where the kernel lets us (it asks for CAP_SYS_ADMIN), else by its name below the task's root. That
 * it is another file by now is no danger: the bytes are compared.
 */
int text_open_file(const struct notify *n, const struct notify_task *t, const struct code_area *area)
{
	char name[CODE_LINE_SIZE];
	int fd;

	(void)snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, area->start, area->end);
	fd = procfs_open(n, t->tid, name, O_RDONLY | O_NONBLOCK);
	if (fd >= 0)
		return fd;
	(void)snprintf(name, sizeof(name), "root%s", area->path);
	return procfs_open(n, t->tid, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

static int replace_in_unknown(struct notify *n, const struct notify_task *t, const struct code_area *area, struct code_found *found)
{
	_cleanup_close_ int fd = -1;

	if (area->path[0] == '[')
		return 0; /* the kernel's own */
	if (area->path[0] != '/' || !strncmp(area->path, "/memfd:", 7) || !strncmp(area->path, "/dev/zero", 9)) {
		insn_traps_unmap(&t->process->code->traps, area->start, area->end - area->start);
		found->generated = true;
		return 0;
	}
	fd = text_open_file(n, t, area);
	if (fd < 0) {
		insn_traps_unmap(&t->process->code->traps, area->start, area->end - area->start);
		found->missed++;
		return 0;
	}
	return replace_in(n, t, area, fd, found);
}

int text_replace(struct notify *n, const struct notify_task *t, uint64_t start, uint64_t end, struct code_found *found)
{
	_cleanup_fclose_ FILE *maps = NULL;
	char line[CODE_LINE_SIZE];
	struct code_area area;
	int r;

	if (!n->code)
		return 0;
	r = procfs_stream(n, t->tid, "maps", &maps);
	while (r == 0 && fgets(line, sizeof(line), maps))
		if (text_parse_area(line, &area) && area.exec && area.start < end && area.end > start) {
			t->process->code->writable |= area.write;
			r = replace_in_unknown(n, t, &area, found);
		}
	return r;
}

int notify_code_mapped(struct guest *g, int task, const struct code_mapping *mapping, struct code_found *ret_found)
{
	struct notify *n = notify_of(g);
	const struct notify_task *t = notify_find(g, task);
	struct code_area area = { .start = mapping->address, .offset = mapping->offset, .shared = mapping->shared };
	int r;

	*ret_found = (struct code_found){ 0 };
	if (!t)
		return -ESRCH;
	if (!n->code && !code_places_are_wanted(n, t))
		return 0;
	t->process->code->writable |= mapping->writable;
	if (__builtin_add_overflow(mapping->address, (mapping->len + PAGE - 1) / PAGE * PAGE, &area.end))
		return -EFAULT;
	if (mapping->handle < 0 || !n->code)
		r = text_replace(n, t, area.start, area.end, ret_found);
	else
		r = replace_in(n, t, &area, mapping->handle, ret_found);
	return r == 0 && code_places_are_wanted(n, t) ? code_places_put(n, t, area.start, area.end) : r;
}
