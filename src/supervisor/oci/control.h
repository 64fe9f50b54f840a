/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How commands speak to the process that supervises a container: a socket in its state directory, one request and one answer
 * for each connection. The socket is reached through a descriptor of the directory, so that no path is too long for it.
 */
#ifndef HS_SUPERVISOR_CONTROL_H
#define HS_SUPERVISOR_CONTROL_H

#include <stdint.h>

#include "base/error.h"
#include "oci/state.h"

enum control_verb {
	CONTROL_START = 1, /* let the program run; answered when it does, or when it cannot */
	CONTROL_SIGNAL,    /* number; all: to every process, otherwise to process 1 */
	CONTROL_PAUSE,     /* nobody goes on until CONTROL_RESUME */
	CONTROL_RESUME,
	CONTROL_END,  /* kill it if nobody has asked for its start; -EALREADY if somebody has */
	CONTROL_JOIN, /* number: a process that waits for its go-ahead; a descriptor: its channel */
};

struct control_request {
	uint32_t verb;
	int32_t number;
	int32_t all;
	uint32_t preserved; /* CONTROL_JOIN: how many descriptors after the standard ones came from outside */
};

struct control_answer {
	int32_t code; /* 0, or an errno value with a message */
	int32_t status; /* exit status that fits a failure */
	char text[1024];
};

enum { CONTROL_BACKLOG = 64 };

/* Makes the socket "control" in the directory; returns a listening descriptor, non-blocking, or -errno with a message. */
int control_listen(int dir_fd, struct error *err);

/*
 * Sends a request (attached: a descriptor or -1) to the supervisor of that container and waits for the answer, whose failure comes back as the result,
 * with its message. -ECONNRESET: nobody supervises it any more. -EBUSY: the supervisor is stopped and has not been continued for some seconds; the
 * request is taken back.
 */
int control_call(int dir_fd, const struct oci_runtime_state *state, const struct control_request *request, int attached,
		 struct control_answer *ret_answer, struct error *err);

/*
 * Takes the next request: 1 with a connection to answer on, 0 when there is none. *ret_attached may be -1. What somebody has asked for who has gone
 * away before he was heard is not asked for any more.
 */
int control_accept(int listener, struct control_request *ret_request, int *ret_connection, int *ret_attached);

/* Answers and closes the connection. err NULL or unset: success. */
void control_answer(int connection, const struct error *err, int status);

#endif
