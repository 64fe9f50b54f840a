/* SPDX-License-Identifier: BSD-3-Clause */
/* Where hermit ci has its files: see ci_internal.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "supervisor/explore/ci_internal.h"
#include "supervisor/scratch.h"

int ci_make_artifacts(const struct ci *ci, struct error *err)
{
	if (mkdir(ci->request->artifacts, 0777) < 0 && errno != EEXIST)
		return error_errno(err, errno, "--artifacts: %s", ci->request->artifacts);
	return 0;
}

int ci_make_scratch(struct ci *ci, struct error *err)
{
	int r = scratch_make(ci->scratch, sizeof(ci->scratch) - 300, "ci", err);

	if (r < 0)
		ci->scratch[0] = '\0';
	return r;
}

const char *ci_scratch_path(const struct ci *ci, const char *name, char path[CI_PATH_SIZE])
{
	(void)snprintf(path, CI_PATH_SIZE, "%.3800s/%.290s", ci->scratch, name);
	return path;
}

int ci_artifact_path(const struct ci *ci, const char *name, char **ret, struct error *err)
{
	if (asprintf(ret, "%s/%s", ci->request->artifacts, name) >= 0)
		return 0;
	*ret = NULL;
	return error_errno(err, ENOMEM, "--artifacts");
}

FILE *ci_create_artifact(const struct ci *ci, const char *name, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	FILE *f;

	if (ci_artifact_path(ci, name, &path, err) < 0)
		return NULL;
	f = fopen(path, "we");
	if (!f)
		(void)error_errno(err, errno, "%s", path);
	return f;
}

int ci_finish_file(FILE *f, const char *name, struct error *err)
{
	bool bad = ferror(f) != 0;

	if (fclose(f) != 0 || bad)
		return error_errno(err, errno ? errno : EIO, "%s", name);
	return 0;
}

int ci_keep_file(const struct ci *ci, const char *name, struct error *err)
{
	_cleanup_free_ char *to = NULL;
	char from[CI_PATH_SIZE];
	int r;

	r = ci_artifact_path(ci, name, &to, err);
	if (r < 0)
		return r;
	r = fd_copy_file(ci_scratch_path(ci, name, from), to);
	return r < 0 ? error_errno(err, -r, "%s", to) : 0;
}

/* Calls `each` for every file of a directory of files, with "DIRECTORY/FILE". One that is not there has none. */
static int for_each_file(const char *path, const char *name, int (*each)(const struct ci *ci, const char *file, struct error *err),
			 const struct ci *ci, struct error *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char file[300];
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", path);
	while (r == 0 && (entry = readdir(dir))) {
		(void)snprintf(file, sizeof(file), "%.20s/%s", name, entry->d_name);
		if (entry->d_name[0] != '.')
			r = each(ci, file, err);
	}
	(void)closedir(dir);
	return r;
}

static int forget_artifact(const struct ci *ci, const char *file, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	int r;

	r = ci_artifact_path(ci, file, &path, err);
	if (r == 0 && unlink(path) < 0)
		return error_errno(err, errno, "%s", path);
	return r;
}

int ci_keep_directory(const struct ci *ci, const char *name, bool wanted, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	char from[CI_PATH_SIZE];
	int r;

	r = ci_artifact_path(ci, name, &path, err);
	if (r == 0)
		r = for_each_file(path, name, forget_artifact, ci, err);
	if (r < 0)
		return r;
	(void)rmdir(path);
	if (!wanted)
		return 0;
	if (mkdir(path, 0777) < 0)
		return error_errno(err, errno, "%s", path);
	return for_each_file(ci_scratch_path(ci, name, from), name, ci_keep_file, ci, err);
}

void ci_remove_scratch(struct ci *ci)
{
	if (ci->scratch[0])
		scratch_remove(ci->scratch);
}

int ci_redirect(const struct ci *ci, const char *name, int fd, int *ret_old, struct error *err)
{
	char path[CI_PATH_SIZE];
	int r;

	*ret_old = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (*ret_old < 0)
		return error_errno(err, errno, "%s", name);
	r = fd_redirect(ci_scratch_path(ci, name, path), O_WRONLY | O_CREAT | O_EXCL, fd);
	return r < 0 ? error_errno(err, -r, "%s", path) : 0;
}

void ci_restore(int *old, int fd)
{
	if (*old < 0)
		return;
	(void)dup2(*old, fd);
	cleanup_close(old);
}
