/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a cgroup: who they are, stopping them, ending them, and the directories after them. See cgroup.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/cgroup_internal.h"

enum {
	WAIT_STEP_MS = 5,
	WAIT_TOTAL_MS = 5000, /* for the kernel to be done with what it was told */
	KILL_ROUNDS = 100,
};

DEFINE_CLEANUP(dir, DIR, closedir)

struct pid_list {
	pid_t *items;
	size_t n, room;
};

static int add_pids(struct pid_list *list, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		pid_t *grown;

		if (!*line)
			continue;
		if (list->n == list->room) {
			list->room = list->room ? 2 * list->room : 64;
			grown = reallocarray(list->items, list->room, sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			list->items = grown;
		}
		list->items[list->n++] = (pid_t)strtol(line, NULL, 10);
	}
	return 0;
}

/* Calls visit for each directory below path, deepest first, then for path. A directory that is gone is fine. */
static int walk(const char *path, int (*visit)(const char *path, void *arg), void *arg)
{
	_cleanup_(cleanup_dir) DIR *dir = opendir(path);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (r == 0 && (entry = readdir(dir))) {
		_cleanup_free_ char *child = NULL;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if (asprintf(&child, "%s/%s", path, entry->d_name) < 0)
			return -ENOMEM;
		r = walk(child, visit, arg);
	}
	return r < 0 ? r : visit(path, arg);
}

static int collect_pids(const char *path, void *arg)
{
	_cleanup_free_ char *file = cgroup_join(path, "/cgroup.procs"), *text = NULL;
	int r;

	if (!file)
		return -ENOMEM;
	r = fd_read_file(AT_FDCWD, file, CGROUP_FILE_LIMIT, &text, NULL);
	if (r == -ENOENT || r == -ENODEV || r == -EOPNOTSUPP) /* gone, or of threads */
		return 0;
	return r < 0 ? r : add_pids(arg, text);
}

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

/* The hierarchy whose members are asked for: one that exists in every layout and that nobody else moves processes about in. */
static const struct cgroup_hierarchy *member_hierarchy(const struct cgroup *cgroup)
{
	static const char *const wanted[] = { "freezer", "pids", "memory", "devices" };
	const struct cgroup_hierarchy *h = NULL;

	if (cgroup->unified)
		return cgroup->n ? &cgroup->items[0] : NULL;
	for (size_t i = 0; !h && i < ARRAY_SIZE(wanted); i++)
		h = cgroup_find(cgroup, wanted[i]);
	return h ? h : cgroup->n ? &cgroup->items[0] : NULL;
}

int cgroup_pids(const struct cgroup *cgroup, pid_t **ret, size_t *ret_n, struct error *err)
{
	const struct cgroup_hierarchy *h = member_hierarchy(cgroup);
	struct pid_list list = { 0 };
	int r = h ? walk(h->directory, collect_pids, &list) : 0;

	if (r < 0) {
		free(list.items);
		return error_errno(err, -r, "cannot list the processes of cgroup %s", h->directory);
	}
	if (list.n > 0)
		qsort(list.items, list.n, sizeof(*list.items), by_number);
	*ret = list.items;
	*ret_n = list.n;
	return 0;
}

static void wait_a_step(void)
{
	const struct timespec step = { .tv_nsec = WAIT_STEP_MS * 1000000L };

	(void)nanosleep(&step, NULL);
}

/* Neither layout has an event for every state waited for, so the file is read until it says so. */
static int wait_for_word(const char *path, const char *word)
{
	for (int waited = 0; waited < WAIT_TOTAL_MS; waited += WAIT_STEP_MS) {
		_cleanup_free_ char *text = NULL;
		int r;

		r = fd_read_file(AT_FDCWD, path, CGROUP_FILE_LIMIT, &text, NULL);
		if (r < 0)
			return r;
		if (strstr(text, word))
			return 0;
		wait_a_step();
	}
	return -ETIMEDOUT;
}

/* ---- the freezer ---- */

static const struct cgroup_hierarchy *freezer_of(const struct cgroup *cgroup)
{
	return cgroup->unified ? cgroup_find(cgroup, "") : cgroup_find(cgroup, "freezer");
}

static const char *freezer_value(const struct cgroup *cgroup, bool frozen)
{
	if (cgroup->unified)
		return frozen ? "1" : "0";
	return frozen ? "FROZEN" : "THAWED";
}

void cgroup_freeze_begin(const struct cgroup *cgroup, bool frozen)
{
	const struct cgroup_hierarchy *h = freezer_of(cgroup);
	_cleanup_free_ char *file = h ? cgroup_join(h->directory, cgroup->unified ? "/cgroup.freeze" : "/freezer.state") : NULL;

	if (file)
		(void)fd_write_file(AT_FDCWD, file, freezer_value(cgroup, frozen));
}

bool cgroup_is_frozen(const struct cgroup *cgroup)
{
	const struct cgroup_hierarchy *h = freezer_of(cgroup);
	_cleanup_free_ char *file = h ? cgroup_join(h->directory, cgroup->unified ? "/cgroup.freeze" : "/freezer.state") : NULL;
	_cleanup_free_ char *text = NULL;

	return file && fd_read_file(AT_FDCWD, file, 4096, &text, NULL) == 0 && strncmp(text, cgroup->unified ? "0" : "THAWED", 1) != 0;
}

int cgroup_freeze(const struct cgroup *cgroup, bool frozen, struct error *err)
{
	const struct cgroup_hierarchy *h = freezer_of(cgroup);
	_cleanup_free_ char *file = NULL, *events = NULL;
	const char *value = freezer_value(cgroup, frozen);
	const char *word = cgroup->unified ? (frozen ? "frozen 1" : "frozen 0") : value;
	int r;

	if (!h)
		return error_set(err, ENOTSUP, "there is no cgroup freezer here");
	file = cgroup_join(h->directory, cgroup->unified ? "/cgroup.freeze" : "/freezer.state");
	events = cgroup_join(h->directory, cgroup->unified ? "/cgroup.events" : "/freezer.state");
	if (!file || !events)
		return cgroup_no_memory(err);
	r = fd_write_file(AT_FDCWD, file, value);
	if (r == 0)
		r = wait_for_word(events, word);
	if (r < 0 && frozen)
		(void)fd_write_file(AT_FDCWD, file, cgroup->unified ? "0" : "THAWED");
	return r < 0 ? error_errno(err, -r, "cannot %s cgroup %s", frozen ? "freeze" : "thaw", h->directory) : 0;
}

char *cgroup_path_of_process(pid_t pid, const char *word)
{
	_cleanup_free_ char *text = NULL;
	char file[32], *at;

	(void)snprintf(file, sizeof(file), "/proc/%d/cgroup", (int)pid);
	if (fd_read_file(AT_FDCWD, file, CGROUP_FILE_LIMIT, &text, NULL) < 0)
		return NULL;
	at = strstr(text, word);
	if (!at)
		return NULL;
	at += strlen(word);
	return strndup(at, strcspn(at, "\n"));
}

int cgroup_thaw_process(pid_t pid)
{
	struct cgroup host = { 0 };
	const struct cgroup_hierarchy *h;
	struct error unread = { 0 };
	_cleanup_free_ char *path = NULL, *file = NULL;
	int r;

	r = cgroup_discover(&host, "", &unread);
	h = r == 0 ? freezer_of(&host) : NULL;
	path = h ? cgroup_path_of_process(pid, host.unified ? "0::" : ":freezer:") : NULL;
	if (path && asprintf(&file, "%s%s/%s", h->mount, path, host.unified ? "cgroup.freeze" : "freezer.state") < 0)
		file = NULL;
	r = file ? fd_write_file(AT_FDCWD, file, freezer_value(&host, false)) : -ENOENT;
	cgroup_clear(&host);
	return r;
}

/* ---- signals ---- */

static int signal_each(const struct cgroup *cgroup, int signo, size_t *ret_n, struct error *err)
{
	_cleanup_free_ pid_t *pids = NULL;
	int r;

	r = cgroup_pids(cgroup, &pids, ret_n, err);
	for (size_t i = 0; r == 0 && i < *ret_n; i++)
		if (pids[i] > 0 && kill(pids[i], signo) < 0 && errno != ESRCH)
			r = error_errno(err, errno, "cannot signal process %d", pids[i]);
	return r;
}

static int kill_by_file(const struct cgroup *cgroup)
{
	const struct cgroup_hierarchy *h = cgroup->unified ? cgroup_find(cgroup, "") : NULL;
	_cleanup_free_ char *file = h ? cgroup_join(h->directory, "/cgroup.kill") : NULL;

	return file ? fd_write_file(AT_FDCWD, file, "1") : -ENOENT;
}

int cgroup_signal(const struct cgroup *cgroup, int signo, struct error *err)
{
	bool frozen;
	size_t n = 0;
	int r;

	if (signo != SIGKILL)
		return signal_each(cgroup, signo, &n, err);
	if (kill_by_file(cgroup) == 0)
		return 0;
	frozen = cgroup_freeze(cgroup, true, NULL) == 0; /* nobody forks while the list is read */
	r = signal_each(cgroup, signo, &n, err);
	if (frozen)
		(void)cgroup_freeze(cgroup, false, NULL);
	for (int round = 0; !frozen && r == 0 && n > 0 && round < KILL_ROUNDS; round++)
		r = signal_each(cgroup, signo, &n, err);
	return r;
}

/* ---- removal ---- */

static int remove_directory(const char *path, void *arg)
{
	(void)arg;
	return rmdir(path) < 0 && errno != ENOENT ? -errno : 0;
}

/* A process that was killed and reaped may still be leaving: the kernel says EBUSY until it has. */
static int remove_hierarchy(const char *directory)
{
	int r = 0;

	for (int waited = 0; waited < WAIT_TOTAL_MS; waited += WAIT_STEP_MS) {
		r = walk(directory, remove_directory, NULL);
		if (r != -EBUSY)
			return r;
		wait_a_step();
	}
	return r;
}

int cgroup_remove(const struct cgroup *cgroup, struct error *err)
{
	int r, first = 0;

	for (size_t i = 0; i < cgroup->n; i++) {
		r = remove_hierarchy(cgroup->items[i].directory);
		if (r < 0 && first == 0)
			first = error_errno(err, -r, "cannot remove the cgroup %s", cgroup->items[i].directory);
	}
	return first;
}
