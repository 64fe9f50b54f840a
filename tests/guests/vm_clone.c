/* SPDX-License-Identifier: BSD-3-Clause */
/* clone and clone3: arguments that make no sense (clone(2)). See vm.h. */
#include <linux/sched.h>
#include <sched.h>
#include <stdbool.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "vm.h"

/* struct clone_args of linux/sched.h in its last size, and some more. */
struct args {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup, unknown;
};

/* By hermit, whatever else is wrong. */
#define REFUSED (CLONE_NEWNS | CLONE_INTO_CGROUP)

enum { SIZE_0 = 64, SIZE_1 = 80, SIZE_2 = 88 };

static char stack[65536] __attribute__((aligned(16)));
static pid_t tids[1];

#define STACK (uint64_t)(uintptr_t)stack
#define TIDS (uint64_t)(uintptr_t)tids

static const struct {
	const char *name;
	struct args args;
	size_t size;
} wrong[] = {
	{ "too small", { 0 }, SIZE_0 - 1 },
	{ "nothing", { 0 }, 0 },
	{ "larger than a page", { 0 }, 4097 },
	{ "unknown field that is set", { .unknown = 1 }, sizeof(struct args) },
	{ "thread without shared handlers", { .flags = CLONE_THREAD | CLONE_VM }, SIZE_2 },
	{ "shared handlers without shared memory", { .flags = CLONE_SIGHAND }, SIZE_2 },
	{ "shared and cleared handlers", { .flags = CLONE_SIGHAND | CLONE_VM | CLONE_CLEAR_SIGHAND }, SIZE_2 },
	{ "detached", { .flags = CLONE_DETACHED }, SIZE_2 },
	{ "unknown flag", { .flags = 1ull << 60 }, SIZE_2 },
	{ "signal in the flags", { .flags = SIGCHLD }, SIZE_2 },
	{ "signal that is none", { .exit_signal = 65 }, SIZE_2 },
	{ "huge signal", { .exit_signal = 1ull << 40 }, SIZE_2 },
	{ "signal of a thread's", { .flags = CLONE_THREAD | CLONE_SIGHAND | CLONE_VM, .exit_signal = SIGCHLD }, SIZE_2 },
	{ "signal of a sibling's", { .flags = CLONE_PARENT, .exit_signal = SIGCHLD }, SIZE_2 },
	{ "stack without a size", { .stack = STACK }, SIZE_2 },
	{ "size without a stack", { .stack_size = 4096 }, SIZE_2 },
	{ "stack that nobody can have", { .stack = 1ull << 62, .stack_size = 4096 }, SIZE_2 },
	{ "too many ids", { .set_tid = TIDS, .set_tid_size = 33 }, SIZE_2 },
	{ "ids nowhere", { .set_tid_size = 1 }, SIZE_2 },
	{ "no ids somewhere", { .set_tid = TIDS }, SIZE_2 },
	{ "directory and a new tree", { .flags = CLONE_FS | CLONE_NEWNS }, SIZE_2 },
	{ "cgroup too large", { .flags = CLONE_INTO_CGROUP, .cgroup = 1ull << 40 }, SIZE_2 },
	{ "cgroup that has no room", { .flags = CLONE_INTO_CGROUP }, SIZE_1 },
};

static void say(const char *name, bool refused, long pid)
{
	if (!pid)
		_exit(0);
	vm_line(refused ? '#' : '=', "%s: %s", name, pid > 0 ? "a child" : strerrorname_np(errno));
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, __WALL);
}

/* The child has our memory, and we wait until it ends or executes another program. */
static void borrowed(void)
{
	static volatile int here;
	char *argv[] = { "true", NULL };
	int status;
	pid_t child = vfork();

	if (!child) {
		vm_sleep_ms(5);
		here = 7;
		_exit(3);
	}
	SAME("vfork: written by the child %d", here);
	MUST(waitpid(child, &status, 0));
	SAME("vfork: status %x", (unsigned)status);
	child = vfork();
	if (!child) {
		vm_sleep_ms(5);
		here = 8;
		(void)execv("/bin/true", argv);
		_exit(99);
	}
	SAME("vfork and exec: written by the child %d", here);
	MUST(waitpid(child, &status, 0));
	SAME("vfork and exec: status %x", (unsigned)status);
	SAME("posix_spawn %d", posix_spawn(&child, "/bin/true", NULL, NULL, argv, NULL));
	MUST(waitpid(child, &status, 0));
	SAME("posix_spawn: status %x", (unsigned)status);
	SAME("posix_spawn of nothing: %s", strerrorname_np(posix_spawn(&child, "/no/such/program", NULL, NULL, argv, NULL)));
}

int main(void)
{
	struct args fine = { .exit_signal = SIGCHLD };
	int pidfd = -1;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		say(wrong[i].name, wrong[i].args.flags & REFUSED, syscall(SYS_clone3, &wrong[i].args, wrong[i].size));
	say("nowhere", false, syscall(SYS_clone3, (void *)8, SIZE_2));
	say("first size", false, syscall(SYS_clone3, &fine, SIZE_0));
	say("last size", false, syscall(SYS_clone3, &fine, SIZE_2));
	say("larger, and empty", false, syscall(SYS_clone3, &fine, sizeof(fine)));
	say("clone: two uses of one place", false, syscall(SYS_clone, CLONE_PIDFD | CLONE_PARENT_SETTID | SIGCHLD, 0, &pidfd, 0, 0));
	say("clone: detached and a descriptor", false, syscall(SYS_clone, CLONE_PIDFD | CLONE_DETACHED | SIGCHLD, 0, &pidfd, 0, 0));
	say("clone: thread without shared handlers", false, syscall(SYS_clone, CLONE_THREAD | CLONE_VM, 0, 0, 0, 0));
	say("clone: shared handlers without shared memory", false, syscall(SYS_clone, CLONE_SIGHAND | SIGCHLD, 0, 0, 0, 0));
	say("clone: directory and a new tree", true, syscall(SYS_clone, CLONE_FS | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0));
	say("clone: descriptor nowhere", false, syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, 8, 0, 0));
	borrowed();
	vm_end();
	return 0;
}
