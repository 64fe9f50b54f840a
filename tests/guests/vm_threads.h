/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads and futexes, for the guests of vm.sh. */
#ifndef HS_TESTS_GUESTS_VM_THREADS_H
#define HS_TESTS_GUESTS_VM_THREADS_H

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "vm.h"

static inline long futex(atomic_uint *word, int op, unsigned value, uintptr_t limit, atomic_uint *other, unsigned value3)
{
	return syscall(SYS_futex, word, op, value, limit, other, value3);
}

/* Until so many have been counted. */
static inline void until(atomic_uint *count, unsigned n)
{
	while (atomic_load(count) < n)
		vm_sleep_ms(1);
}

static inline pthread_t start(void *(*function)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, arg) != 0)
		exit(1);
	return thread;
}

#endif
