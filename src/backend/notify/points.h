/* SPDX-License-Identifier: BSD-3-Clause */
/* Between points.c, which counts and stops, and places.c, which puts breakpoints into code. */
#ifndef HS_BACKEND_NOTIFY_POINTS_H
#define HS_BACKEND_NOTIFY_POINTS_H

#include "backend/notify/notify.h"
#include "engine/sched/order.h"
#include "insn/places.h"

enum { BREAKPOINT = 0xcc };

/* A place of the order that is asked for. */
struct code_anchor {
	struct insn_place place;
	uint64_t bits; /* of order_spec.anchors */
};

/* The places of one file. */
struct code_module {
	uint64_t dev, ino;
	bool has_places; /* they have been looked for */
	struct insn_places places;
	struct code_anchor *anchors;
	size_t n_anchors;
};

struct code_modules {
	char **patterns; /* owned by the caller of backend_attach(); none: the program and what lies outside of the system's folders */
	size_t n_patterns;
	uint64_t budget; /* passings in all; then all places are given up as they are come to */
	uint64_t passed;
	bool (*passes)(long nr, uint64_t third); /* see struct backend_options */
	const struct order_spec *order; /* borrowed; NULL when it has no places */
	struct code_module *items;
	size_t n;
};

/* Is new code of the task to get breakpoints? */
bool code_places_are_wanted(const struct notify *n, const struct notify_task *t);

/* The place at the address, NULL: none. */
struct code_place *code_place_find(const struct task_code *code, uint64_t address);

/* Puts breakpoints into the chosen files' code in [start, end); what was known of places there is
 * forgotten. 0 or -errno. */
int code_places_put(struct notify *n, const struct notify_task *t, uint64_t start, uint64_t end);

/* --- anchors.c --- */
/* Adds the places of an order that a file has. 0 or -ENOMEM. */
int anchors_of_file(const struct order_spec *order, int fd, const char *path, struct code_module *to);

#endif
