/* SPDX-License-Identifier: BSD-3-Clause */
/* Cgroups as directories: see cgroup.h. Values are written by cgroup_v1.c and cgroup_v2.c. */
#include "container/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "container/cgroup_internal.h"
#include "container/mountinfo.h"
#include "oci/arena.h"

enum {
	FILE_LIMIT = 1 << 22,
	WAIT_STEP_MS = 5,
	WAIT_TOTAL_MS = 5000, /* for the kernel to be done with what it was told */
	KILL_ROUNDS = 100,
};

DEFINE_CLEANUP(dir, DIR, closedir)

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "out of memory");
}

static char *join(const char *a, const char *b)
{
	char *text = NULL;

	return asprintf(&text, "%s%s", a, b) < 0 ? NULL : text;
}

/* ---- layout ---- */

static void hierarchy_free(struct cgroup_hierarchy *h)
{
	free(h->controllers);
	free(h->mount);
	free(h->path);
	free(h->directory);
	free(h->procs);
}

static int add_hierarchy(struct cgroup *cgroup, const char *controllers, const char *mount, const char *path)
{
	struct cgroup_hierarchy h = {
		.controllers = strdup(controllers),
		.mount = strdup(mount),
		.path = strdup(path),
		.directory = join(mount, path),
	};

	h.procs = h.directory ? join(h.directory, "/cgroup.procs") : NULL;
	if (cgroup->n >= CGROUP_MAX_HIERARCHIES || !h.controllers || !h.mount || !h.path || !h.procs) {
		hierarchy_free(&h);
		return -ENOMEM;
	}
	cgroup->procs[cgroup->n] = h.procs;
	cgroup->items[cgroup->n++] = h;
	return 0;
}

static bool host_is_unified(const char *point)
{
	struct statfs fs;

	return statfs(point, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* Hierarchies that are mounted here, each with the path. */
static int discover(struct cgroup *cgroup, const char *path, struct error *err)
{
	struct mount_table mounts = { 0 };
	char name[256];
	int r;

	if (host_is_unified("/sys/fs/cgroup")) {
		cgroup->unified = true;
		return add_hierarchy(cgroup, "", "/sys/fs/cgroup", path);
	}
	r = mount_table_read(&mounts, 0, err);
	for (size_t i = 0; r == 0 && i < mounts.n; i++) {
		const struct mount_entry *m = &mounts.entries[i];

		if (strcmp(m->type, "cgroup") != 0 || !path_is_under(m->point, "/sys/fs/cgroup"))
			continue;
		cgroup_v1_name(m->super_options, name, sizeof(name));
		r = add_hierarchy(cgroup, name, m->point, path);
		if (r < 0)
			(void)no_memory(err);
	}
	mount_table_free(&mounts);
	return r;
}

/* ---- creation ---- */

/* cpuset of version 1: a new directory has no CPUs and no memory nodes, and takes no process before it has some. */
static int inherit_cpuset(const char *parent, const char *child)
{
	static const char *const files[] = { "cpuset.cpus", "cpuset.mems" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *from = NULL, *to = NULL, *theirs = NULL, *ours = NULL;
		int r;

		if (asprintf(&from, "%s/%s", parent, files[i]) < 0 || asprintf(&to, "%s/%s", child, files[i]) < 0)
			return -ENOMEM;
		r = fd_read_file(AT_FDCWD, from, FILE_LIMIT, &theirs, NULL);
		if (r == 0)
			r = fd_read_file(AT_FDCWD, to, FILE_LIMIT, &ours, NULL);
		if (r == 0 && ours[strspn(ours, " \n")] == '\0')
			r = fd_write_file(AT_FDCWD, to, theirs);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Version 2: children have the controllers that their parent hands down. What cannot be handed down is missed later. */
static int hand_down_controllers(const char *parent)
{
	_cleanup_free_ char *have = NULL, *from = join(parent, "/cgroup.controllers"),
			    *to = join(parent, "/cgroup.subtree_control");
	char *rest, *word, text[64];
	int r;

	if (!from || !to)
		return -ENOMEM;
	r = fd_read_file(AT_FDCWD, from, FILE_LIMIT, &have, NULL);
	if (r < 0)
		return r;
	rest = have;
	while ((word = strsep(&rest, " \n"))) {
		if (!*word)
			continue;
		(void)snprintf(text, sizeof(text), "+%s", word);
		r = fd_write_file(AT_FDCWD, to, text);
		if (r < 0)
			log_debug("%s: cannot hand down %s: %s", parent, word, strerrordesc_np(-r));
	}
	return 0;
}

static bool has_controller(const char *list, const char *controller)
{
	return options_have(list, controller);
}

static int make_one(const struct cgroup *cgroup, const struct cgroup_hierarchy *h, const char *parent,
		    const char *directory)
{
	int r = 0;

	if (cgroup->unified)
		r = hand_down_controllers(parent);
	if (r < 0 || (mkdir(directory, 0755) < 0 && errno != EEXIST))
		return r < 0 ? r : -errno;
	return has_controller(h->controllers, "cpuset") ? inherit_cpuset(parent, directory) : 0;
}

/* From the mount down to the container's own directory. */
static int make_directories(const struct cgroup *cgroup, const struct cgroup_hierarchy *h)
{
	_cleanup_free_ char *directory = strdup(h->directory), *parent = strdup(h->mount);
	size_t end = strlen(h->mount);
	int r = directory && parent ? 0 : -ENOMEM;

	while (r == 0 && h->directory[end]) {
		end += strspn(h->directory + end, "/");
		if (!h->directory[end])
			break;
		end += strcspn(h->directory + end, "/");
		memcpy(directory, h->directory, end);
		directory[end] = '\0';
		r = make_one(cgroup, h, parent, directory);
		free(parent);
		parent = strdup(directory);
		if (!parent)
			return -ENOMEM;
	}
	return r;
}

/* What this user may not have is not used; everything else is an error. */
static bool may_do_without(int code)
{
	return code == -EACCES || code == -EPERM || code == -EROFS || code == -ENOENT;
}

static int make_hierarchies(struct cgroup *cgroup, struct error *err)
{
	size_t kept = 0;
	int r;

	for (size_t i = 0; i < cgroup->n; i++) {
		struct cgroup_hierarchy *h = &cgroup->items[i];

		r = make_directories(cgroup, h);
		if (r < 0 && !may_do_without(r))
			return error_errno(err, -r, "cannot create the cgroup %s", h->directory);
		if (r < 0) {
			log_debug("no cgroup %s: %s", h->directory, strerrordesc_np(-r));
			hierarchy_free(h);
			continue;
		}
		cgroup->procs[kept] = h->procs;
		cgroup->items[kept++] = *h;
	}
	cgroup->n = kept;
	cgroup->procs[kept] = NULL;
	return 0;
}

/* "/" + path without a trailing slash; ".." would lead to cgroups that are not meant. */
static int normalize(const char *cgroups_path, const char *id, char *buf, size_t size, struct error *err)
{
	const char *path = cgroups_path && *cgroups_path ? cgroups_path : id;
	int n;

	path += strspn(path, "/");
	n = snprintf(buf, size, "/%s", path);
	if (n < 0 || (size_t)n >= size)
		return error_set(err, ENAMETOOLONG, "linux.cgroupsPath: too long");
	while (n > 1 && buf[n - 1] == '/')
		buf[--n] = '\0';
	if (n == 1)
		return error_set(err, EINVAL, "linux.cgroupsPath: is the root");
	if (strstr(buf, "/../") || (n >= 3 && strcmp(buf + n - 3, "/..") == 0))
		return error_set(err, EINVAL, "linux.cgroupsPath: '%s' has '..' in it", path);
	return 0;
}

static int check_empty(const struct cgroup *cgroup, struct error *err)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n;
	int r;

	r = cgroup_pids(cgroup, &pids, &n, err);
	if (r == 0 && n > 0)
		return error_set(err, EEXIST, "cgroup %s has processes already", cgroup->items[0].directory);
	return r;
}

int cgroup_at(const char *cgroups_path, const char *id, struct cgroup **ret, struct error *err)
{
	struct cgroup *cgroup = NULL;
	char path[1024];
	int r;

	r = normalize(cgroups_path, id, path, sizeof(path), err);
	if (r < 0)
		return r;
	cgroup = calloc(1, sizeof(*cgroup));
	if (!cgroup)
		return no_memory(err);
	r = discover(cgroup, path, err);
	if (r < 0)
		cgroup_free(cgroup);
	else
		*ret = cgroup;
	return r;
}

int cgroup_create(const char *cgroups_path, const char *id, struct cgroup **ret, struct error *err)
{
	struct cgroup *cgroup = NULL;
	int r;

	r = cgroup_at(cgroups_path, id, &cgroup, err);
	if (r < 0)
		return r;
	r = make_hierarchies(cgroup, err);
	if (r == 0)
		r = check_empty(cgroup, err);
	if (r < 0)
		cgroup_free(cgroup);
	else
		*ret = cgroup;
	return r;
}

/* ---- description ---- */

static const char *pairs_get(const struct oci_pairs *pairs, const char *key)
{
	for (size_t i = 0; i < pairs->count; i++)
		if (strcmp(pairs->items[i].key, key) == 0)
			return pairs->items[i].value;
	return NULL;
}

int cgroup_from_pairs(const struct oci_pairs *pairs, struct cgroup **ret, struct error *err)
{
	struct cgroup *cgroup = calloc(1, sizeof(*cgroup)), *host = calloc(1, sizeof(*host));
	int r = cgroup && host ? 0 : no_memory(err);

	if (r == 0)
		r = discover(host, "", err);
	for (size_t i = 0; r == 0 && i < host->n; i++) {
		const char *path = pairs_get(pairs, host->items[i].controllers);

		if (path && add_hierarchy(cgroup, host->items[i].controllers, host->items[i].mount, path) < 0)
			r = no_memory(err);
	}
	if (r == 0)
		cgroup->unified = host->unified;
	cgroup_free(host);
	if (r < 0)
		cgroup_free(cgroup);
	else
		*ret = cgroup;
	return r;
}

int cgroup_to_pairs(const struct cgroup *cgroup, struct oci_arena *arena, struct oci_pairs *ret)
{
	struct oci_pair *items = oci_arena_array(arena, cgroup->n + 1, sizeof(*items));

	for (size_t i = 0; items && i < cgroup->n; i++) {
		items[i].key = oci_arena_strdup(arena, cgroup->items[i].controllers);
		items[i].value = oci_arena_strdup(arena, cgroup->items[i].path);
		if (!items[i].key || !items[i].value)
			return -ENOMEM;
	}
	if (!items)
		return -ENOMEM;
	*ret = (struct oci_pairs){ .items = items, .count = cgroup->n };
	return 0;
}

char **cgroup_procs_files(const struct cgroup *cgroup)
{
	return (char **)cgroup->procs;
}

/* ---- values ---- */

/* The file lists separate by blanks; our own names by commas. */
static bool file_has_word(const char *path, const char *word)
{
	_cleanup_free_ char *text = NULL;
	size_t len = strlen(word);

	if (fd_read_file(AT_FDCWD, path, FILE_LIMIT, &text, NULL) < 0)
		return false;
	for (const char *p = text; (p = strstr(p, word)); p += len)
		if ((p == text || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\n' || p[len] == '\0'))
			return true;
	return false;
}

const struct cgroup_hierarchy *cgroup_find(const struct cgroup *cgroup, const char *controller)
{
	if (cgroup->unified) {
		_cleanup_free_ char *path = cgroup->n ? join(cgroup->items[0].directory, "/cgroup.controllers") : NULL;

		return path && (!*controller || file_has_word(path, controller)) ? &cgroup->items[0] : NULL;
	}
	for (size_t i = 0; i < cgroup->n; i++)
		if (has_controller(cgroup->items[i].controllers, controller))
			return &cgroup->items[i];
	return NULL;
}

int cgroup_set(const struct cgroup *cgroup, const char *controller, const char *file, const char *field,
	       struct error *err, const char *format, ...)
{
	const struct cgroup_hierarchy *h = cgroup_find(cgroup, controller);
	_cleanup_free_ char *path = NULL, *value = NULL;
	va_list ap;
	int r;

	if (!h)
		return error_set(err, ENOTSUP, "linux.resources.%s: there is no cgroup controller '%s' here", field,
				 controller);
	va_start(ap, format);
	r = vasprintf(&value, format, ap);
	va_end(ap);
	if (r < 0 || asprintf(&path, "%s/%s", h->directory, file) < 0)
		return no_memory(err);
	r = fd_write_file(AT_FDCWD, path, value);
	if (r == -ENOENT)
		return error_set(err, ENOTSUP, "linux.resources.%s: this kernel has no %s", field, file);
	return r < 0 ? error_errno(err, -r, "linux.resources.%s: cannot write '%s' to %s", field, value, path) : 0;
}

int cgroup_apply(const struct cgroup *cgroup, const struct oci_resources *resources, struct error *err)
{
	if (!resources->present)
		return 0;
	return cgroup->unified ? cgroup_apply_v2(cgroup, resources, err) : cgroup_apply_v1(cgroup, resources, err);
}

/* ---- processes ---- */

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
	_cleanup_free_ char *file = join(path, "/cgroup.procs"), *text = NULL;
	int r;

	if (!file)
		return -ENOMEM;
	r = fd_read_file(AT_FDCWD, file, FILE_LIMIT, &text, NULL);
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

		r = fd_read_file(AT_FDCWD, path, FILE_LIMIT, &text, NULL);
		if (r < 0)
			return r;
		if (strstr(text, word))
			return 0;
		wait_a_step();
	}
	return -ETIMEDOUT;
}

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
	_cleanup_free_ char *file = h ? join(h->directory, cgroup->unified ? "/cgroup.freeze" : "/freezer.state") : NULL;

	if (file)
		(void)fd_write_file(AT_FDCWD, file, freezer_value(cgroup, frozen));
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
	file = join(h->directory, cgroup->unified ? "/cgroup.freeze" : "/freezer.state");
	events = join(h->directory, cgroup->unified ? "/cgroup.events" : "/freezer.state");
	if (!file || !events)
		return no_memory(err);
	r = fd_write_file(AT_FDCWD, file, value);
	if (r == 0)
		r = wait_for_word(events, word);
	if (r < 0 && frozen)
		(void)fd_write_file(AT_FDCWD, file, cgroup->unified ? "0" : "THAWED");
	return r < 0 ? error_errno(err, -r, "cannot %s cgroup %s", frozen ? "freeze" : "thaw", h->directory) : 0;
}

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
	_cleanup_free_ char *file = h ? join(h->directory, "/cgroup.kill") : NULL;

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

void cgroup_free(struct cgroup *cgroup)
{
	for (size_t i = 0; cgroup && i < cgroup->n; i++)
		hierarchy_free(&cgroup->items[i]);
	free(cgroup);
}
