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

#include "backend/notify/inline.h"
#include "backend/notify/points.h"
#include "base/cleanup.h"
#include "insn/store.h"

enum { PAGE = 4096 };

enum written { WRITTEN_NOW, WRITTEN_BEFORE, NOT_WRITTEN };

/* What is being worked on. */
struct text {
	struct notify *n;
	const struct notify_task *t;
	const struct inline_image *image; /* a fresh one; NULL: it is none */
	struct code_found *found;
	int memory_fd;
};

/* Is all of what a jump replaces as the scanner saw it? */
static bool is_unchanged(const struct insn_site *site, const uint8_t *now)
{
	return !memcmp(now, site->bytes, site->length) && !memcmp(now + site->length, site->moved, site->tail) &&
	       !memcmp(now - site->head, site->moved, site->head);
}

/* How many bytes before and from its address on are looked at. */
static size_t patch_head(const struct insn_patch *patch)
{
	return patch->jump || patch->jumps ? patch->site->head : 0;
}

static size_t patch_length(const struct insn_patch *patch)
{
	return patch->jump ? (size_t)(patch->site->length + patch->site->tail) : 1;
}

/* Puts one patch into a copy of the text around it. */
static enum written apply_patch(struct insn_patch *patch, uint8_t *now)
{
	uint8_t *first = now - patch_head(patch);

	patch->jumps = patch->jumps && *first == INSN_JUMP;
	if (*now == INSN_TRAP || patch->jumps)
		return WRITTEN_BEFORE;
	if (*now != patch->original)
		return NOT_WRITTEN;
	patch->jumps = patch->jump && is_unchanged(patch->site, now);
	if (patch->jumps)
		inline_put_jump(first, patch->address - patch->site->head, patch->jump);
	else
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
static void miss(const struct text *text, struct insn_patch *patches, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		patches[i].jumps = false;
		text->found->missed += !(text->n->faulting_kinds >> patches[i].site->kind & 1);
	}
}

/* Patches that are near each other: read and written in one piece, as each request costs as much as all the bytes. */
static void write_near(const struct text *text, struct insn_patch *patches, size_t count)
{
	uint64_t start = patches[0].address - patch_head(&patches[0]);
	size_t len = (size_t)(patches[count - 1].address - start) + patch_length(&patches[count - 1]);
	uint8_t bytes[PAGE + INSN_MAX_LENGTH + 2 * INSN_MOVED_MOST];
	unsigned replaced = 0;

	if (pread(text->memory_fd, bytes, len, (off_t)start) != (ssize_t)len) {
		miss(text, patches, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		enum written written = apply_patch(&patches[i], bytes + (patches[i].address - start));

		replaced += written == WRITTEN_NOW;
		if (written == NOT_WRITTEN)
			miss(text, &patches[i], 1);
	}
	if (replaced && pwrite(text->memory_fd, bytes, len, (off_t)start) != (ssize_t)len)
		miss(text, patches, count);
	else
		text->found->replaced += replaced;
}

/* In the dynamic linker's text: where jumps could go to. The block for them is there before anybody jumps. */
static void find_jumps(const struct text *text, const struct code_area *area, struct insn_patch *patches, size_t count)
{
	struct inline_block block;

	if (!text->image || !inline_begin(&block, text->n, text->memory_fd, text->image, area->start, area->end))
		return;
	for (size_t i = 0; i < count; i++)
		patches[i].jump = inline_add(&block, patches[i].site, patches[i].address);
	if (inline_finish(&block, text->memory_fd, text->t->process->code))
		return;
	for (size_t i = 0; i < count; i++)
		patches[i].jump = 0;
}

static int write_patches(struct text *text, const struct code_area *area, struct insn_patch *patches, size_t count)
{
	size_t near;

	text->memory_fd = procfs_open(text->n, text->t->tid, "mem", O_RDWR);
	if (text->memory_fd < 0)
		return text->memory_fd;
	find_jumps(text, area, patches, count);
	for (size_t i = 0; i < count; i += near) {
		near = count_near(patches + i, count - i);
		write_near(text, patches + i, near);
	}
	cleanup_close(&text->memory_fd);
	return 0;
}

static uint64_t count_unsure(const struct insn_map *map, unsigned kinds, uint64_t offset, uint64_t len)
{
	uint64_t count = 0;

	for (size_t i = insn_map_lower_bound(map, offset); i < map->count && map->sites[i].offset - offset < len; i++)
		count += map->sites[i].trust == INSN_UNSURE && kinds >> map->sites[i].kind & 1;
	return count;
}

static int replace_in(struct text *text, const struct code_area *area, int fd)
{
	_cleanup_free_ struct insn_patch *patches = NULL;
	struct insn_traps *traps = &text->t->process->code->traps;
	uint64_t len = area->end - area->start;
	struct notify *n = text->n;
	const struct insn_map *map;
	int count, r;

	r = insn_store_get(n->code, fd, &map);
	if (r < 0) {
		insn_traps_unmap(traps, area->start, len);
		text->found->missed += r != -ENOEXEC;
		return r == -ENOMEM ? r : 0;
	}
	count = insn_patch_mapping(map, n->kinds, area->offset, len, area->start, &patches);
	if (count < 0)
		return count;
	text->found->unsure += count_unsure(map, n->kinds & ~n->faulting_kinds, area->offset, len);
	if (area->shared) {
		insn_traps_unmap(traps, area->start, len);
		miss(text, patches, (size_t)count);
		return 0;
	}
	for (int i = 0; i < count; i++)
		patches[i].jumps = insn_traps_jumps(traps, patches[i].address - patches[i].site->head);
	r = count > 0 ? write_patches(text, area, patches, (size_t)count) : 0;
	if (r == 0)
		r = insn_traps_map(traps, map, n->kinds, area->offset, len, area->start);
	for (int i = 0; r == 0 && i < count; i++)
		if (patches[i].jumps)
			insn_traps_set_jump(traps, patches[i].address);
	return r;
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

static int replace_in_unknown(struct text *text, const struct code_area *area)
{
	struct insn_traps *traps = &text->t->process->code->traps;
	_cleanup_close_ int fd = -1;

	if (area->path[0] == '[')
		return 0; /* the kernel's own */
	if (area->path[0] != '/' || !strncmp(area->path, "/memfd:", 7) || !strncmp(area->path, "/dev/zero", 9)) {
		insn_traps_unmap(traps, area->start, area->end - area->start);
		text->found->generated = true;
		return 0;
	}
	fd = text_open_file(text->n, text->t, area);
	if (fd < 0) {
		insn_traps_unmap(traps, area->start, area->end - area->start);
		text->found->missed++;
		return 0;
	}
	return replace_in(text, area, fd);
}

static int replace_all(struct text *text, uint64_t start, uint64_t end)
{
	_cleanup_fclose_ FILE *maps = NULL;
	char line[CODE_LINE_SIZE];
	struct code_area area;
	int r;

	if (!text->n->code)
		return 0;
	r = procfs_stream(text->n, text->t->tid, "maps", &maps);
	while (r == 0 && fgets(line, sizeof(line), maps))
		if (text_parse_area(line, &area) && area.exec && area.start < end && area.end > start) {
			text->t->process->code->writable |= area.write;
			r = replace_in_unknown(text, &area);
		}
	return r;
}

int text_replace(struct notify *n, const struct notify_task *t, uint64_t start, uint64_t end, struct code_found *found)
{
	struct text text = { .n = n, .t = t, .found = found };

	return replace_all(&text, start, end);
}

int text_replace_fresh(struct notify *n, const struct notify_task *t, const struct inline_image *image, struct code_found *found)
{
	struct text text = { .n = n, .t = t, .image = image, .found = found };

	return replace_all(&text, 0, UINT64_MAX);
}

int notify_code_mapped(struct guest *g, int task, const struct code_mapping *mapping, struct code_found *ret_found)
{
	struct notify *n = notify_of(g);
	const struct notify_task *t = notify_find(g, task);
	struct code_area area = { .start = mapping->address, .offset = mapping->offset, .shared = mapping->shared };
	struct text text = { .n = n, .t = t, .found = ret_found };
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
		r = replace_all(&text, area.start, area.end);
	else
		r = replace_in(&text, &area, mapping->handle);
	return r == 0 && code_places_are_wanted(n, t) ? code_places_put(n, t, area.start, area.end) : r;
}
