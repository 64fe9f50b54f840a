/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls as text, for logs and reports: decoded from the policy table, by kind of argument. The text is a function of what the
 * guest sees: memory is read through the guest's operations, addresses appear as ADDR (or NULL), never as numbers, so that logs of two
 * runs can be compared.
 */
#ifndef HS_ENGINE_DECODE_H
#define HS_ENGINE_DECODE_H

#include <stddef.h>
#include <stdint.h>

struct guest;

/*
 * Writes `name(arguments)` as the call was made; memory that the kernel fills is not looked at. What cannot be read is shown as
 * ADDR. g == NULL: no memory at all is looked at. Cut off at `size`, always NUL-terminated. Returns the length of the whole text, or -EINVAL for
 * size 0.
 */
int decode_call(struct guest *g, int task, int nr, const uint64_t args[6], char *buf, size_t size);

/* Writes the result by the row's kind of result: "3", "ADDR", "-ENOENT"; the kernel's restart codes by their names. */
int decode_result(int nr, int64_t result, char *buf, size_t size);

/* "ENOENT" for 2, the restart codes included; NULL for a number that is none. */
const char *decode_errno_name(int error);

#endif
