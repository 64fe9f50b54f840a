/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds in one order, whatever the one is that an engine lists them in. */
#ifndef HS_SUPERVISOR_BIND_ORDER_H
#define HS_SUPERVISOR_BIND_ORDER_H

#include "base/error.h"
#include "container/container.h"
#include "oci/arena.h"

/*
 * Puts neighbours of spec->mounts that do not cover each other in the order of the places where they come to lie. What cannot be told stays where it
 * is. 0, -ENOMEM.
 */
int bind_order_apply(struct container_spec *spec, struct oci_arena *arena, struct error *err);

#endif
