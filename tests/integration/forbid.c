/* SPDX-License-Identifier: BSD-3-Clause */
/* forbid CALL[,CALL...] PROGRAM ARGUMENT...: runs a program to which some system calls are refused, as launchers with strict profiles do. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned nr;
} calls[] = {
	{ "seccomp", SYS_seccomp },
	{ "ptrace", SYS_ptrace },
	{ "unshare", SYS_unshare },
	{ "clone3", SYS_clone3 },
	{ "mount", SYS_mount },
	{ "pidfd_getfd", SYS_pidfd_getfd },
	{ "process_vm_readv", SYS_process_vm_readv },
};

static int forbid(unsigned nr)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int forbid_named(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return forbid(calls[i].nr);
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
