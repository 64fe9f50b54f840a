/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's state and what its files share. Private to src/engine/. */
#ifndef HS_ENGINE_ENGINE_INTERNAL_H
#define HS_ENGINE_ENGINE_INTERNAL_H

#include <limits.h>

#include "base/rng.h"
#include "engine/time/clock.h"
#include "engine/engine.h"
#include "engine/futex.h"
#include "engine/files/inodes.h"
#include "engine/files/inotify.h"
#include "engine/net/netlink_socket.h"
#include "engine/sched/sched.h"
#include "engine/sched/sched_policy.h"
#include "engine/net/sockets.h"
#include "engine/task.h"
#include "engine/time/timerfd.h"
#include "engine/time/timers.h"

#define OBSERVERS_MAX 8
#define UNCONTROLLED_MAX 256

struct held_datagram;

struct engine {
	struct engine_options options;
	struct guest *g;
	struct clock clock;
	struct sched sched;
	struct timers timers;
	struct timerfds timerfds;
	struct futexes futexes;
	struct inodes inodes;
	struct port_allocator ports;
	struct socket_notes socket_notes;
	struct connecting *connecting; /* connections that wait for a full listener (connecting.c) */
	struct inotify_cookies inotify_cookies;
	struct netlinks netlinks;
	struct held_datagram *held_datagrams; /* fault_data.c */

	struct task *tasks;        /* by birth, living only */
	struct process *processes; /* by birth, living and zombies */
	struct process *first;     /* the program; its status is the run's. NULL once gone */
	struct task *running;      /* was resumed, its event is awaited */
	struct task *last;         /* had the last turn; not dereferenced, may be dead */
	uint64_t silent_turn;      /* the turn in which `running` was last found computing, for words about it; TIME_NEVER: in none */
	struct task *watched;      /* its result was observed: it goes on at once */
	int actor;                 /* the task whose event or call is being dealt with, -1: nobody's */
	struct task *leader_exit;  /* an exiting leader whose end has to be settled */
	int next_process_id;
	uint64_t next_mm_id;
	unsigned n_dying;     /* processes with dying set */
	unsigned n_expected;  /* EVENT_CONTINUED events that are sure to come */
	bool considers;       /* a call is looked at: nobody changes memory meanwhile */
	struct {              /* the path that was read last since it is */
		bool valid;
		int task;
		uint64_t addr;
		size_t size;
		char text[PATH_MAX];
	} path_memo;
	bool procfs_from_cwd; /* somebody's current directory may be on procfs */
	bool procfs_by_links; /* a link may lead there, or somebody's root does */
	bool io_dirty;        /* readiness may have changed since it was asked last */
	bool event_dirty;     /* something happened that WAIT_EVENT waiters may have waited for */
	bool network_used;    /* somebody has had a socket of the Internet's families */
	bool network_dirty;   /* packets may be under way */
	bool garbage_possible; /* sockets may be on their way in messages to each other (passed.h) */
	bool garbage_dirty;    /* and some were closed since */
	int held[16];         /* handles of sockets that may hold back what they were given (network.c) */
	unsigned n_held;
	bool terminals_used;  /* somebody has had a terminal of the guest's own */
	bool terminals_dirty; /* something may be under way in one */
	bool terminals_echo;  /* and may be echoed */
	bool signals_dirty;   /* some process has signals_dirty set */
	bool stops_itself;    /* the guest has sent SIGSTOP, or had it sent: else a pending one is the outside's (signals_note_sent()) */
	uint64_t next_deadline_ns; /* lower bound of the deadlines of blocked tasks */
	unsigned n_adrift;
	bool ended;
	bool misfit; /* the program does not fit the schedule that is followed */
	struct sched_policy policy;
	struct order_state order;
	uint64_t dead_at_anchors; /* where the task stood that has just died */
	int avoid;              /* a task that somebody else goes on before, -1: none */
	int last_pick;          /* the task that was picked last */
	uint64_t pick_turn;     /* when */
	unsigned picks_of_turn; /* how many picks that turn has had */
	bool refused; /* strict mode met something uncontrolled */
	int exit_status;
	bool init_is_guest;   /* the first process is pid 1 and adopts orphans */

	unsigned n_joined;     /* processes that came in by EVENT_JOIN */
	struct rng task_rng;   /* root of the tasks' streams */
	struct rng sched_rng;  /* choices of the scheduler */
	struct rng fault_rng;
	struct rng chaos_rng;  /* choices that Linux leaves open, besides those of the scheduler */
	struct rng kernel_rng; /* what the kernel would draw: AT_RANDOM, uuids */

	uint64_t turn;
	uint64_t changes;  /* turns but those of tasks that spun on: after one, a spinning task may go on */
	uint64_t progress; /* and but those of tasks that moved in their loop */
	struct engine_stats stats;
	struct engine_observer observers[OBSERVERS_MAX];
	size_t n_observers;
	struct uncontrolled uncontrolled[UNCONTROLLED_MAX];
	size_t n_uncontrolled;
	char failure[512];
};

/* Stores the message for engine_failure() and returns -code. The first one stays. */
int engine_fail(struct engine *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* task.c: births and deaths. NULL when out of memory. */
struct task *task_find(struct engine *e, int id);
struct task *task_first(struct engine *e, int vtid, int vpid);
/* A process that came from outside: the parent is not one of ours. */
struct task *task_joined(struct engine *e, int id, int vtid, int vpid);
struct task *task_born(struct engine *e, struct task *parent, int id, int vtid, int vpid);
int task_died(struct engine *e, struct task *t, int wait_status);
int task_exec(struct engine *e, struct task *t);
void task_free_all(struct engine *e);
struct process *process_find(struct engine *e, int vpid);
/* The thread's end has taken effect although its event is still to come (exited leader). */
int task_end_effects(struct engine *e, struct task *t);
void process_mark_dying(struct engine *e, struct process *p);
void process_unmark_dying(struct engine *e, struct process *p);
void process_forget(struct engine *e, struct process *p);

/* chaos.c: the scheduling policy, before the first task exists. */
void chaos_init(struct engine *e);
/* One of n equal possibilities: 0 unless chaos was asked for. */
uint64_t chaos_draw(struct engine *e, uint64_t n);
/* Takes the next task out of the run queue; NULL when it is empty, or when e->misfit was set. */
struct task *chaos_pick(struct engine *e);
/* Who goes on after a fork. */
void chaos_fork(struct engine *e, const struct task *parent, const struct task *child);
/* What the policy has to know, and observers of priorities: a birth; an event beside others; places that were passed; a turn given up. */
void chaos_birth(struct engine *e, struct task *t);
void chaos_event(struct engine *e, struct task *t);
void chaos_passed(struct engine *e, struct task *t, uint64_t places);
void chaos_yield(struct engine *e, struct task *t);
/* An observer comes, and hears of the priorities there are. */
void chaos_observed(struct engine *e, const struct engine_observer *observer);

/* event.c: does anybody, or a timer, wait for the running task to end its turn, or for time to pass? */
bool engine_others_wait(struct engine *e, const struct task *t);

/* engine.c: virtual time that a running task has used. */
void task_charge(struct engine *e, struct task *t, uint64_t cost_ns);
/* Limits and timers of CPU time that the task's process may have reached. */
int task_check_cpu(struct engine *e, struct task *t);

/* trap.c: an instruction that finds out about the host; t->verdict is filled in. */
/* The processor that the run shows. */
struct cpuid_model trap_processor(const struct engine *e);
void trap_answer(struct engine *e, struct task *t, const struct event *event);
/* Counts what was found in code; what was missed is uncontrolled. */
void trap_note_code(struct engine *e, const struct code_found *found);

/* turn.c: makes a blocked task ready again, for a WAKE_ reason. */
int task_wake(struct engine *e, struct task *t, unsigned why);

/* Stands in a loop in which it spins; it may be in the run queue already, to look again. */
static inline bool task_in_loop(const struct task *t)
{
	return t->state == TASK_SPINNING || (t->state == TASK_READY && !t->in_call && t->verdict.kind == VERDICT_SPIN);
}

/* signals.c: a signal may have been queued for this process (NULL: for any). */
void signals_changed(struct engine *e, struct process *p);
int signals_wake(struct engine *e);
/* True when delivering signo with its default action ends the process. */
bool signal_default_is_fatal(int signo);
/*
 * Is any signal pending that the task neither blocks nor ignores? Also when the task is dying. What is ignored does not count: without a tracer the
 * kernel would not have queued it.
 */
bool signals_pending(struct engine *e, struct task *t);
/* Would any pending signal be delivered to the task, judged by `mask` when it is not NULL? */
int signals_deliverable(struct engine *e, struct task *t, const uint64_t *mask, bool *ret_deliverable);

/* handle_signal.c: see there. */
int wait_with_sigmask(struct engine *e, struct task *t, uint64_t mask_addr);
/* handle_rand.c: len bytes of the task's stream to guest memory; *ret_done of them arrived. 0 or -errno. */
int random_to_guest(struct engine *e, struct task *t, uint64_t addr, uint64_t len, uint64_t *ret_done);

/* The guest sends this signal, or has asked for it to be sent later. */
void signals_note_sent(struct engine *e, int signo);
/* SIGKILL may have been sent to any process: those that die of it are marked as dying. */
int signals_settle_killed(struct engine *e);
/* Who sent SIGCONT to whomever is over: those that it held for that are released. */
int signals_release_stopped(struct engine *e);

/* Lets go of what was kept for the task until its next event. */
void task_release_hold(struct engine *e, struct task *t);

/* Guest operations, shortened. */
static inline int guest_read(struct engine *e, struct task *t, uint64_t addr, void *buf, size_t len)
{
	return e->g->ops->read(e->g, t->id, addr, buf, len);
}

static inline int guest_write(struct engine *e, struct task *t, uint64_t addr, const void *buf, size_t len)
{
	return e->g->ops->write(e->g, t->id, addr, buf, len);
}

#endif
