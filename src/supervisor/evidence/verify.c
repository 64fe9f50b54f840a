/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verification: see verify.h. Its files are in one directory:
 *
 *	stdin              what each run reads
 *	stdout stderr      of the run that is going on: names that a guest could see are the same in each
 *	log.jsonl.zst
 *	run1.stdout ...    the same of a run that is over
 *
 * The layers with what the runs have written (files, run1.files ...) are in another one, which must not be below the guest's working directory on
 * the same file system: the container could not keep apart what is written there.
 *
 * There is no verdict without evidence: a run without events, one that was interrupted, timed out or failed gives "no result".
 */
#include "supervisor/evidence/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "config.h"
#include "supervisor/evidence/compare.h"
#include "supervisor/exit_codes.h"
#include "supervisor/launch.h"
#include "supervisor/evidence/observed.h"
#include "supervisor/explore/places.h"
#include "supervisor/evidence/report.h"
#include "trace/log_diff.h"

enum { PATH_SIZE = 4096, CONTEXT = 5, WALK_FDS = 16 };

enum verdict_word { NO_RESULT, EQUAL, DIFFERENT };

struct verify {
	const struct run_options *o;
	char dir[PATH_SIZE], layers[PATH_SIZE];
	struct observed first; /* the run that all others are compared with */
	unsigned done;         /* runs that are over */
	uint64_t uncontrolled; /* in all of them */
	uint64_t files;        /* changed files that were compared */
	struct places places[2]; /* in memory: of the first run, of the one that goes on */
	enum verdict_word verdict;
	char reason[1200];     /* NO_RESULT: why */
	unsigned differing;    /* DIFFERENT: number of the run */
	struct difference status, output, errors, changes, events; /* "" where nothing differs */
	struct log_diff_result log;
};

/* ---- files of the verification ---- */

/* What a run leaves, under its name while it goes on. */
static const char *const leavings[] = { "stdout", "stderr", "log.jsonl.zst", "files" };

/* Of a run that is over, or (0) of the one that goes on. */
static const char *path_in(const struct verify *v, char path[PATH_SIZE], unsigned run, const char *name)
{
	const char *dir = strncmp(name, "files", 5) != 0 ? v->dir : v->layers;

	if (run)
		(void)snprintf(path, PATH_SIZE, "%.3900s/run%u.%s", dir, run, name);
	else
		(void)snprintf(path, PATH_SIZE, "%.3900s/%s", dir, name);
	return path;
}

/* Can layers be kept below base while the guest works in cwd? */
static bool is_apart(const char *base, const char *cwd)
{
	char real_base[PATH_SIZE], real_cwd[PATH_SIZE];
	struct stat base_st, cwd_st;
	size_t len;

	if (!realpath(base, real_base) || !realpath(cwd, real_cwd) || stat(real_base, &base_st) < 0 || stat(real_cwd, &cwd_st) < 0)
		return false;
	if (access(real_base, W_OK | X_OK) < 0)
		return false;
	len = strlen(real_cwd);
	if (strncmp(real_base, real_cwd, len) != 0)
		return true;
	if (len > 1 && real_base[len] != '/' && real_base[len] != '\0')
		return true;
	return base_st.st_dev != cwd_st.st_dev;
}

static int make_layers_dir(struct verify *v, struct error *err)
{
	const char *bases[] = { getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm" };
	const char *cwd = v->o->workdir ? v->o->workdir : ".";

	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		if (!bases[i] || bases[i][0] != '/' || !is_apart(bases[i], cwd))
			continue;
		(void)snprintf(v->layers, sizeof(v->layers), "%.3800s/hermit-verify-files-XXXXXX", bases[i]);
		if (mkdtemp(v->layers))
			return 0;
	}
	v->layers[0] = '\0';
	return error_set(err, ENOENT, "--verify: no directory to keep changed files in (set TMPDIR to one outside of the working directory)");
}

static int make_dir(struct verify *v, struct error *err)
{
	const char *tmp = getenv("TMPDIR");

	if (v->o->verify_dir) {
		if (mkdir(v->o->verify_dir, 0700) < 0)
			return error_errno(err, errno, "--verify-dir: %s", v->o->verify_dir);
		if (!realpath(v->o->verify_dir, v->dir))
			return error_errno(err, errno, "--verify-dir: %s", v->o->verify_dir);
		return 0;
	}
	(void)snprintf(v->dir, sizeof(v->dir), "%.3800s/hermit-verify-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	return mkdtemp(v->dir) ? 0 : error_errno(err, errno, "%s", v->dir);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	if (type == FTW_DNR) {
		(void)chmod(path, 0700);
		return nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
	}
	if (remove(path) < 0 && errno != ENOENT)
		log_debug("cannot remove %s: %m", path);
	return 0;
}

static void remove_tree(const char *path)
{
	(void)nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
}

static int copy(int from, int to)
{
	char buf[65536];
	ssize_t n;
	int r;

	do {
		n = fd_read_full(from, buf, sizeof(buf));
		r = n < 0 ? (int)n : fd_write_full(to, buf, (size_t)n);
	} while (n > 0 && r == 0);
	return r;
}

/* Standard input until its end; from a terminal nothing is read. */
static int capture_stdin(struct verify *v, struct error *err)
{
	char path[PATH_SIZE];
	_cleanup_close_ int fd = open(path_in(v, path, 0, "stdin"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (isatty(STDIN_FILENO) || fcntl(STDIN_FILENO, F_GETFD) < 0)
		return 0;
	r = copy(STDIN_FILENO, fd);
	return r < 0 ? error_errno(err, -r, "capturing standard input") : 0;
}

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
	char path[PATH_SIZE];
	int fd = open(path_in(v, path, 0, name), flags | O_CLOEXEC, 0600);

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

/* The options of each run: as asked, but everything that is written goes to a layer of its own. */
static int launch_run(const struct verify *v, struct run_options *o, char **fs, struct launch *launch, struct error *err)
{
	char path[PATH_SIZE];

	if (mkdir(path_in(v, path, 0, "files"), 0700) < 0)
		return error_errno(err, errno, "%s", path);
	if (asprintf(fs, "overlay:%s", path) < 0) {
		*fs = NULL;
		return error_errno(err, ENOMEM, "verification");
	}
	*o = *v->o;
	o->fs = *fs;
	o->writable = (struct strv){ 0 };
	o->terminal = false;
	return launch_init(launch, o, err);
}

static int put_aside(const struct verify *v, unsigned run, struct error *err)
{
	char from[PATH_SIZE], to[PATH_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(leavings); i++)
		if (rename(path_in(v, from, 0, leavings[i]), path_in(v, to, run, leavings[i])) < 0)
			return error_errno(err, errno, "%s", to);
	return 0;
}

/* The container is made, the program has not begun. */
static int on_created(void *arg, pid_t pid, struct error *err)
{
	struct verify *v = arg;
	struct places *places = &v->places[v->done > 0];

	places_clear(places);
	return places_find(places, pid, err);
}

static int run_once(struct verify *v, struct observed *ob, struct error *err)
{
	_cleanup_(close_streams) struct streams s = { -1, -1, -1, -1 };
	_cleanup_launch_ struct launch launch = { 0 };
	_cleanup_free_ char *fs = NULL;
	struct run_options o;
	int r;

	*ob = (struct observed)OBSERVED_NOTHING;
	r = open_streams(v, &s, err);
	if (r == 0)
		r = launch_run(v, &o, &fs, &launch, err);
	if (r < 0) {
		ob->result.exit_code = EXIT_CODE_TOOL;
		return r;
	}
	launch.spec.stdio[0] = s.in;
	launch.spec.stdio[1] = s.out;
	launch.spec.stdio[2] = s.error;
	launch.request.quiet |= v->done > 0; /* said once */
	launch.request.created = on_created;
	launch.request.created_arg = v;
	ob->log_fd = s.log;
	ob->compress = true;
	ob->progress_fd = v->o->quiet ? -1 : STDERR_FILENO;
	ob->run = v->done + 1;
	ob->runs = (unsigned)v->o->verify;
	r = observed_run(ob, v->o, &launch.request, err);
	if (r == 0)
		r = put_aside(v, ++v->done, err);
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

/* ---- comparing ---- */

static int compare_status(const struct run_result *a, const struct run_result *b, struct difference *what)
{
	if (a->end == b->end && a->exit_code == b->exit_code && (a->end != RUN_EXITED || a->wait_status == b->wait_status))
		return 1;
	(void)snprintf(what->text, sizeof(what->text), "%s with status %d, and %s with status %d", run_end_name(a->end), a->exit_code,
		       run_end_name(b->end), b->exit_code);
	return 0;
}

static int compare_stream(const struct verify *v, const char *name, struct difference *what, struct error *err)
{
	char path[PATH_SIZE];
	_cleanup_close_ int a = open(path_in(v, path, 1, name), O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int b = open(path_in(v, path, v->done, name), O_RDONLY | O_CLOEXEC);

	if (a < 0 || b < 0)
		return error_errno(err, errno, "%s", path);
	return compare_contents(a, b, what, err);
}

/* What is in memory only. The container's own directories, which are not empty to begin with, are no changed files. */
static int compare_places(struct verify *v, struct difference *what, struct error *err)
{
	uint64_t entries;
	int r = 1;

	for (size_t i = 0; i < v->places[0].n && r > 0; i++) {
		const char *path = v->places[0].items[i].path;
		int other = places_fd(&v->places[1], path);

		if (other < 0)
			return error_set(err, ENOENT, "comparing %s: it is in one container only", path);
		r = compare_trees(v->places[0].items[i].fd, other, path, &v->places[0].mounts, &entries, what, err);
		v->files += strcmp(path, "/") != 0 && strcmp(path, "/dev") != 0 ? entries : 0;
	}
	return r;
}

static int compare_changes(struct verify *v, struct difference *what, struct error *err)
{
	char a[PATH_SIZE], b[PATH_SIZE];
	int r;

	r = compare_layers(path_in(v, a, 1, "files/upper"), path_in(v, b, v->done, "files/upper"), &v->files, what, err);
	return r > 0 ? compare_places(v, what, err) : r;
}

DEFINE_CLEANUP(log_reader, struct log_reader, log_reader_free)

static int compare_events(struct verify *v, struct difference *what, struct error *err)
{
	_cleanup_(cleanup_log_reader) struct log_reader *a = NULL;
	_cleanup_(cleanup_log_reader) struct log_reader *b = NULL;
	char label[24], path[PATH_SIZE];
	struct log_diff_options options = { .labels = { "run 1", label }, .context = CONTEXT };
	int r;

	(void)snprintf(label, sizeof(label), "run %u", v->done);
	r = log_reader_open(path_in(v, path, 1, "log.jsonl.zst"), &a, err);
	if (r == 0)
		r = log_reader_open(path_in(v, path, v->done, "log.jsonl.zst"), &b, err);
	if (r == 0) {
		log_diff_result_deinit(&v->log);
		r = log_diff(a, b, &options, &v->log, err);
	}
	if (r < 0)
		return r;
	if (v->log.kind == LOG_DIFF_NONE)
		return 1;
	(void)snprintf(what->text, sizeof(what->text), "%s: %s", log_difference_name(v->log.kind), v->log.sentence);
	return 0;
}

/* The run that has just ended against the first one. 1 equal, 0 different, -errno. */
static int compare_runs(struct verify *v, const struct observed *ob, struct error *err)
{
	int r, equal;

	equal = compare_status(&v->first.result, &ob->result, &v->status);
	r = compare_stream(v, "stdout", &v->output, err);
	equal &= r;
	if (r >= 0) {
		r = compare_stream(v, "stderr", &v->errors, err);
		equal &= r;
	}
	if (r >= 0) {
		r = compare_changes(v, &v->changes, err);
		equal &= r;
	}
	if (r >= 0) {
		r = compare_events(v, &v->events, err);
		equal &= r;
	}
	return r < 0 ? r : equal;
}

/* What the finished run left is no longer needed. */
static void forget_run(const struct verify *v, unsigned run)
{
	char path[PATH_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(leavings); i++)
		remove_tree(path_in(v, path, run, leavings[i]));
}

static int no_result(struct verify *v, const char *why)
{
	v->verdict = NO_RESULT;
	(void)snprintf(v->reason, sizeof(v->reason), "%s", why);
	return -ECANCELED;
}

/* Runs and compares until there is a verdict. Failures end in NO_RESULT. */
static int run_all(struct verify *v, struct error *err)
{
	struct observed ob;
	int r;

	while (v->done < v->o->verify) {
		r = run_once(v, v->done ? &ob : &v->first, err);
		if (r < 0)
			return no_result(v, err->text);
		if (why_no_evidence(v->done == 1 ? &v->first : &ob))
			return no_result(v, why_no_evidence(v->done == 1 ? &v->first : &ob));
		if (v->done == 1)
			continue;
		r = compare_runs(v, &ob, err);
		if (r < 0)
			return no_result(v, err->text);
		if (r == 0) {
			v->verdict = DIFFERENT;
			v->differing = v->done;
			return 0;
		}
		forget_run(v, v->done);
	}
	v->verdict = EQUAL;
	return 0;
}

/* ---- the verdict ---- */

static void say_difference(const char *what, const struct difference *d)
{
	if (d->text[0])
		(void)fprintf(stderr, "  %s: %s\n", what, d->text);
}

static void say_different(const struct verify *v)
{
	char label[24];
	struct log_diff_options options = { .labels = { "run 1", label } };

	(void)snprintf(label, sizeof(label), "run %u", v->differing);
	(void)fprintf(stderr, "NOT equal: run %u differs from run 1\n", v->differing);
	say_difference("end", &v->status);
	say_difference("standard output", &v->output);
	say_difference("standard error", &v->errors);
	say_difference("files", &v->changes);
	say_difference("events", &v->events);
	if (v->log.kind != LOG_DIFF_NONE)
		log_diff_print(stderr, &v->log, &options, isatty(STDERR_FILENO));
	(void)fprintf(stderr, "kept: output and logs in %s, changed files in %s\n", v->dir, v->layers);
}

static void say_verdict(const struct verify *v)
{
	switch (v->verdict) {
	case NO_RESULT:
		(void)fprintf(stderr, "no result after %u of %" PRIu64 " runs: %s\n", v->done, v->o->verify, v->reason);
		return;
	case DIFFERENT:
		say_different(v);
		break;
	case EQUAL:
		(void)fprintf(stderr, "verified: %u runs are equal: exit status %d, %" PRIu64 " events, %" PRIu64 " changed files\n", v->done,
			      v->first.result.exit_code, v->first.records, v->files);
		break;
	}
	if (v->uncontrolled)
		(void)fprintf(stderr, "note: %" PRIu64 " happenings were not under control: another time they can differ\n",
			      v->uncontrolled);
}

static json_t *text_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

/* The difference of the logs, as log_diff_json() writes it. */
static json_t *log_to_json(const struct verify *v)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *f;

	if (v->log.kind == LOG_DIFF_NONE)
		return json_null();
	f = open_memstream(&text, &size);
	if (!f)
		return json_null();
	log_diff_json(f, &v->log);
	if (fclose(f) != 0)
		return json_null();
	return json_loads(text, 0, NULL) ?: json_null();
}

static json_t *difference_to_json(const struct verify *v)
{
	if (v->verdict != DIFFERENT)
		return json_null();
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "run", (int)v->differing, "end", text_or_null(v->status.text), "stdout",
			 text_or_null(v->output.text), "stderr", text_or_null(v->errors.text), "files", text_or_null(v->changes.text),
			 "events", text_or_null(v->events.text), "log", log_to_json(v));
}

static json_t *verdict_to_json(const struct verify *v)
{
	static const char *const words[] = { [NO_RESULT] = "no_result", [EQUAL] = "equal", [DIFFERENT] = "different" };
	_cleanup_free_ char *command = run_options_command_line(v->o);
	char fingerprint[HASH_HEX_SIZE] = "";

	(void)run_options_fingerprint(v->o, fingerprint);
	return json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:b, s:i, s:i, s:I, s:I, s:I, s:i, s:o, s:o, s:o, s:o}", "format", "hermit-verify", "version",
			 1, "tool", PACKAGE_VERSION, "command", command ?: "", "config", fingerprint, "verdict", words[v->verdict],
			 "verified", v->verdict == EQUAL, "runs_wanted", (int)v->o->verify, "runs", (int)v->done, "events",
			 (json_int_t)v->first.records, "changed_files", (json_int_t)v->files, "uncontrolled",
			 (json_int_t)v->uncontrolled, "exit_code", v->first.result.exit_code, "reason", text_or_null(v->verdict == NO_RESULT ? v->reason : ""),
			 "difference", difference_to_json(v), "kept", v->verdict == DIFFERENT ? json_string(v->dir) : json_null(),
			 "kept_files", v->verdict == DIFFERENT ? json_string(v->layers) : json_null());
}

static int write_verdict(const struct verify *v, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	json_t *root;
	int r;

	if (!v->o->verify_json)
		return 0;
	root = verdict_to_json(v);
	if (root)
		text = json_dumps(root, JSON_INDENT(2));
	json_decref(root);
	r = text ? fd_replace_file(v->o->verify_json, text) : -ENOMEM;
	return r < 0 ? error_errno(err, -r, "--verify-json: %s", v->o->verify_json) : 0;
}

/* The first run's output becomes ours. */
static int pass_on(const struct verify *v, const char *name, int to, struct error *err)
{
	char path[PATH_SIZE];
	_cleanup_close_ int fd = open(path_in(v, path, 1, name), O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	r = copy(fd, to);
	return r < 0 ? error_errno(err, -r, "passing on %s", name) : 0;
}

static int conclude(struct verify *v, struct error *err)
{
	int r = 0;

	if (v->verdict == EQUAL) {
		r = pass_on(v, "stdout", STDOUT_FILENO, err);
		if (r == 0)
			r = pass_on(v, "stderr", STDERR_FILENO, err);
	}
	if (r == 0)
		r = write_verdict(v, err);
	if (r == 0)
		say_verdict(v);
	return r;
}

static int exit_code(const struct verify *v)
{
	if (v->verdict == EQUAL)
		return v->first.result.exit_code;
	if (v->verdict == DIFFERENT)
		return EXIT_CODE_DIFFERENCE;
	return v->first.result.exit_code == EXIT_CODE_NOT_FOUND || v->first.result.exit_code == EXIT_CODE_NOT_EXECUTABLE
		       ? v->first.result.exit_code
		       : EXIT_CODE_TOOL;
}

/* "No result" is on record before anything can fail, so that an old verdict is never taken for a new one. */
int verify_main(const struct run_options *o)
{
	struct verify v = { .o = o, .first = OBSERVED_NOTHING };
	struct error err = { 0 };
	int r = 0, status;

	(void)snprintf(v.reason, sizeof(v.reason), "the verification has not ended");
	/* A pipe or a device keeps nothing that could be taken for this run's verdict, and is to get one document. */
	if (o->verify_json && fd_is_plain_file(o->verify_json))
		r = write_verdict(&v, &err);
	if (r == 0)
		r = make_dir(&v, &err);
	if (r == 0)
		r = make_layers_dir(&v, &err);
	if (r == 0)
		r = capture_stdin(&v, &err);
	if (r == 0) {
		(void)run_all(&v, &err);
		r = conclude(&v, &err);
	}
	if (r < 0)
		log_error("%s", err.text);
	status = r < 0 ? EXIT_CODE_TOOL : exit_code(&v);
	if (v.dir[0] && v.verdict != DIFFERENT)
		remove_tree(v.dir);
	if (v.layers[0] && v.verdict != DIFFERENT)
		remove_tree(v.layers);
	for (int i = 0; i < 2; i++)
		places_clear(&v.places[i]);
	log_diff_result_deinit(&v.log);
	return status;
}
