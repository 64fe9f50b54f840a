/* SPDX-License-Identifier: BSD-3-Clause */
/* Deaths in order: see deaths.h. */
#include "backend/notify/deaths.h"

#include <errno.h>
#include <stdlib.h>

int deaths_add(struct deaths *deaths, const struct death *death)
{
	struct death *list;
	size_t room, i;

	if (deaths->n == deaths->room) {
		room = deaths->room ? deaths->room * 2 : 16;
		list = reallocarray(deaths->list, room, sizeof(*list));
		if (!list)
			return -ENOMEM;
		deaths->list = list;
		deaths->room = room;
	}
	for (i = 0; death->leader && i < deaths->n; i++)
		if (deaths->list[i].tgid == death->tgid)
			deaths->list[i].held = false;
	deaths->list[deaths->n++] = *death;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct death *x = a, *y = b;

	if (x->leader != y->leader)
		return x->leader - y->leader;
	return (x->number > y->number) - (x->number < y->number);
}

bool deaths_any_ready(const struct deaths *deaths)
{
	size_t i;

	for (i = deaths->n; i > 0; i--)
		if (!deaths->list[i - 1].held)
			return true;
	return false;
}

int deaths_report(struct deaths *deaths, struct event_queue *queue)
{
	struct event event = { .kind = EVENT_EXIT };
	size_t i, kept = 0;
	int r;

	if (!deaths_any_ready(deaths))
		return 0; /* thousands may be held */
	if (deaths->n > 1)
		qsort(deaths->list, deaths->n, sizeof(*deaths->list), compare);
	for (i = 0; i < deaths->n; i++) {
		if (deaths->list[i].held) {
			deaths->list[kept++] = deaths->list[i];
			continue;
		}
		event.task = deaths->list[i].number;
		event.wait_status = deaths->list[i].status;
		r = queue_push(queue, &event);
		if (r < 0)
			return r;
	}
	deaths->n = kept;
	return 0;
}

void deaths_deinit(struct deaths *deaths)
{
	free(deaths->list);
	*deaths = (struct deaths){ 0 };
}
