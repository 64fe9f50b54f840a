/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend "notify" with guests of one thread: descriptors and paths. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "backend/notify/notify.h"
#include "base/cleanup.h"
#include "drive.h"

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

static const struct scenario scenarios[] = {
	{ "descriptor-kinds", guest_shows_descriptors, test_descriptor_kinds, 0, false },
	{ "handles", guest_moves_bytes, test_handles, 0, false },
	{ "outside-descriptor", guest_shows_stdin, test_outside_descriptor, 0, false },
	{ "paths", guest_shows_paths, test_paths, 0, true },
};

int main(int argc, char **argv)
{
	return drive_main(argc, argv, scenarios, ARRAY_SIZE(scenarios));
}
