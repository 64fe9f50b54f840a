/* SPDX-License-Identifier: BSD-3-Clause */
/* What few programs do, and none should get far with: names that are as long as may be, many groups, writes to where none belong. See vm.h. */
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "vm.h"

/* "../" and slashes up to a length, then the name. */
static const char *long_name(size_t len, const char *name)
{
	static char path[PATH_MAX + 1];

	memset(path, '/', sizeof(path));
	memcpy(path, "..", 2);
	(void)strcpy(path + len - strlen(name), name);
	return path;
}

/* Down into directories with long names, or up again and rid of them. */
static void go(const char *name, int depth)
{
	for (; depth > 0; depth--) {
		MUST(mkdir(name, 0755));
		MUST(chdir(name));
	}
	for (; depth < 0; depth++) {
		MUST(chdir(".."));
		MUST(rmdir(name));
	}
}

static void long_names(void)
{
	enum { DEPTH = 12 };
	char name[251];
	struct stat st;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	(void)!chdir("/dev/shm"); /* better: a mount of its own */
	(void)rmdir(name);
	go(name, DEPTH);
	SAME("made %s", RESULT(mkdir("../rough", 0755)));
	SAME("up %s", RESULT(stat("../rough", &st)));
	SAME("nothing there %s", RESULT(stat("../nothing", &st)));
	SAME("as long as may be %s", RESULT(stat(long_name(PATH_MAX - 1, "rough"), &st)));
	SAME("and nothing there %s", RESULT(stat(long_name(PATH_MAX - 1, "nothing"), &st)));
	SAME("too long %s", RESULT(stat(long_name(PATH_MAX, "rough"), &st)));
	SAME("a file %s", RESULT(open(long_name(PATH_MAX - 1, "nothing"), O_RDONLY)));
	SAME("gone %s", RESULT(rmdir("../rough")));
	go(name, -DEPTH);
}

static volatile sig_atomic_t caught;

static void on_signal(int signo)
{
	caught = signo;
}

/* The status file of such a task is longer than anybody expects. */
static void many_groups(void)
{
	enum { MANY = 3000 };
	static gid_t groups[MANY];
	struct stat st;
	int status = -1;
	pid_t child;

	for (gid_t i = 0; i < MANY; i++)
		groups[i] = 1000000 + i;
	if (setgroups(MANY, groups) < 0)
		return; /* only root may */
	(void)signal(SIGUSR1, on_signal);
	MUST(kill(getpid(), SIGUSR1));
	SAME("caught %s", sigabbrev_np(caught));
	SAME("the directory %s", RESULT(stat(".", &st)));
	vm_sleep_ms(3);
	(void)signal(SIGUSR1, SIG_DFL);
	child = (pid_t)MUST(fork());
	if (!child) {
		(void)pause();
		_exit(1);
	}
	MUST(kill(child, SIGUSR1));
	MUST(waitpid(child, &status, 0));
	SAME("the child: %s", WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : "lives");
	SAME("groups %s", RESULT(getgroups(0, NULL)));
}

/* Where hermit counts reads of clocks. */
static void nonsense(void)
{
	volatile uint64_t *page = (volatile uint64_t *)0x7ffff8001000;
	uint64_t before = vm_now();

	if (msync((void *)page, 4096, MS_ASYNC) == 0) {
		page[0] = 1000;
		page[2] = 0;
		vm_sleep_ms(1);
		page[0] = UINT64_MAX / 2;
		vm_sleep_ms(1);
	}
	SAME("time goes on %d", vm_now() > before);
}

int main(void)
{
	long_names();
	many_groups();
	nonsense();
	SHOWN("at %llu", (unsigned long long)vm_now());
	return 0;
}
