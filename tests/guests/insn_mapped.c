/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executes an instruction from a mapping of its own making. usage: insn_mapped generated|private|shared|moved|copied
 *	generated	bytes that the program has made
 *	private, shared	its own file, mapped once more
 *	moved		the same, and moved by mremap
 *	copied		bytes of its own text
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

uint64_t insn_mapped_tsc(void);
__asm__(".text\n\t"
	".p2align 12\n\t"
	".globl insn_mapped_tsc\n\t"
	".type insn_mapped_tsc, @function\n"
	"insn_mapped_tsc:\n\t"
	".cfi_startproc\n\t"
	"rdtsc\n\t"
	"shl $32, %rdx\n\t"
	"or %rdx, %rax\n\t"
	"ret\n\t"
	".cfi_endproc\n\t"
	".size insn_mapped_tsc, . - insn_mapped_tsc\n");

static const unsigned char code[] = { 0x0f, 0x31, 0x48, 0xc1, 0xe2, 0x20, 0x48, 0x09, 0xd0, 0xc3 };

/* Where the function is in the program's file. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t at = (uintptr_t)insn_mapped_tsc - info->dlpi_addr;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && at >= p->p_vaddr && at < p->p_vaddr + p->p_filesz)
			*(off_t *)arg = (off_t)(at - p->p_vaddr + p->p_offset);
	}
	return 1;
}

static void *generate(const void *from)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return page;
	memcpy(page, from, sizeof(code));
	return mprotect(page, PAGE, PROT_READ | PROT_EXEC) < 0 ? MAP_FAILED : page;
}

static void *map_file(int flags)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	off_t offset = 0;

	(void)dl_iterate_phdr(find_offset, &offset);
	return mmap(NULL, PAGE, PROT_READ | PROT_EXEC, flags, fd, offset);
}

int main(int argc, char **argv)
{
	void *page = MAP_FAILED;
	uint64_t (*tsc)(void);

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "generated"))
		page = generate(code);
	else if (!strcmp(argv[1], "copied"))
		page = generate((const void *)insn_mapped_tsc);
	else
		page = map_file(!strcmp(argv[1], "shared") ? MAP_SHARED : MAP_PRIVATE);
	if (!strcmp(argv[1], "moved"))
		page = mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	if (page == MAP_FAILED)
		return 1;
	*(void **)&tsc = page;
	printf("%llu\n", (unsigned long long)tsc());
	return 0;
}
