/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands as Zydis lists them, hidden ones too (the stack of PUSH and CALL, the destination of MOVS). */
#include "insn/effect.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <string.h>

#include "insn/decode.h"

static bool is_not_stepped(ZydisMnemonic mnemonic)
{
	switch ((int)mnemonic) {
	case ZYDIS_MNEMONIC_PUSHF: /* these: see is_refused() in places.c */
	case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_RDPMC:
	case ZYDIS_MNEMONIC_RDPRU:
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_RDRAND:
	case ZYDIS_MNEMONIC_RDSEED:
	case ZYDIS_MNEMONIC_RDPID:
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_TPAUSE:
	case ZYDIS_MNEMONIC_UMWAIT:
		return true;
	default:
		return false;
	}
}

/* The value of a 64-bit or 32-bit address register; false for anything else (16 bits, vectors). */
static bool register_value(ZydisRegister reg, const struct insn_regs *regs, uint64_t next_rip, uint64_t *ret)
{
	if (reg == ZYDIS_REGISTER_NONE)
		*ret = 0;
	else if (reg == ZYDIS_REGISTER_RIP)
		*ret = next_rip;
	else if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		*ret = regs->gpr[reg - ZYDIS_REGISTER_RAX];
	else if (reg >= ZYDIS_REGISTER_EAX && reg <= ZYDIS_REGISTER_R15D)
		*ret = (uint32_t)regs->gpr[reg - ZYDIS_REGISTER_EAX];
	else
		return false;
	return true;
}

static uint64_t segment_base(ZydisRegister segment, const struct insn_regs *regs)
{
	if (segment == ZYDIS_REGISTER_FS)
		return regs->fs_base;
	return segment == ZYDIS_REGISTER_GS ? regs->gs_base : 0;
}

static bool is_push(const ZydisDecodedInstruction *z)
{
	return z->meta.category == ZYDIS_CATEGORY_PUSH || z->meta.category == ZYDIS_CATEGORY_CALL ||
	       z->mnemonic == ZYDIS_MNEMONIC_ENTER;
}

static bool address_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, const struct insn_regs *regs,
		       uint64_t *ret)
{
	uint64_t base, index, len = op->size / 8;

	if (!register_value(op->mem.base, regs, regs->rip + z->length, &base) ||
	    !register_value(op->mem.index, regs, regs->rip + z->length, &index))
		return false;
	*ret = base + index * op->mem.scale + (op->mem.disp.has_displacement ? (uint64_t)op->mem.disp.value : 0);
	if (z->address_width == 32)
		*ret = (uint32_t)*ret;
	*ret += segment_base(op->mem.segment, regs);
	/* The stack pointer moves before the value is stored. */
	if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && op->mem.base == ZYDIS_REGISTER_RSP && is_push(z))
		*ret = base - len;
	return true;
}

/*
 * Instructions whose listed operand is not the whole truth: BTS and its kin with a register operand reach beyond it,
 * ENTER pushes more, CLZERO takes the whole line, POP to (%rsp) uses the new stack pointer.
 */
static bool is_special(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *ops)
{
	bool bit_test = z->mnemonic == ZYDIS_MNEMONIC_BTS || z->mnemonic == ZYDIS_MNEMONIC_BTR ||
			z->mnemonic == ZYDIS_MNEMONIC_BTC;
	bool to_stack = ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY && ops[0].mem.base == ZYDIS_REGISTER_RSP;

	return (bit_test && ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER) ||
	       (z->mnemonic == ZYDIS_MNEMONIC_POP && to_stack) || z->mnemonic == ZYDIS_MNEMONIC_ENTER ||
	       z->mnemonic == ZYDIS_MNEMONIC_CLZERO;
}

static bool add_range(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, const struct insn_regs *regs,
		      struct insn_range *ranges, uint8_t most, uint8_t *count)
{
	uint32_t len = (op->size + 7u) / 8u;
	uint64_t address;

	if (op->mem.type != ZYDIS_MEMOP_TYPE_MEM || len == 0 || len > INSN_MAX_WRITE_LEN || *count == most ||
	    !address_of(z, op, regs, &address))
		return false;
	ranges[(*count)++] = (struct insn_range){ address, len };
	return true;
}

static void add_operand(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, const struct insn_regs *regs,
			struct insn_effect *effect)
{
	if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || op->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
		return;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		effect->unknown |= !add_range(z, op, regs, effect->writes, INSN_MAX_WRITES, &effect->count);
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		effect->reads_unknown |= !add_range(z, op, regs, effect->reads, INSN_MAX_READS, &effect->n_reads);
}

int insn_effect_of(const uint8_t *code, size_t len, const struct insn_regs *regs, struct insn_effect *ret)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	ZydisDecoder decoder;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, len, &z, ops)))
		return -EILSEQ;

	*ret = (struct insn_effect){ .length = z.length, .leaves = is_not_stepped(z.mnemonic) };
	for (unsigned i = 0; i < z.operand_count; i++)
		add_operand(&z, &ops[i], regs, ret);
	if (is_special(&z, ops))
		ret->unknown = ret->reads_unknown = true;
	return 0;
}
