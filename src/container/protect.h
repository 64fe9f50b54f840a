/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeping the program file of the runtime out of a container's reach. Until its execve a process of the container is still
 * this program, and /proc/PID/exe is a door to the file on the host: who holds it open can write to it once nobody executes it
 * any more. Executed from a sealed copy in memory the door leads nowhere.
 */
#ifndef HS_CONTAINER_PROTECT_H
#define HS_CONTAINER_PROTECT_H

#include "base/error.h"

/*
 * Executes this program again from a sealed copy, with the same arguments and environment; returns 0 in that one, at once.
 * To be called first thing by a program that starts containers of others. An error means that there is no such copy.
 */
int container_protect_program(char **argv, struct error *err);

#endif
