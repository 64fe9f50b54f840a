/* SPDX-License-Identifier: BSD-3-Clause */
/* Filters of containers' own: see backend/profile.h. */
#include "backend/profile.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/notify/filter.h"
#include "base/cleanup.h"

#define X32_SYSCALL_BIT 0x40000000 /* asm/unistd.h */

struct backend_profile {
	scmp_filter_ctx context; /* until it is compiled */
	uint32_t preset;
	int last; /* the highest number that a rule names */
	bool keep_seccomp;
	unsigned flags;
	struct sock_fprog program;
};

static uint32_t library_action(struct profile_verdict verdict)
{
	switch (verdict.action) {
	case PROFILE_ALLOW:
		return SCMP_ACT_ALLOW;
	case PROFILE_LOG:
		return SCMP_ACT_LOG;
	case PROFILE_ERRNO:
		return SCMP_ACT_ERRNO(verdict.number);
	case PROFILE_TRACE:
		return SCMP_ACT_TRACE(verdict.number);
	case PROFILE_TRAP:
		return SCMP_ACT_TRAP;
	case PROFILE_KILL_THREAD:
		return SCMP_ACT_KILL_THREAD;
	case PROFILE_KILL_PROCESS:
		break;
	}
	return SCMP_ACT_KILL_PROCESS;
}

struct backend_profile *backend_profile_free(struct backend_profile *profile)
{
	if (!profile)
		return NULL;
	if (profile->context)
		seccomp_release(profile->context);
	free(profile->program.filter);
	free(profile);
	return NULL;
}

static int add(struct backend_profile *profile, uint32_t action, int nr, const struct scmp_arg_cmp *conditions, size_t n)
{
	if (action == profile->preset)
		return 0; /* what happens anyway; the library refuses such a rule */
	return seccomp_rule_add_array(profile->context, action, nr, (unsigned)n, conditions);
}

struct backend_profile *backend_profile_new(struct profile_verdict preset, bool keep_seccomp, struct error *err)
{
	struct backend_profile *profile = calloc(1, sizeof(*profile));
	int r = -ENOMEM;

	if (profile) {
		profile->preset = library_action(preset);
		profile->keep_seccomp = keep_seccomp;
		profile->context = seccomp_init(profile->preset);
	}
	if (profile && profile->context) {
		r = seccomp_attr_set(profile->context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
		if (r == 0 && keep_seccomp)
			r = add(profile, SCMP_ACT_ALLOW, SYS_seccomp, NULL, 0);
	}
	if (r == 0)
		return profile;
	(void)error_errno(err, -r, "cannot make a seccomp filter");
	return backend_profile_free(profile);
}

int backend_profile_arch(struct backend_profile *profile, uint32_t token, struct error *err)
{
	int r = seccomp_arch_add(profile->context, token);

	if (r == 0 || r == -EEXIST || r == -EDOM || r == -EINVAL)
		return 0;
	return error_errno(err, -r, "seccomp architecture 0x%x", token);
}

static struct scmp_arg_cmp library_condition(const struct profile_condition *c)
{
	static const enum scmp_compare ops[] = {
		[PROFILE_NE] = SCMP_CMP_NE, [PROFILE_LT] = SCMP_CMP_LT, [PROFILE_LE] = SCMP_CMP_LE,
		[PROFILE_EQ] = SCMP_CMP_EQ, [PROFILE_GE] = SCMP_CMP_GE, [PROFILE_GT] = SCMP_CMP_GT,
		[PROFILE_MASKED_EQ] = SCMP_CMP_MASKED_EQ,
	};

	return (struct scmp_arg_cmp){ .arg = c->index, .op = ops[c->op], .datum_a = c->value, .datum_b = c->value_two };
}

/* The library compares each argument once in a rule; engines write alternatives for one argument into one rule. */
static bool compares_twice(const struct profile_condition *conditions, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			if (conditions[i].index == conditions[j].index)
				return true;
	return false;
}

static int add_conditions(struct backend_profile *profile, uint32_t action, int nr, const struct profile_condition *conditions,
			  size_t n)
{
	struct scmp_arg_cmp all[6];
	int r = 0;

	if (compares_twice(conditions, n)) {
		for (size_t i = 0; i < n && r == 0; i++) {
			all[0] = library_condition(&conditions[i]);
			r = add(profile, action, nr, all, 1);
		}
		return r;
	}
	for (size_t i = 0; i < n; i++)
		all[i] = library_condition(&conditions[i]);
	return add(profile, action, nr, all, n);
}

int backend_profile_rule(struct backend_profile *profile, const char *name, struct profile_verdict verdict,
			 const struct profile_condition *conditions, size_t n, struct error *err)
{
	int nr = seccomp_syscall_resolve_name(name), r;

	if (nr == __NR_SCMP_ERROR || (profile->keep_seccomp && nr == SYS_seccomp))
		return 0;
	if (nr > profile->last)
		profile->last = nr;
	r = add_conditions(profile, library_action(verdict), nr, conditions, n);
	/* An equal rule that is there already is fine. */
	return r < 0 && r != -EEXIST ? error_errno(err, -r, "seccomp rule for %s", name) : 0;
}

/*
 * A profile that refuses what it does not name was written when there were fewer calls: newer ones do not exist, rather than being
 * forbidden, so that libraries fall back to older ones. As other runtimes do, for this machine's own calls.
 */
static int refuse_newer(struct backend_profile *profile)
{
	uint32_t last = (uint32_t)(profile->keep_seccomp && profile->last < SYS_seccomp ? SYS_seccomp : profile->last);
	const struct sock_filter head[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_SYSCALL_BIT, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};
	bool permissive = profile->preset == SCMP_ACT_ALLOW || profile->preset == SCMP_ACT_LOG;
	struct sock_filter *program;
	size_t n = profile->program.len + ARRAY_SIZE(head);

	if (permissive || profile->preset == SCMP_ACT_ERRNO(ENOSYS) || profile->last <= 0 || n > BPF_MAXINSNS)
		return 0;
	program = calloc(n, sizeof(*program));
	if (!program)
		return -ENOMEM;
	memcpy(program, head, sizeof(head));
	memcpy(program + ARRAY_SIZE(head), profile->program.filter, profile->program.len * sizeof(*program));
	free(profile->program.filter);
	profile->program = (struct sock_fprog){ .len = (unsigned short)n, .filter = program };
	return 0;
}

int backend_profile_compile(struct backend_profile *profile, uint64_t flags, struct error *err)
{
	const unsigned known = SECCOMP_FILTER_FLAG_LOG | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	int r;

	r = filter_export(profile->context, &profile->program);
	if (r == 0)
		r = refuse_newer(profile);
	if (r < 0)
		return error_errno(err, -r, "cannot generate the seccomp filter");
	seccomp_release(profile->context);
	profile->context = NULL;
	profile->flags = (unsigned)flags & known;
	return 0;
}

int backend_profile_install(const struct backend_profile *profile)
{
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, profile->flags, &profile->program) < 0 ? -errno : 0;
}
