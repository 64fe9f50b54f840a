/* SPDX-License-Identifier: BSD-3-Clause */
/* Pause and resume: see lifecycle.h. */
#include "supervisor/oci/lifecycle.h"

#include <errno.h>

#include "base/cleanup.h"
#include "supervisor/oci/control.h"
#include "supervisor/oci/lifecycle_internal.h"

/*
 * What is written down may be behind what the supervisor does: whoever asked for a pause may have been killed before it could note the answer.
 * So the supervisor is asked in any case; -EALREADY is its word for that there is nothing to do.
 *
 * The supervisor stops letting anybody go on; that alone holds everybody who waits for it, and it keeps its listener, so nobody
 * is lost. The freezer holds who computes meanwhile; it never gets hold of those who wait, so its success is not waited for.
 */
static int pause_trapped(const struct known *known, const struct cgroup *cgroup, struct error *err)
{
	const struct control_request request = { .verb = CONTROL_PAUSE };
	struct control_answer answer;
	int r;

	r = control_call(known->dir.fd, &known->state, &request, -1, &answer, err);
	if (r == 0 && cgroup)
		cgroup_freeze_begin(cgroup, true);
	return r;
}

static int resume_trapped(const struct known *known, const struct cgroup *cgroup, struct error *err)
{
	const struct control_request request = { .verb = CONTROL_RESUME };
	struct control_answer answer;

	if (cgroup)
		cgroup_freeze_begin(cgroup, false);
	return control_call(known->dir.fd, &known->state, &request, -1, &answer, err);
}

static int freeze(const struct cgroup *cgroup, bool frozen, struct error *err)
{
	return cgroup ? cgroup_freeze(cgroup, frozen, err) : error_set(err, ENOTSUP, "there is no cgroup freezer here");
}

static int check_pausable(const struct known *known, enum oci_status status, struct error *err)
{
	if (status == OCI_PAUSED)
		return error_set(err, EALREADY, "container already paused");
	return status == OCI_RUNNING || status == OCI_CREATED ? 0 : container_has_stopped(&known->dir, &known->state, CONTAINER_NOT_RUNNING, err);
}

static int check_resumable(const struct known *known, enum oci_status status, struct error *err)
{
	if (status == OCI_PAUSED || ((status == OCI_RUNNING || status == OCI_CREATED) && !known->state.untrapped))
		return 0;
	return error_set(err, EINVAL, "container not paused");
}

/* What the two do: when they may, and with a supervisor. */
static const struct pausing {
	int (*check)(const struct known *known, enum oci_status status, struct error *err);
	int (*trapped)(const struct known *known, const struct cgroup *cgroup, struct error *err);
	bool frozen;
} pausing = { check_pausable, pause_trapped, true },
  resuming = { check_resumable, resume_trapped, false };

/* One that was paused before its start is what it was. */
static enum oci_status becomes(const struct pausing *p, const struct state_dir *dir)
{
	if (p->frozen)
		return OCI_PAUSED;
	return state_dir_is_started(dir) ? OCI_RUNNING : OCI_CREATED;
}

static int change(const struct pausing *p, const struct runtime *rt, const char *id, struct error *err)
{
	_cleanup_known_ struct known known = KNOWN_NONE;
	_cleanup_cgroup_ struct cgroup *cgroup = NULL;
	enum oci_status status, then;
	int r;

	r = known_open(&known, rt, id, err);
	if (r < 0)
		return r;
	status = state_status(&known.state);
	r = p->check(&known, status, err);
	if (r < 0)
		return r;
	cgroup = cgroup_of_state(&known.state);
	r = known.state.untrapped ? freeze(cgroup, p->frozen, err) : p->trapped(&known, cgroup, err);
	then = becomes(p, &known.dir);
	return r < 0 && (r != -EALREADY || status == then) ? r : known_set_status(&known, then, err);
}

int lifecycle_pause(const struct runtime *rt, const char *id, struct error *err)
{
	return change(&pausing, rt, id, err);
}

int lifecycle_resume(const struct runtime *rt, const char *id, struct error *err)
{
	return change(&resuming, rt, id, err);
}
