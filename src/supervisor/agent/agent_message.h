/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a runtime sends to listenerPath: a containerProcessState as JSON, in one or more pieces, with descriptors beside the first. Some
 * runtimes keep the connection open for long: the end of the object is the end of the message.
 */
#ifndef HS_SUPERVISOR_AGENT_MESSAGE_H
#define HS_SUPERVISOR_AGENT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "oci/state.h"

struct agent_message {
	struct oci_process_state state;
	int listener; /* -1: none */
};

#define AGENT_MESSAGE_NONE ((struct agent_message){ .listener = -1 })

/* Is the text a whole JSON object (1), the beginning of one (0), or neither (-EINVAL)? */
int agent_message_complete(const char *text, size_t len);

/*
 * Waits for a message on the connection, and receives it within limit_ms from its first byte on. -ENODATA: it was closed without a word, by one who
 * wanted to see whether we are there, or has given up.
 */
int agent_message_receive(int connection, int limit_ms, struct agent_message *ret, struct error *err);
void agent_message_clear(struct agent_message *message);

#endif
