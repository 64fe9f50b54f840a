/* SPDX-License-Identifier: BSD-3-Clause */
/* What threads and processes wait for each other with: conditions, locks that lend priority, that outlive their owner, that lie in shared memory. See vm.h. */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/ipc.h>
#include <sys/poll.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "vm.h"

enum { WAITERS = 10 };

static long futex(atomic_uint *word, int op, unsigned value, uintptr_t limit, atomic_uint *other, unsigned value3)
{
	return syscall(SYS_futex, word, op, value, limit, other, value3);
}

/* Until so many have been counted. */
static void until(atomic_uint *count, unsigned n)
{
	while (atomic_load(count) < n)
		vm_sleep_ms(1);
}

static pthread_t start(void *(*function)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, arg) != 0)
		exit(1);
	return thread;
}

/* ---- conditions ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static atomic_uint waiting, woken;
static unsigned granted;
static char order[WAITERS + 1];

static void *wait_condition(void *arg)
{
	pthread_mutex_lock(&lock);
	atomic_fetch_add(&waiting, 1);
	while (!granted)
		pthread_cond_wait(&condition, &lock);
	granted--;
	order[atomic_fetch_add(&woken, 1)] = (char)('0' + (intptr_t)arg);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void grant(unsigned n, int (*wake)(pthread_cond_t *))
{
	pthread_mutex_lock(&lock);
	granted += n;
	wake(&condition);
	pthread_mutex_unlock(&lock);
}

static void conditions(void)
{
	pthread_t threads[WAITERS];

	for (intptr_t i = 0; i < WAITERS; i++)
		threads[i] = start(wait_condition, (void *)i);
	until(&waiting, WAITERS);
	grant(1, pthread_cond_signal);
	until(&woken, 1);
	vm_sleep_ms(5);
	SAME("a signal wakes %u", atomic_load(&woken));
	grant(WAITERS - 1, pthread_cond_broadcast);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
	SAME("a broadcast wakes %u", atomic_load(&woken) - 1);
	SHOWN("in order %s", order);
}

/* ---- requeueing ---- */

static atomic_uint here, there, asleep, up;
static int sleepers[5];

static void *sleep_here(void *arg)
{
	*(int *)arg = (int)syscall(SYS_gettid);
	atomic_fetch_add(&asleep, 1);
	MUST(futex(&here, FUTEX_WAIT_PRIVATE, 0, 0, NULL, 0));
	atomic_fetch_add(&up, 1);
	return NULL;
}

static void requeueing(void)
{
	pthread_t threads[5];

	for (int i = 0; i < 5; i++)
		threads[i] = start(sleep_here, &sleepers[i]);
	until(&asleep, 5);
	for (int i = 0; i < 5; i++)
		vm_until_sleeps(0, sleepers[i]);
	SAME("another value %s", RESULT(futex(&here, FUTEX_CMP_REQUEUE_PRIVATE, 1, 10, &there, 7)));
	SAME("negative %s", RESULT(futex(&here, FUTEX_CMP_REQUEUE_PRIVATE, (unsigned)-1, 10, &there, 0)));
	SAME("one wakes, three move %s", RESULT(futex(&here, FUTEX_CMP_REQUEUE_PRIVATE, 1, 3, &there, 0)));
	until(&up, 1);
	SAME("those who moved %s", RESULT(futex(&there, FUTEX_WAKE_PRIVATE, 2, 0, NULL, 0)));
	until(&up, 3);
	SAME("the rest there %s", RESULT(futex(&there, FUTEX_WAKE_PRIVATE, 9, 0, NULL, 0)));
	SAME("and here %s", RESULT(futex(&here, FUTEX_REQUEUE_PRIVATE, 9, 9, &there, 0)));
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	SAME("none left %s", RESULT(futex(&here, FUTEX_WAKE_PRIVATE, 9, 0, NULL, 0)));
	SAME("up %u", atomic_load(&up));
}

/* ---- some of those who sleep, and two words at once ---- */

struct place {
	atomic_uint *word;
	unsigned bits;
	int tid;
};

static atomic_uint at_places;

static void *sleep_at(void *arg)
{
	struct place *place = arg;

	place->tid = (int)syscall(SYS_gettid);
	atomic_fetch_add(&at_places, 1);
	MUST(futex(place->word, FUTEX_WAIT_BITSET_PRIVATE, 0, 0, NULL, place->bits));
	return NULL;
}

static void chosen(void)
{
	static atomic_uint one, two;
	struct place places[] = { { &one, 1, 0 }, { &one, 2, 0 }, { &two, ~0u, 0 }, { &two, ~0u, 0 } };
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		threads[i] = start(sleep_at, &places[i]);
	until(&at_places, 4);
	for (int i = 0; i < 4; i++)
		vm_until_sleeps(0, places[i].tid);
	SAME("no bits %s", RESULT(futex(&one, FUTEX_WAKE_BITSET_PRIVATE, 9, 0, NULL, 0)));
	SAME("nobody's bit %s", RESULT(futex(&one, FUTEX_WAKE_BITSET_PRIVATE, 9, 0, NULL, 4)));
	SAME("one's bit %s", RESULT(futex(&one, FUTEX_WAKE_BITSET_PRIVATE, 9, 0, NULL, 6)));
	SAME("both words %s", RESULT(futex(&one, FUTEX_WAKE_OP_PRIVATE, 9, 1, &two, FUTEX_OP(FUTEX_OP_ADD, 5, FUTEX_OP_CMP_EQ, 0))));
	SAME("the second is %u", atomic_load(&two));
	SAME("not larger %s", RESULT(futex(&one, FUTEX_WAKE_OP_PRIVATE, 9, 9, &two, FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_GT, 7))));
	SAME("the second is %u", atomic_load(&two));
	SAME("no such operation %s", RESULT(futex(&one, FUTEX_WAKE_OP_PRIVATE, 9, 9, &two, FUTEX_OP(7, 1, FUTEX_OP_CMP_GT, 7))));
	SAME("who is left %s", RESULT(futex(&two, FUTEX_WAKE_PRIVATE, 9, 0, NULL, 0)));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* ---- spinning, with a word to the scheduler ---- */

enum { SPINNERS = 8 };

static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static int spun;
static char ends[SPINNERS + 1];

static void *spin_up(void *arg)
{
	for (int i = 0; i < 200; i++) {
		while (pthread_mutex_trylock(&contended) != 0)
			(void)sched_yield();
		spun++;
		if (i == 199)
			ends[strlen(ends)] = (char)('0' + (intptr_t)arg);
		if (i % 20 == 0)
			(void)sched_yield(); /* the others find it taken */
		pthread_mutex_unlock(&contended);
	}
	return NULL;
}

static void spinning(void)
{
	pthread_t threads[SPINNERS];

	for (intptr_t i = 0; i < SPINNERS; i++)
		threads[i] = start(spin_up, (void *)i);
	for (int i = 0; i < SPINNERS; i++)
		pthread_join(threads[i], NULL);
	SAME("spinners count to %d", spun);
	SHOWN("and end in order %s", ends);
}

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

/* ---- a name that another thread changes while it is used ---- */

static volatile char unsteady[] = "/tmp/vm_threads.x";
static atomic_bool enough;

static void *change_name(void *arg)
{
	while (!atomic_load(&enough)) {
		for (int i = 0; i < 100; i++)
			unsteady[sizeof(unsteady) - 2] = i % 3 ? 'x' : 'y';
		(void)sched_yield();
		unsteady[sizeof(unsteady) - 2] = 'y';
		(void)sched_yield();
	}
	return arg;
}

static void changing_names(void)
{
	int fd = (int)MUST(open("/tmp/vm_threads.x", O_RDWR | O_CREAT, 0600)), found = 0, missing = 0;
	pthread_t thread = start(change_name, NULL);
	uint64_t which = 0;

	close(fd);
	for (int i = 0; i < 500; i++) {
		fd = open((const char *)unsteady, O_RDONLY);
		found += fd >= 0;
		missing += fd < 0 && errno == ENOENT;
		which = which * 31 + (fd >= 0);
		if (fd >= 0)
			close(fd);
		(void)sched_yield();
	}
	atomic_store(&enough, true);
	pthread_join(thread, NULL);
	SAME("found or not: %d", found + missing);
	SHOWN("found %d times, %llx", found, (unsigned long long)which);
	(void)unlink("/tmp/vm_threads.x");
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

/* ---- cancelling ---- */

static int never[2];
static atomic_uint in_it;
static bool cleaned;

static void clean(void *arg)
{
	(void)arg;
	cleaned = true;
}

static void *wait_somehow(void *arg)
{
	struct pollfd look = { .fd = never[0], .events = POLLIN };
	char c;

	pthread_cleanup_push(clean, NULL);
	if (*(const char *)arg == 'a')
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	atomic_fetch_add(&in_it, 1);
	switch (*(const char *)arg) {
	case 'r':
		(void)!read(never[0], &c, 1);
		break;
	case 'p':
		(void)poll(&look, 1, -1);
		break;
	case 's':
		(void)sleep(1000);
		break;
	case 'd': /* not until it says so */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		vm_sleep_ms(10);
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
		pthread_testcancel();
		break;
	default: /* asynchronously, outside of any place for it */
		for (;;)
			(void)syscall(SYS_sched_yield);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancelling(void)
{
	static const char *const kinds[] = { "read", "poll", "sleep", "disabled", "asynchronous" };
	pthread_t thread;
	void *result;

	MUST(pipe(never));
	for (unsigned i = 0; i < 5; i++) {
		cleaned = false;
		thread = start(wait_somehow, (void *)(uintptr_t)kinds[i]);
		until(&in_it, i + 1);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		SAME("%s: cancelled %d, cleaned up %d", kinds[i], result == PTHREAD_CANCELED, cleaned);
	}
}

/* ---- who comes first ---- */

static int semaphore;
static atomic_uint arrived, left;
static char way[WAITERS + 1];

static void *pass(void *arg)
{
	struct sembuf down = { 0, -1, 0 };

	atomic_fetch_add(&arrived, 1);
	MUST(semop(semaphore, &down, 1));
	way[atomic_fetch_add(&left, 1)] = (char)('0' + (intptr_t)arg);
	return NULL;
}

static void passing(void)
{
	struct sembuf up_all = { 0, WAITERS, 0 };
	pthread_t threads[WAITERS];

	semaphore = (int)MUST(semget(IPC_PRIVATE, 1, 0600));
	for (intptr_t i = 0; i < WAITERS; i++)
		threads[i] = start(pass, (void *)i);
	until(&arrived, WAITERS);
	MUST(semop(semaphore, &up_all, 1));
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
	SAME("all pass %zu", strlen(way));
	SHOWN("in order %s", way);
	MUST(semctl(semaphore, 0, IPC_RMID));
}

static atomic_uint next_part;
static double total;

/* Parts of a sum as they come: rounding depends on who takes which, and who is done when. */
static void *add_up(void *arg)
{
	double sum = 0;
	unsigned part;

	(void)arg;
	while ((part = atomic_fetch_add(&next_part, 1)) < 400) {
		for (unsigned i = 0; i < 50; i++)
			sum += 1.0 / (1 + part * 50 + i);
		if (part % 7 == 0)
			vm_sleep_ms(0);
		(void)syscall(SYS_sched_yield);
	}
	pthread_mutex_lock(&lock);
	total += sum;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void adding(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		threads[i] = start(add_up, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	SAME("about %.6f", total);
	SHOWN("exactly %a", total);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return 0;
	conditions();
	requeueing();
	chosen();
	spinning();
	other_locks();
	changing_names();
	lending();
	robust(argv[0]);
	shared_words();
	cancelling();
	passing();
	adding();
	vm_end();
	return 0;
}
