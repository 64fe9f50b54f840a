/* SPDX-License-Identifier: BSD-3-Clause */
/* linux.resources as properties of a unit: see systemd_unit.h. Which ones there are is systemd.resource-control(5). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "container/cgroup_internal.h"
#include "container/systemd_unit.h"

enum {
	V1 = 1,
	V2 = 2,
	DEFAULT_PERIOD_US = 100000,
	QUOTA_STEP_US = 10000, /* systemd's own; smaller ones are rounded up, and the file has the exact value */
	US_PER_SECOND = 1000000,
};

/* What a field is worth as a number of systemd's. False: not set, or nothing that systemd takes; then the file is who says so. */
typedef bool number_fn(const struct oci_resources *r, uint64_t *ret);

static bool from_limit(const struct oci_i64 *limit, uint64_t *ret)
{
	*ret = limit->value < 0 ? UINT64_MAX : (uint64_t)limit->value;
	return limit->set;
}

static bool memory_limit(const struct oci_resources *r, uint64_t *ret)
{
	return from_limit(&r->memory.limit, ret);
}

static bool memory_reservation(const struct oci_resources *r, uint64_t *ret)
{
	return from_limit(&r->memory.reservation, ret);
}

/* Without the memory, which the document counts in. */
static bool memory_swap(const struct oci_resources *r, uint64_t *ret)
{
	const struct oci_memory *m = &r->memory;

	if (!m->swap.set && m->limit.set && m->limit.value < 0) /* as cgroup_v2.c */
		return from_limit(&m->limit, ret);
	if (!m->swap.set || m->swap.value < 0)
		return from_limit(&m->swap, ret);
	*ret = (uint64_t)m->swap.value - (uint64_t)m->limit.value;
	return m->limit.set && m->limit.value >= 0 && m->swap.value >= m->limit.value;
}

static bool cpu_shares(const struct oci_resources *r, uint64_t *ret)
{
	*ret = r->cpu.shares.value;
	return r->cpu.shares.set && *ret >= 2 && *ret <= 262144;
}

/* Zero stands for idle; older ones refuse it. */
static bool cpu_idle(const struct oci_resources *r, uint64_t *ret)
{
	*ret = 0;
	return r->cpu.idle.set && r->cpu.idle.value == 1;
}

static bool cpu_weight(const struct oci_resources *r, uint64_t *ret)
{
	*ret = cgroup_weight_of_shares(r->cpu.shares.value);
	return r->cpu.shares.set && !(r->cpu.idle.set && r->cpu.idle.value);
}

static bool cpu_quota(const struct oci_resources *r, uint64_t *ret)
{
	uint64_t period = r->cpu.period_us.set && r->cpu.period_us.value ? r->cpu.period_us.value : DEFAULT_PERIOD_US;
	uint64_t quota = (uint64_t)r->cpu.quota_us.value;

	*ret = UINT64_MAX;
	if (r->cpu.quota_us.value > 0 && quota <= UINT64_MAX / US_PER_SECOND - QUOTA_STEP_US)
		*ret = (quota * US_PER_SECOND / period + QUOTA_STEP_US - 1) / QUOTA_STEP_US * QUOTA_STEP_US;
	return r->cpu.quota_us.set;
}

static bool cpu_period(const struct oci_resources *r, uint64_t *ret)
{
	*ret = r->cpu.period_us.value;
	return r->cpu.period_us.set && r->cpu.period_us.value > 0;
}

static bool pids_limit(const struct oci_resources *r, uint64_t *ret)
{
	*ret = r->pids_limit.value > 0 ? (uint64_t)r->pids_limit.value : UINT64_MAX;
	return r->pids_limit.set;
}

static bool blkio_weight(const struct oci_resources *r, uint64_t *ret)
{
	*ret = r->blkio.weight.value;
	return r->blkio.weight.set && *ret >= 10 && *ret <= 1000;
}

static bool io_weight(const struct oci_resources *r, uint64_t *ret)
{
	*ret = cgroup_io_weight(r->blkio.weight.value);
	return r->blkio.weight.set;
}

static const struct {
	const char *name;
	number_fn *number;
	unsigned layouts, since;
} numbers[] = {
	{ "MemoryLimit", memory_limit, V1, 0 },
	{ "CPUShares", cpu_shares, V1, 0 },
	{ "BlockIOWeight", blkio_weight, V1, 0 },
	{ "MemoryMax", memory_limit, V2, 0 },
	{ "MemoryLow", memory_reservation, V2, 0 },
	{ "MemorySwapMax", memory_swap, V2, 0 },
	{ "CPUWeight", cpu_weight, V2, 0 },
	{ "CPUWeight", cpu_idle, V2, 252 },
	{ "IOWeight", io_weight, V2, 0 },
	{ "CPUQuotaPerSecUSec", cpu_quota, V1 | V2, 0 },
	{ "CPUQuotaPeriodUSec", cpu_period, V1 | V2, 242 },
	{ "TasksMax", pids_limit, V1 | V2, 0 },
};

/* linux.resources.unified: files whose text is a number, or "max". */
static const struct {
	const char *file, *name;
	unsigned since;
} unified_numbers[] = {
	{ "memory.min", "MemoryMin", 240 },   { "memory.low", "MemoryLow", 0 },
	{ "memory.high", "MemoryHigh", 0 },   { "memory.max", "MemoryMax", 0 },
	{ "memory.swap.max", "MemorySwapMax", 0 }, { "memory.zswap.max", "MemoryZSwapMax", 253 },
	{ "pids.max", "TasksMax", 0 },	      { "cpu.weight", "CPUWeight", 0 },
};

static const struct {
	const char *file, *name;
	size_t offset;
} sets[] = {
	{ "cpuset.cpus", "AllowedCPUs", offsetof(struct oci_resources, cpu.cpus) },
	{ "cpuset.mems", "AllowedMemoryNodes", offsetof(struct oci_resources, cpu.mems) },
};

enum { SETS_SINCE = 244, SET_MAX = 8192 };

/* "0-3,8" as bits, the lowest in the first byte. False: not such a list, and then the file is who says so. */
static bool parse_set(const char *text, unsigned char *bits, size_t *ret_n)
{
	*ret_n = 0;
	while (*text) {
		unsigned long first, last;
		char *end;

		first = last = strtoul(text, &end, 10);
		if (end == text)
			return false;
		if (*end == '-') {
			text = end + 1;
			last = strtoul(text, &end, 10);
		}
		if (end == text || last < first || last >= SET_MAX || (*end && *end != ',' && *end != '\n'))
			return false;
		for (unsigned long i = first; i <= last; i++)
			bits[i / 8] = (unsigned char)(bits[i / 8] | 1U << i % 8);
		if (last / 8 >= *ret_n)
			*ret_n = last / 8 + 1;
		text = *end ? end + 1 : end;
	}
	return *ret_n > 0;
}

static void add_set(struct systemd_properties *list, const char *name, const char *text)
{
	unsigned char bits[SET_MAX / 8] = { 0 };
	size_t n;

	if (!text || !parse_set(text, bits, &n))
		return;
	systemd_add(list, name, "ay");
	for (size_t i = 0; i < n; i++)
		systemd_put_number(list, bits[i]);
}

/* "QUOTA PERIOD" of cpu.max. */
static void add_bandwidth(struct systemd_properties *list, const char *text, unsigned version)
{
	struct oci_resources r = { .cpu.quota_us = { .set = true, .value = -1 } };
	uint64_t number;
	int used = 0;

	if (sscanf(text, "%" SCNd64 "%n", &r.cpu.quota_us.value, &used) < 1)
		used = strncmp(text, "max", 3) == 0 ? 3 : 0;
	r.cpu.period_us.set = used && sscanf(text + used, "%" SCNu64, &r.cpu.period_us.value) == 1;
	if (used && cpu_quota(&r, &number))
		systemd_add_number(list, "CPUQuotaPerSecUSec", "t", number);
	if (version >= 242 && cpu_period(&r, &number))
		systemd_add_number(list, "CPUQuotaPeriodUSec", "t", number);
}

static void add_unified(struct systemd_properties *list, const char *file, const char *text, unsigned version)
{
	uint64_t number = UINT64_MAX;

	if (!strcmp(file, "cpu.max"))
		add_bandwidth(list, text, version);
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		if (!strcmp(file, sets[i].file) && version >= SETS_SINCE)
			add_set(list, sets[i].name, text);
	for (size_t i = 0; i < ARRAY_SIZE(unified_numbers); i++)
		if (!strcmp(file, unified_numbers[i].file) && version >= unified_numbers[i].since &&
		    (!strcmp(text, "max") || parse_u64(text, &number) == 0))
			systemd_add_number(list, unified_numbers[i].name, "t", number);
}

void systemd_add_resources(struct systemd_properties *list, const struct oci_resources *resources, bool unified, unsigned version)
{
	uint64_t number;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if ((numbers[i].layouts & (unified ? V2 : V1)) && version >= numbers[i].since && numbers[i].number(resources, &number))
			systemd_add_number(list, numbers[i].name, "t", number);
	for (size_t i = 0; unified && version >= SETS_SINCE && i < ARRAY_SIZE(sets); i++)
		add_set(list, sets[i].name, *(char *const *)(const void *)((const char *)resources + sets[i].offset));
	for (size_t i = 0; unified && i < resources->unified.count; i++)
		add_unified(list, resources->unified.items[i].key, resources->unified.items[i].value, version);
}

/* ---- devices ---- */

static bool denies_all(const struct oci_device_rule *rule)
{
	return !rule->allow && rule->type == 'a' && !rule->major.set && !rule->minor.set;
}

/* systemd has a list of what is allowed: rules that take something away again are the files' (or the program's) alone. */
static bool is_allow_list(const struct oci_device_rule *rules, size_t n)
{
	if (n == 0 || !denies_all(&rules[0]))
		return false;
	for (size_t i = 1; i < n; i++)
		if (!rules[i].allow || rules[i].type == 'a' || (!rules[i].major.set && rules[i].minor.set))
			return false;
	return true;
}

static void add_device(struct systemd_properties *list, const struct oci_device_rule *rule)
{
	const char *kind = rule->type == 'b' ? "block" : "char";
	char node[64], access[4];

	if (!rule->major.set || rule->major.value < 0)
		(void)snprintf(node, sizeof(node), "%s-*", kind);
	else if (!rule->minor.set || rule->minor.value < 0)
		(void)snprintf(node, sizeof(node), "%s-%" PRId64, kind, rule->major.value);
	else
		(void)snprintf(node, sizeof(node), "/dev/%s/%" PRId64 ":%" PRId64, kind, rule->major.value, rule->minor.value);
	(void)snprintf(access, sizeof(access), "%s%s%s", rule->access & OCI_DEVICE_READ ? "r" : "",
		       rule->access & OCI_DEVICE_WRITE ? "w" : "", rule->access & OCI_DEVICE_MKNOD ? "m" : "");
	systemd_put_string(list, node);
	systemd_put_string(list, access);
}

void systemd_add_devices(struct systemd_properties *list, const struct oci_resources *resources)
{
	if (!is_allow_list(resources->devices, resources->n_devices))
		return;
	systemd_add_string(list, "DevicePolicy", "strict");
	systemd_add(list, "DeviceAllow", "a(ss)"); /* an empty one takes back those of before */
	systemd_add(list, "DeviceAllow", "a(ss)");
	for (size_t i = 1; i < resources->n_devices; i++)
		add_device(list, &resources->devices[i]);
	for (size_t i = 0; i < cgroup_n_default_devices; i++)
		add_device(list, &cgroup_default_devices[i]);
}
