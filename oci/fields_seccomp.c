/* SPDX-License-Identifier: BSD-3-Clause */
/* The object "linux.seccomp". */
#include "oci/tables.h"

#include <string.h>

#include "base/cleanup.h"

/* clang-format off */
#define FIELD(type, member, name, fn, ...) \
	{ .key = name, .convert = fn, .offset = offsetof(type, member), __VA_ARGS__ }
/* clang-format on */

static const struct jread_range range_index = { 0, 5 };
static const struct jread_range range_errno = { 0, 4095 };

#define ARG(member, name, fn, ...) FIELD(struct oci_seccomp_arg, member, name, fn, __VA_ARGS__)
static const struct jread_field arg_fields[] = {
	ARG(index, "index", jread_to_u32, .detail = &range_index, .flags = JREAD_REQUIRED),
	ARG(value, "value", jread_to_u64, .flags = JREAD_REQUIRED),
	ARG(value_two, "valueTwo", jread_to_u64),
	ARG(op, "op", jread_to_name_int, .detail = oci_seccomp_op_names, .flags = JREAD_REQUIRED),
	{ 0 },
};
static const struct jread_object arg_object = { .fields = arg_fields };
static const struct jread_list arg_list = { .size = sizeof(struct oci_seccomp_arg),
					    .convert = jread_to_object,
					    .detail = &arg_object };

static bool action_has_errno(enum oci_seccomp_action action)
{
	return action == OCI_SECCOMP_ERRNO || action == OCI_SECCOMP_TRACE;
}

#define RULE(member, name, fn, ...) FIELD(struct oci_seccomp_rule, member, name, fn, __VA_ARGS__)
static const struct jread_field rule_fields[] = {
	RULE(names, "names", jread_to_strings, .flags = JREAD_REQUIRED),
	RULE(action, "action", jread_to_name_int, .detail = oci_seccomp_action_names, .flags = JREAD_REQUIRED),
	RULE(errno_ret, "errnoRet", jread_to_opt_u64, .detail = &range_errno),
	RULE(args, "args", jread_to_list, .detail = &arg_list),
	{ 0 },
};

static int finish_rule(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	const struct oci_seccomp_rule *rule = out;

	if (rule->names.count == 0)
		return jread_fail_member(r, value, "names", "at least one name is needed");
	if (rule->errno_ret.set && !action_has_errno(rule->action))
		return jread_fail_member(r, value, "errnoRet", "%s returns no error number",
					 oci_seccomp_action_name(rule->action));
	return 0;
}

static const struct jread_object rule_object = { .fields = rule_fields, .finish = finish_rule };
static const struct jread_list rule_list = { .size = sizeof(struct oci_seccomp_rule),
					     .convert = jread_to_object,
					     .detail = &rule_object };

static int to_arch(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	uint64_t arch;
	int res;

	res = jread_find_name(r, value, oci_seccomp_arch_names, &arch);
	if (res < 0)
		return res;
	*(uint32_t *)out = (uint32_t)arch;
	return 0;
}

static const struct jread_list arch_list = { .size = sizeof(uint32_t), .convert = to_arch };

#define SECCOMP(member, name, fn, ...) FIELD(struct oci_seccomp, member, name, fn, __VA_ARGS__)
static const struct jread_field seccomp_fields[] = {
	SECCOMP(default_action, "defaultAction", jread_to_name_int, .detail = oci_seccomp_action_names,
		.flags = JREAD_REQUIRED),
	SECCOMP(default_errno_ret, "defaultErrnoRet", jread_to_opt_u64, .detail = &range_errno),
	SECCOMP(architectures, "architectures", jread_to_list, .detail = &arch_list),
	SECCOMP(flags, "flags", jread_to_name_bits, .detail = oci_seccomp_flag_names),
	SECCOMP(listener_path, "listenerPath", jread_to_text),
	SECCOMP(listener_metadata, "listenerMetadata", jread_to_text),
	SECCOMP(rules, "syscalls", jread_to_list, .detail = &rule_list),
	{ 0 },
};

static int check_listener(struct jread_reader *r, const struct jread_value *value, const struct oci_seccomp *s)
{
	bool notify = s->default_action == OCI_SECCOMP_NOTIFY;
	size_t i;

	for (i = 0; i < s->n_rules && !notify; i++)
		notify = s->rules[i].action == OCI_SECCOMP_NOTIFY;
	if (notify && !s->listener_path)
		return jread_fail_member(r, value, "listenerPath", "required with SCMP_ACT_NOTIFY, but missing");
	if (s->listener_path && s->listener_path[0] != '/')
		return jread_fail_member(r, value, "listenerPath", "must be an absolute path, is '%s'",
					 s->listener_path);
	if (s->listener_metadata && !s->listener_path)
		return jread_fail_member(r, value, "listenerMetadata", "needs a listenerPath");
	return 0;
}

static int finish_seccomp(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_seccomp *s = out;

	s->present = true;
	s->flags_set = jread_object_get(value, "flags") != NULL;
	if (s->default_errno_ret.set && !action_has_errno(s->default_action))
		return jread_fail_member(r, value, "defaultErrnoRet", "%s returns no error number",
					 oci_seccomp_action_name(s->default_action));
	return check_listener(r, value, s);
}

const struct jread_object oci_seccomp_object = { .fields = seccomp_fields, .finish = finish_seccomp };
