/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Libraries that are loaded when the first of their functions is called. They are a third of what the dynamic linker would have to do at the start of
 * each container, twice, for a run whose programs have been scanned before calls none of them: they unwind, scan, disassemble and compress.
 *
 * Each function of lazy.def is defined here as a jump to where the library has it. The library is looked for by the name that it had for the linker
 * when this was configured, as the dynamic linker would; packages have to depend on it by themselves.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>

#include "base/log.h"
#include "config.h"
#include "supervisor/exit_codes.h"

enum library { DW, ELF, ZYDIS, ZSTD };

static const char *const library_names[] = { [DW] = SONAME_DW, [ELF] = SONAME_ELF, [ZYDIS] = SONAME_ZYDIS, [ZSTD] = SONAME_ZSTD };

struct lazy_function {
	void *address; /* NULL: not called yet */
	const char *name;
	enum library library;
};

void *lazy_resolve(struct lazy_function *f);

/* Called by the code below. Who calls expects no failure, so there is none: a program without its libraries does not start either. */
__attribute__((used, visibility("hidden"))) void *lazy_resolve(struct lazy_function *f)
{
	void *library = dlopen(library_names[f->library], RTLD_LAZY | RTLD_LOCAL);

	f->address = library ? dlsym(library, f->name) : NULL;
	if (!f->address) {
		log_error("cannot load %s: %s", library_names[f->library], dlerror());
		_exit(EXIT_CODE_TOOL);
	}
	return f->address;
}

/* Arguments are in registers, none of them in those for floating point. Seven of them keep the stack aligned for the call. */
__asm__(".text\n"
	"lazy_first_call:\n"
	"	push %rax\n	push %rdi\n	push %rsi\n	push %rdx\n	push %rcx\n	push %r8\n	push %r9\n"
	"	mov %r11, %rdi\n"
	"	call lazy_resolve\n"
	"	mov %rax, %r11\n"
	"	pop %r9\n	pop %r8\n	pop %rcx\n	pop %rdx\n	pop %rsi\n	pop %rdi\n	pop %rax\n"
	"	jmp *%r11\n");

#define LAZY(which, function)                                                                                                   \
	__attribute__((used, visibility("hidden"))) struct lazy_function lazy_##function = { NULL, #function, which };          \
	__asm__(".globl " #function "\n"                                                                                        \
		".hidden " #function "\n"                                                                                       \
		".type " #function ", @function\n"                                                                              \
		".balign 16\n" #function ":\n"                                                                                  \
		"	mov lazy_" #function "(%rip), %r11\n"                                                                   \
		"	test %r11, %r11\n"                                                                                      \
		"	je 1f\n"                                                                                                \
		"	jmp *%r11\n"                                                                                            \
		"1:	lea lazy_" #function "(%rip), %r11\n"                                                                   \
		"	jmp lazy_first_call\n"                                                                                  \
		".size " #function ", . - " #function "\n");
#include "cli/lazy.def"
