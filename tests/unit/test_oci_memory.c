/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory runs out at every place where oci/ asks for some. The program is linked with --wrap for calloc and for the
 * functions of the arena, which are all that this folder allocates with; the n-th call fails, for n = 0, 1, 2 ... until
 * a run needs fewer.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "oci/arena.h"
#include "oci/config.h"
#include "oci/state.h"

static int calls_left = INT_MAX;

/* For one function: what the program calls, in terms of what there is. */
#define WRAP(type, name, parameters, arguments)                                                                        \
	type __real_##name parameters;                                                                                 \
	type __wrap_##name parameters;                                                                                 \
	type __wrap_##name parameters                                                                                  \
	{                                                                                                              \
		if (calls_left-- == 0)                                                                                 \
			return NULL;                                                                                   \
		return __real_##name arguments;                                                                        \
	}

WRAP(void *, calloc, (size_t count, size_t size), (count, size))
WRAP(void *, oci_arena_alloc, (struct oci_arena * arena, size_t size), (arena, size))
WRAP(void *, oci_arena_array, (struct oci_arena * arena, size_t count, size_t size), (arena, count, size))
WRAP(char *, oci_arena_strdup, (struct oci_arena * arena, const char *text), (arena, text))
WRAP(char *, oci_arena_strndup, (struct oci_arena * arena, const char *text, size_t len), (arena, text, len))

static char *read_good(const char *name, size_t *ret_len)
{
	_cleanup_free_ char *path = NULL;
	const char *top = getenv("top_srcdir");
	char *text = NULL;

	cr_assert(asprintf(&path, "%s/tests/oci/good/%s", top ? top : ".", name) > 0);
	cr_assert_eq(fd_read_file(AT_FDCWD, path, 1 << 20, &text, ret_len), 0);
	return text;
}

static int parse_config(const char *text, size_t len, struct error *err)
{
	struct oci_config cfg;
	int r;

	r = oci_config_parse(text, len, "config.json", &cfg, err);
	cr_assert(r == 0 || !cfg.arena);
	oci_config_free(&cfg);
	return r;
}

static int parse_runtime_state(const char *text, size_t len, struct error *err)
{
	struct oci_runtime_state state;
	int r;

	r = oci_runtime_state_parse(text, len, "state.json", &state, err);
	cr_assert(r == 0 || !state.arena);
	oci_runtime_state_free(&state);
	return r;
}

/* Returns how many calls of a whole run there were. */
static int fail_each(int (*parse)(const char *, size_t, struct error *), const char *text, size_t len)
{
	struct error err;
	int n, r = -1;

	for (n = 0; r != 0 && n < 100000; n++) {
		memset(&err, 0, sizeof(err));
		calls_left = n;
		r = parse(text, len, &err);
		calls_left = INT_MAX;
		cr_assert(r == 0 || (r == -ENOMEM && err.code == ENOMEM), "call %d: %d: %s", n, r, err.text);
	}
	return n - 1;
}

Test(oci_memory, config)
{
	_cleanup_free_ char *full = NULL, *idmap = NULL;
	size_t len;

	full = read_good("full.json", &len);
	cr_expect_geq(fail_each(parse_config, full, len), 1000);
	idmap = read_good("idmap.json", &len);
	cr_expect_geq(fail_each(parse_config, idmap, len), 100);
}

Test(oci_memory, runtime_state)
{
	static const char text[] =
		"{\"version\":1,\"id\":\"c\",\"ociVersion\":\"1\",\"status\":\"paused\",\"bundle\":\"/"
		"b\",\"rootfs\":\"/r\",\"created\":\"x\","
		"\"owner\":\"root\",\"init\":{\"pid\":7,\"start\":\"1\"},\"supervisor\":{\"pid\":8,\"start\":\"1\"},"
		"\"guardian\":{\"pid\":0,\"start\":\"0\"},\"rootless\":true,\"untrapped\":false,\"cgroupManager\":"
		"\"cgroupfs\","
		"\"cgroups\":{\"memory\":\"/x\"},\"annotations\":{}}";

	cr_expect_geq(fail_each(parse_runtime_state, text, strlen(text)), 12);
}
