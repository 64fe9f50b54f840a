/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The abstract guest: all that the engine knows of the world. A backend (src/backend/) or the fake guest of the unit tests
 * implements struct guest_ops. The engine never includes, calls or names a backend.
 *
 * Tasks are named by dense numbers in order of birth (0 is the first), never reused; the backend keeps the table from these to
 * whatever it needs (host tids). Ids that the guest sees (vtid, vpid) come from its own pid namespace.
 *
 * Files of a guest are reached through handles: small non-negative numbers, opaque to the engine, held until released.
 *
 * All functions return 0 or a count, or -errno. -EFAULT from memory functions and -EBADF from descriptor functions are the guest's own
 * mistakes; -ESRCH means the task is dying (its end will be reported as an event); anything else is the supervisor's failure
 * and ends the run.
 */
#ifndef HS_ENGINE_GUEST_H
#define HS_ENGINE_GUEST_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#include "engine/sched/preempt.h"
#include "insn/emulate.h"

struct rlimit;
struct verdict;

/* What a task stopped with. */
enum event_kind {
	EVENT_NONE = 0,
	EVENT_CALL,     /* wants to make a system call: parked until a verdict */
	EVENT_DONE,     /* a call with VERDICT_HOOK has returned: stopped before user code, result known */
	EVENT_BIRTH,    /* the running task made a child; both are stopped */
	EVENT_EXEC,     /* a new program image is loaded, stopped before its first instruction */
	EVENT_EXIT,     /* the task is dead and reaped */
	EVENT_SIGNAL,   /* a signal is about to be delivered to the task */
	EVENT_STOPPED,  /* the task entered a job control stop */
	EVENT_CONTINUED, /* the task left a job control stop */
	EVENT_ALARM,    /* the running task has used its real-time allowance without an event (watchdog); still running */
	EVENT_TRAP,     /* the task is at an instruction that finds out about the host: VERDICT_ANSWER carries it out */
	EVENT_SPIN,     /* the task goes round in a loop that changes nothing, and is stopped at the canonical point of it */
	EVENT_PREEMPT,  /* the task has passed the point of its own code that its verdict named (preempt.h), and is stopped there */
	EVENT_OUTSIDE,  /* a host signal for the run as a whole arrived (Ctrl-C, SIGTERM, time limit) */
	EVENT_JOIN,     /* a process that nobody of the guest made has come in (exec into a container): it runs towards its execve */
};

struct event {
	enum event_kind kind;
	int task;
	uint64_t anchors; /* EVENT_PREEMPT: at these places of the order that is asked for (order.h), as bits; 0: at its point */
	struct preempt_point points; /* what the task has passed since it was resumed, and was counted */
	union {
		struct {
			int nr;
			uint64_t args[6];
			uint64_t ip;
		} call;
		int64_t result; /* EVENT_DONE: value or -errno as the kernel would give it, -512.. for a restart */
		struct {
			int child; /* task number of the newborn */
			int vtid, vpid;
		} birth;
		struct {
			int vtid, vpid;
		} join; /* EVENT_JOIN: event.task is the number of the newcomer */
		int old_task;    /* EVENT_EXEC: the task that called execve, when it was not the leader; else == task */
		int wait_status; /* EVENT_EXIT: as from wait(2) */
		siginfo_t siginfo; /* EVENT_SIGNAL */
		int signo;         /* EVENT_STOPPED; EVENT_OUTSIDE: 0 when signals were sent to several already */
		struct {
			bool in_kernel; /* sleeps inside a system call, does not compute */
			bool dead;      /* a leader that died alone (a filter's KILL_THREAD): its EVENT_EXIT comes after its threads' */
		} alarm; /* EVENT_ALARM */
		struct {
			bool idle;   /* after VERDICT_SPIN: it is where it was, and memory is as it was */
			unsigned points; /* at how many places of the loop it may be stopped (spin.h) */
			bool forced; /* stopped anywhere after the limit of real time; the loop does change something */
		} spin;
		struct {
			enum insn_kind kind;
			uint32_t leaf, subleaf;    /* CPUID; XGETBV: subleaf is the register asked for */
			struct insn_cpuid host[2]; /* CPUID: the host's answer; XGETBV: that of leaf 13, subleaves 0 and 1 */
		} trap;
	};
};

enum fd_kind {
	FD_NONE = 0,
	FD_FILE, /* regular file on an ordinary file system */
	FD_DIR,
	FD_PIPE, /* pipe or FIFO */
	FD_UNIX, /* sockets by family */
	FD_INET,
	FD_NETLINK,
	FD_SOCKET, /* any other family */
	FD_TTY,
	FD_CHAR,
	FD_BLOCK,
	FD_EVENTFD,
	FD_TIMERFD,
	FD_SIGNALFD,
	FD_EPOLL,
	FD_INOTIFY,
	FD_PIDFD,
	FD_PROC, /* file on procfs */
	FD_SYS,  /* file on sysfs or cgroupfs */
	FD_PATH, /* O_PATH */
	FD_OTHER,
};

struct fd_info {
	enum fd_kind kind;
	bool external;   /* came from outside the container: its readiness is external input */
	int open_flags;  /* O_ACCMODE, O_NONBLOCK, O_APPEND... as of now */
	uint32_t mode;   /* st_mode */
	uint32_t nlink;
	uint64_t dev, ino, rdev; /* host numbers: keys only, never shown to the guest; rdev of /dev/tty: the terminal's behind it */
	uint64_t size;
	int sock_type;   /* SOCK_STREAM ... for sockets */
	int sock_protocol;
	int beacon;      /* FD_TIMERFD: number of the beacon, 0 when it is none */
	bool edge; /* set by the engine: an epoll set tells of changes only (EPOLLET) */
	bool asks_caller; /* set by the engine: its readiness depends on who asks (an epoll set that holds a signalfd) */
	uint64_t sigmask; /* FD_SIGNALFD: the signals it shows */
};

/* What stat and statx say, in one form. dev, ino, rdev are host numbers: keys only, never shown to the guest. */
struct file_stat {
	uint32_t mode, nlink, uid, gid, blksize;
	uint64_t dev, ino, rdev, size, blocks;
	uint64_t attributes, attributes_mask;
	struct timespec atime, mtime, ctime, btime;
	bool synthetic; /* on procfs, sysfs and their kin */
};

struct dir_entry {
	const char *name;
	uint64_t ino; /* host number, same device as the directory */
	unsigned char type; /* DT_ */
};

struct handle_poll {
	int handle;
	short events, revents; /* as poll(2) */
	uint64_t note;         /* the engine's own */
};

struct signal_state {
	uint64_t thread_pending, process_pending; /* bit n-1: signal n */
	uint64_t blocked, ignored, caught;
};

/* Ignored when their action is the default (signal(7)). */
#define SIGNALS_DEFAULT_IGNORED (1ull << (SIGCHLD - 1) | 1ull << (SIGCONT - 1) | 1ull << (SIGURG - 1) | 1ull << (SIGWINCH - 1))

/* Which signals do nothing when they are delivered, by wish or by default. */
static inline uint64_t signal_state_ignored(const struct signal_state *s)
{
	return (s->ignored | SIGNALS_DEFAULT_IGNORED) & ~s->caught;
}

/* Who a task is: real, effective, saved and file system ids, as the guest's user namespace counts; effective capabilities as bits. */
struct guest_credentials {
	uint32_t uids[4], gids[4];
	uint64_t capabilities;
};

struct cpuid_model; /* insn/cpuid.h */

/* A fresh program image: what is put in place of the kernel's own words to it. */
struct exec_image {
	unsigned char random[16]; /* AT_RANDOM */
	bool set_hwcap;
	uint64_t hwcap, hwcap2; /* AT_HWCAP, AT_HWCAP2 */
	/* What CPUID answers, for code in the program that answers it without a trap. NULL: each one must trap, or is left alone. */
	const struct cpuid_model *processor;
};

/* Memory that has become executable. */
struct code_mapping {
	uint64_t address, len; /* len is rounded up to pages */
	int handle;            /* the file, -1: not known, mappings in the range are looked up */
	uint64_t offset;       /* in the file */
	bool shared;           /* MAP_SHARED: text that must not be written */
	bool writable;         /* the program can write it, or could since it was mapped */
};

/* What was found in executable memory. */
struct code_found {
	uint64_t replaced; /* instructions that trap from now on */
	uint64_t unsure;   /* places that may be such instructions or data, left alone */
	uint64_t missed;   /* instructions that could not be replaced: shared text, a kernel that does not let text be written */
	bool generated;    /* memory without a file: code made at run time, which cannot be known */
};

/* Abilities of a backend. */
enum {
	GUEST_CAN_HOOK = 1 << 0,   /* VERDICT_HOOK works */
	GUEST_CAN_PATCH = 1 << 1,  /* exec_setup can rewrite the vDSO */
	GUEST_CAN_STEP = 1 << 2,   /* verdicts with preempt work */
	GUEST_CAN_COUNT = 1 << 3,  /* count_branches works, exactly: the same code has the same count each time */
};

struct guest;

/* Who can make a descriptor ready, beside the guest itself. */
enum guest_reach {
	REACH_GUEST = 0,
	/*
	 * Whoever has joined the same network namespace, or looks into a directory that the host shares, if anybody does: a socket on loopback, a UNIX
	 * one with a name, a FIFO that the run has made.
	 */
	REACH_NEIGHBOURS,
	REACH_OUTSIDE, /* it comes from there, or what is there is connected to it, or can send to it, or has made it: a FIFO */
};

/* For path_hidden: is this entry of a directory, which goes by its usual name, one that the guest is not to find? */
typedef bool hidden_fn(void *arg, const char *directory, const char *entry);

struct guest_ops {
	const char *name;

	/* Lets the task go on as the verdict says (verdict.h). The task is stopped or parked. */
	int (*resume)(struct guest *g, int task, const struct verdict *v);
	/*
	 * Changes the arguments of the call that the task is parked in, or has just returned from (EVENT_DONE; a call that is restarted then has
	 * them). It is the caller's to put back what the guest had, before its code runs. -EBUSY: a signal is on its way to the task. May be NULL.
	 */
	int (*set_args)(struct guest *g, int task, const uint64_t args[6]);
	/* Waits for the next event of any task. */
	int (*wait)(struct guest *g, struct event *ret_event);

	/* Memory: all len bytes or -EFAULT. */
	int (*read)(struct guest *g, int task, uint64_t addr, void *buf, size_t len);
	int (*write)(struct guest *g, int task, uint64_t addr, const void *buf, size_t len);
	/* Is there memory in the whole range, whatever may be done with it? 1, 0, or -errno. May be NULL. */
	int (*memory_mapped)(struct guest *g, int task, uint64_t addr, uint64_t len);
	/* Is an event waiting that no task made (a host signal)? 1, 0, or -errno. */
	int (*outside_pending)(struct guest *g);

	/* A string of at most size - 1 bytes: its length, -EFAULT, or -ENAMETOOLONG when there is no NUL within size bytes. */
	ssize_t (*read_string)(struct guest *g, int task, uint64_t addr, char *buf, size_t size);

	/* Identifies the object behind an address for futexes shared between address spaces: 0 when the mapping is private. */
	int (*futex_key)(struct guest *g, int task, uint64_t addr, uint64_t *ret_object, uint64_t *ret_offset);

	/* Handles to the task's descriptors. borrow: -EBADF when there is no such descriptor. */
	int (*fd_borrow)(struct guest *g, int task, int fd);
	/* By the object that it is of, which any task has: what is on its way in a message is nobody's (-EBADF). There where handle_connect is. */
	int (*fd_find)(struct guest *g, uint64_t dev, uint64_t ino);
	void (*handle_release)(struct guest *g, int handle);
	int (*handle_info)(struct guest *g, int handle, struct fd_info *ret_info);
	/* Its open flags alone (O_NONBLOCK...), which others who have the open file may have changed; or -errno. */
	int (*handle_flags)(struct guest *g, int handle);
	/*
	 * Asks for readiness. timeout_ms 0: at once. -1: wait in real time, only for external input. Returns the count of ready handles;
	 * -EINTR when a host signal arrived meanwhile (it is then reported by wait()).
	 */
	int (*handles_poll)(struct guest *g, struct handle_poll *polls, size_t n, int timeout_ms);
	/* Waits in real time until the kernel has made it ready by itself; nothing else is heard meanwhile. 1, 0: not in time, or -errno. */
	int (*handle_await)(struct guest *g, int handle, short events, int timeout_ms);
	/* Who can make it ready: enum guest_reach; of an epoll set the most that a member of it has. Or -errno. */
	int (*handle_reach)(struct guest *g, int handle);
	/*
	 * The name of what is ready and has one that others reach: a FIFO, a datagram socket, or such a member of an epoll set. 1, 0: there is none, or
	 * -errno. May be NULL.
	 */
	int (*handle_outsider)(struct guest *g, int handle, char *buf, size_t size);
	/* Never block: -EAGAIN instead. Never raise SIGPIPE: -EPIPE instead. */
	ssize_t (*handle_read)(struct guest *g, int handle, void *buf, size_t len);
	/* pread(2) of a file: blocks for the disk at most. */
	ssize_t (*handle_read_at)(struct guest *g, int handle, void *buf, size_t len, int64_t position);
	ssize_t (*handle_write)(struct guest *g, int handle, const void *buf, size_t len);
	/* To a stream, the last byte out of band (MSG_OOB). */
	ssize_t (*handle_write_urgent)(struct guest *g, int handle, const void *buf, size_t len);

	/* The guest's pid that a pidfd of the task names, or -errno. May be NULL. */
	int (*pidfd_target)(struct guest *g, int task, int fd);

	/* bind(2) and getsockname(2) on the guest's socket. */
	int (*handle_bind)(struct guest *g, int handle, const struct sockaddr_storage *address, socklen_t len);
	/* connect(2), which never waits; without an address: it becomes unconnected again. May be NULL. */
	int (*handle_connect)(struct guest *g, int handle, const struct sockaddr_storage *address, socklen_t len);
	/* The same by sending nothing with MSG_FASTOPEN: its errors (tcp(7)). There where handle_connect is. */
	int (*handle_open_fast)(struct guest *g, int handle, const struct sockaddr_storage *address, socklen_t len);
	int (*handle_address)(struct guest *g, int handle, struct sockaddr_storage *ret_address, socklen_t *ret_len);
	/*
	 * One datagram through the guest's socket, to an address or (NULL) where the socket sends by itself; one that is there, with its
	 * sender's address. Never block: -EAGAIN instead. And an option whose value has len bytes
	 * (getsockopt(2), setsockopt(2)).
	 */
	ssize_t (*handle_send)(struct guest *g, int handle, const void *buf, size_t len, const void *to, socklen_t to_len);
	ssize_t (*handle_receive)(struct guest *g, int handle, void *buf, size_t len, void *ret_from, socklen_t from_len);
	int (*handle_option)(struct guest *g, int handle, int level, int name, void *ret_value, socklen_t len);
	int (*handle_set_option)(struct guest *g, int handle, int level, int name, const void *value, socklen_t len);
	/*
	 * Sends a netlink request from a socket of our own in the task's network namespace; all that comes back, one message after the
	 * other, is the caller's to free. May be NULL: then netlink sockets are left to the kernel.
	 */
	int (*network_ask)(struct guest *g, int task, int protocol, const void *request, size_t len, void **ret_answer,
			   size_t *ret_len);
	/*
	 * A handle that becomes readable when the kernel tells the groups (bits) of a netlink protocol something about the task's network
	 * namespace; read off with handle_receive. May be NULL: then nothing is waited for.
	 */
	int (*network_listen)(struct guest *g, int task, int protocol, uint32_t groups);
	/* Sets a limit (RLIMIT_*) of the task's process in the kernel, as far as the host lets it; that it lets less is no error. May be NULL. */
	int (*set_limit)(struct guest *g, int task, int resource, const struct rlimit *limit);

	/*
	 * A beacon: an object that is a timerfd for the guest, readable when it is set to be. `id` (from 1) names it in fd_info.beacon. The handle stays
	 * the engine's; VERDICT_INSTALL gives the guest a descriptor of it. open_flags: O_NONBLOCK or 0.
	 */
	int (*beacon_new)(struct guest *g, int id, int open_flags);
	int (*beacon_set)(struct guest *g, int handle, int id, bool readable);
	/* Marks which of the beacons 0 to n-1 some task has a descriptor of; what is on its way in a message counts as nobody's. May be NULL. */
	int (*beacons_held)(struct guest *g, bool *held, size_t n);
	/*
	 * FIFOs. fifo_enter: a handle that counts as the end of who opens with `flags`, as a task that waits in open(2) does (fifo(7)). fifo_met: has
	 * anybody opened the other end, now or since then? 1, 0, or -errno. fifo_hold: a handle that counts as both ends as long as it is held.
	 */
	int (*fifo_enter)(struct guest *g, int task, int dirfd, const char *path, int flags);
	int (*fifo_met)(struct guest *g, int handle);
	int (*fifo_hold)(struct guest *g, int task, int dirfd, const char *path);
	/* A handle that becomes readable when anybody opens the FIFO. And: is the other end nobody's of the guest? 1, 0, or -errno. May be NULL. */
	int (*fifo_watch)(struct guest *g, int handle);
	int (*fifo_is_foreign)(struct guest *g, int handle);

	/* What a path names, as path_stat but with the kind. */
	int (*path_info)(struct guest *g, int task, int dirfd, const char *path, int flags, struct fd_info *ret_info);

	/*
	 * Does the path come by a name on procfs that is hidden? By what way ever: links are followed as the task's call would, flags as for path_stat. 1,
	 * 0 (also where it leads nowhere or cannot be told), or -errno. May be NULL.
	 */
	int (*path_hidden)(struct guest *g, int task, int dirfd, const char *path, int flags, hidden_fn *hidden, void *arg);

	/* Bytes of the regular file that a path names, flags as for path_stat: a count; -errno, also where only the guest may read. May be NULL. */
	ssize_t (*path_bytes)(struct guest *g, int task, int dirfd, const char *path, int flags, uint64_t offset, void *buf, size_t size);

	/*
	 * Would a program that is run from this file be out of our reach: may it be executed but not read, by somebody without power over its
	 * owner (execve(2), ptrace(2): such a process is not dumpable)? 1, 0, or -errno. There wherever path_bytes is.
	 */
	int (*path_hides)(struct guest *g, int task, int dirfd, const char *path, int flags);

	/*
	 * stat of a path as the task would resolve it, flags as for statx(2) (AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW). Errors are the ones the
	 * task would get; -ENOTSUP: cannot tell from outside.
	 */
	int (*path_stat)(struct guest *g, int task, int dirfd, const char *path, int flags, struct file_stat *ret);
	int (*handle_stat)(struct guest *g, int handle, struct file_stat *ret);
	/* All entries of the directory, "." and ".." too, in the order of the host; the position of the handle does not move. One block, the
	 * caller frees *ret_entries. */
	int (*handle_list)(struct guest *g, int handle, struct dir_entry **ret_entries, size_t *ret_n);
	/*
	 * The usual name of an open file on procfs, sysfs or cgroupfs, wherever that is mounted in the guest: "/proc/2/stat", "/sys/...",
	 * "/sys/fs/cgroup/..."; its numbers are the guest's. -ENOTSUP: it is on none of these. May be NULL, as the next.
	 */
	int (*handle_object)(struct guest *g, int task, int handle, char *buf, size_t size);
	/* All that such a file has to say, as its opener may see it; no position moves. The caller frees *ret_text. */
	int (*handle_read_all)(struct guest *g, int handle, char **ret_text, size_t *ret_size);
	/* The absolute name of an open file in the guest, as of now. -ENOTSUP: it has none. May be NULL. */
	int (*handle_path)(struct guest *g, int handle, char *buf, size_t size);
	/* lseek(2) on the open file that the handle shares with the guest. */
	int64_t (*handle_seek)(struct guest *g, int handle, int64_t offset, int whence);

	/*
	 * After EVENT_ALARM of a task that computes: if it spins, EVENT_SPIN follows. others: somebody else waits for it to give way, so it is
	 * stopped in any case when the limit is over. May do nothing; may be NULL.
	 */
	int (*seek_loop)(struct guest *g, int task, bool others);

	/*
	 * Conditional branches that the (stopped or parked) task has retired in user mode since its birth. Only where a hardware counter is there
	 * and counts, which a return code of the host does not prove; no engine needs it. NULL without GUEST_CAN_COUNT.
	 */
	int (*count_branches)(struct guest *g, int task, uint64_t *ret_count);

	int (*signal_state)(struct guest *g, int task, struct signal_state *ret_state);
	/* May be NULL. */
	int (*credentials)(struct guest *g, int task, struct guest_credentials *ret);
	/* Queues a signal: to the thread, or to its whole process. */
	int (*signal_send)(struct guest *g, int task, bool to_thread, const siginfo_t *info);
	/*
	 * The task has taken a signal out of its queue (sigtimedwait(2)): 1 when it was queued by signal_send, *info is what was given to
	 * that then. May be NULL.
	 */
	int (*signal_taken)(struct guest *g, int task, siginfo_t *info);

	/*
	 * At EVENT_EXEC: puts the image's words in place, redirects the vDSO's functions to system calls, and replaces instructions as
	 * code_mapped does.
	 */
	int (*exec_setup)(struct guest *g, int task, const struct exec_image *image, struct code_found *ret_found);
	/* Replaces the instructions in memory that has become executable, so that they give EVENT_TRAP. May be NULL. */
	int (*code_mapped)(struct guest *g, int task, const struct code_mapping *mapping, struct code_found *ret_found);

	/* Is this dead process no zombie, because its parent wants none (SIGCHLD ignored, SA_NOCLDWAIT)? It may be about to be gone: settle_reaped(). */
	int (*reaped)(struct guest *g, int vpid);
	/* Waits until the host has reaped this (dead, orphaned) process, so that its pid is gone for everybody. */
	int (*settle_reaped)(struct guest *g, int vpid);
	/* Waits until the exit of a thread-group leader whose other threads live on has taken effect. */
	int (*settle_leader)(struct guest *g, int task);
	/*
	 * SIGKILL was sent to some: does the process of this task die of it? 1: its EVENT_EXITs are on their way, before any other event and in
	 * the order of these calls; 0: it lives. Not for a task that runs.
	 */
	int (*settle_killed)(struct guest *g, int task);
	/*
	 * Before SIGCONT may be sent to it a task that is stopped (VERDICT_LISTEN) is held, and then released: 1: it goes on, its EVENT_CONTINUED is on its
	 * way, in the order of these calls, in which their parents' SIGCHLDs are made, too; 0: it is stopped still, or was not held.
	 */
	int (*hold_stopped)(struct guest *g, int task);
	int (*release_stopped)(struct guest *g, int task);
	/* Waits until loopback network delivery has come to rest. */
	int (*settle_network)(struct guest *g);
	/* How many descriptors are in the messages that wait in this socket (AF_UNIX); negative: not known. May be NULL. */
	int (*handle_passed)(struct guest *g, int handle);
	/* Waits until what only messages refer to, that nobody can receive, is closed. -ETIMEDOUT; -ETOOMANYREFS: too much is on its way. May be NULL. */
	int (*settle_garbage)(struct guest *g);
	/* Waits until what was written to pseudo-terminals has been passed on, with the signals of keys; echoes: and with what comes back for it. */
	int (*settle_terminals)(struct guest *g, bool echoes);
	/*
	 * Is this terminal (handle, device number) the controlling one of a task in the background? Who writes is stopped with TOSTOP only, and when
	 * SIGTTOU stops it. May be NULL.
	 */
	bool (*terminal_stops)(struct guest *g, int task, int handle, dev_t rdev, bool writes);

	/* A symbolised stack for reports, as text lines; the caller frees *ret_text. May be NULL. */
	int (*backtrace)(struct guest *g, int task, char **ret_text);
};

/*
 * A page that every guest program reads clocks from without a call. The engine writes it before a task goes on and takes the count of reads at the
 * next event: time = now_ns + reads * cost_ns (run time), so it goes on as if each read had been a call. One task runs at a time,
 * so nobody else counts. From limit_ns on a read becomes a call, so that deadlines and slices end on time.
 */
struct clock_page {
	uint64_t reads;
	uint64_t now_ns, cost_ns, limit_ns;
	uint64_t realtime_ns, monotonic_ns, tai_ns; /* what the clocks show at run time 0 */
};

enum { GUEST_NAMESPACES = 8 };

/* Host numbers of what has no path: keys only, as those of files. Zero where they are not known. */
struct guest_identities {
	uint64_t pipe_dev, socket_dev, namespace_dev, proc_dev;
	struct {
		const char *name; /* "net" ...: as the link in /proc/PID/ns is called; NULL: no more */
		uint64_t ino;
	} namespaces[GUEST_NAMESPACES]; /* the guest's, which never change */
};

/* What points inside code have cost; for reports. */
struct preempt_cost {
	uint64_t placed;  /* places that were watched */
	uint64_t retired; /* of these, how many were given up for being passed too often */
	uint64_t real_ns;
};

struct guest {
	const struct guest_ops *ops;
	unsigned abilities;
	struct preempt_cost preempt_cost;
	uint64_t clock_page_address; /* where guests have the clock page, 0: nowhere */
	struct guest_identities identities;
	struct clock_page *clock_page; /* NULL: clocks are read by calls */
	bool outsider_waits; /* the engine's: somebody who joined waits, who computes beside him is stopped after a moment (sched/outsiders.h) */
	bool death_kills; /* the engine's: somebody has asked to be killed when its parent dies */
	/* Has the run made the file with these numbers? The engine's; NULL: nobody knows. */
	bool (*made_here)(void *arg, uint64_t dev, uint64_t ino);
	void *made_here_arg;
};

#endif
