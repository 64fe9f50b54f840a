/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of containers that are over stay where they are, for whoever wants to know; but not without end. */
#ifndef HS_SUPERVISOR_AGENT_REPORTS_H
#define HS_SUPERVISOR_AGENT_REPORTS_H

/* The report of a container that goes on, or whose agent was stopped in mid-run, ends with this line. */
#define AGENT_NO_END "no end was reported: the agent was stopped in mid-run, and the container with it"

enum { AGENT_REPORTS_KEPT = 1000 };

/* Where there are more, the oldest ones go, each with its log; none that ends with AGENT_NO_END. What cannot be done is left. */
void agent_reports_bound(const char *directory);

#endif
