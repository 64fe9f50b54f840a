/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks (threads), processes, and what they share: address spaces and descriptor tables. Only state that the engine decides by;
 * whatever the kernel keeps correctly under a fixed order of events stays in the kernel.
 */
#ifndef HS_ENGINE_TASK_H
#define HS_ENGINE_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "engine/guest.h"
#include "engine/time/itimers.h"
#include "engine/time/looks.h"
#include "engine/policy/policy.h"
#include "engine/sched/spinners.h"
#include "engine/policy/traits.h"
#include "engine/verdict.h"

enum task_state {
	TASK_READY = 1, /* in the run queue: its call is to be (re)considered, or it is to be resumed from a stop */
	TASK_RUNNING,   /* was resumed; its next event is awaited */
	TASK_BLOCKED,   /* parked in a call, waiting as task->wait says */
	TASK_VFORK,     /* stopped until its vfork child has called execve or is dead */
	TASK_ADRIFT,    /* blocks inside the kernel against expectation; the others go on without it */
	TASK_SPINNING,  /* stopped in a loop that changes nothing: goes on when somebody else has done something */
	TASK_HELD,      /* could go on, but somebody else is to come first (order.h) */
	TASK_STOPPED,   /* job control stop */
	TASK_DEAD,
};

/* Why a blocked task was made ready again. */
enum {
	WAKE_READY = 1 << 0,   /* what it waits for may have happened: ask again */
	WAKE_TIMEOUT = 1 << 1, /* its deadline has passed */
	WAKE_SIGNAL = 1 << 2,  /* a signal wants to be delivered */
	WAKE_FUTEX = 1 << 3,   /* somebody woke it at its futex */
};

enum wait_kind {
	WAIT_NONE = 0,
	WAIT_FDS,    /* readiness of handles in polls */
	WAIT_FUTEX,
	WAIT_CHILD,
	WAIT_SIGNAL, /* any signal */
	WAIT_TIME,   /* only its deadline */
	WAIT_EVENT,  /* anything may change it: asked again after each turn of another task (locks, FIFO partners) */
};

/* What a blocked task waits for. Filled by wait_* in wait.h; cleared when the call ends. */
struct wait {
	enum wait_kind kind;
	uint64_t deadline_ns; /* run time; TIME_NEVER */
	uint64_t since_turn;
	struct handle_poll *polls; /* owned, handles too */
	size_t n_polls;
	unsigned wake;       /* WAKE_ bits, why it is being considered again */
	bool limited;        /* by a time limit of the socket: signals end it with EINTR (signal(7)) */
	bool has_sigmask;    /* deliverability of signals is judged by sigmask instead of the thread's mask */
	uint64_t sigmask;
	uint64_t signalfds;  /* signals that signalfds among the descriptors show: pending ones make it ready */
	uint64_t sigwanted;  /* signals that end the wait although they are blocked or ignored (sigtimedwait) */
	struct futex_waiter *futex; /* owned by futex.c */
};

/* The call a task is in. Cleared at the next EVENT_CALL. */
struct call {
	int nr;
	uint64_t args[6];
	uint64_t ip;
	const struct policy_row *row;
	bool done;         /* the handler is called again after VERDICT_HOOK: result is valid */
	int64_t result;
	bool attempt;      /* runs by attempt.h: if it changes nothing, nobody is to look again */
	bool shorten;      /* a fault: less is to be moved than was asked for */
	bool first;        /* first consideration of this call */
	bool no_return;    /* ends in an event of its own kind: birth, exec, exit */
	bool hooked;       /* was told VERDICT_HOOK because the handler wants to see the result */
	bool watched;      /* was told VERDICT_HOOK for the observers' sake only: its EVENT_DONE is theirs */
	bool unnoticed;    /* its VERDICT_HOOK was one that it cannot notice: a restart code is its own */
	bool disturbed;    /* gave up because of a hook: the kernel makes the call again, and then it is not to notice */
	bool gives_way;    /* is not to wait, only to let others go first */
	bool waited;       /* was parked for anything else */
	uint64_t progress; /* bytes already moved by a call that the engine performs in pieces */
	uint64_t start_ns; /* run time when the call was made: deadlines count from here */
	uint64_t scratch[4]; /* the handler's own notes between considerations */
};

/* An address space: shared by threads and vfork children. */
struct mm {
	unsigned refs;
	uint64_t id; /* names private futexes; never reused */
	uint64_t brk; /* where its heap ends, when brk(2) is asked about; 0: not known */
};

struct fdtable;
struct link_patches;

struct process {
	struct process *next; /* all living and zombie processes, in order of birth */
	int id;               /* dense, in order of birth */
	int vpid;
	struct process *parent; /* NULL: the container's init or outside */
	struct process *children, *elder, *younger; /* proc/family.h */
	bool adopted;           /* came to its parent as an orphan */
	int pgid, sid;
	unsigned n_tasks; /* living */
	bool dying;       /* all its tasks are about to die; their events are awaited */
	bool zombie;      /* dead, not yet waited for by its parent */
	bool stopped, stop_unreported, continue_unreported;
	int wait_status;
	uint64_t cpu_ns, children_cpu_ns; /* virtual CPU time of its tasks, and of children that were waited for */
	int exit_signal;
	bool execed;
	bool foreign;       /* from outside, and still the program that has made it, which is none of the guest's business */
	bool subreaper;     /* PR_SET_CHILD_SUBREAPER */
	bool outsider;      /* joined, or made by one that did (sched/outsiders.h) */
	bool start_known;   /* whether its first directory is on procfs was asked, of it or of who has made it */
	bool joined;        /* came in by EVENT_JOIN: somebody outside waits for it, whenever they like */
	bool signals_dirty; /* a signal may have been queued: blocked tasks are to be asked */
	struct task *leader;
	struct itimers itimers;
	struct process_traits traits;
	struct task_traits remains; /* of a zombie: the traits that its leader had */
	uint64_t born_ns; /* run time */
};

struct task {
	struct task *next; /* all tasks, in order of birth */
	int id;            /* number at the backend, dense in order of birth */
	int vtid;
	struct process *process;
	struct mm *mm;
	struct fdtable *fds;
	enum task_state state;
	bool in_call;      /* parked in a call (else: stopped by an event) */
	bool signal_is_fatal; /* of the signal in `verdict` */
	bool leader_gone;  /* exited leader whose other threads live on */
	struct call call;
	struct link_patches *links; /* owned by link_numbers.c; NULL: nothing is translated around the call */
	struct verdict verdict; /* what it is told at its next resume, when not in a call */
	struct wait wait;
	uint64_t queue_seq; /* place in the run queue */
	int priority;       /* lower runs first */
	struct preempt_point armed; /* where its turn is to end, asked for at armed_turn */
	uint64_t armed_turn;
	uint64_t at_anchors; /* the last event has brought it to these (order.h) */
	uint64_t place;     /* of a scheduling policy that draws priorities: lower runs first */
	unsigned passed_over; /* picks of others since it was picked, while it could run */
	uint64_t slice_end_ns;
	uint64_t cpu_ns;    /* virtual CPU time used */
	struct rng rng;     /* the task's own randomness */
	uint32_t children;  /* tasks born of it so far: names their streams */
	uint64_t clear_tid_addr; /* CLONE_CHILD_CLEARTID / set_tid_address: woken at its death */
	uint64_t clone_flags;    /* of the clone call it is in */
	uint64_t clone_child_tid; /* where that call writes the child's id */
	int clone_exit_signal;
	struct task *vfork_child; /* TASK_VFORK: who is waited for */
	struct {                  /* an interrupted sleep, resumed when the same call comes again without a handler */
		bool valid;
		int nr;
		uint64_t args[4];
		uint64_t deadline_ns;
	} sleep;
	struct task_traits traits;
	struct {                  /* a blocking call that was attempted in vain and comes again to be parked (attempt.h) */
		bool failed;
		int nr;
		uint64_t args[6];
		uint64_t deadline_ns;
	} attempt;
	struct {                  /* a call with several messages, done in parts (calls/messages.h) */
		bool on;
		int nr;
		uint64_t args[6]; /* the guest's */
		uint64_t part[6]; /* those of the part that is under way */
		uint64_t moved;   /* messages */
		bool cut;         /* of the last one only a part went */
		uint32_t queued;  /* socket_queued() behind the last part */
		uint64_t deadline_ns;
	} messages;
	int hold; /* -1, or a handle of a FIFO that is opened, kept until the task's next event: of both ends, or (hold_waits) its own */
	bool hold_waits; /* nobody has opened the other end */
	uint64_t born_ns; /* run time */
	struct task_spin spin;
	struct task_looks looks;
	char comm[16];
};

#endif
