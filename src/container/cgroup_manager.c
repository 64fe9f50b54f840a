/* SPDX-License-Identifier: BSD-3-Clause */
/* The managers, and the two that need nobody: see cgroup_manager.h. */
#include "container/cgroup_manager.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int cgroupfs_prepare(const struct cgroup_request *request, struct cgroup_place *place, struct error *err)
{
	int r;

	r = cgroup_create(request->cgroups_path, request->id, &place->cgroup, err);
	return r < 0 ? r : cgroup_apply(place->cgroup, request->resources, err);
}

static int cgroupfs_update(const struct cgroup_place *place, const struct oci_resources *resources, struct error *err)
{
	return cgroup_apply(place->cgroup, resources, err);
}

static int cgroupfs_end(const struct cgroup_place *place, struct error *err)
{
	return place->cgroup ? cgroup_remove(place->cgroup, err) : 0;
}

static int disabled_prepare(const struct cgroup_request *request, struct cgroup_place *place, struct error *err)
{
	(void)request, (void)place, (void)err;
	return 0;
}

static const struct cgroup_manager managers[] = {
	{ "cgroupfs", cgroupfs_prepare, NULL, NULL, cgroupfs_update, cgroupfs_end },
	{ "systemd", cgroup_systemd_prepare, cgroup_systemd_admit, cgroup_systemd_join, cgroup_systemd_update,
	  cgroup_systemd_end },
	{ "disabled", disabled_prepare, NULL, NULL, cgroupfs_update, cgroupfs_end },
};

const struct cgroup_manager *cgroup_manager_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(managers); i++)
		if (!strcmp(managers[i].name, name))
			return &managers[i];
	return NULL;
}

void cgroup_place_clear(struct cgroup_place *place)
{
	cgroup_free(place->cgroup);
	free(place->unit);
	*place = (struct cgroup_place){ 0 };
}
