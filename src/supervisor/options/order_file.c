/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders as documents: see order_file.h. */
#include "supervisor/options/order_file.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "engine/policy/policy.h"

static void cleanup_json(json_t **document)
{
	json_decref(*document);
}

static int set_call(struct order_anchor *a, const char *call, struct error *err)
{
	a->kind = ANCHOR_CALL;
	a->call = !strcmp(call, "*") ? -1 : policy_number(call);
	if (a->call < 0 && strcmp(call, "*") != 0)
		return error_set(err, EINVAL, "anchor '%s': there is no call '%s'", a->name, call);
	if (a->call >= 0 && policy_row(a->call)->class == CLASS_PASS)
		return error_set(err, EINVAL, "anchor '%s': %s runs without being asked about, and cannot be one", a->name, call);
	return 0;
}

static int set_place(struct order_anchor *a, enum anchor_kind kind, const char *text, struct error *err)
{
	const char *colon = strrchr(text, ':');
	uint64_t line;

	if (strlen(text) >= sizeof(a->place))
		return error_set(err, EINVAL, "anchor '%s': the place is too long", a->name);
	if (kind == ANCHOR_SOURCE && (!colon || parse_u64(colon + 1, &line) < 0 || line == 0))
		return error_set(err, EINVAL, "anchor '%s': '%s' is not FILE:LINE", a->name, text);
	a->kind = kind;
	(void)snprintf(a->place, sizeof(a->place), "%s", text);
	return 0;
}

static int find(const struct order_spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->n_anchors; i++)
		if (!strcmp(spec->anchors[i].name, name))
			return (int)i;
	return -1;
}

static int read_anchor(json_t *item, struct order_spec *spec, struct error *err)
{
	struct order_anchor a = { .vtid = -1, .task = -1 };
	const char *name, *call = NULL, *function = NULL, *source = NULL;
	json_int_t nth = 1;
	json_error_t said;

	if (spec->n_anchors == ORDER_ANCHORS_MAX)
		return error_set(err, EINVAL, "at most %d anchors", ORDER_ANCHORS_MAX);
	if (json_unpack_ex(item, &said, JSON_STRICT, "{s:s, s?i, s?i, s?s, s?s, s?s, s?I}", "name", &name, "tid", &a.vtid, "thread", &a.task,
			   "call", &call, "function", &function, "source", &source, "nth", &nth) < 0)
		return error_set(err, EINVAL, "anchor %zu: %s", spec->n_anchors, said.text);
	if (!*name || strlen(name) >= sizeof(a.name) || find(spec, name) >= 0)
		return error_set(err, EINVAL, "anchor %zu: the name '%.40s' is empty, too long or there already", spec->n_anchors, name);
	(void)snprintf(a.name, sizeof(a.name), "%s", name);
	if (nth < 1 || !!call + !!function + !!source != 1)
		return error_set(err, EINVAL, "anchor '%s': exactly one of call, function and source, and nth from 1", name);
	a.nth = (uint64_t)nth;
	if (call ? set_call(&a, call, err) < 0
		 : set_place(&a, function ? ANCHOR_FUNCTION : ANCHOR_SOURCE, function ? function : source, err) < 0)
		return -EINVAL;
	spec->anchors[spec->n_anchors++] = a;
	return 0;
}

static int read_edge(json_t *item, struct order_spec *spec, struct error *err)
{
	const char *before, *after;
	json_error_t said;
	int soft = 0, b, a;

	if (spec->n_edges == ORDER_EDGES_MAX)
		return error_set(err, EINVAL, "at most %d edges", ORDER_EDGES_MAX);
	if (json_unpack_ex(item, &said, JSON_STRICT, "{s:s, s:s, s?b}", "before", &before, "after", &after, "soft", &soft) < 0)
		return error_set(err, EINVAL, "edge %zu: %s", spec->n_edges, said.text);
	b = find(spec, before);
	a = find(spec, after);
	if (a < 0 || b < 0)
		return error_set(err, EINVAL, "edge %zu: there is no anchor '%s'", spec->n_edges, b < 0 ? before : after);
	spec->edges[spec->n_edges++] = (struct order_edge){ .before = (size_t)b, .after = (size_t)a, .soft = soft };
	return 0;
}

static int read_document(json_t *document, struct order_spec *ret, struct error *err)
{
	json_t *anchors, *edges, *item;
	json_error_t said;
	size_t i;
	int r = 0;

	if (json_unpack_ex(document, &said, JSON_STRICT, "{s:o, s:o}", "anchors", &anchors, "edges", &edges) < 0)
		return error_set(err, EINVAL, "%s", said.text);
	if (!json_is_array(anchors) || !json_is_array(edges))
		return error_set(err, EINVAL, "anchors and edges are arrays");
	json_array_foreach(anchors, i, item)
		r = r < 0 ? r : read_anchor(item, ret, err);
	json_array_foreach(edges, i, item)
		r = r < 0 ? r : read_edge(item, ret, err);
	return r;
}

int order_file_read(const struct option_file *file, struct order_spec *ret, struct error *err)
{
	_cleanup_(cleanup_json) json_t *document = NULL;
	json_error_t said;
	int r;

	*ret = (struct order_spec){ 0 };
	document = json_loadb(file->text, file->len, JSON_REJECT_DUPLICATES, &said);
	if (!document)
		return error_set(err, EINVAL, "--happens-before: %s: line %d: %s", file->path, said.line, said.text);
	r = read_document(document, ret, err);
	if (r < 0)
		error_prefix(err, "--happens-before: %s", file->path);
	return r;
}

void order_warn(const struct order_spec *order, const uint64_t seen[ORDER_ANCHORS_MAX])
{
	for (size_t i = 0; i < order->n_anchors; i++)
		if (seen[i] < order->anchors[i].nth)
			log_warning("the anchor '%s' never came: seen %" PRIu64 " of %" PRIu64 " times", order->anchors[i].name, seen[i],
				    order->anchors[i].nth);
}
