/* SPDX-License-Identifier: BSD-3-Clause */
/* One container of the agent's: see agent.h. */
#include "supervisor/agent/agent_child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "oci/syntax.h"
#include "supervisor/agent/agent_message.h"
#include "supervisor/agent/agent_reports.h"
#include "supervisor/oci/bundle.h"
#include "supervisor/oci/host_name.h"
#include "supervisor/cache_directory.h"
#include "supervisor/exit_codes.h"
#include "supervisor/agent/hook_config.h"
#include "supervisor/launch.h"
#include "supervisor/run.h"

enum { MESSAGE_LIMIT_MS = 10000, PATH_SIZE = 4096, NOTES_SIZE = 2048 };

DEFINE_CLEANUP(filter, struct backend_filter, backend_filter_free)

struct child {
	const char *directory;
	struct agent_counts *counts;
	struct agent_message message;
	struct run_options options;
	pid_t holder;   /* 0: there is none */
	int stderr_fd;  /* the container's, -1: not yet */
	char name[300]; /* of its files */
	char notes[NOTES_SIZE]; /* what this route does not promise for this container, a line each */
};

static void count(uint64_t *counter, uint64_t by)
{
	(void)__atomic_add_fetch(counter, by, __ATOMIC_RELAXED);
}

static void note(struct child *c, const char *text)
{
	size_t len = strlen(c->notes);

	(void)snprintf(c->notes + len, sizeof(c->notes) - len, "hermit: not promised: %s\n", text);
}

/* The report is replaced as a whole: whoever reads it sees one state or the other. */
static void write_report(struct child *c, const char *last_word)
{
	char path[PATH_SIZE], temporary[PATH_SIZE + 8];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%.3500s/%.299s.txt", c->directory, c->name);
	(void)snprintf(temporary, sizeof(temporary), "%s.new", path);
	f = fopen(temporary, "we");
	if (!f) {
		log_error("%s: %m", temporary);
		return;
	}
	(void)fprintf(f, "%shermit: %s\n", c->notes, last_word);
	if (fclose(f) != 0 || rename(temporary, path) < 0)
		log_error("%s: %m", path);
}

static int take_annotations(struct child *c, struct error *err)
{
	const struct oci_pairs *pairs = &c->message.state.state.annotations;
	const size_t prefix = strlen(BUNDLE_ANNOTATION_PREFIX);
	const struct option_spec *spec;
	int r;

	r = run_options_init(&c->options);
	for (size_t i = 0; i < pairs->count && r == 0; i++) {
		if (strncmp(pairs->items[i].key, BUNDLE_ANNOTATION_PREFIX, prefix) != 0)
			continue;
		spec = option_find(pairs->items[i].key + prefix);
		if (spec && bundle_takes_annotation(spec))
			r = run_options_set(&c->options, spec, pairs->items[i].value, err);
	}
	return r;
}

/* Processes of exec have no pid in crun's message, or the state of one that runs already. */
static bool is_later_process(const struct oci_process_state *state)
{
	return state->pid == 0 || state->state.status == OCI_RUNNING;
}

static int open_files(struct child *c, struct error *err)
{
	const struct oci_process_state *state = &c->message.state;
	char path[PATH_SIZE];
	int fd;

	if (!state->state.id || !oci_id_valid(state->state.id))
		return error_set(err, EBADMSG, "the runtime's message names no container");
	if (is_later_process(state))
		(void)snprintf(c->name, sizeof(c->name), "%.255s.exec-%d", state->state.id, (int)getpid());
	else
		(void)snprintf(c->name, sizeof(c->name), "%.255s", state->state.id);
	(void)snprintf(path, sizeof(path), "%.3500s/%.299s.log", c->directory, c->name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	log_setup(fd, LOG_LEVEL_WARNING, false, "hermit-supervisor agent");
	return 0;
}

/* The profile is the hook's: what it notifies is known. */
static bool is_from_hook(const struct child *c)
{
	const char *metadata = c->message.state.metadata;

	return metadata && !strcmp(metadata, HOOK_METADATA);
}

static void note_what_is_known(struct child *c)
{
	note(c, "the machine that /sys shows is the real one");
	if (!c->options.keep_instructions)
		note(c, "RDTSC is replaced in files, it does not fault in code made at run time");
	if (is_later_process(&c->message.state))
		note(c, "a process of exec has a clock and a schedule of its own");
}

/* What a container sees of the host through a namespace that it has not got. */
static void note_namespaces(struct child *c, unsigned shared)
{
	static const struct {
		unsigned flag;
		const char *text;
	} kinds[] = {
		{ CLONE_NEWIPC, "the IPC namespace is the host's: its queues, semaphores and shared memory are seen" },
		{ CLONE_NEWNET, "the network namespace is the host's: its devices, ports and traffic are seen" },
		{ CLONE_NEWPID, "the pid namespace is the host's: its processes are seen" },
		{ CLONE_NEWUTS, "the UTS namespace is the host's" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (shared & kinds[i].flag)
			note(c, kinds[i].text);
}

static void on_adopted(void *arg, const struct backend_adoption *found)
{
	struct child *c = arg;
	char text[128];

	if (!is_from_hook(c))
		note(c, "what the container's profile, which is not the hook's, does not notify is not under control");
	if (!found->killable)
		note(c, "calls that signals break off before they are seen (filter without WAIT_KILLABLE_RECV) end the container");
	if (found->randomised)
		note(c, "addresses are randomised: the container's profile forbids to switch that off");
	if (!found->numbered)
		note(c, "process ids depend on what was in the container's pid namespace before");
	note_namespaces(c, found->shared);
	c->stderr_fd = found->stderr_fd;
	(void)snprintf(text, sizeof(text), "%" PRIu64 " calls of the runtime came before the program and were let through",
		       found->early_calls);
	log_info("%s", text);
	write_report(c, AGENT_NO_END);
}

#define TOLD_TO_END "the agent was told to end: everything was killed"

/* Into the engine's log of the container, which shows what it writes. Nobody reads any more once the container is dead. */
static void tell_engine(const struct child *c, const char *text)
{
	struct pollfd fd = { .fd = c->stderr_fd, .events = POLLOUT };

	if (c->stderr_fd >= 0 && poll(&fd, 1, 0) == 1 && fd.revents == POLLOUT)
		(void)dprintf(c->stderr_fd, "hermit: %s\n", text);
}

static int on_signal(void *arg, struct run *run, int signo, struct error *err)
{
	(void)run;
	(void)err;
	tell_engine(arg, TOLD_TO_END);
	log_error("signal %d: the agent ends, and the container with it", signo);
	return 1;
}

static void conclude(struct child *c, const struct run_result *result, int r, const struct error *err)
{
	static const char *const ends[] = {
		[RUN_EXITED] = "the program ended", [RUN_DEADLOCK] = "deadlock: everything was killed (see the agent's log)",
		[RUN_REFUSED] = "refused under strict: everything was killed (see the agent's log)",
		[RUN_TIMEOUT] = "the time limit was over: everything was killed", [RUN_KILLED] = TOLD_TO_END,
	};
	char text[1400];

	if (r < 0)
		(void)snprintf(text, sizeof(text), "the container was killed: %.1200s", err->text);
	else
		(void)snprintf(text, sizeof(text), "%s, status %d, %" PRIu64 " turns, %" PRIu64 " uncontrolled happenings", ends[result->end],
			       result->exit_code, result->turns, result->n_uncontrolled);
	write_report(c, text);
	if (r < 0 || (result->end != RUN_EXITED && result->end != RUN_KILLED))
		tell_engine(c, text);
	count(&c->counts->failed, r < 0);
	count(&c->counts->deadlocks, r == 0 && result->end == RUN_DEADLOCK);
	count(&c->counts->refused, r == 0 && result->end == RUN_REFUSED);
	count(&c->counts->uncontrolled, result->n_uncontrolled);
	count(&c->counts->turns, result->turns);
	count(&c->counts->virtual_ns, result->virtual_ns);
}

/*
 * A process that does nothing but hold a duplicate of the listener. A dying process loses its descriptors before the kernel kills what it
 * traced; without another holder the container's calls would fail with ENOSYS in between. Its own end comes after that.
 */
static int hold_listener(void *arg, int listener)
{
	struct child *c = arg;
	pid_t parent = getpid();

	c->holder = fork();
	if (c->holder != 0)
		return c->holder < 0 ? -errno : 0;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || dup2(listener, STDIN_FILENO) < 0)
		_exit(EXIT_CODE_TOOL);
	(void)close_range(STDOUT_FILENO, ~0u, 0);
	for (;;)
		(void)pause();
}

/* A log in which nothing was said is of no use to anybody. */
static void end_files(const struct child *c)
{
	char path[PATH_SIZE];
	struct stat st;

	if (!c->name[0])
		return;
	(void)snprintf(path, sizeof(path), "%.3500s/%.299s.log", c->directory, c->name);
	if (stat(path, &st) == 0 && st.st_size == 0)
		(void)unlink(path);
	agent_reports_bound(c->directory);
}

static void end_holder(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* The name of the host, where the runtime's document can be read: one that somebody has given is the container's by all ways. */
static const char *host_name_of(struct child *c, struct oci_config *cfg)
{
	const struct oci_state *state = &c->message.state.state;
	struct error err = { 0 };
	char path[PATH_SIZE];
	const char *name = NULL;

	if (!state->bundle || snprintf(path, sizeof(path), "%s/config.json", state->bundle) >= (int)sizeof(path))
		return "hermit";
	if (oci_config_load(AT_FDCWD, path, cfg, &err) < 0)
		log_debug("%s", err.text);
	else if (!(name = host_name_given(cfg, state->id)) && host_name_by_document(cfg))
		note(c, "HOSTNAME, /etc/hostname and /etc/hosts: they have a name that is drawn for each container");
	return name ? name : "hermit";
}

static int supervise(struct child *c, struct error *err)
{
	_cleanup_oci_config_ struct oci_config cfg = { 0 };
	static const int signals[] = { SIGTERM, SIGINT, 0 };
	/* Nothing is refused by the filter itself: what the runtime still calls is let through. */
	_cleanup_(cleanup_filter) struct backend_filter *filter = is_from_hook(c) ? backend_filter_new(true, false, err) : NULL;
	const struct backend_adoptee adoptee = {
		.listener = &c->message.listener,
		.pid = c->message.state.pid,
		.filter = filter,
	};
	const struct run_host host = {
		.adopt = &adoptee,
		.listener_made = hold_listener,
		.signals = signals,
		.signal = on_signal,
		.adopted = on_adopted,
		.arg = c,
	};
	_cleanup_free_ char *cache_dir = cache_directory();
	const struct container_spec spec = { 0 };
	struct run_request request = {
		.spec = &spec,
		.timeout_ns = c->options.timeout_ns,
		.no_pin = c->options.no_pin,
		.cache_dir = cache_dir,
		.quiet = c->options.quiet,
		.host = &host,
	};
	struct run_result result = { 0 };
	int r;

	if (is_from_hook(c) && !filter)
		return -ENOMEM;
	launch_engine_options(&c->options, &request.engine);
	request.engine.hostname = host_name_of(c, &cfg);
	r = run_guest(&request, &result, err);
	if (r < 0)
		log_error("%s", err->text);
	conclude(c, &result, r, err);
	end_holder(c->holder);
	return r;
}

int agent_child(int connection, const char *directory, struct agent_counts *counts)
{
	struct child c = { .directory = directory, .counts = counts, .stderr_fd = -1, .message = AGENT_MESSAGE_NONE };
	struct error err = { 0 };
	int r;

	r = agent_message_receive(connection, MESSAGE_LIMIT_MS, &c.message, &err);
	(void)close(connection);
	if (r == -ENODATA)
		return 0;
	count(&counts->accepted, 1);
	if (r == 0)
		r = open_files(&c, &err);
	if (r == 0)
		r = take_annotations(&c, &err);
	if (r < 0) {
		/* the listener goes with this process: the runtime's calls fail, and so does its container */
		log_error("%s", err.text);
		count(&counts->failed, 1);
	} else {
		note_what_is_known(&c);
		r = supervise(&c, &err);
	}
	end_files(&c);
	count(&counts->ended, 1);
	cleanup_close(&c.stderr_fd);
	agent_message_clear(&c.message);
	run_options_clear(&c.options);
	return r < 0 ? EXIT_CODE_TOOL : 0;
}
