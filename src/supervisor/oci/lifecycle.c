/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on a container that exists: see lifecycle.h. */
#include "supervisor/oci/lifecycle.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/parse.h"
#include "supervisor/oci/control.h"
#include "supervisor/exit_codes.h"
#include "supervisor/oci/hooks.h"
#include "supervisor/oci/lifecycle_internal.h"

enum { PATIENCE_MS = 10000, FREEZER_MS = 500 };

#define _cleanup_state_ __attribute__((cleanup(oci_runtime_state_free)))
#define _cleanup_cgroup_ __attribute__((cleanup(cleanup_cgroup)))

static void cleanup_cgroup(struct cgroup **cgroup)
{
	cgroup_free(*cgroup);
}

static int not_running(struct error *err)
{
	return error_set(err, ESRCH, "container not running");
}

/* The locked directory and what its state file says. */
static int open_container(const struct runtime *rt, const char *id, struct state_dir *dir, struct oci_runtime_state *state,
			  struct error *err)
{
	int r;

	r = state_dir_open(dir, rt->root, id, err);
	if (r < 0)
		return r;
	r = state_dir_read(dir, state, err);
	return r == -ENOENT ? error_set(err, ENOENT, "%s (its creation was broken off; delete --force clears it)",
					STATE_NO_SUCH_CONTAINER) : r;
}

static int set_status(const struct state_dir *dir, struct oci_runtime_state *state, enum oci_status status, struct error *err)
{
	state->status = status;
	return state_dir_write(dir, state, err);
}

struct cgroup *cgroup_of_state(const struct oci_runtime_state *state)
{
	struct cgroup *cgroup = NULL;
	struct error unread = { 0 };

	if (state->cgroups.count == 0 || cgroup_from_pairs(&state->cgroups, &cgroup, &unread) < 0)
		return NULL;
	return cgroup;
}

int load_config(const struct state_dir *dir, struct oci_config *cfg, struct error *err)
{
	return oci_config_load(dir->fd, "config.json", cfg, err);
}

/* ---- state ---- */

int lifecycle_state(const struct runtime *rt, const char *id, struct oci_runtime_state *ret, enum oci_status *ret_status,
		    struct error *err)
{
	_cleanup_state_dir_ struct state_dir dir = STATE_DIR_NONE;
	int r;

	*ret = (struct oci_runtime_state){ 0 };
	r = state_dir_look(&dir, rt->root, id, err);
	if (r < 0)
		return r;
	r = state_dir_read(&dir, ret, err);
	if (r < 0)
		return r == -ENOENT ? error_set(err, ENOENT, STATE_NO_SUCH_CONTAINER) : r;
	*ret_status = state_status(ret);
	return 0;
}

/* ---- start ---- */

static int check_startable(enum oci_status status, struct error *err)
{
	switch (status) {
	case OCI_CREATED:
		return 0;
	case OCI_RUNNING:
	case OCI_PAUSED:
		return error_set(err, EBUSY, "cannot start an already running container");
	case OCI_STOPPED:
		return error_set(err, ESRCH, "cannot start a container that has stopped");
	case OCI_CREATING:
	case OCI_STATUS_NONE:
		break;
	}
	return error_set(err, EAGAIN, "cannot start a container that is being created");
}

static void kill_ref(const struct oci_process_ref *ref, int signo)
{
	_cleanup_close_ int fd = process_ref_open(ref);

	if (fd >= 0)
		(void)pidfd_send_signal(fd, signo, NULL, 0);
}

static int run_poststart(const struct state_dir *dir, const struct oci_runtime_state *state, struct error *err)
{
	__attribute__((cleanup(oci_config_free))) struct oci_config cfg = { 0 };
	struct oci_state for_hooks = state_for_others(state, OCI_RUNNING);
	int r;

	r = load_config(dir, &cfg, err);
	if (r == 0)
		r = hooks_run(&cfg, OCI_HOOK_POSTSTART, &for_hooks, err);
	if (r < 0)
		kill_ref(&state->init, SIGKILL);
	return r;
}

int lifecycle_start(const struct runtime *rt, const char *id, int *ret_status, struct error *err)
{
	_cleanup_state_dir_ struct state_dir dir = STATE_DIR_NONE;
	_cleanup_state_ struct oci_runtime_state state = { 0 };
	const struct control_request request = { .verb = CONTROL_START };
	struct control_answer answer = { 0 };
	int r;

	*ret_status = EXIT_CODE_TOOL;
	r = open_container(rt, id, &dir, &state, err);
	if (r == 0)
		r = check_startable(state_status(&state), err);
	if (r < 0)
		return r;
	r = control_call(dir.fd, &request, -1, &answer, err);
	if (r < 0) {
		*ret_status = answer.code ? answer.status : EXIT_CODE_TOOL;
		return r;
	}
	r = set_status(&dir, &state, OCI_RUNNING, err);
	return r < 0 ? r : run_poststart(&dir, &state, err);
}

/* ---- kill ---- */

int signal_parse(const char *text)
{
	uint64_t number;

	if (parse_u64(text, &number) == 0)
		return number < (uint64_t)NSIG ? (int)number : -EINVAL;
	if (!strncasecmp(text, "SIG", 3))
		text += 3;
	for (int sig = 1; sig < NSIG; sig++) {
		const char *name = sigabbrev_np(sig);

		if (name && !strcasecmp(name, text))
			return sig;
	}
	if (!strncasecmp(text, "RTMIN", 5) && (text[5] == '\0' || (text[5] == '+' && parse_u64(text + 6, &number) == 0 && number < 32)))
		return SIGRTMIN + (text[5] ? (int)number : 0);
	return -EINVAL;
}

/* Frozen processes die when they are thawed. */
static void thaw(const struct oci_runtime_state *state)
{
	_cleanup_cgroup_ struct cgroup *cgroup = state->status == OCI_PAUSED ? cgroup_of_state(state) : NULL;
	struct error unread = { 0 };

	if (cgroup)
		(void)cgroup_freeze(cgroup, false, &unread);
}

static int signal_directly(const struct oci_runtime_state *state, int signo, struct error *err)
{
	_cleanup_close_ int fd = process_ref_open(&state->init);

	if (fd < 0 || pidfd_send_signal(fd, signo, NULL, 0) < 0)
		return fd < 0 || errno == ESRCH ? not_running(err) : error_errno(err, errno, "signal %d", signo);
	return 0;
}

static int signal_through_supervisor(const struct state_dir *dir, int signo, bool all, struct error *err)
{
	const struct control_request request = { .verb = CONTROL_SIGNAL, .number = signo, .all = all };
	struct control_answer answer;

	return control_call(dir->fd, &request, -1, &answer, err);
}

static int signal_all(const struct state_dir *dir, const struct oci_runtime_state *state, int signo, struct error *err)
{
	_cleanup_cgroup_ struct cgroup *cgroup = cgroup_of_state(state);
	struct error unread = { 0 };
	int r;

	if (signo == SIGKILL)
		kill_ref(&state->init, SIGKILL); /* with a pid namespace of its own that is all of them */
	if (!cgroup)
		return signo == SIGKILL ? 0 : signal_directly(state, signo, err);
	r = cgroup_signal(cgroup, signo, err);
	if (r == 0 && signo != SIGKILL)
		(void)signal_through_supervisor(dir, signo, true, &unread);
	return r;
}

int lifecycle_kill(const struct runtime *rt, const char *id, int signo, bool all, struct error *err)
{
	_cleanup_state_dir_ struct state_dir dir = STATE_DIR_NONE;
	_cleanup_state_ struct oci_runtime_state state = { 0 };
	struct error unread = { 0 };
	int r;

	r = open_container(rt, id, &dir, &state, err);
	if (r < 0)
		return r;
	if (state_status(&state) == OCI_STOPPED && !all)
		return not_running(err);
	if (signo == SIGKILL)
		thaw(&state);
	if (all)
		return signal_all(&dir, &state, signo, err);
	if (signo == SIGKILL || state.untrapped || state.status == OCI_CREATED)
		return signal_directly(&state, signo, err);
	r = signal_through_supervisor(&dir, signo, false, &unread);
	if (r < 0 && !process_ref_lives(&state.init))
		return not_running(err);
	return r < 0 ? signal_directly(&state, signo, err) : 0;
}

/* ---- delete ---- */

static bool wait_for_end(int pidfd, int timeout_ms)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	int r;

	do {
		r = poll(&end, 1, timeout_ms);
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

/* Waits for a process that is about to end; kills it when it does not. */
static void await_end(const struct oci_process_ref *ref)
{
	_cleanup_close_ int fd = process_ref_open(ref);

	if (fd < 0 || wait_for_end(fd, PATIENCE_MS))
		return;
	(void)pidfd_send_signal(fd, SIGKILL, NULL, 0);
	(void)wait_for_end(fd, PATIENCE_MS);
}

/* Process 1, and whoever else is in the cgroups: with a pid namespace that is not the container's own they outlive it. */
static int kill_everything(const struct oci_runtime_state *state, const struct cgroup *cgroup, struct error *err)
{
	_cleanup_close_ int fd = process_ref_open(&state->init);
	_cleanup_free_ pid_t *pids = NULL;
	struct error unread = { 0 };
	size_t n = 0;

	thaw(state);
	if (fd >= 0) {
		(void)pidfd_send_signal(fd, SIGKILL, NULL, 0);
		if (!wait_for_end(fd, FREEZER_MS) && cgroup_thaw_process(state->init.pid) < 0)
			log_debug("process %d: no freezer holds it", state->init.pid);
		if (!wait_for_end(fd, PATIENCE_MS))
			return error_set(err, EBUSY, "process %d of the container does not end", state->init.pid);
	}
	if (cgroup && cgroup_pids(cgroup, &pids, &n, &unread) == 0 && n > 0)
		(void)cgroup_signal(cgroup, SIGKILL, &unread);
	return 0;
}

static int check_deletable(const struct oci_runtime_state *state, enum oci_status status, struct error *err)
{
	if (status == OCI_STOPPED || status == OCI_CREATED)
		return 0;
	return error_set(err, EBUSY, "cannot delete container %s that is not stopped: %s", state->id, oci_status_name(status));
}

static void run_poststop(const struct state_dir *dir, const struct oci_runtime_state *state)
{
	__attribute__((cleanup(oci_config_free))) struct oci_config cfg = { 0 };
	struct oci_state for_hooks = state_for_others(state, OCI_STOPPED);
	struct error err = { 0 };

	if (load_config(dir, &cfg, &err) < 0)
		log_warning("hooks of the deleted container: %s", err.text);
	else
		hooks_run_all(&cfg, OCI_HOOK_POSTSTOP, &for_hooks);
}

static int delete_known(struct state_dir *dir, const struct oci_runtime_state *state, bool force, struct error *err)
{
	_cleanup_cgroup_ struct cgroup *cgroup = cgroup_of_state(state);
	int r;

	r = force ? 0 : check_deletable(state, state_status(state), err);
	if (r == 0)
		r = kill_everything(state, cgroup, err);
	if (r < 0)
		return r;
	await_end(&state->supervisor);
	await_end(&state->guardian);
	r = cgroup ? cgroup_remove(cgroup, err) : 0;
	if (r < 0 && !force)
		return r;
	run_poststop(dir, state);
	return state_dir_remove(dir, err);
}

/* A creation that was killed: its process 1 goes with it, its cgroups are where the document says, perhaps. */
static int delete_broken_off(struct state_dir *dir, struct error *err)
{
	__attribute__((cleanup(oci_config_free))) struct oci_config cfg = { 0 };
	_cleanup_cgroup_ struct cgroup *cgroup = NULL;
	struct error unread = { 0 };

	if (load_config(dir, &cfg, &unread) == 0 && cgroup_at(cfg.linux_.cgroups_path, dir->id, &cgroup, &unread) == 0)
		(void)cgroup_remove(cgroup, &unread);
	return state_dir_remove(dir, err);
}

int lifecycle_delete(const struct runtime *rt, const char *id, bool force, struct error *err)
{
	_cleanup_state_dir_ struct state_dir dir = STATE_DIR_NONE;
	_cleanup_state_ struct oci_runtime_state state = { 0 };
	int r;

	r = state_dir_open(&dir, rt->root, id, err);
	if (r == -ENOENT && force)
		return 0;
	if (r < 0)
		return r;
	r = state_dir_read(&dir, &state, err);
	if (r < 0 && force)
		return delete_broken_off(&dir, err);
	if (r < 0)
		return r == -ENOENT ? error_set(err, ENOENT, STATE_NO_SUCH_CONTAINER) : r;
	return delete_known(&dir, &state, force, err);
}

/* ---- pause and resume ---- */

/*
 * The supervisor stops letting anybody go on; that alone holds everybody who waits for it, and it keeps its listener, so nobody
 * is lost. The freezer holds who computes meanwhile; it never gets hold of those who wait, so its success is not waited for.
 */
static int pause_trapped(const struct state_dir *dir, const struct cgroup *cgroup, struct error *err)
{
	const struct control_request request = { .verb = CONTROL_PAUSE };
	struct control_answer answer;
	int r;

	r = control_call(dir->fd, &request, -1, &answer, err);
	if (r == 0 && cgroup)
		cgroup_freeze_begin(cgroup, true);
	return r;
}

static int resume_trapped(const struct state_dir *dir, const struct cgroup *cgroup, struct error *err)
{
	const struct control_request request = { .verb = CONTROL_RESUME };
	struct control_answer answer;

	if (cgroup)
		cgroup_freeze_begin(cgroup, false);
	return control_call(dir->fd, &request, -1, &answer, err);
}

static int freeze(const struct cgroup *cgroup, bool frozen, struct error *err)
{
	return cgroup ? cgroup_freeze(cgroup, frozen, err) : error_set(err, ENOTSUP, "there is no cgroup freezer here");
}

int lifecycle_pause(const struct runtime *rt, const char *id, struct error *err)
{
	_cleanup_state_dir_ struct state_dir dir = STATE_DIR_NONE;
	_cleanup_state_ struct oci_runtime_state state = { 0 };
	_cleanup_cgroup_ struct cgroup *cgroup = NULL;
	enum oci_status status;
	int r;

	r = open_container(rt, id, &dir, &state, err);
	if (r < 0)
		return r;
	status = state_status(&state);
	if (status == OCI_PAUSED)
		return error_set(err, EALREADY, "container already paused");
	if (status != OCI_RUNNING)
		return not_running(err);
	cgroup = cgroup_of_state(&state);
	r = state.untrapped ? freeze(cgroup, true, err) : pause_trapped(&dir, cgroup, err);
	return r < 0 ? r : set_status(&dir, &state, OCI_PAUSED, err);
}

int lifecycle_resume(const struct runtime *rt, const char *id, struct error *err)
{
	_cleanup_state_dir_ struct state_dir dir = STATE_DIR_NONE;
	_cleanup_state_ struct oci_runtime_state state = { 0 };
	_cleanup_cgroup_ struct cgroup *cgroup = NULL;
	int r;

	r = open_container(rt, id, &dir, &state, err);
	if (r < 0)
		return r;
	if (state_status(&state) != OCI_PAUSED)
		return error_set(err, EINVAL, "container not paused");
	cgroup = cgroup_of_state(&state);
	r = state.untrapped ? freeze(cgroup, false, err) : resume_trapped(&dir, cgroup, err);
	return r < 0 ? r : set_status(&dir, &state, OCI_RUNNING, err);
}

/* ---- update, ps ---- */

int lifecycle_update(const struct runtime *rt, const char *id, const struct oci_resources *resources, struct error *err)
{
	_cleanup_state_dir_ struct state_dir dir = STATE_DIR_NONE;
	_cleanup_state_ struct oci_runtime_state state = { 0 };
	_cleanup_cgroup_ struct cgroup *cgroup = NULL;
	int r;

	r = open_container(rt, id, &dir, &state, err);
	if (r < 0)
		return r;
	if (state_status(&state) == OCI_STOPPED)
		return not_running(err);
	cgroup = cgroup_of_state(&state);
	if (!cgroup)
		return error_set(err, ENOTSUP, "the container has no cgroups");
	return cgroup_apply(cgroup, resources, err);
}

int lifecycle_stats(const struct runtime *rt, const char *id, struct cgroup_stats *ret, struct error *err)
{
	_cleanup_state_ struct oci_runtime_state state = { 0 };
	_cleanup_cgroup_ struct cgroup *cgroup = NULL;
	enum oci_status status;
	int r;

	r = lifecycle_state(rt, id, &state, &status, err);
	if (r < 0)
		return r;
	if (status == OCI_STOPPED)
		return not_running(err);
	cgroup = cgroup_of_state(&state);
	if (!cgroup)
		return error_set(err, ENOTSUP, "the container has no cgroups");
	cgroup_read_stats(cgroup, ret);
	return 0;
}

/* Without cgroups: who is in the pid namespace of process 1. */
static int pids_of_namespace(int init, pid_t **ret, size_t *ret_n, struct error *err)
{
	char path[48];
	struct stat wanted, theirs;
	struct dirent *entry;
	pid_t *pids = NULL, *grown;
	size_t n = 0;
	uint64_t pid;
	DIR *proc;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", init);
	proc = stat(path, &wanted) < 0 ? NULL : opendir("/proc");
	if (!proc)
		return error_errno(err, errno, "processes of the container");
	while ((entry = readdir(proc))) {
		if (parse_u64(entry->d_name, &pid) < 0)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
		if (stat(path, &theirs) < 0 || theirs.st_ino != wanted.st_ino || theirs.st_dev != wanted.st_dev)
			continue;
		grown = reallocarray(pids, n + 1, sizeof(*pids));
		if (!grown)
			break;
		pids = grown;
		pids[n++] = (pid_t)pid;
	}
	(void)closedir(proc);
	*ret = pids;
	*ret_n = n;
	return 0;
}

int lifecycle_pids(const struct runtime *rt, const char *id, pid_t **ret, size_t *ret_n, struct error *err)
{
	_cleanup_state_ struct oci_runtime_state state = { 0 };
	_cleanup_cgroup_ struct cgroup *cgroup = NULL;
	enum oci_status status;
	int r;

	*ret = NULL;
	*ret_n = 0;
	r = lifecycle_state(rt, id, &state, &status, err);
	if (r < 0)
		return r;
	if (status == OCI_STOPPED || state.init.pid == 0)
		return not_running(err);
	cgroup = cgroup_of_state(&state);
	return cgroup ? cgroup_pids(cgroup, ret, ret_n, err) : pids_of_namespace(state.init.pid, ret, ret_n, err);
}
