/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files supervise*.c share: the process that supervises a container. */
#ifndef HS_SUPERVISOR_SUPERVISE_INTERNAL_H
#define HS_SUPERVISOR_SUPERVISE_INTERNAL_H

#include <signal.h>
#include <stdbool.h>

#include "base/error.h"
#include "supervisor/oci/control.h"
#include "supervisor/oci/supervise.h"
#include "supervisor/run.h"

enum { GUARDIAN_DIED = SIGHUP, REQUEST_CAME = SIGIO };

#define BEING_STARTED "cannot start a container that is being started"
#define HAS_STOPPED "cannot start a container that has stopped"
#define ENDED_EARLY "the container ended before its program was loaded"

/* Whoever wants to join before the start is why the engine begins: it is there when he is served. */
struct joiner {
	struct control_request request;
	int connection, channel; /* -1: there is none, or none any more */
};

struct supervisor {
	const struct supervise_request *request;
	int guardian; /* socket to it */
	int starter;  /* connection of whoever asked for the start and has no answer yet, or -1 */
	int channel;  /* to process 1 until its start */
	int hook;     /* a duplicate of that while it is in its hook, for whose end the starter waits; or -1 */
	int init_pid, init_pidfd;
	bool paused;  /* before the engine is there */
	bool ended;   /* by who deletes it, before anybody asked for its start: nobody may any more */
	bool killed;  /* the run has been ended from outside */
	struct joiner joiner;
};

void supervisor_answer_starter(struct supervisor *s, const struct error *err, int status);

/* Answers that it is not done, and closes the connection. */
void supervisor_refuse(int connection, int code, const char *why);

/* CONTROL_END, of one that has not begun to start. */
void supervisor_end_unstarted(struct supervisor *s, int connection);

/* ---- the hook of process 1 ---- */

/* False: there is none. That it could not begin is found when its end is looked at. */
bool supervisor_begin_hook(struct supervisor *s);

/* A signal (REQUEST_CAME) when it has ended. */
int supervisor_hear_of_hook(const struct supervisor *s, bool hear);

/* 0: it has ended well, or there is none; -EAGAIN: it has not ended. */
int supervisor_end_hook(struct supervisor *s, struct error *err);

/* ---- before the engine is there: supervise_created.c ---- */

/*
 * 0: the start was asked for and the hook has ended, or a process joins before that. -ESRCH: container or guardian are gone, or the creator is, in the
 * middle of it: then nobody may know of us, for it is the creator that writes our number down. What is wrong with the hook, with a message.
 */
int supervisor_wait_for_start(struct supervisor *s, struct error *err);

/* ---- while it is there, as run_host's functions: supervise_running.c ---- */

int supervisor_on_listener(void *arg, int listener);
void supervisor_on_executed(void *arg);
int supervisor_on_signal(void *arg, struct run *run, int signo, struct error *err);

#endif
