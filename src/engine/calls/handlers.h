/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prototypes of all handlers, made from the table: a row without a function does not link, a function without a row has no prototype
 * (-Wmissing-prototypes). A handler is called when its call is made and again whenever the call is considered once more
 * (task->call, task->wait); it ends with one of the setters of verdict.h. Returns 0, or -errno when the run cannot go on:
 * what the guest did wrong is a verdict.
 */
#ifndef HS_ENGINE_HANDLERS_H
#define HS_ENGINE_HANDLERS_H

#include "engine/policy/policy.h"

#define ROW(nr, name, class, handler, ...) policy_handler_fn handle_##handler;
#include "engine/policy/syscalls.def"
#undef ROW

#endif
