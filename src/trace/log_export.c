/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk over a log that finds states, events and arrows: see log_export.h. */
#include "trace/log_export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "trace/log_print.h"

enum { LABEL_SIZE = 48, RECENT_DEAD = 64 };

/* What is known of a living thread: the state it is in since when, and its last event, which lasts until its next one. */
struct thread {
	struct log_track track;
	enum log_state state;
	uint64_t since_ns;
	char label[LABEL_SIZE];    /* of the state: the call it is blocked in */
	char blocked[LABEL_SIZE];  /* the call that will not return at once, "" if there is none */
	bool has_event;
	struct log_record event;
	bool has_parent;           /* born of that one and has not run yet */
	struct log_track parent;
	uint64_t born_ns;
};

struct walk {
	const struct log_export_options *options;
	const struct log_sink *sink;
	struct thread **threads; /* living ones, in order of appearance */
	size_t n_threads, room;
	struct log_track dead[RECENT_DEAD]; /* for arrows from threads that woke somebody and ended */
	size_t n_dead;
	int64_t running;
	bool any_running;
	uint64_t now_ns, events;
	bool cut;
};

static void set_text(char *to, size_t size, const char *from)
{
	(void)snprintf(to, size, "%s", from ?: "");
}

static struct thread *thread_free(struct thread *t)
{
	log_record_deinit(&t->event);
	free(t);
	return NULL;
}

static struct thread *find_thread(const struct walk *w, int64_t id)
{
	for (size_t i = 0; i < w->n_threads; i++)
		if (w->threads[i]->track.thread == id)
			return w->threads[i];
	return NULL;
}

/* Of a living or a lately dead thread. */
static const struct log_track *find_track(const struct walk *w, int64_t id)
{
	const struct thread *t = find_thread(w, id);

	if (t)
		return &t->track;
	for (size_t i = 0; i < w->n_dead && i < RECENT_DEAD; i++)
		if (w->dead[i].thread == id)
			return &w->dead[i];
	return NULL;
}

static int add_thread(struct walk *w, int64_t id, int64_t process, struct thread **ret)
{
	struct thread **grown;
	struct thread *t;

	if (w->n_threads == w->room) {
		grown = realloc(w->threads, (w->room + 16) * sizeof(struct thread *));
		if (!grown)
			return -ENOMEM;
		w->threads = grown;
		w->room += 16;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->track = (struct log_track){ .thread = id, .process = process };
	t->state = LOG_STATE_READY;
	t->since_ns = w->now_ns;
	w->threads[w->n_threads++] = t;
	w->sink->thread(w->sink->arg, &t->track);
	if (ret)
		*ret = t;
	return 0;
}

static void remove_thread(struct walk *w, struct thread *t)
{
	size_t i = 0;

	while (w->threads[i] != t)
		i++;
	memmove(w->threads + i, w->threads + i + 1, (w->n_threads - i - 1) * sizeof(struct thread *));
	w->n_threads--;
	w->dead[w->n_dead++ % RECENT_DEAD] = t->track;
	(void)thread_free(t);
}

static void end_state(struct walk *w, struct thread *t)
{
	if (w->now_ns > t->since_ns)
		w->sink->slice(w->sink->arg, &t->track, t->state, t->since_ns, w->now_ns, t->label);
	t->since_ns = w->now_ns;
}

static void set_state(struct walk *w, struct thread *t, enum log_state state, const char *label)
{
	if (t->state == state && !strcmp(t->label, label))
		return;
	end_state(w, t);
	t->state = state;
	set_text(t->label, sizeof(t->label), label);
}

static int end_event(struct walk *w, struct thread *t)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *f;

	if (!t->has_event)
		return 0;
	t->has_event = false;
	f = open_memstream(&text, &size);
	if (!f)
		return -ENOMEM;
	log_print_event(f, &t->event, false);
	if (fclose(f) != 0)
		return -ENOMEM;
	w->sink->event(w->sink->arg, &t->track, &t->event, w->now_ns, text);
	return 0;
}

/* Who made the thread able to run: its parent, or what the choice says. Blocked it was until then. */
static void draw_arrow(struct walk *w, struct thread *t, const struct log_record *choice)
{
	const struct log_track *waker;
	uint64_t woken_ns, now_ns = w->now_ns;
	int64_t by;

	if (t->has_parent)
		w->sink->arrow(w->sink->arg, "birth", &t->parent, t->born_ns, &t->track, now_ns);
	t->has_parent = false;
	if (!log_record_number(choice, "by", &by) || !log_record_unsigned(choice, "woken_at", &woken_ns))
		return;
	waker = find_track(w, by);
	if (!waker || woken_ns > now_ns || woken_ns < t->since_ns)
		return;
	w->now_ns = woken_ns;
	set_state(w, t, LOG_STATE_READY, "");
	w->now_ns = now_ns;
	w->sink->arrow(w->sink->arg, log_record_text(choice, "why") ?: "wake", waker, woken_ns, &t->track, now_ns);
}

/* The thread has the processor from now on; whoever had it waits. */
static int switch_to(struct walk *w, struct thread *t, const struct log_record *rec)
{
	struct thread *old = w->any_running ? find_thread(w, w->running) : NULL;
	int r = 0;

	if (old && old != t) {
		r = end_event(w, old);
		if (old->state == LOG_STATE_RUNNING)
			set_state(w, old, old->blocked[0] ? LOG_STATE_BLOCKED : LOG_STATE_READY, old->blocked);
	}
	w->any_running = true;
	w->running = t->track.thread;
	draw_arrow(w, t, rec);
	set_state(w, t, LOG_STATE_RUNNING, "");
	return r;
}

static int on_birth(struct walk *w, const struct thread *parent, const struct log_record *rec)
{
	struct thread *child;
	int64_t id, process;
	int r;

	if (!log_record_number(rec, "child", &id) || find_thread(w, id))
		return 0;
	if (!log_record_number(rec, "process", &process))
		process = id;
	r = add_thread(w, id, process, &child);
	if (r < 0)
		return r;
	child->has_parent = true;
	child->parent = parent->track;
	child->born_ns = w->now_ns;
	return 0;
}

/* The record as the thread's event of the moment. */
static int keep_event(struct walk *w, struct thread *t, const struct log_line *line, struct log_record *rec)
{
	int r;

	r = end_event(w, t);
	if (r < 0 || !log_filter_matches(&w->options->filter, rec))
		return r;
	r = log_record_parse(&t->event, line->text, line->len, NULL);
	if (r < 0)
		return r;
	t->has_event = true;
	w->events++;
	w->cut = w->options->max_events && w->events >= w->options->max_events;
	return 0;
}

static int on_exit_record(struct walk *w, struct thread *t)
{
	int r;

	r = end_event(w, t);
	end_state(w, t);
	if (w->any_running && w->running == t->track.thread)
		w->any_running = false;
	remove_thread(w, t);
	return r;
}

/* A call that was made or has ended: a thread that is blocked in it has not got the processor any more. */
static int follow_call(struct walk *w, struct thread *t, const struct log_record *rec)
{
	const char *outcome = log_record_text(rec, "outcome");
	int r;

	set_text(t->blocked, sizeof(t->blocked), outcome && !strcmp(outcome, "blocked") ? rec->call : "");
	if (!t->blocked[0])
		return 0;
	r = end_event(w, t);
	set_state(w, t, LOG_STATE_BLOCKED, t->blocked);
	if (w->any_running && w->running == t->track.thread)
		w->any_running = false;
	return r;
}

/* What the kind of a record says about states. */
static int follow_states(struct walk *w, struct thread *t, const struct log_record *rec)
{
	if (rec->kind == LOG_CALL || rec->kind == LOG_RETURN)
		return follow_call(w, t, rec);
	if (rec->kind == LOG_BIRTH)
		return on_birth(w, t, rec);
	if (rec->kind == LOG_STOP)
		set_state(w, t, LOG_STATE_STOPPED, "");
	if (rec->kind == LOG_CONT && t->state == LOG_STATE_STOPPED)
		set_state(w, t, LOG_STATE_READY, "");
	return rec->kind == LOG_EXIT ? on_exit_record(w, t) : 0;
}

/* What only a running thread does. That a call of before is blocked now is found while another one runs. */
static bool is_own_doing(const struct log_record *rec)
{
	if (rec->kind == LOG_RETURN)
		return !log_record_text(rec, "outcome");
	return rec->kind == LOG_CALL || rec->kind == LOG_CHOICE || rec->kind == LOG_TRAP || rec->kind == LOG_EXEC;
}

/* The end of the run, of the host's doing: belongs to no thread. */
static bool is_of_the_run(enum log_kind kind)
{
	return kind == LOG_FINISH || kind == LOG_HEADER || kind == LOG_CHECK;
}

static int on_record(struct walk *w, const struct log_line *line, struct log_record *rec)
{
	struct thread *t;
	int r;

	if (rec->time_ns > w->now_ns)
		w->now_ns = rec->time_ns;
	if (is_of_the_run(rec->kind))
		return 0;
	t = find_thread(w, rec->thread);
	if (!t) {
		r = add_thread(w, rec->thread, rec->thread, &t);
		if (r < 0)
			return r;
	}
	if (is_own_doing(rec)) {
		r = switch_to(w, t, rec);
		if (r < 0)
			return r;
	}
	if (rec->kind != LOG_CHOICE) {
		r = keep_event(w, t, line, rec);
		if (r < 0)
			return r;
	}
	return follow_states(w, t, rec);
}

static void walk_deinit(struct walk *w)
{
	for (size_t i = 0; i < w->n_threads; i++)
		(void)thread_free(w->threads[i]);
	free(w->threads);
}

static int finish(struct walk *w)
{
	int r = 0, ret = 0;

	for (size_t i = 0; i < w->n_threads; i++) {
		r = end_event(w, w->threads[i]);
		end_state(w, w->threads[i]);
		if (r < 0)
			ret = r;
	}
	w->sink->end(w->sink->arg, w->cut);
	return ret;
}

/* Asked right after each event, while errno is that of what has failed. */
static int check_output(const struct log_sink *sink, struct error *err)
{
	char name[FD_NAME_SIZE];

	if (!sink->out || !ferror(sink->out))
		return 0;
	return error_errno(err, errno ? errno : EIO, "%s", fd_name(fileno(sink->out), name));
}

int log_export(struct log_reader *r, const struct log_export_options *options, const struct log_sink *sink, bool *ret_cut,
	       struct error *err)
{
	_cleanup_(walk_deinit) struct walk w = { .options = options, .sink = sink };
	_cleanup_(log_record_deinit) struct log_record rec = { 0 };
	struct log_line line;
	int ret = 0;

	while (!w.cut) {
		ret = log_reader_next(r, &line, err);
		if (ret == LOG_READ_SHORT)
			return log_reader_short(r, err);
		if (ret <= 0)
			break;
		ret = log_reader_parse(r, &line, &rec, err);
		if (ret < 0)
			return ret;
		if (rec.kind == LOG_HEADER)
			sink->begin(sink->arg, &rec);
		ret = on_record(&w, &line, &rec);
		if (ret < 0)
			return error_errno(err, -ret, "%s", log_reader_name(r));
		ret = check_output(sink, err);
		if (ret < 0)
			return ret;
	}
	if (!w.cut && ret < 0)
		return ret;
	if (finish(&w) < 0)
		return error_errno(err, ENOMEM, "%s", log_reader_name(r));
	*ret_cut = w.cut;
	return check_output(sink, err);
}

const char *log_state_name(enum log_state state)
{
	static const char *const names[] = {
		[LOG_STATE_RUNNING] = "running",
		[LOG_STATE_READY] = "ready",
		[LOG_STATE_BLOCKED] = "blocked",
		[LOG_STATE_STOPPED] = "stopped",
	};

	return names[state];
}
