/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fresh program image, stopped before its first instruction: the kernel's random bytes for it are overwritten, and
 * the vDSO's functions are redirected to system calls. Where the kernel refuses that (CONFIG_PROC_MEM_NO_FORCE and the like),
 * the vDSO is hidden from the program instead; the C library finds it by the auxiliary vector only.
 */
#include "backend/notify/notify.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

#include "backend/notify/inline.h"
#include "backend/notify/points.h"
#include "backend/notify/vdso.h"
#include "base/cleanup.h"
#include "base/fd.h"

enum { AUXV_MAX = 64, PAGE = 4096, VDSO_SIZE = 2 * PAGE };

struct auxv {
	uint64_t random, vdso, linker; /* addresses, 0 when missing */
	size_t n;
	Elf64_auxv_t entries[AUXV_MAX];
};

static int read_auxv(struct notify *n, pid_t tid, struct auxv *auxv)
{
	_cleanup_close_ int fd = -1;
	ssize_t len;
	size_t i;

	fd = procfs_open(n, tid, "auxv", O_RDONLY);
	if (fd < 0)
		return fd;
	len = fd_read_full(fd, auxv->entries, sizeof(auxv->entries));
	if (len < 0)
		return (int)len;
	auxv->n = (size_t)len / sizeof(auxv->entries[0]);
	for (i = 0; i < auxv->n && auxv->entries[i].a_type != AT_NULL; i++) {
		if (auxv->entries[i].a_type == AT_RANDOM)
			auxv->random = auxv->entries[i].a_un.a_val;
		else if (auxv->entries[i].a_type == AT_SYSINFO_EHDR)
			auxv->vdso = auxv->entries[i].a_un.a_val;
		else if (auxv->entries[i].a_type == AT_BASE)
			auxv->linker = auxv->entries[i].a_un.a_val;
	}
	auxv->n = i;
	return 0;
}

static int patch_vdso(struct notify *n, const struct notify_task *t, uint64_t base, const struct vdso_image *image)
{
	_cleanup_free_ unsigned char *now = NULL;
	int r;

	now = malloc(image->size);
	if (!now)
		return -ENOMEM;
	r = notify_read(&n->guest, t->number, base + image->offset, now, image->size);
	if (r < 0)
		return r;
	if (memcmp(now, image->before, image->size) != 0)
		return -ENOEXEC; /* not the image we know */
	return memory_force_write(n, t->tid, base + image->offset, image->after, image->size);
}

/*
 * The address of the auxiliary vector on the fresh stack: above argc, the arguments and the environment, each of which ends with a null. It
 * is read up to the ends of pages, as the next one may be none.
 */
static int find_stack_auxv(struct notify *n, const struct notify_task *t, uint64_t *ret_addr)
{
	struct user_regs_struct regs;
	uint64_t addr, words[64];
	size_t i, count;
	int nulls = 0, r;

	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs) < 0)
		return -errno;
	for (addr = regs.rsp + sizeof(words[0]); nulls < 2; addr += i * sizeof(words[0])) {
		count = (PAGE - addr % PAGE) / sizeof(words[0]);
		count = count < ARRAY_SIZE(words) ? count : ARRAY_SIZE(words);
		r = notify_read(&n->guest, t->number, addr, words, count * sizeof(words[0]));
		if (r < 0)
			return r;
		for (i = 0; i < count && nulls < 2; i++)
			nulls += words[i] == 0;
	}
	*ret_addr = addr;
	return 0;
}

static int hide_vdso(struct notify *n, const struct notify_task *t, const struct auxv *auxv)
{
	Elf64_auxv_t entry;
	uint64_t addr = 0;
	size_t i;
	int r;

	r = find_stack_auxv(n, t, &addr);
	for (i = 0; r == 0 && i < auxv->n; i++, addr += sizeof(entry)) {
		r = notify_read(&n->guest, t->number, addr, &entry, sizeof(entry));
		if (r < 0 || entry.a_type != AT_SYSINFO_EHDR)
			continue;
		entry.a_type = AT_IGNORE;
		return notify_write(&n->guest, t->number, addr, &entry, sizeof(entry));
	}
	return r < 0 ? r : -ENOENT;
}

/* Which processor the program is told to run on. */
static int set_hwcap(struct notify *n, const struct notify_task *t, const struct auxv *auxv, const struct exec_image *image)
{
	Elf64_auxv_t entry;
	uint64_t addr = 0;
	int r;

	r = find_stack_auxv(n, t, &addr);
	for (size_t i = 0; r == 0 && i < auxv->n; i++, addr += sizeof(entry)) {
		entry = auxv->entries[i];
		if (entry.a_type == AT_HWCAP)
			entry.a_un.a_val = image->hwcap;
		else if (entry.a_type == AT_HWCAP2)
			entry.a_un.a_val = image->hwcap2;
		else
			continue;
		r = notify_write(&n->guest, t->number, addr, &entry, sizeof(entry));
	}
	return r;
}

/* Clocks from the page: the code that maps it is part of the image. 1: done, 0: not possible here. */
static int use_clock_page(struct notify *n, const struct notify_task *t, uint64_t base)
{
	int r;

	if (!n->vdso_page)
		return 0;
	r = patch_vdso(n, t, base, n->vdso_page);
	if (r < 0)
		return r == -ESRCH ? r : 0;
	r = clockpage_map(n, t, base + n->vdso_page->map_page);
	if (r != 0)
		return r;
	/* no page: back to the kernel's own image, which the caller expects */
	return memory_force_write(n, t->tid, base + n->vdso_page->offset, n->vdso_page->before, n->vdso_page->size);
}

static int redirect_vdso(struct notify *n, const struct notify_task *t, const struct auxv *auxv, bool *ret_page)
{
	int r;

	r = use_clock_page(n, t, auxv->vdso);
	*ret_page = r > 0;
	if (r != 0)
		return r < 0 ? r : 0;
	if (!n->vdso)
		n->vdso = vdso_new(VDSO_CALLS);
	r = n->vdso ? patch_vdso(n, t, auxv->vdso, n->vdso) : -errno;
	if (r == 0 || r == -ESRCH || r == -ENOMEM)
		return r;
	r = hide_vdso(n, t, auxv);
	if (r == 0 || r == -ESRCH)
		return r;
	n->guest.abilities &= ~(unsigned)GUEST_CAN_PATCH;
	return 0;
}

int notify_exec_setup(struct guest *g, int task, const struct exec_image *image, struct code_found *ret_found)
{
	const struct notify_task *t = notify_find(g, task);
	struct inline_image fresh = { .processor = image->processor };
	struct auxv auxv = { 0 };
	int r;

	if (!t)
		return -ESRCH;
	r = read_auxv(notify_of(g), t->tid, &auxv);
	if (r == 0 && auxv.random)
		r = notify_write(g, task, auxv.random, image->random, sizeof(image->random));
	if (r == 0 && image->set_hwcap)
		r = set_hwcap(notify_of(g), t, &auxv, image);
	if (auxv.vdso) {
		t->process->code->vdso = auxv.vdso;
		t->process->code->vdso_end = auxv.vdso + VDSO_SIZE;
	}
	if (r == 0 && auxv.vdso)
		r = redirect_vdso(notify_of(g), t, &auxv, &fresh.has_clock);
	fresh.linker = fresh.processor ? auxv.linker : 0;
	if (r == 0)
		r = text_replace_fresh(notify_of(g), t, &fresh, ret_found);
	if (r == 0 && code_places_are_wanted(notify_of(g), t))
		r = code_places_put(notify_of(g), t, 0, UINT64_MAX);
	return r;
}
