/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Documents about a container that exists.
 *
 * struct oci_state is the one of the specification: printed by `state`, handed to hooks on stdin, and read from there
 * (and from a seccomp agent's socket) by programs of this project that work with other runtimes. Reading is as lenient
 * as config.json is: unknown properties are ignored.
 *
 * struct oci_runtime_state is our own file in the state directory. Its reader is strict: unknown properties, a wrong
 * type, another format version are errors, because nobody but this program writes it.
 */
#ifndef HS_OCI_STATE_H
#define HS_OCI_STATE_H

#include "oci/config.h"

enum oci_status { OCI_STATUS_NONE, OCI_CREATING, OCI_CREATED, OCI_RUNNING, OCI_PAUSED, OCI_STOPPED };

/* "created" and so on; NULL for OCI_STATUS_NONE and beyond. */
const char *oci_status_name(enum oci_status status);

struct oci_state {
	struct oci_arena *arena; /* of a state that was parsed; NULL for one that is to be printed */
	const char *oci_version, *id, *bundle;
	enum oci_status status;
	int pid; /* 0: no process any more */
	struct oci_pairs annotations;
	/* Not in the specification; printed by `state` as other runtimes do. NULL: left out. */
	const char *rootfs, *created, *owner;
};

enum oci_state_form {
	OCI_STATE_FOR_HOOK,   /* one line, the members of the specification; no pid when it is 0 */
	OCI_STATE_FOR_PERSON, /* indented, all members */
};

/* *ret_text is the caller's; ends in a newline. 0, -ENOMEM, -EILSEQ if a string is not UTF-8. */
int oci_state_format(const struct oci_state *state, enum oci_state_form form, char **ret_text);

int oci_state_parse(const char *text, size_t len, const char *name, struct oci_state *state, struct error *err);
void oci_state_free(struct oci_state *state);

/*
 * What a runtime sends to listenerPath together with descriptors (runtime-spec, config-linux.md, "The container process
 * state"). seccomp_fd is the index in `fds` of "seccompFd", -1 without one.
 */
struct oci_process_state {
	struct oci_arena *arena;
	const char *oci_version, *metadata;
	struct oci_strings fds;
	int seccomp_fd;
	int pid;
	struct oci_state state; /* in the same arena */
};

int oci_process_state_parse(const char *text, size_t len, const char *name, struct oci_process_state *state,
			    struct error *err);
void oci_process_state_free(struct oci_process_state *state);

/* A process, not to be mistaken for another one that has its number later: start is field 22 of /proc/PID/stat. */
struct oci_process_ref {
	int pid; /* 0: none */
	uint64_t start;
};

/* Numbers of mounts, as mountinfo has them. */
struct oci_mounts {
	int *items;
	size_t count;
};

struct oci_runtime_state {
	struct oci_arena *arena;
	char *id, *bundle, *rootfs, *oci_version;
	char *created;		/* RFC 3339 with nanoseconds, UTC */
	char *owner;		/* name of the user, may be empty */
	enum oci_status status; /* when it was written; what is true now depends on the processes */
	struct oci_process_ref init, supervisor, guardian;
	bool rootless;
	bool untrapped;		    /* runs without supervision (a pod's sandbox, or switched off) */
	struct oci_i64 exit_status; /* of init as a shell shows it, when it has ended */
	char *cgroup_manager;	    /* "cgroupfs", "systemd", "disabled" */
	char *cgroup_unit;	    /* of systemd; NULL */
	struct oci_pairs cgroups;   /* controller or "" for v2 -> path below its mount */
	struct oci_pairs annotations;
	/*
	 * Without a mount namespace of its own: above which mount its own one is, on rootfs, and in whose namespace (NULL: the creator's). shared_handed:
	 * those of containers that were deleted while this one's lay on them; they go with it.
	 */
	int shared_below; /* 0: it has one */
	int shared_mount; /* its own; 0: not known yet */
	struct oci_mounts shared_handed;
	char *shared_mounts;
};

#define OCI_RUNTIME_STATE_VERSION 1

/* *ret_text is the caller's. 0, -ENOMEM, -EILSEQ. */
int oci_runtime_state_format(const struct oci_runtime_state *state, char **ret_text);

/* All strings but cgroup_unit and shared_mounts are there after success. */
int oci_runtime_state_parse(const char *text, size_t len, const char *name, struct oci_runtime_state *state,
			    struct error *err);
void oci_runtime_state_free(struct oci_runtime_state *state);

#endif
