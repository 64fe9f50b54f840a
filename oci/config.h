/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An OCI config.json (runtime-spec 1.x, Linux) as one plain struct.
 *
 * Every property of the specification is either a member here, or is refused by its path when it is read
 * ("linux.intelRdt: not supported"); a property that the specification does not know is ignored, as it demands.
 * oci_config_parse() is pure: bytes in, struct out. What needs the host (does the rootfs exist, is a namespace file of
 * the right type) is the container layer's.
 *
 * Ownership: everything that can be reached from a config lives in its arena and goes with oci_config_free(). A caller
 * that wants to change a member assigns a pointer of its own that lives as long, or one from oci_arena_*().
 *
 * Absence: a NULL pointer, a zero count, or `.set == false`. Resource limits for which the engines write 0 to mean
 * "nothing" (see ZERO_IS_UNSET in fields_resources.c) are not set when they are 0.
 */
#ifndef HS_OCI_CONFIG_H
#define HS_OCI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct oci_arena;

/* A list of strings. items[count] is NULL, so that it can be an argv or an environment; items itself is never NULL. */
struct oci_strings {
	char **items;
	size_t count;
};

/* A JSON object of strings, in the order of the document. A name that is written twice counts once, with the last
 * value. */
struct oci_pair {
	char *key;
	char *value;
};

struct oci_pairs {
	struct oci_pair *items;
	size_t count;
};

struct oci_i64 {
	bool set;
	int64_t value;
};

struct oci_u64 {
	bool set;
	uint64_t value;
};

struct oci_bool {
	bool set;
	bool value;
};

/* ---- process ---- */

/* Bit n is capability number n. Names that this program does not know are kept for a warning; they grant nothing. */
struct oci_capabilities {
	bool set;
	uint64_t bounding, effective, inheritable, permitted, ambient;
	struct oci_strings unknown;
};

struct oci_rlimit {
	int resource;	     /* RLIMIT_* */
	const char *name;    /* "RLIMIT_NOFILE" */
	uint64_t soft, hard; /* exact; UINT64_MAX is RLIM_INFINITY */
};

struct oci_scheduler {
	bool set;
	int policy; /* SCHED_* */
	int32_t nice, priority;
	uint64_t flags; /* SCHED_FLAG_* */
	uint64_t runtime_ns, deadline_ns, period_ns;
};

struct oci_io_priority {
	bool set;
	int io_class; /* IOPRIO_CLASS_*: 1 realtime, 2 best effort, 3 idle */
	int priority; /* 0..7 */
};

struct oci_user {
	uint32_t uid, gid;
	struct oci_u64 umask;
	uint32_t *additional_gids;
	size_t n_additional_gids;
};

struct oci_process {
	bool present; /* false: the document has no process; then nothing may be started */
	bool terminal;
	uint32_t console_width, console_height; /* 0: not given */
	struct oci_user user;
	struct oci_strings args, env;
	char *cwd;
	struct oci_capabilities capabilities;
	struct oci_rlimit *rlimits;
	size_t n_rlimits;
	bool no_new_privileges;
	struct oci_i64 oom_score_adj;
	char *apparmor_profile, *selinux_label;
	struct oci_scheduler scheduler;
	struct oci_io_priority io_priority;
	char *exec_affinity_initial, *exec_affinity_final; /* lists of CPUs as in cpuset(7), or NULL */
};

/* ---- mounts ---- */

struct oci_id_mapping {
	uint32_t container_id, host_id, size; /* no range runs past the last id, and size is not 0 */
	bool relative; /* of an option "idmap="; false once a config was parsed: host_id was looked up in linux.*Mappings */
};

struct oci_id_mappings {
	struct oci_id_mapping *items;
	size_t count;
};

enum oci_idmap { OCI_IDMAP_NONE, OCI_IDMAP_MOUNT, OCI_IDMAP_RECURSIVE };

/*
 * Options are taken apart from left to right, later ones win. `flags` has the MS_* bits that were asked for, without
 * the propagation bits; `flags_clear` those that were asked to be off ("rw", "suid", "dev"): it never shares a bit with
 * flags.
 */
struct oci_mount {
	char *destination;
	char *type;		     /* NULL, or as written; "none" and "bind" stay as written */
	char *source;		     /* NULL, or as written */
	struct oci_strings options;  /* as written */
	uint64_t flags, flags_clear; /* MS_* */
	uint64_t propagation;	     /* 0, or one of MS_SHARED, MS_SLAVE, MS_PRIVATE, MS_UNBINDABLE, perhaps | MS_REC */
	/*
	 * MOUNT_ATTR_* for attr_set and attr_clr of mount_setattr(2) with AT_RECURSIVE: "rro", "rnosuid" ... Access
	 * times are a field: clear then has all of MOUNT_ATTR__ATIME.
	 */
	uint64_t rec_attr_set, rec_attr_clear;
	bool tmpcopyup;
	/* "idmap" and "ridmap", also with mappings of their own as podman hands them over:
	 * "idmap=uids=0-1-10;gids=@0-1-10". */
	enum oci_idmap idmap;
	char *data;					   /* the other options, joined by commas; NULL without any */
	struct oci_id_mappings uid_mappings, gid_mappings; /* of an idmapped mount; empty: those of the container */
};

/* ---- hooks ---- */

/* In the order in which the stages come. */
enum oci_hook_stage {
	OCI_HOOK_PRESTART,
	OCI_HOOK_CREATE_RUNTIME,
	OCI_HOOK_CREATE_CONTAINER,
	OCI_HOOK_START_CONTAINER,
	OCI_HOOK_POSTSTART,
	OCI_HOOK_POSTSTOP,
	OCI_HOOK_STAGES,
};

struct oci_hook {
	char *path;
	struct oci_strings args; /* whole argv; empty: { path } */
	struct oci_strings env;
	bool env_set;		  /* an empty list that was written is not the same as none */
	struct oci_i64 timeout_s; /* above zero */
};

struct oci_hooks {
	struct oci_hook *items;
	size_t count;
};

/* ---- linux ---- */

enum oci_namespace_type {
	OCI_NS_USER, /* in the order in which they have to be entered */
	OCI_NS_CGROUP,
	OCI_NS_IPC,
	OCI_NS_UTS,
	OCI_NS_NETWORK,
	OCI_NS_PID,
	OCI_NS_TIME,
	OCI_NS_MOUNT,
	OCI_NS_TYPES,
};

struct oci_namespace {
	bool present; /* false: the container shares the namespace of the runtime */
	char *path;   /* join this one; NULL: make a new one */
};

struct oci_time_offset {
	bool set;
	int64_t seconds;
	uint32_t nanoseconds;
};

struct oci_device {
	char type; /* 'c', 'b' or 'p' ("u" is read as 'c') */
	char *path;
	int64_t major, minor;	  /* 0 for 'p' */
	struct oci_u64 file_mode; /* permission bits */
	struct oci_u64 uid, gid;
};

enum { OCI_DEVICE_READ = 1, OCI_DEVICE_WRITE = 2, OCI_DEVICE_MKNOD = 4 };

struct oci_device_rule {
	bool allow;
	char type;		     /* 'a', 'c' or 'b' */
	struct oci_i64 major, minor; /* not set: any */
	unsigned access;	     /* OCI_DEVICE_*; all three when nothing was written */
};

struct oci_memory {
	struct oci_i64 limit, reservation, swap, kernel, kernel_tcp; /* bytes, -1: unlimited; swap is memory + swap */
	struct oci_u64 swappiness;
	struct oci_bool disable_oom_killer, use_hierarchy, check_before_update;
};

struct oci_cpu {
	struct oci_u64 shares, period_us, realtime_period_us, burst_us;
	struct oci_i64 quota_us, realtime_runtime_us, idle;
	char *cpus, *mems;
};

struct oci_blkio_device {
	int64_t major, minor;
	struct oci_u64 weight, leaf_weight; /* of weightDevice */
	uint64_t rate;			    /* of the throttle lists */
};

struct oci_blkio_devices {
	struct oci_blkio_device *items;
	size_t count;
};

struct oci_blkio {
	struct oci_u64 weight, leaf_weight;
	struct oci_blkio_devices weight_device;
	struct oci_blkio_devices read_bps, write_bps, read_iops, write_iops;
};

struct oci_hugepage {
	char *page_size; /* "2MB", checked */
	uint64_t limit;
};

struct oci_net_priority {
	char *name;
	uint32_t priority;
};

struct oci_rdma {
	char *device;
	struct oci_u64 hca_handles, hca_objects;
};

struct oci_resources {
	bool present;
	struct oci_device_rule *devices;
	size_t n_devices;
	struct oci_memory memory;
	struct oci_cpu cpu;
	struct oci_i64 pids_limit; /* -1 and 0: no limit */
	struct oci_blkio blkio;
	struct oci_hugepage *hugepages;
	size_t n_hugepages;
	struct oci_u64 net_class_id;
	struct oci_net_priority *net_priorities;
	size_t n_net_priorities;
	struct oci_rdma *rdma;
	size_t n_rdma;
	struct oci_pairs unified;
};

enum oci_seccomp_action {
	OCI_SECCOMP_NONE,	 /* no such action */
	OCI_SECCOMP_KILL_THREAD, /* also SCMP_ACT_KILL */
	OCI_SECCOMP_KILL_PROCESS,
	OCI_SECCOMP_TRAP,
	OCI_SECCOMP_ERRNO,
	OCI_SECCOMP_TRACE,
	OCI_SECCOMP_ALLOW,
	OCI_SECCOMP_LOG,
	OCI_SECCOMP_NOTIFY,
};

enum oci_seccomp_op {
	OCI_SECCOMP_NO_OP,
	OCI_SECCOMP_NE,
	OCI_SECCOMP_LT,
	OCI_SECCOMP_LE,
	OCI_SECCOMP_EQ,
	OCI_SECCOMP_GE,
	OCI_SECCOMP_GT,
	OCI_SECCOMP_MASKED_EQ, /* (argument & value) == value_two */
};

struct oci_seccomp_arg {
	uint32_t index; /* 0..5 */
	enum oci_seccomp_op op;
	uint64_t value, value_two;
};

struct oci_seccomp_rule {
	struct oci_strings names;
	enum oci_seccomp_action action;
	struct oci_u64 errno_ret;     /* only with ERRNO and TRACE; not set: EPERM */
	struct oci_seccomp_arg *args; /* all have to match */
	size_t n_args;
};

/* What the document says; oci/ knows no libseccomp. */
struct oci_seccomp {
	bool present;
	enum oci_seccomp_action default_action;
	struct oci_u64 default_errno_ret;
	uint32_t *architectures; /* AUDIT_ARCH_* tokens as libseccomp uses them; x32 is AUDIT_ARCH_X86_64 without the
				    64-bit flag */
	size_t n_architectures;
	uint64_t flags; /* SECCOMP_FILTER_FLAG_* */
	bool flags_set; /* a list was written, perhaps an empty one */
	char *listener_path, *listener_metadata;
	struct oci_seccomp_rule *rules;
	size_t n_rules;
};

struct oci_linux {
	bool present;
	struct oci_namespace namespaces[OCI_NS_TYPES];
	struct oci_id_mappings uid_mappings, gid_mappings;
	struct oci_time_offset time_monotonic, time_boottime;
	struct oci_device *devices;
	size_t n_devices;
	char *cgroups_path;
	struct oci_resources resources;
	struct oci_pairs sysctl;
	struct oci_seccomp seccomp;
	uint64_t rootfs_propagation; /* as oci_mount.propagation */
	struct oci_strings masked_paths, readonly_paths;
	char *mount_label;
	struct oci_u64 personality; /* PER_LINUX or PER_LINUX32 */
};

/* ---- the document ---- */

struct oci_config {
	struct oci_arena *arena;
	char *oci_version;
	struct oci_process process;
	bool has_root;
	char *root_path; /* as written: relative to the bundle, or absolute */
	bool root_readonly;
	char *hostname, *domainname; /* NULL when absent or empty */
	struct oci_mount *mounts;
	size_t n_mounts;
	struct oci_hooks hooks[OCI_HOOK_STAGES];
	struct oci_linux linux_;
	struct oci_pairs annotations;
};

/*
 * Reads text[len] into *cfg, which needs no initialisation and is empty after a failure. `name` stands in front of
 * messages: "config.json:12:9: linux.resources.memory.limit: expected integer, found string". The result has passed
 * oci_config_validate(). 0, -EINVAL for a bad document, -ENOMEM.
 */
int oci_config_parse(const char *text, size_t len, const char *name, struct oci_config *cfg, struct error *err);

/* Reads the file and parses it; the last component of path is the name in messages. Errors of openat(2)/read(2) too. */
int oci_config_load(int dirfd, const char *path, struct oci_config *cfg, struct error *err);

/* May be called twice, and on a zero-filled struct. */
void oci_config_free(struct oci_config *cfg);
#define _cleanup_oci_config_ __attribute__((cleanup(oci_config_free)))

/* ---- documents that are a part of one ---- */

/* The file that engines hand to `exec --process`: an object "process" alone, with something to execute. */
struct oci_process_file {
	struct oci_arena *arena;
	struct oci_process process;
};

int oci_process_parse(const char *text, size_t len, const char *name, struct oci_process_file *file, struct error *err);
void oci_process_free(struct oci_process_file *file);

/* The file that engines hand to `update --resources`: an object "linux.resources" alone. What is not set stays as it
 * is. */
struct oci_resources_file {
	struct oci_arena *arena;
	struct oci_resources resources;
};

int oci_resources_parse(const char *text, size_t len, const char *name, struct oci_resources_file *file,
			struct error *err);
void oci_resources_free(struct oci_resources_file *file);

/* ---- names ---- */

/* "network" and so on; the CLONE_NEW* flag; the name of the file in /proc/PID/ns. NULL and 0 outside the enum. */
const char *oci_namespace_name(enum oci_namespace_type type);
uint64_t oci_namespace_flag(enum oci_namespace_type type);
const char *oci_namespace_file(enum oci_namespace_type type);

/* "createRuntime" and so on. */
const char *oci_hook_stage_name(enum oci_hook_stage stage);

/* "CAP_CHOWN" for 0; NULL beyond the last one that is known. */
const char *oci_capability_name(unsigned number);

/* Number of a capability, with or without "CAP_", in any case; -1 for an unknown one. */
int oci_capability_number(const char *name);

/* "SCMP_ACT_ERRNO" and so on. */
const char *oci_seccomp_action_name(enum oci_seccomp_action action);

/* The value of an annotation, or NULL. */
const char *oci_annotation(const struct oci_config *cfg, const char *key);

/*
 * The annotations "org.hermit.<option>" in the order of the document, as options and values: "seed", "42". What they
 * mean, and which are wrong, is not known here. The list lives in the arena of cfg. -EINVAL for one without the name of
 * an option, -ENOMEM.
 */
#define OCI_HERMIT_PREFIX "org.hermit."
int oci_hermit_options(struct oci_config *cfg, struct oci_pairs *ret_options, struct error *err);

#endif
