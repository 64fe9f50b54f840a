/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run depends on, as a hash and for people: see options.h. */
#include "supervisor/options/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/policy/policy.h"
#include "engine/time/looks.h"

static void hash_text(struct hash *h, const char *text)
{
	hash_add(h, text, strlen(text) + 1);
}

/* What a run depends on in the table of calls. */
static void hash_policy(struct hash *h)
{
	for (int64_t nr = 0; nr <= POLICY_MAX_NR; nr++) {
		const struct policy_row *row = policy_row(nr);
		const struct look *look = looks_row(nr);
		char text[160];

		if (!row->name)
			continue;
		(void)snprintf(text, sizeof(text), "%d %s %d %u %d %u", (int)nr, row->name, (int)row->class, row->flags,
			       row->error, row->cost_ns);
		hash_text(h, text);
		if (look) {
			(void)snprintf(text, sizeof(text), "look %d %u %" PRIu64 " %d %u", (int)look->when, look->argument, look->bits,
				       (int)look->vain, look->most_ns);
			hash_text(h, text);
		}
	}
}

/* What it costs to look again. */
static void hash_looks(struct hash *h)
{
	char text[80];

	(void)snprintf(text, sizeof(text), "looks %d %d %d %d", (int)LOOK_QUESTIONS, (int)LOOK_ASK, (int)LOOK_STEP, LOOK_MOST_REAL_NS);
	hash_text(h, text);
}

/* The texts that count: of files, what is in them. */
static int outcome_values(const struct run_options *o, const struct option_spec *spec, bool always, struct strv *values)
{
	const struct option_file *file = (const void *)((const char *)o + spec->offset);
	unsigned char digest[HASH_BYTES];
	char hex[HASH_HEX_SIZE];

	if (spec->kind != OPTION_FILE || !file->path)
		return run_options_get(o, spec, always, values);
	hash_buffer(file->text, file->len, digest);
	hash_hex(digest, sizeof(digest), hex);
	return strv_addf(values, "sha256:%s", hex);
}

int run_options_outcome(const struct run_options *o, struct strv *list)
{
	enum { LISTED_MAX = 100 };
	const struct option_spec *specs;
	size_t n;
	int r = 0;

	specs = option_specs(&n);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct strv values _cleanup_strv_ = { 0 };

		if (!specs[i].outcome)
			continue;
		r = outcome_values(o, &specs[i], false, &values);
		for (size_t j = 0; j < values.count && r == 0 && list->count < LISTED_MAX / 2; j++)
			r = strv_addf(list, "--%s=%s", specs[i].name, values.items[j]);
	}
	for (size_t i = 0; i < o->argv.count && r == 0 && list->count < LISTED_MAX; i++)
		r = strv_addf(list, "argument %zu: %s", i, o->argv.items[i]);
	return r;
}

int run_options_fingerprint(const struct run_options *o, char ret_hex[HASH_HEX_SIZE])
{
	const struct option_spec *specs;
	size_t n;
	unsigned char digest[HASH_BYTES];
	struct hash h;
	int r;

	specs = option_specs(&n);
	hash_init(&h);
	hash_text(&h, "hermit-options-1");
	for (size_t i = 0; i < n; i++) {
		_cleanup_strv_ struct strv values = { 0 };

		if (!specs[i].outcome)
			continue;
		r = outcome_values(o, &specs[i], true, &values);
		if (r < 0)
			return r;
		hash_text(&h, specs[i].name);
		for (size_t k = 0; k < values.count; k++)
			hash_text(&h, values.items[k]);
		hash_text(&h, "");
	}
	hash_text(&h, "argv");
	for (size_t i = 0; i < o->argv.count; i++)
		hash_text(&h, o->argv.items[i]);
	hash_policy(&h);
	hash_looks(&h);
	hash_final(&h, digest);
	hash_hex(digest, sizeof(digest), ret_hex);
	return 0;
}
