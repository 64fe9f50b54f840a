/* SPDX-License-Identifier: BSD-3-Clause */
/* Options before the command of hermit-supervisor, and failures: see oci_arguments.h. */
#include "cli/oci/oci_arguments.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/parse.h"
#include "config.h"
#include "oci/features.h"

struct oci_global arg_oci;

enum {
	KEY_ROOT = 0x100,
	KEY_LOG,
	KEY_LOG_FORMAT,
	KEY_LOG_LEVEL,
	KEY_DEBUG,
	KEY_SYSTEMD_CGROUP,
	KEY_CGROUP_MANAGER,
	KEY_ROOTLESS,
	KEY_CRIU,
	KEY_DEFAULTS,
};

static const struct argp_option global_options[] = {
	{ "root", KEY_ROOT, "DIR", 0, "where the state of containers is kept", 0 },
	{ "log", KEY_LOG, "FILE", 0, "file that gets a line when a command fails", 0 },
	{ "log-format", KEY_LOG_FORMAT, "FORM", 0, "text or json", 0 },
	{ "log-level", KEY_LOG_LEVEL, "LEVEL", 0, "error, warning, info or debug", 0 },
	{ "debug", KEY_DEBUG, NULL, 0, "say more", 0 },
	{ "cgroup-manager", KEY_CGROUP_MANAGER, "WHICH", 0, "cgroupfs, systemd or disabled", 0 },
	{ "systemd-cgroup", KEY_SYSTEMD_CGROUP, NULL, 0, "the same as --cgroup-manager=systemd", 0 },
	{ "rootless", KEY_ROOTLESS, "WHICH", 0, "accepted; what an ordinary user may do is found out", 0 },
	{ "criu", KEY_CRIU, "PATH", 0, "accepted; containers cannot be dumped", 0 },
	{ "defaults", KEY_DEFAULTS, "FILE", 0, "options of runs, instead of those of the installation", 0 },
	{ "version", 'v', NULL, 0, "print the version", -1 },
	{ 0 },
};

static int take_manager(const char *which, struct argp_state *state)
{
	arg_oci.runtime.cgroup_manager = cgroup_manager_find(which);
	if (!arg_oci.runtime.cgroup_manager)
		argp_failure(state, OCI_EXIT_FAILURE, 0, "--cgroup-manager: '%s' is none of cgroupfs, systemd, disabled", which);
#ifndef HAVE_SYSTEMD
	if (!strcmp(which, "systemd"))
		argp_failure(state, OCI_EXIT_FAILURE, 0,
			     "systemd cgroup flag passed, but systemd support for managing cgroups is not available: use --cgroup-manager=cgroupfs "
			     "(podman: cgroup_manager in containers.conf; docker: native.cgroupdriver; kubelet: cgroupDriver)");
#endif
	return 0;
}

static int take_level(const char *text, struct argp_state *state)
{
	int level = log_level_parse(text);

	if (level < 0)
		argp_failure(state, OCI_EXIT_FAILURE, 0, "--log-level: there is no level '%s'", text);
	arg_log_level = (enum log_level)level;
	return 0;
}

/* In crun's form: its last line tells those who look what this build can do. */
static void print_version(void)
{
#ifdef HAVE_SYSTEMD
	static const char systemd[] = "+SYSTEMD ";
#else
	static const char systemd[] = "";
#endif

	(void)printf("hermit-supervisor version %s\nspec: %s\n%s+CAP +SECCOMP +EBPF +YAJL\n", PACKAGE_VERSION, OCI_VERSION_MAX, systemd);
}

static error_t parse_global(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case KEY_ROOT:
		arg_oci.runtime.root = arg;
		return 0;
	case KEY_LOG:
		arg_oci.log = !strncmp(arg, "file:", 5) ? arg + 5 : arg;
		return 0;
	case KEY_LOG_FORMAT:
		if (strcmp(arg, "json") != 0 && strcmp(arg, "text") != 0)
			argp_failure(state, OCI_EXIT_FAILURE, 0, "--log-format: '%s' is neither text nor json", arg);
		arg_oci.log_json = !strcmp(arg, "json");
		return 0;
	case KEY_LOG_LEVEL:
		return take_level(arg, state);
	case KEY_DEBUG:
		arg_oci.debug = true;
		arg_log_level = LOG_LEVEL_DEBUG;
		return 0;
	case KEY_CGROUP_MANAGER:
		return take_manager(arg, state);
	case KEY_SYSTEMD_CGROUP:
		return take_manager("systemd", state);
	case KEY_DEFAULTS:
		arg_oci.runtime.defaults = arg;
		return 0;
	case KEY_ROOTLESS:
	case KEY_CRIU:
		return 0;
	case 'v':
		print_version();
		exit(0);
	case ARGP_KEY_ARG:
		/* the command, and all that is its own */
		*(int *)state->input = state->next - 1;
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int open_log(void)
{
	return open(arg_oci.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

/*
 * One line, and nothing else: engines read the file as one document. Who asks for --debug gets which command it was, too, as a line before it:
 * then they read the last line that is an error.
 */
static void write_log(enum log_level level, const char *text)
{
	_cleanup_close_ int fd = open_log();

	if (fd < 0)
		return;
	log_setup(fd, level, arg_oci.log_json, "hermit-supervisor");
	log_message(level, "%s", text);
	log_setup(STDERR_FILENO, arg_log_level, false, "hermit-supervisor");
}

void oci_note_command(int argc, char **argv)
{
	_cleanup_free_ char *words = NULL;
	size_t size;
	FILE *to = arg_oci.debug && arg_oci.log ? open_memstream(&words, &size) : NULL;

	for (int i = 0; to && i < argc; i++)
		(void)fprintf(to, "%s%s", i ? " " : "command: ", argv[i]);
	if (to && fclose(to) == 0)
		write_log(LOG_LEVEL_DEBUG, words);
}

/* ---- usage errors ---- */

/*
 * argp and getopt say them on standard error, and end the program. Who reads the log hears of them too, as with runc: meanwhile standard error is a
 * file in memory.
 */
static struct {
	int real, file; /* -1: nothing is held back */
	char text[16384];
} held = { .real = -1, .file = -1 };

/* What was said comes out as it is, and is in held.text. */
static void stop_holding(void)
{
	ssize_t n;

	held.text[0] = '\0';
	if (held.real < 0)
		return;
	(void)dup2(held.real, STDERR_FILENO);
	n = pread(held.file, held.text, sizeof(held.text) - 1, 0);
	held.text[n > 0 ? n : 0] = '\0';
	(void)fd_write_full(STDERR_FILENO, held.text, strlen(held.text));
	(void)close(held.real);
	(void)close(held.file);
	held.real = held.file = -1;
}

/* What a message says, behind the program's name: folders on the way to it may be called alike. */
static const char *without_name(const char *line)
{
	static const char name[] = "hermit-supervisor";
	const char *end = strstr(line, ": "), *at = line, *after = line;

	while ((at = strstr(at, name)) && (!end || at < end)) {
		at += sizeof(name) - 1;
		after = at + strspn(at, ": ");
	}
	return after;
}

/* The program ends while it is held: its first line is the error. */
static void log_what_was_held(void)
{
	char *line = held.text;

	stop_holding();
	if (!*line || !arg_oci.log)
		return;
	line[strcspn(line, "\n")] = '\0';
	write_log(LOG_LEVEL_ERROR, without_name(line));
}

static void hold_errors(void)
{
	static bool registered;

	registered = registered || atexit(log_what_was_held) == 0;
	held.file = registered ? memfd_create("errors", MFD_CLOEXEC) : -1;
	held.real = held.file < 0 ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (held.real >= 0 && dup2(held.file, STDERR_FILENO) == STDERR_FILENO)
		return;
	cleanup_close(&held.real);
	cleanup_close(&held.file);
	held.real = held.file = -1;
}

static error_t parse_held(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	error_t r;

	hold_errors();
	r = argp_parse(argp, argc, argv, flags, NULL, input);
	stop_holding();
	return r;
}

int oci_unknown_command(const struct command_table *table, const char *name)
{
	int status;

	hold_errors();
	status = command_unknown(table, name);
	log_what_was_held();
	return status;
}

/* What stands before the command; argp's own --help and --usage are command_print_help()'s. */
int oci_arguments_parse(int argc, char **argv)
{
	static const struct argp argp = { global_options, parse_global, "COMMAND [ARGUMENT...]", NULL, NULL, NULL, NULL };
	int command = argc;

	argp_err_exit_status = OCI_EXIT_FAILURE;
	arg_oci.default_root = state_default_root();
	arg_oci.runtime.root = arg_oci.default_root;
	arg_log_level = LOG_LEVEL_WARNING;
	if (parse_held(&argp, argc, argv, ARGP_IN_ORDER, &command) != 0 || !arg_oci.runtime.root)
		return -1 - OCI_EXIT_FAILURE;
	log_setup(STDERR_FILENO, arg_log_level, false, "hermit-supervisor");
	return command;
}

int oci_fail(const struct error *err, int exit_status)
{
	log_error("%s", err->text);
	if (arg_oci.log)
		write_log(LOG_LEVEL_ERROR, err->text);
	return exit_status;
}

void oci_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	command_prepare("hermit-supervisor", argv[0], argv);
	argp_err_exit_status = OCI_EXIT_FAILURE;
	if (parse_held(argp, argc, argv, flags, input) != 0)
		exit(OCI_EXIT_FAILURE);
}

void oci_need_id(const char *id, struct argp_state *state)
{
	if (!id)
		argp_error(state, "the id of a container is missing: any name for a new one; 'hermit-supervisor list' shows those that there are");
}

static error_t parse_id(int key, char *arg, struct argp_state *state)
{
	const char **id = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		command_take_only(id, arg, "container", state);
		return 0;
	case ARGP_KEY_END:
		oci_need_id(*id, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp oci_id_argp = { NULL, parse_id, "ID", NULL, NULL, NULL, NULL };

enum { KEY_PID_FILE = 0x300, KEY_CONSOLE_SOCKET, KEY_PIDFD_SOCKET, KEY_PRESERVE_FDS };

static const struct argp_option process_options[] = {
	{ "pid-file", KEY_PID_FILE, "FILE", 0, "file for the number of the process", 0 },
	{ "console-socket", KEY_CONSOLE_SOCKET, "PATH", 0, "socket that gets the terminal", 0 },
	{ "pidfd-socket", KEY_PIDFD_SOCKET, "PATH", 0, "socket that gets a descriptor of the process", 0 },
	{ "preserve-fds", KEY_PRESERVE_FDS, "N", 0, "N descriptors after the standard ones go into the container", 0 },
	{ 0 },
};

static error_t parse_process(int key, char *arg, struct argp_state *state)
{
	struct process_request *q = state->input;

	switch (key) {
	case KEY_PID_FILE:
		q->pid_file = arg;
		return 0;
	case KEY_CONSOLE_SOCKET:
		q->console_socket = arg;
		return 0;
	case KEY_PIDFD_SOCKET:
		q->pidfd_socket = arg;
		return 0;
	case KEY_PRESERVE_FDS:
		q->preserve_fds = (unsigned)command_number("preserve-fds", arg, 0, 1024, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp oci_process_argp = { process_options, parse_process, NULL, NULL, NULL, NULL, NULL };

void oci_parse_id(int argc, char **argv, const char *doc, const char **ret_id)
{
	const struct argp argp = { NULL, parse_id, "ID", doc, NULL, NULL, NULL };

	*ret_id = NULL;
	oci_parse(&argp, argc, argv, 0, ret_id);
}

bool oci_format_is_json(const char *text, struct argp_state *state)
{
	bool json = !strcmp(text, "json");

	if (!json && strcmp(text, "table") != 0)
		argp_error(state, "--format: '%s' is neither table nor json", text);
	return json;
}
