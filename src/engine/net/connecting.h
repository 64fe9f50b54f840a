/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections over loopback to a listener whose queue is full. The kernel drops what asks for them, asks again after 1, 3, 7, 15, 31 and 63
 * seconds, and gives up after 127, or as TCP_SYNCNT and TCP_USER_TIMEOUT say (tcp(7), tcp_syn_retries): by its own clock. Here that is the
 * run's: the kernel's answers do not reach the socket meanwhile, and at each of these times it begins anew.
 */
#ifndef HS_ENGINE_CONNECTING_H
#define HS_ENGINE_CONNECTING_H

#include <stdbool.h>
#include <sys/socket.h>

struct connecting;
struct engine;
struct fd_info;
struct task;
struct verdict;

/*
 * connect(2) of a stream socket of the Internet's families, when it is made: to such an address, or to another one, or to none, which ends
 * what was under way. With the flags of a call that sends with MSG_FASTOPEN (0: connect(2)): its connecting, to an address. The verdict is
 * that of connect(2) in each case.
 */
int connecting_call(struct engine *e, struct task *t, const struct sockaddr_storage *address, socklen_t len, int msg_flags, struct verdict *v);
/* And when it has waited: does it? Its descriptor may be another one's by now. */
bool connecting_waits(const struct task *t);
int connecting_wait(struct engine *e, struct task *t, const struct sockaddr_storage *address, socklen_t len, struct verdict *v);

/*
 * Has the socket's connection been given up, and nobody been told? Then it is told now. The kernel, which was made to end it, calls that
 * ECONNRESET where it would have said ETIMEDOUT of its own end.
 */
bool connecting_take_timeout(struct engine *e, const struct fd_info *info);

/* TCP_SYNCNT as the guest has it, of a socket that waits; false: it is as it reads. */
bool connecting_count(struct engine *e, const struct fd_info *info, int *ret_count);
/* The guest sets it while the socket waits. 0, -EINVAL; -ENOENT: it does not wait. */
int connecting_set_count(struct engine *e, const struct fd_info *info, int count);

void connecting_deinit(struct engine *e);

#endif
