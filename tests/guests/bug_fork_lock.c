/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread forks while another one holds a lock: in the child nobody will ever release it. */
#include <sys/wait.h>

#include "bug.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *holder(void *arg)
{
	for (int i = 0; i < 3; i++) {
		(void)pthread_mutex_lock(&lock);
		note("h");
		(void)pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	pid_t child;

	if (pthread_create(&thread, NULL, holder, NULL) != 0)
		return 99;
	note("f");
	child = fork();
	if (child == 0) {
		(void)pthread_mutex_lock(&lock);
		_exit(0);
	}
	(void)pthread_join(thread, NULL);
	return waitpid(child, NULL, 0) == child ? 0 : 99;
}
