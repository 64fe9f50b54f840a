/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking calls that the kernel cannot be asked about beforehand (record locks, SysV and POSIX queues and semaphores). The kernel runs the
 * call with a stop asked for, which makes it give up at once where it would sleep; then the call is made again and parked until
 * another task has done something. Attempts that fail change nothing and wake nobody.
 */
#ifndef HS_ENGINE_ATTEMPT_H
#define HS_ENGINE_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct task;
struct verdict;

/*
 * For a handler's every consideration of such a call. deadline_ns: run time, TIME_NEVER; timeout_error: what the call ends with then
 * (positive errno).
 */
int attempt_call(struct engine *e, struct task *t, uint64_t deadline_ns, int timeout_error, struct verdict *v);

/* Is it the result of an attempt that would have slept? */
bool attempt_gave_up(int64_t result);

#endif
