/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a verification: see verify_internal.h. */
#include "supervisor/evidence/verify_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/launch.h"
#include "supervisor/scratch.h"

/* What a run leaves, under its name while it goes on. */
static const char *const leavings[] = { "stdout", "stderr", "log.jsonl.zst", "files" };

const char *verify_path(const struct verify *v, char path[VERIFY_PATH_SIZE], unsigned run, const char *name)
{
	const char *dir = strncmp(name, "files", 5) != 0 ? v->dir : v->layers;

	if (run)
		(void)snprintf(path, VERIFY_PATH_SIZE, "%.3900s/run%u.%s", dir, run, name);
	else
		(void)snprintf(path, VERIFY_PATH_SIZE, "%.3900s/%s", dir, name);
	return path;
}

/* Can layers be kept below base while the guest works in the tree? */
static bool is_apart(const char *base, const char *tree)
{
	char real_base[VERIFY_PATH_SIZE], real_tree[VERIFY_PATH_SIZE];
	struct stat base_st, tree_st;
	size_t len;

	if (!realpath(base, real_base) || !realpath(tree, real_tree) || stat(real_base, &base_st) < 0 || stat(real_tree, &tree_st) < 0)
		return false;
	if (access(real_base, W_OK | X_OK) < 0)
		return false;
	len = strlen(real_tree);
	if (strncmp(real_base, real_tree, len) != 0)
		return true;
	if (len > 1 && real_base[len] != '/' && real_base[len] != '\0')
		return true;
	return base_st.st_dev != tree_st.st_dev;
}

static bool is_apart_from_all(const struct verify *v, const char *base, size_t n)
{
	bool apart = true;

	for (size_t i = 0; i < n && i < v->sources.count; i++)
		apart = apart && is_apart(base, v->sources.items[i]);
	return apart;
}

/* By the names that they have without links. */
static int hide(struct verify *v, struct error *err)
{
	char *const dirs[] = { v->dir, v->layers };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		_cleanup_free_ char *real = realpath(dirs[i], NULL);

		if (!real)
			return error_errno(err, errno, "%s", dirs[i]);
		(void)snprintf(dirs[i], VERIFY_PATH_SIZE, "%s", real);
		v->hidden[i] = dirs[i];
	}
	return 0;
}

/* Apart from everything that the guest works in, if there is such a place; from its working directory in any case. */
int verify_make_layers(struct verify *v, struct error *err)
{
	const char *bases[] = { getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm" };
	const size_t apart_from[] = { SIZE_MAX, 1 };

	for (size_t k = 0; k < ARRAY_SIZE(apart_from); k++)
		for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
			if (!bases[i] || bases[i][0] != '/' || !is_apart_from_all(v, bases[i], apart_from[k]))
				continue;
			if (scratch_make_in(bases[i], v->layers, sizeof(v->layers), "verify-files", NULL) == 0)
				return hide(v, err);
		}
	v->layers[0] = '\0';
	return error_set(err, ENOENT, "--verify: no directory to keep changed files in (set TMPDIR to one outside of the working directory)");
}

int verify_make_dir(struct verify *v, struct error *err)
{
	if (!v->o->verify_dir)
		return scratch_make(v->dir, sizeof(v->dir), "verify", err);
	if (mkdir(v->o->verify_dir, 0700) < 0 || !realpath(v->o->verify_dir, v->dir))
		return error_errno(err, errno, "--verify-dir: %s", v->o->verify_dir);
	return 0;
}

int verify_capture_stdin(struct verify *v, struct error *err)
{
	char path[VERIFY_PATH_SIZE];

	return scratch_capture_stdin(verify_path(v, path, 0, "stdin"), err);
}

int verify_put_aside(const struct verify *v, unsigned run, struct error *err)
{
	char from[VERIFY_PATH_SIZE], to[VERIFY_PATH_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(leavings); i++)
		if (rename(verify_path(v, from, 0, leavings[i]), verify_path(v, to, run, leavings[i])) < 0)
			return error_errno(err, errno, "%s", to);
	return 0;
}

void verify_forget_run(const struct verify *v, unsigned run)
{
	char path[VERIFY_PATH_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(leavings); i++)
		scratch_remove(verify_path(v, path, run, leavings[i]));
}

void verify_end_files(const struct verify *v)
{
	const char *const dirs[] = { v->dir, v->layers };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (dirs[i][0] && v->verdict == VERIFY_DIFFERENT)
			scratch_keep(dirs[i]);
		else if (dirs[i][0])
			scratch_remove(dirs[i]);
}
