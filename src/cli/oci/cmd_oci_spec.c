/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor spec: a config.json to start from. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"
#include "oci/spec.h"

enum { KEY_ROOTLESS = 0x100 };

struct arguments {
	const char *bundle;
	bool rootless;
};

static const struct argp_option options[] = {
	{ "bundle", 'b', "DIR", 0, "where to write it (default: the current directory)", 0 },
	{ "rootless", KEY_ROOTLESS, NULL, 0, "for the user who runs this command", 0 },
	{ 0 },
};

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'b':
		a->bundle = arg;
		return 0;
	case KEY_ROOTLESS:
		a->rootless = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int write_new(const char *directory, const char *text, struct error *err)
{
	_cleanup_close_ int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	int r;

	if (dir < 0)
		return error_errno(err, errno, "%s", directory);
	fd = openat(dir, "config.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno == EEXIST ? error_set(err, EEXIST, "File config.json exists. Remove it first")
				       : error_errno(err, errno, "%s/config.json", directory);
	r = fd_write_full(fd, text, strlen(text));
	return r < 0 ? error_errno(err, -r, "%s/config.json", directory) : 0;
}

int cmd_oci_spec(int argc, char **argv)
{
	static const struct argp argp = { options, parse_one, "", "Writes a config.json to start from.", NULL, NULL, NULL };
	struct arguments arguments = { .bundle = "." };
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };
	int r;

	oci_parse(&argp, argc, argv, 0, &arguments);
	r = oci_spec_format(arguments.rootless, geteuid(), getegid(), &text);
	if (r < 0)
		(void)error_errno(&err, -r, "spec");
	else
		r = write_new(arguments.bundle, text, &err);
	return r < 0 ? oci_fail(&err, OCI_EXIT_FAILURE) : 0;
}
