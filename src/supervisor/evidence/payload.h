/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes that a system call moves between a guest and the kernel, found by the argument kinds of the policy table, as one
 * digest for each direction. Descriptions of buffers (vectors, message headers) are followed, their addresses are not part of it.
 */
#ifndef HS_SUPERVISOR_PAYLOAD_H
#define HS_SUPERVISOR_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "engine/guest.h"

struct payload_call {
	int nr;
	uint64_t args[6];
	int64_t result; /* for payload_out() */
};

/*
 * What the kernel reads (asked when the call is made) and what it has written (asked when it has returned). True with the digest when there
 * were any bytes; false when there were none or when they cannot be read, which is the guest's own mistake.
 */
bool payload_in(struct guest *g, int task, const struct payload_call *call, unsigned char ret_digest[HASH_BYTES]);
bool payload_out(struct guest *g, int task, const struct payload_call *call, unsigned char ret_digest[HASH_BYTES]);

/*
 * Of calls that move bytes from a file to another descriptor without their being in the program's memory: the bytes, as the file has them when the
 * call has returned. Bytes from pipes and sockets have been in somebody's memory before.
 */
bool payload_moved(struct guest *g, int task, const struct payload_call *call, unsigned char ret_digest[HASH_BYTES]);

#endif
