/* SPDX-License-Identifier: BSD-3-Clause */
/* What a cgroup has used: see cgroup.h. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/parse.h"
#include "container/cgroup_internal.h"

enum { FILE_LIMIT = 1 << 20 };

char *cgroup_read_text(const struct cgroup *cgroup, const char *controller, const char *file)
{
	const struct cgroup_hierarchy *h = cgroup_find(cgroup, controller);
	_cleanup_free_ char *path = NULL;
	char *text = NULL;

	if (!h || asprintf(&path, "%s/%s", h->directory, file) < 0)
		return NULL;
	return fd_read_file(AT_FDCWD, path, FILE_LIMIT, &text, NULL) < 0 ? NULL : text;
}

bool cgroup_is_unified(const struct cgroup *cgroup)
{
	return cgroup->unified;
}

bool cgroup_has(const struct cgroup *cgroup, const char *controller)
{
	return cgroup_find(cgroup, controller) != NULL;
}

bool cgroup_read_memory_limit(const struct cgroup *cgroup, int64_t *bytes)
{
	_cleanup_free_ char *text = cgroup_read_text(cgroup, "memory", cgroup->unified ? "memory.max" : "memory.limit_in_bytes");
	uint64_t value;

	if (!text)
		return false;
	text[strcspn(text, "\n")] = '\0';
	if (parse_u64(text, &value) < 0)
		return false;
	*bytes = (int64_t)value;
	return true;
}

bool cgroup_read_bandwidth(const struct cgroup *cgroup, int64_t *quota_us, uint64_t *period_us)
{
	_cleanup_free_ char *quota = cgroup_read_text(cgroup, "cpu", cgroup->unified ? "cpu.max" : "cpu.cfs_quota_us");
	_cleanup_free_ char *period = cgroup->unified ? NULL : cgroup_read_text(cgroup, "cpu", "cpu.cfs_period_us");

	*quota_us = -1;
	if (!quota || (sscanf(quota, "%" SCNd64, quota_us) != 1 && strncmp(quota, "max", 3) != 0))
		return false;
	if (cgroup->unified)
		return sscanf(quota, "%*s %" SCNu64, period_us) == 1;
	return period && sscanf(period, "%" SCNu64, period_us) == 1;
}
