/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state directory: ROOT/ID for each container, made by `create`, removed by `delete`.
 *
 *	state.json    what is known of the container (oci/state.h), replaced as a whole by rename(2)
 *	config.json   the document as it was at `create`
 *	options.json  the options of the run as they were then
 *	lock          who changes the container's state holds this lock; it goes with the process that holds it
 *	control       socket of the supervising process, see control.h
 *	log           what the supervising process has to say
 *	hosts, hostname   see host_name.h
 *	notify, notify-socket   see readiness.h
 *
 * A directory without a readable state.json is what a `create` left behind that was killed: only `delete --force` takes it.
 * Whether a process still lives is never believed from a file: its number has to have the same start time.
 */
#ifndef HS_SUPERVISOR_STATE_H
#define HS_SUPERVISOR_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strv.h"
#include "oci/config.h"
#include "oci/state.h"

/* The words that engines look for, of an id. */
#define STATE_NO_SUCH_CONTAINER "container does not exist: '%s'"

/* -ENOENT, in these words. */
int state_no_such_container(const char *id, struct error *err);

/* Zeroed with STATE_DIR_NONE before anything else. */
struct state_dir {
	char *id, *path; /* path: ROOT/ID */
	int fd;          /* the directory */
	int lock_fd;     /* -1: not locked */
};

#define STATE_DIR_NONE { .fd = -1, .lock_fd = -1 }

/* Where state directories are when --root is not given; the caller frees. NULL: out of memory. */
char *state_default_root(void);

/*
 * The one in /tmp, where another user may have made the name: it has to be a directory of the caller's that nobody else can write to. -EPERM with a
 * message; any other root, and one that there is not, is as good as it is.
 */
int state_check_root(const char *root, struct error *err);

/* Makes it where it is missing, with its parents, and checks it. 0 or -errno with a message. */
int state_make_root(const char *root, struct error *err);

/* Letters, digits, "_+.-", and neither "." nor "..". -EINVAL with a message. */
int state_check_id(const char *id, struct error *err);

/* Makes the directory, and ROOT where missing, and locks it. -EEXIST when there is one. */
int state_dir_create(struct state_dir *dir, const char *root, const char *id, struct error *err);

/*
 * Opens and locks one that exists. -ENOENT as state_no_such_container(). Whoever holds the lock is waited for as long as he goes on: -EBUSY with a message
 * when he is stopped. So nobody may wait with the lock for what may take for ever: a supervisor that says nothing, a hook of a container that lives.
 */
int state_dir_open(struct state_dir *dir, const char *root, const char *id, struct error *err);

/* The same for who ends it by force: whoever holds the lock and is stopped or in a hook, or keeps it for long, is killed. */
int state_dir_seize(struct state_dir *dir, const char *root, const char *id, struct error *err);

/* The same without the lock, for who only looks, or asks the supervisor, which does one thing after the other by itself. */
int state_dir_look(struct state_dir *dir, const char *root, const char *id, struct error *err);

/* Somebody else holds the lock. For who does not have it: it would be lost. */
bool state_dir_is_held(const struct state_dir *dir);

/* Others may go on. The directory stays open. */
void state_dir_unlock(struct state_dir *dir);

int state_dir_write(const struct state_dir *dir, const struct oci_runtime_state *state, struct error *err);

/*
 * Whoever asks for a start can be killed before it has written down that the program runs. So the supervisor leaves a file that says so, and who
 * reads the state heeds it.
 */
void state_mark_started(int dir_fd);
bool state_dir_is_started(const struct state_dir *dir);

/* The same of the mounts on a root directory that is shared: what lies there after the supervisor has unmounted them is another container's. */
void state_mark_unmounted(int dir_fd);
bool state_dir_is_unmounted(const struct state_dir *dir);

/* And of the end: without it a supervisor that is gone was killed. */
void state_mark_ended(int dir_fd);
bool state_dir_is_ended(const struct state_dir *dir);

/* Who creates it may be in a hook, which may take for ever: state_dir_seize() does not wait for that. */
void state_mark_in_hooks(int dir_fd, bool in_hooks);

/* Who deletes it is about to kill it: whatever goes wrong in a start from then on, that is why. */
void state_mark_deleting(int dir_fd);
bool state_dir_is_deleting(const struct state_dir *dir);

/* It has been removed, or is being removed, since it was opened and read. */
bool state_dir_is_removed(const struct state_dir *dir);

/* -ENOENT without a message when there is no state.json yet. */
int state_dir_read(const struct state_dir *dir, struct oci_runtime_state *state, struct error *err);

/* A file of the directory, replaced as a whole. */
int state_dir_save(const struct state_dir *dir, const char *name, const char *text, size_t len, struct error *err);

/* Removes everything. */
int state_dir_remove(struct state_dir *dir, struct error *err);

/* Closes, and unlocks. May be called twice. */
void state_dir_close(struct state_dir *dir);
#define _cleanup_state_dir_ __attribute__((cleanup(state_dir_close)))

/* Names of all containers, sorted. No ROOT is no container. */
int state_list(const char *root, struct strv *ids, struct error *err);

/* A process as it is remembered. pid 0 when it is gone already. */
struct oci_process_ref process_ref(int pid);

/* It runs: it exists, is the same, and no zombie. */
bool process_ref_lives(const struct oci_process_ref *ref);

/* It is stopped (SIGSTOP and its like): nothing can be expected of it. */
bool process_is_stopped(int pid);


/* A pidfd of the process, -ESRCH when it does not live. */
int process_ref_open(const struct oci_process_ref *ref);

/* What the container is now: OCI_STOPPED as soon as its process 1 is dead. */
enum oci_status state_status(const struct oci_runtime_state *state);

/* The document of the specification; strings stay those of *state, which has to live longer. */
struct oci_state state_for_others(const struct oci_runtime_state *state, enum oci_status status);

#endif
