/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hermit run --verify: N runs from equal starting points, compared exactly: how they ended, standard output and error, changed files,
 * event logs.
 *
 * Equal starting points: the same arguments, environment and directory; standard input is captured once and given to each run as a file; every run
 * has a fresh copy-on-write layer over everything, what it binds from the host included, so nothing is written for real. Where runs differ and others
 * have changed something on the host meanwhile (host_changes.h), that is said.
 */
#ifndef HS_SUPERVISOR_VERIFY_H
#define HS_SUPERVISOR_VERIFY_H

#include "supervisor/options/options.h"

/*
 * Returns the exit status of the program: the guest's own when the runs are equal, 123 when they differ, 125 without a
 * result. The verdict goes to stderr and to --verify-json; the first run's output is passed on only when all are equal.
 */
int verify_main(const struct run_options *o);

#endif
