/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults: see fault.h. */
#include "engine/fault.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "engine/engine_internal.h"
#include "engine/fdtable.h"

enum { PRESET = FAULT_CERTAIN / 100, LATENCY_MOST_NS = 10000000 };

enum { KIND_ENOSPC, KIND_NOMEM, KIND_RESET, KIND_EINTR, KIND_EAGAIN, KIND_LATENCY };

static bool is_data_call(int nr)
{
	return nr == __NR_read || nr == __NR_write || nr == __NR_readv || nr == __NR_writev || nr == __NR_recvfrom ||
	       nr == __NR_recvmsg || nr == __NR_sendto || nr == __NR_sendmsg;
}

static bool writes(int nr)
{
	return nr == __NR_write || nr == __NR_pwrite64 || nr == __NR_writev || nr == __NR_pwritev || nr == __NR_fallocate;
}

static int fits_enospc(struct engine *e, struct task *t, const struct fd_info *info)
{
	return writes(t->call.nr) && info->kind == FD_FILE;
}

static int fits_nomem(struct engine *e, struct task *t, const struct fd_info *info)
{
	return t->call.nr == __NR_mremap || (t->call.nr == __NR_mmap && t->call.args[3] & MAP_ANONYMOUS && !(t->call.args[3] & MAP_FIXED));
}

static int fits_reset(struct engine *e, struct task *t, const struct fd_info *info)
{
	return is_data_call(t->call.nr) && info->kind == FD_INET && info->sock_type == SOCK_STREAM;
}

static bool may_wait(const struct fd_info *info)
{
	return info->kind == FD_PIPE || info->kind == FD_UNIX || info->kind == FD_INET || info->kind == FD_TTY;
}

/* A handler has run: there has to be one. */
static int fits_eintr(struct engine *e, struct task *t, const struct fd_info *info)
{
	struct signal_state s;
	int r;

	if (!is_data_call(t->call.nr) || !may_wait(info) || info->open_flags & O_NONBLOCK)
		return 0;
	r = e->g->ops->signal_state(e->g, t->id, &s);
	return r < 0 ? r : s.caught != 0;
}

static int fits_eagain(struct engine *e, struct task *t, const struct fd_info *info)
{
	return is_data_call(t->call.nr) && may_wait(info) && info->open_flags & O_NONBLOCK;
}

static int fits_always(struct engine *e, struct task *t, const struct fd_info *info)
{
	return 1;
}

static const struct {
	const char *name;
	int error; /* 0: takes time */
	int (*fits)(struct engine *e, struct task *t, const struct fd_info *info);
} kinds[] = {
	[KIND_ENOSPC] = { "enospc", ENOSPC, fits_enospc },    [KIND_NOMEM] = { "nomem", ENOMEM, fits_nomem },
	[KIND_RESET] = { "reset", ECONNRESET, fits_reset },   [KIND_EINTR] = { "eintr", EINTR, fits_eintr },
	[KIND_EAGAIN] = { "eagain", EAGAIN, fits_eagain },    [KIND_LATENCY] = { "latency", 0, fits_always },
};

const char *fault_name(const struct fault_rule *rule)
{
	return kinds[rule->kind].name;
}

static int parse_probability(const char *text, struct fault_rule *rule, struct error *err)
{
	uint64_t billionths;

	/* The parser of seconds knows fractions, and one is one. */
	if (parse_duration_ns(text, &billionths) < 0 || billionths > 1000000000)
		return error_set(err, EINVAL, "'%s' is not a probability", text);
	rule->probability = (uint32_t)(billionths / (1000000000 / FAULT_CERTAIN));
	return 0;
}

static int parse_call(const char *name, struct fault_rule *rule, struct error *err)
{
	for (int nr = 0; nr <= POLICY_MAX_NR; nr++) {
		if (!policy_row(nr)->name || strcmp(policy_row(nr)->name, name) != 0)
			continue;
		rule->call = nr;
		return 0;
	}
	return error_set(err, EINVAL, "there is no call '%s'", name);
}

int fault_parse(const char *text, struct fault_rule *ret, struct error *err)
{
	struct fault_rule rule = { .probability = PRESET, .call = -1 };
	char copy[96], *call, *probability;
	int r;

	if (strlen(text) >= sizeof(copy))
		return error_set(err, EINVAL, "'%.40s...' is too long", text);
	memcpy(copy, text, strlen(text) + 1);
	call = strchr(copy, '@');
	if (call)
		*call++ = '\0';
	probability = strchr(copy, ':');
	if (probability)
		*probability++ = '\0';
	while (rule.kind < ARRAY_SIZE(kinds) && strcmp(kinds[rule.kind].name, copy) != 0)
		rule.kind++;
	if (rule.kind == ARRAY_SIZE(kinds))
		return error_set(err, EINVAL, "there is no '%s'; known: enospc, nomem, reset, eintr, eagain, latency", copy);
	r = probability ? parse_probability(probability, &rule, err) : 0;
	if (r == 0 && call)
		r = parse_call(call, &rule, err);
	if (r == 0)
		*ret = rule;
	return r;
}

static void take_time(struct engine *e)
{
	clock_charge(&e->clock, rng_below(&e->fault_rng, LATENCY_MOST_NS));
}

int fault_strike(struct engine *e, struct task *t, struct verdict *v)
{
	static const struct fd_info none = { .kind = FD_NONE };
	const struct fd_info *info = &none;

	if (t->call.row->args[0].kind == ARG_FD && fdtable_info(e, t, (int)t->call.args[0], &info) < 0)
		info = &none;
	for (size_t i = 0; i < e->options.n_faults; i++) {
		const struct fault_rule *rule = &e->options.faults[i];
		int r;

		if (rule->call >= 0 && rule->call != t->call.nr)
			continue;
		r = kinds[rule->kind].fits(e, t, info);
		if (r < 0)
			return r;
		if (r == 0 || rng_below(&e->fault_rng, FAULT_CERTAIN) >= rule->probability)
			continue;
		e->stats.faults[i]++;
		if (kinds[rule->kind].error)
			return verdict_errno(v, kinds[rule->kind].error) < 0 ? -EINVAL : 1;
		take_time(e);
	}
	return 0;
}
