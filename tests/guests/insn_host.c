/* SPDX-License-Identifier: BSD-3-Clause */
/* Executes the instructions of insn_all.c (built with -Dmain=insn_all_main) out of a library that it is linked with (-DLINKED), or loads. */
#include <dlfcn.h>
#include <stdio.h>

#ifdef LINKED
int insn_all_main(void);

int main(void)
{
	return insn_all_main();
}
#else
int main(int argc, char **argv)
{
	void *lib = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*all)(void) = NULL;

	if (lib)
		*(void **)&all = dlsym(lib, "insn_all_main");
	if (!all) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return all();
}
#endif
