/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked with insn_lib.c's library. */
#include <stdint.h>
#include <stdio.h>

uint64_t insn_lib_tsc(void);
uint32_t insn_lib_apic_id(void);

int main(void)
{
	printf("tsc %llu apic %u\n", (unsigned long long)insn_lib_tsc(), insn_lib_apic_id());
	return 0;
}
