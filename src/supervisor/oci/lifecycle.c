/* SPDX-License-Identifier: BSD-3-Clause */
/* The state, start and signals of a container: see lifecycle.h. */
#include "supervisor/oci/lifecycle.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "supervisor/exit_codes.h"
#include "supervisor/oci/control.h"
#include "supervisor/oci/hooks.h"
#include "supervisor/oci/lifecycle_internal.h"
#include "supervisor/oci/readiness.h"

void cleanup_cgroup(struct cgroup **cgroup)
{
	cgroup_free(*cgroup);
}

/* Untrapped ones are not supervised when they run. */
static bool was_killed(const struct state_dir *dir, const struct oci_runtime_state *state)
{
	bool supervised = !state->untrapped || !state_dir_is_started(dir);

	return supervised && state->supervisor.pid && !process_ref_lives(&state->supervisor) && !state_dir_is_ended(dir);
}

int container_has_stopped(const struct state_dir *dir, const struct oci_runtime_state *state, const char *sentence, struct error *err)
{
	bool killed = was_killed(dir, state);

	if (state_dir_is_removed(dir))
		return state_no_such_container(state->id, err);
	if (killed)
		return error_set(err, ESRCH, "%s: '%s' (its supervisor, process %d, or the guardian of that was killed, and the container with it; delete clears it)",
				 sentence, state->id, state->supervisor.pid);
	return error_set(err, ESRCH, "%s: '%s' (it has ended; delete clears it)", sentence, state->id);
}

static int known_read(struct known *k, bool is_being_created, struct error *err)
{
	int r = state_dir_read(&k->dir, &k->state, err);

	if (r == -ENOENT)
		return error_set(err, ENOENT, STATE_NO_SUCH_CONTAINER " (%s)", k->dir.id,
				 is_being_created ? "it is being created or deleted" : "its creation was broken off; delete --force clears it");
	return r;
}

int known_open(struct known *k, const struct runtime *rt, const char *id, struct error *err)
{
	int r = state_dir_open(&k->dir, rt->root, id, err);

	return r < 0 ? r : known_read(k, false, err);
}

int known_look(struct known *k, const struct runtime *rt, const char *id, struct error *err)
{
	int r = state_dir_look(&k->dir, rt->root, id, err);

	return r < 0 ? r : known_read(k, state_dir_is_held(&k->dir), err);
}

void known_close(struct known *k)
{
	state_dir_close(&k->dir);
	oci_runtime_state_free(&k->state);
}

int known_set_status(struct known *k, enum oci_status status, struct error *err)
{
	k->state.status = status;
	return state_dir_write(&k->dir, &k->state, err);
}

struct cgroup *cgroup_of_state(const struct oci_runtime_state *state)
{
	struct cgroup *cgroup = NULL;
	struct error unread = { 0 };

	if (state->cgroups.count == 0 || cgroup_from_pairs(&state->cgroups, &cgroup, &unread) < 0)
		return NULL;
	return cgroup;
}

const struct cgroup_manager *manager_of_state(const struct oci_runtime_state *state)
{
	const struct cgroup_manager *manager = cgroup_manager_find(state->cgroup_manager);

	return manager ? manager : cgroup_manager_find("cgroupfs");
}

struct cgroup_place place_of_state(const struct oci_runtime_state *state, struct cgroup *cgroup)
{
	return (struct cgroup_place){ .cgroup = cgroup, .unit = state->cgroup_unit };
}

int load_config(const struct state_dir *dir, struct oci_config *cfg, struct error *err)
{
	return oci_config_load(dir->fd, "config.json", cfg, err);
}

void container_thaw(const struct oci_runtime_state *state)
{
	_cleanup_cgroup_ struct cgroup *cgroup = state->status == OCI_PAUSED ? cgroup_of_state(state) : NULL;
	struct error unread = { 0 };

	if (cgroup)
		(void)cgroup_freeze(cgroup, false, &unread);
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
		return r == -ENOENT ? state_no_such_container(id, err) : r;
	*ret_status = state_status(ret);
	return 0;
}

/* ---- start ---- */

static int check_startable(const struct known *known, struct error *err)
{
	switch (state_status(&known->state)) {
	case OCI_CREATED:
		return 0;
	case OCI_PAUSED:
		return error_set(err, EBUSY, "cannot start a container in the paused state");
	case OCI_RUNNING:
		return error_set(err, EBUSY, "cannot start an already running container");
	case OCI_STOPPED:
		return container_has_stopped(&known->dir, &known->state, "cannot start a container that has stopped", err);
	case OCI_CREATING:
	case OCI_STATUS_NONE:
		break;
	}
	return error_set(err, EAGAIN, "cannot start a container that is being created");
}

void process_signal(const struct oci_process_ref *ref, int signo)
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
		process_signal(&state->init, SIGKILL);
	return r;
}

/* Its end came first, or who deletes it came in between. */
static int start_failed(const struct known *known, int r, struct error *err)
{
	if (r != -ECONNRESET && r != -ESRCH && !state_dir_is_deleting(&known->dir) && !state_dir_is_removed(&known->dir))
		return r;
	*err = (struct error){ 0 };
	return container_has_stopped(&known->dir, &known->state, "cannot start a container that has stopped", err);
}

/* The program runs when this returns. */
static int start(struct known *known, struct readiness *readiness, int *ret_status, struct error *err)
{
	const struct control_request request = { .verb = CONTROL_START };
	struct control_answer answer = { 0 };
	int r;

	r = readiness_open(&known->dir, readiness, err);
	if (r < 0)
		return r;
	r = control_call(known->dir.fd, &known->state, &request, -1, &answer, err);
	if (r < 0) {
		*ret_status = answer.code ? answer.status : EXIT_CODE_TOOL;
		return start_failed(known, r, err);
	}
	return run_poststart(&known->dir, &known->state, err); /* that it runs, its supervisor has noted */
}

int lifecycle_start(const struct runtime *rt, const char *id, struct readiness *ret_readiness, int *ret_status, struct error *err)
{
	_cleanup_readiness_ struct readiness readiness = READINESS_NONE;
	_cleanup_known_ struct known known = KNOWN_NONE;
	int r;

	*ret_status = EXIT_CODE_TOOL;
	r = known_look(&known, rt, id, err); /* a hook may take its time: it can be looked at meanwhile, and killed */
	if (r == 0)
		r = check_startable(&known, err);
	if (r == 0)
		r = start(&known, &readiness, ret_status, err);
	if (r < 0)
		return r;
	if (ret_readiness) {
		*ret_readiness = readiness;
		readiness = (struct readiness)READINESS_NONE;
		return 0;
	}
	readiness_wait(&readiness, known.state.init.pid);
	return 0;
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

static int not_running(const struct known *known, struct error *err)
{
	return container_has_stopped(&known->dir, &known->state, CONTAINER_NOT_RUNNING, err);
}

static int signal_directly(const struct known *known, int signo, struct error *err)
{
	_cleanup_close_ int fd = process_ref_open(&known->state.init);

	if (fd < 0 || pidfd_send_signal(fd, signo, NULL, 0) < 0)
		return fd < 0 || errno == ESRCH ? not_running(known, err) : error_errno(err, errno, "signal %d", signo);
	return 0;
}

static int signal_through_supervisor(const struct known *known, int signo, bool all, struct error *err)
{
	const struct control_request request = { .verb = CONTROL_SIGNAL, .number = signo, .all = all };
	struct control_answer answer;

	return control_call(known->dir.fd, &known->state, &request, -1, &answer, err);
}

static int signal_all(const struct known *known, int signo, struct error *err)
{
	const struct oci_runtime_state *state = &known->state;
	_cleanup_cgroup_ struct cgroup *cgroup = cgroup_of_state(state);
	struct error unread = { 0 };
	int r;

	if (signo == SIGKILL)
		process_signal(&state->init, SIGKILL); /* with a pid namespace of its own that is all of them */
	if (!cgroup)
		return signo == SIGKILL ? 0 : signal_directly(known, signo, err);
	r = cgroup_signal(cgroup, signo, err);
	if (r == 0 && signo != SIGKILL)
		(void)signal_through_supervisor(known, signo, true, &unread);
	return r;
}

int lifecycle_kill(const struct runtime *rt, const char *id, int signo, bool all, struct error *err)
{
	_cleanup_known_ struct known known = KNOWN_NONE;
	struct error failure = { 0 };
	int r;

	r = known_look(&known, rt, id, err);
	if (r < 0)
		return r;
	if (state_status(&known.state) == OCI_STOPPED && !all)
		return not_running(&known, err);
	if (signo == SIGKILL)
		container_thaw(&known.state);
	if (all)
		return signal_all(&known, signo, err);
	if (signo == SIGKILL || known.state.untrapped || known.state.status == OCI_CREATED)
		return signal_directly(&known, signo, err);
	r = signal_through_supervisor(&known, signo, false, &failure);
	if (r < 0 && !process_ref_lives(&known.state.init))
		return not_running(&known, err);
	if (r == -EBUSY)
		return error_set(err, EBUSY, "%s", failure.text); /* nobody would notice it */
	return r < 0 ? signal_directly(&known, signo, err) : 0;
}
