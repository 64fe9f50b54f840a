/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recvtty SOCKET: what an engine does with --console-socket. Takes one terminal from the socket, says "name=..." and its size, then
 * copies standard input to it and what comes from it to standard output, until it hangs up.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int fail(const char *what)
{
	perror(what);
	return 1;
}

/* Whoever sees the socket can connect to it: it has its name when it listens. */
static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s.new", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 1) < 0 || rename(address.sun_path, path) < 0)
		return -1;
	return fd;
}

static int receive(int fd)
{
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char name[256];
	struct iovec iov = { .iov_base = name, .iov_len = sizeof(name) - 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header;
	ssize_t n = recvmsg(fd, &message, 0);
	int terminal;

	header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	name[n] = '\0';
	(void)printf("name=%s\n", name);
	(void)fflush(stdout);
	memcpy(&terminal, CMSG_DATA(header), sizeof(terminal));
	return terminal;
}

static int copy(int from, int to)
{
	char bytes[4096];
	ssize_t n = read(from, bytes, sizeof(bytes));

	if (n <= 0)
		return -1;
	return write(to, bytes, (size_t)n) == n ? 0 : -1;
}

int main(int argc, char **argv)
{
	const struct winsize size = { .ws_row = 30, .ws_col = 90 };
	struct pollfd polls[2] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .events = POLLIN } };
	int listener, connection;

	if (argc != 2)
		return 2;
	listener = listen_at(argv[1]);
	if (listener < 0)
		return fail("listen");
	connection = accept(listener, NULL, NULL);
	if (connection < 0)
		return fail("accept");
	polls[1].fd = receive(connection);
	if (polls[1].fd < 0)
		return fail("receive");
	(void)ioctl(polls[1].fd, TIOCSWINSZ, &size);
	while (poll(polls, 2, -1) >= 0 || errno == EINTR) {
		if (polls[1].revents && copy(polls[1].fd, STDOUT_FILENO) < 0)
			return 0;
		if (polls[0].revents && copy(STDIN_FILENO, polls[1].fd) < 0)
			polls[0].fd = -1;
	}
	return fail("poll");
}
