/* SPDX-License-Identifier: BSD-3-Clause */
/* Terminals: see console.h. */
#include "container/console.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
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
