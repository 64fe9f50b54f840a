/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting of the uncontrolled: see tally.h. */
#include "supervisor/evidence/tally.h"

#include <stdio.h>
#include <string.h>

static void on_uncontrolled(void *arg, struct engine *e, const char *what, const char *where)
{
	struct tally *tally = arg;
	size_t i = 0;

	while (i < tally->n && (strncmp(tally->items[i].what, what, sizeof(tally->items[i].what) - 1) != 0 ||
				strncmp(tally->items[i].where, where, sizeof(tally->items[i].where) - 1) != 0))
		i++;
	if (i == TALLY_MAX) {
		tally->more++;
		return;
	}
	if (i == tally->n) {
		tally->n++;
		(void)snprintf(tally->items[i].what, sizeof(tally->items[i].what), "%s", what);
		(void)snprintf(tally->items[i].where, sizeof(tally->items[i].where), "%s", where);
	}
	tally->items[i].count++;
}

struct engine_observer tally_observer(struct tally *tally)
{
	return (struct engine_observer){ .uncontrolled = on_uncontrolled, .arg = tally };
}

uint64_t tally_total(const struct tally *tally)
{
	uint64_t total = tally->more;

	for (size_t i = 0; i < tally->n; i++)
		total += tally->items[i].count;
	return total;
}
