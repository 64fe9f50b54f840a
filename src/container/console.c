/* SPDX-License-Identifier: BSD-3-Clause */
/* Terminals: see console.h. */
#include "container/console.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

int console_open(int *ret_master, int *ret_slave, struct error *err)
{
	_cleanup_close_ int master = -1, slave = -1;
	int unlock = 0;

	master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0)
		return error_errno(err, errno, "cannot open /dev/ptmx");
	if (ioctl(master, TIOCSPTLCK, &unlock) < 0)
		return error_errno(err, errno, "cannot unlock a pseudo-terminal");
	/* by the master, not by a path that something could be mounted on */
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return error_errno(err, errno, "cannot open the pseudo-terminal's other side");
	*ret_master = take_fd(&master);
	*ret_slave = take_fd(&slave);
	return 0;
}

int console_make_raw(int fd, struct termios *ret_saved, struct error *err)
{
	struct termios saved, raw;

	if (tcgetattr(fd, &saved) < 0)
		return error_errno(err, errno, "cannot read the terminal's mode");
	raw = saved;
	cfmakeraw(&raw);
	if (tcsetattr(fd, TCSADRAIN, &raw) < 0)
		return error_errno(err, errno, "cannot set the terminal's mode");
	*ret_saved = saved;
	return 0;
}

void console_restore(int fd, const struct termios *saved)
{
	(void)tcsetattr(fd, TCSADRAIN, saved);
}

int console_copy_size(int from, int to)
{
	struct winsize size;

	if (ioctl(from, TIOCGWINSZ, &size) < 0 || ioctl(to, TIOCSWINSZ, &size) < 0)
		return -errno;
	return 0;
}

int console_set_size(int fd, unsigned short rows, unsigned short columns)
{
	const struct winsize size = { .ws_row = rows, .ws_col = columns };

	return ioctl(fd, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

int console_send(const char *path, const char *what, const char *name, int sent, struct error *err)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)name, .iov_len = strlen(name) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	_cleanup_close_ int fd = -1;

	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(err, ENAMETOOLONG, "%s %s: the path is too long", what, path);
	memcpy(address.sun_path, path, strlen(path));
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &sent, sizeof(int));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return error_errno(err, errno, "%s %s", what, path);
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? error_errno(err, errno, "%s %s", what, path) : 0;
}
