/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links in socket calls: interface indexes, and IPv6 addresses that are made from a link's MAC, stand in addresses (scope ids), options, control
 * messages and requests. The guest gives and gets them in its own numbers (netlink/map.h), by every call.
 *
 * What a call takes is translated in the guest's memory just before the kernel runs it, and put back when it has returned, before the guest's
 * code runs: so a blocked call holds nothing. What it gives is translated when it has returned. Whether a call stops for that depends on
 * what the guest has and says, never on the host's numbers. In a namespace that never had a link beside loopback nothing is done.
 */
#ifndef HS_ENGINE_LINK_NUMBERS_H
#define HS_ENGINE_LINK_NUMBERS_H

#include <stddef.h>

struct engine;
struct sockaddr_storage;
struct task;
struct verdict;

/* Calls the handler of a call that may name links (CALL_LINKS), with translation around it. As a handler. */
int link_numbers_call(struct engine *e, struct task *t, struct verdict *v);

/* A guest's address for calls that the engine makes itself. */
void link_numbers_address(struct engine *e, struct task *t, struct sockaddr_storage *address, size_t len);

/* Frees what is kept of the task's call (its memory is gone, too). */
void link_numbers_forget(struct task *t);

#endif
