/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ABA: a stack without locks, whose pop compares the head and not how often it has changed. While one thread is between reading the head and
 * exchanging it, the other takes two nodes, and gives the first one back: the exchange succeeds, and brings a node back that is in use.
 * No system call is in the window.
 */
#include <stdatomic.h>

#include "bug.h"

enum { NODES = 4, ROUNDS = 24 };

struct node {
	struct node *volatile next;
	atomic_int users;
};

static struct node nodes[NODES];
static _Atomic(struct node *) head;
static volatile int bad;

static void push(struct node *n)
{
	struct node *old = head;

	do
		n->next = old;
	while (!atomic_compare_exchange_strong(&head, &old, n));
}

/* A look at the node before it is taken, as for its size or its owner. */
static __attribute__((noinline)) int fits(const struct node *n)
{
	volatile int sum = 0;

	for (volatile int i = 0; i < 2 * NODES; i++)
		if (n == &nodes[i / 2])
			sum = sum + 1;
	return sum;
}

static struct node *pop(void)
{
	struct node *old = head, *next;

	do {
		if (!old)
			return NULL;
		next = old->next;
		if (!fits(old))
			return NULL;
	} while (!atomic_compare_exchange_strong(&head, &old, next));
	return old;
}

static struct node *take(void)
{
	struct node *n = pop();

	if (n && atomic_fetch_add(&n->users, 1) != 0)
		bad = 1;
	return n;
}

static void give(struct node *n)
{
	if (!n)
		return;
	(void)atomic_fetch_sub(&n->users, 1);
	push(n);
}

/* Takes and gives back. */
static void *user(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct node *first = take(), *second = take();

		give(second);
		give(first);
	}
	return NULL;
}

/* Takes two, gives the first one back and keeps the other. */
static void *keeper(void *arg)
{
	struct node *first = take();

	(void)take();
	give(first);
	return NULL;
}

static void *either(void *arg)
{
	return (long)arg == 0 ? user(arg) : keeper(arg);
}

int main(void)
{
	for (int i = 0; i < NODES; i++)
		push(&nodes[i]);
	run_together(either, 2);
	while (take()) /* those that are left belong to nobody */
		;
	return bad ? fail("one node for two") : 0;
}
