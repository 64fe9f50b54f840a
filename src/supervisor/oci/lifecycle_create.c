/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `create`: from a bundle to a container that waits for its start. In this order, and undone from wherever it had come to:
 * options and document; state directory; cgroups; filters; the container with its hooks; its terminal; guardian and supervisor;
 * state.json "created"; pid file.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/parse.h"
#include "oci/arena.h"
#include "oci/features.h"
#include "supervisor/oci/bundle.h"
#include "supervisor/oci/control.h"
#include "supervisor/oci/hooks.h"
#include "supervisor/oci/host_name.h"
#include "supervisor/oci/lifecycle_internal.h"
#include "supervisor/oci/readiness.h"
#include "supervisor/oci/supervise.h"

enum { CONFIG_LIMIT = 16 << 20 };

struct creation {
	const struct runtime *rt;
	const struct create_request *request;
	char *directory, *config_path, *config_text;
	size_t config_len;
	struct run_options options;
	struct bundle bundle;
	bool untrapped;
	struct state_dir dir;
	struct oci_runtime_state state; /* strings are borrowed */
	char created[40], owner[64];
	const struct cgroup_manager *manager;
	struct cgroup_place place;
	struct container_shared_root shared;
	struct filters filters;
	struct container container;
	int control_fd, log_fd;
	int done_fd; /* tells the supervisor that the creation has come to its end */
	bool hooks_ran;
};

/* ---- options and document ---- */

/* A directory in the file of defaults: each container has a log of its own in it. */
static int name_event_log(struct creation *c, struct error *err)
{
	char *name = NULL;
	struct stat st;

	if (!c->options.log_events || stat(c->options.log_events, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	if (asprintf(&name, "%s/%s.log", c->options.log_events, c->request->id) < 0)
		return error_set(err, ENOMEM, "out of memory");
	free(c->options.log_events);
	c->options.log_events = name;
	return 0;
}

static int load(struct creation *c, struct error *err)
{
	const struct create_request *q = c->request;
	int r;

	c->directory = realpath(q->bundle, NULL);
	if (!c->directory)
		return error_errno(err, errno, "bundle %s", q->bundle);
	if (q->config)
		c->config_path = realpath(q->config, NULL);
	else if (asprintf(&c->config_path, "%s/config.json", c->directory) < 0)
		c->config_path = NULL;
	if (!c->config_path)
		return error_errno(err, errno, "%s", q->config ? q->config : "bundle");
	r = run_options_init(&c->options);
	if (r < 0)
		return error_errno(err, -r, "options");
	c->options.pace = PACE_HOST; /* `exec` and clients find a container that sleeps */
	r = bundle_load_defaults(&c->options, c->rt->defaults, err);
	if (r == 0)
		r = bundle_load(&c->bundle, c->config_path, &c->options, err);
	if (r == 0)
		r = bundle_is_untrapped(&c->bundle, &c->untrapped, err);
	if (r == 0)
		r = name_event_log(c, err);
	if (r < 0)
		return r;
	r = fd_read_file(AT_FDCWD, c->config_path, CONFIG_LIMIT, &c->config_text, &c->config_len);
	return r < 0 ? error_errno(err, -r, "%s", c->config_path) : 0;
}

/* ---- state ---- */

static void set_created(struct creation *c)
{
	struct timespec now;
	struct tm tm;
	size_t n;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	n = strftime(c->created, sizeof(c->created), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(c->created + n, sizeof(c->created) - n, ".%09ldZ", now.tv_nsec);
}

static void set_owner(struct creation *c)
{
	const struct passwd *user = getpwuid(geteuid());

	(void)snprintf(c->owner, sizeof(c->owner), "%s", user ? user->pw_name : "");
}

static int write_state(struct creation *c, struct error *err)
{
	if (c->place.cgroup && cgroup_to_pairs(c->place.cgroup, c->bundle.config.arena, &c->state.cgroups) < 0)
		return error_set(err, ENOMEM, "out of memory");
	return state_dir_write(&c->dir, &c->state, err);
}

static int describe(struct creation *c, struct error *err)
{
	static char version[] = OCI_VERSION_MAX;
	int r = container_shared_root_find(&c->bundle.container.spec, &c->shared, err);

	if (r < 0)
		return r;
	set_created(c);
	set_owner(c);
	c->state = (struct oci_runtime_state){
		.id = c->dir.id,
		.bundle = c->directory,
		.rootfs = (char *)(uintptr_t)c->bundle.container.spec.root_path,
		.oci_version = version,
		.created = c->created,
		.owner = c->owner,
		.status = OCI_CREATING,
		.rootless = geteuid() != 0,
		.untrapped = c->untrapped,
		.cgroup_manager = (char *)(uintptr_t)c->manager->name,
		.cgroup_unit = c->place.unit,
		.annotations = c->bundle.config.annotations,
		.shared_below = c->shared.below,
		.shared_mounts = c->shared.mount_namespace,
	};
	return write_state(c, err);
}

static int make_state_directory(struct creation *c, struct error *err)
{
	_cleanup_free_ char *options = run_options_to_json(&c->options);
	int r;

	r = state_dir_create(&c->dir, c->rt->root, c->request->id, err);
	if (r == 0 && !options)
		r = error_set(err, ENOMEM, "out of memory");
	if (r == 0)
		r = state_dir_save(&c->dir, "options.json", options, strlen(options), err);
	return r < 0 ? r : state_dir_save(&c->dir, "config.json", c->config_text, c->config_len, err);
}

/* ---- cgroups ---- */

static struct cgroup_request cgroup_request(const struct creation *c)
{
	return (struct cgroup_request){
		.cgroups_path = c->bundle.config.linux_.cgroups_path,
		.id = c->request->id,
		.resources = &c->bundle.config.linux_.resources,
		.annotations = &c->bundle.config.annotations,
	};
}

/* With the process that they are made for. */
static int admit_process(void *arg, pid_t pid, char ***procs, struct error *err)
{
	struct creation *c = arg;
	struct cgroup_request request = cgroup_request(c);
	int r;

	r = c->manager->admit(&request, pid, &c->place, err);
	c->state.cgroup_unit = c->place.unit;
	if (r == 0 && c->place.cgroup)
		*procs = cgroup_procs_files(c->place.cgroup);
	return r < 0 ? r : write_state(c, err); /* from here on `delete --force` knows where they are */
}

static int make_cgroups(struct creation *c, struct error *err)
{
	struct cgroup_request request = cgroup_request(c);
	struct container_spec *spec = &c->bundle.container.spec;
	int r;

	r = c->manager->prepare(&request, &c->place, err);
	if (r == 0 && c->place.cgroup)
		spec->cgroup_procs = cgroup_procs_files(c->place.cgroup);
	if (c->manager->admit) {
		spec->cgroup_hook = admit_process;
		spec->cgroup_arg = c;
	}
	return r;
}

/* ---- hooks ---- */

static struct oci_state state_for_hooks(const struct creation *c, pid_t pid)
{
	struct oci_state state = state_for_others(&c->state, OCI_CREATED);

	state.pid = (int)pid;
	return state;
}

static int run_runtime_hooks(void *arg, pid_t init_pid, struct error *err)
{
	struct creation *c = arg;
	struct oci_state state = state_for_hooks(c, init_pid);
	int r;

	c->hooks_ran = true;
	r = hooks_run(&c->bundle.config, OCI_HOOK_PRESTART, &state, err);
	return r < 0 ? r : hooks_run(&c->bundle.config, OCI_HOOK_CREATE_RUNTIME, &state, err);
}

/* In the container's process 1, with the host's tree still in sight: /proc knows it by the host's number. */
static int run_container_hooks(void *arg, int root_fd, struct error *err)
{
	struct creation *c = arg;
	struct oci_state state;
	char link[16] = "";
	uint64_t pid = 0;

	(void)root_fd;
	if (readlink("/proc/self", link, sizeof(link) - 1) < 0 || parse_u64(link, &pid) < 0)
		pid = (uint64_t)getpid();
	state = state_for_hooks(c, (pid_t)pid);
	return hooks_run(&c->bundle.config, OCI_HOOK_CREATE_CONTAINER, &state, err);
}

/* As in other runtimes: under the container's own filter. Under ours they are not, since they are no programs of the guest. */
static int install_profile(void *arg)
{
	const struct filters *f = arg;

	return backend_profile_install(f->profile);
}

static int run_start_hooks(void *arg, struct error *err)
{
	struct creation *c = arg;
	struct oci_state state = state_for_hooks(c, getpid());

	return hooks_run_confined(&c->bundle.config, OCI_HOOK_START_CONTAINER, &state, c->filters.profile ? install_profile : NULL, &c->filters,
				  err);
}

static void set_hooks(struct creation *c)
{
	const struct oci_hooks *hooks = c->bundle.config.hooks;
	struct container_spec *spec = &c->bundle.container.spec;

	spec->created_arg = spec->prepare_arg = spec->start_arg = c;
	if (hooks[OCI_HOOK_PRESTART].count || hooks[OCI_HOOK_CREATE_RUNTIME].count)
		spec->created_hook = run_runtime_hooks;
	if (hooks[OCI_HOOK_CREATE_CONTAINER].count)
		spec->prepare_root = run_container_hooks;
	if (hooks[OCI_HOOK_START_CONTAINER].count)
		spec->start_hook = run_start_hooks;
}

/* ---- all of it ---- */

/*
 * What lies in the state directory is nothing for the users of a user namespace: the creator hands it in. So does root with what is bound from where
 * those users may not go.
 */
static int hand_in_files(struct creation *c, struct error *err)
{
	struct container_spec *spec = &c->bundle.container.spec;
	_cleanup_free_ char *own = realpath(c->dir.path, NULL);
	struct container_mount *mounts = oci_arena_array(c->bundle.config.arena, spec->n_mounts + 1, sizeof(*mounts));
	size_t len = own ? strlen(own) : 0;

	if (!mounts || !own)
		return error_set(err, ENOMEM, "out of memory");
	if (spec->n_mounts > 0)
		memcpy(mounts, spec->mounts, spec->n_mounts * sizeof(*mounts));
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const char *source = mounts[i].source;

		mounts[i].by_creator = source && (geteuid() == 0 ? mounts[i].flags & MS_BIND : !strncmp(source, own, len) && source[len] == '/');
	}
	spec->mounts = mounts;
	return 0;
}

static int make_container(struct creation *c, struct error *err)
{
	struct container_spec *spec = &c->bundle.container.spec;
	int r;

	r = filters_make(&c->filters, &c->bundle.config, !c->untrapped, &c->options, err);
	if (r == 0)
		r = preserve_descriptors(spec, c->request->process.preserve_fds, c->bundle.config.arena, err);
	if (r == 0)
		r = readiness_prepare(&c->dir, spec, c->bundle.config.arena, err);
	if (r == 0 && (spec->namespaces & CLONE_NEWUSER))
		r = hand_in_files(c, err);
	if (r < 0)
		return r;
	filters_use(&c->filters, spec);
	spec->outlive = true;
	spec->traceable = !c->untrapped && geteuid() != 0;
	spec->shielded = container_may_shield();
	spec->no_pivot = c->request->no_pivot;
	set_hooks(c);
	if (spec->created_hook || spec->prepare_root)
		state_mark_in_hooks(c->dir.fd, true);
	r = container_create(spec, &c->container, err);
	state_mark_in_hooks(c->dir.fd, false);
	return r;
}

static int supervise(struct creation *c, struct error *err)
{
	_cleanup_close_ int creator_fd = -1;
	struct supervise_pids pids;
	struct supervise_request request;
	int ends[2], r;

	c->control_fd = control_listen(c->dir.fd, err);
	if (c->control_fd < 0)
		return c->control_fd;
	c->log_fd = c->options.log_file ? open(c->options.log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
					: openat(c->dir.fd, "log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (c->log_fd < 0)
		return error_errno(err, errno, "log of the supervisor");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, errno, "cannot make the container's supervisor");
	creator_fd = ends[0];
	c->done_fd = ends[1];
	request = (struct supervise_request){
		.bundle = &c->bundle,
		.options = &c->options,
		.container = &c->container,
		.untrapped = c->untrapped,
		.dir_fd = c->dir.fd,
		.control_fd = c->control_fd,
		.creator_fd = creator_fd,
		.log_fd = c->log_fd,
	};
	r = supervise_spawn(&request, &pids, err);
	if (r < 0)
		return r;
	c->state.guardian = process_ref(pids.guardian);
	c->state.supervisor = process_ref(pids.supervisor);
	return 0;
}

static int finish(struct creation *c, struct error *err)
{
	int r;

	c->state.init = process_ref(c->container.init_pid);
	c->state.status = OCI_CREATED;
	c->state.shared_mount = c->container.shared.mount;
	r = write_state(c, err);
	if (r == 0)
		r = tell_pid(&c->request->process, c->container.init_pid, err);
	if (r == 0 && send(c->done_fd, "", 1, MSG_NOSIGNAL) < 0)
		r = error_set(err, ECHILD, "the container's supervisor ended");
	return r;
}

static int create(struct creation *c, struct created *ret, struct error *err)
{
	int r;

	r = load(c, err);
	if (r == 0)
		r = check_console(&c->request->process, c->bundle.config.process.terminal, err);
	if (r == 0)
		r = make_state_directory(c, err);
	if (r == 0 && !c->untrapped)
		r = host_name_settle(&c->bundle.config, &c->dir, c->options.hostname, err);
	if (r == 0)
		r = bundle_prepare(&c->bundle, c->directory, &c->options, err);
	if (r == 0)
		r = make_cgroups(c, err);
	if (r == 0)
		r = describe(c, err);
	if (r == 0)
		r = make_container(c, err);
	if (r == 0)
		r = hand_over_console(&c->container, &c->request->process, &ret->console_fd, err);
	if (r == 0)
		r = supervise(c, err);
	return r == 0 ? finish(c, err) : r;
}

/* The container is let go of, not ended: it is there to stay. */
static void release_container(struct container *c)
{
	int *const fds[] = { &c->init_pidfd, &c->guest_pidfd, &c->reaped_fd, &c->channel, &c->console_fd };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		cleanup_close(fds[i]);
	container_shared_root_clear(&c->shared);
	*c = CONTAINER_NONE;
}

/* Takes back what there is after a failure. With the container's end its supervisor ends. */
static void undo(struct creation *c)
{
	struct error unread = { 0 };
	struct oci_state state = state_for_others(&c->state, OCI_STOPPED);

	container_destroy(&c->container);
	if (c->place.cgroup || c->place.unit)
		(void)c->manager->end(&c->place, &unread);
	if (c->dir.lock_fd >= 0)
		(void)state_dir_remove(&c->dir, &unread);
	state_dir_unlock(&c->dir);
	if (c->hooks_ran)
		hooks_run_all(&c->bundle.config, OCI_HOOK_POSTSTOP, &state);
}

static void creation_clear(struct creation *c)
{
	release_container(&c->container);
	filters_free(&c->filters);
	cgroup_place_clear(&c->place);
	container_shared_root_clear(&c->shared);
	cleanup_close(&c->control_fd);
	cleanup_close(&c->log_fd);
	cleanup_close(&c->done_fd);
	state_dir_close(&c->dir);
	bundle_clear(&c->bundle);
	run_options_clear(&c->options);
	free(c->directory);
	free(c->config_path);
	free(c->config_text);
}

int lifecycle_create(const struct runtime *rt, const struct create_request *request, struct created *ret, struct error *err)
{
	struct creation c = {
		.rt = rt,
		.request = request,
		.manager = rt->cgroup_manager ? rt->cgroup_manager : cgroup_manager_find("cgroupfs"),
		.dir = STATE_DIR_NONE,
		.container = CONTAINER_NONE,
		.control_fd = -1,
		.log_fd = -1,
		.done_fd = -1,
	};
	int r;

	*ret = (struct created){ .console_fd = -1 };
	r = create(&c, ret, err);
	if (r < 0) {
		undo(&c);
		cleanup_close(&ret->console_fd);
		ret->console_fd = -1;
	} else {
		ret->init = c.container.init_pid;
	}
	creation_clear(&c);
	return r;
}
