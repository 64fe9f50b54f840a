/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files lifecycle*.c share. */
#ifndef HS_SUPERVISOR_LIFECYCLE_INTERNAL_H
#define HS_SUPERVISOR_LIFECYCLE_INTERNAL_H

#include "backend/backend.h"
#include "backend/profile.h"
#include "container/cgroup.h"
#include "container/container.h"
#include "supervisor/oci/lifecycle.h"
#include "supervisor/options/options.h"

/* The filters of a process: what is called in it right before execve. Either may be NULL. */
struct filters {
	struct backend_profile *profile;
	struct backend_filter *trap;
};

/* The same ones for all processes of a container: `o` are its options. */
int filters_make(struct filters *f, const struct oci_config *cfg, bool trapped, const struct run_options *o, struct error *err);
void filters_free(struct filters *f);

/* Sets .install_filter of a description. */
void filters_use(struct filters *f, struct container_spec *spec);

/* The descriptors that go into the process: --preserve-fds and those of LISTEN_FDS, whose variables are added to the environment. */
int preserve_descriptors(struct container_spec *spec, unsigned preserve_fds, struct oci_arena *arena, struct error *err);

/* One more variable at the end of the environment. */
int add_variable(struct container_spec *spec, const char *text, struct oci_arena *arena, struct error *err);

/* --pidfd-socket and --pid-file: the number as text, so that nobody ever sees half of it. */
int tell_pid(const struct process_request *request, pid_t pid, struct error *err);

/* Whether a process with a terminal or without can be given what is asked for. */
int check_console(const struct process_request *request, bool terminal, struct error *err);

/* Sends the master to the socket, or gives it to the caller. */
int hand_over_console(struct container *c, const struct process_request *request, int *ret_console_fd, struct error *err);

/* A container that exists: its directory, and what state.json says. */
struct known {
	struct state_dir dir;
	struct oci_runtime_state state;
};

#define KNOWN_NONE { .dir = STATE_DIR_NONE }

/* Locked; -ENOENT when there is none, or its creation has not come to an end. */
int known_open(struct known *k, const struct runtime *rt, const char *id, struct error *err);

/* The same without the lock: see state_dir_look(). */
int known_look(struct known *k, const struct runtime *rt, const char *id, struct error *err);
int known_set_status(struct known *k, enum oci_status status, struct error *err);
void known_close(struct known *k);
#define _cleanup_known_ __attribute__((cleanup(known_close)))
#define _cleanup_state_ __attribute__((cleanup(oci_runtime_state_free)))

/* -ESRCH of a container that has stopped: a sentence that engines look for, and whose container it is and why. */
#define CONTAINER_NOT_RUNNING "container not running"
int container_has_stopped(const struct state_dir *dir, const struct oci_runtime_state *state, const char *sentence, struct error *err);

/* Nothing where it does not live. */
void process_signal(const struct oci_process_ref *ref, int signo);

/* Frozen processes die when they are thawed. */
void container_thaw(const struct oci_runtime_state *state);

/* The cgroups that state.json names; NULL when there are none. */
struct cgroup *cgroup_of_state(const struct oci_runtime_state *state);

/* Who has made them; a name that this program does not know counts as cgroupfs. The place borrows the unit's name. */
const struct cgroup_manager *manager_of_state(const struct oci_runtime_state *state);
struct cgroup_place place_of_state(const struct oci_runtime_state *state, struct cgroup *cgroup);
void cleanup_cgroup(struct cgroup **cgroup);
#define _cleanup_cgroup_ __attribute__((cleanup(cleanup_cgroup)))

/* The config.json that the container was made from. */
int load_config(const struct state_dir *dir, struct oci_config *cfg, struct error *err);

#endif
