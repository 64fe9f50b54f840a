/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit-supervisor update: other limits for a container. What is not given stays as it is. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "cli/oci/oci_arguments.h"

enum { KEY_FIRST = 0x100, RESOURCES_LIMIT = 1 << 20 };

enum limit_kind { LIMIT_I64, LIMIT_BYTES, LIMIT_U64, LIMIT_TEXT };

struct limit {
	const char *name, *alias, *arg, *help;
	enum limit_kind kind;
	size_t offset; /* in struct oci_resources */
	bool zero;     /* 0 is a value: else it stands for "as it is", as in a document */
};

#define AT(member) offsetof(struct oci_resources, member)

static const struct limit limits[] = {
	{ "memory", NULL, "BYTES", "memory; -1: no limit", LIMIT_BYTES, AT(memory.limit), false },
	{ "memory-swap", NULL, "BYTES", "memory and swap; -1: no limit", LIMIT_BYTES, AT(memory.swap), false },
	{ "memory-reservation", NULL, "BYTES", "memory that is given back under pressure", LIMIT_BYTES, AT(memory.reservation), false },
	{ "cpu-shares", "cpu-share", "N", "weight against other cgroups", LIMIT_U64, AT(cpu.shares), false },
	{ "cpu-quota", NULL, "USEC", "processor time in a period; -1: no limit", LIMIT_I64, AT(cpu.quota_us), false },
	{ "cpu-period", NULL, "USEC", "the period", LIMIT_U64, AT(cpu.period_us), false },
	{ "cpuset-cpus", NULL, "LIST", "processors", LIMIT_TEXT, AT(cpu.cpus), false },
	{ "cpuset-mems", NULL, "LIST", "memory nodes", LIMIT_TEXT, AT(cpu.mems), false },
	{ "cpu-burst", NULL, "USEC", "processor time that may be saved for later periods", LIMIT_U64, AT(cpu.burst_us), true },
	{ "cpu-idle", NULL, "0|1", "gets what nobody else wants", LIMIT_I64, AT(cpu.idle), true },
	{ "cpu-rt-period", NULL, "USEC", "the period of realtime scheduling", LIMIT_U64, AT(cpu.realtime_period_us), false },
	{ "cpu-rt-runtime", NULL, "USEC", "processor time of realtime scheduling in it", LIMIT_I64, AT(cpu.realtime_runtime_us), false },
	{ "pids-limit", NULL, "N", "processes; -1: no limit", LIMIT_I64, AT(pids_limit), true },
	{ "blkio-weight", NULL, "N", "weight of disk access", LIMIT_U64, AT(blkio.weight), false },
};

struct arguments {
	const char *id, *file;
	struct oci_resources_file from_file;
	struct oci_resources given; /* by options; on top of the file */
	bool any;
};

static int parse_signed(const char *text, bool bytes, int64_t *ret)
{
	uint64_t value;
	int r;

	if (!strcmp(text, "-1")) {
		*ret = -1;
		return 0;
	}
	r = bytes ? parse_bytes(text, &value) : parse_u64(text, &value);
	if (r == 0 && value > INT64_MAX)
		r = -ERANGE;
	if (r == 0)
		*ret = (int64_t)value;
	return r;
}

static int set_limit(struct oci_resources *resources, const struct limit *limit, char *text)
{
	char *at = (char *)resources + limit->offset;
	struct oci_i64 *i64 = (struct oci_i64 *)(void *)at;
	struct oci_u64 *u64 = (struct oci_u64 *)(void *)at;
	int r = 0;

	switch (limit->kind) {
	case LIMIT_I64:
	case LIMIT_BYTES:
		r = parse_signed(text, limit->kind == LIMIT_BYTES, &i64->value);
		i64->set = r == 0 && (i64->value || limit->zero);
		break;
	case LIMIT_U64:
		r = parse_u64(text, &u64->value);
		u64->set = r == 0 && (u64->value || limit->zero);
		break;
	case LIMIT_TEXT:
		*(char **)(void *)at = text;
		break;
	}
	return r;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'r':
		a->file = arg;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->id;
		return 0;
	default:
		if (key < KEY_FIRST || (size_t)(key - KEY_FIRST) >= ARRAY_SIZE(limits))
			return ARGP_ERR_UNKNOWN;
		if (set_limit(&a->given, &limits[key - KEY_FIRST], arg) < 0)
			argp_error(state, "--%s: '%s' is no such value", limits[key - KEY_FIRST].name, arg);
		a->given.present = a->any = true;
		return 0;
	}
}

static void parse(struct arguments *a, int argc, char **argv)
{
	struct argp_option options[2 * ARRAY_SIZE(limits) + 2] = {
		{ "resources", 'r', "FILE", 0, "a document of linux.resources ('-': standard input)", 0 },
	};
	static const struct argp_child children[] = { { &oci_id_argp, 0, NULL, 0 }, { 0 } };
	const struct argp argp = { options, parse_one, NULL, "Changes the limits of a container.", children, NULL, NULL };
	size_t n = 1;

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		options[n++] = (struct argp_option){ limits[i].name, KEY_FIRST + (int)i, limits[i].arg, 0, limits[i].help, 0 };
		if (limits[i].alias)
			options[n++] = (struct argp_option){ limits[i].alias, 0, NULL, OPTION_ALIAS, NULL, 0 };
	}
	oci_parse(&argp, argc, argv, 0, a);
}

static int read_file(struct arguments *a, struct error *err)
{
	bool standard = !strcmp(a->file, "-");
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r;

	r = fd_read_file(AT_FDCWD, standard ? "/dev/stdin" : a->file, RESOURCES_LIMIT, &text, &len);
	if (r < 0)
		return error_errno(err, -r, "--resources: %s", a->file);
	return oci_resources_parse(text, len, standard ? "standard input" : a->file, &a->from_file, err);
}

int cmd_oci_update(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct error err = { 0 };
	int r;

	parse(&arguments, argc, argv);
	r = arguments.file ? read_file(&arguments, &err) : 0;
	if (r == 0 && arguments.file)
		r = lifecycle_update(&arg_oci.runtime, arguments.id, &arguments.from_file.resources, &err);
	if (r == 0 && (arguments.any || !arguments.file))
		r = lifecycle_update(&arg_oci.runtime, arguments.id, &arguments.given, &err);
	oci_resources_free(&arguments.from_file);
	return r < 0 ? oci_fail(&err, OCI_EXIT_FAILURE) : 0;
}
