/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeping the program file of the runtime out of a container's reach. Until its execve a process of the container is still
 * this program, and /proc/PID/exe is a door to the file on the host: who holds it open can write to it once nobody executes it
 * any more (CVE-2019-5736). Executed from where it cannot be written the door leads nowhere.
 */
#ifndef HS_CONTAINER_PROTECT_H
#define HS_CONTAINER_PROTECT_H

#include "base/error.h"

/*
 * Executes this program again out of reach, with the same arguments and environment; returns 0 in that one, at once. To be called
 * first thing by a program that starts containers of others. An error means that there is no such way.
 *
 * Root executes the file itself through a mount of its own that is read-only. That mount is in no mount namespace once its
 * descriptor is closed, so nobody can name it to change it, bind it or move it, whatever capabilities there are. Others, and
 * root where the file's mount may not be cloned, take a sealed copy in memory.
 */
int container_protect_program(char **argv, struct error *err);

#endif
