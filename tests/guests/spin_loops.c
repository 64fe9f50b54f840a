/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops that wait for another's write to memory, and loops that do not. usage: spin_loops NAME. It says "ready", then
 * spins until SIGTERM or, for those that wait for a signal handler, until SIGUSR1.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_int flag;
static volatile sig_atomic_t plain_flag;
static atomic_flag test_and_set = ATOMIC_FLAG_INIT;
static atomic_uint ticket_next, ticket_serving;
static pthread_spinlock_t spinlock;
static volatile double float_flag;
static volatile uint64_t counter;

static void loop_flag(void)
{
	while (!atomic_load_explicit(&flag, memory_order_acquire))
		;
}

static void loop_flag_pause(void)
{
	while (!atomic_load(&flag))
		__builtin_ia32_pause();
}

static void loop_handler(void)
{
	while (!plain_flag)
		;
}

static void loop_test_and_set(void)
{
	while (atomic_flag_test_and_set(&test_and_set))
		;
}

static void loop_compare_and_swap(void)
{
	int expected;

	do {
		expected = 1;
	} while (!atomic_compare_exchange_weak(&flag, &expected, 2));
}

static void loop_ticket(void)
{
	unsigned mine = atomic_fetch_add(&ticket_next, 1);

	while (atomic_load(&ticket_serving) != mine)
		__builtin_ia32_pause();
}

static void loop_spinlock(void)
{
	pthread_spin_lock(&spinlock);
}

/* A call in the loop, with pushes and a local variable: writes to the stack, always the same. */
static __attribute__((noinline)) int is_set(volatile int *scratch)
{
	*scratch = 5;
	return atomic_load(&flag);
}

static void loop_call(void)
{
	volatile int scratch;

	while (!is_set(&scratch))
		;
}

/* An inner loop of fixed length, as back-off code has it. */
static void loop_nested(void)
{
	while (!atomic_load(&flag))
		for (int i = 0; i < 20; i++)
			__builtin_ia32_pause();
}

static void loop_float(void)
{
	while (float_flag < 1.5)
		;
}

/* A lock taken and given back in each round, under which something is looked up. */
static atomic_int list_lock;
static volatile int list_length, list_readers;

static void loop_restoring(void)
{
	int length;

	do {
		while (atomic_exchange(&list_lock, 1))
			;
		list_readers++;
		length = list_length;
		list_readers--;
		atomic_store(&list_lock, 0);
	} while (!length);
}

static void loop_forever(void)
{
	for (;;)
		__asm__ volatile("");
}

/* Those that change something each time. */
static void loop_counter(void)
{
	for (uint64_t i = 0; !atomic_load(&flag); i++)
		__asm__ volatile("" : : "r"(i));
}

static void loop_memory_counter(void)
{
	while (!atomic_load(&flag))
		counter++;
}

static void loop_vector_counter(void)
{
	typedef int vector __attribute__((vector_size(16)));
	vector v = { 0 }, one = { 1, 2, 3, 4 };

	while (!atomic_load(&flag)) {
		v += one;
		__asm__ volatile("" : "+x"(v));
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} loops[] = {
	{ "flag", loop_flag },
	{ "flag-pause", loop_flag_pause },
	{ "handler", loop_handler },
	{ "test-and-set", loop_test_and_set },
	{ "compare-and-swap", loop_compare_and_swap },
	{ "ticket", loop_ticket },
	{ "spinlock", loop_spinlock },
	{ "call", loop_call },
	{ "nested", loop_nested },
	{ "float", loop_float },
	{ "restoring", loop_restoring },
	{ "forever", loop_forever },
	{ "counter", loop_counter },
	{ "memory-counter", loop_memory_counter },
	{ "vector-counter", loop_vector_counter },
};

static void on_usr1(int signo)
{
	plain_flag = 1;
	atomic_store(&flag, 1);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	(void)signal(SIGUSR1, on_usr1);
	(void)atomic_flag_test_and_set(&test_and_set);
	(void)atomic_fetch_add(&ticket_next, 1);
	(void)atomic_store(&ticket_serving, 0);
	(void)pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	(void)pthread_spin_lock(&spinlock);
	atomic_store(&ticket_serving, 100);
	for (unsigned i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
		if (!strcmp(argv[1], loops[i].name)) {
			printf("ready\n");
			(void)fflush(stdout);
			loops[i].run();
			printf("done\n");
			return 0;
		}
	return 2;
}
