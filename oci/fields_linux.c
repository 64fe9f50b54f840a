/* SPDX-License-Identifier: BSD-3-Clause */
/* The object "linux", as far as it is in no other file. */
#include "oci/tables.h"

#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>

#include "base/cleanup.h"
#include "oci/syntax.h"

/* clang-format off */
#define FIELD(type, member, name, fn, ...) \
	{ .key = name, .convert = fn, .offset = offsetof(type, member), __VA_ARGS__ }
/* clang-format on */

/* ---- namespaces ---- */

struct namespace_entry {
	int type;
	char *path;
};

static const struct jread_field namespace_fields[] = {
	FIELD(struct namespace_entry, type, "type", jread_to_name_int, .detail = oci_namespace_names,
	      .flags = JREAD_REQUIRED),
	FIELD(struct namespace_entry, path, "path", jread_to_text),
	{ 0 },
};
static const struct jread_object namespace_object = { .fields = namespace_fields };

static int add_namespace(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_namespace *namespaces = out;
	struct namespace_entry entry = { 0 };
	int res;

	res = jread_read_object(r, value, &namespace_object, &entry);
	if (res < 0)
		return res;
	if (namespaces[entry.type].present)
		return jread_fail(r, value, "%s is there twice", oci_namespace_name(entry.type));
	if (entry.path && entry.path[0] != '/')
		return jread_fail_member(r, value, "path", "must be an absolute path, is '%s'", entry.path);
	namespaces[entry.type] = (struct oci_namespace){ .present = true, .path = entry.path };
	return 0;
}

/* A list in the document, an array by type here. */
static int to_namespaces(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	return jread_each(r, value, add_namespace, NULL, out, 0);
}

/* ---- mappings of ids ---- */

static const struct jread_range range_size = { 1, UINT32_MAX };

#define MAPPING(member, name, ...)                                                                                     \
	FIELD(struct oci_id_mapping, member, name, jread_to_u32, .flags = JREAD_REQUIRED, __VA_ARGS__)
static const struct jread_field mapping_fields[] = {
	MAPPING(container_id, "containerID"),
	MAPPING(host_id, "hostID"),
	MAPPING(size, "size", .detail = &range_size),
	{ 0 },
};

static int finish_mapping(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	const struct oci_id_mapping *m = out;

	if (m->size > UINT32_MAX - m->container_id)
		return jread_fail_member(r, value, "size", "runs past the last id, from containerID %u on",
					 m->container_id);
	if (m->size > UINT32_MAX - m->host_id)
		return jread_fail_member(r, value, "size", "runs past the last id, from hostID %u on", m->host_id);
	return 0;
}

static const struct jread_object mapping_object = { .fields = mapping_fields, .finish = finish_mapping };
/* 340 is the kernel's own limit (UID_GID_MAP_MAX_EXTENTS). */
static const struct jread_list mapping_list = {
	.size = sizeof(struct oci_id_mapping), .convert = jread_to_object, .detail = &mapping_object, .max = 340
};

static bool overlap(uint32_t a, uint32_t size_a, uint32_t b, uint32_t size_b)
{
	return a < b ? b - a < size_a : a - b < size_b;
}

int oci_check_overlap(struct jread_reader *r, const struct jread_value *value, const struct oci_id_mappings *maps)
{
	const struct oci_id_mapping *a, *b;
	size_t i, j;
	int res;

	for (i = 0; i < maps->count; i++) {
		for (j = 0; j < i; j++) {
			a = &maps->items[i];
			b = &maps->items[j];
			if (!overlap(a->container_id, a->size, b->container_id, b->size) &&
			    !overlap(a->host_id, a->size, b->host_id, b->size))
				continue;
			res = jread_enter_index(r, value, i);
			return res < 0 ? res : jread_fail(r, value, "overlaps with entry %zu", j);
		}
	}
	return 0;
}

int oci_to_id_mappings(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_to_list(r, value, &mapping_list, out);
	return res < 0 ? res : oci_check_overlap(r, value, out);
}

/* ---- devices ---- */

static const struct jread_range range_major = { 0, 4095 };
static const struct jread_range range_minor = { 0, 1048575 };
static const struct jread_range range_u32 = { 0, UINT32_MAX };

static int to_device_type(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_expect(r, value, JREAD_STRING);
	if (res < 0)
		return res;
	if (value->len != 1 || !strchr("bcup", value->text[0]))
		return jread_fail(r, value, "unknown value '%.64s', known are: b, c, u, p", value->text);
	*(char *)out = value->text[0] == 'u' ? 'c' : value->text[0];
	return 0;
}

#define DEVICE(member, name, fn, ...) FIELD(struct oci_device, member, name, fn, __VA_ARGS__)
static const struct jread_field device_fields[] = {
	DEVICE(type, "type", to_device_type, .flags = JREAD_REQUIRED),
	DEVICE(path, "path", jread_to_path, .flags = JREAD_REQUIRED),
	DEVICE(major, "major", jread_to_i64, .detail = &range_major),
	DEVICE(minor, "minor", jread_to_i64, .detail = &range_minor),
	DEVICE(file_mode, "fileMode", jread_to_opt_u64, .detail = &range_u32),
	DEVICE(uid, "uid", jread_to_opt_u64, .detail = &range_u32),
	DEVICE(gid, "gid", jread_to_opt_u64, .detail = &range_u32),
	{ 0 },
};

static int finish_device(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_device *d = out;

	d->file_mode.value &= 07777; /* engines hand st_mode over, type and all */
	if (d->type == 'p')
		return 0;
	if (!jread_object_get(value, "major"))
		return jread_fail_member(r, value, "major", "required, but missing");
	if (!jread_object_get(value, "minor"))
		return jread_fail_member(r, value, "minor", "required, but missing");
	return 0;
}

static const struct jread_object device_object = { .fields = device_fields, .finish = finish_device };
static const struct jread_list device_list = { .size = sizeof(struct oci_device),
					       .convert = jread_to_object,
					       .detail = &device_object };

/* ---- the rest ---- */

static const struct jread_range range_nanoseconds = { 0, 999999999 };

static const struct jread_field offset_fields[] = {
	FIELD(struct oci_time_offset, seconds, "secs", jread_to_i64),
	FIELD(struct oci_time_offset, nanoseconds, "nanosecs", jread_to_u32, .detail = &range_nanoseconds),
	{ 0 },
};

static int finish_offset(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	((struct oci_time_offset *)out)->set = true;
	return 0;
}

static const struct jread_object offset_object = { .fields = offset_fields, .finish = finish_offset };

#define LINUX(member, name, fn, ...) FIELD(struct oci_linux, member, name, fn, __VA_ARGS__)
static const struct jread_field offsets_fields[] = {
	LINUX(time_monotonic, "monotonic", jread_to_object, .detail = &offset_object),
	LINUX(time_boottime, "boottime", jread_to_object, .detail = &offset_object),
	{ 0 },
};
static const struct jread_object offsets_object = { .fields = offsets_fields };

static const struct jread_name domains[] = { { "LINUX", PER_LINUX }, { "LINUX32", PER_LINUX32 }, { 0 } };

static int to_domain(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_u64 *personality = out;
	int res;

	res = jread_find_name(r, value, domains, &personality->value);
	if (res < 0)
		return res;
	personality->set = true;
	return 0;
}

/* The specification knows the list and no element for it. */
static int to_empty_list(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_expect(r, value, JREAD_ARRAY);
	if (res < 0)
		return res;
	return value->count > 0 ? jread_fail(r, value, "not supported") : 0;
}

static const struct jread_field personality_fields[] = {
	LINUX(personality, "domain", to_domain, .flags = JREAD_REQUIRED),
	{ .key = "flags", .convert = to_empty_list },
	{ 0 },
};
static const struct jread_object personality_object = { .fields = personality_fields };

static int to_propagation(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	if (value->type == JREAD_STRING && value->len == 0)
		return 0;
	return jread_find_name(r, value, oci_propagation_names, out);
}

static int to_paths(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	const struct oci_strings *paths = out;
	const struct jread_value *v;
	size_t i = 0;
	int res;

	res = jread_to_strings(r, value, NULL, out);
	if (res < 0)
		return res;
	for (v = value->first; v; v = v->next, i++) {
		if (paths->items[i][0] == '/')
			continue;
		res = jread_enter_index(r, v, i);
		return res < 0 ? res : jread_fail(r, v, "must be an absolute path, is '%s'", paths->items[i]);
	}
	return 0;
}

static int to_cgroups_path(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_to_text(r, value, NULL, out);
	if (res < 0)
		return res;
	if (*(char **)out && !oci_path_stays_below(*(char **)out))
		return jread_fail(r, value, "has a '..' component: '%s'", *(char **)out);
	return 0;
}

/* Pairs; each name has to be one below /proc/sys. */
static int to_sysctl(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	const struct oci_pairs *pairs = out;
	char path[512];
	size_t i;
	int res;

	res = jread_to_pairs(r, value, NULL, out);
	if (res < 0)
		return res;
	for (i = 0; i < pairs->count; i++)
		if (oci_sysctl_path(pairs->items[i].key, path, sizeof(path)) < 0)
			return jread_fail_member(r, value, pairs->items[i].key, "not the name of a sysctl");
	return 0;
}

static const struct jread_field linux_fields[] = {
	LINUX(namespaces, "namespaces", to_namespaces),
	LINUX(uid_mappings, "uidMappings", oci_to_id_mappings),
	LINUX(gid_mappings, "gidMappings", oci_to_id_mappings),
	/* These two write into the object itself, hence no offset. */
	{ .key = "timeOffsets", .convert = jread_to_object, .detail = &offsets_object },
	{ .key = "personality", .convert = jread_to_object, .detail = &personality_object },
	LINUX(devices, "devices", jread_to_list, .detail = &device_list),
	{ .key = "netDevices", .flags = JREAD_UNSUPPORTED },
	LINUX(cgroups_path, "cgroupsPath", to_cgroups_path),
	LINUX(resources, "resources", jread_to_object, .detail = &oci_resources_object),
	{ .key = "intelRdt", .flags = JREAD_UNSUPPORTED },
	{ .key = "memoryPolicy", .flags = JREAD_UNSUPPORTED },
	LINUX(sysctl, "sysctl", to_sysctl),
	LINUX(seccomp, "seccomp", jread_to_object, .detail = &oci_seccomp_object),
	LINUX(rootfs_propagation, "rootfsPropagation", to_propagation),
	LINUX(masked_paths, "maskedPaths", to_paths),
	LINUX(readonly_paths, "readonlyPaths", to_paths),
	LINUX(mount_label, "mountLabel", jread_to_text),
	{ 0 },
};

static int finish_linux(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_linux *l = out;
	int res;

	l->present = true;
	res = oci_strings_default(r, &l->masked_paths);
	return res < 0 ? res : oci_strings_default(r, &l->readonly_paths);
}

const struct jread_object oci_linux_object = { .fields = linux_fields, .finish = finish_linux };
