/* SPDX-License-Identifier: BSD-3-Clause */
/* Build helper: the policy table as the body of hermit-syscalls(7), one section per class, in mdoc(7). */
#include <stdio.h>

#include "engine/policy/decode.h"
#include "engine/policy/policy.h"

static void print_row(int nr, const struct policy_row *row)
{
	(void)printf(".It Fn %s", row->name);
	for (unsigned i = 0; i < row->nargs; i++)
		(void)printf(" \"%s\"", policy_kind_name(row->args[i].kind));
	(void)printf(" Pq %d\n", nr);
	if (row->class == CLASS_REFUSE)
		(void)printf(".Er %s :\n", decode_errno_name(row->error));
	(void)printf("%s.\n", row->why);
	if (row->flags & CALL_MAY_BLOCK)
		(void)printf("May block.\n");
}

static void print_class(enum policy_class class)
{
	unsigned n = 0;

	(void)printf(".Ss %s\n.Bl -tag -width 4n -compact\n", policy_class_name(class));
	for (int nr = 0; nr <= POLICY_MAX_NR; nr++) {
		const struct policy_row *row = policy_row(nr);

		if (row->class == class && row->name) {
			print_row(nr, row);
			n++;
		}
	}
	(void)printf(".El\n.Pp\nThese are %u calls.\n", n);
}

int main(void)
{
	for (enum policy_class class = CLASS_PASS; class <= CLASS_REFUSE; class++)
		print_class(class);

	return fflush(stdout) != 0 || ferror(stdout);
}
