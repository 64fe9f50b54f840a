/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Filters of the guest's own, and calls of other kinds than x86-64's. What a filter answers itself (ERRNO, TRAP, KILL) never reaches hermit:
 * it is the guest's own decision, and the same in each run. See vm.h.
 */
#include <elf.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "vm.h"

static volatile sig_atomic_t trapped_nr = -1, trapped_errno;

static void on_sigsys(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	trapped_nr = info->si_syscall;
	trapped_errno = info->si_errno;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = -EDOM;
}

/* A filter: call `nr` gets `action`, all others are allowed. */
static int install(int nr, uint32_t action, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void show_status(const char *what)
{
	char line[128];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "Seccomp", 7) || !strncmp(line, "NoNewPrivs", 10))
			SHOWN("%s: %s", what, line);
	}
	if (f)
		(void)fclose(f);
}

static void filters(void)
{
	struct sigaction sa = { .sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO };
	struct utsname name;
	uint32_t action = SECCOMP_RET_ERRNO, unknown = 0x12340000;
	uint16_t sizes[3];
	int status;
	pid_t child;

	show_status("before");
	SAME("mode %s", RESULT(prctl(PR_GET_SECCOMP)));
	SAME("no_new_privs %s", RESULT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)));
	SAME("known action %s", RESULT(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action)));
	SAME("unknown action %s", RESULT(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &unknown)));
	SHOWN("sizes %s", RESULT(syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, sizes)));
	SHOWN("a listener of its own %s", RESULT(install(SYS_uname, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER)));
	/* A call that hermit answers itself, one that the kernel runs, one that passes. */
	SAME("uname refused %s", RESULT(install(SYS_uname, SECCOMP_RET_ERRNO | EXDEV, 0)));
	SAME("uname %s", RESULT(uname(&name)));
	SAME("getcwd refused %s", RESULT(install(SYS_getcwd, SECCOMP_RET_ERRNO | ENOTUNIQ, 0)));
	SAME("getcwd %s", RESULT(syscall(SYS_getcwd, &name, 10)));
	SAME("access refused %s", RESULT(install(SYS_access, SECCOMP_RET_ERRNO | 0, 0)));
	SAME("access %s", RESULT(syscall(SYS_access, "/nonexistent", 0)));
	sigaction(SIGSYS, &sa, NULL);
	SAME("mkdir trapped %s", RESULT(install(SYS_mkdir, SECCOMP_RET_TRAP | 7, 0)));
	SAME("mkdir %s", RESULT(syscall(SYS_mkdir, "/tmp/x", 0700)));
	SAME("trap of %d with %d", trapped_nr == SYS_mkdir, trapped_errno);
	show_status("with filters");
	SAME("mode %s", RESULT(prctl(PR_GET_SECCOMP)));
	child = fork();
	if (!child) {
		MUST(install(SYS_sync, SECCOMP_RET_KILL_PROCESS, 0));
		SAME("inherited: uname %s", RESULT(uname(&name)));
		sync();
		_exit(0);
	}
	waitpid(child, &status, 0);
	SAME("killed by %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	child = fork();
	if (!child) {
		SAME("strict %s", RESULT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)));
		(void)syscall(SYS_exit, 5);
	}
	waitpid(child, &status, 0);
	SHOWN("strict ended with %x", (unsigned)status);
	/* Time and everything else go on. */
	vm_sleep_ms(5);
	SHOWN("now %llu", (unsigned long long)vm_now());
}

/* ---- a filter that ends one thread ---- */

static void *call_sync(void *arg)
{
	MUST(install(SYS_sync, SECCOMP_RET_KILL_THREAD, 0));
	sync();
	SAME("%s lives on", (const char *)arg);
	return NULL;
}

static void *go_on(void *arg)
{
	vm_sleep_ms(5);
	SAME("the thread goes on after its leader");
	if (arg)
		(void)call_sync("the thread");
	_exit(5);
}

/* leader: who dies by the filter is the leader, and the other thread ends the process, by exit_group or by dying of the same. */
static void end_one(bool leader, bool both)
{
	pthread_t thread;
	int status;
	pid_t child = MUST(fork());

	if (!child) {
		MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
		if (pthread_create(&thread, NULL, leader ? go_on : call_sync, leader && !both ? NULL : "the thread"))
			_exit(1);
		if (leader)
			(void)call_sync("the leader");
		(void)pthread_join(thread, NULL);
		SAME("the leader goes on after its thread");
		if (both)
			(void)call_sync("the leader");
		_exit(6);
	}
	waitpid(child, &status, 0);
	SAME("ended with %x", (unsigned)status & ~0x80u);
}

static void ends_of_one(void)
{
	end_one(false, false);
	end_one(false, true);
	end_one(true, false);
	end_one(true, true);
}

/* ---- other ways into the kernel ---- */

static long int80(long nr, long a, long b, long c)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static void ended(const char *what, pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		SHOWN("%s: killed by %d", what, WTERMSIG(status));
	else
		SHOWN("%s: %d", what, WEXITSTATUS(status));
}

/* A program for i386: exit(5), and an instruction that does not exist if it comes back from that. */
static int write_i386(void)
{
	static const unsigned char code[] = { 0xb8, 1, 0, 0, 0, 0xbb, 5, 0, 0, 0, 0xcd, 0x80, 0x0f, 0x0b };
	struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment;
		unsigned char code[sizeof(code)];
	} image = {
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_EXEC,
			    .e_machine = EM_386,
			    .e_version = EV_CURRENT,
			    .e_entry = 0x8048000 + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
			    .e_phoff = sizeof(Elf32_Ehdr),
			    .e_ehsize = sizeof(Elf32_Ehdr),
			    .e_phentsize = sizeof(Elf32_Phdr),
			    .e_phnum = 1 },
		.segment = { .p_type = PT_LOAD,
			     .p_vaddr = 0x8048000,
			     .p_filesz = sizeof(image),
			     .p_memsz = sizeof(image),
			     .p_flags = PF_R | PF_X,
			     .p_align = 4096 },
	};
	int fd = (int)MUST(memfd_create("i386", MFD_CLOEXEC));

	memcpy(image.code, code, sizeof(code));
	MUST(write(fd, &image, sizeof(image)));
	return fd;
}

static void other_kinds(void)
{
	pid_t child = fork();

	if (!child) { /* getpid of i386; of x86-64 it would be writev */
		long result = int80(20, 0, 0, 0);

		_exit(result == getpid() ? 1 : result == -ENOSYS ? 2 : 3);
	}
	ended("int 0x80", child);
	child = fork();
	if (!child)
		_exit(syscall(0x40000000 | SYS_getpid) == getpid() ? 1 : errno == ENOSYS ? 2 : 3);
	ended("x32", child);
	child = fork();
	if (!child)
		_exit(syscall(0x40000000 | 512) >= 0 ? 1 : errno == ENOSYS ? 2 : 3);
	ended("x32 only", child);
	child = fork();
	if (!child) {
		int fd = write_i386();

		(void)fexecve(fd, (char *[]){ (char[]){ "i386" }, NULL }, (char *[]){ NULL });
		_exit(errno == ENOEXEC ? 2 : 3);
	}
	ended("i386 program", child);
	SAME("number -1 %s", RESULT(syscall(-1)));
	SAME("number 9999 %s", RESULT(syscall(9999)));
	SAME("number 600 %s", RESULT(syscall(600)));
	SAME("high bits are cut %d", syscall(0x700000000 | SYS_getpid) == getpid());
	SAME("tracing %s", (errno = 0, syscall(SYS_prctl, 59 /* PR_SET_SYSCALL_USER_DISPATCH */, 7, 0, 0, 0) < 0 ? strerrorname_np(errno) : "works"));
}

int main(void)
{
	other_kinds();
	ends_of_one();
	filters();
	vm_end();
	return 0;
}
