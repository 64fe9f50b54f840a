/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of --happens-before:
 *
 *	{ "anchors": [ { "name": "published", "thread": 1, "function": "publish" },
 *	               { "name": "read", "tid": 4, "call": "read", "nth": 2 },
 *	               { "name": "used", "source": "queue.c:42" } ],
 *	  "edges": [ { "before": "published", "after": "used" }, { "before": "read", "after": "used", "soft": true } ] }
 *
 * "thread" counts births from 0, "tid" is the number that the program sees; without either any thread fits. "call" may be "*".
 */
#ifndef HS_SUPERVISOR_ORDER_FILE_H
#define HS_SUPERVISOR_ORDER_FILE_H

#include "base/error.h"
#include "engine/engine.h"
#include "supervisor/options/options.h"

/* 0, or -errno with a message. */
int order_file_read(const struct option_file *file, struct order_spec *ret, struct error *err);

/* Anchors that a run has not come to: a warning each. */
void order_warn(const struct order_spec *order, const uint64_t seen[ORDER_ANCHORS_MAX]);

#endif
