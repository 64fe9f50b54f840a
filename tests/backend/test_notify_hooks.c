/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend "notify" with guests of one thread: calls that are stopped at their return. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "drive.h"

/* More than one piece: what PTRACE_INTERRUPT cuts short. */
enum { MANY = 1000000 };

static int guest_moves_much(void)
{
	int in = memfd_create("in", 0), out = memfd_create("out", 0);

	check_int(ftruncate(in, MANY), 0);
	check(mark(1, 0, 0, 0) == 0);
	check_int(sendfile(out, in, NULL, MANY), MANY);
	check_int(sendfile(out, in, NULL, MANY), 0);
	check_int(sendfile(out, -1, NULL, MANY), -1);
	check_int(errno, EBADF);
	return 0;
}

static void test_unnoticed_hooks(struct drive *d)
{
	static const int64_t results[] = { MANY, 0, -EBADF };
	const struct verdict unnoticed = { .kind = VERDICT_HOOK, .unnoticed = true };
	struct event event;

	(void)drive_until(d, 1);
	drive_answer(d, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		(void)drive_until_call(d, SYS_sendfile);
		drive_resume(d, 0, unnoticed);
		event = drive_next(d);
		check_int(event.kind, EVENT_DONE);
		check_int(event.result, results[i]);
		drive_resume(d, 0, (struct verdict){ .kind = VERDICT_GO });
	}
	drive_to_end(d); /* no stop is left over */
}

static int guest_wants_hooks(void)
{
	char buf[16] = "";
	int fds[2];

	check_int(pipe(fds), 0);
	check_int(write(fds[1], "hello", 5), 5);
	check_int(mark(1, (uintptr_t)buf, 0, 0), 0);
	check_int(read(fds[0], buf, sizeof(buf)), 3);
	check(strcmp(buf, "HELLO") == 0);
	check_int(read(-1, buf, 1), -1);
	check_int(errno, EBADF);
	return 0;
}

static void test_hooks(struct drive *d)
{
	struct event event;
	uint64_t buf;

	event = drive_until(d, 1);
	buf = event.call.args[1];
	drive_answer(d, 0, 0);
	event = drive_until_call(d, SYS_read);
	drive_resume(d, 0, (struct verdict){ .kind = VERDICT_HOOK });
	event = drive_next(d);
	check_int(event.kind, EVENT_DONE);
	check_int(event.result, 5);
	check_int(d->g->ops->write(d->g, 0, buf, "HELLO", 5), 0);
	drive_resume(d, 0, (struct verdict){ .kind = VERDICT_GO, .set_result = true, .value = 3 });
	event = drive_until_call(d, SYS_read);
	drive_resume(d, 0, (struct verdict){ .kind = VERDICT_HOOK });
	event = drive_next(d);
	check_int(event.kind, EVENT_DONE);
	check_int(event.result, -EBADF);
	drive_pass(d, &event);
	drive_to_end(d);
}

static int guest_runs_shell(void)
{
	char *argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			 (char *)(uintptr_t) "x=$(echo abc | cat | cat); test \"$x\" = abc", NULL };

	(void)execv("/bin/sh", argv);
	return 1;
}

/* Each call of a pipeline passes through a hook, but those that make or end tasks. */
static void test_hook_everything(struct drive *d)
{
	static const int plain[] = { SYS_clone, SYS_fork, SYS_vfork, SYS_clone3, SYS_execve, SYS_exit_group, SYS_wait4,
				     SYS_read };
	struct event event;
	size_t i;

	while (d->living > 0) {
		event = drive_next(d);
		d->hook_all = event.kind == EVENT_CALL;
		for (i = 0; i < ARRAY_SIZE(plain); i++)
			d->hook_all = d->hook_all && event.call.nr != plain[i];
		drive_pass(d, &event);
	}
	check(d->counts[EVENT_DONE] > 50);
}

static int guest_gets_descriptor(void)
{
	char buf[8];
	int fd;

	fd = (int)mark(1, 0, 0, 0);
	check_int(fd, open("/dev/null", O_RDONLY) - 1);
	check_int(read(fd, buf, sizeof(buf)), 4);
	check(memcmp(buf, "gift", 4) == 0);
	check_int(fcntl(fd, F_GETFD), FD_CLOEXEC);
	return 0;
}

static void test_install(struct drive *d)
{
	struct verdict v = { .kind = VERDICT_INSTALL, .install_flags = O_CLOEXEC };
	int fds[2];

	check_int(pipe2(fds, O_CLOEXEC), 0);
	check_int(write(fds[1], "gift", 4), 4);
	(void)drive_until(d, 1);
	v.handle = fds[0];
	check_int(d->g->ops->resume(d->g, 0, &v), 3);
	drive_to_end(d);
}

static const struct scenario scenarios[] = {
	{ "hooks", guest_wants_hooks, test_hooks, 0, false },
	{ "hooks that a call does not notice", guest_moves_much, test_unnoticed_hooks, 0, false },
	{ "hook-everything", guest_runs_shell, test_hook_everything, 0, false },
	{ "install", guest_gets_descriptor, test_install, 0, false },
};

int main(int argc, char **argv)
{
	return drive_main(argc, argv, scenarios, ARRAY_SIZE(scenarios));
}
