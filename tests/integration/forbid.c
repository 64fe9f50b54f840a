/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forbid CALL[,CALL...] PROGRAM ARGUMENT...: runs a program to which some system calls are refused, as launchers with strict profiles do, or of
 * which the kernel says that they work, and they do nothing, as hypervisors have it.
 */
#include <asm/prctl.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ANY = -1 };

static const struct {
	const char *name;
	unsigned nr;
	int first; /* argument, or ANY */
	unsigned result;
} calls[] = {
	{ "seccomp", SYS_seccomp, ANY, EPERM },
	{ "ptrace", SYS_ptrace, ANY, EPERM },
	{ "unshare", SYS_unshare, ANY, EPERM },
	{ "clone3", SYS_clone3, ANY, EPERM },
	{ "mount", SYS_mount, ANY, EPERM },
	{ "pidfd_getfd", SYS_pidfd_getfd, ANY, EPERM },
	{ "process_vm_readv", SYS_process_vm_readv, ANY, EPERM },
	{ "tsc", SYS_prctl, PR_SET_TSC, EPERM },
	{ "tsc-lies", SYS_prctl, PR_SET_TSC, 0 },
	{ "cpuid", SYS_arch_prctl, ARCH_SET_CPUID, ENODEV },
	{ "cpuid-lies", SYS_arch_prctl, ARCH_SET_CPUID, 0 },
};

static int forbid(unsigned nr, int first, unsigned result)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | (first == ANY ? BPF_JGE : BPF_JEQ) | BPF_K, first == ANY ? 0 : (unsigned)first, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | result),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int forbid_named(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return forbid(calls[i].nr, calls[i].first, calls[i].result);
	errno = EINVAL;
	return -1;
}

int main(int argc, char **argv)
{
	char *list = argc > 2 ? argv[1] : NULL, *name;

	if (!list || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 99;
	while ((name = strsep(&list, ",")))
		if (forbid_named(name) < 0) {
			(void)fprintf(stderr, "forbid %s: %s\n", name, strerror(errno));
			return 99;
		}
	(void)execvp(argv[2], argv + 2);
	return 99;
}
