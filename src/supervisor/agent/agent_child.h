/* SPDX-License-Identifier: BSD-3-Clause */
/* One container of the agent's: see agent.h. */
#ifndef HS_SUPERVISOR_AGENT_CHILD_H
#define HS_SUPERVISOR_AGENT_CHILD_H

#include <stdint.h>

/* Shared by the agent and its children; changed atomically. */
struct agent_counts {
	uint64_t accepted, ended, failed, deadlocks, refused, uncontrolled, turns, virtual_ns;
};

/* Serves one connection to the container's end. Returns the exit status of the child. */
int agent_child(int connection, const char *directory, struct agent_counts *counts);

#endif
