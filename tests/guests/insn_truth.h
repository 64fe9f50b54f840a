/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks for instructions and for what only looks like one. Each mark leaves a record in the section .insn_truth, which is not loaded and
 * holds distances, not addresses, so that a scanner can learn nothing from it: 4 bytes distance from the record to the place, 4 bytes
 * kind, by the numbers of enum insn_kind, 0 for "must be left alone".
 */
#ifndef INSN_TRUTH_H
#define INSN_TRUTH_H

#define RECORD(kind)                              \
	".pushsection .insn_truth, \"\", @progbits\n\t" \
	".long 7700b - ., " #kind "\n\t"                \
	".popsection\n\t"

#define IS(kind, text) "7700:\n\t" text "\n\t" RECORD(kind)
#define RDTSC          IS(1, "rdtsc")
#define RDTSCP         IS(2, "rdtscp")
#define CPUID          IS(3, "cpuid")
#define RDRAND(reg)    IS(4, "rdrand %%" reg)
#define RDSEED(reg)    IS(5, "rdseed %%" reg)
#define RDPID(reg)     IS(6, "rdpid %%" reg)
#define XGETBV         IS(7, "xgetbv")
#define XBEGIN(label)  IS(8, "xbegin " label)
/* The bytes of an opcode that are data, or a part of something else. */
#define ISNT(text)     "7700:\n\t" text "\n\t" RECORD(0)

#endif
