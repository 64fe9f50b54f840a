/* SPDX-License-Identifier: BSD-3-Clause */
#include "backend/processor_answers.h"

#include "base/cleanup.h"

void processor_ask(void *arg, uint32_t leaf, uint32_t subleaf, struct insn_cpuid *ret)
{
	struct processor_answers *answers = arg;
	size_t place = (leaf ^ leaf >> 24 ^ subleaf * 31) % ARRAY_SIZE(answers->known);

	if (!answers->known[place].valid || answers->known[place].leaf != leaf || answers->known[place].subleaf != subleaf) {
		answers->known[place].valid = true;
		answers->known[place].leaf = leaf;
		answers->known[place].subleaf = subleaf;
		cpuid_host_query(NULL, leaf, subleaf, &answers->known[place].answer);
	}
	*ret = answers->known[place].answer;
}
