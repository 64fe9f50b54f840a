/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hooks: see hook_command.h. An engine waits for its hooks, some without a limit of their own: everything here is over after limit_s seconds,
 * by an alarm that ends the process.
 */
#include "supervisor/agent/hook_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "oci/state.h"
#include "supervisor/oci/bundle.h"
#include "supervisor/agent/hook_config.h"
#include "supervisor/agent/hook_files.h"
#include "supervisor/options/options.h"

enum { MAX_DOCUMENT = 16 << 20, STATUS_FAILED = 1, PATH_SIZE = 4096 };

static void on_alarm(int signo)
{
	static const char text[] = "hermit-supervisor: hook: the time limit is over (--limit): the engine's document has not come, or the "
				   "agent takes no more connections\n";
	ssize_t n;

	(void)signo;
	n = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)n;
	_exit(STATUS_FAILED);
}

/* With a NUL behind it, which is not counted. */
static int read_document(char **ret_text, size_t *ret_len, struct error *err)
{
	_cleanup_free_ char *text = malloc(MAX_DOCUMENT + 1);
	ssize_t n;

	if (!text)
		return error_errno(err, ENOMEM, "standard input");
	n = fd_read_full(STDIN_FILENO, text, MAX_DOCUMENT + 1);
	if (n < 0)
		return error_errno(err, (int)-n, "standard input");
	if (n > MAX_DOCUMENT)
		return error_set(err, EFBIG, "the document on standard input has more than %d bytes", MAX_DOCUMENT);
	text[n] = '\0';
	*ret_len = (size_t)n;
	*ret_text = take_ptr(text);
	return 0;
}

/*
 * Nobody there would let the runtime fail later, or hang: old ones do. Looked for at createRuntime and not before: of that hook engines show what
 * it says.
 */
static int check_agent(const char *path, struct error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(err, ENAMETOOLONG, "the agent's socket '%s' has too long a name", path);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return error_errno(err, errno, "no agent listens at %s (start it: hermit-supervisor agent --listen=%s)", path, path);
	return 0;
}

/*
 * A wrong value is said now, and not by a container that does not start; and not by precreate, although that could: engines throw away what such a
 * hook says.
 */
static int check_annotations(const struct oci_state *state, struct error *err)
{
	_cleanup_run_options_ struct run_options o = { 0 };
	const size_t prefix = strlen(BUNDLE_ANNOTATION_PREFIX);
	int r;

	r = run_options_init(&o);
	for (size_t i = 0; i < state->annotations.count && r == 0; i++) {
		const char *name = state->annotations.items[i].key;
		const struct option_spec *spec;

		if (strncmp(name, BUNDLE_ANNOTATION_PREFIX, prefix) != 0)
			continue;
		spec = option_find(name + prefix);
		if (spec && bundle_takes_annotation(spec))
			r = run_options_set(&o, spec, state->annotations.items[i].value, err);
		if (r < 0)
			error_prefix(err, "annotations.%s", name);
	}
	return r;
}

static int is_wanted(const char *text, size_t len, bool *ret, struct error *err)
{
	_cleanup_free_ char *value = NULL;
	int r;

	r = hook_config_annotation(text, len, HOOK_ANNOTATION, &value, err);
	*ret = value && !strcmp(value, "true");
	return r;
}

static int rewrite(const struct hook_request *request, const char *text, size_t len, char **ret_text, struct error *err)
{
	struct hook_rewrite rw = {
		.socket = request->socket,
		.hostname = "hermit",
	};
	int r;

	r = hook_config_rewrite(text, len, &rw, ret_text, err);
	for (size_t i = 0; i < rw.notes.count; i++)
		log_warning("%s", rw.notes.items[i]);
	strv_clear(&rw.notes);
	return r;
}

static int precreate(const struct hook_request *request, struct error *err)
{
	_cleanup_free_ char *text = NULL, *changed = NULL;
	size_t len;
	bool wanted;
	int r;

	r = read_document(&text, &len, err);
	if (r == 0)
		r = is_wanted(text, len, &wanted, err);
	if (r == 0 && wanted)
		r = rewrite(request, text, len, &changed, err);
	if (r == 0 && changed)
		r = hook_files_rewrite(text, &changed, err);
	if (r < 0)
		return r;
	r = fd_write_full(STDOUT_FILENO, changed ? changed : text, changed ? strlen(changed) : len);
	return r < 0 ? error_errno(err, -r, "standard output") : 0;
}

static bool state_wants(const struct oci_state *state)
{
	for (size_t i = 0; i < state->annotations.count; i++)
		if (!strcmp(state->annotations.items[i].key, HOOK_ANNOTATION))
			return !strcmp(state->annotations.items[i].value, "true");
	return false;
}

static int check(const struct hook_request *request, const struct oci_state *state, struct error *err)
{
	int r = check_annotations(state, err);

	return r < 0 ? r : check_agent(request->socket, err);
}

/*
 * The last word about the container, for whoever reads what hooks say: below podman nobody does, so the report stays. A container that never came to
 * run has none.
 */
static int show_report(const struct hook_request *request, const char *id, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_SIZE];
	size_t len;
	int r;

	(void)snprintf(path, sizeof(path), "%.3000s/%.900s.txt", request->directory, id);
	r = fd_read_file(AT_FDCWD, path, MAX_DOCUMENT, &text, &len);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = fd_write_full(STDERR_FILENO, text, len);
	return r < 0 ? error_errno(err, -r, "%s", path) : 0;
}

static int with_state(const struct hook_request *request, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	struct oci_state state = { 0 };
	size_t len;
	int r;

	r = read_document(&text, &len, err);
	if (r == 0)
		r = oci_state_parse(text, len, "standard input", &state, err);
	if (r == 0 && state_wants(&state) && strchr(state.id, '/') == NULL)
		r = !strcmp(request->stage, "poststop") ? show_report(request, state.id, err) : check(request, &state, err);
	oci_state_free(&state);
	return r;
}

int hook_main(const struct hook_request *request)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct error err = { 0 };
	int r;

	(void)sigaction(SIGALRM, &action, NULL);
	(void)alarm(request->limit_s);
	r = !strcmp(request->stage, "precreate") ? precreate(request, &err) : with_state(request, &err);
	(void)alarm(0);
	if (r < 0) {
		log_error("hook %s: %s", request->stage, err.text);
		/* podman throws away what a precreate hook says */
		openlog("hermit-supervisor", LOG_PID, LOG_DAEMON);
		syslog(LOG_ERR, "hook %s: %s", request->stage, err.text);
		closelog();
	}
	return r < 0 ? STATUS_FAILED : 0;
}
