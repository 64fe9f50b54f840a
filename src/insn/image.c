/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers are read by hand, because the program headers are all that a stripped file is sure to have; sections through
 * libelf. */
#include "insn/image.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "insn/ehframe.h"

static bool in_file(const struct insn_image *image, uint64_t offset, uint64_t len)
{
	return offset <= image->size && len <= image->size - offset;
}

static bool is_x86_64(const Elf64_Ehdr *ehdr)
{
	return !memcmp(ehdr->e_ident, ELFMAG, SELFMAG) && ehdr->e_ident[EI_CLASS] == ELFCLASS64 &&
	       ehdr->e_ident[EI_DATA] == ELFDATA2LSB && ehdr->e_machine == EM_X86_64 &&
	       (ehdr->e_type == ET_EXEC || ehdr->e_type == ET_DYN) && ehdr->e_phentsize == sizeof(Elf64_Phdr);
}

static void add_segment(struct insn_image *image, const Elf64_Phdr *phdr)
{
	if (phdr->p_type == PT_GNU_EH_FRAME)
		image->eh_frame_hdr = phdr->p_vaddr;
	if (phdr->p_type != PT_LOAD || !in_file(image, phdr->p_offset, phdr->p_filesz))
		return;
	if (phdr->p_vaddr > UINT64_MAX / 2)
		return;
	image->segments[image->segment_count++] = (struct insn_segment){
		.offset = phdr->p_offset,
		.vaddr = phdr->p_vaddr,
		.size = phdr->p_filesz,
		.exec = phdr->p_flags & PF_X,
	};
}

int insn_file_map(int fd, void **ret_bytes, size_t *ret_size)
{
	struct stat st;
	void *bytes;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return -ENOEXEC;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	*ret_bytes = bytes;
	*ret_size = (size_t)st.st_size;
	return 0;
}

void insn_file_unmap(void *bytes, size_t size)
{
	(void)munmap(bytes, size);
}

int insn_image_init(struct insn_image *image, const void *bytes, size_t size)
{
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;

	*image = (struct insn_image){ .bytes = bytes, .size = size };
	if (size < sizeof(ehdr))
		return -ENOEXEC;
	memcpy(&ehdr, bytes, sizeof(ehdr));
	if (!is_x86_64(&ehdr) || !in_file(image, ehdr.e_phoff, (uint64_t)ehdr.e_phnum * sizeof(phdr)))
		return -ENOEXEC;
	image->entry = ehdr.e_entry;
	image->is_relocatable_address = ehdr.e_type == ET_DYN;
	image->segments = calloc(ehdr.e_phnum ? ehdr.e_phnum : 1, sizeof(*image->segments));
	if (!image->segments)
		return -ENOMEM;
	for (unsigned i = 0; i < ehdr.e_phnum; i++) {
		memcpy(&phdr, image->bytes + ehdr.e_phoff + i * sizeof(phdr), sizeof(phdr));
		add_segment(image, &phdr);
	}
	return 0;
}

void insn_image_deinit(struct insn_image *image)
{
	free(image->segments);
	free(image->sections);
	free(image->functions);
	free(image->symbols);
	*image = (struct insn_image){ 0 };
}

const struct insn_segment *insn_image_segment(const struct insn_image *image, uint64_t vaddr)
{
	for (size_t i = 0; i < image->segment_count; i++)
		if (vaddr - image->segments[i].vaddr < image->segments[i].size)
			return &image->segments[i];
	return NULL;
}

const uint8_t *insn_image_at(const struct insn_image *image, uint64_t vaddr, size_t *ret_len)
{
	const struct insn_segment *s = insn_image_segment(image, vaddr);

	if (!s)
		return NULL;
	*ret_len = s->size - (vaddr - s->vaddr);
	return image->bytes + s->offset + (vaddr - s->vaddr);
}

bool insn_image_is_code(const struct insn_image *image, uint64_t vaddr)
{
	const struct insn_segment *s = insn_image_segment(image, vaddr);

	if (!s || !s->exec)
		return false;
	for (size_t i = 0; i < image->section_count; i++)
		if (vaddr - image->sections[i].vaddr < image->sections[i].size)
			return true;
	return image->section_count == 0;
}

/* libelf wants the ELF file's own view; it only reads. */
static Elf *open_elf(const struct insn_image *image)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	return elf_memory((char *)(uintptr_t)image->bytes, image->size);
}

static int add_section(struct insn_image *image, const GElf_Shdr *shdr)
{
	struct insn_segment *grown;

	if (shdr->sh_type != SHT_PROGBITS || !(shdr->sh_flags & SHF_EXECINSTR) || !(shdr->sh_flags & SHF_ALLOC))
		return 0;
	grown = reallocarray(image->sections, image->section_count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	image->sections = grown;
	grown[image->section_count++] = (struct insn_segment){
		.offset = shdr->sh_offset, .vaddr = shdr->sh_addr, .size = shdr->sh_size, .exec = true
	};
	return 0;
}

static bool is_text_symbol(const struct insn_image *image, const GElf_Sym *sym)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
		return false;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT)
		return false;
	return insn_image_is_code(image, sym->st_value);
}

/* A name inside the image itself (libelf may have made a copy, which ends with its handle); else "". */
static const char *name_in_image(const struct insn_image *image, const char *name)
{
	uintptr_t at = (uintptr_t)name, base = (uintptr_t)image->bytes;

	if (!name || at < base || at - base >= image->size || !memchr(name, 0, image->size - (at - base)))
		return "";
	return name;
}

static int add_symbols(struct insn_image *image, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	size_t count = shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0;
	Elf_Data *data = elf_getdata(scn, NULL);
	struct insn_symbol *grown;

	if (!data || count == 0 || count > image->size)
		return 0;
	grown = reallocarray(image->symbols, image->symbol_count + count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	image->symbols = grown;
	for (size_t i = 0; i < count; i++) {
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || !is_text_symbol(image, &sym))
			continue;
		grown[image->symbol_count++] = (struct insn_symbol){
			.start = sym.st_value,
			.size = sym.st_size,
			.name = name_in_image(image, elf_strptr(elf, shdr->sh_link, sym.st_name)),
			.is_data = GELF_ST_TYPE(sym.st_info) == STT_OBJECT,
		};
	}
	return 0;
}

/* Calls fn for every section: 0, or what fn returned. */
static int each_section(struct insn_image *image, Elf *elf,
			int (*fn)(struct insn_image *, Elf *, Elf_Scn *, const GElf_Shdr *))
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	int r;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr))
			continue;
		r = fn(image, elf, scn, &shdr);
		if (r < 0)
			return r;
	}
	return 0;
}

static int note_section(struct insn_image *image, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	size_t names;
	const char *name;

	if (elf_getshdrstrndx(elf, &names) == 0) {
		name = elf_strptr(elf, names, shdr->sh_name);
		if (name && !strcmp(name, ".eh_frame")) {
			image->eh_frame = shdr->sh_addr;
			image->eh_frame_size = shdr->sh_size;
		}
	}
	return add_section(image, shdr);
}

static int note_symbols(struct insn_image *image, Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	return shdr->sh_type == SHT_SYMTAB || shdr->sh_type == SHT_DYNSYM ? add_symbols(image, elf, scn, shdr) : 0;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct insn_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return strcmp(x->name, y->name);
}

int insn_image_load_details(struct insn_image *image)
{
	Elf *elf = open_elf(image);
	int r = 0;

	if (elf) {
		r = each_section(image, elf, note_section);
		if (r == 0)
			r = each_section(image, elf, note_symbols);
		(void)elf_end(elf);
	}
	if (r < 0)
		return r;
	if (image->symbol_count)
		qsort(image->symbols, image->symbol_count, sizeof(*image->symbols), compare_symbols);
	return insn_ehframe_load(image, &image->functions, &image->function_count);
}

const struct insn_function *insn_image_function(const struct insn_image *image, uint64_t vaddr)
{
	size_t n = UPPER_BOUND(image->functions, image->function_count, start, vaddr);

	if (n == 0 || vaddr >= image->functions[n - 1].end)
		return NULL;
	return &image->functions[n - 1];
}

const struct insn_symbol *insn_image_symbol(const struct insn_image *image, uint64_t vaddr)
{
	size_t n = UPPER_BOUND(image->symbols, image->symbol_count, start, vaddr);
	const struct insn_symbol *unsized = NULL;

	/* Among aliases and enclosing symbols the nearest start wins; a symbol without a size is the last resort. */
	for (size_t back = 0; back < 16 && back < n; back++) {
		const struct insn_symbol *s = &image->symbols[n - 1 - back];

		if (vaddr - s->start < s->size)
			return s;
		if (!s->size && !unsized)
			unsized = s;
	}
	return unsized;
}

struct pointer_sink {
	int (*fn)(void *arg, uint64_t vaddr);
	void *arg;
};

static int each_relocation(Elf_Scn *scn, const GElf_Shdr *shdr, const struct pointer_sink *sink)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t count = data && shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0;
	GElf_Rela rela;
	int r;

	for (size_t i = 0; i < count && gelf_getrela(data, (int)i, &rela); i++) {
		unsigned type = GELF_R_TYPE(rela.r_info);

		if (type != R_X86_64_RELATIVE && type != R_X86_64_IRELATIVE)
			continue;
		r = sink->fn(sink->arg, (uint64_t)rela.r_addend);
		if (r)
			return r;
	}
	return 0;
}

static int each_relocated(const struct insn_image *image, const struct pointer_sink *sink)
{
	Elf *elf = open_elf(image);
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	int r = 0;

	while (elf && r == 0 && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_RELA)
			r = each_relocation(scn, &shdr, sink);
	if (elf)
		(void)elf_end(elf);
	return r;
}

/* Aligned words of data that are addresses of code: in files with fixed addresses there are no relocations. */
static int each_word(const struct insn_image *image, const struct insn_segment *s, const struct pointer_sink *sink)
{
	uint64_t first = (8 - s->vaddr % 8) % 8, word;
	int r;

	for (uint64_t at = first; at + 8 <= s->size; at += 8) {
		memcpy(&word, image->bytes + s->offset + at, sizeof(word));
		if (!insn_image_is_code(image, word))
			continue;
		r = sink->fn(sink->arg, word);
		if (r)
			return r;
	}
	return 0;
}

int insn_image_each_pointer(const struct insn_image *image, int (*fn)(void *arg, uint64_t vaddr), void *arg)
{
	struct pointer_sink sink = { .fn = fn, .arg = arg };
	int r;

	r = each_relocated(image, &sink);
	/* A position-independent file has relocations for all its pointers; words that look like addresses are
	 * something else. */
	for (size_t i = 0; r == 0 && !image->is_relocatable_address && i < image->segment_count; i++)
		if (!image->segments[i].exec)
			r = each_word(image, &image->segments[i], &sink);
	return r;
}
