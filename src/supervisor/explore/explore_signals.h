/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that ask an exploration to end: they are taken between its runs, so that it can say what it has found until then. */
#ifndef HS_SUPERVISOR_EXPLORE_SIGNALS_H
#define HS_SUPERVISOR_EXPLORE_SIGNALS_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct explore_signals {
	int list[4]; /* SIGTERM and the like, but for those that the caller ignores */
	size_t n;
	int fd; /* readable when one has come; -1: none is taken */
	sigset_t old;
};

#define EXPLORE_SIGNALS_NONE { .fd = -1 }

/* Blocks them. 0 or -errno with a message. */
int explore_signals_take(struct explore_signals *s, struct error *err);

/* One that has come, or 0. */
int explore_signals_came(const struct explore_signals *s);

/* As it was; what came in the last moment was about an exploration that is over. */
void explore_signals_release(struct explore_signals *s);

/* Ends a run: its process takes the first signal for its guest's, and the second as its own end. */
void explore_signals_stop(const struct explore_signals *s, pid_t pid);

#endif
