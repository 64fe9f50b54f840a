/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor hook: what an engine (Podman, CRI-O) calls around a container of a stock runtime. */
#ifndef HS_SUPERVISOR_HOOK_COMMAND_H
#define HS_SUPERVISOR_HOOK_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

/* The annotation that asks for a deterministic container, with the value "true". */
#define HOOK_ANNOTATION "org.hermit.deterministic"

struct hook_request {
	const char *stage;  /* "precreate", "createRuntime", "poststop" */
	const char *socket; /* of the agent */
	const char *directory; /* the agent's reports */
	unsigned limit_s;   /* the hook is over after so many seconds, with an error */
};

/* Returns the exit status: 0, or 1 with the reason on stderr. Containers that do not ask for anything pass unchanged. */
int hook_main(const struct hook_request *request);

#endif
