/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes write messages in two pieces to one pipe, as if a message were written at once. 1 when two of them were mixed. */
#include <sys/wait.h>

#include "bug.h"

static void send_message(int fd, const char *word)
{
	if (write(fd, word, 1) != 1 || write(fd, word + 1, 1) != 1)
		_exit(99);
}

int main(void)
{
	char text[9] = "";
	int fds[2];
	pid_t child;

	if (pipe(fds) < 0)
		return 99;
	child = fork();
	for (int i = 0; i < 2; i++)
		send_message(fds[1], child ? "AB" : "CD");
	if (child == 0)
		_exit(0);
	(void)waitpid(child, NULL, 0);
	if (read(fds[0], text, 8) != 8)
		return 99;
	for (int i = 0; i < 8; i += 2)
		if (text[i + 1] != text[i] + 1)
			return fail(text);
	return 0;
}
