/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JSON object format of Chrome traces, which Perfetto reads as well: slices are complete events (ph X) of a thread, events nest in
 * the slice of the state, arrows are flow events (ph s and f), names of threads are metadata (ph M). Times are microseconds of
 * virtual time.
 */
#include "trace/log_export.h"

#include "trace/log_text.h"

struct perfetto {
	FILE *f;
	bool any;
	uint64_t arrows;
};

/* Opens an event: everything but its own fields. */
static void open_event(struct perfetto *p, char phase, const struct log_track *track)
{
	(void)fprintf(p->f, "%s\n{\"ph\":\"%c\",\"pid\":%lld,\"tid\":%lld", p->any ? "," : "", phase, (long long)track->process,
		      (long long)track->thread);
	p->any = true;
}

static void put_text(struct perfetto *p, const char *key, const char *text)
{
	(void)fprintf(p->f, ",\"%s\":", key);
	log_text_json(p->f, text);
}

static void put_time(struct perfetto *p, const char *key, uint64_t ns)
{
	(void)fprintf(p->f, ",\"%s\":%llu.%03llu", key, (unsigned long long)(ns / 1000), (unsigned long long)(ns % 1000));
}

static void on_begin(void *arg, const struct log_record *header)
{
	struct perfetto *p = arg;

	(void)fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"clock\":\"virtual\"", p->f);
	put_text(p, "config", log_record_text(header, "config") ?: "");
	(void)fputs("},\"traceEvents\":[", p->f);
}

static void on_thread(void *arg, const struct log_track *track)
{
	struct perfetto *p = arg;

	open_event(p, 'M', track);
	(void)fprintf(p->f, ",\"name\":\"thread_name\",\"args\":{\"name\":\"thread %lld\"}}", (long long)track->thread);
	if (track->thread != track->process)
		return;
	open_event(p, 'M', track);
	(void)fprintf(p->f, ",\"name\":\"process_name\",\"args\":{\"name\":\"process %lld\"}}", (long long)track->process);
}

static void on_slice(void *arg, const struct log_track *track, enum log_state state, uint64_t from_ns, uint64_t to_ns,
		     const char *label)
{
	struct perfetto *p = arg;
	char name[96];

	(void)snprintf(name, sizeof(name), "%s%s%s", log_state_name(state), *label ? " in " : "", label);
	open_event(p, 'X', track);
	put_text(p, "name", name);
	put_text(p, "cat", "state");
	put_time(p, "ts", from_ns);
	put_time(p, "dur", to_ns - from_ns);
	(void)fputc('}', p->f);
}

static void on_event(void *arg, const struct log_track *track, const struct log_record *rec, uint64_t to_ns, const char *text)
{
	struct perfetto *p = arg;

	open_event(p, 'X', track);
	put_text(p, "name", rec->call ? rec->call : log_kind_name(rec->kind));
	put_text(p, "cat", log_kind_name(rec->kind));
	put_time(p, "ts", rec->time_ns);
	put_time(p, "dur", to_ns - rec->time_ns);
	(void)fprintf(p->f, ",\"args\":{\"turn\":%llu", (unsigned long long)rec->turn);
	put_text(p, "event", text);
	(void)fputs("}}", p->f);
}

static void flow(struct perfetto *p, char phase, const char *why, const struct log_track *track, uint64_t ns)
{
	open_event(p, phase, track);
	put_text(p, "name", why);
	put_text(p, "cat", "wake");
	(void)fprintf(p->f, ",\"id\":%llu", (unsigned long long)p->arrows);
	if (phase == 'f')
		put_text(p, "bp", "e");
	put_time(p, "ts", ns);
	(void)fputc('}', p->f);
}

static void on_arrow(void *arg, const char *why, const struct log_track *from, uint64_t from_ns, const struct log_track *to,
		     uint64_t to_ns)
{
	struct perfetto *p = arg;

	p->arrows++;
	flow(p, 's', why, from, from_ns);
	flow(p, 'f', why, to, to_ns);
}

static void on_end(void *arg, bool cut)
{
	struct perfetto *p = arg;

	(void)fprintf(p->f, "\n],\"cut\":%s}\n", cut ? "true" : "false");
}

int log_export_perfetto(struct log_reader *r, const struct log_export_options *options, FILE *f, bool *ret_cut, struct error *err)
{
	struct perfetto p = { .f = f };
	struct log_sink sink = {
		.begin = on_begin,
		.thread = on_thread,
		.slice = on_slice,
		.event = on_event,
		.arrow = on_arrow,
		.end = on_end,
		.out = f,
		.arg = &p,
	};

	return log_export(r, options, &sink, ret_cut, err);
}
