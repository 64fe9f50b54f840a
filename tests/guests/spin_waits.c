/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that wait by spinning for what another does: usage: spin_waits NAME. Each ends by itself on any number of processors, and
 * prints what depends on the order of things.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, ROUNDS = 20 };

/* Who was in the critical section, in order. */
static char order[WORKERS * ROUNDS + 1];
static unsigned entered;

/* In the lock, and behind it: calls, so that the turn can change while the lock is held, and while it is free. */
static void critical(int me)
{
	struct timespec moment = { 0, 1000 * (1 + me) };

	order[entered++] = (char)('a' + me);
	if (entered % 3 == 0)
		(void)nanosleep(&moment, NULL);
	else
		(void)sched_yield();
}

static void outside(int me, int round)
{
	struct timespec moment = { 0, 700 * (1 + me) };

	if ((round + me) % 2)
		(void)nanosleep(&moment, NULL);
}

static pthread_spinlock_t spinlock;
static atomic_flag test_and_set = ATOMIC_FLAG_INIT;
static atomic_int word;
static atomic_uint ticket_next, ticket_serving;

static void *with_spinlock(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		(void)pthread_spin_lock(&spinlock);
		critical((int)(intptr_t)arg);
		(void)pthread_spin_unlock(&spinlock);
		outside((int)(intptr_t)arg, i);
	}
	return NULL;
}

static void *with_test_and_set(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		while (atomic_flag_test_and_set_explicit(&test_and_set, memory_order_acquire))
			;
		critical((int)(intptr_t)arg);
		atomic_flag_clear_explicit(&test_and_set, memory_order_release);
		outside((int)(intptr_t)arg, i);
	}
	return NULL;
}

static void *with_compare_and_swap(void *arg)
{
	int expected;

	for (int i = 0; i < ROUNDS; i++) {
		do {
			expected = 0;
		} while (!atomic_compare_exchange_weak(&word, &expected, 1));
		critical((int)(intptr_t)arg);
		atomic_store(&word, 0);
		outside((int)(intptr_t)arg, i);
	}
	return NULL;
}

static void *with_tickets(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		unsigned mine = atomic_fetch_add(&ticket_next, 1);

		while (atomic_load_explicit(&ticket_serving, memory_order_acquire) != mine)
			__builtin_ia32_pause();
		critical((int)(intptr_t)arg);
		atomic_fetch_add(&ticket_serving, 1);
		outside((int)(intptr_t)arg, i);
	}
	return NULL;
}

static void run_workers(void *(*work)(void *))
{
	pthread_t threads[WORKERS];

	for (intptr_t i = 0; i < WORKERS; i++)
		(void)pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < WORKERS; i++)
		(void)pthread_join(threads[i], NULL);
	printf("%s\n", order);
}

static void wait_spinlock(void)
{
	(void)pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	run_workers(with_spinlock);
}

static void wait_test_and_set(void)
{
	run_workers(with_test_and_set);
}

static void wait_compare_and_swap(void)
{
	run_workers(with_compare_and_swap);
}

static void wait_ticket(void)
{
	run_workers(with_tickets);
}

/* Two that hand a C11 flag to and fro. */
static atomic_int turn_of;

static void *flag_partner(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		while (atomic_load_explicit(&turn_of, memory_order_acquire) != me)
			;
		order[entered++] = (char)('a' + me);
		atomic_store_explicit(&turn_of, (me + 1) % WORKERS, memory_order_release);
	}
	return NULL;
}

static void wait_flag(void)
{
	run_workers(flag_partner);
}

/*
 * A lock that is taken and given back in each round of a wait for something else, as one who looks into a list that is protected by a
 * lock: memory changes in each round, and is as before at the end of it.
 */
static atomic_int list_lock, list_ready;

static int look_into_list(void)
{
	int ready;

	while (atomic_exchange_explicit(&list_lock, 1, memory_order_acquire))
		__builtin_ia32_pause();
	ready = list_ready;
	atomic_store_explicit(&list_lock, 0, memory_order_release);
	return ready;
}

static void *put_into_list(void *arg)
{
	(void)sched_yield();
	while (atomic_exchange_explicit(&list_lock, 1, memory_order_acquire))
		;
	list_ready = 1;
	atomic_store_explicit(&list_lock, 0, memory_order_release);
	return arg;
}

static void wait_restored(void)
{
	pthread_t thread;
	unsigned long looks = 0;

	(void)pthread_create(&thread, NULL, put_into_list, NULL);
	while (!look_into_list())
		looks = looks || 1;
	(void)pthread_join(thread, NULL);
	printf("ready, looked %lu\n", looks);
}

/* A handler that ends the wait. */
static volatile sig_atomic_t flag, handled;

static void on_signal(int signo)
{
	handled = signo;
	flag = 1;
}

static void *send_usr1(void *arg)
{
	(void)sched_yield();
	(void)pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

static void wait_handler(void)
{
	pthread_t self = pthread_self(), thread;

	(void)signal(SIGUSR1, on_signal);
	(void)pthread_create(&thread, NULL, send_usr1, &self);
	while (!flag)
		;
	(void)pthread_join(thread, NULL);
	printf("signal %d\n", handled);
}

/* Busy for long, with signals that wait: what steps make is no such signal. */
static void wait_pending(void)
{
	static const struct timespec at_once;
	volatile unsigned long count = 0;
	siginfo_t info[2] = { 0 };
	sigset_t trap;
	int first, second;

	(void)sigemptyset(&trap);
	(void)sigaddset(&trap, SIGTRAP);
	(void)sigprocmask(SIG_BLOCK, &trap, NULL);
	(void)pthread_kill(pthread_self(), SIGTRAP);
	(void)kill(getpid(), SIGTRAP);
	while (count < 100000000)
		count++;
	first = sigtimedwait(&trap, &info[0], &at_once);
	second = sigtimedwait(&trap, &info[1], &at_once);
	printf("signals %d %d, codes %d %d, then %d\n", first, second, info[0].si_code, info[1].si_code, sigtimedwait(&trap, NULL, &at_once));
}

/* A wait that only others end, with signals that wait for the thread and for the process. */
static void wait_pending_flag(void)
{
	static const struct timespec at_once;
	sigset_t trap;
	int first, second;

	(void)sigemptyset(&trap);
	(void)sigaddset(&trap, SIGTRAP);
	(void)sigprocmask(SIG_BLOCK, &trap, NULL);
	(void)kill(getpid(), SIGTRAP);
	run_workers(flag_partner);
	(void)pthread_kill(pthread_self(), SIGTRAP);
	wait_restored();
	first = sigtimedwait(&trap, NULL, &at_once);
	second = sigtimedwait(&trap, NULL, &at_once);
	printf("signals %d %d, then %d\n", first, second, sigtimedwait(&trap, NULL, &at_once));
}

static void wait_itimer(int which, int signo)
{
	struct itimerval timer = { .it_value = { .tv_usec = 30000 } };
	struct timespec now;

	(void)signal(signo, on_signal);
	(void)setitimer(which, &timer, NULL);
	while (!flag)
		;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	printf("signal %d at %ld.%09ld\n", handled, (long)now.tv_sec, now.tv_nsec);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	printf("processor time %ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
}

static void wait_itimer_real(void)
{
	wait_itimer(ITIMER_REAL, SIGALRM);
}

static void wait_itimer_virtual(void)
{
	wait_itimer(ITIMER_VIRTUAL, SIGVTALRM);
}

static void wait_itimer_prof(void)
{
	wait_itimer(ITIMER_PROF, SIGPROF);
}

/* A timer of processor time that ticks again and again while nothing else happens. */
static volatile sig_atomic_t ticks;

static void on_tick(int signo)
{
	(void)signo;
	ticks++;
}

static void wait_itimer_ticks(void)
{
	struct itimerval timer = { .it_value = { .tv_usec = 10000 }, .it_interval = { .tv_usec = 10000 } };

	(void)signal(SIGPROF, on_tick);
	(void)setitimer(ITIMER_PROF, &timer, NULL);
	while (ticks < 5)
		;
	timer = (struct itimerval){ 0 };
	(void)setitimer(ITIMER_PROF, &timer, NULL);
	printf("ticks %d\n", ticks);
}

/* POSIX timers and CPU limits are of the same kind. */
static void wait_cpu_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2 };
	struct itimerspec when = { .it_value = { .tv_nsec = 20000000 } };
	timer_t timer;

	(void)signal(SIGUSR2, on_signal);
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) < 0)
		return;
	(void)timer_settime(timer, 0, &when, NULL);
	while (!flag)
		;
	printf("signal %d\n", handled);
}

static uint64_t tsc(void)
{
	return __builtin_ia32_rdtsc();
}

static void wait_tsc(void)
{
	uint64_t start = tsc(), now, looks = 0;

	do {
		now = tsc();
		looks++;
	} while (now - start < 2000000);
	printf("%llu looks, %llu ticks from %llu\n", (unsigned long long)looks, (unsigned long long)(now - start), (unsigned long long)start);
}

/* Waits for another by looking at the time stamp counter, too, as back-off code does. */
static void *set_word_later(void *arg)
{
	(void)sched_yield();
	(void)sched_yield();
	atomic_store(&word, 1);
	return arg;
}

static void wait_tsc_flag(void)
{
	pthread_t thread;
	uint64_t start = tsc(), looks = 0;

	(void)pthread_create(&thread, NULL, set_word_later, NULL);
	while (!atomic_load(&word) && tsc() - start < 1000000000000)
		looks++;
	(void)pthread_join(thread, NULL);
	printf("%llu looks\n", (unsigned long long)looks);
}

/* Two processes and memory that they share. */
static void wait_shared(void)
{
	atomic_int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int status;

	if (shared == MAP_FAILED)
		return;
	child = fork();
	for (int i = 0; i < ROUNDS; i++) {
		int mine = child == 0;

		while (atomic_load(shared) % 2 != mine)
			;
		atomic_fetch_add(shared, 1);
	}
	if (child == 0)
		_exit(0);
	(void)waitpid(child, &status, 0);
	printf("%d\n", atomic_load(shared));
}

/* Nothing ever comes back: it counts. */
static volatile uint64_t counter;

static void wait_counting(void)
{
	pthread_t thread;

	(void)pthread_create(&thread, NULL, set_word_later, NULL);
	while (!atomic_load(&word))
		counter++;
	(void)pthread_join(thread, NULL);
	printf("done\n");
}

/* Nobody else is there. */
static void count_alone(void)
{
	while (!atomic_load(&word))
		counter++;
}

/* Waits for nobody: ends by a signal, or never. */
static void wait_for_nobody(void)
{
	while (!flag)
		;
}

static const struct {
	const char *name;
	void (*run)(void);
} waits[] = {
	{ "spinlock", wait_spinlock },
	{ "test-and-set", wait_test_and_set },
	{ "compare-and-swap", wait_compare_and_swap },
	{ "ticket", wait_ticket },
	{ "flag", wait_flag },
	{ "restored", wait_restored },
	{ "handler", wait_handler },
	{ "pending", wait_pending },
	{ "pending-flag", wait_pending_flag },
	{ "itimer-real", wait_itimer_real },
	{ "itimer-virtual", wait_itimer_virtual },
	{ "itimer-prof", wait_itimer_prof },
	{ "itimer-ticks", wait_itimer_ticks },
	{ "cpu-timer", wait_cpu_timer },
	{ "tsc", wait_tsc },
	{ "tsc-flag", wait_tsc_flag },
	{ "shared", wait_shared },
	{ "counting", wait_counting },
	{ "counting-alone", count_alone },
	{ "nobody", wait_for_nobody },
};

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	for (unsigned i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (!strcmp(argv[1], waits[i].name)) {
			waits[i].run();
			return 0;
		}
	return 2;
}
