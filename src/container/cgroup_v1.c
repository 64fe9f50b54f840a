/* SPDX-License-Identifier: BSD-3-Clause */
/* Resources in files of cgroup version 1, one small function for each object of linux.resources. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/cgroup_internal.h"

/* A value that a field of a resource object goes to, as it is. */
struct number {
	const char *controller, *file, *field;
	bool set;
	int64_t value;
};

static int set_numbers(const struct cgroup *cgroup, const struct number *numbers, size_t n, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		if (numbers[i].set)
			r = cgroup_set(cgroup, numbers[i].controller, numbers[i].file, numbers[i].field, err,
				       "%" PRId64, numbers[i].value);
	return r;
}

static bool read_number(const struct cgroup *cgroup, const char *controller, const char *file, uint64_t *ret)
{
	const struct cgroup_hierarchy *h = cgroup_find(cgroup, controller);
	_cleanup_free_ char *path = NULL, *text = NULL;

	if (!h || asprintf(&path, "%s/%s", h->directory, file) < 0 ||
	    fd_read_file(AT_FDCWD, path, 4096, &text, NULL) < 0)
		return false;
	*ret = strtoull(text, NULL, 10);
	return true;
}

/*
 * The limit of memory may never be above the one of memory plus swap, not even between two writes: which one is written
 * first depends on what is there. Who takes the limit of memory away and says nothing of swap means both.
 */
static int apply_memory_limits(const struct cgroup *cgroup, const struct oci_memory *m, struct error *err)
{
	const struct number limit = { "memory", "memory.limit_in_bytes", "memory.limit", m->limit.set, m->limit.value };
	struct number swap = { "memory", "memory.memsw.limit_in_bytes", "memory.swap", m->swap.set, m->swap.value };
	uint64_t now = 0;
	bool swap_first = false, has_swap = limit.set && read_number(cgroup, "memory", swap.file, &now);
	int r;

	if (has_swap && !swap.set && limit.value < 0) {
		swap.set = true;
		swap.value = -1;
	}
	if (has_swap && swap.set)
		swap_first = swap.value < 0 || (uint64_t)swap.value > now;
	r = set_numbers(cgroup, swap_first ? &swap : &limit, 1, err);
	return r < 0 ? r : set_numbers(cgroup, swap_first ? &limit : &swap, 1, err);
}

static int apply_memory(const struct cgroup *cgroup, const struct oci_memory *m, struct error *err)
{
	const struct number numbers[] = {
		{ "memory", "memory.soft_limit_in_bytes", "memory.reservation", m->reservation.set,
		  m->reservation.value },
		/* Newer kernels take no limit of their own memory, and always count below: what they do not take is refused. */
		{ "memory", "memory.kmem.limit_in_bytes", "memory.kernel", m->kernel.set, m->kernel.value },
		{ "memory", "memory.kmem.tcp.limit_in_bytes", "memory.kernelTCP", m->kernel_tcp.set, m->kernel_tcp.value },
		{ "memory", "memory.use_hierarchy", "memory.useHierarchy", m->use_hierarchy.set, m->use_hierarchy.value },
		{ "memory", "memory.swappiness", "memory.swappiness", m->swappiness.set, (int64_t)m->swappiness.value },
		{ "memory", "memory.oom_control", "memory.disableOOMKiller",
		  m->disable_oom_killer.set && m->disable_oom_killer.value, 1 },
	};
	uint64_t used = 0;
	int r;

	if (m->check_before_update.value && m->limit.set && m->limit.value >= 0 &&
	    read_number(cgroup, "memory", "memory.usage_in_bytes", &used) && used > (uint64_t)m->limit.value)
		return error_set(err, EBUSY, "linux.resources.memory.limit: %" PRIu64 " bytes are in use", used);
	r = apply_memory_limits(cgroup, m, err);
	return r < 0 ? r : set_numbers(cgroup, numbers, ARRAY_SIZE(numbers), err);
}

static int apply_cpu(const struct cgroup *cgroup, const struct oci_cpu *c, struct error *err)
{
	const struct number numbers[] = {
		{ "cpu", "cpu.shares", "cpu.shares", c->shares.set, (int64_t)c->shares.value },
		{ "cpu", "cpu.cfs_period_us", "cpu.period", c->period_us.set, (int64_t)c->period_us.value },
		{ "cpu", "cpu.cfs_quota_us", "cpu.quota", c->quota_us.set, c->quota_us.value },
		{ "cpu", "cpu.cfs_burst_us", "cpu.burst", c->burst_us.set, (int64_t)c->burst_us.value },
		{ "cpu", "cpu.rt_period_us", "cpu.realtimePeriod", c->realtime_period_us.set,
		  (int64_t)c->realtime_period_us.value },
		{ "cpu", "cpu.rt_runtime_us", "cpu.realtimeRuntime", c->realtime_runtime_us.set,
		  c->realtime_runtime_us.value },
		{ "cpu", "cpu.idle", "cpu.idle", c->idle.set, c->idle.value },
	};
	int r;

	r = set_numbers(cgroup, numbers, ARRAY_SIZE(numbers), err);
	if (r == 0 && c->cpus && *c->cpus)
		r = cgroup_set(cgroup, "cpuset", "cpuset.cpus", "cpu.cpus", err, "%s", c->cpus);
	if (r == 0 && c->mems && *c->mems)
		r = cgroup_set(cgroup, "cpuset", "cpuset.mems", "cpu.mems", err, "%s", c->mems);
	return r;
}

static int apply_throttle(const struct cgroup *cgroup, const struct oci_blkio_devices *list, const char *file,
			  const char *field, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->count; i++)
		r = cgroup_set(cgroup, "blkio", file, field, err, "%" PRId64 ":%" PRId64 " %" PRIu64,
			       list->items[i].major, list->items[i].minor, list->items[i].rate);
	return r;
}

/* A weight belongs to the I/O scheduler: bfq has files of its own name. */
static int set_weight(const struct cgroup *cgroup, const char *file, const char *bfq, const char *field, struct error *err,
		      const char *format, ...) __attribute__((format(printf, 6, 7)));
static int set_weight(const struct cgroup *cgroup, const char *file, const char *bfq, const char *field, struct error *err,
		      const char *format, ...)
{
	char text[128];
	va_list ap;
	int r;

	va_start(ap, format);
	(void)vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	r = cgroup_set(cgroup, "blkio", file, field, err, "%s", text);
	return r == -ENOTSUP ? cgroup_set(cgroup, "blkio", bfq, field, err, "%s", text) : r;
}

static int apply_blkio_weight(const struct cgroup *cgroup, const struct oci_blkio *b, struct error *err)
{
	int r = 0;

	if (b->weight.set)
		r = set_weight(cgroup, "blkio.weight", "blkio.bfq.weight", "blockIO.weight", err, "%" PRIu64, b->weight.value);
	if (r == 0 && b->leaf_weight.set)
		r = cgroup_set(cgroup, "blkio", "blkio.leaf_weight", "blockIO.leafWeight", err, "%" PRIu64,
			       b->leaf_weight.value);
	for (size_t i = 0; r == 0 && i < b->weight_device.count; i++) {
		const struct oci_blkio_device *d = &b->weight_device.items[i];

		if (d->weight.set)
			r = set_weight(cgroup, "blkio.weight_device", "blkio.bfq.weight_device", "blockIO.weightDevice", err,
				       "%" PRId64 ":%" PRId64 " %" PRIu64, d->major, d->minor, d->weight.value);
		if (r == 0 && d->leaf_weight.set)
			r = cgroup_set(cgroup, "blkio", "blkio.leaf_weight_device", "blockIO.weightDevice.leafWeight", err,
				       "%" PRId64 ":%" PRId64 " %" PRIu64, d->major, d->minor, d->leaf_weight.value);
	}
	return r;
}

static int apply_blkio(const struct cgroup *cgroup, const struct oci_blkio *b, struct error *err)
{
	int r;

	r = apply_blkio_weight(cgroup, b, err);
	if (r == 0)
		r = apply_throttle(cgroup, &b->read_bps, "blkio.throttle.read_bps_device",
				   "blockIO.throttleReadBpsDevice", err);
	if (r == 0)
		r = apply_throttle(cgroup, &b->write_bps, "blkio.throttle.write_bps_device",
				   "blockIO.throttleWriteBpsDevice", err);
	if (r == 0)
		r = apply_throttle(cgroup, &b->read_iops, "blkio.throttle.read_iops_device",
				   "blockIO.throttleReadIOPSDevice", err);
	if (r == 0)
		r = apply_throttle(cgroup, &b->write_iops, "blkio.throttle.write_iops_device",
				   "blockIO.throttleWriteIOPSDevice", err);
	return r;
}

static int apply_device_rule(const struct cgroup *cgroup, const struct oci_device_rule *rule, struct error *err)
{
	char major[24] = "*", minor[24] = "*";
	const char *file = rule->allow ? "devices.allow" : "devices.deny";

	if (rule->major.set && rule->major.value >= 0)
		(void)snprintf(major, sizeof(major), "%" PRId64, rule->major.value);
	if (rule->minor.set && rule->minor.value >= 0)
		(void)snprintf(minor, sizeof(minor), "%" PRId64, rule->minor.value);
	if (rule->type == 'a' && major[0] == '*' && minor[0] == '*')
		return cgroup_set(cgroup, "devices", file, "devices", err, "a");
	return cgroup_set(cgroup, "devices", file, "devices", err, "%c %s:%s %s%s%s", rule->type, major, minor,
			  rule->access & OCI_DEVICE_READ ? "r" : "", rule->access & OCI_DEVICE_WRITE ? "w" : "",
			  rule->access & OCI_DEVICE_MKNOD ? "m" : "");
}

static int apply_devices(const struct cgroup *cgroup, const struct oci_resources *resources, struct error *err)
{
	int r = 0;

	if (resources->n_devices == 0 || !cgroup_find(cgroup, "devices"))
		return 0; /* without the controller, access is what the nodes allow */
	for (size_t i = 0; r == 0 && i < resources->n_devices; i++)
		r = apply_device_rule(cgroup, &resources->devices[i], err);
	for (size_t i = 0; r == 0 && i < cgroup_n_default_devices; i++)
		r = apply_device_rule(cgroup, &cgroup_default_devices[i], err);
	return r;
}

static int apply_network(const struct cgroup *cgroup, const struct oci_resources *resources, struct error *err)
{
	int r = 0;

	if (resources->net_class_id.set)
		r = cgroup_set(cgroup, "net_cls", "net_cls.classid", "network.classID", err, "%" PRIu64,
			       resources->net_class_id.value);
	for (size_t i = 0; r == 0 && i < resources->n_net_priorities; i++)
		r = cgroup_set(cgroup, "net_prio", "net_prio.ifpriomap", "network.priorities", err, "%s %u",
			       resources->net_priorities[i].name, resources->net_priorities[i].priority);
	return r;
}

int cgroup_apply_v1(const struct cgroup *cgroup, const struct oci_resources *resources, struct error *err)
{
	int r;

	if (resources->unified.count > 0)
		return error_set(err, ENOTSUP, "linux.resources.unified: this host has cgroups of version 1");
	r = apply_memory(cgroup, &resources->memory, err);
	if (r == 0)
		r = apply_cpu(cgroup, &resources->cpu, err);
	if (r == 0)
		r = apply_blkio(cgroup, &resources->blkio, err);
	if (r == 0)
		r = apply_network(cgroup, resources, err);
	return r == 0 ? apply_devices(cgroup, resources, err) : r;
}
