/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who makes the cgroups of a container: --cgroup-manager. Everything between their making and their end (processes, the freezer, usage) goes
 * through the cgroups themselves, cgroup.h, whoever made them.
 */
#ifndef HS_CONTAINER_CGROUP_MANAGER_H
#define HS_CONTAINER_CGROUP_MANAGER_H

#include "container/cgroup.h"

struct cgroup_request {
	const char *cgroups_path; /* linux.cgroupsPath, may be NULL */
	const char *id;
	const struct oci_resources *resources;
	const struct oci_pairs *annotations;
};

/* Where a container is. Both NULL: nowhere. */
struct cgroup_place {
	struct cgroup *cgroup;
	char *unit; /* of systemd */
};

struct cgroup_manager {
	const char *name; /* as in state.json */

	/*
	 * Before there is a process, and then for the process: what is made, with its limits. With place->cgroup set after either, the process joins
	 * its files. What a failure leaves in *place is the caller's to end and to clear. admit may be NULL.
	 */
	int (*prepare)(const struct cgroup_request *request, struct cgroup_place *place, struct error *err);
	int (*admit)(const struct cgroup_request *request, pid_t pid, struct cgroup_place *place, struct error *err);

	/*
	 * A further process joins, whose files the caller may not be allowed to write: 1 when it is in, 0 when it has to join the files after all.
	 * May be NULL.
	 */
	int (*join)(const struct cgroup_place *place, pid_t pid, struct error *err);

	/* Applies what is set; place->cgroup is there. */
	int (*update)(const struct cgroup_place *place, const struct oci_resources *resources, struct error *err);

	/* Removes what was made; whoever is still in it goes. Of a container that never got as far there may be part of it. */
	int (*end)(const struct cgroup_place *place, struct error *err);
};

/* cgroupfs, systemd, disabled; NULL. */
const struct cgroup_manager *cgroup_manager_find(const char *name);

void cgroup_place_clear(struct cgroup_place *place);

/* Of cgroup_systemd.c. */
int cgroup_systemd_prepare(const struct cgroup_request *request, struct cgroup_place *place, struct error *err);
int cgroup_systemd_admit(const struct cgroup_request *request, pid_t pid, struct cgroup_place *place, struct error *err);
int cgroup_systemd_join(const struct cgroup_place *place, pid_t pid, struct error *err);
int cgroup_systemd_update(const struct cgroup_place *place, const struct oci_resources *resources, struct error *err);
int cgroup_systemd_end(const struct cgroup_place *place, struct error *err);

#endif
