/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: mappings are the kernel's, which lays them out the same each time; what shows the host's memory is answered here. */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/calls/handlers.h"
#include "engine/proc/machine.h"
#include "engine/files/paths.h"

static int fault_or(struct verdict *v, int r, int64_t value)
{
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, value);
}

/* ---- mappings ---- */

/* A file that is mapped shared and writable changes without a call: taken as changed now. */
static int note_shared_file(struct engine *e, struct task *t)
{
	const struct fd_info *info;
	int r;

	r = fdtable_info(e, t, (int)t->call.args[4], &info);
	if (r < 0)
		return r == -EBADF ? 0 : r;
	return info->kind == FD_FILE && (info->open_flags & O_ACCMODE) == O_RDWR ? file_changed(e, info->dev, info->ino) : 0;
}

/* Memory becomes executable: its instructions are looked at before anybody runs them. */
static bool makes_code(const struct engine *e, uint32_t prot)
{
	return prot & PROT_EXEC && e->g->ops->code_mapped &&
	       (!e->options.keep_instructions || e->options.chaos.preempt == PREEMPT_FUNCTIONS);
}

static int note_code(struct engine *e, struct task *t, const struct code_mapping *mapping)
{
	struct code_found found = { 0 };
	int r;

	r = e->g->ops->code_mapped(e->g, t->id, mapping, &found);
	if (r == 0)
		trap_note_code(e, &found);
	return r;
}

static bool is_shared(uint32_t flags)
{
	return (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;
}

/* The kernel has mapped code. */
static int code_is_mapped(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	struct code_mapping mapping = {
		.address = (uint64_t)t->call.result,
		.len = a[1],
		.handle = -1,
		.offset = a[5],
		.shared = is_shared((uint32_t)a[3]),
		.writable = a[2] & PROT_WRITE,
	};
	int r;

	v->kind = VERDICT_GO;
	if (t->call.result < 0 && t->call.result > -MACHINE_PAGE)
		return 0;
	if (!(a[3] & MAP_ANONYMOUS))
		mapping.handle = e->g->ops->fd_borrow(e->g, t->id, (int)a[4]);
	r = note_code(e, t, &mapping);
	if (mapping.handle >= 0)
		e->g->ops->handle_release(e->g, mapping.handle);
	return r;
}

/*
 * Nobody maps memory below mmap_min_addr without CAP_SYS_RAWIO over the host (security/commoncap.c: cap_mmap_addr), whose the number is,
 * and with the caller's rights the guest would have that. Addresses that are wrong in themselves, as of part of a page, are for the kernel
 * to refuse.
 */
static bool is_too_low(uint64_t address)
{
	return address < MACHINE_LOWEST_ADDRESS && address % MACHINE_PAGE == 0;
}

/* A descriptor that is none, or one of O_PATH, is refused first. */
static bool has_source(struct engine *e, struct task *t)
{
	const uint64_t *a = t->call.args;
	const struct fd_info *info;

	if (a[3] & MAP_ANONYMOUS)
		return true;
	return a[5] % MACHINE_PAGE == 0 && fdtable_info(e, t, (int)a[4], &info) == 0 && !(info->open_flags & O_PATH);
}

static bool maps_too_low(struct engine *e, struct task *t)
{
	const uint64_t *a = t->call.args;

	return a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE) && a[3] & MAP_TYPE && a[1] && is_too_low(a[0]) && has_source(e, t);
}

int handle_mem_mmap(struct engine *e, struct task *t, struct verdict *v)
{
	uint32_t prot = (uint32_t)t->call.args[2], flags = (uint32_t)t->call.args[3];
	int r = 0;

	if (t->call.done)
		return code_is_mapped(e, t, v);
	if (maps_too_low(e, t))
		return verdict_errno(v, EPERM);
	if (is_shared(flags) && prot & PROT_WRITE && !(flags & MAP_ANONYMOUS))
		r = note_shared_file(e, t);
	if (r < 0)
		return r;
	return makes_code(e, prot) ? verdict_hook(v) : verdict_continue(v);
}

int handle_mem_mremap(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	bool keeps = a[3] & MREMAP_DONTUNMAP && a[1] == a[2];

	if (a[3] == (MREMAP_MAYMOVE | MREMAP_FIXED | (keeps ? MREMAP_DONTUNMAP : 0)) && a[0] % MACHINE_PAGE == 0 && a[2] && is_too_low(a[4]))
		return verdict_errno(v, EPERM);
	return handle_plain(e, t, v);
}

/* Of an object that does not exist, too, which only the kernel knows. */
int handle_mem_shmat(struct engine *e, struct task *t, struct verdict *v)
{
	uint64_t address = t->call.args[1], flags = t->call.args[2], there = flags & SHM_RND ? address - address % MACHINE_PAGE : address;

	if (address && is_too_low(there) && (there || !(flags & SHM_REMAP)))
		return verdict_errno(v, EPERM);
	return handle_plain(e, t, v);
}

/* Only with PROT_EXEC does it come here. */
int handle_mem_mprotect(struct engine *e, struct task *t, struct verdict *v)
{
	struct code_mapping mapping = { .address = t->call.args[0], .len = t->call.args[1], .handle = -1, .writable = true };

	if (!t->call.done)
		return makes_code(e, (uint32_t)t->call.args[2]) ? verdict_hook(v) : verdict_continue(v);
	v->kind = VERDICT_GO;
	return t->call.result == 0 ? note_code(e, t, &mapping) : 0;
}

/* ---- residency and advice ---- */

/* The kernel says what is wrong with the range; all of it is resident. */
int handle_mem_mincore(struct engine *e, struct task *t, struct verdict *v)
{
	unsigned char resident[MACHINE_PAGE];
	uint64_t pages = (t->call.args[1] + MACHINE_PAGE - 1) / MACHINE_PAGE, done = 0, n;
	int r = 0;

	if (!t->call.done)
		return verdict_hook(v);
	v->kind = VERDICT_GO;
	if (t->call.result != 0)
		return 0;
	memset(resident, 1, sizeof(resident));
	for (; r == 0 && done < pages; done += n) {
		n = pages - done < sizeof(resident) ? pages - done : sizeof(resident);
		r = guest_write(e, t, t->call.args[2] + done, resident, n);
	}
	return r == -EFAULT ? 0 : r;
}

enum advice_action { ADVICE_KERNEL = 1, ADVICE_IGNORE, ADVICE_EPERM };

/* Not listed: EINVAL, as on kernels that do not know it; libraries go on without. */
static const unsigned char advice_actions[] = {
	[MADV_NORMAL] = ADVICE_KERNEL,
	[MADV_RANDOM] = ADVICE_KERNEL,
	[MADV_SEQUENTIAL] = ADVICE_KERNEL,
	[MADV_WILLNEED] = ADVICE_KERNEL,
	[MADV_DONTNEED] = ADVICE_KERNEL, /* the pages are zero afterwards, at once */
	[MADV_FREE] = ADVICE_IGNORE,     /* when they become zero would be the host's choice: never */
	[MADV_REMOVE] = ADVICE_KERNEL,
	[MADV_DONTFORK] = ADVICE_KERNEL,
	[MADV_DOFORK] = ADVICE_KERNEL,
	[MADV_MERGEABLE] = ADVICE_IGNORE,
	[MADV_UNMERGEABLE] = ADVICE_IGNORE,
	[MADV_HUGEPAGE] = ADVICE_IGNORE,
	[MADV_NOHUGEPAGE] = ADVICE_IGNORE,
	[MADV_DONTDUMP] = ADVICE_KERNEL,
	[MADV_DODUMP] = ADVICE_KERNEL,
	[MADV_WIPEONFORK] = ADVICE_KERNEL,
	[MADV_KEEPONFORK] = ADVICE_KERNEL,
	[MADV_COLD] = ADVICE_IGNORE,
	[MADV_PAGEOUT] = ADVICE_IGNORE,
	[MADV_POPULATE_READ] = ADVICE_KERNEL,
	[MADV_POPULATE_WRITE] = ADVICE_KERNEL,
	[MADV_HWPOISON] = ADVICE_EPERM,
	[101 /* MADV_SOFT_OFFLINE */] = ADVICE_EPERM,
};

/* Advice without effect: what is wrong with the range is said all the same. */
static int ignore_advice(struct engine *e, struct task *t, struct verdict *v)
{
	uint64_t addr = t->call.args[0], len;
	int r = 1;

	if (addr % MACHINE_PAGE || __builtin_add_overflow(t->call.args[1], MACHINE_PAGE - 1, &len))
		return verdict_errno(v, EINVAL);
	len -= len % MACHINE_PAGE;
	if (addr + len < addr)
		return verdict_errno(v, EINVAL);
	if (len && e->g->ops->memory_mapped)
		r = e->g->ops->memory_mapped(e->g, t->id, addr, len);
	return r < 0 ? r : verdict_errno(v, r ? 0 : ENOMEM);
}

int handle_mem_madvise(struct engine *e, struct task *t, struct verdict *v)
{
	uint32_t advice = (uint32_t)t->call.args[2];

	switch (advice < ARRAY_SIZE(advice_actions) ? advice_actions[advice] : 0) {
	case ADVICE_KERNEL:
		return verdict_continue(v);
	case ADVICE_IGNORE:
		return ignore_advice(e, t, v);
	case ADVICE_EPERM:
		return verdict_errno(v, EPERM);
	default:
		return verdict_errno(v, EINVAL);
	}
}

/* ---- barriers ---- */

/* One task runs at a time, and changing tasks orders memory: a barrier is done as soon as it is asked for. */
int handle_mem_membarrier(struct engine *e, struct task *t, struct verdict *v)
{
	const int expedited[] = { MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE };
	const int known = MEMBARRIER_CMD_GLOBAL | MEMBARRIER_CMD_GLOBAL_EXPEDITED |
			  MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED |
			  MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED | MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE |
			  MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
	unsigned *registered = &t->process->traits.membarrier;
	int command = (int)t->call.args[0];

	(void)e;
	if ((uint32_t)t->call.args[1])
		return verdict_errno(v, EINVAL);
	if (command == MEMBARRIER_CMD_QUERY)
		return verdict_return(v, known);
	if (command < 0 || command & ~known || command & (command - 1))
		return verdict_errno(v, EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(expedited); i++) {
		/* the command to register for it is the next bit */
		if (command == expedited[i] && !(*registered & (unsigned)expedited[i] << 1))
			return verdict_errno(v, EPERM);
	}
	*registered |= (unsigned)command;
	return verdict_return(v, 0);
}

/* ---- memory nodes: there is one, number 0 ---- */

enum { MODE_FLAGS = 0xe000, NODE_BYTES = 8 };

/* The first word of a set of nodes; only node 0 exists. 0, -EINVAL, -EFAULT. */
static int read_nodes(struct engine *e, struct task *t, uint64_t addr, uint64_t max, uint64_t *ret)
{
	*ret = 0;
	if (!addr || max <= 1)
		return 0;
	return guest_read(e, t, addr, ret, NODE_BYTES);
}

static int set_policy(struct engine *e, struct task *t, int mode, uint64_t nodes_addr, uint64_t max, bool keep,
		      struct verdict *v)
{
	int plain = mode & ~MODE_FLAGS, r;
	uint64_t nodes;

	if (mode < 0 || plain > MPOL_LOCAL)
		return verdict_errno(v, EINVAL);
	r = read_nodes(e, t, nodes_addr, max, &nodes);
	if (r < 0)
		return fault_or(v, r, 0);
	if (plain == MPOL_DEFAULT || plain == MPOL_LOCAL ? nodes != 0 : plain != MPOL_PREFERRED && !(nodes & 1))
		return verdict_errno(v, EINVAL);
	if (keep) {
		t->traits.memory_policy = mode;
		t->traits.memory_nodes = nodes & 1;
	}
	return verdict_return(v, 0);
}

int handle_mem_numa(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;

	if (!strcmp(t->call.row->name, "set_mempolicy"))
		return set_policy(e, t, (int)a[0], a[1], a[2], true, v);
	if (!strcmp(t->call.row->name, "mbind"))
		return a[0] % MACHINE_PAGE ? verdict_errno(v, EINVAL) : set_policy(e, t, (int)a[2], a[3], a[4], false, v);
	return verdict_return(v, 0); /* nothing to move, and no other node to prefer */
}

int handle_mem_get_mempolicy(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args, flags = a[4];
	int32_t mode = flags ? 0 : t->traits.memory_policy;
	uint64_t nodes = flags & MPOL_F_MEMS_ALLOWED ? 1 : flags ? 0 : t->traits.memory_nodes, zero = 0;
	int r = 0;

	if (flags & ~(uint64_t)(MPOL_F_NODE | MPOL_F_ADDR | MPOL_F_MEMS_ALLOWED))
		return verdict_errno(v, EINVAL);
	if (flags & MPOL_F_MEMS_ALLOWED && flags & (MPOL_F_NODE | MPOL_F_ADDR))
		return verdict_errno(v, EINVAL);
	if (!(flags & MPOL_F_ADDR) && a[3])
		return verdict_errno(v, EINVAL);
	if (a[1] && a[2] < 1)
		return verdict_errno(v, EINVAL);
	if (a[0])
		r = guest_write(e, t, a[0], &mode, sizeof(mode));
	for (uint64_t at = 0; r == 0 && a[1] && at * 64 < a[2] - 1 && at < TRAITS_CPU_WORDS; at++)
		r = guest_write(e, t, a[1] + at * NODE_BYTES, at ? &zero : &nodes, NODE_BYTES);
	return fault_or(v, r, 0);
}

/* Every page that exists is on node 0. */
static int put_page_status(struct engine *e, struct task *t, uint64_t pages, uint64_t status, uint64_t i)
{
	uint64_t page;
	int32_t node;
	char byte;
	int r;

	r = guest_read(e, t, pages + i * sizeof(page), &page, sizeof(page));
	if (r < 0)
		return r;
	r = guest_read(e, t, page, &byte, 1);
	if (r < 0 && r != -EFAULT)
		return r;
	node = r; /* 0 or -EFAULT */
	return guest_write(e, t, status + i * sizeof(node), &node, sizeof(node));
}

int handle_mem_move_pages(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t COUNT_MOST = 1 << 20, *a = t->call.args;
	int32_t node = 0;
	int r = 0;

	if ((uint32_t)a[5] & ~(uint32_t)(MPOL_MF_MOVE | MPOL_MF_MOVE_ALL))
		return verdict_errno(v, EINVAL);
	if (a[1] > COUNT_MOST)
		return verdict_errno(v, E2BIG);
	for (uint64_t i = 0; r == 0 && i < a[1]; i++) {
		if (a[3])
			r = guest_read(e, t, a[3] + i * sizeof(node), &node, sizeof(node));
		if (r == 0 && node)
			return verdict_errno(v, ENODEV);
		if (r == 0)
			r = put_page_status(e, t, a[2], a[4], i);
	}
	return fault_or(v, r, 0);
}
