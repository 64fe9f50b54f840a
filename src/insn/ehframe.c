/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *	.eh_frame:	record*		length(4) [length(8)] id(4) body
 *	CIE (id 0):	version augmentation-string code-align data-align return-register [z-length augmentation-data]
 *	FDE:		id = distance back to its CIE; pc-begin pc-range [z-length lsda]
 *
 * Pointers are encoded as the CIE says (DW_EH_PE_*).
 */
#include "insn/ehframe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_RELATION = 0x70,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

/* A bounded reader. Once it has failed every read gives zero and `bad` stays. */
struct reader {
	const uint8_t *at, *end;
	uint64_t vaddr; /* of `at` */
	bool bad;
};

static uint64_t read_fixed(struct reader *r, size_t len)
{
	uint64_t value = 0;

	if (r->bad || (size_t)(r->end - r->at) < len) {
		r->bad = true;
		return 0;
	}
	memcpy(&value, r->at, len);
	r->at += len;
	r->vaddr += len;
	return value;
}

static uint64_t read_leb128(struct reader *r, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_fixed(r, 1);
		if (r->bad || shift > 63) {
			r->bad = true;
			return 0;
		}
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~0ull << shift;
	return value;
}

static uint64_t read_value(struct reader *r, unsigned encoding)
{
	switch (encoding & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return read_fixed(r, 8);
	case PE_ULEB128:
		return read_leb128(r, false);
	case PE_SLEB128:
		return read_leb128(r, true);
	case PE_UDATA2:
		return read_fixed(r, 2);
	case PE_SDATA2:
		return (uint64_t)(int16_t)read_fixed(r, 2);
	case PE_UDATA4:
		return read_fixed(r, 4);
	case PE_SDATA4:
		return (uint64_t)(int32_t)read_fixed(r, 4);
	default:
		r->bad = true;
		return 0;
	}
}

/* A pointer; 0 stays 0 (no LSDA). data_base: what DATAREL is relative to. */
static uint64_t read_pointer(struct reader *r, unsigned encoding, uint64_t data_base)
{
	uint64_t place = r->vaddr, value;

	if (encoding == PE_OMIT)
		return 0;
	value = read_value(r, encoding);
	if (value == 0 || r->bad)
		return 0;
	if ((encoding & PE_RELATION) == PE_PCREL)
		return value + place;
	if ((encoding & PE_RELATION) == PE_DATAREL)
		return value + data_base;
	if (encoding & PE_RELATION)
		r->bad = true;
	return value;
}

static bool reader_at(const struct insn_image *image, uint64_t vaddr, uint64_t limit, struct reader *ret)
{
	size_t len;
	const uint8_t *bytes = insn_image_at(image, vaddr, &len);

	if (!bytes)
		return false;
	*ret = (struct reader){ .at = bytes, .end = bytes + (limit < len ? limit : len), .vaddr = vaddr };
	return true;
}

struct cie {
	unsigned pointer_encoding, lsda_encoding;
	bool has_augmentation; /* FDEs have augmentation data */
};

static void read_augmentation(struct reader *r, const char *letters, struct cie *cie)
{
	for (; *letters && !r->bad; letters++) {
		if (*letters == 'R') {
			cie->pointer_encoding = (unsigned)read_fixed(r, 1);
		} else if (*letters == 'L') {
			cie->lsda_encoding = (unsigned)read_fixed(r, 1);
		} else if (*letters == 'P') {
			unsigned encoding = (unsigned)read_fixed(r, 1);

			(void)read_value(r, encoding);
		} else if (*letters != 'S' && *letters != 'B') {
			r->bad = true;
		}
	}
}

static bool read_cie(struct reader r, struct cie *ret)
{
	char letters[8];
	size_t n = 0;
	unsigned version = (unsigned)read_fixed(&r, 1);

	*ret = (struct cie){ .pointer_encoding = PE_ABSPTR, .lsda_encoding = PE_OMIT };
	do {
		letters[n] = (char)read_fixed(&r, 1);
	} while (letters[n] && ++n < sizeof(letters));
	if (r.bad || n == sizeof(letters))
		return false;
	(void)read_leb128(&r, false);
	(void)read_leb128(&r, true);
	if (version == 1)
		(void)read_fixed(&r, 1);
	else
		(void)read_leb128(&r, false);
	if (letters[0] == '\0')
		return !r.bad;
	if (letters[0] != 'z')
		return false;
	ret->has_augmentation = true;
	(void)read_leb128(&r, false);
	read_augmentation(&r, letters + 1, ret);
	return !r.bad;
}

static bool read_fde(struct reader r, const struct cie *cie, struct insn_function *ret)
{
	uint64_t size;

	*ret = (struct insn_function){ .start = read_pointer(&r, cie->pointer_encoding, 0) };
	size = read_value(&r, cie->pointer_encoding & 0x0f);
	if (r.bad || __builtin_add_overflow(ret->start, size, &ret->end) || size == 0)
		return false;
	if (cie->has_augmentation) {
		(void)read_leb128(&r, false);
		ret->lsda = read_pointer(&r, cie->lsda_encoding, 0);
	}
	return !r.bad;
}

struct list {
	struct insn_function *items;
	size_t count, room;
};

static int list_add(struct list *list, const struct insn_function *item)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 256;
		struct insn_function *grown = reallocarray(list->items, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->items = grown;
		list->room = room;
	}
	list->items[list->count++] = *item;
	return 0;
}

/* One record: 1 and the reader behind it, 0 at the end of the table, -ENOMEM. */
static int read_record(const struct reader *table, struct reader *r, const struct insn_image *image, struct list *list)
{
	struct reader body, at_cie;
	struct insn_function function;
	struct cie cie;
	uint64_t length = read_fixed(r, 4), id;
	const uint8_t *id_at;
	size_t len;
	int e;

	if (length == 0xffffffff)
		length = read_fixed(r, 8);
	if (r->bad || length < 4 || length > (uint64_t)(r->end - r->at))
		return 0;
	body = (struct reader){ .at = r->at, .end = r->at + length, .vaddr = r->vaddr };
	r->at += length;
	r->vaddr += length;

	id_at = body.at;
	id = read_fixed(&body, 4);
	if (id == 0 || id > (uint64_t)(id_at - table->at))
		return 1;
	/* The CIE begins with its own length and zero id. */
	at_cie = (struct reader){ .at = id_at - id, .end = r->end };
	len = read_fixed(&at_cie, 4);
	if (len == 0xffffffff)
		len = read_fixed(&at_cie, 8);
	if (at_cie.bad || len > (size_t)(at_cie.end - at_cie.at))
		return 1;
	at_cie.end = at_cie.at + len;
	if (read_fixed(&at_cie, 4) != 0 || !read_cie(at_cie, &cie) || !read_fde(body, &cie, &function))
		return 1;
	if (!insn_image_is_code(image, function.start) || !insn_image_is_code(image, function.end - 1))
		return 1;
	e = list_add(list, &function);
	return e < 0 ? e : 1;
}

static int compare_functions(const void *a, const void *b)
{
	const struct insn_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static void drop_overlaps(struct list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		if (kept == 0 || list->items[i].start >= list->items[kept - 1].end)
			list->items[kept++] = list->items[i];
	list->count = kept;
}

/* Where the table lies: the section's address, or what the header for the unwinder points to. */
static bool find_table(const struct insn_image *image, struct reader *ret)
{
	struct reader header;
	unsigned encoding;
	uint64_t address;

	if (image->eh_frame)
		return reader_at(image, image->eh_frame, image->eh_frame_size, ret);
	if (!image->eh_frame_hdr || !reader_at(image, image->eh_frame_hdr, UINT64_MAX, &header))
		return false;
	if (read_fixed(&header, 1) != 1)
		return false;
	encoding = (unsigned)read_fixed(&header, 1);
	(void)read_fixed(&header, 2);
	address = read_pointer(&header, encoding, image->eh_frame_hdr);
	return !header.bad && address && reader_at(image, address, UINT64_MAX, ret);
}

int insn_ehframe_load(const struct insn_image *image, struct insn_function **ret, size_t *ret_count)
{
	struct list list = { 0 };
	struct reader table, r;
	int more;

	if (find_table(image, &table)) {
		r = table;
		do {
			more = read_record(&table, &r, image, &list);
		} while (more > 0);
		if (more < 0) {
			free(list.items);
			return more;
		}
	}
	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare_functions);
	drop_overlaps(&list);
	*ret = list.items;
	*ret_count = list.count;
	return 0;
}

int insn_ehframe_landing_pads(const struct insn_image *image, const struct insn_function *function,
			      int (*fn)(void *arg, uint64_t vaddr), void *arg)
{
	struct reader r;
	unsigned base_encoding, type_encoding, site_encoding;
	uint64_t base = function->start, length;
	int e;

	if (!function->lsda || !reader_at(image, function->lsda, UINT64_MAX, &r))
		return 0;
	base_encoding = (unsigned)read_fixed(&r, 1);
	if (base_encoding != PE_OMIT)
		base = read_pointer(&r, base_encoding, 0);
	type_encoding = (unsigned)read_fixed(&r, 1);
	if (type_encoding != PE_OMIT)
		(void)read_leb128(&r, false);
	site_encoding = (unsigned)read_fixed(&r, 1);
	length = read_leb128(&r, false);
	if (r.bad || length > (uint64_t)(r.end - r.at))
		return 0;
	r.end = r.at + length;
	while (r.at < r.end && !r.bad) {
		uint64_t pad;

		(void)read_value(&r, site_encoding);
		(void)read_value(&r, site_encoding);
		pad = read_value(&r, site_encoding);
		(void)read_leb128(&r, false);
		if (r.bad || pad == 0)
			continue;
		e = fn(arg, base + pad);
		if (e)
			return e;
	}
	return 0;
}
