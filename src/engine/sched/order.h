/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An order that is asked for (--happens-before): anchors are moments of threads, edges say which of two comes first. The thread that comes to
 * the later one is held there until the earlier one has come. A call as the earlier one has come when it has been carried out, as the later
 * one it waits before it is; a place in code has come, and waits, before its first instruction.
 */
#ifndef HS_ENGINE_ORDER_H
#define HS_ENGINE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORDER_ANCHORS_MAX = 64, ORDER_EDGES_MAX = 128, ORDER_NAME_SIZE = 64, ORDER_PLACE_SIZE = 192 };

enum anchor_kind { ANCHOR_CALL = 1, ANCHOR_FUNCTION, ANCHOR_SOURCE };

struct order_anchor {
	char name[ORDER_NAME_SIZE];
	enum anchor_kind kind;
	int vtid;     /* of which thread, -1: of any */
	int task;     /* the same by birth, -1: of any */
	uint64_t nth; /* from 1; of all that fit */
	int call;     /* ANCHOR_CALL: its number, -1: any that is asked about */
	char place[ORDER_PLACE_SIZE]; /* "function", "file.c:42" */
};

struct order_edge {
	size_t before, after; /* anchors */
	bool soft; /* given up when nobody could go on otherwise */
};

struct order_spec {
	struct order_anchor anchors[ORDER_ANCHORS_MAX];
	size_t n_anchors;
	struct order_edge edges[ORDER_EDGES_MAX];
	size_t n_edges;
};

/* What has come of it in a run. */
struct order_state {
	uint64_t seen[ORDER_ANCHORS_MAX];
	bool fired[ORDER_ANCHORS_MAX];
	bool given_up[ORDER_EDGES_MAX];
};

struct engine;
struct event;
struct task;

/* An event of the task has been taken note of: anchors that have come by it, tasks that are let go, or held from now on. 0 or -ENOMEM. */
int order_event(struct engine *e, int task, const struct event *event);

/* Nobody can go on. True: somebody is let go after all. False: nobody is held, or some are for ever, and engine_failure() says which. */
bool order_relent(struct engine *e);

#endif
