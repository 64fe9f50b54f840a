/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hermit-supervisor agent: supervises containers of stock runtimes, which send the listeners of their containers' filters to a socket
 * (runtime-spec, linux.seccomp.listenerPath). One process for each connection, so that a run that fails takes no other with it:
 *
 *	agent           accepts, counts, writes DIRECTORY/metrics.prom
 *	  child         receives one listener, drives one engine to the container's end; log in DIRECTORY/ID.log, report in
 *	                DIRECTORY/ID.txt: what this route could not promise, and how it ended. `hook poststop` shows it; see agent_reports.h.
 *
 *	    holder      keeps a duplicate of the listener, so that no call is answered with ENOSYS while a child is dying
 *
 * When a child dies the kernel kills what it traced (PTRACE_O_EXITKILL): a container is never left running without supervision. The
 * report that was written at the beginning then says so.
 */
#ifndef HS_SUPERVISOR_AGENT_H
#define HS_SUPERVISOR_AGENT_H

struct agent_request {
	const char *socket;    /* NULL: the one that was handed over (LISTEN_FDS) */
	const char *directory; /* of logs, reports and metrics: made if it is missing */
};

/* Serves until SIGTERM or SIGINT, which end the containers. Returns the exit status. */
int agent_main(const struct agent_request *request);

#endif
