/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our own file in the state directory. One table writes and reads it, so the two cannot differ. Numbers of 64 bits are
 * strings there: jansson's integers are signed.
 */
#include "oci/state.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "oci/document.h"
#include "oci/syntax.h"
#include "oci/tables.h"

enum kind { KIND_STRING, KIND_OPTIONAL, KIND_STATUS, KIND_PROCESS, KIND_BOOL, KIND_EXIT, KIND_PAIRS, KIND_MOUNT, KIND_MOUNTS };

static const struct {
	const char *key;
	enum kind kind;
	size_t offset;
} members[] = {
/* clang-format off */
#define MEMBER(member, name, kind) { name, kind, offsetof(struct oci_runtime_state, member) }
	/* clang-format on */
	MEMBER(id, "id", KIND_STRING),
	MEMBER(oci_version, "ociVersion", KIND_STRING),
	MEMBER(status, "status", KIND_STATUS),
	MEMBER(bundle, "bundle", KIND_STRING),
	MEMBER(rootfs, "rootfs", KIND_STRING),
	MEMBER(created, "created", KIND_STRING),
	MEMBER(owner, "owner", KIND_STRING),
	MEMBER(init, "init", KIND_PROCESS),
	MEMBER(supervisor, "supervisor", KIND_PROCESS),
	MEMBER(guardian, "guardian", KIND_PROCESS),
	MEMBER(rootless, "rootless", KIND_BOOL),
	MEMBER(untrapped, "untrapped", KIND_BOOL),
	MEMBER(exit_status, "exitStatus", KIND_EXIT),
	MEMBER(cgroup_manager, "cgroupManager", KIND_STRING),
	MEMBER(cgroup_unit, "cgroupUnit", KIND_OPTIONAL),
	MEMBER(cgroups, "cgroups", KIND_PAIRS),
	MEMBER(annotations, "annotations", KIND_PAIRS),
	MEMBER(shared_below, "sharedBelow", KIND_MOUNT),
	MEMBER(shared_mount, "sharedMount", KIND_MOUNT),
	MEMBER(shared_handed, "sharedHanded", KIND_MOUNTS),
	MEMBER(shared_mounts, "sharedMounts", KIND_OPTIONAL),
#undef MEMBER
};

/* ---- writing ---- */

static int write_process(json_t *root, const char *key, const struct oci_process_ref *ref)
{
	json_t *object = json_object();
	char start[24];
	int r;

	(void)snprintf(start, sizeof(start), "%" PRIu64, ref->start);
	r = document_set(object, "pid", json_integer(ref->pid));
	if (r == 0)
		r = document_set_string(object, "start", start);
	if (r < 0) {
		json_decref(object);
		return r;
	}
	return document_set(root, key, object);
}

static int write_mounts(json_t *root, const char *key, const struct oci_mounts *mounts)
{
	json_t *array;

	if (!mounts->count)
		return 0;
	array = json_array();
	for (size_t i = 0; i < mounts->count; i++)
		if (json_array_append_new(array, json_integer(mounts->items[i])) < 0) {
			json_decref(array);
			return -ENOMEM;
		}
	return document_set(root, key, array);
}

static int write_member(json_t *root, const char *key, enum kind kind, const void *p)
{
	const char *text;

	switch (kind) {
	case KIND_STRING:
		return document_set_string(root, key, *(char *const *)p);
	case KIND_OPTIONAL:
		text = *(char *const *)p;
		return text ? document_set_string(root, key, text) : 0;
	case KIND_STATUS:
		return document_set_string(root, key, oci_status_name(*(const enum oci_status *)p) ?: "stopped");
	case KIND_PROCESS:
		return write_process(root, key, p);
	case KIND_BOOL:
		return document_set(root, key, json_boolean(*(const bool *)p));
	case KIND_EXIT:
		if (!((const struct oci_i64 *)p)->set)
			return 0;
		return document_set(root, key, json_integer(((const struct oci_i64 *)p)->value));
	case KIND_PAIRS:
		return document_set_pairs(root, key, p);
	case KIND_MOUNT:
		return *(const int *)p ? document_set(root, key, json_integer(*(const int *)p)) : 0;
	case KIND_MOUNTS:
		return write_mounts(root, key, p);
	}
	return -EINVAL;
}

int oci_runtime_state_format(const struct oci_runtime_state *state, char **ret_text)
{
	_cleanup_json_ json_t *root = json_object();
	size_t i;
	int r;

	r = document_set(root, "version", json_integer(OCI_RUNTIME_STATE_VERSION));
	for (i = 0; r == 0 && i < ARRAY_SIZE(members); i++)
		r = write_member(root, members[i].key, members[i].kind, (const char *)state + members[i].offset);
	return r < 0 ? r : document_format(root, JSON_INDENT(1), ret_text);
}

/* ---- reading ---- */

struct reading {
	struct oci_arena *arena;
	const char *name;
	struct error *err;
};

static int wrong(const struct reading *rd, const char *key, const char *what)
{
	return error_set(rd->err, EINVAL, "%s: %s: %s", rd->name, key, what);
}

static int no_memory(const struct reading *rd)
{
	return error_set(rd->err, ENOMEM, "%s: out of memory", rd->name);
}

static int read_string(const struct reading *rd, const char *key, const json_t *value, char **ret)
{
	if (!json_is_string(value))
		return wrong(rd, key, "expected string");
	if (strlen(json_string_value(value)) != json_string_length(value))
		return wrong(rd, key, "the string has a NUL character");
	*ret = oci_arena_strdup(rd->arena, json_string_value(value));
	return *ret ? 0 : no_memory(rd);
}

static int read_status(const struct reading *rd, const char *key, const json_t *value, enum oci_status *ret)
{
	const char *text = json_string_value(value);
	const struct jread_name *row;

	for (row = oci_status_names; text && row->name; row++) {
		if (strcmp(row->name, text) == 0) {
			*ret = (enum oci_status)row->value;
			return 0;
		}
	}
	return wrong(rd, key, "not a status");
}

/* Decimal digits of a number below 2^64, nothing else. */
static bool parse_start(const char *text, uint64_t *ret)
{
	uint64_t n = 0;

	if (!text || !*text || strlen(text) > 20 || (text[0] == '0' && text[1]))
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			return false;
	}
	*ret = n;
	return true;
}

static int read_process(const struct reading *rd, const char *key, const json_t *value, struct oci_process_ref *ret)
{
	const json_t *pid = json_object_get(value, "pid");
	const char *start = json_string_value(json_object_get(value, "start"));

	if (json_object_size(value) != 2 || !json_is_integer(pid) || json_integer_value(pid) < 0 ||
	    json_integer_value(pid) > INT_MAX || !parse_start(start, &ret->start))
		return wrong(rd, key, "expected {\"pid\": number, \"start\": \"number\"}");
	ret->pid = (int)json_integer_value(pid);
	return 0;
}

static int read_exit(const struct reading *rd, const char *key, const json_t *value, struct oci_i64 *ret)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > 255)
		return wrong(rd, key, "not an exit status");
	*ret = (struct oci_i64){ .set = true, .value = json_integer_value(value) };
	return 0;
}

static int read_pairs(const struct reading *rd, const char *key, json_t *value, struct oci_pairs *ret)
{
	const char *name;
	json_t *item;
	int r;

	if (!json_is_object(value))
		return wrong(rd, key, "expected object");
	ret->items = oci_arena_array(rd->arena, json_object_size(value), sizeof(*ret->items));
	if (!ret->items)
		return no_memory(rd);
	json_object_foreach(value, name, item)
	{
		ret->items[ret->count].key = oci_arena_strdup(rd->arena, name);
		if (!ret->items[ret->count].key)
			return no_memory(rd);
		r = read_string(rd, key, item, &ret->items[ret->count].value);
		if (r < 0)
			return r;
		ret->count++;
	}
	return 0;
}

static int read_mount(const struct reading *rd, const char *key, const json_t *value, int *ret)
{
	if (!json_is_integer(value) || json_integer_value(value) <= 0 || json_integer_value(value) > INT_MAX)
		return wrong(rd, key, "not the number of a mount");
	*ret = (int)json_integer_value(value);
	return 0;
}

static int read_mounts(const struct reading *rd, const char *key, const json_t *value, struct oci_mounts *ret)
{
	int r = 0;

	if (!json_is_array(value))
		return wrong(rd, key, "expected array");
	ret->items = oci_arena_array(rd->arena, json_array_size(value), sizeof(*ret->items));
	if (!ret->items)
		return no_memory(rd);
	for (size_t i = 0; r == 0 && i < json_array_size(value); i++)
		r = read_mount(rd, key, json_array_get(value, i), &ret->items[ret->count++]);
	return r;
}

static int read_member(const struct reading *rd, const char *key, enum kind kind, json_t *value, void *p)
{
	if (!value && (kind == KIND_OPTIONAL || kind == KIND_EXIT || kind == KIND_MOUNT || kind == KIND_MOUNTS))
		return 0;
	if (!value)
		return wrong(rd, key, "missing");
	switch (kind) {
	case KIND_STRING:
	case KIND_OPTIONAL:
		return read_string(rd, key, value, p);
	case KIND_STATUS:
		return read_status(rd, key, value, p);
	case KIND_PROCESS:
		return read_process(rd, key, value, p);
	case KIND_BOOL:
		if (!json_is_boolean(value))
			return wrong(rd, key, "expected boolean");
		*(bool *)p = json_is_true(value);
		return 0;
	case KIND_EXIT:
		return read_exit(rd, key, value, p);
	case KIND_PAIRS:
		return read_pairs(rd, key, value, p);
	case KIND_MOUNT:
		return read_mount(rd, key, value, p);
	case KIND_MOUNTS:
		return read_mounts(rd, key, value, p);
	}
	return -EINVAL;
}

static bool is_member(const char *key)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(members); i++)
		if (strcmp(members[i].key, key) == 0)
			return true;
	return strcmp(key, "version") == 0;
}

static int read_root(const struct reading *rd, json_t *root, struct oci_runtime_state *state)
{
	const json_t *version = json_object_get(root, "version");
	const char *key;
	json_t *value;
	size_t i;
	int r;

	if (!json_is_integer(version) || json_integer_value(version) != OCI_RUNTIME_STATE_VERSION)
		return wrong(rd, "version", "not a state file of this version of the program");
	json_object_foreach(root, key, value) if (!is_member(key)) return wrong(rd, key, "unknown");
	for (i = 0; i < ARRAY_SIZE(members); i++) {
		r = read_member(rd, members[i].key, members[i].kind, json_object_get(root, members[i].key),
				(char *)state + members[i].offset);
		if (r < 0)
			return r;
	}
	return oci_id_valid(state->id) ? 0 : wrong(rd, "id", "not an id");
}

int oci_runtime_state_parse(const char *text, size_t len, const char *name, struct oci_runtime_state *state,
			    struct error *err)
{
	struct reading rd = { .arena = oci_arena_new(), .name = name, .err = err };
	_cleanup_json_ json_t *root = NULL;
	json_error_t json_err;
	int r;

	*state = (struct oci_runtime_state){ .arena = rd.arena };
	if (!rd.arena)
		return no_memory(&rd);
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &json_err);
	if (!root)
		r = error_set(err, EINVAL, "%s:%d:%d: %s", name, json_err.line, json_err.column, json_err.text);
	else
		r = read_root(&rd, root, state);
	if (r < 0)
		oci_runtime_state_free(state);
	return r;
}

void oci_runtime_state_free(struct oci_runtime_state *state)
{
	oci_arena_free(state->arena);
	*state = (struct oci_runtime_state){ 0 };
}
