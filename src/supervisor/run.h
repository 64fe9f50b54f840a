/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run: container, backend and engine are put together here and nowhere else, driven until the guest has ended, and taken
 * apart again. `hermit run` and the OCI runtime come through this door.
 */
#ifndef HS_SUPERVISOR_RUN_H
#define HS_SUPERVISOR_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "container/container.h"
#include "engine/engine.h"

struct run;
struct backend_adoptee;
struct backend_adoption;

/*
 * The run of a container that exists already and that somebody else watches over: the caller's terminal and signals are not
 * touched, nothing is forwarded. Everything is borrowed but the container, which is destroyed at the end.
 */
struct run_host {
	/* Waits for its go-ahead; its filter is the one of backend_filter_new(), prepared as processor_choose_tsc() says. NULL: adopt. */
	struct container *container;
	const struct backend_adoptee *adopt; /* a container of another runtime */
	const int *signals;          /* host signals that are handed to .signal, ended by 0 */
	/* One of them came. 0: go on; 1: everything is killed, the run ends (RUN_KILLED); -errno with a message. */
	int (*signal)(void *arg, struct run *run, int signo, struct error *err);
	/* See struct backend_options. */
	int (*listener_made)(void *arg, int listener);
	/* The program is about to be loaded, by the runtime of an adopted container. */
	void (*adopted)(void *arg, const struct backend_adoption *found);
	/* The program is loaded. */
	void (*executed)(void *arg);
	/* The container's program is not started before run_start() says so; what joins until then runs. */
	bool first_waits;
	void *arg;
};

/* How RDTSC and RDTSCP are put under control: replaced, and faulting beside that where they do; only one of the two. */
enum run_tsc { RUN_TSC_AUTO = 0, RUN_TSC_REPLACE, RUN_TSC_FAULT };

/* Everything is borrowed. */
struct run_request {
	const struct container_spec *spec; /* install_filter and pinning are filled in by run_guest() */
	struct engine_options engine;
	uint64_t timeout_ns; /* real time; 0: none */
	bool no_pin;
	bool pace; /* waiting takes its real time (pace.h) */
	uint64_t spin_limit_ns; /* real time; 0: none */
	/*
	 * In an adopted container they are only replaced: the runtime's thread, in Go, reads the counter itself until it executes the
	 * program, and might be led away from that by a signal.
	 */
	enum run_tsc tsc;
	const char *cache_dir; /* where results of scanning code are kept across runs; NULL: nowhere */
	char **place_modules; /* see struct backend_options */
	size_t n_place_modules;
	bool quiet; /* uncontrolled happenings are not listed */
	const struct engine_observer *observers;
	size_t n_observers;
	/* The container is made, its process waits for its go-ahead. 0 or -errno with a message. May be NULL. */
	int (*created)(void *arg, pid_t pid, struct error *err);
	void *created_arg;
	const struct run_host *host; /* NULL: the container is made here, in the foreground */
};

enum run_end {
	RUN_EXITED = 1, /* the guest ended by itself; wait_status is valid */
	RUN_DEADLOCK,
	RUN_MISFIT,  /* the program does not fit the schedule that is followed */
	RUN_STOPPED, /* at the turn that was asked for */
	RUN_REFUSED, /* strict: something that is not modelled, or not under control */
	RUN_TIMEOUT,
	RUN_KILLED, /* by a second signal from outside */
};

struct run_result {
	enum run_end end;
	int exit_code;   /* what the program should exit with: see exit_codes.h */
	int wait_status; /* of the guest's first process */
	uint64_t turns, virtual_ns, real_ns;
	uint64_t n_uncontrolled; /* how often something was not under control */
	struct preempt_cost preempt_cost;
	uint64_t anchors_seen[ORDER_ANCHORS_MAX]; /* of engine_options.order */
	struct engine_stats stats;
	bool tsc_faults; /* RDTSC and RDTSCP fault, wherever they are */
};

/*
 * Runs the guest to its end. 0 with *ret filled in, whatever became of the guest; or -errno when the tool itself failed:
 * then ret->exit_code is 125, or 126 or 127 when the program cannot be executed or does not exist, and nothing is left.
 * Reports about the run (deadlock, refusals, uncontrolled happenings) go to the log as errors and warnings.
 *
 * Host signals meanwhile: SIGINT, SIGTERM, SIGHUP, SIGQUIT: the first goes to the guest's first process, the second ends
 * everything. SIGWINCH, SIGUSR1 and SIGUSR2 go to the guest's first process. Those that the caller ignores stay ignored.
 */
int run_guest(const struct run_request *request, struct run_result *ret, struct error *err);

/* For run_host.signal: a signal for the guest's first process; 0: signals were sent to guests by other ways. */
int run_send_signal(struct run *run, int signo, struct error *err);

/* Real time during which run_host.signal held everything up: it does not count for request.pace. */
void run_was_paused(struct run *run, uint64_t real_ns);

/* Of a run with run_host.first_waits: nobody has said so yet. */
bool run_is_waiting(const struct run *run);

/* For run_host.signal: the start of the container's program, whose hook has run. A failure (-errno with a message) is the run's end. */
int run_start(struct run *run, struct error *err);

/*
 * For run_host.signal: a process made by container_create_inside() joins the run and gets its go-ahead over its channel, which is
 * taken. `preserved` descriptors after the standard ones count as the outside's. 0 when its filter is in place. A failure (-errno
 * with a message, *ret_status 125..127) is the process's end, not the run's.
 */
int run_join(struct run *run, pid_t pid, int channel, unsigned preserved, int *ret_status, struct error *err);

#endif
