/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor exec: one more process in a running container. */
#include <argp.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"
#include "supervisor/relay.h"

enum {
	KEY_CWD = 0x100,
	KEY_NO_NEW_PRIVS,
	KEY_IGNORE_PAUSED,
	KEY_CGROUP,
	KEY_APPARMOR,
	KEY_PROCESS_LABEL,
	MAX_GROUPS = 64,
};

struct arguments {
	struct exec_request request;
	struct strv env, caps, cgroups;
	uint32_t groups[MAX_GROUPS];
	bool detach;
};

static const struct argp_option options[] = {
	{ "process", 'p', "FILE", 0, "a process.json that describes the process", 0 },
	{ "detach", 'd', NULL, 0, "do not wait for the process", 0 },
	{ "tty", 't', NULL, 0, "with a terminal of its own", 0 },
	{ "cwd", KEY_CWD, "DIR", 0, "working directory in the container", 0 },
	{ "env", 'e', "NAME=VALUE", 0, "add to the environment", 0 },
	{ "user", 'u', "UID[:GID]", 0, "who the process is", 0 },
	{ "additional-gids", 'g', "GID", 0, "one more group", 0 },
	{ "cap", 'c', "CAPABILITY", 0, "one more capability", 0 },
	{ "no-new-privs", KEY_NO_NEW_PRIVS, NULL, 0, "no program can give more privileges", 0 },
	{ "ignore-paused", KEY_IGNORE_PAUSED, NULL, 0, "in a paused container, run as soon as it is resumed", 0 },
	{ "apparmor", KEY_APPARMOR, "PROFILE", 0, "another profile, where AppArmor is active", 0 },
	{ "process-label", KEY_PROCESS_LABEL, "LABEL", 0, "another label, where SELinux is active", 0 },
	{ "cgroup", KEY_CGROUP, "PATH", 0, "a cgroup below the container's, [CONTROLLER,...:]PATH", 0 },
	{ 0 },
};

static error_t add_group(struct arguments *a, const char *arg, struct argp_state *state)
{
	if (a->request.n_groups == MAX_GROUPS)
		argp_error(state, "more than %d groups", MAX_GROUPS);
	a->groups[a->request.n_groups++] = (uint32_t)command_number("additional-gids", arg, 0, UINT32_MAX - 1, state);
	return 0;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct exec_request *q = &a->request;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &q->process;
		return 0;
	case 'p':
		q->process_file = arg;
		return 0;
	case 'd':
		a->detach = true;
		return 0;
	case 't':
		q->terminal = true;
		return 0;
	case KEY_CWD:
		q->cwd = arg;
		return 0;
	case 'e':
		return strv_add(&a->env, arg) < 0 ? ENOMEM : 0;
	case 'u':
		q->user = arg;
		return 0;
	case 'g':
		return add_group(a, arg, state);
	case 'c':
		return strv_add(&a->caps, arg) < 0 ? ENOMEM : 0;
	case KEY_NO_NEW_PRIVS:
		q->no_new_privs = true;
		return 0;
	case KEY_IGNORE_PAUSED:
		q->ignore_paused = true;
		return 0;
	case KEY_CGROUP:
		return strv_add(&a->cgroups, arg) < 0 ? ENOMEM : 0;
	case KEY_APPARMOR:
		q->apparmor_profile = arg;
		return 0;
	case KEY_PROCESS_LABEL:
		q->selinux_label = arg;
		return 0;
	case ARGP_KEY_ARG:
		q->id = arg;
		q->args = state->argv + state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		oci_need_id(q->id, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run(struct arguments *a)
{
	struct relay relay = { 0 };
	struct created created;
	struct error err = { 0 };
	int status = 0, r;

	a->request.process.attached = !a->detach;
	if (lifecycle_exec(&arg_oci.runtime, &a->request, &created, &status, &err) < 0)
		return oci_fail(&err, OCI_EXIT_EXEC_FAILURE);
	if (a->detach)
		return 0;
	r = created.console_fd >= 0 ? relay_start(&relay, created.console_fd, &err) : 0;
	cleanup_close(&created.console_fd);
	if (r < 0)
		(void)oci_fail(&err, OCI_EXIT_EXEC_FAILURE);
	status = lifecycle_wait_exec(created.init);
	relay_finish(&relay);
	return status;
}

int cmd_oci_exec(int argc, char **argv)
{
	static const struct argp_child children[] = { { &oci_process_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { options, parse_one, "ID [COMMAND [ARGUMENT...]]",
					  "Runs one more process in a container. The exit status is that of the process; 255 "
					  "when it could not be run.", children, NULL, NULL };
	struct arguments arguments = { 0 };
	int status;

	oci_parse(&argp, argc, argv, ARGP_IN_ORDER, &arguments);
	arguments.request.env = &arguments.env;
	arguments.request.caps = &arguments.caps;
	arguments.request.cgroups = &arguments.cgroups;
	arguments.request.groups = arguments.groups;
	status = run(&arguments);
	strv_clear(&arguments.env);
	strv_clear(&arguments.caps);
	strv_clear(&arguments.cgroups);
	return status;
}
