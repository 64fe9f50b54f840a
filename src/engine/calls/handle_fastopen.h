/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending that connects: MSG_FASTOPEN (tcp(7)). Nobody has a cookie, unless net.ipv4.tcp_fastopen is set so, and then it is the kernel's
 * own affair that the data may come with the request: so the connection comes first (net/connecting.h), then what is sent. All make the
 * verdict and return 0, or
 * -errno when the run cannot go on.
 */
#ifndef HS_ENGINE_HANDLE_FASTOPEN_H
#define HS_ENGINE_HANDLE_FASTOPEN_H

#include <stdbool.h>

struct engine;
struct task;
struct verdict;

/* Is it such a call, on a stream socket of the Internet's families? */
bool fastopen_serves(struct engine *e, struct task *t, int msg_flags);
int fastopen_sendto(struct engine *e, struct task *t, struct verdict *v);
int fastopen_sendmsg(struct engine *e, struct task *t, struct verdict *v);
/* Of one message at least. */
int fastopen_sendmmsg(struct engine *e, struct task *t, struct verdict *v);

#endif
