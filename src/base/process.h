/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HS_BASE_PROCESS_H
#define HS_BASE_PROCESS_H

#include <stdbool.h>

/*
 * The process or thread, by its number in our own pid namespace, does not run any more, or is gone. To wait(2) it may be no news yet: a process's first thread
 * is not before all others have been reaped, and process 1 of a pid namespace not before all others in it are.
 */
bool process_is_ending(int pid);

/*
 * Kills the process of that number and pidfd, its children, theirs, and so on: all who have not outlived a parent. Everybody is stopped before anybody
 * is killed, so that nobody is made or orphaned meanwhile. Without a /proc of our pid namespace only the process itself.
 */
void process_kill_family(int pid, int pidfd);

#endif
