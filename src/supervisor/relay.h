/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes between the caller's terminal and a pseudo-terminal of the guest. They are moved by a process of their own,
 * because the supervisor waits in the kernel for its guest; that process also gives the caller's terminal its old mode back,
 * whatever becomes of the supervisor.
 */
#ifndef HS_SUPERVISOR_RELAY_H
#define HS_SUPERVISOR_RELAY_H

#include <stdbool.h>

#include "base/error.h"

struct relay {
	bool running;
	int alive_fd; /* closed: the relay ends when it has moved what is there */
	int done_fd;  /* end of file: the relay has ended */
};

/*
 * Relays between our standard input and output and `master`, which stays the caller's. Where standard input is a terminal, it
 * is put into raw mode and its size is copied, now and when it changes. The process is no child of ours.
 */
int relay_start(struct relay *relay, int master, struct error *err);

/* Waits until everything that the guest wrote is out and the terminal is as it was. */
void relay_finish(struct relay *relay);

#endif
