/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend "notify" with guests of one thread: calls, hooks, memory, descriptors, signals, exec. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/notify/notify.h"
#include "backend/notify/vdso.h"
#include "base/cleanup.h"
#include "drive.h"

/* --- the first events, and the end --- */

static int guest_exits(void)
{
	return 7;
}

static void test_first_event_is_execve(struct drive *d)
{
	struct event event;

	event = drive_next(d);
	check_int(event.kind, EVENT_CALL);
	check_int(event.task, 0);
	check_int(event.call.nr, SYS_execve);
	drive_pass(d, &event);
	event = drive_next(d);
	check_int(event.kind, EVENT_EXEC);
	check_int(event.old_task, 0);
	drive_pass(d, &event);
	drive_to_end(d);
}

static void test_close_kills(struct drive *d)
{
	(void)drive_until_call(d, SYS_exit_group);
}

/* --- verdicts on calls --- */

static int guest_wants_answers(void)
{
	check_int(mark(1, 11, 22, 33), 4711);
	check_int(mark(1, 11, 22, 33), -1);
	check_int(errno, EDOM);
	check_int(syscall(SYS_getppid), 12345);
	check_int(syscall(SYS_kexec_load), -1);
	check_int(errno, EPERM);
	return 0;
}

static void test_answers(struct drive *d)
{
	struct event event;

	event = drive_until(d, 1);
	check_int(event.call.args[1], 11);
	check_int(event.call.args[2], 22);
	check_int(event.call.args[3], 33);
	check(event.call.ip != 0);
	drive_answer(d, 0, 4711);
	event = drive_until(d, 1);
	drive_answer(d, 0, -EDOM);
	(void)drive_until_call(d, SYS_getppid);
	drive_answer(d, 0, 12345);
	drive_to_end(d);
}

static void test_verdicts_that_do_not_fit(struct drive *d)
{
	struct verdict go = { .kind = VERDICT_GO }, none = { 0 }, signal = { .kind = VERDICT_SIGNAL };
	const struct guest_ops *ops = d->g->ops;
	struct event event;

	event = drive_next(d);
	check_int(ops->resume(d->g, 0, &go), -EINVAL);
	check_int(ops->resume(d->g, 0, &none), -EINVAL);
	check_int(ops->resume(d->g, 1, &go), -ESRCH);
	drive_pass(d, &event);
	event = drive_next(d);
	check_int(ops->resume(d->g, 0, &signal), -EINVAL);
	drive_pass(d, &event);
	drive_to_end(d);
}

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

/* --- memory --- */

enum { PAGE = 4096 };

static int guest_shows_memory(void)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(pages != MAP_FAILED);
	check_int(munmap(pages + 2 * PAGE, PAGE), 0);
	memset(pages, 'a', 2 * PAGE);
	strcpy(pages + PAGE - 3, "across");
	check_int(mprotect(pages, PAGE, PROT_READ), 0);
	check_int(mark(1, (uintptr_t)pages, 0, 0), 0);
	check(memcmp(pages + PAGE + 100, "written", 7) == 0);
	return 0;
}

static void test_memory(struct drive *d)
{
	const struct guest_ops *ops = d->g->ops;
	char buf[3 * PAGE];
	uint64_t base;

	base = drive_until(d, 1).call.args[1];
	check_int(ops->read(d->g, 0, base, buf, 2 * PAGE), 0);
	check(buf[0] == 'a' && buf[2 * PAGE - 1] == 'a');
	check_int(ops->read(d->g, 0, base + 2 * PAGE - 4, buf, 5), -EFAULT);
	check_int(ops->read(d->g, 0, 0, buf, 1), -EFAULT);
	check_int(ops->read(d->g, 0, 0, buf, 0), 0);
	check_int(ops->read(d->g, 0, UINT64_MAX - 1, buf, 8), -EFAULT);
	check_int(ops->write(d->g, 0, base + PAGE + 100, "written", 7), 0);
	check_int(ops->write(d->g, 0, base, "x", 1), -EFAULT);
	check_int(ops->read_string(d->g, 0, base + PAGE - 3, buf, sizeof(buf)), 6);
	check(strcmp(buf, "across") == 0);
	check_int(ops->read_string(d->g, 0, base + PAGE - 3, buf, 7), 6);
	check_int(ops->read_string(d->g, 0, base + PAGE - 3, buf, 6), -ENAMETOOLONG);
	check_int(ops->read_string(d->g, 0, base + PAGE + 200, buf, PAGE - 200), -ENAMETOOLONG);
	check_int(ops->read_string(d->g, 0, base + PAGE + 200, buf, PAGE), -EFAULT);
	check_int(ops->read_string(d->g, 0, base + 2 * PAGE, buf, 10), -EFAULT);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

static int guest_shows_mappings(void)
{
	char *shared = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("x", 0);
	char *one, *two;

	check_int(ftruncate(fd, 2 * PAGE), 0);
	one = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	two = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, PAGE);
	check_int(mark(1, (uintptr_t)shared, (uintptr_t)own, 0), 0);
	check_int(mark(2, (uintptr_t)one, (uintptr_t)two, 0), 0);
	return 0;
}

static void test_futex_key(struct drive *d)
{
	uint64_t a, b, object, offset, object2, offset2;
	const struct guest_ops *ops = d->g->ops;
	struct event event;

	event = drive_until(d, 1);
	a = event.call.args[1];
	b = event.call.args[2];
	check_int(ops->futex_key(d->g, 0, a + PAGE + 8, &object, &offset), 0);
	check_int(object, 1);
	check_int(offset, PAGE + 8);
	check_int(ops->futex_key(d->g, 0, b + 16, &object, &offset), 0);
	check_int(object, 0);
	check_int(ops->futex_key(d->g, 0, 8, &object, &offset), -EFAULT);
	drive_answer(d, 0, 0);
	event = drive_until(d, 2);
	check_int(ops->futex_key(d->g, 0, event.call.args[1] + PAGE + 4, &object, &offset), 0);
	check_int(ops->futex_key(d->g, 0, event.call.args[2] + 4, &object2, &offset2), 0);
	check_int(object, 2);
	check_int(object2, 2);
	check_int(offset, offset2);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

/* --- descriptors --- */

static void show_descriptor(int fd, enum fd_kind kind)
{
	check(fd >= 0);
	check_int(mark(1, (uint64_t)fd, kind, 0), 0);
}

static int guest_shows_descriptors(void)
{
	struct itimerspec never = { 0 };
	int fds[2], timer, pidfd;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	check_int(pipe(fds), 0);
	show_descriptor(fds[0], FD_PIPE);
	show_descriptor(open("/etc/passwd", O_RDONLY), FD_FILE);
	show_descriptor(open("/etc", O_RDONLY), FD_DIR);
	show_descriptor(open("/etc", O_PATH), FD_PATH);
	show_descriptor(open("/dev/null", O_RDONLY), FD_CHAR);
	show_descriptor(open("/dev/ptmx", O_RDWR), FD_TTY);
	show_descriptor(open("/proc/self/stat", O_RDONLY), FD_PROC);
	show_descriptor(open("/proc", O_RDONLY), FD_PROC);
	show_descriptor(open("/sys/kernel", O_RDONLY), FD_SYS);
	show_descriptor(socket(AF_UNIX, SOCK_STREAM, 0), FD_UNIX);
	show_descriptor(socket(AF_INET, SOCK_DGRAM, 0), FD_INET);
	show_descriptor(socket(AF_INET6, SOCK_DGRAM, 0), FD_INET);
	show_descriptor(socket(AF_NETLINK, SOCK_RAW, 0), FD_NETLINK);
	show_descriptor(eventfd(0, 0), FD_EVENTFD);
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	check_int(timerfd_settime(timer, 0, &never, NULL), 0);
	show_descriptor(timer, FD_TIMERFD);
	show_descriptor(signalfd(-1, &set, 0), FD_SIGNALFD);
	show_descriptor(epoll_create1(0), FD_EPOLL);
	show_descriptor(inotify_init(), FD_INOTIFY);
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	show_descriptor(pidfd, FD_PIDFD);
	check_int(mark(3, (uint64_t)pidfd, (uint64_t)getpid(), 0), 0);
	return mark(2, 0, 0, 0) ? 1 : 0;
}

static void test_descriptor_kinds(struct drive *d)
{
	const struct guest_ops *ops = d->g->ops;
	struct fd_info info;
	struct event event;
	int handle;

	for (;;) {
		event = drive_until_call(d, MARK_NR);
		if (event.call.args[0] == 3)
			break;
		handle = ops->fd_borrow(d->g, 0, (int)event.call.args[1]);
		check(handle >= 0);
		check_int(ops->handle_info(d->g, handle, &info), 0);
		check_int(info.kind, event.call.args[2]);
		check(!info.external);
		ops->handle_release(d->g, handle);
		drive_answer(d, 0, 0);
	}
	check_int(ops->pidfd_target(d->g, 0, (int)event.call.args[1]), event.call.args[2]);
	check_int(ops->pidfd_target(d->g, 0, 0), -EBADF);
	drive_answer(d, 0, 0);
	(void)drive_until(d, 2);
	check_int(ops->fd_borrow(d->g, 0, 999), -EBADF);
	check_int(ops->fd_borrow(d->g, 0, -1), -EBADF);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

static int guest_moves_bytes(void)
{
	int pipes[2], sockets[2], broken[2];

	check_int(pipe(pipes), 0);
	check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	check_int(pipe(broken), 0);
	check_int(close(broken[0]), 0);
	check_int(mark(1, (uint64_t)pipes[0], (uint64_t)pipes[1], 0), 0);
	check_int(mark(2, (uint64_t)sockets[0], (uint64_t)sockets[1], 0), 0);
	check_int(mark(3, (uint64_t)broken[1], 0, 0), 0);
	return 0;
}

static void move_bytes(struct drive *d, const struct event *event)
{
	struct handle_poll polls[2] = { { .events = POLLIN }, { .events = POLLOUT } };
	const struct guest_ops *ops = d->g->ops;
	char buf[8];

	polls[0].handle = ops->fd_borrow(d->g, 0, (int)event->call.args[1]);
	polls[1].handle = ops->fd_borrow(d->g, 0, (int)event->call.args[2]);
	check_int(ops->handles_poll(d->g, polls, 2, 0), 1);
	check_int(polls[0].revents, 0);
	check_int(polls[1].revents, POLLOUT);
	check_int(ops->handle_read(d->g, polls[0].handle, buf, sizeof(buf)), -EAGAIN);
	check_int(ops->handle_write(d->g, polls[1].handle, "abc", 3), 3);
	check_int(ops->handles_poll(d->g, polls, 2, -1), 2);
	check_int(ops->handle_read(d->g, polls[0].handle, buf, sizeof(buf)), 3);
	check(memcmp(buf, "abc", 3) == 0);
	ops->handle_release(d->g, polls[0].handle);
	ops->handle_release(d->g, polls[1].handle);
	drive_answer(d, 0, 0);
}

static void test_handles(struct drive *d)
{
	const struct guest_ops *ops = d->g->ops;
	struct handle_poll nothing = { .events = POLLIN };
	struct event event;
	int handle;

	event = drive_until(d, 1);
	nothing.handle = ops->fd_borrow(d->g, 0, (int)event.call.args[1]);
	check_int(kill(getpid(), SIGUSR2), 0);
	check_int(ops->handles_poll(d->g, &nothing, 1, -1), -EINTR);
	ops->handle_release(d->g, nothing.handle);
	move_bytes(d, &event);
	event = drive_next(d);
	check_int(event.kind, EVENT_OUTSIDE);
	check_int(event.signo, SIGUSR2);
	event = drive_until(d, 2);
	move_bytes(d, &event);
	event = drive_until(d, 3);
	handle = ops->fd_borrow(d->g, 0, (int)event.call.args[1]);
	check_int(ops->handle_write(d->g, handle, "x", 1), -EPIPE);
	ops->handle_release(d->g, handle);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

static int guest_shows_stdin(void)
{
	check_int(mark(1, 0, 0, 0), 0);
	return 0;
}

static void test_outside_descriptor(struct drive *d)
{
	const struct guest_ops *ops = d->g->ops;
	struct fd_info info;
	struct stat st;
	int handle;

	(void)drive_until(d, 1);
	handle = ops->fd_borrow(d->g, 0, 1);
	check_int(ops->handle_info(d->g, handle, &info), 0);
	check_int(fstat(1, &st), 0);
	check_int(info.ino, st.st_ino);
	check_int(info.external, S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || info.kind == FD_TTY);
	ops->handle_release(d->g, handle);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

/* --- paths --- */

static char path_dir[PATH_MAX];

static int guest_shows_paths(void)
{
	char dir[] = "/tmp/notify-paths-XXXXXX";
	int fd;

	check(mkdtemp(dir) != NULL);
	check_int(chdir(dir), 0);
	check_int(mkdir("d", 0755), 0);
	check_int(mkfifo("d/fifo", 0644), 0);
	check_int(symlink("d/fifo", "link"), 0);
	check_int(symlink("../d/fifo", "d/up"), 0);
	check_int(symlink("nowhere", "dangling"), 0);
	check_int(symlink("/proc/self/nowhere", "doubtful"), 0);
	fd = open("d", O_RDONLY);
	check_int(mark(1, (uintptr_t)dir, (uint64_t)fd, 0), 0);
	check_int(seteuid(65534), 0);
	check_int(mark(2, 0, 0, 0), 0);
	check_int(seteuid(0), 0);
	check_int(mark(3, 0, 0, 0), 0);
	check_int(chdir("d"), 0);
	check_int(mark(5, 0, 0, 0), 0);
	check_int(rename("../link", "../moved") + chdir(".."), 0);
	check_int(mark(6, 0, 0, 0), 0);
	check_int(rename("moved", "link"), 0);
	check_int(chroot("d"), 0);
	check_int(mark(4, 0, 0, 0), 0);
	/* the working directory is outside of the new root */
	check_int(unlink("d/fifo") + unlink("d/up") + rmdir("d") + unlink("link") + unlink("dangling") + unlink("doubtful"), 0);
	check_int(chdir(".."), 0);
	check_int(rmdir(strrchr(dir, '/') + 1), 0);
	return 0;
}

static int mode_of(struct drive *d, int dirfd, const char *path, int flags)
{
	struct fd_info info;
	int r;

	r = d->g->ops->path_info(d->g, 0, dirfd, path, flags, &info);
	return r < 0 ? r : (int)(info.mode & S_IFMT);
}

static int stat_mode(struct drive *d, int dirfd, const char *path, int flags)
{
	struct file_stat stat;
	int r;

	r = d->g->ops->path_stat(d->g, 0, dirfd, path, flags, &stat);
	return r < 0 ? r : (int)(stat.mode & S_IFMT);
}

/* Entries of directories, which are asked for by name; and what they are once more when the directory is another one. */
static void check_entries(struct drive *d, int fd)
{
	struct file_stat stat;

	check_int(stat_mode(d, AT_FDCWD, "d", 0), S_IFDIR);
	check_int(stat_mode(d, AT_FDCWD, "link", 0), S_IFIFO);
	check_int(stat_mode(d, AT_FDCWD, "link", AT_SYMLINK_NOFOLLOW), S_IFLNK);
	check_int(stat_mode(d, AT_FDCWD, ".", 0), S_IFDIR);
	check_int(stat_mode(d, AT_FDCWD, "dangling", 0), -ENOENT);
	check_int(stat_mode(d, AT_FDCWD, "doubtful", 0), -ENOTSUP);
	check_int(stat_mode(d, fd, "fifo", 0), S_IFIFO);
	check_int(stat_mode(d, fd, "none", 0), -ENOENT);
	check_int(stat_mode(d, fd, "up", 0), S_IFIFO);
	check_int(stat_mode(d, fd, "", AT_EMPTY_PATH), S_IFDIR);
	check_int(d->g->ops->path_stat(d->g, 0, AT_FDCWD, "/proc", 0, &stat), 0);
	check(stat.synthetic);
}

static void test_paths(struct drive *d)
{
	struct event event;
	char path[PATH_MAX + 16];
	int fd;

	event = drive_until(d, 1);
	fd = (int)event.call.args[2];
	check(d->g->ops->read_string(d->g, 0, event.call.args[1], path_dir, sizeof(path_dir)) > 0);
	(void)snprintf(path, sizeof(path), "%s/d/fifo", path_dir);
	check_int(mode_of(d, AT_FDCWD, path, 0), S_IFIFO);
	check_int(mode_of(d, AT_FDCWD, "d/fifo", 0), S_IFIFO);
	check_int(mode_of(d, AT_FDCWD, "link", 0), S_IFIFO);
	check_int(mode_of(d, AT_FDCWD, "link", AT_SYMLINK_NOFOLLOW), S_IFLNK);
	check_int(mode_of(d, fd, "fifo", 0), S_IFIFO);
	check_int(mode_of(d, fd, "../link", 0), S_IFIFO);
	check_int(mode_of(d, fd, "up", 0), S_IFIFO);
	check_int(mode_of(d, fd, "none", 0), -ENOENT);
	check_int(mode_of(d, AT_FDCWD, "link/x", 0), -ENOTDIR);
	check_int(mode_of(d, AT_FDCWD, "/etc/passwd/x", 0), -ENOTDIR);
	check_int(mode_of(d, AT_FDCWD, "/no/such/file", 0), -ENOENT);
	check_int(mode_of(d, AT_FDCWD, "", 0), -ENOENT);
	check_int(mode_of(d, 999, "x", 0), -EBADF);
	check_int(mode_of(d, AT_FDCWD, "dangling", 0), -ENOENT); /* that procfs has no part in it is certain */
	check_int(mode_of(d, AT_FDCWD, "doubtful", 0), -ENOTSUP);
	check_int(mode_of(d, AT_FDCWD, "doubtful", AT_SYMLINK_NOFOLLOW), S_IFLNK);
	check_int(mode_of(d, AT_FDCWD, "/proc/self/stat", 0), S_IFREG);
	check_int(mode_of(d, AT_FDCWD, "/dev/stdin", 0), -ENOTSUP);
	check_int(mode_of(d, AT_FDCWD, "/dev/fd/0", 0), -ENOTSUP);
	check_int(mode_of(d, AT_FDCWD, "/dev/null", 0), S_IFCHR);
	check_entries(d, fd);
	drive_answer(d, 0, 0);
	(void)drive_until(d, 2);
	check_int(mode_of(d, AT_FDCWD, "/etc/passwd", 0), S_IFREG);
	check_int(mode_of(d, AT_FDCWD, path, 0), -EACCES); /* mkdtemp: 0700 */
	check_int(geteuid(), 0);
	drive_answer(d, 0, 0);
	(void)drive_until(d, 3);
	check_int(mode_of(d, AT_FDCWD, path, 0), S_IFIFO);
	drive_answer(d, 0, 0);
	(void)drive_until(d, 5);
	check_int(stat_mode(d, AT_FDCWD, "fifo", 0), S_IFIFO);
	check_int(stat_mode(d, AT_FDCWD, "link", AT_SYMLINK_NOFOLLOW), -ENOENT);
	check_int(stat_mode(d, AT_FDCWD, "../link", AT_SYMLINK_NOFOLLOW), S_IFLNK);
	drive_answer(d, 0, 0);
	(void)drive_until(d, 6);
	check_int(stat_mode(d, AT_FDCWD, "link", AT_SYMLINK_NOFOLLOW), -ENOENT);
	check_int(stat_mode(d, AT_FDCWD, "moved", AT_SYMLINK_NOFOLLOW), S_IFLNK);
	check_int(stat_mode(d, fd, "fifo", 0), S_IFIFO);
	drive_answer(d, 0, 0);
	(void)drive_until(d, 4);
	check_int(mode_of(d, AT_FDCWD, "/fifo", 0), -ENOTSUP);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

/* --- signals --- */

static siginfo_t got_info;
static volatile int got_signals;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	got_info = *info;
	got_signals++;
}

static void install_handler(int signo, int flags)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags };

	check_int(sigaction(signo, &sa, NULL), 0);
}

static int guest_gets_signals(void)
{
	sigset_t set;

	install_handler(SIGALRM, 0);
	install_handler(SIGUSR1, SA_RESTART);
	check_int(mark(1, 0, 0, 0), -1);
	check_int(errno, EINTR);
	check_int(got_signals, 1);
	check_int(got_info.si_code, SI_KERNEL);
	check_int(mark(2, 0, 0, 0), 55);
	check_int(got_signals, 2);
	check_int(got_info.si_code, SI_QUEUE);
	check_int(got_info.si_value.sival_int, 99);
	check_int(raise(SIGUSR1), 0);
	check_int(got_signals, 2);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	check_int(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	check_int(mark(3, 0, 0, 0), 0);
	check_int(sigwaitinfo(&set, NULL), SIGUSR2);
	install_handler(SIGUSR2, 0);
	check_int(mark(4, 0, 0, 0), 0);
	check_int(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
	check_int(got_info.si_uid, 22);
	return 0;
}

static int send_usr2(struct drive *d, uid_t uid)
{
	siginfo_t info = { .si_signo = SIGUSR2, .si_code = SI_USER, .si_pid = 7, .si_uid = uid };

	return d->g->ops->signal_send(d->g, 0, false, &info);
}

static void test_signals(struct drive *d)
{
	siginfo_t timer = { .si_signo = SIGALRM, .si_code = SI_KERNEL }, queued = { .si_signo = SIGUSR1, .si_code = SI_QUEUE };
	const struct guest_ops *ops = d->g->ops;
	struct signal_state state;
	struct event event;

	(void)drive_until(d, 1);
	check_int(ops->signal_send(d->g, 0, false, &timer), 0);
	check_int(ops->signal_state(d->g, 0, &state), 0);
	check_int(state.process_pending, 1u << (SIGALRM - 1));
	check_int(state.thread_pending, 0);
	check(state.caught & 1u << (SIGUSR1 - 1));
	drive_resume(d, 0, (struct verdict){ .kind = VERDICT_RESTART, .value = -512 });
	event = drive_next(d);
	check_int(event.kind, EVENT_SIGNAL);
	check_int(event.siginfo.si_code, SI_KERNEL);
	drive_pass(d, &event);

	(void)drive_until(d, 2);
	queued.si_value.sival_int = 99;
	check_int(ops->signal_send(d->g, 0, true, &queued), 0);
	check_int(ops->signal_state(d->g, 0, &state), 0);
	check_int(state.thread_pending, 1u << (SIGUSR1 - 1));
	drive_resume(d, 0, (struct verdict){ .kind = VERDICT_RESTART, .value = -512 });
	event = drive_next(d);
	check_int(event.kind, EVENT_SIGNAL);
	check_int(event.siginfo.si_code, SI_QUEUE);
	drive_pass(d, &event);
	(void)drive_until(d, 2); /* restarted after the handler */
	drive_answer(d, 0, 55);

	event = drive_until_kind(d, EVENT_SIGNAL); /* swallowed */
	drive_resume(d, 0, (struct verdict){ .kind = VERDICT_SIGNAL });

	(void)drive_until(d, 3);
	check_int(ops->signal_state(d->g, 0, &state), 0);
	check(state.blocked & 1u << (SIGUSR2 - 1));
	/* the first is taken without delivery; of the others the first one counts */
	check_int(send_usr2(d, 11), 0);
	drive_answer(d, 0, 0);
	(void)drive_until(d, 4);
	check_int(send_usr2(d, 22), 0);
	check_int(send_usr2(d, 33), 0);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

static int guest_crashes(void)
{
	volatile uintptr_t bad = 8;

	*(volatile char *)bad = 1;
	return 0;
}

static void test_fault(struct drive *d)
{
	struct event event;

	event = drive_until_kind(d, EVENT_SIGNAL);
	check_int(event.siginfo.si_signo, SIGSEGV);
	check_int((intptr_t)event.siginfo.si_addr, 8);
	drive_pass(d, &event);
	drive_to_end(d);
}

static int guest_stops(void)
{
	check_int(raise(SIGSTOP), 0);
	check_int(mark(1, 0, 0, 0), 0);
	return 3;
}

static void test_stop_and_continue(struct drive *d)
{
	struct event event;

	event = drive_until_kind(d, EVENT_STOPPED);
	check_int(event.signo, SIGSTOP);
	drive_pass(d, &event);
	check_int(kill(d->pid, SIGCONT), 0);
	event = drive_next(d);
	check_int(event.kind, EVENT_CONTINUED);
	drive_pass(d, &event);
	event = drive_next(d);
	check_int(event.kind, EVENT_SIGNAL);
	check_int(event.siginfo.si_signo, SIGCONT);
	drive_pass(d, &event);
	(void)drive_until(d, 1);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

/* A look at the stack of a stopped task leaves it stopped. */
static void test_look_at_stopped(struct drive *d)
{
	struct event event;
	char *text;

	event = drive_until_kind(d, EVENT_STOPPED);
	check_int(d->g->ops->backtrace(d->g, 0, &text), 0);
	check(strstr(text, "guest_stops (") != NULL);
	free(text);
	drive_pass(d, &event);
	check_int(d->g->ops->backtrace(d->g, 0, &text), 0);
	check(strstr(text, "guest_stops (") != NULL);
	free(text);
	check_int(kill(d->pid, SIGCONT), 0);
	event = drive_next(d);
	check_int(event.kind, EVENT_CONTINUED);
	drive_pass(d, &event);
	drive_to_end(d);
	check_int(d->counts[EVENT_STOPPED], 1);
}

static void test_killed_while_parked(struct drive *d)
{
	struct event event;

	(void)drive_until_call(d, SYS_exit_group);
	check_int(kill(d->pid, SIGKILL), 0);
	event = drive_next(d);
	check_int(event.kind, EVENT_EXIT);
	check_int(event.wait_status, SIGKILL);
	check_int(d->g->ops->read(d->g, 0, 0, &event, 1), -ESRCH);
}

static void test_answer_after_death(struct drive *d)
{
	struct event event;
	siginfo_t info;

	(void)drive_until_call(d, SYS_exit_group);
	check_int(kill(d->pid, SIGKILL), 0);
	check_int(waitid(P_PID, (id_t)d->pid, &info, WEXITED | WNOWAIT | __WALL), 0);
	drive_answer(d, 0, 0);
	event = drive_next(d);
	check_int(event.kind, EVENT_EXIT);
}

/* --- time and randomness of a fresh image --- */

static int guest_asks_vdso(void)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_NOW);
	static const char *const names[] = { "__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time", "__vdso_clock_getres",
					     "__vdso_getcpu", "__vdso_getrandom" };
	ssize_t (*getrandom_fn)(void *, size_t, unsigned, void *, size_t);
	int (*functions[6])(long, void *, void *);
	char buf[64];
	size_t i;

	check(vdso != NULL);
	check(memcmp((void *)getauxval(AT_RANDOM), "0123456789abcdef", 16) == 0);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		*(void **)&functions[i] = dlsym(vdso, names[i]);
	check_int(mark(1, functions[5] != NULL, 0, 0), 0);
	check_int(functions[0](CLOCK_MONOTONIC, buf, NULL), 0);
	check_int(functions[1]((long)buf, NULL, NULL), 0);
	check(functions[2]((long)buf, NULL, NULL) != 0);
	check_int(functions[3](CLOCK_MONOTONIC, buf, NULL), 0);
	check_int(functions[4]((long)buf, buf + 8, NULL), 0);
	*(void **)&getrandom_fn = (void *)functions[5];
	if (getrandom_fn) {
		check_int(getrandom_fn(NULL, 0, 0, buf, ~0ul), -ENOSYS);
		check_int(getrandom_fn(buf, 5, 0, NULL, 0), 5);
	}
	return 0;
}

static void test_vdso(struct drive *d)
{
	static const int calls[] = { SYS_clock_gettime, SYS_gettimeofday, SYS_time, SYS_clock_getres, SYS_getcpu,
				     SYS_getrandom };
	struct event event;
	size_t i, n;

	d->setup_exec = true;
	event = drive_until(d, 1);
	n = event.call.args[1] ? 6 : 5;
	drive_answer(d, 0, 0);
	for (i = 0; i < n; i++) {
		event = drive_next(d);
		check_int(event.kind, EVENT_CALL);
		check_int(event.call.nr, calls[i]);
		drive_pass(d, &event);
	}
	check(d->g->abilities & GUEST_CAN_PATCH);
	drive_to_end(d);
}

static int guest_sees_no_vdso(void)
{
	struct timespec ts;

	check_int(mark(1, 0, 0, 0), 0);
	check(dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_NOW) == NULL);
	check_int(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	return 0;
}

/* Where the image is not the known one it is left alone, and hidden. */
static void test_unknown_vdso(struct drive *d)
{
	struct notify *n = notify_of(d->g);
	struct event event;

	n->vdso = vdso_new(VDSO_CALLS);
	check(n->vdso != NULL);
	n->vdso->before[0] ^= 1;
	if (n->vdso_page)
		n->vdso_page->before[0] ^= 1;
	d->setup_exec = true;
	(void)drive_until(d, 1);
	drive_answer(d, 0, 0);
	event = drive_until_call(d, SYS_clock_gettime);
	drive_pass(d, &event);
	check(d->g->abilities & GUEST_CAN_PATCH);
	drive_to_end(d);
}

/* --- waiting --- */

static int guest_pauses(void)
{
	(void)mark(1, 0, 0, 0);
	(void)pause();
	return 0;
}

static void test_host_signal(struct drive *d)
{
	struct event event;

	(void)drive_until(d, 1);
	drive_answer(d, 0, 0);
	event = drive_until_call(d, SYS_pause);
	drive_pass(d, &event);
	check_int(kill(getpid(), SIGUSR2), 0);
	event = drive_next(d);
	check_int(event.kind, EVENT_OUTSIDE);
	check_int(event.signo, SIGUSR2);
}

static int guest_computes(void)
{
	volatile unsigned i = 0;

	(void)mark(1, 0, 0, 0);
	while (i < 4000000000u)
		i = i + 1;
	return 0;
}

static void expect_alarm(struct drive *d, bool in_kernel)
{
	struct event event;

	notify_of(d->g)->watchdog_ms = 50;
	event = drive_next(d);
	check_int(event.kind, EVENT_ALARM);
	check_int(event.task, 0);
	check_int(event.alarm.in_kernel, in_kernel);
	event = drive_next(d); /* and again: it is still running */
	check_int(event.kind, EVENT_ALARM);
}

static void test_alarm_in_kernel(struct drive *d)
{
	struct event event;

	event = drive_until_call(d, SYS_pause);
	drive_pass(d, &event);
	expect_alarm(d, true);
}

static void test_alarm_in_program(struct drive *d)
{
	(void)drive_until(d, 1);
	drive_answer(d, 0, 0);
	expect_alarm(d, false);
}

/* --- cost --- */

enum { ROUNDS = 100000 };

static int guest_calls_much(void)
{
	int i;

	(void)mark(1, 0, 0, 0);
	for (i = 0; i < ROUNDS; i++)
		(void)syscall(SYS_getppid);
	(void)mark(2, 0, 0, 0);
	for (i = 0; i < ROUNDS / 10; i++)
		(void)syscall(SYS_getppid);
	(void)mark(3, 0, 0, 0);
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void test_cost(struct drive *d)
{
	uint64_t t;

	(void)drive_until(d, 1);
	drive_answer(d, 0, 0);
	t = now_ns();
	(void)drive_until(d, 2);
	printf("# %llu ns for a call let through\n", (unsigned long long)(now_ns() - t) / ROUNDS);
	d->hook_all = true;
	drive_answer(d, 0, 0);
	t = now_ns();
	(void)drive_until(d, 3);
	d->hook_all = false;
	printf("# %llu ns for a hooked call\n", (unsigned long long)(now_ns() - t) / (ROUNDS / 10));
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

#define EXITED(status) ((status) << 8)

static const struct scenario scenarios[] = {
	{ "first-event-is-execve", guest_exits, test_first_event_is_execve, EXITED(7), false },
	{ "close-kills", guest_exits, test_close_kills, 0, false },
	{ "answers", guest_wants_answers, test_answers, 0, false },
	{ "verdicts-that-do-not-fit", guest_exits, test_verdicts_that_do_not_fit, EXITED(7), false },
	{ "hooks", guest_wants_hooks, test_hooks, 0, false },
	{ "hooks that a call does not notice", guest_moves_much, test_unnoticed_hooks, 0, false },
	{ "hook-everything", guest_runs_shell, test_hook_everything, 0, false },
	{ "install", guest_gets_descriptor, test_install, 0, false },
	{ "memory", guest_shows_memory, test_memory, 0, false },
	{ "futex-key", guest_shows_mappings, test_futex_key, 0, false },
	{ "descriptor-kinds", guest_shows_descriptors, test_descriptor_kinds, 0, false },
	{ "handles", guest_moves_bytes, test_handles, 0, false },
	{ "outside-descriptor", guest_shows_stdin, test_outside_descriptor, 0, false },
	{ "paths", guest_shows_paths, test_paths, 0, true },
	{ "signals", guest_gets_signals, test_signals, 0, false },
	{ "fault", guest_crashes, test_fault, SIGSEGV, false },
	{ "stop-and-continue", guest_stops, test_stop_and_continue, EXITED(3), false },
	{ "look-at-stopped", guest_stops, test_look_at_stopped, EXITED(3), false },
	{ "killed-while-parked", guest_exits, test_killed_while_parked, SIGKILL, false },
	{ "answer-after-death", guest_exits, test_answer_after_death, SIGKILL, false },
	{ "vdso", guest_asks_vdso, test_vdso, 0, false },
	{ "unknown-vdso", guest_sees_no_vdso, test_unknown_vdso, 0, false },
	{ "host-signal", guest_pauses, test_host_signal, 0, false },
	{ "alarm-in-kernel", guest_pauses, test_alarm_in_kernel, 0, false },
	{ "alarm-in-program", guest_computes, test_alarm_in_program, 0, false },
	{ "cost", guest_calls_much, test_cost, 0, false },
};

int main(int argc, char **argv)
{
	return drive_main(argc, argv, scenarios, ARRAY_SIZE(scenarios));
}
