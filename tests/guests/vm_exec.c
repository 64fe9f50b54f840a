/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs and how they are started: scripts of scripts, files without a name, set-user-id; and the vDSO, which belongs to the program. See vm.h. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "vm.h"

static const char *self;

static void put_file(const char *name, const char *text, mode_t mode)
{
	int fd = (int)MUST(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0700));

	MUST(write(fd, text, strlen(text)));
	MUST(fchmod(fd, mode));
	close(fd);
}

static void copy_self(const char *name, mode_t mode)
{
	static char data[1 << 16];
	int from = (int)MUST(open(self, O_RDONLY)), to = (int)MUST(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0700));
	ssize_t n;

	while ((n = MUST(read(from, data, sizeof(data)))) > 0)
		MUST(write(to, data, (size_t)n));
	MUST(fchmod(to, mode));
	close(from);
	close(to);
}

/* What the new program says it was given. */
static void say_given(char **argv)
{
	for (int i = 1; argv[i]; i++)
		SAME("argument %d: %s", i, argv[i]);
	SAME("AT_EXECFN %s", (const char *)(uintptr_t)getauxval(AT_EXECFN)); // NOLINT(performance-no-int-to-ptr)
}

/* In a child: the errno of an exec that failed, or what the program said. */
static void try(const char *what, int dirfd, const char *path, int flags)
{
	char *argv[] = { "given", "first", "second", NULL }, *envp[] = { "VM_EXEC=1", NULL };
	int status;
	pid_t child = (pid_t)MUST(fork());

	if (!child) {
		(void)syscall(SYS_execveat, dirfd, path, argv, envp, flags);
		SAME("%s: %s", what, strerrorname_np(errno));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0));
	SAME("%s: status %d", what, status);
}

static void scripts(void)
{
	char text[4200] = "#!", name[16], last[16];

	(void)snprintf(text, sizeof(text), "#!%s an argument \n", self);
	put_file("script0", text, 0755);
	try("a script", AT_FDCWD, "script0", 0);
	for (int i = 1; i <= 6; i++) {
		(void)snprintf(last, sizeof(last), "./script%d", i - 1);
		(void)snprintf(name, sizeof(name), "./script%d", i);
		(void)snprintf(text, sizeof(text), "#!%s %d\n", last, i);
		put_file(name, text, 0755);
		try(name, AT_FDCWD, name, 0);
	}
	put_file("nothing", "", 0755);
	try("empty", AT_FDCWD, "nothing", 0);
	put_file("text", "no program\n", 0755);
	try("text", AT_FDCWD, "text", 0);
	put_file("nobody", "#!/no/such/interpreter\n", 0755);
	try("no interpreter", AT_FDCWD, "nobody", 0);
	put_file("folder", "#!/\n", 0755);
	try("a folder for interpreter", AT_FDCWD, "folder", 0);
	put_file("closed", "#!/bin/sh\n", 0644);
	try("not executable", AT_FDCWD, "closed", 0);
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "#!/", 3);
	put_file("long", text, 0755);
	try("an endless line", AT_FDCWD, "long", 0);
	MUST(symlink("text", "link"));
	try("a link, not followed", AT_FDCWD, "link", AT_SYMLINK_NOFOLLOW);
	try("wrong flags", AT_FDCWD, "script0", 0x10);
	MUST(unlink("link"));
}

static void nameless(void)
{
	int fd = (int)MUST(memfd_create("name", 0)), from = (int)MUST(open(self, O_RDONLY)), closed;
	static char data[1 << 16];
	char script[300];
	ssize_t n;

	while ((n = MUST(read(from, data, sizeof(data)))) > 0)
		MUST(write(fd, data, (size_t)n));
	close(from);
	try("still open for writing", fd, "", AT_EMPTY_PATH);
	(void)snprintf(script, sizeof(script), "/proc/self/fd/%d", fd);
	from = (int)MUST(open(script, O_RDONLY));
	close(fd);
	try("a file without a name", from, "", AT_EMPTY_PATH);
	try("without the flag", from, "", 0);
	close(from);
	(void)snprintf(script, sizeof(script), "#!%s\n", self);
	put_file("script", script, 0755);
	fd = (int)MUST(open("script", O_RDONLY));
	try("a script by descriptor", fd, "", AT_EMPTY_PATH);
	closed = (int)MUST(open("script", O_RDONLY | O_CLOEXEC));
	try("that is closed then", closed, "", AT_EMPTY_PATH);
	close(fd);
	close(closed);
	fd = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
	try("in a directory", fd, "script0", 0);
	try("none there", fd, "script99", 0);
	close(fd);
	try("no such descriptor", 999, "script0", 0);
}

/* Too much, and what cannot be had: the process goes on as it was. */
static void failing(void)
{
	static char big[140000];
	char *argv[] = { "x", big, NULL };
	int fd;

	memset(big, 'a', sizeof(big) - 1);
	SAME("an argument too long %s", RESULT(execv(self, argv)));
	argv[1] = NULL;
	SAME("nowhere %s", RESULT(syscall(SYS_execve, 8, argv, NULL)));
	copy_self("program", 0755);
	fd = (int)MUST(open("program", O_WRONLY));
	try("being written", AT_FDCWD, "./program", 0);
	close(fd);
	try("and now", AT_FDCWD, "./program", 0);
	SAME("while it runs: %s", RESULT(open(self, O_WRONLY)));
}

/* A process without rights executes the program that has those of its owner. Its status. */
static int run_private(void)
{
	int status;
	pid_t child = (pid_t)MUST(fork());

	if (!child) {
		if (getuid() == 0 && (setresgid(1234, 1234, 1234) < 0 || setresuid(1234, 1234, 1234) < 0))
			_exit(77);
		(void)execl("./private", "private", "ids", (char *)NULL);
		_exit(99);
	}
	MUST(waitpid(child, &status, 0));
	return status;
}

/* Whose a program with the set-user-id bit is: what it says of itself. */
static void set_user(void)
{
	copy_self("private", 06755);
	SHOWN("set-user-id: status %d", run_private());
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	SAME("no new ones %s", RESULT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)));
	SHOWN("and without new privileges: status %d", run_private());
}

/* ---- the vDSO ---- */

static const ElfW(Ehdr) *vdso;
static size_t vdso_size;

/* The address of a function in it, by its dynamic symbols. */
static uintptr_t vdso_function(const char *name)
{
	const ElfW(Phdr) *segments = (const void *)((const char *)vdso + vdso->e_phoff);
	const ElfW(Dyn) *dynamic = NULL;
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	size_t n = 0;

	for (int i = 0; i < vdso->e_phnum; i++) {
		if (segments[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)((const char *)vdso + segments[i].p_offset);
		if (segments[i].p_type == PT_LOAD)
			vdso_size = segments[i].p_offset + segments[i].p_memsz;
	}
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		const char *at = (const char *)vdso + dynamic->d_un.d_ptr;

		if (dynamic->d_tag == DT_STRTAB)
			names = at;
		if (dynamic->d_tag == DT_SYMTAB)
			symbols = (const void *)at;
		if (dynamic->d_tag == DT_HASH)
			n = ((const uint32_t *)(const void *)at)[1];
	}
	if (!n && names && symbols) /* without that table the names follow the symbols */
		n = (size_t)(names - (const char *)symbols) / sizeof(*symbols);
	for (size_t i = 0; i < n; i++)
		if (symbols && names && symbols[i].st_value && !strcmp(names + symbols[i].st_name, name))
			return (uintptr_t)vdso + symbols[i].st_value;
	return 0;
}

typedef int clock_fn(clockid_t id, struct timespec *ts);

static bool runs(uintptr_t at)
{
	struct timespec before, now = { 0 }, after;

	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &before);
	if (((clock_fn *)at)(CLOCK_MONOTONIC, &now) != 0) // NOLINT(performance-no-int-to-ptr)
		return false;
	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &after);
	return (now.tv_sec > before.tv_sec || (now.tv_sec == before.tv_sec && now.tv_nsec >= before.tv_nsec)) &&
	       (now.tv_sec < after.tv_sec || (now.tv_sec == after.tv_sec && now.tv_nsec <= after.tv_nsec));
}

static void own_code(void)
{
	struct timespec ts;
	uintptr_t clock_at;
	uint32_t sum = 0;
	int status;
	pid_t child;

	vdso = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)
	SAME("a vDSO %d", vdso && !memcmp(vdso->e_ident, ELFMAG, SELFMAG));
	clock_at = vdso_function("__vdso_clock_gettime");
	SAME("with a clock %d", clock_at != 0);
	for (size_t i = 0; i < vdso_size; i++)
		sum = sum * 31 + ((const unsigned char *)vdso)[i];
	SHOWN("at %p, %zu bytes, sum %x", (const void *)vdso, vdso_size, sum);
	SAME("it runs %d", runs(clock_at));
	child = (pid_t)MUST(fork());
	if (!child) {
		uintptr_t page = (uintptr_t)vdso & ~4095ul;
		size_t size = (vdso_size + 4095) & ~4095ul;
		char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memcpy(copy, vdso, vdso_size);
		SAME("a copy is the same %d", !memcmp(copy, vdso, vdso_size));
		MUST(munmap((void *)page, size)); // NOLINT(performance-no-int-to-ptr)
		SAME("without it %s", RESULT(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts)));
		_exit(0);
	}
	MUST(waitpid(child, &status, 0));
	SAME("the other goes on %d, status %d", runs(clock_at), status);
}

int main(int argc, char **argv)
{
	static char path[512];
	uid_t real, effective, saved;

	if (argc == 2 && !strcmp(argv[1], "ids")) {
		MUST(getresuid(&real, &effective, &saved));
		return (int)(real != effective) | getauxval(AT_SECURE) << 1;
	}
	if (getenv("VM_EXEC")) {
		say_given(argv);
		return 0;
	}
	MUST(readlink("/proc/self/exe", path, sizeof(path) - 1));
	self = path;
	scripts();
	nameless();
	failing();
	own_code();
	set_user();
	vm_end();
	return 0;
}
