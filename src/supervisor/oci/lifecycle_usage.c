/* SPDX-License-Identifier: BSD-3-Clause */
/* What a container may use, what it uses, and its processes: see lifecycle.h. */
#include "supervisor/oci/lifecycle.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "supervisor/oci/lifecycle_internal.h"
#include "supervisor/oci/usage.h"

int lifecycle_update(const struct runtime *rt, const char *id, const struct oci_resources *resources, struct error *err)
{
	_cleanup_known_ struct known known = KNOWN_NONE;
	struct cgroup_place place;
	_cleanup_cgroup_ struct cgroup *cgroup = NULL;
	int r;

	r = known_open(&known, rt, id, err);
	if (r < 0)
		return r;
	if (state_status(&known.state) == OCI_STOPPED)
		return container_has_stopped(&known.dir, &known.state, CONTAINER_NOT_RUNNING, err);
	cgroup = cgroup_of_state(&known.state);
	if (!cgroup)
		return error_set(err, ENOTSUP, "the container has no cgroups");
	place = place_of_state(&known.state, cgroup);
	return manager_of_state(&known.state)->update(&place, resources, err);
}

int lifecycle_stats(const struct runtime *rt, const char *id, struct json_t **ret, struct error *err)
{
	_cleanup_known_ struct known known = KNOWN_NONE;
	_cleanup_cgroup_ struct cgroup *cgroup = NULL;
	int r;

	r = known_look(&known, rt, id, err);
	if (r < 0)
		return r;
	if (state_status(&known.state) == OCI_STOPPED)
		return container_has_stopped(&known.dir, &known.state, CONTAINER_NOT_RUNNING, err);
	cgroup = cgroup_of_state(&known.state);
	if (!cgroup)
		return error_set(err, ENOTSUP, "the container has no cgroups");
	*ret = usage_document(cgroup);
	return *ret ? 0 : error_set(err, ENOMEM, "out of memory");
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
		return 0; /* nobody */
	cgroup = cgroup_of_state(&state);
	return cgroup ? cgroup_pids(cgroup, ret, ret_n, err) : pids_of_namespace(state.init.pid, ret, ret_n, err);
}
