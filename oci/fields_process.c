/* SPDX-License-Identifier: BSD-3-Clause */
/* The object "process": of config.json, and alone in the document that engines write for exec. */
#include "oci/tables.h"

#include <linux/ioprio.h>
#include <linux/sched.h>
#include <string.h>

#include "base/cleanup.h"
#include "oci/syntax.h"

/* clang-format off */
#define FIELD(type, member, name, fn, ...) \
	{ .key = name, .convert = fn, .offset = offsetof(type, member), __VA_ARGS__ }
/* clang-format on */

int oci_strings_default(struct jread_reader *r, struct oci_strings *strings)
{
	if (strings->items)
		return 0;
	strings->items = oci_arena_array(r->arena, 1, sizeof(*strings->items));
	return strings->items ? 0 : jread_no_memory(r);
}

/* ---- user ---- */

static const struct jread_range range_umask = { 0, 0777 };
static const struct jread_list gid_list = { .size = sizeof(uint32_t), .convert = jread_to_u32, .max = 65536 };

#define USER(member, name, fn, ...) FIELD(struct oci_user, member, name, fn, __VA_ARGS__)
static const struct jread_field user_fields[] = {
	USER(uid, "uid", jread_to_u32, .flags = JREAD_REQUIRED),
	USER(gid, "gid", jread_to_u32, .flags = JREAD_REQUIRED),
	USER(umask, "umask", jread_to_opt_u64, .detail = &range_umask),
	USER(additional_gids, "additionalGids", jread_to_list, .detail = &gid_list),
	{ .key = "username", .flags = JREAD_IGNORED }, /* of Windows */
	{ 0 },
};
static const struct jread_object user_object = { .fields = user_fields };

/* ---- capabilities ---- */

static int to_capability_set(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_strings names = { 0 };
	uint64_t bits = 0;
	size_t i;
	int res, number;

	res = jread_to_strings(r, value, NULL, &names);
	if (res < 0)
		return res;
	for (i = 0; i < names.count; i++) {
		number = oci_capability_number(names.items[i]);
		if (number >= 0)
			bits |= UINT64_C(1) << number;
	}
	*(uint64_t *)out = bits;
	return 0;
}

/* The names of one set that this program does not know. Copies: the tree of the document does not stay. */
static int collect_unknown(struct jread_reader *r, const struct jread_value *set, struct oci_strings *unknown)
{
	const struct jread_value *v;
	size_t i;

	for (v = set->first; v; v = v->next) {
		if (oci_capability_number(v->text) >= 0)
			continue;
		for (i = 0; i < unknown->count && strcmp(unknown->items[i], v->text) != 0; i++)
			;
		if (i < unknown->count)
			continue;
		unknown->items[i] = oci_arena_strdup(r->arena, v->text);
		if (!unknown->items[i])
			return jread_no_memory(r);
		unknown->count++;
	}
	return 0;
}

#define CAPS(member, name) FIELD(struct oci_capabilities, member, name, to_capability_set)
static const struct jread_field capability_fields[] = {
	CAPS(bounding, "bounding"),   CAPS(effective, "effective"), CAPS(inheritable, "inheritable"),
	CAPS(permitted, "permitted"), CAPS(ambient, "ambient"),	    { 0 },
};

static int finish_capabilities(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_capabilities *caps = out;
	const struct jread_field *field;
	const struct jread_value *set;
	size_t total = 0;
	int res;

	caps->set = true;
	for (field = capability_fields; field->key; field++) {
		set = jread_object_get(value, field->key);
		total += set ? set->count : 0;
	}
	if (total > 4096)
		return jread_fail(r, value, "%zu names of capabilities", total);
	caps->unknown.items = oci_arena_array(r->arena, total + 1, sizeof(char *));
	if (!caps->unknown.items)
		return jread_no_memory(r);
	for (field = capability_fields; field->key; field++) {
		set = jread_object_get(value, field->key);
		res = set ? collect_unknown(r, set, &caps->unknown) : 0;
		if (res < 0)
			return res;
	}
	return 0;
}

static const struct jread_object capabilities_object = { .fields = capability_fields, .finish = finish_capabilities };

/* ---- rlimits ---- */

#define RLIMIT(member, name, fn, ...) FIELD(struct oci_rlimit, member, name, fn, .flags = JREAD_REQUIRED, __VA_ARGS__)
static const struct jread_field rlimit_fields[] = {
	RLIMIT(resource, "type", jread_to_name_int, .detail = oci_rlimit_names),
	RLIMIT(soft, "soft", jread_to_u64),
	RLIMIT(hard, "hard", jread_to_u64),
	{ 0 },
};

static int finish_rlimit(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_rlimit *limit = out;
	const struct jread_name *row;

	for (row = oci_rlimit_names; row->name; row++)
		if ((int)row->value == limit->resource)
			limit->name = row->name;
	if (limit->soft > limit->hard)
		return jread_fail(r, value, "the soft limit %llu of %s is above the hard limit %llu",
				  (unsigned long long)limit->soft, limit->name, (unsigned long long)limit->hard);
	return 0;
}

static const struct jread_object rlimit_object = { .fields = rlimit_fields, .finish = finish_rlimit };
static const struct jread_list rlimit_list = {
	.size = sizeof(struct oci_rlimit), .convert = jread_to_object, .detail = &rlimit_object, .max = 64
};

/* ---- scheduling ---- */

static const struct jread_name policies[] = {
	{ "SCHED_OTHER", SCHED_NORMAL },
	{ "SCHED_FIFO", SCHED_FIFO },
	{ "SCHED_RR", SCHED_RR },
	{ "SCHED_BATCH", SCHED_BATCH },
	{ "SCHED_ISO", 4 },
	{ "SCHED_IDLE", SCHED_IDLE },
	{ "SCHED_DEADLINE", SCHED_DEADLINE },
	{ 0 },
};

static const struct jread_name policy_flags[] = {
	{ "SCHED_FLAG_RESET_ON_FORK", SCHED_FLAG_RESET_ON_FORK },
	{ "SCHED_FLAG_RECLAIM", SCHED_FLAG_RECLAIM },
	{ "SCHED_FLAG_DL_OVERRUN", SCHED_FLAG_DL_OVERRUN },
	{ "SCHED_FLAG_KEEP_POLICY", SCHED_FLAG_KEEP_POLICY },
	{ "SCHED_FLAG_KEEP_PARAMS", SCHED_FLAG_KEEP_PARAMS },
	{ "SCHED_FLAG_UTIL_CLAMP_MIN", SCHED_FLAG_UTIL_CLAMP_MIN },
	{ "SCHED_FLAG_UTIL_CLAMP_MAX", SCHED_FLAG_UTIL_CLAMP_MAX },
	{ 0 },
};

static const struct jread_range range_nice = { -20, 19 };
static const struct jread_range range_priority = { 0, 99 };

#define SCHED(member, name, fn, ...) FIELD(struct oci_scheduler, member, name, fn, __VA_ARGS__)
static const struct jread_field scheduler_fields[] = {
	SCHED(policy, "policy", jread_to_name_int, .detail = policies, .flags = JREAD_REQUIRED),
	SCHED(nice, "nice", jread_to_i32, .detail = &range_nice),
	SCHED(priority, "priority", jread_to_i32, .detail = &range_priority),
	SCHED(flags, "flags", jread_to_name_bits, .detail = policy_flags),
	SCHED(runtime_ns, "runtime", jread_to_u64),
	SCHED(deadline_ns, "deadline", jread_to_u64),
	SCHED(period_ns, "period", jread_to_u64),
	{ 0 },
};

static int finish_scheduler(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_scheduler *s = out;
	bool realtime = s->policy == SCHED_FIFO || s->policy == SCHED_RR;

	s->set = true;
	if (s->policy == 4)
		return jread_fail_member(r, value, "policy", "SCHED_ISO is a reserved name that no kernel implements");
	if (realtime != (s->priority > 0))
		return jread_fail_member(r, value, "priority",
					 "belongs to SCHED_FIFO and SCHED_RR, which need one above 0");
	if (s->policy != SCHED_DEADLINE && (s->runtime_ns || s->deadline_ns || s->period_ns))
		return jread_fail(r, value, "runtime, deadline and period belong to SCHED_DEADLINE");
	return 0;
}

static const struct jread_object scheduler_object = { .fields = scheduler_fields, .finish = finish_scheduler };

static const struct jread_name io_classes[] = {
	{ "IOPRIO_CLASS_RT", IOPRIO_CLASS_RT },
	{ "IOPRIO_CLASS_BE", IOPRIO_CLASS_BE },
	{ "IOPRIO_CLASS_IDLE", IOPRIO_CLASS_IDLE },
	{ 0 },
};
static const struct jread_range range_io_priority = { 0, 7 };

static const struct jread_field io_priority_fields[] = {
	FIELD(struct oci_io_priority, io_class, "class", jread_to_name_int, .detail = io_classes,
	      .flags = JREAD_REQUIRED),
	FIELD(struct oci_io_priority, priority, "priority", jread_to_i32, .detail = &range_io_priority),
	{ 0 },
};

static int finish_io_priority(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	((struct oci_io_priority *)out)->set = true;
	return 0;
}

static const struct jread_object io_priority_object = { .fields = io_priority_fields, .finish = finish_io_priority };

/* ---- process ---- */

static const struct jread_range range_cells = { 0, UINT16_MAX };

#define PROCESS(member, name, fn, ...) FIELD(struct oci_process, member, name, fn, __VA_ARGS__)
static const struct jread_field console_fields[] = {
	PROCESS(console_height, "height", jread_to_u32, .detail = &range_cells, .flags = JREAD_REQUIRED),
	PROCESS(console_width, "width", jread_to_u32, .detail = &range_cells, .flags = JREAD_REQUIRED),
	{ 0 },
};
static const struct jread_object console_object = { .fields = console_fields };

static const struct jread_field affinity_fields[] = {
	PROCESS(exec_affinity_initial, "initial", jread_to_text),
	PROCESS(exec_affinity_final, "final", jread_to_text),
	{ 0 },
};

static int finish_affinity(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	const struct oci_process *p = out;

	if (p->exec_affinity_initial && !oci_cpu_list_valid(p->exec_affinity_initial))
		return jread_fail_member(r, value, "initial", "'%.64s' is no list of CPUs", p->exec_affinity_initial);
	if (p->exec_affinity_final && !oci_cpu_list_valid(p->exec_affinity_final))
		return jread_fail_member(r, value, "final", "'%.64s' is no list of CPUs", p->exec_affinity_final);
	return 0;
}

static const struct jread_object affinity_object = { .fields = affinity_fields, .finish = finish_affinity };

static const struct jread_range range_oom = { -1000, 1000 };

static const struct jread_field process_fields[] = {
	PROCESS(terminal, "terminal", jread_to_bool),
	/* Writes into the process itself, hence no offset. */
	{ .key = "consoleSize", .convert = jread_to_object, .detail = &console_object },
	PROCESS(user, "user", jread_to_object, .detail = &user_object),
	PROCESS(args, "args", jread_to_strings),
	{ .key = "commandLine", .flags = JREAD_IGNORED }, /* of Windows */
	PROCESS(env, "env", jread_to_strings),
	PROCESS(cwd, "cwd", jread_to_path, .flags = JREAD_REQUIRED),
	PROCESS(capabilities, "capabilities", jread_to_object, .detail = &capabilities_object),
	PROCESS(rlimits, "rlimits", jread_to_list, .detail = &rlimit_list),
	PROCESS(no_new_privileges, "noNewPrivileges", jread_to_bool),
	PROCESS(oom_score_adj, "oomScoreAdj", jread_to_opt_i64, .detail = &range_oom),
	PROCESS(apparmor_profile, "apparmorProfile", jread_to_text),
	PROCESS(selinux_label, "selinuxLabel", jread_to_text),
	PROCESS(scheduler, "scheduler", jread_to_object, .detail = &scheduler_object),
	PROCESS(io_priority, "ioPriority", jread_to_object, .detail = &io_priority_object),
	{ .key = "execCPUAffinity", .convert = jread_to_object, .detail = &affinity_object },
	{ 0 },
};

static int check_rlimits(struct jread_reader *r, const struct jread_value *value, const struct oci_process *p)
{
	uint64_t seen = 0, bit;
	size_t i;

	for (i = 0; i < p->n_rlimits; i++) {
		bit = UINT64_C(1) << p->rlimits[i].resource;
		if (seen & bit)
			return jread_fail_element(r, value, "rlimits", i, "%s is there twice", p->rlimits[i].name);
		seen |= bit;
	}
	return 0;
}

static int check_env(struct jread_reader *r, const struct jread_value *value, const struct oci_process *p)
{
	const char *equals;
	size_t i;

	for (i = 0; i < p->env.count; i++) {
		equals = strchr(p->env.items[i], '=');
		if (!equals || equals == p->env.items[i])
			return jread_fail_element(r, value, "env", i, "'%.64s' has not the form NAME=VALUE",
						  p->env.items[i]);
	}
	return 0;
}

static int finish_process(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_process *p = out;
	int res;

	p->present = true;
	if (!p->terminal)
		p->console_width = p->console_height = 0;
	res = oci_strings_default(r, &p->args);
	if (res == 0)
		res = oci_strings_default(r, &p->env);
	if (res == 0)
		res = oci_strings_default(r, &p->capabilities.unknown);
	if (res == 0)
		res = check_rlimits(r, value, p);
	if (res == 0)
		res = check_env(r, value, p);
	return res;
}

const struct jread_object oci_process_object = { .fields = process_fields, .finish = finish_process };
