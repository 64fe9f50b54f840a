/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the program, as a shell does: see internal.h. Runs in the guest process, in its root, with its credentials. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/internal.h"

/* What execvp uses when there is no PATH. */
static const char default_path[] = "/bin:/usr/bin";

static const char *environment_get(char **envp, const char *name)
{
	size_t len = strlen(name);

	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

/* 0 if execve has a chance, else an errno value. */
static int check_program(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode))
		return EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

static bool is_not_found(int code)
{
	return code == ENOENT || code == ENOTDIR || code == ENAMETOOLONG;
}

/* The reason in lower case, as runc writes it: clients of engines look for "no such file or directory" and "permission denied". */
static int fail(const char *name, int code, int *ret_status, struct error *err)
{
	const char *why = strerrordesc_np(code) ?: "Unknown error";

	*ret_status = is_not_found(code) ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE;
	return error_set(err, code, "cannot execute %s: %c%s", name, tolower((unsigned char)why[0]), why + 1);
}

static int give(const char *path, char **ret, int *ret_status, struct error *err)
{
	*ret = strdup(path);
	if (*ret)
		return 0;
	*ret_status = STATUS_FAILURE;
	return error_set(err, ENOMEM, "out of memory");
}

int program_lookup(const char *name, char **envp, char **ret, int *ret_status, struct error *err)
{
	const char *path = environment_get(envp, "PATH") ?: default_path;
	char candidate[PATH_MAX];
	int code, denied = 0, n;
	size_t len;

	if (strchr(name, '/')) {
		code = check_program(name);
		return code ? fail(name, code, ret_status, err) : give(name, ret, ret_status, err);
	}
	for (const char *p = *name ? path : NULL; p; p = p[len] ? p + len + 1 : NULL) {
		len = strcspn(p, ":");
		n = snprintf(candidate, sizeof(candidate), "%.*s%s%s", (int)len, p, len ? "/" : "./", name);
		if (n < 0 || (size_t)n >= sizeof(candidate))
			continue;
		code = check_program(candidate);
		if (code == 0)
			return give(candidate, ret, ret_status, err);
		/* a directory that may not be searched is no find */
		if (!denied && access(candidate, F_OK) == 0)
			denied = code;
	}
	if (denied)
		return fail(name, denied, ret_status, err);
	*ret_status = STATUS_NOT_FOUND;
	return error_set(err, ENOENT, "%s: executable file not found in $PATH", name);
}
