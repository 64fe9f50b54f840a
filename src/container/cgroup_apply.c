/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of cgroups: how one is written, and those that have one form in both versions. See cgroup.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/cgroup_internal.h"

int cgroup_set(const struct cgroup *cgroup, const char *controller, const char *file, const char *field,
	       struct error *err, const char *format, ...)
{
	const struct cgroup_hierarchy *h = cgroup_find(cgroup, controller);
	_cleanup_free_ char *path = NULL, *value = NULL;
	va_list ap;
	int r;

	if (!h)
		return error_set(err, ENOTSUP, "linux.resources.%s: there is no cgroup controller '%s' here", field,
				 controller);
	va_start(ap, format);
	r = vasprintf(&value, format, ap);
	va_end(ap);
	if (r < 0 || asprintf(&path, "%s/%s", h->directory, file) < 0)
		return cgroup_no_memory(err);
	r = fd_write_file(AT_FDCWD, path, value);
	if (r == -ENOENT)
		return error_set(err, ENOTSUP, "linux.resources.%s: this kernel has no %s", field, file);
	return r < 0 ? error_errno(err, -r, "linux.resources.%s: cannot write '%s' to %s", field, value, path) : 0;
}

/* These files have one form in both versions. */
static int apply_pids(const struct cgroup *cgroup, const struct oci_i64 *limit, struct error *err)
{
	if (!limit->set)
		return 0;
	if (limit->value <= 0)
		return cgroup_set(cgroup, "pids", "pids.max", "pids.limit", err, "max");
	return cgroup_set(cgroup, "pids", "pids.max", "pids.limit", err, "%" PRId64, limit->value);
}

static int apply_hugepages(const struct cgroup *cgroup, const struct oci_resources *resources, struct error *err)
{
	char file[64];
	int r = 0;

	for (size_t i = 0; r == 0 && i < resources->n_hugepages; i++) {
		(void)snprintf(file, sizeof(file), "hugetlb.%s.%s", resources->hugepages[i].page_size,
			       cgroup->unified ? "max" : "limit_in_bytes");
		r = cgroup_set(cgroup, "hugetlb", file, "hugepageLimits", err, "%" PRIu64,
			       resources->hugepages[i].limit);
	}
	return r;
}

static int apply_rdma(const struct cgroup *cgroup, const struct oci_rdma *rdma, struct error *err)
{
	int r = 0;

	if (rdma->hca_handles.set)
		r = cgroup_set(cgroup, "rdma", "rdma.max", "rdma", err, "%s hca_handle=%" PRIu64, rdma->device,
			       rdma->hca_handles.value);
	if (r == 0 && rdma->hca_objects.set)
		r = cgroup_set(cgroup, "rdma", "rdma.max", "rdma", err, "%s hca_object=%" PRIu64, rdma->device,
			       rdma->hca_objects.value);
	return r;
}

static int apply_common(const struct cgroup *cgroup, const struct oci_resources *resources, struct error *err)
{
	int r;

	r = apply_pids(cgroup, &resources->pids_limit, err);
	if (r == 0)
		r = apply_hugepages(cgroup, resources, err);
	for (size_t i = 0; r == 0 && i < resources->n_rdma; i++)
		r = apply_rdma(cgroup, &resources->rdma[i], err);
	return r;
}

int cgroup_apply(const struct cgroup *cgroup, const struct oci_resources *resources, struct error *err)
{
	int r;

	if (!resources->present)
		return 0;
	r = apply_common(cgroup, resources, err);
	if (r < 0)
		return r;
	return cgroup->unified ? cgroup_apply_v2(cgroup, resources, err) : cgroup_apply_v1(cgroup, resources, err);
}
