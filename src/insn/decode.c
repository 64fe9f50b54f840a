/* SPDX-License-Identifier: BSD-3-Clause */
/* Zydis, reduced to the questions of decode.h. Operands are not decoded: the raw fields are enough, and three times as
 * fast. */
#include "insn/decode.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <string.h>

static const struct {
	ZydisMnemonic mnemonic;
	enum insn_kind kind;
} kinds[] = {
	{ ZYDIS_MNEMONIC_RDTSC, INSN_RDTSC },	{ ZYDIS_MNEMONIC_RDTSCP, INSN_RDTSCP },
	{ ZYDIS_MNEMONIC_CPUID, INSN_CPUID },	{ ZYDIS_MNEMONIC_RDRAND, INSN_RDRAND },
	{ ZYDIS_MNEMONIC_RDSEED, INSN_RDSEED }, { ZYDIS_MNEMONIC_RDPID, INSN_RDPID },
	{ ZYDIS_MNEMONIC_XGETBV, INSN_XGETBV }, { ZYDIS_MNEMONIC_XBEGIN, INSN_XBEGIN },
};

static enum insn_kind kind_of(const ZydisDecodedInstruction *z)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].mnemonic == z->mnemonic)
			return kinds[i].kind;
	return INSN_NONE;
}

static bool ends_flow(ZydisMnemonic mnemonic)
{
	return mnemonic == ZYDIS_MNEMONIC_UD0 || mnemonic == ZYDIS_MNEMONIC_UD1 || mnemonic == ZYDIS_MNEMONIC_UD2 ||
	       mnemonic == ZYDIS_MNEMONIC_HLT || mnemonic == ZYDIS_MNEMONIC_INT3;
}

static enum insn_next flow_of(const ZydisDecodedInstruction *z)
{
	bool direct = z->raw.imm[0].is_relative;

	if (ends_flow(z->mnemonic))
		return INSN_FLOW_END;
	if (z->mnemonic == ZYDIS_MNEMONIC_XBEGIN)
		return INSN_FLOW_BRANCH;
	if (z->meta.category == ZYDIS_CATEGORY_COND_BR)
		return INSN_FLOW_BRANCH;
	/* Zydis counts XABORT as a branch, but outside of a transaction it does nothing. */
	if (z->meta.category == ZYDIS_CATEGORY_UNCOND_BR && z->mnemonic != ZYDIS_MNEMONIC_XABORT)
		return direct ? INSN_FLOW_JUMP : INSN_FLOW_JUMP_INDIRECT;
	if (z->meta.category == ZYDIS_CATEGORY_CALL)
		return direct ? INSN_FLOW_CALL : INSN_FLOW_CALL_INDIRECT;
	if (z->meta.category == ZYDIS_CATEGORY_RET)
		return INSN_FLOW_END;
	return INSN_FLOW_NEXT;
}

static int zydis_decode(const uint8_t *code, size_t len, ZydisDecodedInstruction *z)
{
	ZydisDecoder decoder;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return -EILSEQ;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, ZYAN_NULL, code, len, z)))
		return -EILSEQ;
	return 0;
}

/* The fixed address that the memory operand names, if it names one. */
static bool fixed_address(const ZydisDecodedInstruction *z, uint64_t vaddr, uint64_t *ret)
{
	if (!(z->attributes & ZYDIS_ATTRIB_HAS_MODRM) || z->raw.modrm.mod != 0)
		return false;
	if (z->raw.modrm.rm == 5) {
		*ret = vaddr + z->length + (uint64_t)z->raw.disp.value;
		return true;
	}
	if (z->raw.modrm.rm == 4 && z->raw.sib.base == 5) {
		*ret = (uint64_t)z->raw.disp.value;
		return true;
	}
	return false;
}

/* Whoever is told where a call was made from is told the place itself. */
static bool is_movable(const ZydisDecodedInstruction *z, const struct insn_decoded *d)
{
	return d->flow == INSN_FLOW_NEXT && d->kind == INSN_NONE && z->meta.category != ZYDIS_CATEGORY_SYSCALL &&
	       z->meta.category != ZYDIS_CATEGORY_INTERRUPT;
}

static bool is_computed(const ZydisDecodedInstruction *z)
{
	bool has_sib = z->raw.modrm.mod != 3 && z->raw.modrm.rm == 4;

	return z->raw.modrm.mod == 3 || (has_sib && z->raw.sib.index != 4);
}

int insn_decode(const uint8_t *code, size_t len, uint64_t vaddr, struct insn_decoded *ret)
{
	ZydisDecodedInstruction z;
	int r;

	r = zydis_decode(code, len, &z);
	if (r < 0)
		return r;

	memset(ret, 0, sizeof(*ret));
	ret->length = z.length;
	ret->flow = (uint8_t)flow_of(&z);
	ret->kind = (uint8_t)kind_of(&z);
	ret->is_nop = z.mnemonic == ZYDIS_MNEMONIC_NOP;
	ret->is_computed = ret->flow == INSN_FLOW_JUMP_INDIRECT && is_computed(&z);
	ret->has_target = z.raw.imm[0].is_relative;
	if (ret->has_target)
		ret->target = vaddr + z.length + (uint64_t)z.raw.imm[0].value.s;
	ret->has_address = fixed_address(&z, vaddr, &ret->address);
	ret->distance_at = ret->has_address && z.raw.modrm.rm == 5 ? z.raw.disp.offset : 0;
	ret->is_movable = is_movable(&z, ret);
	return 0;
}

/* The register that ModRM.rm with REX.B names. */
static uint8_t register_operand(const ZydisDecodedInstruction *z)
{
	unsigned high = z->attributes & ZYDIS_ATTRIB_HAS_REX ? z->raw.rex.B : 0;

	return (uint8_t)(z->raw.modrm.rm | high << 3);
}

static uint8_t opcode_position(const ZydisDecodedInstruction *z)
{
	return z->raw.prefix_count;
}

int insn_decode_site(const uint8_t *code, size_t len, uint64_t vaddr, struct insn_site *ret)
{
	ZydisDecodedInstruction z;
	enum insn_kind kind;
	int r;

	r = zydis_decode(code, len, &z);
	if (r < 0)
		return r;
	kind = kind_of(&z);
	if (kind == INSN_NONE)
		return -EILSEQ;

	memset(ret, 0, sizeof(*ret));
	ret->vaddr = vaddr;
	ret->kind = (uint8_t)kind;
	ret->length = z.length;
	ret->opcode_at = opcode_position(&z);
	memcpy(ret->bytes, code, z.length);
	if (kind == INSN_RDRAND || kind == INSN_RDSEED || kind == INSN_RDPID) {
		ret->dest = register_operand(&z);
		ret->width = kind == INSN_RDPID ? 64 : z.operand_width;
	}
	if (kind == INSN_XBEGIN)
		ret->fallback = (int32_t)z.raw.imm[0].value.s;
	return 0;
}
