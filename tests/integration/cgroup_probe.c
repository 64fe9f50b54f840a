/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cgroup module alone, for tests/integration/cgroup.sh.
 *
 *   cgroup_probe CONFIG ID run SCRIPT    cgroups with the resources of config.json; the script runs in them; they are removed
 *   cgroup_probe CONFIG ID kill N        N sleeping processes; frozen, counted, killed, counted, removed
 *   cgroup_probe CONFIG ID hold          creates, prints a description line for each hierarchy, leaves all in place
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "container/cgroup.h"
#include "oci/arena.h"
#include "oci/config.h"

static int complain(const struct error *err)
{
	(void)fprintf(stderr, "cgroup_probe: %s\n", err->text);
	return 1;
}

static void join(struct cgroup *cgroup)
{
	for (char **file = cgroup_procs_files(cgroup); *file; file++)
		if (fd_write_file(AT_FDCWD, *file, "0") < 0)
			_exit(9);
}

static int run_script(struct cgroup *cgroup, const char *script)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		join(cgroup);
		(void)execl("/bin/sh", "sh", "-c", script, (char *)NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static size_t count(struct cgroup *cgroup)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n = 0;

	return cgroup_pids(cgroup, &pids, &n, NULL) < 0 ? 9999 : n;
}

/* Each child says when it has joined: one byte. */
static void start_sleepers(struct cgroup *cgroup, int n)
{
	int ready[2];
	char bytes[256];

	if (pipe(ready) < 0)
		exit(1);
	for (int i = 0; i < n; i++) {
		if (fork() != 0)
			continue;
		join(cgroup);
		(void)fd_write_full(ready[1], "x", 1);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	(void)fd_read_full(ready[0], bytes, (size_t)n);
	(void)close(ready[0]);
}

static int freeze_and_kill(struct cgroup *cgroup, int n, struct error *err)
{
	size_t before, dead = 0;

	start_sleepers(cgroup, n);
	if (cgroup_freeze(cgroup, true, err) < 0)
		return complain(err);
	before = count(cgroup);
	if (cgroup_freeze(cgroup, false, err) < 0 || cgroup_signal(cgroup, SIGKILL, err) < 0)
		return complain(err);
	while (waitpid(-1, NULL, 0) > 0)
		dead++;
	(void)printf("%zu frozen, %zu dead, %zu left\n", before, dead, count(cgroup));
	return 0;
}

static int hold(struct cgroup *cgroup, struct error *err)
{
	struct oci_arena *arena = oci_arena_new();
	struct cgroup *again = NULL;
	struct oci_pairs pairs;

	if (!arena || cgroup_to_pairs(cgroup, arena, &pairs) < 0)
		return 1;
	for (size_t i = 0; i < pairs.count; i++)
		(void)printf("%s %s\n", pairs.items[i].key, pairs.items[i].value);
	/* what the description says is what can be removed later */
	if (cgroup_from_pairs(&pairs, &again, err) < 0 || cgroup_remove(again, err) < 0)
		return complain(err);
	cgroup_free(again);
	(void)oci_arena_free(arena);
	return 0;
}

int main(int argc, char **argv)
{
	struct oci_config config = { 0 };
	struct cgroup *cgroup = NULL;
	struct error err = { 0 };
	int status = 2;

	if (argc < 4)
		return 2;
	if (oci_config_load(AT_FDCWD, argv[1], &config, &err) < 0 ||
	    cgroup_create(config.linux_.cgroups_path, argv[2], &cgroup, &err) < 0)
		return complain(&err);
	if (cgroup_apply(cgroup, &config.linux_.resources, &err) < 0)
		status = complain(&err);
	else if (strcmp(argv[3], "run") == 0)
		status = run_script(cgroup, argv[4]);
	else if (strcmp(argv[3], "kill") == 0)
		status = freeze_and_kill(cgroup, atoi(argv[4]), &err);
	else if (strcmp(argv[3], "hold") == 0)
		status = hold(cgroup, &err);
	if (cgroup_remove(cgroup, &err) < 0)
		status = complain(&err);
	cgroup_free(cgroup);
	oci_config_free(&config);
	return status;
}
