/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit log-export: an event log for Perfetto, or as a page with a timeline. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/log_arguments.h"
#include "trace/log_export.h"

enum { KEY_FORMAT = LOG_KEY_OWN, KEY_MAX_EVENTS, KEY_TITLE };

/* More events than this make a page that browsers are slow with. */
enum { HTML_EVENTS = 200000 };

enum format { FORMAT_NONE, FORMAT_PERFETTO, FORMAT_HTML };

struct arguments {
	const char *path, *output, *title;
	enum format format;
	bool has_max;
	struct log_input input;
	struct log_export_options export;
};

static const struct argp_option options[] = {
	{ "format", KEY_FORMAT, "FORMAT", 0, "perfetto (also for chrome://tracing) or html (default: "
	  "by the end of the output's name: .json, .perfetto, .html)", 0 },
	{ "output", 'o', "FILE", 0, "where to write (default: '-', standard output)", 0 },
	{ "max-events", KEY_MAX_EVENTS, "N", 0, "stop after N events, 0: never (default: 200000 for html, 0 for perfetto)", 0 },
	{ "title", KEY_TITLE, "TEXT", 0, "title of the page (default: the name of the log)", 0 },
	{ 0 },
};

static enum format parse_format(const char *name)
{
	if (!strcmp(name, "perfetto"))
		return FORMAT_PERFETTO;
	return !strcmp(name, "html") ? FORMAT_HTML : FORMAT_NONE;
}

/* By the name of what is written, where no format is asked for. */
static enum format format_of(const char *output)
{
	static const struct {
		const char *suffix;
		enum format format;
	} suffixes[] = {
		{ ".html", FORMAT_HTML },
		{ ".htm", FORMAT_HTML },
		{ ".json", FORMAT_PERFETTO },
		{ ".perfetto", FORMAT_PERFETTO },
	};
	const char *dot = output ? strrchr(output, '.') : NULL;

	for (size_t i = 0; dot && i < ARRAY_SIZE(suffixes); i++)
		if (!strcmp(dot, suffixes[i].suffix))
			return suffixes[i].format;
	return FORMAT_NONE;
}

static error_t parse_end(struct arguments *a, struct argp_state *state)
{
	if (!a->path)
		argp_error(state, "which log? ('-': standard input)");
	if (a->format == FORMAT_NONE)
		a->format = format_of(a->output);
	if (a->format == FORMAT_NONE)
		argp_error(state, "which format? --format=perfetto or --format=html, or a name for --output that ends in .json or .html");
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		return 0;
	case KEY_FORMAT:
		a->format = parse_format(arg);
		if (a->format == FORMAT_NONE)
			argp_error(state, "--format: there is no '%s'; known: perfetto, html", arg);
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case KEY_MAX_EVENTS:
		a->has_max = true;
		a->export.max_events = command_number("max-events", arg, 0, UINT64_MAX, state);
		return 0;
	case KEY_TITLE:
		a->title = arg;
		return 0;
	case ARGP_KEY_ARG:
		log_take_path(&a->path, arg, state);
		return 0;
	case ARGP_KEY_END:
		return parse_end(a, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { LOG_INPUT_CHILD, { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "LOG",
	.doc = "Turns an event log (--log-events of hermit run) into a trace of threads over virtual time: as a file for "
	       "https://ui.perfetto.dev and chrome://tracing, or as one page with everything in it.\v"
	       "hermit-log-export(1) says more.",
	.children = children,
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int write_export(struct arguments *a, struct log_reader *r, FILE *f, struct error *err)
{
	bool cut = false;
	int ret;

	if (a->format == FORMAT_HTML) {
		a->export.max_events = a->has_max ? a->export.max_events : HTML_EVENTS;
		ret = log_export_html(r, &a->export, a->title ? a->title : base_name(log_reader_name(r)), f, &cut, err);
	} else {
		ret = log_export_perfetto(r, &a->export, f, &cut, err);
	}
	if (ret == 0 && cut)
		log_warning("only the first %llu events are in the output: see --max-events and --turns",
			    (unsigned long long)a->export.max_events);
	return ret;
}

/* What is left of a failed export is removed: half a page looks like a whole one. */
static int export_log(void *arguments, struct error *err)
{
	struct arguments *a = arguments;
	_cleanup_(cleanup_log_reader) struct log_reader *r = NULL;
	bool standard = !a->output || !strcmp(a->output, "-");
	int ret, closed;
	FILE *f;

	ret = log_input_open(&a->input, a->path, &r, err);
	if (ret < 0)
		return ret;
	f = standard ? stdout : fopen(a->output, "we");
	if (!f)
		return error_errno(err, errno, "%s", a->output);
	ret = write_export(a, r, f, err);
	closed = log_close_output(f);
	if (ret == 0 && closed < 0)
		ret = error_errno(err, -closed, "%s", standard ? "standard output" : a->output);
	if (ret < 0 && !standard && fd_is_plain_file(a->output))
		(void)unlink(a->output);
	return ret;
}

int cmd_log_export(int argc, char **argv)
{
	struct arguments a = { 0 };

	a.input.filter = &a.export.filter;
	return log_command("log-export", &argp, argc, argv, &a, export_log);
}
