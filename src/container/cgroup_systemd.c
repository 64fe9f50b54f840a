/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cgroups that systemd makes, as scopes: it is told the limits that it has properties for, so that it keeps them when it writes its units anew, and
 * all of them are written to the files after it. A scope starts with a process, so nothing is made before there is one. Where the cgroups are is
 * what the kernel says about the process (an instance of a user puts them below its own). In version 1 systemd makes them in some of the
 * hierarchies; the others get one with the same path.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "container/cgroup_internal.h"
#include "container/cgroup_manager.h"
#include "container/systemd_bus.h"
#include "container/systemd_unit.h"

int cgroup_systemd_prepare(const struct cgroup_request *request, struct cgroup_place *place, struct error *err)
{
	struct systemd_unit unit = { 0 };
	bool user = systemd_is_users();
	int r;

	r = systemd_check(user, err);
	if (r == 0)
		r = systemd_unit_of_path(request->cgroups_path, request->id, user, &unit, err);
	if (r == 0)
		place->unit = take_ptr(unit.name);
	systemd_unit_clear(&unit);
	return r;
}

/* ---- start ---- */

/* What every scope of a container has; annotations may say otherwise. */
static void add_own(struct systemd_properties *list, const char *id, const struct systemd_unit *unit, pid_t pid, bool unified)
{
	_cleanup_free_ char *description = NULL;

	if (asprintf(&description, "hermit container %s", id) < 0)
		description = NULL;
	systemd_add_string(list, "Description", description ? description : id);
	systemd_add_string(list, "Slice", unit->slice);
	systemd_add_number(list, "Delegate", "b", true);
	systemd_add_number(list, "DefaultDependencies", "b", false);
	systemd_add_number(list, "MemoryAccounting", "b", true);
	systemd_add_number(list, "CPUAccounting", "b", true);
	systemd_add_number(list, unified ? "IOAccounting" : "BlockIOAccounting", "b", true);
	systemd_add_number(list, "TasksAccounting", "b", true);
	systemd_add_number(list, "PIDs", "au", (uint64_t)pid);
}

static int start_scope(struct systemd_bus *bus, const struct cgroup_request *request, const struct systemd_unit *unit, pid_t pid,
		       bool unified, struct error *err)
{
	__attribute__((cleanup(systemd_properties_clear))) struct systemd_properties list = { 0 };
	unsigned version = systemd_version(bus);
	int r;

	add_own(&list, request->id, unit, pid, unified);
	if (version >= 236) /* an empty scope that failed goes as well */
		systemd_add_string(&list, "CollectMode", "inactive-or-failed");
	systemd_add_resources(&list, request->resources, unified, version);
	systemd_add_devices(&list, request->resources);
	r = systemd_add_annotations(&list, request->annotations, err);
	return r < 0 ? r : systemd_start_transient(bus, unit->name, &list, err);
}

/* ---- where it is ---- */

/* Its last part is the unit, which has a "_" before it when it might be a file of the kernel's (systemd's cg_escape()). */
static bool is_cgroup_of(const char *path, const char *unit)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return !strcmp(name, unit) || (name[0] == '_' && !strcmp(name + 1, unit));
}

static int find_cgroup(pid_t pid, bool unified, const char *unit, struct cgroup **ret, struct error *err)
{
	_cleanup_free_ char *path = cgroup_path_of_process(pid, unified ? "0::" : ":name=systemd:");

	if (!path)
		return error_set(err, ESRCH, "cannot find out which cgroup systemd has made for %s", unit);
	if (!is_cgroup_of(path, unit))
		return error_set(err, EXDEV, "systemd has put the container's process into the cgroup %s, which is not that of %s", path, unit);
	return cgroup_adopt(path, ret, err);
}

int cgroup_systemd_admit(const struct cgroup_request *request, pid_t pid, struct cgroup_place *place, struct error *err)
{
	struct systemd_unit unit = { 0 };
	struct systemd_bus *bus = NULL;
	bool user = systemd_is_users(), unified = cgroup_host_is_unified();
	int r;

	r = systemd_unit_of_path(request->cgroups_path, request->id, user, &unit, err);
	if (r == 0)
		r = systemd_connect(user, &bus, err);
	if (r == 0)
		r = start_scope(bus, request, &unit, pid, unified, err);
	systemd_disconnect(bus);
	if (r == -EEXIST) { /* somebody else's, not ours to end */
		free(place->unit);
		place->unit = NULL;
	}
	if (r == 0)
		r = find_cgroup(pid, unified, unit.name, &place->cgroup, err);
	if (r == 0)
		r = cgroup_apply(place->cgroup, request->resources, err);
	systemd_unit_clear(&unit);
	return r;
}

/* ---- more processes, update, end ---- */

/*
 * A user may write to the scope's files, but not to those of whatever the process comes from: the kernel wants the first ancestor of both. systemd
 * of the system moves it then, for the user's.
 */
int cgroup_systemd_join(const struct cgroup_place *place, pid_t pid, struct error *err)
{
	struct systemd_bus *bus = NULL;
	char number[16];
	bool user = systemd_is_users();
	int r;

	if (!user || !place->cgroup->unified)
		return 0;
	(void)snprintf(number, sizeof(number), "%d", (int)pid);
	r = fd_write_file(AT_FDCWD, place->cgroup->procs[0], number);
	if (r != -EACCES && r != -EPERM)
		return r == 0 ? 1 : 0; /* the caller's attempt has the message */
	r = systemd_connect(user, &bus, err);
	if (r == 0)
		r = systemd_attach(bus, place->unit, pid, err);
	systemd_disconnect(bus);
	return r < 0 ? r : 1;
}

/* What an update leaves out of limits that systemd has in one is what the files say. */
static void complete(const struct cgroup *cgroup, struct oci_resources *r)
{
	int64_t quota;
	uint64_t period;

	if ((r->cpu.quota_us.set || r->cpu.period_us.set) && cgroup_read_bandwidth(cgroup, &quota, &period)) {
		r->cpu.quota_us = r->cpu.quota_us.set ? r->cpu.quota_us : (struct oci_i64){ .set = true, .value = quota };
		r->cpu.period_us = r->cpu.period_us.set ? r->cpu.period_us : (struct oci_u64){ .set = true, .value = period };
	}
	if (r->memory.swap.set && !r->memory.limit.set)
		r->memory.limit.set = cgroup_read_memory_limit(cgroup, &r->memory.limit.value);
}

int cgroup_systemd_update(const struct cgroup_place *place, const struct oci_resources *resources, struct error *err)
{
	__attribute__((cleanup(systemd_properties_clear))) struct systemd_properties list = { 0 };
	struct oci_resources whole = *resources;
	struct systemd_bus *bus = NULL;
	int r;

	if (!resources->present)
		return 0;
	complete(place->cgroup, &whole);
	r = systemd_connect(systemd_is_users(), &bus, err);
	if (r < 0)
		return r;
	systemd_add_resources(&list, &whole, place->cgroup->unified, systemd_version(bus));
	systemd_add_devices(&list, &whole);
	r = systemd_set_properties(bus, place->unit, &list, err);
	systemd_disconnect(bus);
	return r < 0 ? r : cgroup_apply(place->cgroup, resources, err);
}

int cgroup_systemd_end(const struct cgroup_place *place, struct error *err)
{
	struct systemd_bus *bus = NULL;
	int r, removed;

	r = place->unit ? systemd_connect(systemd_is_users(), &bus, err) : 0;
	if (r == 0 && bus)
		r = systemd_stop(bus, place->unit, !place->cgroup, err);
	systemd_disconnect(bus);
	if (!place->cgroup)
		return r;
	/* When they are gone it does not matter that systemd could not be asked. */
	removed = cgroup_remove(place->cgroup, r < 0 ? NULL : err);
	return removed < 0 && r < 0 ? r : removed;
}
