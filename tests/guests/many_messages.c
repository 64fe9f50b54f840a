/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives messages by threes, each of which comes after a while, for run_signals.sh, which sends signals meanwhile: ignored ones, which change
 * nothing, or with an argument such as are handled, behind which a call may have got less than three.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EACH = 3, MESSAGES = 1000 * EACH };

static volatile sig_atomic_t handled;

static void on_signal(int signo)
{
	(void)signo;
	handled = 1;
}

static int receive(int fd, int most)
{
	struct mmsghdr messages[EACH] = { { .msg_len = 0 } };
	struct iovec parts[EACH];
	char bytes[EACH][8];

	for (int i = 0; i < EACH; i++) {
		parts[i] = (struct iovec){ bytes[i], sizeof(bytes[i]) };
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	return recvmmsg(fd, messages, (unsigned)(most < EACH ? most : EACH), 0, NULL);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	int fds[2], got = 0, calls = 0, n;
	char byte;

	(void)argv;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) < 0 || sigaction(SIGUSR1, &action, NULL) < 0)
		return 1;
	(void)printf("ready\n");
	(void)fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) < 0)
		;
	if (fork() == 0) {
		for (int i = 0; i < MESSAGES; i++)
			if (usleep(1000) < 0 || send(fds[1], "x", 1, 0) != 1)
				i--;
		_exit(0);
	}
	while (got < MESSAGES && (n = receive(fds[0], MESSAGES - got)) > 0) {
		got += n;
		calls++;
	}
	(void)wait(NULL);
	if (argc > 1)
		(void)printf("%d messages, handled: %d\n", got, handled);
	else
		(void)printf("%d messages in %d calls\n", got, calls);
	return 0;
}
