/* SPDX-License-Identifier: BSD-3-Clause */
/* The object "hooks". */
#include "oci/tables.h"

#include <limits.h>

#include "base/cleanup.h"

static const struct jread_range range_timeout = { 1, INT_MAX };

/* clang-format off */
#define HOOK(member, name, fn, ...) \
	{ .key = name, .convert = fn, .offset = offsetof(struct oci_hook, member), __VA_ARGS__ }
/* clang-format on */
static const struct jread_field hook_fields[] = {
	HOOK(path, "path", jread_to_path, .flags = JREAD_REQUIRED),
	HOOK(args, "args", jread_to_strings),
	HOOK(env, "env", jread_to_strings),
	HOOK(timeout_s, "timeout", jread_to_opt_i64, .detail = &range_timeout),
	{ 0 },
};

static int finish_hook(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_hook *hook = out;
	int res;

	hook->env_set = hook->env.items != NULL;
	res = oci_strings_default(r, &hook->args);
	return res < 0 ? res : oci_strings_default(r, &hook->env);
}

static const struct jread_object hook_object = { .fields = hook_fields, .finish = finish_hook };
static const struct jread_list hook_list = { .size = sizeof(struct oci_hook),
					     .convert = jread_to_object,
					     .detail = &hook_object };

/* clang-format off */
#define STAGE(stage, name) \
	{ .key = name, .convert = jread_to_list, .offset = (stage) * sizeof(struct oci_hooks), .detail = &hook_list }
/* clang-format on */
static const struct jread_field stage_fields[] = {
	STAGE(OCI_HOOK_PRESTART, "prestart"),
	STAGE(OCI_HOOK_CREATE_RUNTIME, "createRuntime"),
	STAGE(OCI_HOOK_CREATE_CONTAINER, "createContainer"),
	STAGE(OCI_HOOK_START_CONTAINER, "startContainer"),
	STAGE(OCI_HOOK_POSTSTART, "poststart"),
	STAGE(OCI_HOOK_POSTSTOP, "poststop"),
	{ 0 },
};

const struct jread_object oci_hooks_object = { .fields = stage_fields };
