/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter's rules from the policy table. Numbers without a row are notified: the engine refuses and reports them. */
#include "backend/notify/filter.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "engine/policy/policy.h"

bool backend_filter_passes(long nr, uint64_t third)
{
	const struct policy_row *row = policy_row(nr);

	return (row->class == CLASS_PASS && nr != SYS_brk) || (row->flags & CALL_EXEC_ONLY && !(third & PROT_EXEC));
}

struct backend_filter *backend_filter_new(bool allow_uncontrolled, bool ask_brk, struct error *err)
{
	struct filter_rule rules[POLICY_MAX_NR + 1];
	const struct policy_row *row;
	size_t n_rules = 0;
	int nr;

	for (nr = 0; nr <= POLICY_MAX_NR; nr++) {
		row = policy_row(nr);
		if (nr == SYS_brk && ask_brk)
			continue;
		if (row->class == CLASS_PASS)
			rules[n_rules++] = (struct filter_rule){ .nr = nr };
		else if (row->flags & CALL_EXEC_ONLY)
			rules[n_rules++] = (struct filter_rule){ .nr = nr, .if_clear = true, .argument = 2, .bits = PROT_EXEC };
		else if (row->class == CLASS_REFUSE && !allow_uncontrolled)
			rules[n_rules++] = (struct filter_rule){ .nr = nr, .error = row->error };
	}
	return filter_build(rules, n_rules, err);
}
