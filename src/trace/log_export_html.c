/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timeline page: timeline.html with the data of the run put in the place of its two marks. The data is rows of one array,
 * told apart by their first element: T thread, S slice, E event, A arrow.
 */
#include "trace/log_export.h"

#include <string.h>

#include "trace/log_text.h"

static const char page[] =
#include "trace/timeline_html.inc"
	;

struct html {
	FILE *f;
	const char *title;
};

static const char title_mark[] = "@TITLE@";
static const char data_mark[] = "/*@DATA@*/";

/* Text between tags. */
static void put_escaped(FILE *f, const char *text)
{
	for (; *text; text++) {
		if (strchr("<>&\"'", *text))
			(void)fprintf(f, "&#%d;", *text);
		else
			log_text_print(f, (const char[]){ *text, '\0' });
	}
}

/* The page up to its data. */
static void on_begin(void *arg, const struct log_record *header)
{
	struct html *h = arg;
	const char *at = page, *mark, *data = strstr(page, data_mark);

	while ((mark = strstr(at, title_mark)) && mark < data) {
		(void)fwrite(at, 1, (size_t)(mark - at), h->f);
		put_escaped(h->f, h->title);
		at = mark + strlen(title_mark);
	}
	(void)fwrite(at, 1, (size_t)(data - at), h->f);
	(void)fputs("const DATA=[", h->f);
}

static void on_thread(void *arg, const struct log_track *track)
{
	struct html *h = arg;

	(void)fprintf(h->f, "[\"T\",%lld,%lld],\n", (long long)track->thread, (long long)track->process);
}

static void on_slice(void *arg, const struct log_track *track, enum log_state state, uint64_t from_ns, uint64_t to_ns,
		     const char *label)
{
	struct html *h = arg;

	(void)fprintf(h->f, "[\"S\",%lld,%d,%llu,%llu,", (long long)track->thread, state, (unsigned long long)from_ns,
		      (unsigned long long)to_ns);
	log_text_json(h->f, label);
	(void)fputs("],\n", h->f);
}

static void on_event(void *arg, const struct log_track *track, const struct log_record *rec, uint64_t to_ns, const char *text)
{
	struct html *h = arg;

	(void)fprintf(h->f, "[\"E\",%lld,%llu,%llu,%llu,", (long long)track->thread, (unsigned long long)rec->turn,
		      (unsigned long long)rec->time_ns, (unsigned long long)to_ns);
	log_text_json(h->f, log_kind_name(rec->kind));
	(void)fputc(',', h->f);
	log_text_json(h->f, text);
	(void)fputs("],\n", h->f);
}

static void on_arrow(void *arg, const char *why, const struct log_track *from, uint64_t from_ns, const struct log_track *to,
		     uint64_t to_ns)
{
	struct html *h = arg;

	(void)fprintf(h->f, "[\"A\",%lld,%llu,%lld,%llu,", (long long)from->thread, (unsigned long long)from_ns, (long long)to->thread,
		      (unsigned long long)to_ns);
	log_text_json(h->f, why);
	(void)fputs("],\n", h->f);
}

static void on_end(void *arg, bool cut)
{
	struct html *h = arg;

	(void)fprintf(h->f, "];\nconst CUT=%s;\n", cut ? "true" : "false");
	(void)fputs(strstr(page, data_mark) + strlen(data_mark), h->f);
}

int log_export_html(struct log_reader *r, const struct log_export_options *options, const char *title, FILE *f, bool *ret_cut,
		    struct error *err)
{
	struct html h = { .f = f, .title = title };
	struct log_sink sink = {
		.begin = on_begin,
		.thread = on_thread,
		.slice = on_slice,
		.event = on_event,
		.arrow = on_arrow,
		.end = on_end,
		.out = f,
		.arg = &h,
	};

	return log_export(r, options, &sink, ret_cut, err);
}
