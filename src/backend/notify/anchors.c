/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where in a file the places of an order are (engine/sched/order.h): functions by its symbols, source lines by its debug information. What a file
 * does not have is no error: another one may.
 */
#include "backend/notify/points.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "engine/sched/order.h"

struct finder {
	Dwfl_Module *module;
	Elf *elf;
	GElf_Addr bias;
	struct code_module *to;
	int error;
};

static void end_dwfl(Dwfl **dwfl)
{
	if (*dwfl)
		dwfl_end(*dwfl);
}

/* The offset in the file and the byte there. */
static bool locate(const struct finder *f, GElf_Addr address, struct insn_place *ret)
{
	size_t n, size;
	GElf_Phdr header;
	const char *bytes = elf_rawfile(f->elf, &size);
	bool repeats;

	if (!bytes || elf_getphdrnum(f->elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(f->elf, (int)i, &header) || header.p_type != PT_LOAD || !(header.p_flags & PF_X) || address < header.p_vaddr ||
		    address - header.p_vaddr >= header.p_filesz)
			continue;
		ret->offset = header.p_offset + (address - header.p_vaddr);
		if (ret->offset >= size || !insn_is_steppable((const uint8_t *)bytes + ret->offset, size - ret->offset, &repeats))
			return false;
		ret->original = (uint8_t)bytes[ret->offset];
		return true;
	}
	return false;
}

static void add(struct finder *f, GElf_Addr address, size_t anchor)
{
	struct code_module *m = f->to;
	struct code_anchor *grown;
	struct insn_place place;

	if (!locate(f, address - f->bias, &place))
		return;
	for (size_t i = 0; i < m->n_anchors; i++) {
		if (m->anchors[i].place.offset != place.offset)
			continue;
		m->anchors[i].bits |= 1ull << anchor;
		return;
	}
	grown = reallocarray(m->anchors, m->n_anchors + 1, sizeof(*grown));
	if (!grown) {
		f->error = -ENOMEM;
		return;
	}
	m->anchors = grown;
	m->anchors[m->n_anchors++] = (struct code_anchor){ place, 1ull << anchor };
}

/* Without the symbol's version. */
static bool is_named(const char *symbol, const char *name)
{
	size_t n = symbol ? strcspn(symbol, "@") : 0;

	return n && strlen(name) == n && !strncmp(symbol, name, n);
}

static void find_function(struct finder *f, const char *name, size_t anchor)
{
	int n = dwfl_module_getsymtab(f->module);
	GElf_Addr address;
	GElf_Word section;
	GElf_Sym symbol;

	for (int i = 1; i < n; i++) {
		const char *text = dwfl_module_getsym_info(f->module, i, &symbol, &address, &section, NULL, NULL);

		if (is_named(text, name) && GELF_ST_TYPE(symbol.st_info) == STT_FUNC && section != SHN_UNDEF)
			add(f, address, anchor);
	}
}

/* "file.c:42": the first instruction of each stretch of code that is of this line. */
static void find_source(struct finder *f, const char *text, size_t anchor)
{
	char file[ORDER_PLACE_SIZE];
	const char *colon = strrchr(text, ':');
	Dwfl_Line **lines = NULL;
	Dwarf_Addr address;
	uint64_t number;
	size_t n = 0;

	if (!colon || parse_u64(colon + 1, &number) < 0)
		return;
	(void)snprintf(file, sizeof(file), "%.*s", (int)(colon - text), text);
	if (dwfl_module_getsrc_file(f->module, file, (int)number, 0, &lines, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		int line = 0;

		if (dwfl_lineinfo(lines[i], &address, &line, NULL, NULL, NULL) && line == (int)number)
			add(f, address, anchor);
	}
	free(lines);
}

static void find_all(struct finder *f, const struct order_spec *order)
{
	for (size_t i = 0; i < order->n_anchors; i++) {
		if (order->anchors[i].kind == ANCHOR_FUNCTION)
			find_function(f, order->anchors[i].place, i);
		else if (order->anchors[i].kind == ANCHOR_SOURCE)
			find_source(f, order->anchors[i].place, i);
	}
}

int anchors_of_file(const struct order_spec *order, int fd, const char *path, struct code_module *to)
{
	static char *no_path = NULL;
	static const Dwfl_Callbacks callbacks = {
		.section_address = dwfl_offline_section_address,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_path,
	};
	_cleanup_(end_dwfl) Dwfl *dwfl = dwfl_begin(&callbacks);
	struct finder f = { .to = to };
	int copy;

	if (!dwfl)
		return -ENOMEM;
	copy = dup(fd);
	if (copy < 0)
		return -errno;
	dwfl_report_begin(dwfl);
	f.module = dwfl_report_offline(dwfl, path, path, copy);
	if (!f.module) {
		(void)close(copy);
		return 0;
	}
	if (dwfl_report_end(dwfl, NULL, NULL) != 0)
		return 0;
	f.elf = dwfl_module_getelf(f.module, &f.bias);
	if (f.elf)
		find_all(&f, order);
	return f.error;
}
