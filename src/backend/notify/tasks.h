/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table from task numbers to host thread ids and back, and the processes they belong to. Numbers are given in order of
 * birth and never reused; host ids leave the table when the task is reaped, since the host may reuse them from then on.
 */
#ifndef HS_BACKEND_NOTIFY_TASKS_H
#define HS_BACKEND_NOTIFY_TASKS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* All keys here are numbers (of tasks, processes, threads). The library's own function does not compile cleanly with clang. */
static inline unsigned tasks_hash(const void *key)
{
	return *(const unsigned *)key * 2654435769u;
}

#define HASH_FUNCTION(keyptr, keylen, hashv) ((hashv) = tasks_hash(keyptr))
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((element)->unlisted = true)
#include <uthash.h>

#include "engine/guest.h"
#include "insn/patch.h"

enum task_where {
	WHERE_RUNNING = 0,
	WHERE_CALL,
	WHERE_STOP,
	WHERE_LISTEN,
	WHERE_HELD, /* stopped, and SIGCONT is about to be sent (held.c) */
	WHERE_OUTSIDE, /* the first one, before its start: not traced */
	WHERE_DEAD,
};

/* What the next PTRACE_EVENT_STOP of a task means. */
enum stop_expectation {
	EXPECT_NOTHING = 0,
	EXPECT_DONE,     /* the hooked call has returned */
	EXPECT_POINT,    /* back from a call, its code is to be stepped */
	EXPECT_INTERNAL, /* was asked for to make a signal certain to be seen; nobody is told */
};

/* A signal that was queued in the name of somebody else: its true contents are put in place when it is delivered. */
struct sent_signal {
	struct sent_signal *next;
	pid_t tid; /* 0: to the process */
	siginfo_t info;
};

/* A call that waits for its answer: who is to be told, and its name there. */
struct call_cookie {
	int listener; /* descriptor */
	uint64_t id;
};

/* A place in code where a breakpoint is (points.c). */
struct code_place {
	uint64_t address;
	uint64_t anchors; /* of an order (engine/sched/order.h), as bits */
	uint32_t passed; /* how often */
	uint8_t original; /* the byte that is not there now */
	bool counted; /* it is a place where points are counted */
	bool retired;
};

/* Room grows by whole steps. */
enum { PLACES_STEP = 256 };
#define PLACES_ROOM(n) (((n) / PLACES_STEP + 1) * PLACES_STEP)

/* The replaced instructions of one address space, and who has it. */
struct task_code {
	unsigned refs;
	struct insn_traps traps;
	uint64_t vdso, vdso_end;   /* 0: there is none */
	uint64_t block, block_end; /* of inline.h; 0: there is none */
	bool writable;           /* some of the text is or was: a breakpoint may be the program's own */
	bool places_wanted;      /* they are put into all code that comes, too */
	struct code_place *places; /* sorted by address */
	size_t n_places;
};

struct notify_process {
	struct task_code *code;
	pid_t tgid;
	int vpid;
	unsigned n_tasks; /* not yet reaped */
	bool ending;      /* as a whole */
	struct sent_signal *sent;
	bool unlisted;
	UT_hash_handle hh;
};

struct notify_task {
	int number;
	pid_t tid;
	struct notify_process *process; /* NULL when dead */
	enum task_where where;
	enum event_kind stop;    /* WHERE_STOP: what was reported */
	enum stop_expectation expect;
	struct preempt_point point; /* where its turn is to end */
	uint64_t at_place;          /* stopped before the instruction of this place, 0: no */
	struct call_cookie cookie; /* WHERE_CALL; the listener's part is that of the last call */
	int call_nr;             /* of the last call */
	bool passed;             /* the kernel runs that, and nothing has been reported since */
	int repeats;             /* a signal that is dropped has broken that off: this one comes in its place; 0: no */
	bool frozen;             /* stopped from outside: nobody hears of it, it runs as slowly as that (stops.c) */
	siginfo_t siginfo;       /* EVENT_SIGNAL: as the kernel has it */
	struct {
		struct insn_site site;
		struct insn_regs regs;
		struct user_regs_struct user; /* the same, and the rest */
		int blocked;                  /* the signal it came as, if the thread blocked that; else 0 */
		int pending;                  /* the same, if the stop has taken a pending one; else 0 */
	} trap; /* EVENT_TRAP */
	struct loop *loop; /* EVENT_SPIN: what is known of it (spin.c), or NULL */
	bool unlisted;
	UT_hash_handle hh_number, hh_tid;
};

/* Where a dead process was, for settle_reaped(). */
struct dead_process {
	int vpid;
	pid_t pid;
	bool unlisted;
	UT_hash_handle hh;
};

struct task_table {
	struct notify_task *by_number, *by_tid;
	struct notify_process *processes;
	struct dead_process *dead;
	int next_number;
};

/* Adds a task with the next number. NULL when out of memory. */
struct notify_task *tasks_add(struct task_table *table, pid_t tid, pid_t tgid, int vpid);
struct notify_task *tasks_by_number(struct task_table *table, int number);
struct notify_task *tasks_by_tid(struct task_table *table, pid_t tid);
struct notify_process *tasks_process(struct task_table *table, pid_t tgid);

/* The task is reaped: its thread id is free, its number stays until tasks_remove(). */
int tasks_bury(struct task_table *table, struct notify_task *task);
void tasks_remove(struct task_table *table, int number);

/* The task goes on under the thread id of its process's leader, which is buried already. */
int tasks_become_leader(struct task_table *table, struct notify_task *task);

/* A process is born: it shares the parent's address space, or has a copy. 0 or -ENOMEM. */
int tasks_inherit_code(struct notify_process *child, const struct notify_process *parent, bool shares);
/* A new program: nothing is replaced in it yet. 0 or -ENOMEM. */
int tasks_fresh_code(struct notify_process *p);

/* Any living task of the process but `except`, lowest number first; NULL if there is none. */
struct notify_task *tasks_sibling(struct task_table *table, const struct notify_task *except);
/* The same; the leader, who may be dead, only when there is nobody else. */
struct notify_task *tasks_thread_beside(struct task_table *table, const struct notify_task *except);

/* The host id that a dead process had: 0 if unknown. Forgotten by the second. */
pid_t tasks_dead(const struct task_table *table, int vpid);
pid_t tasks_take_dead(struct task_table *table, int vpid);

void tasks_deinit(struct task_table *table);

/* Children whose first stop was seen before their parent's event. */
struct newborns {
	pid_t *tids;
	size_t n, room;
};

int newborns_add(struct newborns *newborns, pid_t tid);
/* True if it was there. */
bool newborns_take(struct newborns *newborns, pid_t tid);
void newborns_deinit(struct newborns *newborns);

#endif
