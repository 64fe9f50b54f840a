/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads in a library that was opened by one of them: its code comes when places are counted already. */
#include <dlfcn.h>

#include "bug.h"

static void *user(void *arg)
{
	void *library = dlopen("./libdlopened.so", RTLD_NOW);
	int (*work)(int) = library ? (int (*)(int))dlsym(library, "dlopened_work") : NULL;

	if (!work || work(100) != 4950)
		exit(1);
	if (dlclose(library) != 0)
		exit(2);
	return NULL;
}

int main(void)
{
	run_together(user, 2);
	return 0;
}
