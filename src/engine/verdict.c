/* SPDX-License-Identifier: BSD-3-Clause */
/* Setters for verdicts: see verdict.h. */
#include "engine/verdict.h"

int verdict_return(struct verdict *v, int64_t value)
{
	v->kind = VERDICT_RETURN;
	v->value = value;
	return 0;
}

int verdict_errno(struct verdict *v, int error)
{
	return verdict_return(v, -error);
}

int verdict_continue(struct verdict *v)
{
	v->kind = VERDICT_CONTINUE;
	return 0;
}

int verdict_hook(struct verdict *v)
{
	v->kind = VERDICT_HOOK;
	return 0;
}

int verdict_block(struct verdict *v)
{
	v->kind = VERDICT_BLOCK;
	return 0;
}
