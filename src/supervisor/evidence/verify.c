/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verification: see verify.h. There is no verdict without evidence: a run without events, one that was interrupted, timed out or failed
 * gives "no result".
 */
#include "supervisor/evidence/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/evidence/verify_internal.h"
#include "supervisor/exit_codes.h"
#include "supervisor/launch.h"

/* ---- one run ---- */

struct streams {
	int in, out, error, log;
};

static void close_streams(struct streams *s)
{
	cleanup_close(&s->in);
	cleanup_close(&s->out);
	cleanup_close(&s->error);
	cleanup_close(&s->log);
}

static int open_stream(const struct verify *v, const char *name, int flags, struct error *err)
{
	char path[VERIFY_PATH_SIZE];
	int fd = open(verify_path(v, path, 0, name), flags | O_CLOEXEC, 0600);

	return fd < 0 ? error_errno(err, errno, "%s", path) : fd;
}

static int open_streams(const struct verify *v, struct streams *s, struct error *err)
{
	static const int create = O_RDWR | O_CREAT | O_EXCL;

	s->in = open_stream(v, "stdin", O_RDONLY, err);
	if (s->in < 0)
		return s->in;
	s->out = open_stream(v, "stdout", create, err);
	if (s->out < 0)
		return s->out;
	s->error = open_stream(v, "stderr", create, err);
	if (s->error < 0)
		return s->error;
	s->log = open_stream(v, "log.jsonl.zst", create, err);
	return s->log < 0 ? s->log : 0;
}

/* The container is made, the program has not begun. */
static int on_created(void *arg, pid_t pid, struct error *err)
{
	struct verify *v = arg;
	struct places *places = &v->places[v->done > 0];
	char path[VERIFY_PATH_SIZE];
	int r;

	places_clear(places);
	r = places_find(places, pid, err);
	if (r < 0 || v->done > 0)
		return r;
	r = places_note(places);
	if (r == 0)
		r = place_note(&v->upper_before, verify_path(v, path, 0, "files/upper"));
	return r < 0 ? error_errno(err, -r, "noting what there is before the program") : 0;
}

static void prepare(struct verify *v, struct observed *ob, const struct streams *s, struct run_request *request, struct container_spec *spec)
{
	spec->stdio[0] = s->in;
	spec->stdio[1] = s->out;
	spec->stdio[2] = s->error;
	spec->terminal = false;
	spec->hidden = v->hidden;
	request->quiet |= v->done > 0; /* said once */
	request->created = on_created;
	request->created_arg = v;
	ob->log_fd = s->log;
	ob->compress = true;
	ob->progress_fd = v->o->quiet ? -1 : STDERR_FILENO;
	ob->run = v->done + 1;
	ob->runs = (unsigned)v->o->verify;
	ob->clock = &v->clock;
}

static int make_and_run(struct verify *v, struct observed *ob, const struct streams *s, struct error *err)
{
	struct container_spec *spec;
	struct run_request *request;
	char layer[VERIFY_PATH_SIZE];
	int r;

	if (mkdir(verify_path(v, layer, 0, "files"), 0700) < 0)
		return error_errno(err, errno, "%s", layer);
	r = v->maker->make(v->maker->arg, layer, &request, &spec, err);
	if (r == 0) {
		prepare(v, ob, s, request, spec);
		log_info("run %u of %u", ob->run, ob->runs);
		r = observed_run(ob, v->o, request, err);
	}
	v->maker->unmake(v->maker->arg);
	return r;
}

static int run_once(struct verify *v, struct observed *ob, struct error *err)
{
	_cleanup_(close_streams) struct streams s = { -1, -1, -1, -1 };
	int r;

	*ob = (struct observed)OBSERVED_NOTHING;
	ob->result.exit_code = EXIT_CODE_TOOL;
	r = open_streams(v, &s, err);
	if (r == 0)
		r = make_and_run(v, ob, &s, err);
	if (r == 0)
		r = verify_put_aside(v, ++v->done, err);
	v->uncontrolled += tally_total(&ob->tally);
	return r;
}

/* Why a run that has ended proves nothing; NULL when it does. */
static const char *why_no_evidence(const struct observed *ob)
{
	if (ob->interrupted)
		return "interrupted from outside";
	if (ob->result.end == RUN_TIMEOUT)
		return "the time limit was over";
	if (ob->result.end == RUN_KILLED)
		return "killed from outside";
	return ob->records < 2 ? "there were no events" : NULL;
}

static int no_result(struct verify *v, const char *why)
{
	v->verdict = VERIFY_NO_RESULT;
	(void)snprintf(v->reason, sizeof(v->reason), "%s", why);
	return -ECANCELED;
}

/* Runs and compares until there is a verdict. Failures end in VERIFY_NO_RESULT. */
static int run_all(struct verify *v)
{
	struct error err = { 0 };
	struct observed ob;
	int r;

	while (v->done < v->o->verify) {
		r = run_once(v, v->done ? &ob : &v->first, &err);
		if (r < 0)
			return no_result(v, err.text);
		if (why_no_evidence(v->done == 1 ? &v->first : &ob))
			return no_result(v, why_no_evidence(v->done == 1 ? &v->first : &ob));
		if (v->done == 1)
			continue;
		r = verify_compare(v, &ob, &err);
		if (r < 0)
			return no_result(v, err.text);
		if (r == 0) {
			v->verdict = VERIFY_DIFFERENT;
			v->differing = v->done;
			host_changes_find(&v->outside, &v->sources, (const char *const[]){ v->dir, v->layers, NULL });
			return 0;
		}
		verify_forget_run(v, v->done);
	}
	v->verdict = VERIFY_EQUAL;
	return 0;
}

/* ---- the verdict ---- */

static int write_verdict(const struct verify *v, struct error *err)
{
	_cleanup_free_ char *json = NULL, *text = NULL;
	json_t *root;
	int r;

	if (!v->o->verify_json)
		return 0;
	root = verify_to_json(v);
	if (root)
		json = json_dumps(root, JSON_INDENT(2));
	json_decref(root);
	if (json && asprintf(&text, "%s\n", json) < 0)
		text = NULL;
	r = text ? fd_replace_file(v->o->verify_json, text) : -ENOMEM;
	return r < 0 ? error_errno(err, -r, "--verify-json: %s", v->o->verify_json) : 0;
}

/* The first run's output becomes ours. */
static int pass_on(const struct verify *v, const char *name, int to, struct error *err)
{
	char path[VERIFY_PATH_SIZE], target[FD_NAME_SIZE];
	_cleanup_close_ int fd = open(verify_path(v, path, 1, name), O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	r = fd_copy(fd, to);
	return r < 0 ? error_errno(err, -r, "passing on %s to %s", path, fd_name(to, target)) : 0;
}

static int conclude(struct verify *v, struct error *err)
{
	int r = 0;

	if (v->verdict == VERIFY_EQUAL) {
		r = pass_on(v, "stdout", STDOUT_FILENO, err);
		if (r == 0)
			r = pass_on(v, "stderr", STDERR_FILENO, err);
	}
	if (r == 0)
		r = write_verdict(v, err);
	if (r == 0)
		verify_say(v);
	return r;
}

static int exit_code(const struct verify *v)
{
	if (v->verdict == VERIFY_EQUAL)
		return v->first.result.exit_code;
	if (v->verdict == VERIFY_DIFFERENT)
		return EXIT_CODE_DIFFERENCE;
	return v->first.result.exit_code == EXIT_CODE_NOT_FOUND || v->first.result.exit_code == EXIT_CODE_NOT_EXECUTABLE
		       ? v->first.result.exit_code
		       : EXIT_CODE_TOOL;
}

/* "No result" is on record before anything can fail, so that an old verdict is never taken for a new one. */
int verify_with(const struct run_options *o, const struct verify_maker *maker, struct error *err)
{
	struct verify v = { .o = o, .maker = maker, .first = OBSERVED_NOTHING };
	int r = 0, status;

	(void)snprintf(v.reason, sizeof(v.reason), "the verification has not ended");
	/* A pipe or a device keeps nothing that could be taken for this run's verdict, and is to get one document. */
	if (o->verify_json && fd_is_plain_file(o->verify_json))
		r = write_verdict(&v, err);
	if (r == 0)
		r = maker->sources(maker->arg, &v.sources, err);
	if (r == 0)
		r = verify_make_dir(&v, err);
	if (r == 0)
		r = verify_make_layers(&v, err);
	if (r == 0)
		r = verify_capture_stdin(&v, err);
	if (r == 0)
		r = host_changes_start(&v.outside, v.layers, err);
	if (r == 0) {
		progress_clock_start(&v.clock);
		(void)run_all(&v);
		progress_stop();
		r = conclude(&v, err);
	}
	if (r == 0)
		*err = (struct error){ 0 };
	status = r < 0 ? EXIT_CODE_TOOL : exit_code(&v);
	verify_end_files(&v);
	for (int i = 0; i < 2; i++)
		places_clear(&v.places[i]);
	place_contents_clear(&v.upper_before);
	changes_clear(&v.changed);
	strv_clear(&v.sources);
	log_diff_result_deinit(&v.log);
	return status;
}

/* ---- the program of hermit run ---- */

struct program {
	struct run_options o; /* as asked, but everything that is written goes to a layer */
	char *fs;
	struct launch launch;
};

/* What cannot be found out here is said by the first run. */
static int program_sources(void *arg, struct strv *list, struct error *err)
{
	const struct program *p = arg;
	_cleanup_launch_ struct launch launch = { 0 };
	struct error ignored = { 0 };
	int r;

	/* The caller's directory is in sight, too, where another one is worked in. */
	r = strv_add(list, ".");
	if (r == 0 && p->o.workdir && access(p->o.workdir, F_OK) == 0)
		r = strv_add(list, p->o.workdir);
	if (r == 0 && launch_init(&launch, &p->o, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < launch.n_mounts && r == 0; i++)
		if (launch.mounts[i].source)
			r = strv_add(list, launch.mounts[i].source);
	return r < 0 ? error_errno(err, -r, "--verify") : 0;
}

static int make_program(void *arg, const char *layer, struct run_request **ret, struct container_spec **ret_spec, struct error *err)
{
	struct program *p = arg;
	int r;

	if (asprintf(&p->fs, "overlay:%s", layer) < 0) {
		p->fs = NULL;
		return error_errno(err, ENOMEM, "verification");
	}
	p->o.fs = p->fs;
	*ret = &p->launch.request;
	*ret_spec = &p->launch.spec;
	r = launch_init(&p->launch, &p->o, err);
	p->launch.spec.cow_binds = true;
	return r;
}

static void unmake_program(void *arg)
{
	struct program *p = arg;

	launch_clear(&p->launch);
	free(p->fs);
	p->fs = NULL;
}

int verify_program(const struct run_options *o, const struct verify_names *names, struct error *err)
{
	struct program p = { .o = *o };
	const struct verify_maker maker = { .sources = program_sources, .make = make_program, .unmake = unmake_program, .arg = &p,
					    .names = names ? *names : (struct verify_names){ 0 } };

	p.o.writable = (struct strv){ 0 };
	p.o.terminal = false;
	return verify_with(o, &maker, err);
}

int verify_main(const struct run_options *o)
{
	struct error err = { 0 };
	int status = verify_program(o, NULL, &err);

	if (err.code)
		log_error("%s", err.text);
	return status;
}
