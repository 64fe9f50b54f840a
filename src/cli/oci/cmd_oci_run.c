/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor run: create, start, wait and delete in one. */
#include <argp.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"
#include "cli/oci/oci_create.h"
#include "supervisor/oci/readiness.h"
#include "supervisor/relay.h"

enum { KEY_KEEP = 0x200, KEY_NO_SUBREAPER };

struct run_request_arguments {
	struct create_request create;
	bool detach, keep;
};

static const struct argp_option options[] = {
	{ "detach", 'd', NULL, 0, "do not wait for the container", 0 },
	{ "keep", KEY_KEEP, NULL, 0, "do not delete the container when it has ended", 0 },
	{ "no-subreaper", KEY_NO_SUBREAPER, NULL, 0, "accepted", 0 },
	{ 0 },
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct run_request_arguments *a = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->create;
		return 0;
	case 'd':
		a->detach = true;
		return 0;
	case KEY_KEEP:
		a->keep = true;
		return 0;
	case KEY_NO_SUBREAPER:
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int fail_and_delete(const struct create_request *q, const struct error *err)
{
	struct error unread = { 0 };

	(void)lifecycle_delete(&arg_oci.runtime, q->id, true, &unread);
	return oci_fail(err, OCI_EXIT_FAILURE);
}

/* The terminal is relayed by a process of its own until the container has let go of it. */
static int wait_for_end(const struct run_request_arguments *a, struct relay *relay, pid_t init,
			struct readiness *readiness)
{
	struct error err = { 0 };
	int status = lifecycle_wait(&arg_oci.runtime, a->create.id, init, readiness);

	relay_finish(relay);
	if (!a->keep && lifecycle_delete(&arg_oci.runtime, a->create.id, true, &err) < 0)
		(void)oci_fail(&err, OCI_EXIT_FAILURE);
	return status;
}

static int run(struct run_request_arguments *a)
{
	_cleanup_readiness_ struct readiness readiness = READINESS_NONE;
	struct relay relay = { 0 };
	struct created created;
	struct error err = { 0 };
	int status, r = 0;

	a->create.process.attached = !a->detach;
	if (lifecycle_create(&arg_oci.runtime, &a->create, &created, &err) < 0)
		return oci_fail(&err, OCI_EXIT_FAILURE);
	if (created.console_fd >= 0)
		r = relay_start(&relay, created.console_fd, &err);
	cleanup_close(&created.console_fd);
	if (r == 0)
		r = lifecycle_start(&arg_oci.runtime, a->create.id, a->detach ? NULL : &readiness, &status, &err);
	if (r < 0) {
		status = fail_and_delete(&a->create, &err);
		relay_finish(&relay);
		return status;
	}
	return a->detach ? 0 : wait_for_end(a, &relay, created.init, &readiness);
}

int cmd_oci_run(int argc, char **argv)
{
	static const struct argp_child children[] = { { &oci_create_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { options, parse_one, NULL, "Creates a container, starts it, waits for its end and deletes "
								    "it. The exit status is that of the container's process.",
					  children, NULL, NULL };
	struct run_request_arguments arguments = { .create = { .bundle = "." } };

	oci_parse(&argp, argc, argv, 0, &arguments);
	return run(&arguments);
}
