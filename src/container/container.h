/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A container: from a plain description to a guest process that exists in its namespaces, waits, can be seized, and
 * then executes its program.
 *
 *   container_enter_userns()   ordinary users only, once, before anything else: from here on the caller is root in its own
 *                              user namespace, and everything below is the same for both
 *   container_create()         the guest exists, set up to the last detail, and waits for the go-ahead
 *   (the caller seizes it, makes its listener ready, ...)
 *   container_release()        the guest runs install_filter() and, with no system call in between, execve()
 *   container_destroy()        nothing is left
 *
 * Nothing is ever made on the host's file systems: all mounts live in the private mount namespace of the container (unless the
 * description has none: see struct container_shared_root), and the upper layers are on a tmpfs inside it. They go when the last process
 * goes; the processes go with process 1 of the container, and that one goes with the thread that called container_create()
 * (PR_SET_PDEATHSIG), unless the description says otherwise. So kill -9 of the creator leaves nothing behind either.
 *
 * The caller must be single-threaded.
 */
#ifndef HS_CONTAINER_CONTAINER_H
#define HS_CONTAINER_CONTAINER_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"

enum container_root {
	ROOT_HOST_COW,    /* the host's tree, copy on write; what the guest writes is thrown away */
	ROOT_HOST_DIRECT, /* the host's tree as it is; fresh /proc, /dev, /sys all the same */
	ROOT_PATH,        /* the directory root_path (an OCI bundle's) */
};

enum container_session {
	SESSION_NEW,  /* a session of its own without a controlling terminal; Ctrl-C reaches the supervisor, which forwards it */
	SESSION_TTY,  /* a session of its own whose controlling terminal is stdin (a pty made for it, see console.h) */
	SESSION_KEEP, /* the caller's session, in a process group of its own: shares the caller's controlling terminal */
};

/* Numbers from .inside on are those from .outside on of the parent. */
struct container_id_map {
	uint32_t inside, outside, count;
};

struct container_id_maps {
	const struct container_id_map *uids, *gids;
	size_t n_uids, n_gids;
};

/* One more mount. The strings are borrowed. */
struct container_mount {
	const char *type;    /* bind, tmpfs, proc, sysfs, devpts, mqueue, cgroup, cgroup2, overlay, or any the kernel knows */
	const char *source;  /* host path for bind; NULL: same as type */
	const char *target;  /* absolute, in the guest's view; created where missing; symbolic links resolve inside the root */
	unsigned long flags; /* MS_* of mount(2); MS_REC with a bind means recursive */
	unsigned long clear; /* MS_* taken away again, as "rw", "dev", "exec" do */
	uint64_t recursive_set, recursive_clear; /* MOUNT_ATTR_* for the whole subtree (rro, rnoexec...) */
	unsigned long propagation;               /* MS_SHARED, MS_SLAVE, MS_PRIVATE, MS_UNBINDABLE, with MS_REC or not; 0: none */
	const char *data;                        /* options of the file system itself */
	bool copy_up;  /* tmpcopyup: a tmpfs that starts with the contents of the target */
	bool optional; /* failure is not an error (a mount that the host may not offer) */
	bool by_creator; /* a bind of what only the creator reaches, not the container's users */
	bool idmap, idmap_recursive;         /* owners are shown through .maps, or those of the container's user namespace */
	struct container_id_maps maps;
};

/* A device node, made with mknod, or bound from the host where mknod is not allowed. */
struct container_device {
	const char *path;
	mode_t mode; /* S_IFCHR, S_IFBLK or S_IFIFO, and permission bits */
	unsigned major, minor;
	uid_t uid;
	gid_t gid;
};

struct container_rlimit {
	int resource;
	struct rlimit limit;
};

struct container_sysctl {
	const char *name; /* dotted or with slashes */
	const char *value;
};

/* Bit n of a mask is capability n. */
struct container_caps {
	bool set; /* false: capabilities are left alone */
	uint64_t bounding, effective, inheritable, permitted, ambient;
};

/* A namespace to join instead of making one. In the order of entering: user first, mount last. */
struct container_join {
	int nstype;       /* CLONE_NEW* */
	const char *path; /* borrowed */
};

struct container_scheduler {
	bool set;
	int policy;
	int nice, priority;
	uint64_t flags, runtime_ns, deadline_ns, period_ns;
};

struct container_io_priority {
	bool set;
	int io_class, priority;
};

struct container_time_offset {
	bool set;
	int64_t seconds;
	uint32_t nanoseconds;
};

enum { CONTAINER_DEFAULT_NAMESPACES = 1 }; /* value of .namespaces: pid, mount, net, uts, ipc, cgroup */

/* A file of a tree that is made for the container: with a text, or a symbolic link, or (both NULL) a directory. */
struct container_file {
	const char *path; /* below the tree's root; parents are made */
	const char *text, *link;
};

/*
 * What the container shall be. All pointers are borrowed and must live until container_create() has returned. A zeroed
 * struct plus argv is a description that works: container_spec_init() sets the defaults of `hermit run`.
 */
struct container_spec {
	char **argv, **envp; /* NULL-terminated; envp is the whole environment of the guest (NULL: empty) */
	const char *cwd;     /* in the guest's view; NULL: the caller's own directory, "/" if that has no name any more */
	bool create_cwd;     /* make it where missing */
	bool default_home;   /* add HOME from the guest's /etc/passwd where envp has none */
	const char *hostname, *domainname;

	enum container_root root_kind;
	const char *root_path; /* ROOT_PATH */
	bool root_cow; /* ROOT_PATH: a copy-on-write view of it */
	bool root_readonly;
	unsigned long root_propagation; /* MS_*, MS_REC; 0: private */
	bool no_pivot;                  /* move the mount and chroot instead of pivot_root(2): for a root on an initramfs */
	char **writable;                /* host paths that are written for real */
	size_t n_writable;
	bool cow_cwd;            /* the current directory is copy-on-write too; otherwise it is written for real */
	bool private_tmp;        /* /tmp is an empty tmpfs; otherwise it is part of the view */
	bool cow_binds;          /* with a copy-on-write root: binds are so as well; of ROOT_HOST_COW they are binds of its view */
	const char *const *hidden; /* ROOT_HOST_COW: directories that are empty where they are shown, ended by NULL; or NULL. Without links */
	const char *overlay_dir; /* NULL: upper layers on a tmpfs, thrown away; else they are kept in this directory */
	bool plain_mounts;       /* do not make /proc, /dev and /sys of our own (OCI: .mounts has them all) */

	const struct container_file *sys_files; /* a /sys of these files, read-only, and sysfs's network devices; NULL: a sysfs */
	size_t n_sys_files;

	/* ROOT_HOST_*: what files of the host's tree, by their absolute paths, have in them instead, where the host has them. */
	const struct container_file *host_files;
	size_t n_host_files;

	const struct container_mount *mounts; /* in order, after the standard ones */
	size_t n_mounts;
	const struct container_device *devices; /* plain_mounts only; the standard nodes are made anyway */
	size_t n_devices;
	char **masked_paths, **readonly_paths; /* NULL-terminated or NULL */
	const struct container_sysctl *sysctls;
	size_t n_sysctls;

	unsigned long namespaces; /* CLONE_NEW* to create, or CONTAINER_DEFAULT_NAMESPACES */
	struct container_id_maps maps; /* with CLONE_NEWUSER */
	struct container_time_offset monotonic_offset, boottime_offset; /* with CLONE_NEWTIME */
	const struct container_join *joins;
	size_t n_joins;
	bool network_host; /* no network namespace of its own */
	bool fixed_macs;   /* in a network namespace that is joined: see net_joined.c */
	bool network_pair; /* container_pair in the network namespace of its own */

	bool own_init; /* process 1 is our own reaper and the guest is process CONTAINER_GUEST_PID; else the guest is 1 */
	bool outlive;  /* the container does not die with its creator */

	bool set_user; /* the fields of this group are applied */
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t n_groups;
	bool keep_groups; /* those of the caller instead */
	bool set_umask; /* false: 022 */
	mode_t umask;

	const struct container_rlimit *rlimits; /* on top of the fixed defaults */
	size_t n_rlimits;
	bool plain_rlimits; /* do not set the fixed defaults */
	struct container_caps caps;
	bool no_new_privs;
	bool traceable; /* by a creator who has no power over where this program was executed: an ordinary user, in a user namespace made for it */
	bool shielded; /* until execve nobody looks into it, or traces it, who has no power where this program was executed. See container_may_shield() */
	bool set_oom_score_adj;
	int oom_score_adj;
	struct container_scheduler scheduler;     /* not set: SCHED_OTHER, nice 0 */
	struct container_io_priority io_priority; /* not set: none */
	const char *lsm_exec;                     /* what /proc/self/attr/exec gets, or NULL */
	const char *lsm_failure;                  /* what is said when it refuses that: the words of other runtimes */
	bool randomize; /* keep address space randomisation on */
	unsigned long personality;

	enum container_session session;
	int stdio[3];       /* descriptors of the caller that become 0, 1, 2; -1: /dev/null */
	bool terminal;      /* make a pty inside the container and use it as 0, 1, 2; its master comes back */
	unsigned short terminal_rows, terminal_columns; /* 0: not set */
	bool keep_console;  /* the terminal does not become /dev/console, which is the first process's */
	unsigned preserve_fds; /* descriptors 3 .. 3+n-1 of the caller stay open in the guest */

	bool pin_cpu;
	unsigned cpu;
	bool set_affinity; /* else, and stronger than pin_cpu */
	cpu_set_t affinity;

	/* Writable text files of cgroups that the guest joins before it is set up; NULL-terminated or NULL. */
	char **cgroup_procs;

	/* Called in the creator before that, with the process made and waiting: may set *procs, which replaces cgroup_procs. 0 or -errno; may be NULL. */
	int (*cgroup_hook)(void *arg, pid_t init_pid, char ***procs, struct error *err);
	void *cgroup_arg;

	/* Called by the process 1 of the container with its new root mounted, before it is entered. 0 or -errno; may be NULL. */
	int (*prepare_root)(void *arg, int root_fd, struct error *err);
	void *prepare_arg;

	/* Called in the creator while the new root is mounted but not yet entered, before prepare_root. 0 or -errno; may be NULL. */
	int (*created_hook)(void *arg, pid_t init_pid, struct error *err);
	void *created_arg;

	/* Called in the guest process by container_begin_start_hook(). 0 or -errno; may be NULL. */
	int (*start_hook)(void *arg, struct error *err);
	void *start_arg;

	/*
	 * Called in the guest process as the last thing before execve. When it has returned 0 the next system call is execve.
	 * Open descriptors at that moment: 0, 1, 2, the preserved ones, and one (close-on-exec) right after them, so that the
	 * lowest free number is CONTAINER_FREE_FD + preserve_fds. NULL: no filter.
	 */
	int (*install_filter)(void *arg);
	void *filter_arg;
};

enum { CONTAINER_GUEST_PID = 2, CONTAINER_FREE_FD = 4 };

/*
 * Where the mounts of a container are that has no mount namespace of its own: on its root directory, in the namespace that it
 * shares. They outlive its processes. Mounts are as mountinfo numbers them.
 */
struct container_shared_root {
	char *root;            /* NULL: none */
	char *mount_namespace; /* its file; NULL: the creator's own */
	int below;             /* the mount that was there before */
	int mount;             /* its own; 0: not known (yet): what lies directly on `below` */
	const int *handed;     /* those of others that go with it, borrowed */
	size_t n_handed;
};

/* A process that process 1 has reaped (own_init), numbered as in the container. */
struct container_reaped {
	int32_t pid;
	int32_t status; /* as of waitpid(2) */
};

/* What exists. Zero-initialised by container_create(); released by container_destroy(). */
struct container {
	pid_t init_pid;  /* process 1 of the container in the caller's numbers; a child of the caller, which must reap it */
	pid_t guest_pid; /* the guest in the caller's numbers; own_init: a child of process 1, else equal to init_pid */
	int init_pidfd, guest_pidfd;
	/*
	 * own_init: a non-blocking pipe of struct container_reaped, one for each process that process 1 has reaped, the guest
	 * among them. Written after the reaping, so a record means that the process is gone. Else -1.
	 */
	int reaped_fd;
	int channel;    /* to the guest; end of file when execve has succeeded or the guest is dead, see container_exec_error() */
	int console_fd; /* master of the pty (spec.terminal), else -1 */
	int failure_status; /* after a failed create: the exit status for it: 125, 126 or 127 */
	struct container_shared_root shared; /* unmounted by container_destroy() */
	bool released;      /* private */
};

/* A container that does not exist yet; container_destroy() accepts it. */
#define CONTAINER_NONE \
	((struct container){ .init_pidfd = -1, .guest_pidfd = -1, .reaped_fd = -1, .channel = -1, .console_fd = -1 })

/* The two ends of network_pair; the first has the addresses, of which nothing else is in reach. */
struct container_device_end {
	const char *name;
	unsigned index;
	unsigned char mac[6];
};
extern const struct container_device_end container_pair[2];
#define CONTAINER_PAIR_IP4 { 10, 0, 0, 2 }
#define CONTAINER_PAIR_IP6 { 0xfd, [15] = 2 }

/* The defaults of `hermit run`: own_init, copy-on-write host, all namespaces, stdio 0 1 2. */
void container_spec_init(struct container_spec *spec);

/* Is its network the one that its creator is in? */
bool container_is_in_host_network(const struct container_spec *spec);

/*
 * A guest whose execve has failed ends with exit_group(status | errno << CONTAINER_ERRNO_SHIFT): the kernel takes the status (126, 127), and
 * who sees the call knows the reason.
 */
enum { CONTAINER_ERRNO_SHIFT = 8 };

/*
 * Puts the calling process into a new user namespace in which its user and group are 0. Needed when the caller is not root
 * (geteuid() != 0); a no-op for root. Must come before threads, children and open state that depends on credentials.
 * On failure the message says what refuses it: a sysctl, a limit, an LSM, a filter, a chroot.
 */
int container_enter_userns(struct error *err);

/* Who there is besides root: all of the host's users, those of a user namespace, or nobody. */
enum container_users { CONTAINER_USERS_ALL, CONTAINER_USERS_MANY, CONTAINER_USERS_ONE };

/*
 * The same with the numbers that /etc/subuid and /etc/subgid give the user, from 1 on, if there are such, and newuidmap(1) and newgidmap(1) are
 * installed. Then the program is executed anew, with the same arguments, in the namespace, where this returns at once.
 */
int container_enter_userns_of_many(enum container_users *ret, struct error *err);

/*
 * Of an ordinary user: what belongs to other users of the container, their files in /proc among it, is in reach of who is in its user namespace, and
 * root there, only. Nothing for root, and where there are no others. 0 or -errno with a message.
 */
int container_enter_its_users(const struct container_spec *spec, const struct container *c, struct error *err);

/* Are its mounts in a namespace of its own? */
bool container_has_own_mounts(const struct container_spec *spec);

/* To be asked before the container is made; *ret is zeroed where it has a mount namespace of its own. */
int container_shared_root_find(const struct container_spec *spec, struct container_shared_root *ret, struct error *err);

/* For who makes the container: which mount is its own, when the guest is in it. */
void container_shared_root_note(struct container_shared_root *shared, pid_t guest);

/*
 * Unmounts, when the processes are gone. -EBUSY: somebody has mounted something over it, *ret_above (0: not known; may be NULL), and it cannot be
 * taken away from under that. Nothing to do is no error.
 */
int container_shared_root_end(const struct container_shared_root *shared, int *ret_above, struct error *err);
void container_shared_root_clear(struct container_shared_root *shared);

/*
 * Makes the container. On return the guest has done everything but install_filter() and execve(), and waits. On failure
 * nothing exists, ret->failure_status is set, and err names the step and the object. *ret need not be initialised.
 */
int container_create(const struct container_spec *spec, struct container *ret, struct error *err);

/*
 * One more process inside a container: in the namespaces and the root of `process`, a process of it in the caller's numbers.
 * Of *spec counts what is about the process itself; own_init has to be false. The process is the caller's child.
 */
int container_create_inside(const struct container_spec *spec, pid_t process, struct container *ret, struct error *err);

/* Has the caller that power, and is nobody else's? Then what waits for its go-ahead can be shielded from others in the container. */
bool container_may_shield(void);

/*
 * Lets the guest run its start_hook: 1 when it does, 0 when there is none. Before anybody seizes it: what the hook forks is nobody's
 * guest. Both know the guest by container.channel, which can be read from when the hook has ended, well or not, or the guest.
 */
int container_begin_start_hook(const struct container_spec *spec, int channel, struct error *err);

/* How it has ended. -EAGAIN without a message: it has not. */
int container_end_start_hook(int channel, struct error *err);

/* Lets the guest go on. Does not wait for the exec. */
int container_release(struct container *c, struct error *err);

/*
 * What went wrong between container_release() and the exec, once the guest has died: 1 with the message in err, 0 if nothing
 * was reported. Status 126 or 127 without a report is a failed execve (no system call may be made to report it).
 */
int container_exec_error(struct container *c, struct error *err);

/*
 * Kills what is left, reaps it and releases everything. It waits for the end of process 1 and, since that cannot end before
 * the last traced process is reaped, reaps every child and tracee of the caller meanwhile. May be called twice, on
 * CONTAINER_NONE, and after a container_create() that failed.
 */
void container_destroy(struct container *c);

#endif
