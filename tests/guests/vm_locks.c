/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks: for readers and writers, that lend priority, that outlive their owner, that lie in shared memory. See vm.h. */
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "vm_threads.h"

/* ---- readers and writers, once, semaphores ---- */

static pthread_rwlock_t shelf;
static atomic_int writer;

static void *write_in(void *arg)
{
	atomic_store(&writer, (int)syscall(SYS_gettid));
	pthread_rwlock_wrlock(&shelf);
	*(int *)arg = 1;
	pthread_rwlock_unlock(&shelf);
	return NULL;
}

static pthread_once_t first_time = PTHREAD_ONCE_INIT;
static atomic_uint times;

static void only_once(void)
{
	vm_sleep_ms(2);
	atomic_fetch_add(&times, 1);
}

static void *at_first(void *arg)
{
	pthread_once(&first_time, only_once);
	atomic_fetch_add((atomic_uint *)arg, atomic_load(&times));
	return NULL;
}

static void other_locks(void)
{
	pthread_rwlockattr_t attr;
	pthread_t threads[4];
	struct timespec limit;
	int done = 0, tried_read;
	atomic_uint seen = 0;
	sem_t sem;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&shelf, &attr);
	pthread_rwlock_rdlock(&shelf);
	threads[0] = start(write_in, &done);
	while (!atomic_load(&writer))
		vm_sleep_ms(1);
	vm_until_sleeps(0, atomic_load(&writer));
	tried_read = pthread_rwlock_tryrdlock(&shelf);
	SAME("a reader behind a writer %s, who has not written %d", strerrorname_np(tried_read), !done);
	pthread_rwlock_unlock(&shelf);
	pthread_join(threads[0], NULL);
	SAME("written %d", done);
	for (int i = 0; i < 4; i++)
		threads[i] = start(at_first, &seen);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	SAME("once, before four go on: %u, %u", atomic_load(&times), atomic_load(&seen));
	MUST(sem_init(&sem, 0, 0));
	MUST(clock_gettime(CLOCK_REALTIME, &limit));
	SAME("a semaphore, too late %s", RESULT(sem_timedwait(&sem, &limit)));
	limit.tv_sec++;
	SAME("a semaphore, for a second %s", RESULT(sem_timedwait(&sem, &limit)));
	SAME("all of it %d", vm_clock(CLOCK_REALTIME) >= (uint64_t)limit.tv_sec * 1000000000 + (uint64_t)limit.tv_nsec);
	MUST(sem_post(&sem));
	SAME("a semaphore that is up %s", RESULT(sem_timedwait(&sem, &limit)));
}

/* ---- locks that lend priority ---- */

static void *try_foreign(void *arg)
{
	pthread_mutex_t *mutex = arg;
	int tried = pthread_mutex_trylock(mutex), released = pthread_mutex_unlock(mutex);

	SAME("somebody else: trylock %s", strerrorname_np(tried));
	SAME("somebody else: unlock %s", strerrorname_np(released));
	return NULL;
}

struct counted {
	pthread_mutex_t *mutex;
	int *count;
};

static void *count_up(void *arg)
{
	struct counted *c = arg;

	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(c->mutex);
		++*c->count;
		if (i % 50 == 0)
			vm_sleep_ms(1);
		pthread_mutex_unlock(c->mutex);
	}
	return NULL;
}

static void lending(void)
{
	static atomic_uint word;
	struct timespec soon;
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;
	pthread_t threads[3];
	int count = 0;
	struct counted c = { &mutex, &count };

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	MUST(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT) ? -1 : 0);
	pthread_mutex_init(&mutex, &attr);
	for (int i = 0; i < 3; i++)
		threads[i] = start(count_up, &c);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	SAME("three count to %d", count);
	pthread_mutex_lock(&mutex);
	SAME("again %s", strerrorname_np(pthread_mutex_lock(&mutex)));
	threads[0] = start(try_foreign, &mutex);
	pthread_join(threads[0], NULL);
	pthread_mutex_unlock(&mutex);
	pthread_mutexattr_destroy(&attr);
	atomic_store(&word, (unsigned)syscall(SYS_gettid));
	SAME("owned by oneself %s", RESULT(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, 0, NULL, 0)));
	SAME("tried %s", RESULT(futex(&word, FUTEX_TRYLOCK_PI_PRIVATE, 0, 0, NULL, 0)));
	SAME("released %s", RESULT(futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, 0, NULL, 0)));
	SAME("word %u", atomic_load(&word));
	SAME("not one's own %s", RESULT(futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, 0, NULL, 0)));
	atomic_store(&word, 99999999);
	SAME("owned by nobody %s", RESULT(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, 0, NULL, 0)));
	atomic_store(&word, 0);
	SAME("free %s", RESULT(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, 0, NULL, 0)));
	SAME("ours %d", atomic_load(&word) == (unsigned)syscall(SYS_gettid));
	/* As std::future::wait_for makes them: relative, and absolute by both clocks. */
	atomic_store(&word, 0);
	soon = (struct timespec){ 0, 20000000 };
	SAME("relative %s", RESULT(futex(&word, FUTEX_WAIT, 0, (uintptr_t)&soon, NULL, 0)));
	clock_gettime(CLOCK_REALTIME, &soon);
	SAME("by the date %s", RESULT(futex(&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, (uintptr_t)&soon, NULL, ~0u)));
	clock_gettime(CLOCK_MONOTONIC, &soon);
	soon.tv_sec++;
	SAME("steadily %s", RESULT(futex(&word, FUTEX_WAIT_BITSET, 0, (uintptr_t)&soon, NULL, ~0u)));
	SAME("in time %d", vm_now() >= (uint64_t)soon.tv_sec * 1000000000 + (uint64_t)soon.tv_nsec);
	SHOWN("at %llu", (unsigned long long)vm_now());
}

/* ---- locks that outlive their owner ---- */

static pthread_mutex_t *shared_mutex(void)
{
	pthread_mutex_t *mutex = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(mutex, &attr);
	return mutex;
}

static void *lock_and_end(void *arg)
{
	pthread_mutex_lock(arg);
	return NULL;
}

static void say_lock(const char *what, pthread_mutex_t *mutex, bool repair)
{
	int r = pthread_mutex_lock(mutex);

	SAME("%s: %s", what, r ? strerrorname_np(r) : "locked");
	if (r == EOWNERDEAD && repair)
		pthread_mutex_consistent(mutex);
	if (r == 0 || r == EOWNERDEAD)
		pthread_mutex_unlock(mutex);
}

static void robust(const char *program)
{
	pthread_mutex_t *mutex = shared_mutex();
	int p[2];
	pid_t child;
	char c;

	pthread_join(start(lock_and_end, mutex), NULL);
	say_lock("after a thread", mutex, true);
	say_lock("once", mutex, true);
	MUST(pipe(p));
	child = (pid_t)MUST(fork());
	if (!child) {
		pthread_mutex_lock(mutex);
		MUST(write(p[1], "x", 1));
		for (;;)
			(void)pause();
	}
	MUST(read(p[0], &c, 1));
	SAME("held %s", strerrorname_np(pthread_mutex_trylock(mutex)));
	MUST(kill(child, SIGKILL));
	say_lock("after one that was killed", mutex, true); /* waits for it */
	MUST(waitpid(child, NULL, 0));
	child = (pid_t)MUST(fork());
	if (!child) {
		pthread_mutex_lock(mutex);
		(void)execl(program, program, "nothing", (char *)NULL);
		_exit(99);
	}
	MUST(waitpid(child, NULL, 0));
	say_lock("after exec", mutex, false);
	say_lock("left as it was", mutex, true);
	close(p[0]);
	close(p[1]);
}

/* ---- whose word it is ---- */

static void shared_words(void)
{
	atomic_uint *one, *other, *own, *ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = (int)MUST(open("shared", O_RDWR | O_CREAT | O_TRUNC, 0600));
	pid_t child;
	int status;
	long n;

	MUST(ftruncate(fd, 8192));
	one = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	other = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	child = (pid_t)MUST(fork());
	if (!child) {
		atomic_fetch_add(ready, 1);
		_exit(futex(other, FUTEX_WAIT, 0, 0, NULL, 0) == 0 ? 0 : 1);
	}
	until(ready, 1);
	vm_until_sleeps(child, 0);
	SAME("as a private one %s", RESULT(futex(one + 1024, FUTEX_WAKE_PRIVATE, 9, 0, NULL, 0)));
	SAME("by a private mapping %s", RESULT(futex(own, FUTEX_WAKE, 9, 0, NULL, 0)));
	SAME("another place %s", RESULT(futex(one, FUTEX_WAKE, 9, 0, NULL, 0)));
	SAME("by another mapping %s", RESULT(futex(one + 1024, FUTEX_WAKE, 9, 0, NULL, 0)));
	MUST(wait(&status));
	SAME("woken %d", status == 0);
	/* After fork each has its own. */
	if (!MUST(fork())) {
		struct timespec limit = { 0, 200000000 };

		atomic_fetch_add(ready, 1);
		n = futex(own, FUTEX_WAIT, 0, (uintptr_t)&limit, NULL, 0);
		_exit(n < 0 && errno == ETIMEDOUT ? 0 : 1);
	}
	until(ready, 2);
	SAME("the child's is not ours %s", RESULT(futex(own, FUTEX_WAKE, 9, 0, NULL, 0)));
	MUST(wait(&status));
	SAME("nobody woke it %d", status == 0);
	close(fd);
	(void)unlink("shared");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return 0;
	other_locks();
	lending();
	robust(argv[0]);
	shared_words();
	vm_end();
	return 0;
}
