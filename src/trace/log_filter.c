/* SPDX-License-Identifier: BSD-3-Clause */
/* Filters of records: see log_filter.h. */
#include "trace/log_filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int log_filter_add_thread(struct log_filter *filter, const char *text, struct error *err)
{
	if (filter->n_threads == LOG_FILTER_ITEMS)
		return error_set(err, EINVAL, "more than %d threads to choose", LOG_FILTER_ITEMS);
	if (!log_parse_number(text, &filter->threads[filter->n_threads]))
		return error_set(err, EINVAL, "'%s' is not the number of a thread", text);
	filter->n_threads++;
	return 0;
}

int log_filter_add_call(struct log_filter *filter, const char *name, struct error *err)
{
	if (filter->n_calls == LOG_FILTER_ITEMS)
		return error_set(err, EINVAL, "more than %d calls to choose", LOG_FILTER_ITEMS);
	filter->calls[filter->n_calls++] = name;
	return 0;
}

int log_filter_add_kind(struct log_filter *filter, const char *name, bool skip, struct error *err)
{
	enum log_kind kind;

	kind = log_kind_parse(name);
	if (!kind || kind == LOG_HEADER || kind == LOG_CHECK)
		return error_set(err, EINVAL, "'%s' is not a kind of event: see hermit-event-log(5)", name);
	if (skip)
		filter->skipped_kinds |= 1u << kind;
	else
		filter->kinds |= 1u << kind;
	return 0;
}

static bool parse_bound(const char *text, size_t len, uint64_t unset, uint64_t *ret_value)
{
	char copy[24];

	if (len == 0) {
		*ret_value = unset;
		return true;
	}
	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return log_parse_unsigned(copy, ret_value);
}

int log_filter_set_turns(struct log_filter *filter, const char *text, struct error *err)
{
	const char *dots = strstr(text, "..");
	const char *last = dots ? dots + 2 : text;
	size_t first_len = dots ? (size_t)(dots - text) : strlen(text);

	if (!*text || !parse_bound(text, first_len, 0, &filter->first_turn) ||
	    !parse_bound(last, strlen(last), UINT64_MAX, &filter->last_turn) || filter->first_turn > filter->last_turn)
		return error_set(err, EINVAL, "'%s' is not a range of turns: 17, 10..20, 10.. or ..20", text);
	filter->has_turns = true;
	return 0;
}

bool log_filter_is_empty(const struct log_filter *filter)
{
	return !filter->n_threads && !filter->n_calls && !filter->kinds && !filter->skipped_kinds && !filter->has_turns;
}

static bool has_thread(const struct log_filter *filter, int64_t thread)
{
	for (size_t i = 0; i < filter->n_threads; i++)
		if (filter->threads[i] == thread)
			return true;
	return filter->n_threads == 0;
}

static bool has_call(const struct log_filter *filter, const char *call)
{
	for (size_t i = 0; call && i < filter->n_calls; i++)
		if (!strcmp(filter->calls[i], call))
			return true;
	return filter->n_calls == 0;
}

bool log_filter_matches(const struct log_filter *filter, const struct log_record *rec)
{
	uint32_t bit = 1u << rec->kind;

	if (rec->kind == LOG_HEADER || rec->kind == LOG_CHECK)
		return false;
	if ((filter->kinds && !(filter->kinds & bit)) || (filter->skipped_kinds & bit))
		return false;
	if (filter->has_turns && (rec->turn < filter->first_turn || rec->turn > filter->last_turn))
		return false;
	return has_thread(filter, rec->thread) && has_call(filter, rec->call);
}
