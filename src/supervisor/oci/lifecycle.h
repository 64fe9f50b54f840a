/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations of an OCI runtime (runtime-spec, runtime.md) on a container with a state directory. Failures are messages in
 * the words that container engines look for.
 */
#ifndef HS_SUPERVISOR_LIFECYCLE_H
#define HS_SUPERVISOR_LIFECYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strv.h"
#include "container/cgroup_manager.h"
#include "oci/config.h"
#include "oci/state.h"
#include "supervisor/oci/state.h"

/* What every operation is told. Strings are borrowed. */
struct runtime {
	const char *root;     /* --root */
	const char *defaults; /* file of defaults, NULL: the one of the installation */
	const struct cgroup_manager *cgroup_manager; /* --cgroup-manager, for new ones; NULL: cgroupfs */
};

/* What can be asked for every process that is started. */
struct process_request {
	const char *pid_file, *console_socket, *pidfd_socket; /* NULL: none */
	unsigned preserve_fds;
	bool attached; /* the caller stays (no --detach): a terminal without a socket is the caller's to relay */
};

struct create_request {
	const char *id;
	const char *bundle; /* directory */
	const char *config; /* NULL: config.json in it */
	struct process_request process;
	bool no_pivot;
};

struct created {
	pid_t init;     /* child of the caller */
	int console_fd; /* attached: master of the terminal, the caller's; else -1 */
};

/* Creates the container; it is the calling process's child and waits for lifecycle_start(). */
int lifecycle_create(const struct runtime *rt, const struct create_request *request, struct created *ret, struct error *err);

struct readiness;

/*
 * Lets the program run. *ret_status on failure: the exit status that fits (125, 126, 127). A container that was created with a NOTIFY_SOCKET
 * is waited for until it says that it is ready, unless that is the caller's part: ret_readiness, for lifecycle_wait().
 */
int lifecycle_start(const struct runtime *rt, const char *id, struct readiness *ret_readiness, int *ret_status, struct error *err);

/* A signal to process 1, or to all processes. */
int lifecycle_kill(const struct runtime *rt, const char *id, int signo, bool all, struct error *err);

/* Removes a container that has stopped; force: whatever it does, and whatever is left of it. */
int lifecycle_delete(const struct runtime *rt, const char *id, bool force, struct error *err);

int lifecycle_pause(const struct runtime *rt, const char *id, struct error *err);
int lifecycle_resume(const struct runtime *rt, const char *id, struct error *err);

/* Applies what is set in *resources. */
int lifecycle_update(const struct runtime *rt, const char *id, const struct oci_resources *resources, struct error *err);

/* Numbers of the container's processes, ascending; *ret is the caller's. */
int lifecycle_pids(const struct runtime *rt, const char *id, pid_t **ret, size_t *ret_n, struct error *err);

struct json_t;

/* What the container has used: see usage.h. -ESRCH when it has stopped. */
int lifecycle_stats(const struct runtime *rt, const char *id, struct json_t **ret, struct error *err);

struct exec_request {
	const char *id;
	const char *process_file;          /* a process.json, or NULL: args and what follows over the container's own process */
	char **args;                       /* NULL-terminated */
	const char *cwd, *user;            /* "UID" or "UID:GID" */
	const char *apparmor_profile, *selinux_label;
	const struct strv *env, *caps;     /* may be NULL */
	const struct strv *cgroups;        /* --cgroup: see cgroup_use_below(); may be NULL */
	const uint32_t *groups;
	size_t n_groups;
	bool terminal, no_new_privs, ignore_paused;
	struct process_request process;
};

/* One more process in a running container; it runs when this returns. */
int lifecycle_exec(const struct runtime *rt, const struct exec_request *request, struct created *ret, int *ret_status,
		   struct error *err);

/* Reads state.json; *ret_status is what the container is now. The state is the caller's (oci_runtime_state_free). */
int lifecycle_state(const struct runtime *rt, const char *id, struct oci_runtime_state *ret, enum oci_status *ret_status,
		    struct error *err);

/*
 * For `run`: waits until process 1, a child, has ended and its supervisor with it; forwards signals meanwhile. Returns the exit
 * status.
 */
int lifecycle_wait(const struct runtime *rt, const char *id, pid_t init, struct readiness *readiness);

/* The same for a process of lifecycle_exec(). */
int lifecycle_wait_exec(pid_t pid);

/* "TERM", "SIGTERM", "15" in any case; -EINVAL. */
int signal_parse(const char *text);

#endif
