/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The backends: who implements engine/guest.h for a real guest. Chosen in exactly one place, supervisor/run_begin.c.
 *
 * Start-up, in this order:
 *	container_create()       the guest's first process exists and waits for a go-ahead
 *	backend_attach()         it is seized (ptrace companion), task number 0
 *	container_release()      it goes on, calls backend_filter_install() as the last thing before execve
 *	backend_start()          waits until the filter is installed and takes the listener out of the guest
 * then the turn loop: the first event is EVENT_CALL of execve of task 0.
 *
 * Where the first process is to be started later (first_waits), it is not traced until then, and what it forks (a hook of its own) is nobody's
 * guest. Others may join from backend_attach() on. Then, in this order:
 *	backend_first_seize()    it is seized
 *	container_release()
 *	backend_join_start()     of task 0
 */
#ifndef HS_BACKEND_BACKEND_H
#define HS_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "engine/guest.h"

struct insn_store; /* insn/store.h */
struct backend_filter; /* a compiled filter program, made once per run in the supervisor, used in the guest's first process */

/* Who else can send to the guest's network sockets. */
enum backend_network {
	BACKEND_NETWORK_OWN = 0, /* nobody: a namespace of its own with nothing but loopback */
	BACKEND_NETWORK_JOINED,	 /* who is at the other end of its links, and whoever has joined it, too */
	BACKEND_NETWORK_HOST,	 /* the host's processes too */
};

struct backend_options {
	unsigned cpu;             /* supervisor and guest share this CPU */
	bool pin;
	const int *outside_fds;   /* descriptors of the guest that come from outside the container (external input), ended by -1;
	                             NULL: none */
	enum backend_network network;
	uint64_t watchdog_ns;     /* real time after which a running task that makes no event is reported (EVENT_ALARM); 0: never */
	bool no_companion;        /* run without ptrace: abilities shrink */
	/*
	 * A listener was made; its owner is stopped, nobody has made a call yet. Whoever holds a duplicate of it keeps calls from being
	 * answered with ENOSYS when the supervisor dies. 0 or -errno; may be NULL.
	 */
	int (*listener_made)(void *arg, int listener);
	void *listener_arg;
	uint64_t spin_limit_ns;   /* real time after which a task that computes is stopped for others that wait (EVENT_SPIN); 0: never */
	struct insn_store *code;  /* where instructions that show the host are, for replacing them; borrowed; NULL: they stay */
	bool tsc_faults;          /* the filter was made so (backend_filter_fault_tsc()): RDTSC and RDTSCP fault wherever they are */
	bool tsc_stays;           /* then they are not replaced. If they are, less is left to a signal that a program may have a handler for */
	struct processor_answers *processor; /* what is known of the processor (backend/processor_answers.h); borrowed; with code only */
	char **place_modules;     /* file names or paths with wildcards, in whose code places are counted; none: see points.h */
	size_t n_place_modules;
	uint64_t places_budget;   /* how many are passed at most before all are given up */
	bool (*passes)(long nr, uint64_t third); /* backend_filter_passes() when that filter is used; NULL: it is not known */
	const struct order_spec *order; /* whose places are watched; borrowed; NULL: none */
	bool first_waits;         /* see above */
	int first_pidfd;          /* with first_waits: of the first process; its end before the start is EVENT_EXIT, as if by SIGKILL. Borrowed */
	const int *host_signals;  /* signals that are reported as EVENT_OUTSIDE, ended by 0; blocked by the backend meanwhile */
};

/* From the policy table; ask_brk: brk(2) is asked about all the same. The result is the caller's. */
struct backend_filter *backend_filter_new(bool allow_uncontrolled, bool ask_brk, struct error *err);
/* Does a call with this third argument surely run without a word to anybody? */
bool backend_filter_passes(long nr, uint64_t third);
/* With this filter RDTSC and RDTSCP fault. Where processor_tsc_faults() says that they do. */
void backend_filter_fault_tsc(struct backend_filter *filter);
struct backend_filter *backend_filter_free(struct backend_filter *filter);

/*
 * struct container_spec.install_filter: runs in the guest; async-signal-safe; returns 0 or -errno. backend_filter_prepare() comes first, before
 * any other filter, which may forbid what it does: from then on RDTSC faults, if it is to, in all descendants as well.
 */
int backend_filter_prepare(const struct backend_filter *filter);
int backend_filter_install(void *filter);

/* Seizes the process. *ret_guest is the caller's until backend_close(). */
int backend_attach(const struct backend_options *options, pid_t guest_pid, struct guest **ret_guest, struct error *err);
int backend_start(struct guest *g, struct error *err);

/* With options.first_waits, once. -ESRCH: it has ended, which is or will be reported. */
int backend_first_seize(struct guest *g, struct error *err);

/*
 * One more process, not born of the guest: it waits for a go-ahead as the first one did. backend_join_attach() seizes it and
 * says in *ret_event which task it is (EVENT_JOIN: for engine_event() once it has started); then it gets its go-ahead;
 * backend_join_start() waits for its filter. -ECHILD: it ended before that, with a filter's or a tool's status, and is
 * reaped. After any failure of either the process is to be killed by the caller.
 */
int backend_join_attach(struct guest *g, pid_t pid, const int *outside_fds, struct event *ret_event, struct error *err);
int backend_join_start(struct guest *g, int task, struct error *err);

/*
 * The flags (argument 1 of seccomp(2)) of the filter with which adopting replaces a runtime's: NEW_LISTENER and, from Linux 5.19 on,
 * WAIT_KILLABLE_RECV. The runtime's must let this call pass, and not notify it.
 */
enum { BACKEND_FILTER_FLAGS = 8 | 32, BACKEND_FILTER_FLAGS_OLD = 8 };

/* A container of another runtime. */
struct backend_adoptee {
	int *listener; /* the one that it has sent: taken over, *listener is -1 then */
	pid_t pid;     /* the container's process, 0: not known */
	/*
	 * Its filter notifies no call that the policy table lets pass, and those with which runtimes hand over to the program
	 * (`hermit-supervisor hook`): this one is put in its place, or the container is killed. NULL: the runtime's stays. Borrowed.
	 */
	const struct backend_filter *filter;
};

/* What adopting has found out. */
struct backend_adoption {
	uint64_t early_calls; /* of the runtime, before the program: let through */
	bool randomised;      /* the randomisation of addresses could not be switched off */
	bool killable;        /* calls that are being decided are not disturbed by signals */
	bool numbered;        /* process ids do not depend on what the runtime did in the container before */
	unsigned shared;      /* CLONE_NEWIPC, NET, PID, UTS: the namespaces that are not its own, but ours */
	int stderr_fd;        /* a duplicate of the program's, the caller's to close; -1: it has none */
};

/*
 * In place of backend_attach() and backend_start(): a container of another runtime, by the listener that it has sent. Waits until its program
 * is executed: the first event is that EVENT_CALL. -ECHILD: the container ended before. options->listener_made is told of the listener that is
 * there then.
 */
int backend_adopt(const struct backend_options *options, const struct backend_adoptee *adoptee, struct guest **ret_guest,
		  struct backend_adoption *ret_adoption, struct error *err);

/* What the guest itself calls its first task and process: 0 or -errno. While that task lives. */
int backend_first_ids(struct guest *g, int *ret_vtid, int *ret_vpid);

/* Kills every task that is left, releases everything. Returns NULL. */
struct guest *backend_close(struct guest *g);

#endif
