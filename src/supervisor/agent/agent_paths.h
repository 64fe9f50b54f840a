/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the agent is found, when nobody says otherwise. */
#ifndef HS_SUPERVISOR_AGENT_PATHS_H
#define HS_SUPERVISOR_AGENT_PATHS_H

#define AGENT_SOCKET	"/run/hermit/agent.sock"
#define AGENT_DIRECTORY "/run/hermit/containers"

#endif
