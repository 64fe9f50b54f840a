/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a container: see lifecycle.h. */
#include "supervisor/oci/lifecycle.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "supervisor/oci/hooks.h"
#include "supervisor/oci/lifecycle_internal.h"

enum { PATIENCE_MS = 10000, FREEZER_MS = 500 };

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

	container_thaw(state);
	if (fd >= 0) {
		(void)pidfd_send_signal(fd, SIGKILL, NULL, 0);
		/* Process 1 has to bury the others, and those are the supervisor's to reap: it may have been stopped. */
		process_signal(&state->supervisor, SIGCONT);
		process_signal(&state->guardian, SIGCONT);
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

/* The hooks come when there is nothing left of it (runtime-spec, runtime.md), so that one that takes its time is in nobody's way. */
static int end_state(struct state_dir *dir, const struct oci_runtime_state *state, struct error *err)
{
	__attribute__((cleanup(oci_config_free))) struct oci_config cfg = { 0 };
	struct oci_state for_hooks = state_for_others(state, OCI_STOPPED);
	struct error unread = { 0 };
	int r;

	if (load_config(dir, &cfg, &unread) < 0)
		log_warning("hooks of the deleted container: %s", unread.text);
	r = state_dir_remove(dir, err);
	if (r < 0)
		return r;
	state_dir_unlock(dir);
	hooks_run_all(&cfg, OCI_HOOK_POSTSTOP, &for_hooks);
	return 0;
}

/* Its supervisor has done it, unless that was killed or there is none. */
static int unmount_shared(const struct state_dir *dir, const struct oci_runtime_state *state, struct error *err)
{
	const struct container_shared_root shared = {
		.root = state->rootfs,
		.mount_namespace = state->shared_mounts,
		.below = state->shared_below,
	};

	return state_dir_is_unmounted(dir) ? 0 : container_shared_root_end(&shared, err);
}

static int delete_known(struct state_dir *dir, const struct oci_runtime_state *state, bool force, struct error *err)
{
	_cleanup_cgroup_ struct cgroup *cgroup = cgroup_of_state(state);
	struct cgroup_place place = place_of_state(state, cgroup);
	int r;

	r = force ? 0 : check_deletable(state, state_status(state), err);
	if (r == 0)
		r = kill_everything(state, cgroup, err);
	if (r < 0)
		return r;
	await_end(&state->supervisor);
	await_end(&state->guardian);
	r = manager_of_state(state)->end(&place, err);
	if (r >= 0 || force)
		r = unmount_shared(dir, state, err);
	if (r < 0 && !force)
		return r;
	return end_state(dir, state, err);
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

	r = force ? state_dir_seize(&dir, rt->root, id, err) : state_dir_open(&dir, rt->root, id, err);
	if (r == -ENOENT && force)
		return 0;
	if (r < 0)
		return r;
	r = state_dir_read(&dir, &state, err);
	if (r < 0 && force)
		return delete_broken_off(&dir, err);
	if (r < 0)
		return r == -ENOENT ? state_no_such_container(id, err) : r;
	return delete_known(&dir, &state, force, err);
}
