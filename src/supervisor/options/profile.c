/* SPDX-License-Identifier: BSD-3-Clause */
/* From linux.seccomp to a filter: see profile.h. */
#include "supervisor/options/profile.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/log.h"

static const struct {
	enum profile_action action;
	bool known;
} actions[] = {
	[OCI_SECCOMP_KILL_THREAD] = { PROFILE_KILL_THREAD, true },
	[OCI_SECCOMP_KILL_PROCESS] = { PROFILE_KILL_PROCESS, true },
	[OCI_SECCOMP_TRAP] = { PROFILE_TRAP, true },
	[OCI_SECCOMP_ERRNO] = { PROFILE_ERRNO, true },
	[OCI_SECCOMP_TRACE] = { PROFILE_TRACE, true },
	[OCI_SECCOMP_ALLOW] = { PROFILE_ALLOW, true },
	[OCI_SECCOMP_LOG] = { PROFILE_LOG, true },
	[OCI_SECCOMP_NOTIFY] = { PROFILE_ALLOW, false },
};

static const enum profile_op ops[] = {
	[OCI_SECCOMP_NE] = PROFILE_NE, [OCI_SECCOMP_LT] = PROFILE_LT, [OCI_SECCOMP_LE] = PROFILE_LE,
	[OCI_SECCOMP_EQ] = PROFILE_EQ, [OCI_SECCOMP_GE] = PROFILE_GE, [OCI_SECCOMP_GT] = PROFILE_GT,
	[OCI_SECCOMP_MASKED_EQ] = PROFILE_MASKED_EQ,
};

/*
 * Nobody traces a container for these stops, so TRACE means ENOSYS (seccomp(2)). Below the supervisor's filter, whose verdicts outrank
 * it, that has to be said outright.
 */
static int take_verdict(enum oci_seccomp_action action, const struct oci_u64 *number, bool trapped,
			struct profile_verdict *ret, struct error *err)
{
	if (action == OCI_SECCOMP_NONE || (size_t)action >= ARRAY_SIZE(actions) || !actions[action].known)
		return error_set(err, ENOTSUP, "%s is not supported: a process has one listener, and that is this runtime's",
				 oci_seccomp_action_name(action) ?: "this action");
	*ret = (struct profile_verdict){ actions[action].action, number->set ? (uint16_t)number->value : EPERM };
	if (trapped && action == OCI_SECCOMP_TRACE)
		*ret = (struct profile_verdict){ PROFILE_ERRNO, ENOSYS };
	return 0;
}

static int add_rule(struct backend_profile *profile, const struct oci_seccomp_rule *rule, bool trapped, struct error *err)
{
	struct profile_condition conditions[6];
	struct profile_verdict verdict;
	int r;

	r = take_verdict(rule->action, &rule->errno_ret, trapped, &verdict, err);
	if (r < 0)
		return r;
	if (rule->n_args > ARRAY_SIZE(conditions))
		return error_set(err, EINVAL, "more than %zu conditions", ARRAY_SIZE(conditions));
	for (size_t i = 0; i < rule->n_args; i++)
		conditions[i] = (struct profile_condition){
			.index = rule->args[i].index,
			.op = ops[rule->args[i].op],
			.value = rule->args[i].value,
			.value_two = rule->args[i].value_two,
		};
	for (size_t i = 0; r == 0 && i < rule->names.count; i++)
		r = backend_profile_rule(profile, rule->names.items[i], verdict, conditions, rule->n_args, err);
	return r;
}

static int fill(struct backend_profile *profile, const struct oci_seccomp *from, bool trapped, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n_architectures; i++)
		r = backend_profile_arch(profile, from->architectures[i], err);
	for (size_t i = 0; r == 0 && i < from->n_rules; i++) {
		r = add_rule(profile, &from->rules[i], trapped, err);
		if (r < 0)
			error_prefix(err, "linux.seccomp.syscalls[%zu]", i);
	}
	return r == 0 ? backend_profile_compile(profile, from->flags, err) : r;
}

int profile_from_oci(const struct oci_seccomp *from, bool trapped, struct backend_profile **ret, struct error *err)
{
	struct profile_verdict preset;
	struct backend_profile *profile;
	int r;

	*ret = NULL;
	if (!from->present)
		return 0;
	if (from->listener_path)
		log_warning("linux.seccomp.listenerPath: %s is not connected to: no rule says SCMP_ACT_NOTIFY", from->listener_path);
	r = take_verdict(from->default_action, &from->default_errno_ret, trapped, &preset, err);
	if (r < 0) {
		error_prefix(err, "linux.seccomp.defaultAction");
		return r;
	}
	profile = backend_profile_new(preset, trapped, err);
	r = profile ? fill(profile, from, trapped, err) : -err->code;
	if (r < 0)
		profile = backend_profile_free(profile);
	*ret = profile;
	return r;
}
