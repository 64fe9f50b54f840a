/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What threads wait for each other with: conditions, requeueing, spinning, semaphores; cancelling; a name that changes while it is used. Locks are vm_locks.c's.
 * See vm.h.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include "vm_threads.h"

enum { WAITERS = 10 };

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

int main(void)
{
	conditions();
	requeueing();
	chosen();
	spinning();
	changing_names();
	cancelling();
	passing();
	adding();
	vm_end();
	return 0;
}
