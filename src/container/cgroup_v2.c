/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resources in files of cgroup version 2. The document speaks the language of version 1; the conversions are those that the
 * specification's implementations agree on.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/cgroup_internal.h"

/* A number of bytes, or "max" for a negative one. */
static int set_bytes(const struct cgroup *cgroup, const char *file, const char *field, int64_t value, struct error *err)
{
	if (value < 0)
		return cgroup_set(cgroup, "memory", file, field, err, "max");
	return cgroup_set(cgroup, "memory", file, field, err, "%" PRId64, value);
}

/* The first number in a file of the cgroup as it is now; false for "max", or when there is no such file. */
static bool read_first(const struct cgroup *cgroup, const char *file, int64_t *ret)
{
	_cleanup_free_ char *path = NULL, *text = NULL;

	if (!cgroup->n || asprintf(&path, "%s/%s", cgroup->items[0].directory, file) < 0 ||
	    fd_read_file(AT_FDCWD, path, 4096, &text, NULL) < 0)
		return false;
	return sscanf(text, "%" SCNd64, ret) == 1;
}

static bool has_file(const struct cgroup *cgroup, const char *file)
{
	_cleanup_free_ char *path = NULL;

	return cgroup->n && asprintf(&path, "%s/%s", cgroup->items[0].directory, file) >= 0 && access(path, F_OK) == 0;
}

/* Version 2 limits swap by itself, the document memory and swap together. In an update the limit of memory may be the one that is there. */
static int apply_swap(const struct cgroup *cgroup, const struct oci_memory *m, struct error *err)
{
	int64_t limit = m->limit.value;

	/* who takes the limit of memory away and says nothing of swap means both, as in version 1, where one is above the other */
	if (!m->swap.set && m->limit.set && limit < 0 && has_file(cgroup, "memory.swap.max"))
		return set_bytes(cgroup, "memory.swap.max", "memory.swap", -1, err);
	if (!m->swap.set)
		return 0;
	if (m->swap.value < 0)
		return set_bytes(cgroup, "memory.swap.max", "memory.swap", -1, err);
	if (m->limit.set ? limit < 0 : !read_first(cgroup, "memory.max", &limit))
		return error_set(err, EINVAL, "linux.resources.memory.swap: needs memory.limit as well");
	if (m->swap.value < limit)
		return error_set(err, EINVAL, "linux.resources.memory.swap: is below memory.limit, which it includes");
	return set_bytes(cgroup, "memory.swap.max", "memory.swap", m->swap.value - limit, err);
}

static int apply_memory(const struct cgroup *cgroup, const struct oci_memory *m, struct error *err)
{
	int64_t used = 0;
	int r;

	if (m->check_before_update.value && m->limit.set && m->limit.value >= 0 && read_first(cgroup, "memory.current", &used) &&
	    used > m->limit.value)
		return error_set(err, EBUSY, "linux.resources.memory.limit: %" PRId64 " bytes are in use", used);
	r = apply_swap(cgroup, m, err);
	if (r == 0 && m->limit.set)
		r = set_bytes(cgroup, "memory.max", "memory.limit", m->limit.value, err);
	if (r == 0 && m->reservation.set)
		r = set_bytes(cgroup, "memory.low", "memory.reservation", m->reservation.value, err);
	return r;
}

uint64_t cgroup_weight_of_shares(uint64_t shares)
{
	if (shares < 2)
		shares = 2;
	if (shares > 262144)
		shares = 262144;
	return 1 + (shares - 2) * 9999 / 262142;
}

/* One file has both. What is not given stays: the period when it is left out, the quota when it is written again. */
static int apply_bandwidth(const struct cgroup *cgroup, const struct oci_cpu *c, struct error *err)
{
	char quota[24] = "max", period[24] = "";
	int64_t value = c->quota_us.value;

	if (!c->quota_us.set && !c->period_us.set)
		return 0;
	if (c->quota_us.set ? value >= 0 : read_first(cgroup, "cpu.max", &value))
		(void)snprintf(quota, sizeof(quota), "%" PRId64, value);
	if (c->period_us.set)
		(void)snprintf(period, sizeof(period), " %" PRIu64, c->period_us.value);
	return cgroup_set(cgroup, "cpu", "cpu.max", c->quota_us.set ? "cpu.quota" : "cpu.period", err, "%s%s", quota, period);
}

static int apply_cpu(const struct cgroup *cgroup, const struct oci_cpu *c, struct error *err)
{
	int r = 0;

	if (c->idle.set)
		r = cgroup_set(cgroup, "cpu", "cpu.idle", "cpu.idle", err, "%" PRId64, c->idle.value);
	if (r == 0 && c->shares.set && !(c->idle.set && c->idle.value))
		r = cgroup_set(cgroup, "cpu", "cpu.weight", "cpu.shares", err, "%" PRIu64,
			       cgroup_weight_of_shares(c->shares.value));
	if (r == 0)
		r = apply_bandwidth(cgroup, c, err);
	if (r == 0 && c->burst_us.set)
		r = cgroup_set(cgroup, "cpu", "cpu.max.burst", "cpu.burst", err, "%" PRIu64, c->burst_us.value);
	if (r == 0 && c->cpus && *c->cpus)
		r = cgroup_set(cgroup, "cpuset", "cpuset.cpus", "cpu.cpus", err, "%s", c->cpus);
	if (r == 0 && c->mems && *c->mems)
		r = cgroup_set(cgroup, "cpuset", "cpuset.mems", "cpu.mems", err, "%s", c->mems);
	return r;
}

uint64_t cgroup_io_weight(uint64_t weight)
{
	if (weight < 10)
		weight = 10;
	if (weight > 1000)
		weight = 1000;
	return 1 + (weight - 10) * 9999 / 990;
}

static int apply_throttle(const struct cgroup *cgroup, const struct oci_blkio_devices *list, const char *key,
			  const char *field, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->count; i++)
		r = cgroup_set(cgroup, "io", "io.max", field, err, "%" PRId64 ":%" PRId64 " %s=%" PRIu64,
			       list->items[i].major, list->items[i].minor, key, list->items[i].rate);
	return r;
}

static int set_device_weight(const struct cgroup *cgroup, const struct oci_blkio_device *d, struct error *err)
{
	int r;

	r = cgroup_set(cgroup, "io", "io.bfq.weight", "blockIO.weightDevice", err, "%" PRId64 ":%" PRId64 " %" PRIu64, d->major, d->minor,
		       d->weight.value);
	if (r == -ENOTSUP)
		r = cgroup_set(cgroup, "io", "io.weight", "blockIO.weightDevice", err, "%" PRId64 ":%" PRId64 " %" PRIu64, d->major, d->minor,
			       cgroup_io_weight(d->weight.value));
	return r;
}

static int apply_io(const struct cgroup *cgroup, const struct oci_blkio *b, struct error *err)
{
	int r = 0;

	if (b->weight.set) {
		r = cgroup_set(cgroup, "io", "io.bfq.weight", "blockIO.weight", err, "%" PRIu64, b->weight.value);
		if (r == -ENOTSUP)
			r = cgroup_set(cgroup, "io", "io.weight", "blockIO.weight", err, "default %" PRIu64,
				       cgroup_io_weight(b->weight.value));
	}
	for (size_t i = 0; r == 0 && i < b->weight_device.count; i++)
		if (b->weight_device.items[i].weight.set)
			r = set_device_weight(cgroup, &b->weight_device.items[i], err);
	if (r == 0)
		r = apply_throttle(cgroup, &b->read_bps, "rbps", "blockIO.throttleReadBpsDevice", err);
	if (r == 0)
		r = apply_throttle(cgroup, &b->write_bps, "wbps", "blockIO.throttleWriteBpsDevice", err);
	if (r == 0)
		r = apply_throttle(cgroup, &b->read_iops, "riops", "blockIO.throttleReadIOPSDevice", err);
	if (r == 0)
		r = apply_throttle(cgroup, &b->write_iops, "wiops", "blockIO.throttleWriteIOPSDevice", err);
	return r;
}

/* "memory.high": "1G" and so on. The part before the first dot is the controller ("cgroup" is every cgroup's). */
static int apply_unified(const struct cgroup *cgroup, const struct oci_pairs *pairs, struct error *err)
{
	char controller[32];
	int r = 0;

	for (size_t i = 0; r == 0 && i < pairs->count; i++) {
		const char *key = pairs->items[i].key;
		size_t len = strcspn(key, ".");

		if (!key[len] || strchr(key, '/') || len >= sizeof(controller))
			return error_set(err, EINVAL, "linux.resources.unified: '%s' is not the name of a file", key);
		memcpy(controller, key, len);
		controller[len] = '\0';
		r = cgroup_set(cgroup, strcmp(controller, "cgroup") == 0 ? "" : controller, key, "unified", err, "%s",
			       pairs->items[i].value);
	}
	return r;
}

static bool has_leaf_weights(const struct oci_blkio *b)
{
	bool has = b->leaf_weight.set;

	for (size_t i = 0; i < b->weight_device.count; i++)
		has |= b->weight_device.items[i].leaf_weight.set;
	return has;
}

/* What version 1 has and version 2 has nothing for. That what is below counts (useHierarchy) is so in version 2. */
static int refuse_others(const struct oci_resources *r, struct error *err)
{
	const struct oci_memory *m = &r->memory;
	const struct {
		const char *field;
		bool asked;
	} rows[] = {
		{ "memory.kernel", m->kernel.set },
		{ "memory.kernelTCP", m->kernel_tcp.set },
		{ "memory.swappiness", m->swappiness.set },
		{ "memory.disableOOMKiller", m->disable_oom_killer.set && m->disable_oom_killer.value },
		{ "memory.useHierarchy", m->use_hierarchy.set && !m->use_hierarchy.value },
		{ "cpu.realtimeRuntime", r->cpu.realtime_runtime_us.set },
		{ "cpu.realtimePeriod", r->cpu.realtime_period_us.set },
		{ "blockIO.leafWeight", has_leaf_weights(&r->blkio) },
		{ "network", r->net_class_id.set || r->n_net_priorities > 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].asked)
			return error_set(err, ENOTSUP, "linux.resources.%s: does not exist in cgroups of version 2", rows[i].field);
	return 0;
}

int cgroup_apply_v2(const struct cgroup *cgroup, const struct oci_resources *resources, struct error *err)
{
	int r;

	r = refuse_others(resources, err);
	if (r == 0)
		r = apply_memory(cgroup, &resources->memory, err);
	if (r == 0)
		r = apply_cpu(cgroup, &resources->cpu, err);
	if (r == 0)
		r = apply_io(cgroup, &resources->blkio, err);
	if (r == 0)
		r = apply_unified(cgroup, &resources->unified, err);
	if (r == 0 && resources->n_devices > 0 && cgroup->n > 0)
		r = cgroup_attach_device_rules(cgroup->items[0].directory, resources->devices, resources->n_devices,
					       err);
	return r;
}
