/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of the backend "notify": what its files share.
 *
 * A guest task is seen through three windows: the seccomp listener (it wants to make a call and is parked), the ptrace
 * companion (it is stopped by a birth, an exec, a signal, a hook), and waitpid (it is dead). wait.c turns what they show
 * into struct event; resume.c carries out verdicts. One thread; every descriptor is close-on-exec.
 *
 *	RUNNING -> CALL     a notification was received
 *	RUNNING -> STOP     a ptrace stop was seen
 *	CALL, STOP -> RUNNING by a verdict
 *	STOP -> LISTEN      a job control stop goes on; -> STOP when SIGCONT comes
 *	any -> DEAD         reaped; the entry goes when the engine has been told
 */
#ifndef HS_BACKEND_NOTIFY_H
#define HS_BACKEND_NOTIFY_H

#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "backend/backend.h"
#include "backend/notify/deaths.h"
#include "backend/notify/queue.h"
#include "backend/notify/tasks.h"
#include "engine/guest.h"
#include "engine/verdict.h"

/* The object behind a descriptor, or behind a shared mapping. */
struct object_id {
	uint64_t dev, ino;
};

enum { PIDFD_CACHE_SIZE = 16, OUTSIDE_MAX = 64, FS_KNOWN = 16 };

/* A device, and the type of the file system that is on it (statfs): info.c */
struct known_fs {
	uint64_t dev;
	long type; /* 0: empty */
};


/* pidfds of the tasks whose descriptors were borrowed last: bounded, so that many threads do not hold many descriptors. */
struct pidfd_cache {
	struct {
		pid_t tid;
		int fd;
	} slots[PIDFD_CACHE_SIZE];
	unsigned next;
};

struct object_table {
	struct object_id *ids; /* index + 1 is the name of the object */
	size_t n, room;
};

/* Users or groups of the guest's user namespace (owners.c). No ranges at all: it is the supervisor's own. */
struct owner_range {
	uint32_t inside, outside, count;
};

struct owner_map {
	struct owner_range *ranges;
	size_t n;
};

struct network_probe {
	int send_fd, receive_fd, stat_fd; /* -1: not made yet */
};

struct terminal_probe {
	int master, slave; /* -1: not made yet */
};

struct vdso_image; /* vdso.h */

/* A mount of the guest's namespace: root and type point into the line; it owns the line and the point, which is as in objects_link(). */
struct object_mount {
	char *line, *root, *point, *type;
	unsigned major, minor;
	int id;
	bool shared; /* what is mounted there is mounted in our own namespace as well, wherever */
};

/* ops.c */
extern const struct guest_ops notify_ops;

struct notify {
	struct guest guest; /* first: guest_ops get a pointer to it */

	int *listeners; /* -1: nobody is left below it */
	size_t n_listeners;
	int first_pidfd; /* of the first task while that is WHERE_OUTSIDE, else -1 */
	struct pollfd *own_polls; /* room for notify_own_polls() */
	struct insn_store *code; /* borrowed; NULL: instructions stay as they are */
	unsigned kinds;          /* of instructions that are replaced: INSN_KINDS_ */
	unsigned faulting_kinds; /* of those that the processor makes fault, wherever they are */
	struct processor_answers *processor; /* borrowed; unless there is no code */
	int signal_fd; /* SIGCHLD and the host signals of the run */
	int proc_fd;   /* the supervisor's /proc */
	int watchdog_ms;
	uint64_t spin_limit_ms;   /* 0: none */
	uint64_t silent_ms;       /* the running task has made no event for so long */
	uint64_t silent_total_ms; /* of all tasks */
	uint64_t look_next_ms;    /* the next look for a loop is due then, by silent_total_ms */
	uint64_t look_steps;      /* its length */
	bool spun;                /* the last look has found a loop: more will come, so the next alarms come sooner */
	bool forced_before;       /* a loop was left at no fixed point */
	bool entered_kernel;      /* the running task was let into a call and perhaps has not come back */
	bool stops_there;          /* and has not come back: it will stop at the end of the call */
	bool reap_later;           /* there may be deaths that were not looked for (wait.c) */
	uint64_t user_ticks, system_ticks; /* its CPU times at the last alarm since then */

	struct seccomp_notif_sizes sizes;
	struct seccomp_notif *request;
	struct seccomp_notif_resp *response;

	struct task_table tasks;
	struct event_queue queue;
	struct newborns newborns;
	struct deaths deaths;
	int running; /* number of the task that was resumed last */
	int pid_depth; /* which column of NSpid the first process of the guest counts in */
	int pid_namespace; /* the same as a descriptor; -1: not known */

	struct object_id outside[OUTSIDE_MAX];
	dev_t outside_rdev[OUTSIDE_MAX];
	size_t n_outside;
	enum backend_network network;
	bool peers_outside; /* a UNIX socket of the guest's was seen to have one: external.c */
	bool names_shared;  /* or a name that is found outside */
	bool terminal; /* one of them is a terminal: the kernel may send signals for keys that are typed */
	struct pidfd_cache pidfds;
	struct object_table objects;
	struct network_probe probe;
	struct terminal_probe terminal_probe;
	struct known_fs fs_known[FS_KNOWN];
	unsigned fs_next;
	uint64_t fs_generation; /* of n->generation: what is known is from then */
	struct vdso_image *vdso, *vdso_page; /* either may be NULL */
	int clock_page_fd;
	int root_fd; /* the guest's root directory, -1 before backend_start() */
	struct object_id root, mount_namespace;
	struct owner_map owners[2]; /* users, groups */
	char *root_prefix; /* see objects_inside(); NULL: not known yet */
	struct object_mount *mounts;
	size_t n_mounts;
	bool mounts_compared; /* with our own: object_mount.shared is known */
	struct path_contexts *path_contexts; /* paths.c */
	uint64_t generation;                 /* of what paths depend on: grows when it may have changed */
	uint64_t cwd_generation;             /* the same of current directories */
	pid_t self;
	uid_t euid;

	/* The process's own state before the run, for backend_close(). */
	sigset_t old_mask;
	struct sigaction old_sigpipe, old_sigchld;
	struct rlimit old_nofile;
	cpu_set_t *old_cpus; /* NULL: nothing is pinned */
	unsigned cpu;

	int (*listener_made)(void *arg, int listener);
	void *listener_arg;

	/* An adopted container: until its program is loaded, threads of the runtime's may call, too: they are let through. */
	bool adopting;
	uint64_t strange_calls;
	uint64_t points_passed; /* by the running task since it was resumed */
	enum preempt_unit points_unit;
	struct code_modules *modules; /* points.c */
	pid_t seized_early;                       /* the thread of the runtime's that was seized before its execve, or 0 */
	const struct backend_filter *replacement; /* to be put in place of the runtime's, until that is done; or NULL; borrowed */
	const char *why_not;                      /* why it was not done when it was tried last */
	bool fresh; /* the program has made no call yet: an interruption that the runtime had sent itself may still come */
};

static inline struct notify *notify_of(struct guest *g)
{
	return (struct notify *)g;
}

/* The living task of that number, or NULL when it is dying or dead. */
struct notify_task *notify_find(struct guest *g, int task);

/* --- surroundings.c: what a run changes of the supervisor's own process. After a failure, too, it is to be given back. --- */
struct backend_options;
int surroundings_take(struct notify *n, const struct backend_options *options, pid_t guest_pid, struct error *err);
void surroundings_give_back(struct notify *n);
/* To one processor. */
int surroundings_pin(pid_t pid, unsigned cpu);

/*
 * --- listener.c: the four requests of a seccomp listener ---
 * Each process that came in from outside brought one, which its descendants share.
 */
/* Adds a listener, whose descriptor is taken over on success. */
int listeners_add(struct notify *n, int fd);
void listeners_deinit(struct notify *n);
/* Nobody is left below this one. */
void listener_close(int *listener);
/* Receives one call: 1 with *ret_tid, ret_event->call and *ret_cookie, 0 when it has vanished meanwhile. */
int listener_receive(struct notify *n, int listener, pid_t *ret_tid, struct call_cookie *ret_cookie, struct event *ret_event);
/* Answers. A call that has vanished is no error: its task is dying. */
int listener_reply(struct notify *n, const struct call_cookie *cookie, int64_t value);
int listener_continue(struct notify *n, const struct call_cookie *cookie);
/* Is the caller still there and waits for the answer? */
bool listener_waits(const struct call_cookie *cookie);
/* Installs a duplicate of `fd` and answers with its number, which is returned; the guest's own failure is answered too. */
int listener_install(struct notify *n, const struct call_cookie *cookie, int fd, int flags);

/* --- companion.c: the ptrace requests. A task that is dying makes them succeed without effect. --- */
int companion_seize(pid_t tid);
/* In two steps: first what stops nothing but calls that are followed, and then, in a stop, the rest. */
int companion_seize_lightly(pid_t tid);
int companion_seize_fully(pid_t tid);
int companion_go(pid_t tid, int signo);
/*
 * On its way out of a call that is made again, its result being one of the kernel's own (ERESTARTSYS to ERESTART_RESTARTBLOCK)? No step may be made
 * then: it would end in that call, where the task is parked, and nobody would hear of a stop.
 */
bool companion_repeats(const struct user_regs_struct *regs);
/* As companion_go(); it stops at the beginning of its next call (there in a call: at its end) with COMPANION_SYSCALL_STOP for a signal. */
enum { COMPANION_SYSCALL_STOP = SIGTRAP | 0x80 };
int companion_go_to_call(pid_t tid, int signo);
int companion_interrupt(pid_t tid);
/* Waits for a stop of the task: 1 with its status; 0 when it is dying, which is left for notify_reap(). -errno. */
int companion_await(pid_t tid, int *ret_status);
/* The same after one instruction, or what comes in between. */
int companion_step(pid_t tid, int *ret_status);
int companion_listen(pid_t tid);
int companion_get_result(pid_t tid, int64_t *ret_result);
int companion_set_result(pid_t tid, int64_t result);
int companion_set_args(pid_t tid, const uint64_t args[6]);
/* Which signals it blocks. -ESRCH when it is dying. */
int companion_get_blocked(pid_t tid, uint64_t *ret_blocked);
int companion_set_blocked(pid_t tid, uint64_t blocked);
int companion_get_siginfo(pid_t tid, siginfo_t *ret_info);
int companion_set_siginfo(pid_t tid, const siginfo_t *info);
/* What PTRACE_EVENT_* has to say: the child, or the former thread id. 0 when the task is dying. */
int companion_get_message(pid_t tid, pid_t *ret_tid);

/* --- wait.c, stops.c, resume.c --- */
int notify_wait(struct guest *g, struct event *ret_event);
/* Fills fds with what is always waited for, the listeners and as many as OWN_POLLS_BESIDE more. Returns how many. */
enum { OWN_POLLS_BESIDE = 2 };
size_t notify_own_polls(const struct notify *n, struct pollfd *fds);
/* Takes what these have after poll(2); events are queued. */
int notify_take(struct notify *n, const struct pollfd *fds);
/*
 * Keys that are typed at a terminal become signals without anybody being told who is parked. So where there is a terminal it is
 * looked for them, each IDLE_LOOK_MS while nobody runs: EVENT_OUTSIDE without a number is queued when there is one.
 */
enum { IDLE_LOOK_MS = 40 };
int notify_look_for_signals(struct notify *n);
/* Takes what waitpid and the signal descriptor have; events are queued. */
int notify_take_signals(struct notify *n);
int notify_reap(struct notify *n);
/* What notify_reap() has put off for a call that was under way, when it is over or has been given up. To be asked before anybody waits. */
int notify_reap_late(struct notify *n);
/* Turns one ptrace stop into events. */
int notify_stop(struct notify *n, pid_t tid, int status);
/* The task is stopped, and this is what the engine hears of it. */
int notify_report(struct notify *n, struct notify_task *t, struct event *event);
int notify_resume(struct guest *g, int task, const struct verdict *v);

/* --- memory.c --- */
int notify_read(struct guest *g, int task, uint64_t addr, void *buf, size_t len);
int notify_write(struct guest *g, int task, uint64_t addr, const void *buf, size_t len);
ssize_t notify_read_string(struct guest *g, int task, uint64_t addr, char *buf, size_t size);
/* Writes to pages that the guest itself cannot write. -EPERM, -EIO, -EFAULT when the kernel refuses it. */
int memory_force_write(struct notify *n, pid_t tid, uint64_t addr, const void *buf, size_t len);

/* --- handles.c: a handle is a descriptor of ours --- */
int notify_fd_find(struct guest *g, uint64_t dev, uint64_t ino);
int notify_fd_borrow(struct guest *g, int task, int fd);
void notify_handle_release(struct guest *g, int handle);
int notify_handle_info(struct guest *g, int handle, struct fd_info *ret_info);
int notify_handle_flags(struct guest *g, int handle);
int notify_handles_poll(struct guest *g, struct handle_poll *polls, size_t n_polls, int timeout_ms);
int notify_handle_await(struct guest *g, int handle, short events, int timeout_ms);
ssize_t notify_handle_read(struct guest *g, int handle, void *buf, size_t len);
ssize_t notify_handle_write(struct guest *g, int handle, const void *buf, size_t len);
ssize_t notify_handle_write_urgent(struct guest *g, int handle, const void *buf, size_t len);
int notify_pidfd_target(struct guest *g, int task, int fd);
int notify_set_args(struct guest *g, int task, const uint64_t args[6]);
ssize_t notify_handle_read_at(struct guest *g, int handle, void *buf, size_t len, int64_t position);
int notify_outside_pending(struct guest *g);
void handles_init(struct notify *n);
void handles_deinit(struct notify *n);
/* A pidfd of the task; it stays the cache's. */
int handles_pidfd(struct notify *n, pid_t tid);
/* Forgets what is cached for a task that is gone. */
void handles_forget(struct notify *n, pid_t tid);
/* Borrows by host thread id: a descriptor of ours or -errno. */
int handles_borrow(struct notify *n, pid_t tid, int fd);
/* Calls it with each descriptor of each task, by its name in /proc, until it says something else than 0, which is returned; or -errno. */
typedef int handles_visit(struct notify *n, pid_t tid, const char *fd, void *arg);
int handles_each(struct notify *n, handles_visit *visit, void *arg);
/* Notes which objects the guest's descriptors in `fds` (ended by -1) are. */
void handles_note_outside(struct notify *n, pid_t tid, const int *fds);

/* --- external.c --- */
int notify_handle_reach(struct guest *g, int handle);
int notify_handle_outsider(struct guest *g, int handle, char *buf, size_t size);

/* --- info.c: what a descriptor of ours is --- */
int info_of_fd(struct notify *n, int fd, struct fd_info *ret_info);
/* As info_of_fd, but what an O_PATH descriptor stands for. */
int info_of_object(struct notify *n, int fd, struct fd_info *ret_info);
/*
 * The type of the file system (statfs(2)) behind a descriptor of ours, on device dev (stat(2)); 0: it cannot be told. fd -1: only if it
 * is known already.
 */
long info_fs_type(struct notify *n, int fd, uint64_t dev);

/* --- paths.c --- */
/* Notes the root that the guest's paths are resolved in. */
int paths_init(struct notify *n, pid_t tid);

/* Numbers of the supervisor's user namespace become those of the guest's: see owners.c. */
int owners_init(struct notify *n, pid_t tid);
void owners_deinit(struct notify *n);
void owners_show(const struct notify *n, uint32_t *uid, uint32_t *gid);
void paths_deinit(struct notify *n);
/* A task is gone: its thread id may come again. */
void paths_forget(struct notify *n, pid_t tid);
/* The kernel is about to run a call that may change where paths lead for anybody: credentials, root, mounts, directories. */
void paths_note_call(struct notify *n, int nr);
struct statx;
/*
 * An O_PATH descriptor of what the task's path leads to (flags: AT_SYMLINK_NOFOLLOW) and, unless ret_stat is NULL, its basic
 * statistics and time of birth; or -errno as for path_stat.
 */
int paths_open(struct notify *n, pid_t tid, int dirfd, const char *path, int flags, struct statx *ret_stat);
/* The same statistics of an entry of a directory: 1; -ENOENT; 0: it is to be looked up by paths_open(), which knows all cases. */
int paths_stat_entry(struct notify *n, pid_t tid, int dirfd, const char *name, int flags, struct statx *ret);
int notify_path_info(struct guest *g, int task, int dirfd, const char *path, int flags, struct fd_info *ret_info);
bool paths_on_procfs(int fd);

/* --- walk.c --- */
int notify_path_hidden(struct guest *g, int task, int dirfd, const char *path, int flags, hidden_fn *hidden, void *arg);

/* --- files.c: what files are --- */
/* Basic statistics and time of birth: as a mask for statx(2). */
#define FILES_STATX (STATX_BASIC_STATS | STATX_BTIME)
int files_statx(int fd, struct statx *ret);
int notify_path_stat(struct guest *g, int task, int dirfd, const char *path, int flags, struct file_stat *ret);
int notify_handle_path(struct guest *g, int handle, char *buf, size_t size);
int notify_handle_stat(struct guest *g, int handle, struct file_stat *ret);
int notify_handle_list(struct guest *g, int handle, struct dir_entry **ret_entries, size_t *ret_n);
int notify_beacon_new(struct guest *g, int id, int open_flags);
int notify_beacon_set(struct guest *g, int handle, int id, bool readable);
int notify_beacons_held(struct guest *g, bool *held, size_t n_held);
/* What the fdinfo of a timerfd or signalfd of ours says of beacon and sigmask. */
void beacon_info(const struct notify *n, int fd, struct fd_info *info);
int notify_fifo_enter(struct guest *g, int task, int dirfd, const char *path, int flags);
int notify_fifo_met(struct guest *g, int handle);
int notify_fifo_watch(struct guest *g, int handle);
int notify_fifo_is_foreign(struct guest *g, int handle);
ssize_t notify_path_bytes(struct guest *g, int task, int dirfd, const char *path, int flags, uint64_t offset, void *buf, size_t size);
int notify_path_hides(struct guest *g, int task, int dirfd, const char *path, int flags);
int notify_fifo_hold(struct guest *g, int task, int dirfd, const char *path);
int notify_handle_bind(struct guest *g, int handle, const struct sockaddr_storage *address, socklen_t len);
int notify_handle_connect(struct guest *g, int handle, const struct sockaddr_storage *address, socklen_t len);
int notify_handle_open_fast(struct guest *g, int handle, const struct sockaddr_storage *address, socklen_t len);
int notify_handle_address(struct guest *g, int handle, struct sockaddr_storage *ret_address, socklen_t *ret_len);

/* --- elsewhere.c --- */
/* Calls the function in the network namespace (-1: in a new one) with all signals blocked; what it returns, or -errno. */
int elsewhere(int netns, int (*function)(void *argument), void *argument);

/* --- network.c --- */
ssize_t notify_handle_send(struct guest *g, int handle, const void *buf, size_t len, const void *to, socklen_t to_len);
ssize_t notify_handle_receive(struct guest *g, int handle, void *buf, size_t len, void *ret_from, socklen_t from_len);
int notify_handle_set_option(struct guest *g, int handle, int level, int name, const void *value, socklen_t len);
int notify_handle_option(struct guest *g, int handle, int level, int name, void *ret_value, socklen_t len);
int notify_network_ask(struct guest *g, int task, int protocol, const void *request, size_t len, void **ret_answer,
		       size_t *ret_len);
int notify_network_listen(struct guest *g, int task, int protocol, uint32_t groups);
int64_t notify_handle_seek(struct guest *g, int handle, int64_t offset, int whence);

/* --- objects.c --- */
/* Notes the guest's mounts and namespaces. After clockpage_init(). */
int objects_init(struct notify *n, pid_t tid);
void objects_deinit(struct notify *n);
/* Is what a descriptor of ours has open on a file system that processes outside see, too? */
bool objects_shared(struct notify *n, int fd);
/* A name that we see as the guest's tasks see it, whose root is not ours; one that they cannot reach stays. */
const char *objects_inside(const struct notify *n, const char *name);
/* What an open file is called there, with the kernel's mark of removed ones. */
int objects_link(const struct notify *n, int fd, char *buf, size_t size);
/* As guest_ops.handle_object, for a descriptor of ours; tid 0: mounts that are not known yet are not looked for. */
int objects_name(struct notify *n, pid_t tid, int fd, char *buf, size_t size);
/* A number for an object by its name: the kernel's own for files of procfs come and go with its cache. */
uint64_t objects_key(const char *name);
int notify_handle_object(struct guest *g, int task, int handle, char *buf, size_t size);
int notify_handle_read_all(struct guest *g, int handle, char **ret_text, size_t *ret_size);

/* --- signals.c --- */
int notify_signal_state(struct guest *g, int task, struct signal_state *ret_state);
int notify_signal_taken(struct guest *g, int task, siginfo_t *info);
int notify_signal_send(struct guest *g, int task, bool to_thread, const siginfo_t *info);

/* --- futexkey.c --- */
int notify_memory_mapped(struct guest *g, int task, uint64_t addr, uint64_t len);
int notify_futex_key(struct guest *g, int task, uint64_t addr, uint64_t *ret_object, uint64_t *ret_offset);

/* --- limits.c --- */
int notify_set_limit(struct guest *g, int task, int resource, const struct rlimit *limit);

/* --- execsetup.c --- */
int notify_exec_setup(struct guest *g, int task, const struct exec_image *image, struct code_found *ret_found);

/* --- text.c --- */
/* A mapping as /proc/PID/maps has it. */
struct code_area {
	uint64_t start, end, offset;
	bool write, exec, shared;
	const char *path; /* "" for none; "[vdso]" and its kind are no paths. Points into the line */
};
enum { CODE_LINE_SIZE = 4096 + 128 };
bool text_parse_area(char *line, struct code_area *ret);
/* The file of a mapping: a descriptor or -errno. */
int text_open_file(const struct notify *n, const struct notify_task *t, const struct code_area *area);
int notify_code_mapped(struct guest *g, int task, const struct code_mapping *mapping, struct code_found *ret_found);
/* Replaces the instructions in all executable mappings of files that have a byte of [start, end). */
int text_replace(struct notify *n, const struct notify_task *t, uint64_t start, uint64_t end, struct code_found *found);
struct inline_image;
/* In all of a fresh image; what can be answered without a trap is (inline.h). */
int text_replace_fresh(struct notify *n, const struct notify_task *t, const struct inline_image *image, struct code_found *found);

/* --- spin.c --- */
int notify_seek_loop(struct guest *g, int task, bool others);
/* VERDICT_SPIN. 1: an event is reported, the task does not run; 0: it runs on. */
int spin_again(struct notify *n, struct notify_task *t, uint64_t turn);

/* --- points.c: points inside code (engine/sched/preempt.h) --- */
/* What is wanted of them; deinit releases what init has taken. */
int points_init(struct notify *n, const struct backend_options *options);
void points_deinit(struct notify *n);
/* The task, which is stopped, goes on: towards its point if it has one. */
int points_go(struct notify *n, struct notify_task *t);
/* Is it to be stopped when it comes back from a call? */
bool points_stop_behind_call(const struct notify_task *t);
/* Is its SIGTRAP (t->siginfo) a breakpoint of ours? 1: it has been dealt with; 0: no; -errno. */
int points_recognise(struct notify *n, struct notify_task *t);
/* The task is about to count places: its address space gets them. */
int points_count(struct notify *n, const struct notify_task *t);

/* --- trap.c --- */
struct insn_regs trap_registers(const struct user_regs_struct *u);
/* Is the signal in t->siginfo one of our traps? 1: event and t->trap are filled in; 0: it is the guest's; -ESRCH, -errno. */
int trap_recognise(struct notify *n, struct notify_task *t, struct event *event);
/* Carries t->trap out and lets the task go on. */
int trap_carry_out(struct notify_task *t, const struct insn_answers *answers);

/* --- clockpage.c --- */
/* Makes the page; without it clocks are read by calls, which is no error. */
void clockpage_init(struct notify *n);
void clockpage_deinit(struct notify *n);
/* Runs the mapping code at `code` in a task that is stopped at its exec: 1 mapped, 0 it could not be, -ESRCH. */
int clockpage_map(struct notify *n, const struct notify_task *t, uint64_t code);

/* --- look.c --- */
struct user_regs_struct;
/* The registers of a task that is stopped or parked. -EBUSY: it runs, or a signal is about to be delivered to it. */
int look_registers(struct notify *n, int task, struct user_regs_struct *ret_regs);
/*
 * A task that is parked in a call, which is to be run by the kernel, is made to stop when it has returned, without the call noticing. It is parked
 * again, under another cookie. Signals that come meanwhile wait until it is. -ESRCH: it is dying.
 */
int look_follow_call(struct notify *n, struct notify_task *t);
/* Waits for the task's next stop and takes it; *ret_status as from wait(2). -ESRCH: it is dead, which is left for notify_reap(). */
int look_await_stop(const struct notify_task *t, int *ret_status);
/* Has the task, which runs, stopped meanwhile? 1 with its status, 0, or -ESRCH: it is dying. */
int look_has_stopped(const struct notify_task *t, int *ret_status);
/* A signal that was kept back goes on its way again, unless it is a stop that SIGCONT has taken back meanwhile. */
int look_send_again(struct notify *n, const struct notify_task *t, const siginfo_t *info);

/* --- held.c --- */
int notify_hold_stopped(struct guest *g, int task);
int notify_release_stopped(struct guest *g, int task);

/* --- backtrace.c --- */
int notify_backtrace(struct guest *g, int task, char **ret_text);

/* --- settle.c --- */
int notify_reaped(struct guest *g, int vpid);
int notify_settle_reaped(struct guest *g, int vpid);
int notify_settle_leader(struct guest *g, int task);
int notify_settle_killed(struct guest *g, int task);
/* Waits until the thread, which is sure to die, is dead. */
int notify_settle_zombie(struct notify *n, pid_t tid);
/* Does the thread go on, after one of its process has died? 1 or 0: it dies, too. */
int notify_settle_alive(struct notify *n, const struct notify_task *t);
int notify_settle_network(struct guest *g);

/* --- settle_garbage.c --- */
int notify_handle_passed(struct guest *g, int handle);
int notify_settle_garbage(struct guest *g);
void settle_deinit(struct notify *n);

/* --- credentials.c --- */
int notify_credentials(struct guest *g, int task, struct guest_credentials *ret);

/* --- settle_terminals.c --- */
int notify_settle_terminals(struct guest *g, bool echoes);
bool notify_terminal_stops(struct guest *g, int task, int handle, dev_t rdev, bool writes);
void settle_terminals_deinit(struct notify *n);

/* --- procfs.c --- */
struct proc_ids {
	pid_t tgid;     /* host */
	int vtid, vpid; /* as the guest counts */
	int depth;      /* columns of NSpid */
};
/* depth 0: the innermost column. */
int procfs_ids(const struct notify *n, pid_t tid, int depth, struct proc_ids *ret_ids);
/* The same of a task that was just born to one of process parent_tgid. */
int procfs_ids_at_birth(const struct notify *n, pid_t tid, pid_t parent_tgid, struct proc_ids *ret_ids);
/* Reads /proc/TID/name into buf as a string. */
int procfs_read(const struct notify *n, pid_t tid, const char *name, char *buf, size_t size);
/* Reads /proc/TID/status: all lines up to the masks of signals and capabilities, whatever the task's groups (which may be said to be "many"). */
int procfs_status(const struct notify *n, pid_t tid, char *buf, size_t size);
/*
 * All records of a file that one read gives only some of (a page, however large the buffer), each ended by `end`: until take() says that it has
 * what it wants, then 1; 0: there are no more.
 */
int procfs_each(int fd, char end, bool (*take)(char *record, void *arg), void *arg);
/* Opens /proc/TID/name. */
int procfs_open(const struct notify *n, pid_t tid, const char *name, int flags);
/* The same for reading lines; *ret is the caller's. */
int procfs_stream(const struct notify *n, pid_t tid, const char *name, FILE **ret);
/* The value after "key:" in the text of a status file, or NULL. */
const char *procfs_field(const char *text, const char *key);

/* Numbers in the line at `text`: how many, and the one in column `want` (from 1; 0: the last). */
int procfs_column(const char *text, int want, int *ret_value);
/* The state letter of /proc/TID/stat. */
int procfs_state(const struct notify *n, pid_t tid, char *ret_state);
/* CPU times of the thread, in ticks. */
int procfs_times(const struct notify *n, pid_t tid, uint64_t *ret_user, uint64_t *ret_system);

#endif
