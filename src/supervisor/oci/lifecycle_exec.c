/* SPDX-License-Identifier: BSD-3-Clause */
/* `exec`: one more process in a running container, under the same supervision. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "container/from_oci.h"
#include "oci/arena.h"
#include "supervisor/oci/control.h"
#include "supervisor/oci/host_name.h"
#include "supervisor/exit_codes.h"
#include "supervisor/oci/lifecycle_internal.h"
#include "supervisor/options/options.h"
#include "supervisor/user_names.h"

enum { PROCESS_LIMIT = 16 << 20 };

struct joining {
	const struct exec_request *request;
	struct state_dir dir;
	struct oci_runtime_state state;
	struct oci_config cfg; /* of the container */
	struct run_options options;
	struct oci_process_file file;
	struct oci_process process; /* the one to run: from the file, or made from the container's */
	struct container_bundle bundle;
	struct cgroup *cgroup;
	struct filters filters;
	struct container container;
};

/* ---- which process ---- */

static int read_process_file(struct joining *j, struct error *err)
{
	const char *path = j->request->process_file;
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r;

	r = fd_read_file(AT_FDCWD, path, PROCESS_LIMIT, &text, &len);
	if (r < 0)
		return error_errno(err, -r, "--process: %s", path);
	r = oci_process_parse(text, len, path, &j->file, err);
	if (r == 0)
		j->process = j->file.process;
	return r;
}

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "out of memory");
}

static int add_environment(struct joining *j, const struct strv *env, struct error *err)
{
	_cleanup_strv_ struct strv all = { 0 };
	char **items;

	for (size_t i = 0; i < j->process.env.count; i++)
		if (strv_set_env(&all, j->process.env.items[i]) < 0)
			return no_memory(err);
	for (size_t i = 0; env && i < env->count; i++)
		if (!strchr(env->items[i], '='))
			return error_set(err, EINVAL, "--env: '%s' is not NAME=VALUE", env->items[i]);
		else if (strv_set_env(&all, env->items[i]) < 0)
			return no_memory(err);
	items = oci_arena_array(j->cfg.arena, all.count + 1, sizeof(*items));
	for (size_t i = 0; items && i < all.count; i++)
		if (!(items[i] = oci_arena_strdup(j->cfg.arena, all.items[i])))
			return no_memory(err);
	if (!items)
		return no_memory(err);
	j->process.env = (struct oci_strings){ .items = items, .count = all.count };
	return 0;
}

static void add_capabilities(struct oci_capabilities *caps, const struct strv *names)
{
	for (size_t i = 0; names && i < names->count; i++) {
		int number = oci_capability_number(names->items[i]);

		/* as in the document: what cannot be granted is a warning (runtime-spec, config.md) */
		if (number < 0) {
			log_warning("--cap: unknown capability %s", names->items[i]);
			continue;
		}
		caps->set = true;
		caps->bounding |= 1ull << number;
		caps->effective |= 1ull << number;
		caps->permitted |= 1ull << number;
	}
}

static size_t count(char **words)
{
	size_t n = 0;

	while (words && words[n])
		n++;
	return n;
}

/* The container's own process with what the command line changes. */
static int change_process(struct joining *j, struct error *err)
{
	const struct exec_request *q = j->request;
	struct oci_process *p = &j->process;
	int r = 0;

	*p = j->cfg.process;
	p->args = (struct oci_strings){ .items = q->args, .count = count(q->args) };
	p->terminal = q->terminal;
	p->console_width = p->console_height = 0;
	p->no_new_privileges |= q->no_new_privs;
	if (q->apparmor_profile)
		p->apparmor_profile = (char *)(uintptr_t)q->apparmor_profile;
	if (q->selinux_label)
		p->selinux_label = (char *)(uintptr_t)q->selinux_label;
	if (q->cwd)
		p->cwd = (char *)(uintptr_t)q->cwd;
	if (q->user) {
		p->user.additional_gids = NULL;
		p->user.n_additional_gids = 0;
		p->user.gid = 0;
		r = user_names_parse_numbers(q->user, &p->user.uid, &p->user.gid, err);
	}
	if (q->n_groups) {
		p->user.additional_gids = (uint32_t *)(uintptr_t)q->groups;
		p->user.n_additional_gids = q->n_groups;
	}
	add_capabilities(&p->capabilities, q->caps);
	return r == 0 ? add_environment(j, q->env, err) : r;
}

static int choose_process(struct joining *j, struct error *err)
{
	int r;

	if (j->request->process_file)
		r = read_process_file(j, err);
	else if (!j->request->args || !j->request->args[0])
		r = error_set(err, EINVAL, "process args cannot be empty");
	else
		r = change_process(j, err);
	if (r < 0)
		return r;
	j->process.terminal |= j->request->terminal;
	return j->state.untrapped ? 0 : host_name_in_environment(&j->cfg, &j->process.env, j->dir.id, j->options.hostname, err);
}

/* ---- joining ---- */

static int check_status(const struct joining *j, struct error *err)
{
	switch (state_status(&j->state)) {
	case OCI_RUNNING:
	case OCI_CREATED:
		return 0;
	case OCI_PAUSED:
		return error_set(err, EBUSY, "cannot exec in a paused container (use --ignore-paused to override)");
	case OCI_CREATING:
		return error_set(err, EAGAIN, "cannot exec in a container that is being created: '%s'", j->state.id);
	case OCI_STOPPED:
	case OCI_STATUS_NONE:
		break;
	}
	return container_has_stopped(&j->dir, &j->state, "cannot exec in a stopped container", err);
}

/* The filter has to be the one that the container's other processes have. */
static int load_options(struct joining *j, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	int r;

	r = run_options_init(&j->options);
	if (r == 0)
		r = fd_read_file(j->dir.fd, "options.json", PROCESS_LIMIT, &text, NULL);
	return r < 0 ? error_errno(err, -r, "options.json") : run_options_from_json(&j->options, text, "options.json", err);
}

/*
 * Without the lock: whoever joins waits for the supervisor, which serves one after the other, and a container that is deleted meanwhile takes him with
 * it, as it does when he has joined.
 */
static int open_state(const struct runtime *rt, struct joining *j, struct error *err)
{
	struct known known = KNOWN_NONE;
	int r = known_look(&known, rt, j->request->id, err);

	j->dir = known.dir;
	j->state = known.state;
	return r;
}

/* --ignore-paused: a process that joined would not get further before the container is resumed, so it joins then: it is looked at again from time to time. */
static int open_when_resumed(const struct runtime *rt, struct joining *j, struct error *err)
{
	const struct timespec moment = { .tv_nsec = 20000000 };
	int r;

	for (;;) {
		r = open_state(rt, j, err);
		if (r < 0 || !j->request->ignore_paused || state_status(&j->state) != OCI_PAUSED)
			return r;
		oci_runtime_state_free(&j->state);
		j->state = (struct oci_runtime_state){ 0 };
		state_dir_close(&j->dir);
		(void)nanosleep(&moment, NULL);
	}
}

static int open_container(const struct runtime *rt, struct joining *j, struct error *err)
{
	int r;

	r = open_when_resumed(rt, j, err);
	if (r < 0)
		return r;
	r = check_status(j, err);
	if (r == 0)
		r = load_options(j, err);
	return r < 0 ? r : load_config(&j->dir, &j->cfg, err);
}

/*
 * execCPUAffinity (runtime-spec, config.md): of this process before the new one is in the container's cgroups, and of that one (`final`, by the
 * container layer) once it is there. Processes under control share their supervisor's processor from their first call on.
 */
static int set_initial_affinity(const struct oci_process *process, struct error *err)
{
	cpu_set_t cpus;
	int r;

	if (!process->exec_affinity_initial)
		return 0;
	r = container_cpus_from_oci(process->exec_affinity_initial, &cpus, err);
	if (r == 0 && sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		r = error_errno(err, errno, "cannot use the CPUs of execCPUAffinity.initial");
	return r;
}

static int join_by_manager(void *arg, pid_t pid, char ***procs, struct error *err)
{
	struct joining *j = arg;
	struct cgroup_place place = place_of_state(&j->state, j->cgroup);
	int r;

	r = manager_of_state(&j->state)->join(&place, pid, err);
	if (r > 0)
		*procs = NULL;
	return r < 0 ? r : 0;
}

/* --cgroup */
static int use_cgroups_below(struct joining *j, struct error *err)
{
	const struct strv *which = j->request->cgroups;
	int r = 0;

	for (size_t i = 0; which && r == 0 && i < which->count; i++)
		r = j->cgroup ? cgroup_use_below(j->cgroup, which->items[i], err) :
				error_set(err, ENOENT, "the container has no cgroup");
	if (r < 0)
		error_prefix(err, "--cgroup");
	return r;
}

static int make_process(struct joining *j, struct error *err)
{
	struct container_spec *spec = &j->bundle.spec;
	int r;

	r = check_console(&j->request->process, j->process.terminal, err);
	if (r == 0)
		r = container_process_from_oci(&j->process, &j->bundle, err);
	if (r == 0)
		r = set_initial_affinity(&j->process, err);
	if (r == 0)
		r = filters_make(&j->filters, &j->cfg, !j->state.untrapped, &j->options, err);
	if (r == 0)
		r = preserve_descriptors(spec, j->request->process.preserve_fds, j->bundle.arena, err);
	if (r < 0)
		return r;
	filters_use(&j->filters, spec);
	j->cgroup = cgroup_of_state(&j->state);
	r = use_cgroups_below(j, err);
	if (r < 0)
		return r;
	spec->cgroup_procs = j->cgroup ? cgroup_procs_files(j->cgroup) : NULL;
	if (j->cgroup && manager_of_state(&j->state)->join && !(j->request->cgroups && j->request->cgroups->count)) {
		spec->cgroup_hook = join_by_manager;
		spec->cgroup_arg = j;
	}
	spec->outlive = true;
	spec->traceable = !j->state.untrapped && geteuid() != 0;
	spec->shielded = container_may_shield();
	spec->keep_console = true;
	return container_create_inside(spec, j->state.init.pid, &j->container, err);
}

/* Nobody of ours supervises it: the go-ahead comes from here. */
static int release_untrapped(struct joining *j, int *ret_status, struct error *err)
{
	struct error said = { 0 };
	char byte;

	if (container_release(&j->container, err) < 0)
		return -err->code;
	(void)recv(j->container.channel, &byte, 1, MSG_PEEK); /* end of file with the exec */
	if (container_exec_error(&j->container, &said) != 1)
		return 0;
	*ret_status = j->container.failure_status;
	*err = said;
	return -said.code;
}

static int hand_over(struct joining *j, int *ret_status, struct error *err)
{
	const struct control_request request = {
		.verb = CONTROL_JOIN,
		.number = j->container.guest_pid,
		.preserved = j->bundle.spec.preserve_fds,
	};
	struct control_answer answer = { 0 };
	int r;

	r = control_call(j->dir.fd, &j->state, &request, j->container.channel, &answer, err);
	if (r < 0 && answer.code)
		*ret_status = answer.status;
	return r;
}

static int join(const struct runtime *rt, struct joining *j, struct created *ret, int *ret_status, struct error *err)
{
	int r;

	r = open_container(rt, j, err);
	if (r == 0)
		r = choose_process(j, err);
	if (r == 0)
		r = make_process(j, err);
	if (r < 0) {
		*ret_status = j->container.failure_status ? j->container.failure_status : EXIT_CODE_TOOL;
		return r;
	}
	r = hand_over_console(&j->container, &j->request->process, &ret->console_fd, err);
	if (r == 0)
		r = tell_pid(&j->request->process, j->container.guest_pid, err);
	if (r < 0)
		return r;
	return j->state.untrapped ? release_untrapped(j, ret_status, err) : hand_over(j, ret_status, err);
}

static void joining_clear(struct joining *j, bool keep)
{
	int *const fds[] = { &j->container.init_pidfd, &j->container.guest_pidfd, &j->container.channel, &j->container.console_fd };

	if (!keep)
		container_destroy(&j->container);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		cleanup_close(fds[i]);
	filters_free(&j->filters);
	cgroup_free(j->cgroup);
	container_bundle_free(&j->bundle);
	oci_process_free(&j->file);
	oci_config_free(&j->cfg);
	run_options_clear(&j->options);
	oci_runtime_state_free(&j->state);
	state_dir_close(&j->dir);
}

int lifecycle_exec(const struct runtime *rt, const struct exec_request *request, struct created *ret, int *ret_status,
		   struct error *err)
{
	struct joining j = { .request = request, .dir = STATE_DIR_NONE, .container = CONTAINER_NONE };
	int r;

	*ret = (struct created){ .console_fd = -1 };
	*ret_status = EXIT_CODE_TOOL;
	r = join(rt, &j, ret, ret_status, err);
	ret->init = j.container.guest_pid;
	joining_clear(&j, r == 0);
	if (r < 0) {
		cleanup_close(&ret->console_fd);
		ret->console_fd = -1;
	}
	return r;
}
