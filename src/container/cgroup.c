/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cgroups as directories: see cgroup.h. Values are written by cgroup_apply.c, cgroup_v1.c and cgroup_v2.c, processes and the end are
 * cgroup_processes.c's.
 */
#include "container/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "container/cgroup_internal.h"
#include "container/mountinfo.h"
#include "oci/arena.h"

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
		.directory = cgroup_join(mount, path),
	};

	h.procs = h.directory ? cgroup_join(h.directory, "/cgroup.procs") : NULL;
	if (cgroup->n >= CGROUP_MAX_HIERARCHIES || !h.controllers || !h.mount || !h.path || !h.procs) {
		hierarchy_free(&h);
		return -ENOMEM;
	}
	cgroup->procs[cgroup->n] = h.procs;
	cgroup->items[cgroup->n++] = h;
	return 0;
}

bool cgroup_host_is_unified(void)
{
	struct statfs fs;

	return statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* Hierarchies that are mounted here, each with the path. */
int cgroup_discover(struct cgroup *cgroup, const char *path, struct error *err)
{
	struct mount_table mounts = { 0 };
	char name[256];
	int r;

	if (cgroup_host_is_unified()) {
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
			(void)cgroup_no_memory(err);
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
		r = fd_read_file(AT_FDCWD, from, CGROUP_FILE_LIMIT, &theirs, NULL);
		if (r == 0)
			r = fd_read_file(AT_FDCWD, to, CGROUP_FILE_LIMIT, &ours, NULL);
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
	_cleanup_free_ char *have = NULL, *from = cgroup_join(parent, "/cgroup.controllers"),
			    *to = cgroup_join(parent, "/cgroup.subtree_control");
	char *rest, *word, text[64];
	int r;

	if (!from || !to)
		return -ENOMEM;
	r = fd_read_file(AT_FDCWD, from, CGROUP_FILE_LIMIT, &have, NULL);
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

/* Dead ones that nobody has waited for do nothing any more. */
static bool is_dead(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	const char *name_end;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (fd_read_file(AT_FDCWD, path, 4096, &text, NULL) < 0)
		return true;
	name_end = strrchr(text, ')');
	return name_end && (!strncmp(name_end, ") Z", 3) || !strncmp(name_end, ") X", 3));
}

/* What enters a frozen one stops there for good, and its creator would wait for it. */
static int check_usable(const struct cgroup *cgroup, struct error *err)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t n;
	int r;

	r = cgroup_pids(cgroup, &pids, &n, err);
	while (r == 0 && n > 0 && is_dead(pids[n - 1]))
		n--;
	if (r == 0 && n > 0)
		return error_set(err, EEXIST, "cgroup %s has processes already", cgroup->items[0].directory);
	if (r == 0 && cgroup_is_frozen(cgroup))
		return error_set(err, EBUSY, "container's cgroup unexpectedly frozen: %s", cgroup->items[0].path);
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
		return cgroup_no_memory(err);
	r = cgroup_discover(cgroup, path, err);
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
		r = check_usable(cgroup, err);
	if (r < 0)
		cgroup_free(cgroup);
	else
		*ret = cgroup;
	return r;
}

int cgroup_adopt(const char *path, struct cgroup **ret, struct error *err)
{
	struct cgroup *cgroup = calloc(1, sizeof(*cgroup));
	int r;

	if (!cgroup)
		return cgroup_no_memory(err);
	r = cgroup_discover(cgroup, path, err);
	if (r == 0 && !cgroup->unified)
		r = make_hierarchies(cgroup, err);
	else if (r == 0 && access(cgroup->items[0].directory, F_OK) < 0)
		r = error_errno(err, errno, "cgroup %s", cgroup->items[0].directory);
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
	int r = cgroup && host ? 0 : cgroup_no_memory(err);

	if (r == 0)
		r = cgroup_discover(host, "", err);
	for (size_t i = 0; r == 0 && i < host->n; i++) {
		const char *path = pairs_get(pairs, host->items[i].controllers);

		if (path && add_hierarchy(cgroup, host->items[i].controllers, host->items[i].mount, path) < 0)
			r = cgroup_no_memory(err);
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

static bool has_one_of(const char *list, const char *wanted, size_t len)
{
	for (const char *p = wanted; p < wanted + len;) {
		size_t word = strcspn(p, ",:");

		for (const char *q = list; *q; q += strcspn(q, ","), q += *q == ',')
			if (strcspn(q, ",") == word && !strncmp(q, p, word))
				return true;
		p += word + 1;
	}
	return false;
}

static bool leads_out(const char *path)
{
	for (const char *p = path; *p; p += strcspn(p, "/"), p += *p == '/')
		if (strcspn(p, "/") == 2 && !strncmp(p, "..", 2))
			return true;
	return false;
}

static int use_below(struct cgroup *cgroup, size_t i, const char *path, struct error *err)
{
	struct cgroup_hierarchy *h = &cgroup->items[i];
	char *procs = NULL;

	if (asprintf(&procs, "%s/%s/cgroup.procs", h->directory, path + strspn(path, "/")) < 0)
		return cgroup_no_memory(err);
	if (access(procs, F_OK) < 0) {
		(void)error_errno(err, errno, "no cgroup '%s' in %s", path, h->directory);
		free(procs);
		return -err->code;
	}
	free(h->procs);
	h->procs = procs;
	cgroup->procs[i] = procs;
	return 0;
}

int cgroup_use_below(struct cgroup *cgroup, const char *which, struct error *err)
{
	const char *colon = strchr(which, ':'), *path = colon ? colon + 1 : which;
	size_t used = 0;
	int r = 0;

	if (leads_out(path))
		return error_set(err, EINVAL, "cgroup '%s' is not within the container's", which);
	for (size_t i = 0; r == 0 && i < cgroup->n; i++) {
		if (colon && !has_one_of(cgroup->items[i].controllers, which, (size_t)(colon - which)))
			continue;
		r = use_below(cgroup, i, path, err);
		used++;
	}
	return r == 0 && used == 0 ? error_set(err, ENOENT, "no cgroup of the container has a controller of '%s'", which) : r;
}

/* ---- one of them ---- */

/* The file lists separate by blanks; our own names by commas. */
static bool file_has_word(const char *path, const char *word)
{
	_cleanup_free_ char *text = NULL;
	size_t len = strlen(word);

	if (fd_read_file(AT_FDCWD, path, CGROUP_FILE_LIMIT, &text, NULL) < 0)
		return false;
	for (const char *p = text; (p = strstr(p, word)); p += len)
		if ((p == text || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\n' || p[len] == '\0'))
			return true;
	return false;
}

const struct cgroup_hierarchy *cgroup_find(const struct cgroup *cgroup, const char *controller)
{
	if (cgroup->unified) {
		_cleanup_free_ char *path = cgroup->n ? cgroup_join(cgroup->items[0].directory, "/cgroup.controllers") : NULL;

		return path && (!*controller || file_has_word(path, controller)) ? &cgroup->items[0] : NULL;
	}
	for (size_t i = 0; i < cgroup->n; i++)
		if (has_controller(cgroup->items[i].controllers, controller))
			return &cgroup->items[i];
	return NULL;
}

void cgroup_clear(struct cgroup *cgroup)
{
	for (size_t i = 0; i < cgroup->n; i++)
		hierarchy_free(&cgroup->items[i]);
}

void cgroup_free(struct cgroup *cgroup)
{
	if (cgroup)
		cgroup_clear(cgroup);
	free(cgroup);
}
