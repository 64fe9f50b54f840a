/* SPDX-License-Identifier: BSD-3-Clause */
/* What the guests with a concurrency bug share. Each exits with 0, or with 1 and a message when its bug has come out. */
#ifndef HS_TESTS_GUESTS_BUG_H
#define HS_TESTS_GUESTS_BUG_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUG_THREADS_MAX = 8 };

/* A system call that changes nothing. */
static inline void note(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(99);
}

static inline int fail(const char *what)
{
	(void)fprintf(stderr, "%s\n", what);
	return 1;
}

struct together {
	pthread_barrier_t barrier;
	void *(*body)(void *);
};

static struct together together;

static inline void *body_together(void *arg)
{
	(void)pthread_barrier_wait(&together.barrier);
	return together.body(arg);
}

/* Starts n threads with their numbers, and waits for their ends. */
static inline void run_threads(void *(*body)(void *), int n)
{
	pthread_t threads[BUG_THREADS_MAX];

	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, body, (void *)(long)i) != 0)
			exit(99);
	for (int i = 0; i < n; i++)
		(void)pthread_join(threads[i], NULL);
}

/* The same, and none of them begins before all are there. */
static inline void run_together(void *(*body)(void *), int n)
{
	together.body = body;
	(void)pthread_barrier_init(&together.barrier, NULL, (unsigned)n);
	run_threads(body_together, n);
}

#endif
