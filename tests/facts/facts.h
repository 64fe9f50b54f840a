/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts about the kernel that the backend rests on, pinned as programs. Each fact is a function; a fact that does not hold on
 * this kernel fails with the line that saw it.
 */
#ifndef HS_TESTS_FACTS_FACTS_H
#define HS_TESTS_FACTS_FACTS_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct fact {
	const char *what;
	void (*run)(void);
};

#define check(condition)                                                                                        \
	do {                                                                                                    \
		if (!(condition)) {                                                                             \
			fprintf(stderr, "%s:%d: failed: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
			_exit(1);                                                                               \
		}                                                                                               \
	} while (0)

/* Each fact in a process of its own; children that a fact leaves behind die with it or with the alarm. */
static inline int check_facts(const struct fact *facts, size_t n)
{
	int status, failed = 0;
	size_t i;
	pid_t pid;

	for (i = 0; i < n; i++) {
		(void)fflush(NULL);
		pid = fork();
		if (pid == 0) {
			(void)alarm(30);
			facts[i].run();
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		printf("%s - %s\n", status == 0 ? "ok" : "not ok", facts[i].what);
		failed |= status != 0;
	}
	return failed;
}

#endif
