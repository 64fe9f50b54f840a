/* SPDX-License-Identifier: BSD-3-Clause */
/* The guest's /sys: the part of a sysfs that programs read to learn about the machine, made for the machine that they are shown. */
#ifndef HS_SUPERVISOR_MACHINE_SYS_H
#define HS_SUPERVISOR_MACHINE_SYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strv.h"
#include "container/container.h"

struct machine_sys {
	struct container_file *files;
	size_t n, room;
	struct strv texts; /* what they point to */
};

/* cpus processors in one package, memory_bytes on one node, a loopback device, perhaps container_pair. 0 or -ENOMEM. */
int machine_sys_init(struct machine_sys *sys, unsigned cpus, uint64_t memory_bytes, bool pair);
void machine_sys_clear(struct machine_sys *sys);

#endif
