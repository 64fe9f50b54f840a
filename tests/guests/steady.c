/* SPDX-License-Identifier: BSD-3-Clause */
/* A guest with something of everything that could differ from run to run, and must not: threads, children, pipes, sleeps, signals, randomness. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 6 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long shared, done;
static int pipes[2];

static void *worker(void *arg)
{
	unsigned long id = (unsigned long)arg;
	struct timespec pause = { .tv_nsec = (long)(1000000 * (id * 7 % 5)) };
	char line[64];

	for (int i = 0; i < ROUNDS; i++) {
		(void)nanosleep(&pause, NULL);
		pthread_mutex_lock(&lock);
		shared = shared * 31 + id;
		(void)snprintf(line, sizeof(line), "thread %lu round %d shared %lu\n", id, i, shared);
		(void)!write(pipes[1], line, strlen(line));
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	done++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void on_signal(int signo)
{
	(void)!write(STDOUT_FILENO, "signal\n", 7);
}

/* A child that computes with what the parent sends, and ends after its parent's signal. */
static pid_t child(void)
{
	pid_t pid = fork();
	char buf[256];
	ssize_t n;
	unsigned long sum = 0;

	if (pid != 0)
		return pid;
	(void)close(pipes[1]);
	while ((n = read(pipes[0], buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 131 + (unsigned char)buf[i];
	printf("child %lu\n", sum);
	(void)fflush(stdout);
	(void)kill(getppid(), SIGUSR1);
	_exit((int)(sum % 7));
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned char random[8];
	struct timespec now;
	int status, fd;
	pid_t pid;

	(void)signal(SIGUSR1, on_signal);
	if (pipe(pipes) < 0)
		return 2;
	pid = child();
	for (unsigned long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)(i + 1)))
			return 2;
	pthread_mutex_lock(&lock);
	while (done < THREADS)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	(void)close(pipes[1]);
	while (waitpid(pid, &status, 0) < 0)
		;
	(void)!getrandom(random, sizeof(random), 0);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	printf("status %d shared %lu random %02x%02x time %lld.%09ld\n", WEXITSTATUS(status), shared, random[0], random[7],
	       (long long)now.tv_sec, now.tv_nsec);
	fd = open("steady.out", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	(void)!write(fd, random, sizeof(random));
	return 0;
}
