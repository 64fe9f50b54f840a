/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening FIFOs (fifo(7)), and who of the outside may be at the other end. */
#ifndef HS_ENGINE_FIFO_H
#define HS_ENGINE_FIFO_H

#include <stdbool.h>

#include "engine/files/paths.h"

struct verdict;

/* The call of t opens a FIFO, which `path` leads to and `stat` describes, with these flags. */
int fifo_open(struct engine *e, struct task *t, const struct guest_path *path, const struct file_stat *stat, int flags, struct verdict *v);

/* Is it parked until somebody opens the other end? Then t->hold is its own. */
bool fifo_waits(const struct task *t);

/* The handle, of a FIFO or whatever, has become ready while nobody of the guest could go on: what is known of the outside is reported. */
int fifo_report_outsider(struct engine *e, int handle);

#endif
