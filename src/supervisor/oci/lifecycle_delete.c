/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a container: see lifecycle.h. */
#include "supervisor/oci/lifecycle.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "oci/arena.h"
#include "supervisor/oci/control.h"
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
	if (fd >= 0)
		(void)pidfd_send_signal(fd, SIGKILL, NULL, 0);
	/* Process 1 has to bury the others, and those are the supervisor's to reap; and the two end themselves: they may have been stopped. */
	process_signal(&state->supervisor, SIGCONT);
	process_signal(&state->guardian, SIGCONT);
	if (fd >= 0) {
		if (!wait_for_end(fd, FREEZER_MS) && cgroup_thaw_process(state->init.pid) < 0)
			log_debug("process %d: no freezer holds it", state->init.pid);
		if (!wait_for_end(fd, PATIENCE_MS))
			return error_set(err, EBUSY, "process %d of the container does not end", state->init.pid);
	}
	if (cgroup && cgroup_pids(cgroup, &pids, &n, &unread) == 0 && n > 0)
		(void)cgroup_signal(cgroup, SIGKILL, &unread);
	return 0;
}

static int refuse(const char *id, enum oci_status status, struct error *err)
{
	return error_set(err, EBUSY, "cannot delete container %s that is not stopped: %s", id, oci_status_name(status));
}

/* Is it what it was, when nobody supervises it any more? */
static int look_again(const struct state_dir *dir, struct error *err)
{
	_cleanup_state_ struct oci_runtime_state state = { 0 };
	int r = state_dir_read(dir, &state, err);
	enum oci_status status = r < 0 ? OCI_STOPPED : state_status(&state);

	return status == OCI_STOPPED || status == OCI_CREATED ? r : refuse(dir->id, status, err);
}

/* Whoever starts it does so without the lock: its supervisor knows who of the two was first. */
static int end_created(const struct state_dir *dir, const struct oci_runtime_state *state, struct error *err)
{
	const struct control_request request = { .verb = CONTROL_END };
	struct control_answer answer = { 0 };
	struct error failure = { 0 };
	int r = control_call(dir->fd, state, &request, -1, &answer, &failure);

	if (r == 0)
		return 0;
	if (answer.code == EALREADY)
		return refuse(dir->id, OCI_RUNNING, err);
	if (r == -EBUSY)
		return error_set(err, EBUSY, "%s", failure.text);
	return look_again(dir, err);
}

static int check_deletable(const struct state_dir *dir, const struct oci_runtime_state *state, struct error *err)
{
	enum oci_status status = state_status(state);

	if (status == OCI_CREATED)
		return end_created(dir, state, err);
	return status == OCI_STOPPED ? 0 : refuse(state->id, status, err);
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

/* ---- mounts on a shared root ---- */

static bool has_mount(const struct oci_runtime_state *state, int mount)
{
	for (size_t i = 0; i < state->shared_handed.count; i++)
		if (state->shared_handed.items[i] == mount)
			return true;
	return state->shared_mount == mount;
}

/*
 * Is it worth while to wait for the lock of that one? Only of one that lies above, so that nobody waits for each other who are deleted at once; or that
 * is on the way to being made.
 */
static bool may_take(const struct oci_runtime_state *state, const char *rootfs, int above)
{
	return !strcmp(state->rootfs, rootfs) && (has_mount(state, above) || (state->shared_below && !state->shared_mount && state->status == OCI_CREATING));
}

/* 1: it has taken them. 0: it has none above them, as it turns out when nobody works on it. */
static int hand_to(const struct runtime *rt, const char *id, const struct oci_runtime_state *from, int above, struct error *err)
{
	_cleanup_known_ struct known to = KNOWN_NONE;
	size_t count;
	int *items, r;

	r = known_open(&to, rt, id, err);
	if (r < 0 || !has_mount(&to.state, above))
		return r == -ENOENT ? 0 : r;
	count = to.state.shared_handed.count;
	items = oci_arena_array(to.state.arena, count + from->shared_handed.count + 1, sizeof(*items));
	if (!items)
		return error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		items[i] = to.state.shared_handed.items[i];
	for (size_t i = 0; i < from->shared_handed.count; i++)
		items[count++] = from->shared_handed.items[i];
	if (from->shared_mount)
		items[count++] = from->shared_mount;
	to.state.shared_handed = (struct oci_mounts){ .items = items, .count = count };
	r = state_dir_write(&to.dir, &to.state, err);
	return r < 0 ? r : 1;
}

/* Those of a container that goes while another's lies on them: that one takes them with it when it goes. 0: none does. */
static int hand_over(const struct runtime *rt, const struct oci_runtime_state *from, int above, struct error *err)
{
	_cleanup_strv_ struct strv ids = { 0 };
	int r = state_list(rt->root, &ids, err);

	for (size_t i = 0; r == 0 && i < ids.count; i++) {
		_cleanup_known_ struct known other = KNOWN_NONE;
		struct error unread = { 0 };

		if (!strcmp(ids.items[i], from->id) || known_look(&other, rt, ids.items[i], &unread) < 0)
			continue;
		if (may_take(&other.state, from->rootfs, above))
			r = hand_to(rt, ids.items[i], from, above, err);
	}
	return r;
}

/* Its supervisor has done it, unless that was killed or there is none. */
static int unmount_shared(const struct runtime *rt, const struct state_dir *dir, struct oci_runtime_state *state, struct error *err)
{
	struct container_shared_root shared = {
		.root = state->rootfs,
		.mount_namespace = state->shared_mounts,
		.handed = state->shared_handed.items,
		.n_handed = state->shared_handed.count,
	};
	int above, r;

	if (state_dir_is_unmounted(dir))
		state->shared_mount = 0;
	else
		shared.below = state->shared_below;
	shared.mount = state->shared_mount;
	r = container_shared_root_end(&shared, &above, err);
	if (r != -EBUSY || !above)
		return r;
	*err = (struct error){ 0 };
	r = hand_over(rt, state, above, err);
	if (r != 0)
		return r < 0 ? r : 0;
	/* Nobody has it; or it has gone meanwhile. */
	return container_shared_root_end(&shared, NULL, err);
}

static int delete_known(const struct runtime *rt, struct state_dir *dir, struct oci_runtime_state *state, bool force, struct error *err)
{
	_cleanup_cgroup_ struct cgroup *cgroup = cgroup_of_state(state);
	struct cgroup_place place = place_of_state(state, cgroup);
	int r;

	r = force ? 0 : check_deletable(dir, state, err);
	if (r == 0) {
		state_mark_deleting(dir->fd);
		r = kill_everything(state, cgroup, err);
	}
	if (r < 0)
		return r;
	await_end(&state->supervisor);
	await_end(&state->guardian);
	r = manager_of_state(state)->end(&place, err);
	if (r >= 0 || force)
		r = unmount_shared(rt, dir, state, err);
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
	return delete_known(rt, &dir, &state, force, err);
}
