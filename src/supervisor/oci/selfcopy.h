/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that is about to enter a container is visible there, and with it its program file, through /proc/PID/exe: who can open
 * that for writing owns the host (CVE-2019-5736). So it runs from a sealed copy in memory that nobody can write to.
 */
#ifndef HS_SUPERVISOR_SELFCOPY_H
#define HS_SUPERVISOR_SELFCOPY_H

#include "base/error.h"

/* Executes the copy with the same arguments and environment; returns 0 when this process runs from it already. */
int selfcopy_ensure(char **argv, struct error *err);

#endif
