/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes make sure that a file does not exist before they make it: both may be right. 1 when both made it. */
#include <fcntl.h>
#include <sys/wait.h>

#include "bug.h"

static const char name[] = "/tmp/bug-toctou";

/* 1: made it. */
static int make(void)
{
	int fd;

	if (access(name, F_OK) == 0)
		return 0;
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		_exit(99);
	(void)close(fd);
	return 1;
}

int main(void)
{
	int status, made;
	pid_t child = fork();

	if (child < 0)
		return 99;
	if (child == 0)
		_exit(make());
	made = make();
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return 99;
	(void)unlink(name);
	return made + WEXITSTATUS(status) == 1 ? 0 : fail("both made the file");
}
