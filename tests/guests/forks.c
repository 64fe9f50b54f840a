/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that are called on both sides of fork, vfork and exec, beside a second thread. Lines in no certain order. */
#include <sys/wait.h>

#include "bug.h"

static volatile int stop;

static __attribute__((noinline)) int count(int n)
{
	volatile int sum = 0;

	for (int i = 0; i < n; i++)
		sum = sum + i;
	return sum;
}

static void *busy(void *arg)
{
	for (int i = 0; i < 50 && !stop; i++)
		(void)count(20);
	return NULL;
}

static void line(const char *what)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%s %d\n", what, count(10));

	if (write(STDOUT_FILENO, text, (size_t)n) != n)
		_exit(99);
}

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status != 0)
		_exit(98);
}

static void child_of_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pid = fork();
		if (pid == 0) {
			line("grandchild");
			_exit(0);
		}
		wait_for(pid);
		line("child");
		_exit(0);
	}
	wait_for(pid);
}

static void child_of_exec(char *self)
{
	char *argv[] = { self, (char *)"again", NULL };
	pid_t pid = vfork();

	if (pid == 0) {
		(void)execv(self, argv);
		_exit(97);
	}
	wait_for(pid);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, busy, NULL) != 0)
		return 99;
	line(argc > 1 ? "program" : "begin");
	child_of_fork();
	if (argc == 1)
		child_of_exec(argv[0]);
	stop = 1;
	(void)pthread_join(thread, NULL);
	return 0;
}
