/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the library named by its argument, calls it, unloads it, loads it again: text that is mapped, gone, and mapped anew. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	for (int round = 0; round < 2; round++) {
		void *lib = dlopen(argv[1], RTLD_NOW);
		uint64_t (*tsc)(void);
		uint32_t (*apic_id)(void);

		if (!lib) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&tsc = dlsym(lib, "insn_lib_tsc");
		*(void **)&apic_id = dlsym(lib, "insn_lib_apic_id");
		if (!tsc || !apic_id)
			return 1;
		printf("round %d: tsc %llu apic %u\n", round, (unsigned long long)tsc(), apic_id());
		dlclose(lib);
	}
	return 0;
}
