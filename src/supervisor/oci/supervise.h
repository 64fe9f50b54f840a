/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes that stay with a container after `create`:
 *
 *	guardian    in a session of its own, a child of whoever reaps the orphans of `create`. It holds a duplicate of each
 *	            seccomp listener. When the supervisor dies (and with it, by the kernel, every process that it traced)
 *	            no call is answered with ENOSYS meanwhile, and process 1 is killed if it should still be there.
 *	supervisor  its child. Waits for `start` at the control socket, then runs the engine until the container has ended.
 *	            It ends, and the container with it, when the guardian dies.
 *
 * Neither is a parent of the container, nor holds anything of the creator's open. An untrapped container keeps them until its
 * program was started only.
 */
#ifndef HS_SUPERVISOR_SUPERVISE_H
#define HS_SUPERVISOR_SUPERVISE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "container/container.h"
#include "supervisor/oci/bundle.h"
#include "supervisor/options/options.h"

/* The file of the state directory with an exit status, where a run did not end by the container's own process 1. */
#define SUPERVISE_EXIT_FILE "exit"

struct supervise_request {
	struct bundle *bundle; /* prepared */
	const struct run_options *options;
	struct container *container; /* waits for its go-ahead */
	bool untrapped;
	int dir_fd;     /* state directory */
	int control_fd; /* see control_listen() */
	int creator_fd; /* gets a byte when the creation has come to its end; hangs up before that when the creator dies */
	int log_fd;
};

struct supervise_pids {
	pid_t guardian, supervisor;
};

/* Makes both. The descriptors of the request stay open in the caller, who has no further use for them. */
int supervise_spawn(const struct supervise_request *request, struct supervise_pids *ret, struct error *err);

#endif
