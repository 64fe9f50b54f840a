/* SPDX-License-Identifier: BSD-3-Clause */
/* Double-checked publication: the pointer is set before what it points to is made. No system call is in the window. */
#include "bug.h"

struct table {
	volatile int entries[32];
};

static struct table store;
static struct table *volatile published;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int bad;

static __attribute__((noinline)) void fill(struct table *t)
{
	for (int i = 0; i < 32; i++)
		t->entries[i] = i * i;
}

static struct table *get(void)
{
	if (!published) {
		(void)pthread_mutex_lock(&lock);
		if (!published) {
			published = &store;
			fill(&store);
		}
		(void)pthread_mutex_unlock(&lock);
	}
	return published;
}

static void *user(void *arg)
{
	if (get()->entries[31] != 31 * 31)
		bad = 1;
	return NULL;
}

int main(void)
{
	run_together(user, 3);
	return bad ? fail("used before it was made") : 0;
}
