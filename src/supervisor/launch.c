/* SPDX-License-Identifier: BSD-3-Clause */
/* From options to a description of the run: see launch.h. */
#include "supervisor/launch.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "supervisor/cache_directory.h"
#include "supervisor/options/order_file.h"
#include "supervisor/user_names.h"

extern char **environ;

/* ---- environment ---- */

static int environment_host(struct strv *env)
{
	int r = 0;

	for (char **item = environ; item && *item && r == 0; item++)
		r = strv_set_env(env, *item);
	return r;
}

/* Nothing of the caller's, except that a program on a terminal has to know which kind it is. */
static int environment_minimal(struct strv *env)
{
	const char *term = getenv("TERM");
	int r;

	r = strv_add(env, "HOME=/root");
	if (r == 0)
		r = strv_add(env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	if (r == 0 && term && isatty(STDOUT_FILENO))
		r = strv_addf(env, "TERM=%s", term);
	return r;
}

int launch_environment(const struct run_options *o, struct strv *env)
{
	int r = 0;

	if (o->base_env == BASE_ENV_HOST)
		r = environment_host(env);
	if (o->base_env == BASE_ENV_MINIMAL)
		r = environment_minimal(env);
	for (size_t i = 0; i < o->env.count && r == 0; i++)
		r = strv_set_env(env, o->env.items[i]);
	return r;
}

/* ---- mounts ---- */

/* Keeps a piece of text; NULL when out of memory. */
static char *keep(struct strv *texts, const char *text, size_t len)
{
	return strv_take(texts, strndup(text, len)) < 0 ? NULL : texts->items[texts->count - 1];
}

/* An absolute form of a host path, which has to exist. */
static char *keep_host_path(struct strv *texts, const char *option, const char *path, struct error *err)
{
	char *real = realpath(path, NULL);

	if (!real) {
		(void)error_errno(err, errno, "%s: '%s'", option, path);
		return NULL;
	}
	if (strv_take(texts, real) < 0) {
		(void)error_errno(err, ENOMEM, "%s", option);
		return NULL;
	}
	return real;
}

/* Those of engines: labels are SELinux's, and no container here has one; binds are recursive and private unless somebody says otherwise. */
static int parse_bind_options(const char *options, const char *text, unsigned long *flags, struct error *err)
{
	static const struct {
		const char *word;
		unsigned long set, clear;
	} known[] = {
		{ "ro", MS_RDONLY, 0 },     { "rw", 0, MS_RDONLY },     { "z", 0, 0 },       { "Z", 0, 0 },        { "rbind", MS_REC, 0 },
		{ "bind", 0, MS_REC },      { "private", 0, 0 },        { "rprivate", 0, 0 }, { "nosuid", MS_NOSUID, 0 }, { "nodev", MS_NODEV, 0 },
		{ "noexec", MS_NOEXEC, 0 },
	};

	for (const char *word = options;; word++) {
		size_t len = strcspn(word, ","), i = 0;

		while (i < ARRAY_SIZE(known) && (strlen(known[i].word) != len || strncmp(word, known[i].word, len) != 0))
			i++;
		if (i == ARRAY_SIZE(known))
			return error_set(err, EINVAL, "--bind: '%.*s' is not known, in '%s'; known: ro, rw, z, Z, rbind, bind, private, rprivate, nosuid, "
						      "nodev, noexec", (int)len, word, text);
		*flags = (*flags & ~known[i].clear) | known[i].set;
		word += len;
		if (!*word)
			return 0;
	}
}

int launch_parse_bind(const char *text, struct strv *texts, struct container_mount *ret, struct error *err)
{
	const char *colon = strchr(text, ':'), *last = colon ? strchr(colon + 1, ':') : NULL;
	char *source = keep(texts, text, colon ? (size_t)(colon - text) : strlen(text));
	unsigned long flags = MS_BIND | MS_REC;
	char *target = source;
	int r;

	if (colon)
		target = keep(texts, colon + 1, last ? (size_t)(last - colon - 1) : strlen(colon + 1));
	if (!source || !target)
		return error_errno(err, ENOMEM, "--bind");
	r = last ? parse_bind_options(last + 1, text, &flags, err) : 0;
	if (r < 0)
		return r;
	source = keep_host_path(texts, "--bind", source, err);
	if (!source)
		return -err->code;
	if (!colon)
		target = source;
	if (*target != '/')
		return error_set(err, EINVAL, "--bind: '%s' is not an absolute path, in '%s'", target, text);
	*ret = (struct container_mount){ .type = "bind", .source = source, .target = target, .flags = flags };
	return 0;
}

struct mount_words {
	const char *type, *source, *target, *size;
	bool readonly;
};

/* One word of a --mount. */
static int take_mount_word(char *word, struct mount_words *words, struct error *err)
{
	static const struct {
		const char *name;
		size_t offset;
	} keys[] = {
		{ "type", offsetof(struct mount_words, type) },
		{ "source", offsetof(struct mount_words, source) },
		{ "src", offsetof(struct mount_words, source) },
		{ "target", offsetof(struct mount_words, target) },
		{ "destination", offsetof(struct mount_words, target) },
		{ "dst", offsetof(struct mount_words, target) },
		{ "size", offsetof(struct mount_words, size) },
	};
	char *value = strchr(word, '=');

	if (!strcmp(word, "readonly") || !strcmp(word, "ro")) {
		words->readonly = true;
		return 0;
	}
	if (value)
		*value++ = '\0';
	for (size_t i = 0; value && i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].name, word)) {
			*(const char **)((char *)words + keys[i].offset) = value;
			return 0;
		}
	return error_set(err, EINVAL, "--mount: '%s' is not known; known: type=, source=, target=, size=, readonly", word);
}

static int check_mount_words(const struct mount_words *words, const char *text, struct error *err)
{
	if (!words->type || (strcmp(words->type, "bind") != 0 && strcmp(words->type, "tmpfs") != 0))
		return error_set(err, EINVAL, "--mount: needs type=bind or type=tmpfs, in '%s'", text);
	if (!words->target || *words->target != '/')
		return error_set(err, EINVAL, "--mount: needs target= with an absolute path, in '%s'", text);
	if (!strcmp(words->type, "bind") != (words->source != NULL))
		return error_set(err, EINVAL, "--mount: source= goes with type=bind and only with it, in '%s'", text);
	if (words->size && words->source)
		return error_set(err, EINVAL, "--mount: size= goes with type=tmpfs, in '%s'", text);
	return 0;
}

/* "size=N" as the file system takes it. */
static int mount_data(const char *size, struct strv *texts, const char **ret, struct error *err)
{
	uint64_t bytes;

	if (!size)
		return 0;
	if (parse_bytes(size, &bytes) < 0 || bytes == 0)
		return error_set(err, EINVAL, "--mount: size='%s' is not a size such as 512M or 2GB", size);
	if (strv_addf(texts, "size=%" PRIu64, bytes) < 0)
		return error_errno(err, ENOMEM, "--mount");
	*ret = texts->items[texts->count - 1];
	return 0;
}

int launch_parse_mount(const char *text, struct strv *texts, struct container_mount *ret, struct error *err)
{
	struct mount_words words = { 0 };
	char *rest = keep(texts, text, strlen(text)), *word;
	unsigned long flags;
	int r;

	if (!rest)
		return error_errno(err, ENOMEM, "--mount");
	while ((word = strsep(&rest, ","))) {
		r = take_mount_word(word, &words, err);
		if (r < 0)
			return r;
	}
	r = check_mount_words(&words, text, err);
	if (r < 0)
		return r;
	if (words.source && !(words.source = keep_host_path(texts, "--mount", words.source, err)))
		return -err->code;
	flags = words.readonly ? MS_RDONLY : 0;
	*ret = (struct container_mount){ .type = words.type, .source = words.source, .target = words.target,
					 .flags = flags | (words.source ? MS_BIND | MS_REC : 0) };
	return mount_data(words.size, texts, &ret->data, err);
}

/* The person's mounts, then /tmp by --tmp, then what an ordinary user needs. */
static int add_mounts(struct launch *l, const struct run_options *o, struct error *err)
{
	int r = 0;

	l->mounts = calloc(o->bind.count + o->mount.count + 1, sizeof(*l->mounts));
	if (!l->mounts)
		return error_errno(err, ENOMEM, "mounts");
	if (o->tmp) {
		char *source = keep_host_path(&l->texts, "--tmp", o->tmp, err);

		if (!source)
			return -err->code;
		l->mounts[l->n_mounts++] = (struct container_mount){ .type = "bind", .source = source, .target = "/tmp",
								     .flags = MS_BIND | MS_REC };
	}
	for (size_t i = 0; i < o->mount.count && r == 0; i++)
		r = launch_parse_mount(o->mount.items[i], &l->texts, &l->mounts[l->n_mounts++], err);
	for (size_t i = 0; i < o->bind.count && r == 0; i++)
		r = launch_parse_bind(o->bind.items[i], &l->texts, &l->mounts[l->n_mounts++], err);
	l->spec.mounts = l->mounts;
	l->spec.n_mounts = l->n_mounts;
	return r;
}

/* ---- the rest ---- */

static int set_user(struct launch *l, const struct run_options *o, struct error *err)
{
	int r = 0;

	if (!o->user && !o->group)
		return 0;
	l->spec.set_user = true;
	l->spec.groups = l->no_groups;
	if (o->user)
		r = user_names_find(o->user, &l->spec.uid, &l->spec.gid, err);
	return r == 0 && o->group ? user_names_find_group(o->group, &l->spec.gid, err) : r;
}

static int walk(const char *path, char place[PATH_MAX], unsigned links);

/* The last component is a link to what is missing: that is what will be made. */
static int follow(char place[PATH_MAX], unsigned links)
{
	char target[PATH_MAX];
	ssize_t n = readlink(place, target, sizeof(target) - 1);

	if (n < 0)
		return 0;
	if (links == 0)
		return -ELOOP;
	target[n] = '\0';
	*(*target == '/' ? place : strrchr(place, '/')) = '\0';
	return walk(target, place, links - 1);
}

/* One more component; what is there already has its own name, what is not is made by this one. */
static int walk_to(const char *word, size_t len, char place[PATH_MAX], unsigned links)
{
	size_t n = strlen(place);
	char real[PATH_MAX];

	if (len == 0 || (len == 1 && *word == '.'))
		return 0;
	if (len == 2 && !memcmp(word, "..", 2)) {
		*(n > 0 ? strrchr(place, '/') : place) = '\0';
		return 0;
	}
	if (n + 1 + len >= PATH_MAX)
		return -ENAMETOOLONG;
	(void)snprintf(place + n, PATH_MAX - n, "/%.*s", (int)len, word);
	if (!realpath(place, real))
		return follow(place, links);
	(void)snprintf(place, PATH_MAX, "%s", real[1] ? real : "");
	return 0;
}

static int walk(const char *path, char place[PATH_MAX], unsigned links)
{
	int r = 0;

	while (r == 0 && *path) {
		size_t len = strcspn(path, "/");

		r = walk_to(path, len, place, links);
		path += len + (path[len] == '/');
	}
	return r;
}

/* A directory of the guest's where something of its own is mounted, as it is called in lists: without links and dots. */
static int add_mount_point(struct launch *l, const char *path)
{
	enum { LINKS_MOST = 40 }; /* as the kernel's MAXSYMLINKS */
	char place[PATH_MAX] = "";
	int r;

	r = walk(path, place, LINKS_MOST);
	return r < 0 ? r : strv_add(&l->mount_points, *place ? place : "/");
}

/* The rest of what is mounted there is the host's, in the copy-on-write view of it. */
static int set_mount_points(struct launch *l, const struct run_options *o, struct error *err)
{
	static const char *const standard[] = { "/proc", "/sys", "/dev" };
	_cleanup_free_ char *cwd = realpath(".", NULL);
	int r;

	r = strv_add(&l->mount_points, l->spec.private_tmp ? "=/tmp" : "/tmp"); /* covers what the host has mounted there */
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(standard); i++)
		r = strv_add(&l->mount_points, standard[i]);
	for (size_t i = 0; r == 0 && i < l->n_mounts; i++)
		r = add_mount_point(l, l->mounts[i].target);
	for (size_t i = 0; r == 0 && i < o->writable.count; i++)
		r = add_mount_point(l, o->writable.items[i]);
	if (r == 0 && cwd && cwd[1] && !l->spec.cow_cwd)
		r = strv_add(&l->mount_points, cwd);
	return r < 0 ? error_errno(err, -r, "mount points") : 0;
}

static int set_files(struct launch *l, const struct run_options *o, struct error *err)
{
	struct container_spec *spec = &l->spec;
	int r;

	spec->root_kind = !strcmp(o->fs, "host") ? ROOT_HOST_DIRECT : ROOT_HOST_COW;
	spec->cow_cwd = !strncmp(o->fs, "overlay", 7);
	if (!strncmp(o->fs, "overlay:", 8)) {
		spec->overlay_dir = keep_host_path(&l->texts, "--fs", o->fs + 8, err);
		if (!spec->overlay_dir && err->code == ENOENT)
			return error_set(err, ENOENT, "--fs=%s: there is no such directory, and it has to exist: mkdir it first", o->fs);
		if (!spec->overlay_dir)
			return -err->code;
	}
	spec->writable = o->writable.items;
	spec->n_writable = o->writable.count;
	spec->private_tmp = !o->tmp;
	r = add_mounts(l, o, err);
	return r < 0 || spec->root_kind != ROOT_HOST_COW ? r : set_mount_points(l, o, err);
}

void launch_engine_options(const struct run_options *o, struct engine_options *engine)
{
	engine_options_default(engine);
	engine->seed = run_options_seed(o, o->rng_seed);
	engine->sched_seed = run_options_seed(o, o->sched_seed);
	engine->post_fork = (enum engine_post_fork)o->post_fork;
	engine->chaos.on = o->chaos;
	engine->chaos.preempt = (enum engine_preempt)o->preempt;
	engine->chaos.preempt_budget = o->preempt_budget;
	for (size_t i = 0; i < o->interrupts.count && i < INTERRUPTS_MAX; i++)
		if (interrupt_parse(o->interrupts.items[i], &engine->interrupts[engine->n_interrupts], NULL) == 0)
			engine->n_interrupts++;
	if (o->chaos)
		(void)sched_policy_parse(o->sched_heuristic, &engine->chaos.policy, NULL);
	engine->fault_seed = run_options_seed(o, o->fault_seed);
	for (size_t i = 0; i < o->faults.count && i < FAULTS_MAX; i++)
		if (fault_parse(o->faults.items[i], &engine->faults[engine->n_faults], NULL) == 0)
			engine->n_faults++;
	engine->stop_at_turn = o->stop_at_turn;
	engine->epoch_ns = o->epoch_ns;
	engine->uptime_ns = o->uptime_ns;
	engine->quantum_ns = o->quantum_ns;
	engine->strict = o->strict;
	engine->allow_uncontrolled = o->allow_uncontrolled;
	engine->keep_mtime = o->mtime == MTIME_KEEP;
	engine->cpu_level = (enum cpuid_level)o->cpu;
	engine->keep_instructions = o->keep_instructions;
	engine->cpus = (unsigned)o->cpus;
	engine->memory_bytes = o->memory_bytes;
	engine->hostname = o->hostname;
}

void launch_request_options(const struct run_options *o, struct run_request *request)
{
	launch_engine_options(o, &request->engine);
	request->timeout_ns = o->timeout_ns;
	request->no_pin = o->no_pin;
	request->pace = o->pace == PACE_HOST;
	request->tsc = (enum run_tsc)o->tsc;
	request->spin_limit_ns = o->spin_limit_ns;
	request->quiet = o->quiet;
	request->place_modules = o->preempt_modules.items;
	request->n_place_modules = o->preempt_modules.count;
}

/* Where the host's network is to be used, its devices have to be found, too: then it is the real one. */
static int set_sys(struct launch *l, const struct run_options *o)
{
	int r;

	if (o->network == NETWORK_HOST)
		return 0;
	r = machine_sys_init(&l->sys, (unsigned)o->cpus, o->memory_bytes, o->network == NETWORK_VETH);
	l->spec.sys_files = l->sys.files;
	l->spec.n_sys_files = l->sys.n;
	return r;
}

static int set_order(struct launch *l, const struct run_options *o, struct error *err)
{
	if (!o->happens_before.path)
		return 0;
	l->order = calloc(1, sizeof(*l->order));
	return l->order ? order_file_read(&o->happens_before, l->order, err) : error_errno(err, ENOMEM, "--happens-before");
}

int launch_init(struct launch *l, const struct run_options *o, struct error *err)
{
	struct container_spec *spec = &l->spec;
	int r;

	*l = (struct launch){ 0 };
	container_spec_init(spec);
	r = launch_environment(o, &l->env);
	if (r < 0)
		return error_errno(err, -r, "environment");
	spec->argv = o->argv.items;
	spec->envp = l->env.items;
	spec->cwd = o->workdir;
	spec->hostname = o->hostname;
	spec->terminal = o->terminal;
	spec->network_host = o->network == NETWORK_HOST;
	spec->network_pair = o->network == NETWORK_VETH;
	r = set_sys(l, o);
	if (r < 0)
		return error_errno(err, -r, "/sys");
	r = machine_files_init(&l->files, o->hostname, o->network == NETWORK_HOST);
	if (r < 0)
		return error_errno(err, -r, "/etc/hosts");
	spec->host_files = l->files.items;
	spec->n_host_files = l->files.n;
	r = set_user(l, o, err);
	if (r == 0)
		r = set_files(l, o, err);
	if (r < 0)
		return r;
	r = set_order(l, o, err);
	if (r < 0)
		return r;
	launch_request_options(o, &l->request);
	if (l->mount_points.count)
		l->request.engine.mount_points = (const char *const *)l->mount_points.items;
	l->request.engine.order = l->order;
	l->request.spec = spec;
	l->request.cache_dir = l->cache_dir = cache_directory();
	return 0;
}

void launch_clear(struct launch *l)
{
	strv_clear(&l->env);
	strv_clear(&l->texts);
	strv_clear(&l->mount_points);
	machine_sys_clear(&l->sys);
	machine_files_clear(&l->files);
	free(l->mounts);
	free(l->cache_dir);
	free(l->order);
	*l = (struct launch){ 0 };
}
