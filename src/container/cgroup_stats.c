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

static char *read_file(const struct cgroup *cgroup, const char *controller, const char *file)
{
	const struct cgroup_hierarchy *h = cgroup_find(cgroup, controller);
	_cleanup_free_ char *path = NULL;
	char *text = NULL;

	if (!h || asprintf(&path, "%s/%s", h->directory, file) < 0)
		return NULL;
	return fd_read_file(AT_FDCWD, path, FILE_LIMIT, &text, NULL) < 0 ? NULL : text;
}

/* "max" and what is not there are no value. */
static void take_number(const struct cgroup *cgroup, const char *controller, const char *file, struct oci_u64 *ret)
{
	_cleanup_free_ char *text = read_file(cgroup, controller, file);

	if (!text)
		return;
	text[strcspn(text, "\n")] = '\0';
	ret->set = parse_u64(text, &ret->value) == 0;
}

/* The number after "key " at the beginning of a line, times `unit`. */
static void take_field(const char *text, const char *key, uint64_t unit, struct oci_u64 *ret)
{
	size_t len = strlen(key);

	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		if (strncmp(line, key, len) != 0 || line[len] != ' ')
			continue;
		*ret = (struct oci_u64){ .set = true, .value = strtoull(line + len + 1, NULL, 10) * unit };
		return;
	}
}

static void take_v1(const struct cgroup *cgroup, struct cgroup_stats *ret)
{
	take_number(cgroup, "cpuacct", "cpuacct.usage", &ret->cpu_ns);
	take_number(cgroup, "memory", "memory.usage_in_bytes", &ret->memory);
	take_number(cgroup, "memory", "memory.max_usage_in_bytes", &ret->memory_peak);
	take_number(cgroup, "memory", "memory.limit_in_bytes", &ret->memory_limit);
	take_number(cgroup, "memory", "memory.failcnt", &ret->memory_failures);
}

static void take_v2(const struct cgroup *cgroup, struct cgroup_stats *ret)
{
	_cleanup_free_ char *cpu = read_file(cgroup, "", "cpu.stat");

	take_field(cpu, "usage_usec", 1000, &ret->cpu_ns);
	take_number(cgroup, "memory", "memory.current", &ret->memory);
	take_number(cgroup, "memory", "memory.peak", &ret->memory_peak);
	take_number(cgroup, "memory", "memory.max", &ret->memory_limit);
}

void cgroup_read_stats(const struct cgroup *cgroup, struct cgroup_stats *ret)
{
	*ret = (struct cgroup_stats){ 0 };
	if (cgroup->unified)
		take_v2(cgroup, ret);
	else
		take_v1(cgroup, ret);
	take_number(cgroup, "pids", "pids.current", &ret->pids);
	take_number(cgroup, "pids", "pids.max", &ret->pids_limit);
}

bool cgroup_read_bandwidth(const struct cgroup *cgroup, int64_t *quota_us, uint64_t *period_us)
{
	_cleanup_free_ char *quota = read_file(cgroup, "cpu", cgroup->unified ? "cpu.max" : "cpu.cfs_quota_us");
	_cleanup_free_ char *period = cgroup->unified ? NULL : read_file(cgroup, "cpu", "cpu.cfs_period_us");

	*quota_us = -1;
	if (!quota || (sscanf(quota, "%" SCNd64, quota_us) != 1 && strncmp(quota, "max", 3) != 0))
		return false;
	if (cgroup->unified)
		return sscanf(quota, "%*s %" SCNu64, period_us) == 1;
	return period && sscanf(period, "%" SCNu64, period_us) == 1;
}
