/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that things go wrong for: misfortune KIND. Whatever it does, it disturbs nobody but itself. */
#include <errno.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif

/* Calls that end or stop the caller by what they are for, or replace it. */
static const int excluded[] = { SYS_exit, SYS_exit_group, SYS_pause, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_vfork, SYS_fork, SYS_clone,
				SYS_kill, SYS_tkill, SYS_tgkill, SYS_close_range, SYS_munmap, SYS_brk, SYS_mremap, SYS_shmdt,
				SYS_arch_prctl, SYS_prctl, SYS_alarm, SYS_seccomp, SYS_setrlimit, SYS_prlimit64, SYS_vhangup, SYS_rseq,
				SYS_set_robust_list, SYS_reboot, SYS_iopl, SYS_ioperm, SYS_mprotect, SYS_madvise, SYS_mseal, SYS_remap_file_pages };

static int is_excluded(long nr)
{
	for (size_t i = 0; i < sizeof(excluded) / sizeof(excluded[0]); i++)
		if (excluded[i] == nr)
			return 1;
	return 0;
}

/* Every call with the same bad value everywhere, each in a child that may die of it. */
static void bad_pointers(uint64_t bad)
{
	int status, dead = 0;
	pid_t pid;

	for (long nr = 0; nr < 475; nr++) {
		if (is_excluded(nr))
			continue;
		pid = fork();
		if (pid == 0) {
			(void)setpgid(0, 0);
			(void)alarm(1);
			(void)syscall(nr, bad, bad, bad, bad, bad, bad);
			(void)syscall(nr, 0, bad, bad, bad, bad, bad);
			(void)syscall(nr, 0, bad, 1, bad, bad, bad);
			(void)syscall(nr, bad, 3, 3, 0, 0, 0);
			_exit(0);
		}
		if (waitpid(pid, &status, 0) != pid)
			perror("waitpid");
		dead += WIFSIGNALED(status);
	}
	printf("%d died of %llx\n", dead, (unsigned long long)bad);
}

static void all_bad_pointers(void)
{
	void *hole = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)munmap((char *)hole + 4096, 4096);
	setvbuf(stdout, NULL, _IOLBF, 0);
	bad_pointers(0);
	bad_pointers(3);
	bad_pointers(UINT64_MAX);
	bad_pointers(0xffff800000000000u);
	bad_pointers((uint64_t)hole + 4090); /* runs into the hole */
}

static void no_descriptors(void)
{
	int fds[2], status;
	char byte = 0;

	(void)close_range(0, ~0u, 0);
	if (pipe(fds) < 0 || fork() == 0)
		_exit(write(fds[1], "x", 1) == 1 ? 0 : 1);
	_exit(read(fds[0], &byte, 1) == 1 && byte == 'x' && wait(&status) > 0 && !status ? 7 : 1);
}

static void missing_file(void)
{
	char *const argv[] = { "x", NULL };

	static const char *const paths[] = { "/nowhere/x", "/etc/passwd", "/" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		(void)execv(paths[i], argv);
		printf("%s %d\n", paths[i], errno);
	}
	(void)syscall(SYS_execve, 8, 8, 8);
	printf("%d\n", errno);
}

static void *waits(void *arg)
{
	char byte;

	return read(*(int *)arg, &byte, 1) < 0 ? arg : NULL;
}

/* Killed while its threads are parked; the parent's other child goes on. */
static void killed_while_parked(void)
{
	int fds[2], status;
	pthread_t thread;
	pid_t pid;

	if (pipe(fds) < 0)
		_exit(1);
	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (pid == 0) {
			for (int k = 0; k < 5; k++)
				(void)pthread_create(&thread, NULL, waits, &fds[0]);
			(void)waits(&fds[0]);
			_exit(1);
		}
		usleep((useconds_t)i * 100);
		(void)kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
			_exit(1);
	}
	puts("20 killed");
}

static void *crashes(void *arg)
{
	*(volatile int *)arg = 1;
	return NULL;
}

/* Dies in a thread, in a child of vfork, with a lock held, right after exec, of a stack that is used up. */
static void dies(void)
{
	static const char *const ways[] = { "kill -SEGV $$", "kill -KILL $$", "exec sh -c 'kill -ABRT $$'", "ulimit -t 1; kill -XCPU $$" };
	pthread_t thread;
	int status;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		printf("%s: %d\n", ways[i], system(ways[i]));
	fflush(stdout);
	if (fork() == 0) {
		(void)pthread_create(&thread, NULL, crashes, NULL);
		(void)pthread_join(thread, NULL);
		_exit(0);
	}
	(void)wait(&status);
	printf("a thread: %d\n", WTERMSIG(status));
	fflush(stdout);
	if (vfork() == 0)
		(void)kill(getpid(), SIGKILL);
	(void)wait(&status);
	printf("vfork: %d\n", WTERMSIG(status));
}

static const struct {
	const char *name;
	void (*happens)(void);
} kinds[] = { { "pointers", all_bad_pointers }, { "descriptors", no_descriptors }, { "exec", missing_file },
	      { "killed", killed_while_parked }, { "dies", dies } };

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kinds[i].happens();
	return 0;
}
