/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The object "linux.resources", also alone in the document that engines write for `update`.
 *
 * ZERO_IS_UNSET: the rows that convert with jread_to_limit_*. Engines write 0 there for "nothing was asked for"
 * (docker: cpu.shares, memory.swap, blockIO.weight). The others (swappiness, cpu.idle, cpu.burst, pids.limit,
 * hugepages, classID) have a 0 of their own.
 */
#include "oci/tables.h"

#include <string.h>

#include "base/cleanup.h"
#include "oci/syntax.h"

/* clang-format off */
#define FIELD(type, member, name, fn, ...) \
	{ .key = name, .convert = fn, .offset = offsetof(type, member), __VA_ARGS__ }
/* clang-format on */

static const struct jread_range range_bytes = { -1, INT64_MAX };
static const struct jread_range range_swappiness = { 0, 100 };
static const struct jread_range range_flag = { 0, 1 };
static const struct jread_range range_u32 = { 0, UINT32_MAX };
static const struct jread_range range_weight = { 0, 1000 };
static const struct jread_range range_major = { 0, 4095 };
static const struct jread_range range_minor = { 0, 1048575 };
static const struct jread_range range_rule_major = { -1, 4095 };
static const struct jread_range range_rule_minor = { -1, 1048575 };

/* ---- memory, cpu, pids ---- */

#define MEMORY(member, name, fn, ...) FIELD(struct oci_memory, member, name, fn, __VA_ARGS__)
static const struct jread_field memory_fields[] = {
	MEMORY(limit, "limit", jread_to_limit_i64, .detail = &range_bytes),
	MEMORY(reservation, "reservation", jread_to_limit_i64, .detail = &range_bytes),
	MEMORY(swap, "swap", jread_to_limit_i64, .detail = &range_bytes),
	MEMORY(kernel, "kernel", jread_to_limit_i64, .detail = &range_bytes),
	MEMORY(kernel_tcp, "kernelTCP", jread_to_limit_i64, .detail = &range_bytes),
	MEMORY(swappiness, "swappiness", jread_to_opt_u64, .detail = &range_swappiness),
	MEMORY(disable_oom_killer, "disableOOMKiller", jread_to_opt_bool),
	MEMORY(use_hierarchy, "useHierarchy", jread_to_opt_bool),
	MEMORY(check_before_update, "checkBeforeUpdate", jread_to_opt_bool),
	{ 0 },
};
static const struct jread_object memory_object = { .fields = memory_fields };

static int to_cpu_list(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_to_text(r, value, NULL, out);
	if (res < 0)
		return res;
	if (*(char **)out && !oci_cpu_list_valid(*(char **)out))
		return jread_fail(r, value, "'%.64s' is not a list such as '0-3,7'", value->text);
	return 0;
}

#define CPU(member, name, fn, ...) FIELD(struct oci_cpu, member, name, fn, __VA_ARGS__)
static const struct jread_field cpu_fields[] = {
	CPU(shares, "shares", jread_to_limit_u64),
	CPU(quota_us, "quota", jread_to_limit_i64, .detail = &range_bytes),
	CPU(period_us, "period", jread_to_limit_u64),
	CPU(burst_us, "burst", jread_to_opt_u64),
	CPU(realtime_runtime_us, "realtimeRuntime", jread_to_limit_i64, .detail = &range_bytes),
	CPU(realtime_period_us, "realtimePeriod", jread_to_limit_u64),
	CPU(cpus, "cpus", to_cpu_list),
	CPU(mems, "mems", to_cpu_list),
	CPU(idle, "idle", jread_to_opt_i64, .detail = &range_flag),
	{ 0 },
};
static const struct jread_object cpu_object = { .fields = cpu_fields };

static const struct jread_field pids_fields[] = {
	FIELD(struct oci_resources, pids_limit, "limit", jread_to_opt_i64, .detail = &range_bytes),
	{ 0 },
};
static const struct jread_object pids_object = { .fields = pids_fields };

/* ---- block I/O ---- */

static int to_weight(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_u64 *weight = out;
	int res;

	res = jread_to_limit_u64(r, value, &range_weight, out);
	if (res < 0)
		return res;
	if (weight->set && weight->value < 10)
		return jread_fail(r, value, "out of range: %s is not within 10..1000", value->text);
	return 0;
}

#define BLKIO(member, name, fn, ...) FIELD(struct oci_blkio_device, member, name, fn, __VA_ARGS__)
#define BLKIO_NUMBERS                                                                                                  \
	BLKIO(major, "major", jread_to_i64, .detail = &range_major, .flags = JREAD_REQUIRED),                          \
		BLKIO(minor, "minor", jread_to_i64, .detail = &range_minor, .flags = JREAD_REQUIRED)

static const struct jread_field weight_device_fields[] = {
	BLKIO_NUMBERS,
	BLKIO(weight, "weight", to_weight),
	BLKIO(leaf_weight, "leafWeight", to_weight),
	{ 0 },
};
static const struct jread_object weight_device_object = { .fields = weight_device_fields };
static const struct jread_list weight_device_list = { .size = sizeof(struct oci_blkio_device),
						      .convert = jread_to_object,
						      .detail = &weight_device_object };

static const struct jread_field throttle_fields[] = {
	BLKIO_NUMBERS,
	BLKIO(rate, "rate", jread_to_u64, .flags = JREAD_REQUIRED),
	{ 0 },
};
static const struct jread_object throttle_object = { .fields = throttle_fields };
static const struct jread_list throttle_list = { .size = sizeof(struct oci_blkio_device),
						 .convert = jread_to_object,
						 .detail = &throttle_object };

#define IO(member, name, fn, ...) FIELD(struct oci_blkio, member, name, fn, __VA_ARGS__)
static const struct jread_field blkio_fields[] = {
	IO(weight, "weight", to_weight),
	IO(leaf_weight, "leafWeight", to_weight),
	IO(weight_device, "weightDevice", jread_to_list, .detail = &weight_device_list),
	IO(read_bps, "throttleReadBpsDevice", jread_to_list, .detail = &throttle_list),
	IO(write_bps, "throttleWriteBpsDevice", jread_to_list, .detail = &throttle_list),
	IO(read_iops, "throttleReadIOPSDevice", jread_to_list, .detail = &throttle_list),
	IO(write_iops, "throttleWriteIOPSDevice", jread_to_list, .detail = &throttle_list),
	{ 0 },
};
static const struct jread_object blkio_object = { .fields = blkio_fields };

/* ---- huge pages, network, rdma ---- */

static int to_page_size(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_to_string(r, value, NULL, out);
	if (res < 0)
		return res;
	if (!oci_page_size_valid(value->text))
		return jread_fail(r, value, "'%.64s' is not a size such as '64KB', '2MB' or '1GB'", value->text);
	return 0;
}

static const struct jread_field hugepage_fields[] = {
	FIELD(struct oci_hugepage, page_size, "pageSize", to_page_size, .flags = JREAD_REQUIRED),
	FIELD(struct oci_hugepage, limit, "limit", jread_to_u64, .flags = JREAD_REQUIRED),
	{ 0 },
};
static const struct jread_object hugepage_object = { .fields = hugepage_fields };
static const struct jread_list hugepage_list = { .size = sizeof(struct oci_hugepage),
						 .convert = jread_to_object,
						 .detail = &hugepage_object };

/* The name of a network interface becomes a word of a line that is written to the kernel. */
static int to_interface(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_to_string(r, value, NULL, out);
	if (res < 0)
		return res;
	if (value->len == 0 || value->len > 15 || strpbrk(value->text, "/ \t\n"))
		return jread_fail(r, value, "'%.64s' is no name of a network interface", value->text);
	return 0;
}

static const struct jread_field priority_fields[] = {
	FIELD(struct oci_net_priority, name, "name", to_interface, .flags = JREAD_REQUIRED),
	FIELD(struct oci_net_priority, priority, "priority", jread_to_u32, .flags = JREAD_REQUIRED),
	{ 0 },
};
static const struct jread_object priority_object = { .fields = priority_fields };
static const struct jread_list priority_list = { .size = sizeof(struct oci_net_priority),
						 .convert = jread_to_object,
						 .detail = &priority_object };

static const struct jread_field network_fields[] = {
	FIELD(struct oci_resources, net_class_id, "classID", jread_to_opt_u64, .detail = &range_u32),
	FIELD(struct oci_resources, net_priorities, "priorities", jread_to_list, .detail = &priority_list),
	{ 0 },
};
static const struct jread_object network_object = { .fields = network_fields };

static const struct jread_field rdma_fields[] = {
	FIELD(struct oci_rdma, hca_handles, "hcaHandles", jread_to_opt_u64, .detail = &range_u32),
	FIELD(struct oci_rdma, hca_objects, "hcaObjects", jread_to_opt_u64, .detail = &range_u32),
	{ 0 },
};
static const struct jread_object rdma_object = { .fields = rdma_fields };

static int read_rdma_device(struct jread_reader *r, const struct jread_value *value, struct oci_rdma *rdma)
{
	int res;

	res = jread_enter_key(r, value);
	if (res < 0)
		return res;
	if (value->key_len == 0 || strlen(value->key) != value->key_len || strpbrk(value->key, "/ \t\n"))
		return jread_fail(r, value, "no name of a device");
	rdma->device = oci_arena_strdup(r->arena, value->key);
	if (!rdma->device)
		return jread_no_memory(r);
	res = jread_read_object(r, value, &rdma_object, rdma);
	jread_leave(r);
	return res;
}

/* A map from devices to their limits. */
static int to_rdma(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_resources *resources = out;
	const struct jread_value *v;
	int res;

	res = jread_expect(r, value, JREAD_OBJECT);
	if (res < 0)
		return res;
	res = jread_check_unique(r, value);
	if (res < 0)
		return res;
	resources->rdma = oci_arena_array(r->arena, value->count, sizeof(*resources->rdma));
	if (!resources->rdma)
		return jread_no_memory(r);
	for (v = value->first; v; v = v->next) {
		res = read_rdma_device(r, v, &resources->rdma[resources->n_rdma]);
		if (res < 0)
			return res;
		resources->n_rdma++;
	}
	return 0;
}

/* ---- device rules ---- */

/* One letter out of a few. */
static int to_rule_type(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_expect(r, value, JREAD_STRING);
	if (res < 0)
		return res;
	if (value->len == 0)
		return 0;
	if (value->len != 1 || !strchr("abc", value->text[0]))
		return jread_fail(r, value, "unknown value '%.64s', known are: a, b, c", value->text);
	*(char *)out = value->text[0];
	return 0;
}

static int to_access(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	static const char letters[] = "rwm";
	unsigned *access = out;
	const char *p, *at;
	int res;

	res = jread_expect(r, value, JREAD_STRING);
	if (res < 0)
		return res;
	*access = 0;
	for (p = value->text; p < value->text + value->len; p++) {
		at = *p ? strchr(letters, *p) : NULL;
		if (!at)
			return jread_fail(r, value, "'%.64s' has a letter other than r, w and m", value->text);
		*access |= 1u << (at - letters);
	}
	return 0;
}

#define RULE(member, name, fn, ...) FIELD(struct oci_device_rule, member, name, fn, __VA_ARGS__)
static const struct jread_field rule_fields[] = {
	RULE(allow, "allow", jread_to_bool, .flags = JREAD_REQUIRED),
	RULE(type, "type", to_rule_type),
	RULE(major, "major", jread_to_opt_i64, .detail = &range_rule_major),
	RULE(minor, "minor", jread_to_opt_i64, .detail = &range_rule_minor),
	RULE(access, "access", to_access),
	{ 0 },
};

static int finish_rule(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_device_rule *rule = out;

	if (!rule->type)
		rule->type = 'a';
	if (!rule->access)
		rule->access = OCI_DEVICE_READ | OCI_DEVICE_WRITE | OCI_DEVICE_MKNOD;
	rule->major.set = rule->major.set && rule->major.value >= 0;
	rule->minor.set = rule->minor.set && rule->minor.value >= 0;
	return 0;
}

static const struct jread_object rule_object = { .fields = rule_fields, .finish = finish_rule };
static const struct jread_list rule_list = { .size = sizeof(struct oci_device_rule),
					     .convert = jread_to_object,
					     .detail = &rule_object };

/* ---- resources ---- */

/* A file of the control group: nothing that could name another one. */
static int to_unified(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_pairs *unified = out;
	const char *key;
	size_t i;
	int res;

	res = jread_to_pairs(r, value, NULL, out);
	if (res < 0)
		return res;
	for (i = 0; i < unified->count; i++) {
		key = unified->items[i].key;
		if (key[0] == '.' || !strchr(key, '.') || strchr(key, '/'))
			return jread_fail_member(r, value, key, "not the name of a control file such as 'memory.high'");
	}
	return 0;
}

#define RESOURCE(member, name, fn, ...) FIELD(struct oci_resources, member, name, fn, __VA_ARGS__)
static const struct jread_field resource_fields[] = {
	RESOURCE(devices, "devices", jread_to_list, .detail = &rule_list),
	RESOURCE(memory, "memory", jread_to_object, .detail = &memory_object),
	RESOURCE(cpu, "cpu", jread_to_object, .detail = &cpu_object),
	/* These three write into the resources themselves, hence no offset. */
	{ .key = "pids", .convert = jread_to_object, .detail = &pids_object },
	{ .key = "network", .convert = jread_to_object, .detail = &network_object },
	{ .key = "rdma", .convert = to_rdma },
	RESOURCE(blkio, "blockIO", jread_to_object, .detail = &blkio_object),
	RESOURCE(hugepages, "hugepageLimits", jread_to_list, .detail = &hugepage_list),
	RESOURCE(unified, "unified", to_unified),
	{ 0 },
};

static int finish_resources(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	((struct oci_resources *)out)->present = true;
	return 0;
}

const struct jread_object oci_resources_object = { .fields = resource_fields, .finish = finish_resources };
