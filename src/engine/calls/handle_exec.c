/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * execve, execveat. The kernel runs them, but only programs of 64-bit x86: others would make calls by other numbers and see a processor
 * that nobody models, or be run by what the host has registered (binfmt_misc). They end with ENOEXEC, as on a kernel that knows no other
 * machine. What a script is run by counts, as in the kernel.
 *
 * A program that may be executed but not read is none that can be controlled: the kernel then keeps everybody without power over its owner from
 * looking into the process. The same goes for what an ELF program is loaded by. It ends with EACCES.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"
#include "engine/files/paths.h"

/* As much as the kernel looks at, and how many interpreters it goes through. */
enum { HEAD = 256, DEEPEST = 5 };
enum { NR_execveat = 322 };
enum { HEADERS_MAX = 256 }; /* program headers that are looked through */

static bool is_foreign(const unsigned char *head, size_t n)
{
	const size_t machine = offsetof(Elf64_Ehdr, e_machine); /* the same in 32-bit headers */

	if (n < machine + 2 || memcmp(head, ELFMAG, SELFMAG) != 0)
		return false;
	return head[EI_CLASS] != ELFCLASS64 || head[EI_DATA] != ELFDATA2LSB || (head[machine] | head[machine + 1] << 8) != EM_X86_64;
}

/* The interpreter that the first line of a script names, cut out of it in place; NULL: none, or too long for the kernel. */
static const char *interpreter_of(char *head, size_t n)
{
	char *end, *name;

	head[n] = '\0';
	if (n < 2 || head[0] != '#' || head[1] != '!')
		return NULL;
	end = strchr(head, '\n');
	if (end)
		*end = '\0';
	name = head + 2 + strspn(head + 2, " \t");
	name[strcspn(name, " \t")] = '\0';
	return *name ? name : NULL;
}

/* Is there somebody who may execute it? Else the kernel has another answer. */
static bool is_executable(struct engine *e, struct task *t, const struct guest_path *path, int flags)
{
	struct file_stat stat;

	return path_stat(e, t, path, flags, &stat) == 0 && stat.mode & 0111;
}

/* The path is changed to that of the program that loads the ELF program: 1; 0: there is none, or the kernel has another answer. */
static int follow_loader(struct engine *e, struct task *t, struct guest_path *path, int flags, const unsigned char *head, size_t n)
{
	uint64_t offset, end;
	Elf64_Phdr header;
	Elf64_Ehdr elf;
	ssize_t got;

	if (n < sizeof(elf) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return 0;
	memcpy(&elf, head, sizeof(elf));
	end = elf.e_phoff + (uint64_t)(elf.e_phnum < HEADERS_MAX ? elf.e_phnum : HEADERS_MAX) * sizeof(header);
	for (offset = elf.e_phoff; offset < end; offset += sizeof(header)) {
		if (offset < n && n - offset >= sizeof(header))
			memcpy(&header, head + offset, sizeof(header));
		else if (e->g->ops->path_bytes(e->g, t->id, path->dirfd, path->text, flags, offset, &header, sizeof(header)) != sizeof(header))
			return 0;
		if (header.p_type != PT_INTERP)
			continue;
		if (header.p_filesz < 2 || header.p_filesz > sizeof(path->text))
			return 0;
		got = e->g->ops->path_bytes(e->g, t->id, path->dirfd, path->text, flags, header.p_offset, path->text, header.p_filesz);
		path->dirfd = AT_FDCWD;
		return got == (ssize_t)header.p_filesz && path->text[got - 1] == '\0';
	}
	return 0;
}

/* The errno when the program would be out of reach, as its loader counts as well; else 0, or -ESRCH, -ENOMEM. */
static int refuse_hidden(struct engine *e, struct task *t, const struct guest_path *path, int flags)
{
	int r;

	r = e->g->ops->path_hides(e->g, t->id, path->dirfd, path->text, flags);
	if (r <= 0)
		return r == -ESRCH || r == -ENOMEM ? r : 0;
	engine_report_uncontrolled(e, UNCONTROLLED_HIDDEN, path->text[0] ? path->text : "an open file");
	return EACCES;
}

/* The errno that the call ends with, as what is to be run is not for us; 0: the kernel knows; -ESRCH, -ENOMEM. */
static int leads_elsewhere(struct engine *e, struct task *t, struct guest_path *path, int flags)
{
	char head[HEAD + 1];
	const char *next;
	ssize_t n;

	for (int depth = 0; depth <= DEEPEST; depth++) {
		n = e->g->ops->path_bytes(e->g, t->id, path->dirfd, path->text, flags, 0, head, HEAD);
		if (n == -EACCES)
			return refuse_hidden(e, t, path, flags);
		if (n < 0)
			return n == -ESRCH || n == -ENOMEM ? (int)n : 0;
		if (is_foreign((unsigned char *)head, (size_t)n))
			return is_executable(e, t, path, flags) ? ENOEXEC : 0;
		if (follow_loader(e, t, path, flags, (unsigned char *)head, (size_t)n))
			return refuse_hidden(e, t, path, 0);
		next = interpreter_of(head, (size_t)n);
		if (!next)
			return 0;
		path->dirfd = AT_FDCWD;
		memcpy(path->text, next, strlen(next) + 1);
		flags = 0;
	}
	return 0;
}

int handle_proc_exec(struct engine *e, struct task *t, struct verdict *v)
{
	const uint64_t *a = t->call.args;
	bool at = t->call.nr == NR_execveat;
	int flags = at ? (int)a[4] : 0, r;
	struct guest_path path;

	t->call.no_return = true; /* unless it is answered here */
	if (!e->g->ops->path_bytes || flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return verdict_continue(v);
	r = path_read(e, t, at ? (int)a[0] : AT_FDCWD, at ? a[1] : a[0], &path);
	if (r == 0)
		r = leads_elsewhere(e, t, &path, flags);
	if (r == -EFAULT || r == -ENAMETOOLONG)
		r = 0; /* the kernel says so */
	if (r <= 0)
		return r < 0 ? r : verdict_continue(v);
	t->call.no_return = false;
	return verdict_errno(v, r);
}
