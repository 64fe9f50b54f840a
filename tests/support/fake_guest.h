/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A guest in memory, for tests of the engine without a kernel. All tasks share one arena of memory (addresses FAKE_BASE...); descriptors are
 * bounded pipes. The test plays the tasks: it says what each does when it runs (fake_call and the like), and looks at the verdicts.
 */
#ifndef HS_TESTS_FAKE_GUEST_H
#define HS_TESTS_FAKE_GUEST_H

#include "engine/engine.h"
#include "engine/guest.h"

enum { FAKE_BASE = 0x10000, FAKE_ARENA = 65536, FAKE_TASKS = 64, FAKE_PIPES = 16, FAKE_PIPE_ROOM = 8192, FAKE_PIPE_BUF = 4096 };

struct fake_pipe {
	size_t used;
	unsigned readers, writers;
};

struct fake_guest {
	struct guest guest; /* first */
	unsigned char arena[FAKE_ARENA];
	struct fake_pipe pipes[FAKE_PIPES]; /* descriptor 2n reads, 2n+1 writes pipe n */
	struct signal_state signals[FAKE_TASKS];
	enum fd_kind kind; /* what descriptors are; 0: pipes */
	int sock_type, flags; /* theirs */
	const char *path;     /* the name of all of them; NULL: they have none */
	unsigned held;  /* handles that were borrowed and not released */
	bool no_zombies; /* the kernel reaps whoever dies */
	uint64_t fail_after; /* the nth operation from now fails with -ENOMEM; 0: none does */
};

void fake_init(struct fake_guest *f);

static inline uint64_t fake_address(size_t offset)
{
	return FAKE_BASE + offset;
}

/* Events, as the backend would report them. */
struct event fake_call(int task, int nr, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5);
struct event fake_birth(int parent, int child, int vtid, int vpid);
struct event fake_exit(int task, int wait_status);
struct event fake_done(int task, int64_t result);

/* Memory as 32-bit words. */
void fake_poke(struct fake_guest *f, size_t offset, uint32_t value);
uint32_t fake_peek(const struct fake_guest *f, size_t offset);

#endif
