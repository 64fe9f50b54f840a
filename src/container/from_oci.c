/* SPDX-License-Identifier: BSD-3-Clause */
/* OCI configuration to description: see from_oci.h. One small function for each part of the document. */
#include "container/from_oci.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "oci/arena.h"
#include "oci/validate.h"

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "out of memory");
}

/* ---- process ---- */

static void take_caps(const struct oci_capabilities *from, struct container_caps *to)
{
	*to = (struct container_caps){
		.set = true, /* none in the document: none for the process */
		.bounding = from->bounding,
		.effective = from->effective,
		.inheritable = from->inheritable,
		.permitted = from->permitted,
		.ambient = from->ambient,
	};
	for (size_t i = 0; i < from->unknown.count; i++)
		log_warning("process.capabilities: unknown capability %s", from->unknown.items[i]);
}

static int take_rlimits(const struct oci_process *p, struct oci_arena *arena, struct container_spec *spec,
			struct error *err)
{
	struct container_rlimit *limits = oci_arena_array(arena, p->n_rlimits + 1, sizeof(*limits));

	if (!limits)
		return no_memory(err);
	for (size_t i = 0; i < p->n_rlimits; i++) {
		limits[i].resource = p->rlimits[i].resource;
		limits[i].limit.rlim_cur = p->rlimits[i].soft; /* RLIM_INFINITY is all ones here too */
		limits[i].limit.rlim_max = p->rlimits[i].hard;
	}
	spec->rlimits = limits;
	spec->n_rlimits = p->n_rlimits;
	return 0;
}

static void take_scheduling(const struct oci_process *p, struct container_spec *spec)
{
	const struct oci_scheduler *s = &p->scheduler;

	spec->scheduler = (struct container_scheduler){
		.set = s->set,
		.policy = s->policy,
		.nice = s->nice,
		.priority = s->priority,
		.flags = s->flags,
		.runtime_ns = s->runtime_ns,
		.deadline_ns = s->deadline_ns,
		.period_ns = s->period_ns,
	};
	spec->io_priority = (struct container_io_priority){
		.set = p->io_priority.set,
		.io_class = p->io_priority.io_class,
		.priority = p->io_priority.priority,
	};
}

static bool host_has(const char *path)
{
	return access(path, F_OK) == 0;
}

/* A label for a security module that is not there is no reason to fail, as with crun: engines write them whatever there is. But it is said. */
static int take_label(const struct oci_process *p, struct oci_arena *arena, struct container_spec *spec,
		      struct error *err)
{
	char text[512];

	if (p->apparmor_profile && p->apparmor_profile[0]) {
		if (!host_has("/sys/kernel/security/apparmor")) {
			log_warning("process.apparmorProfile: AppArmor is not active here: '%s' is not applied", p->apparmor_profile);
		} else if (snprintf(text, sizeof(text), "exec %s", p->apparmor_profile) >= (int)sizeof(text)) {
			return error_set(err, EINVAL, "process.apparmorProfile: too long");
		} else {
			spec->lsm_failure = "unable to apply apparmor profile: apparmor failed to apply profile";
			spec->lsm_exec = oci_arena_strdup(arena, text);
			return spec->lsm_exec ? 0 : no_memory(err);
		}
	}
	if (p->selinux_label && p->selinux_label[0]) {
		if (host_has("/sys/fs/selinux/enforce")) {
			spec->lsm_failure = "can't set process label";
			spec->lsm_exec = p->selinux_label;
		} else {
			log_warning("process.selinuxLabel: SELinux is not active here: '%s' is not applied", p->selinux_label);
		}
	}
	return 0;
}

static int take_process(const struct oci_process *p, struct oci_arena *arena, struct container_spec *spec,
			struct error *err)
{
	int r;

	spec->argv = p->args.items;
	spec->envp = p->env.items;
	spec->cwd = p->cwd;
	spec->create_cwd = true;
	spec->default_home = true;
	spec->terminal = p->terminal;
	spec->session = p->terminal ? SESSION_TTY : SESSION_NEW;
	spec->terminal_rows = (unsigned short)p->console_height;
	spec->terminal_columns = (unsigned short)p->console_width;
	spec->set_user = true;
	spec->uid = p->user.uid;
	spec->gid = p->user.gid;
	spec->groups = p->user.additional_gids;
	spec->n_groups = p->user.n_additional_gids;
	spec->set_umask = p->user.umask.set;
	spec->umask = (mode_t)p->user.umask.value;
	spec->no_new_privs = p->no_new_privileges;
	spec->set_oom_score_adj = p->oom_score_adj.set;
	spec->oom_score_adj = (int)p->oom_score_adj.value;
	take_caps(&p->capabilities, &spec->caps);
	take_scheduling(p, spec);
	r = take_rlimits(p, arena, spec, err);
	return r < 0 ? r : take_label(p, arena, spec, err);
}

/* ---- root and mounts ---- */

/* An absolute path, or one that starts at the bundle. NULL: out of memory. */
static char *from_bundle(struct oci_arena *arena, const char *bundle, const char *path)
{
	char full[PATH_MAX];

	if (path[0] == '/')
		return oci_arena_strdup(arena, path);
	return snprintf(full, sizeof(full), "%s/%s", bundle, path) >= PATH_MAX ? NULL : oci_arena_strdup(arena, full);
}

static int take_root(const struct oci_config *cfg, const char *bundle, struct oci_arena *arena,
		     struct container_spec *spec, struct error *err)
{
	char real[PATH_MAX], *path;
	struct stat st;

	if (!cfg->has_root || !cfg->root_path)
		return error_set(err, EINVAL, "root: missing");
	path = from_bundle(arena, bundle, cfg->root_path);
	if (!path)
		return no_memory(err);
	if (!realpath(path, real) || stat(real, &st) < 0)
		return error_errno(err, errno, "root.path: %s", path);
	if (!S_ISDIR(st.st_mode))
		return error_errno(err, ENOTDIR, "root.path: %s", path);
	spec->root_kind = ROOT_PATH;
	spec->root_path = oci_arena_strdup(arena, real);
	spec->root_readonly = cfg->root_readonly;
	spec->root_propagation = (unsigned long)cfg->linux_.rootfs_propagation;
	spec->plain_mounts = true;
	return spec->root_path ? 0 : no_memory(err);
}

/* *ret is a copy of the list in the arena, or NULL for an empty one. */
static int take_id_maps(const struct oci_id_mappings *from, struct oci_arena *arena,
			const struct container_id_map **ret, size_t *ret_n, struct error *err)
{
	struct container_id_map *maps;

	if (from->count == 0)
		return 0;
	maps = oci_arena_array(arena, from->count, sizeof(*maps));
	if (!maps)
		return no_memory(err);
	for (size_t i = 0; i < from->count; i++)
		maps[i] = (struct container_id_map){
			.inside = from->items[i].container_id,
			.outside = from->items[i].host_id,
			.count = from->items[i].size,
		};
	*ret = maps;
	*ret_n = from->count;
	return 0;
}

static int take_maps(const struct oci_id_mappings *uids, const struct oci_id_mappings *gids, struct oci_arena *arena,
		     struct container_id_maps *ret, struct error *err)
{
	int r;

	r = take_id_maps(uids, arena, &ret->uids, &ret->n_uids, err);
	return r < 0 ? r : take_id_maps(gids, arena, &ret->gids, &ret->n_gids, err);
}

static int take_mount(const struct oci_mount *from, const char *bundle, struct oci_arena *arena,
		      struct container_mount *to, struct error *err)
{
	bool bind = (from->flags & MS_BIND) || (from->type && strcmp(from->type, "bind") == 0);

	to->type = bind ? "bind" : from->type;
	to->source = bind && from->source ? from_bundle(arena, bundle, from->source) : from->source;
	if (bind && from->source && !to->source)
		return no_memory(err);
	to->target = from->destination;
	to->flags = (unsigned long)from->flags | (bind ? MS_BIND : 0UL);
	to->clear = (unsigned long)from->flags_clear;
	to->recursive_set = from->rec_attr_set;
	to->recursive_clear = from->rec_attr_clear;
	to->propagation = (unsigned long)from->propagation;
	to->data = from->data;
	to->copy_up = from->tmpcopyup;
	to->idmap = from->idmap != OCI_IDMAP_NONE;
	to->idmap_recursive = from->idmap == OCI_IDMAP_RECURSIVE;
	return take_maps(&from->uid_mappings, &from->gid_mappings, arena, &to->maps, err);
}

static int take_mounts(const struct oci_config *cfg, const char *bundle, struct oci_arena *arena,
		       struct container_spec *spec, struct error *err)
{
	struct container_mount *mounts = oci_arena_array(arena, cfg->n_mounts + 1, sizeof(*mounts));
	int r;

	if (!mounts)
		return no_memory(err);
	for (size_t i = 0; i < cfg->n_mounts; i++) {
		if (!cfg->mounts[i].type && !(cfg->mounts[i].flags & MS_BIND))
			return error_set(err, EINVAL, "mounts[%zu].type: missing", i);
		r = take_mount(&cfg->mounts[i], bundle, arena, &mounts[i], err);
		if (r < 0)
			return r;
	}
	spec->mounts = mounts;
	spec->n_mounts = cfg->n_mounts;
	return 0;
}

static int take_devices(const struct oci_linux *from, struct oci_arena *arena, struct container_spec *spec,
			struct error *err)
{
	struct container_device *devices = oci_arena_array(arena, from->n_devices + 1, sizeof(*devices));

	if (!devices)
		return no_memory(err);
	for (size_t i = 0; i < from->n_devices; i++) {
		const struct oci_device *d = &from->devices[i];
		mode_t kind = d->type == 'b' ? S_IFBLK : d->type == 'p' ? S_IFIFO : S_IFCHR;

		devices[i] = (struct container_device){
			.path = d->path,
			.mode = kind | (mode_t)(d->file_mode.set ? d->file_mode.value & 07777 : 0666),
			.major = (unsigned)d->major,
			.minor = (unsigned)d->minor,
			.uid = (uid_t)d->uid.value,
			.gid = (gid_t)d->gid.value,
		};
	}
	spec->devices = devices;
	spec->n_devices = from->n_devices;
	return 0;
}

static int take_sysctls(const struct oci_linux *from, struct oci_arena *arena, struct container_spec *spec,
			struct error *err)
{
	struct container_sysctl *sysctls = oci_arena_array(arena, from->sysctl.count + 1, sizeof(*sysctls));

	if (!sysctls)
		return no_memory(err);
	for (size_t i = 0; i < from->sysctl.count; i++)
		sysctls[i] = (struct container_sysctl){
			.name = from->sysctl.items[i].key,
			.value = from->sysctl.items[i].value,
		};
	spec->sysctls = sysctls;
	spec->n_sysctls = from->sysctl.count;
	return 0;
}

/* ---- namespaces ---- */

static int check_namespace_file(enum oci_namespace_type type, const char *path, struct error *err)
{
	_cleanup_close_ int fd = -1;
	int kind;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, errno, "linux.namespaces: %s namespace %s", oci_namespace_name(type), path);
	kind = ioctl(fd, NS_GET_NSTYPE);
	if (kind != (int)oci_namespace_flag(type))
		return error_set(err, EINVAL, "linux.namespaces: %s is not a %s namespace", path,
				 oci_namespace_name(type));
	return 0;
}

/* Joining the namespace one is in already is refused for users and pointless for the others. */
static bool is_own_namespace(enum oci_namespace_type type, const char *path)
{
	struct stat theirs, ours;
	char own[64];

	(void)snprintf(own, sizeof(own), "/proc/self/ns/%s", oci_namespace_file(type));
	return stat(path, &theirs) == 0 && stat(own, &ours) == 0 && theirs.st_ino == ours.st_ino &&
	       theirs.st_dev == ours.st_dev;
}

static int take_namespaces(const struct oci_config *cfg, struct oci_arena *arena, struct container_spec *spec,
			   struct error *err)
{
	struct container_join *joins = oci_arena_array(arena, OCI_NS_TYPES, sizeof(*joins));
	int r;

	if (!joins)
		return no_memory(err);
	spec->joins = joins;
	spec->namespaces = 0;
	for (enum oci_namespace_type type = 0; type < OCI_NS_TYPES; type++) {
		const struct oci_namespace *ns = &cfg->linux_.namespaces[type];

		if (ns->present && !ns->path)
			spec->namespaces |= (unsigned long)oci_namespace_flag(type);
		if (!ns->present || !ns->path)
			continue;
		r = check_namespace_file(type, ns->path, err);
		if (r < 0)
			return r;
		if (!is_own_namespace(type, ns->path))
			joins[spec->n_joins++] = (struct container_join){
				.nstype = (int)oci_namespace_flag(type),
				.path = ns->path,
			};
	}
	if (!cfg->linux_.namespaces[OCI_NS_MOUNT].present && cfg->linux_.namespaces[OCI_NS_USER].present)
		return error_set(err, EINVAL, "linux.namespaces: a user namespace has no right to mount in the caller's mount namespace, it needs one of its own");
	return 0;
}

/* A path can name the namespace that we are in: what is set there would be set for the host. */
static bool is_hosts_by_path(const struct oci_config *cfg, enum oci_namespace_type type)
{
	const struct oci_namespace *ns = &cfg->linux_.namespaces[type];

	return ns->present && ns->path && is_own_namespace(type, ns->path);
}

static int check_hosts_names(const struct oci_config *cfg, struct error *err)
{
	struct utsname now;

	if (!is_hosts_by_path(cfg, OCI_NS_UTS) || uname(&now) < 0)
		return 0;
	if (cfg->hostname && strcmp(cfg->hostname, now.nodename) != 0)
		return error_set(err, EINVAL, "hostname: the uts namespace %s is the host's own", cfg->linux_.namespaces[OCI_NS_UTS].path);
	if (cfg->domainname && strcmp(cfg->domainname, now.domainname) != 0)
		return error_set(err, EINVAL, "domainname: the uts namespace %s is the host's own", cfg->linux_.namespaces[OCI_NS_UTS].path);
	return 0;
}

static int check_hosts_sysctls(const struct oci_config *cfg, struct error *err)
{
	const struct oci_pairs *sysctls = &cfg->linux_.sysctl;

	for (size_t i = 0; i < sysctls->count; i++) {
		enum oci_namespace_type type;

		if (oci_sysctl_namespace(sysctls->items[i].key, &type) == 0 && is_hosts_by_path(cfg, type))
			return error_set(err, EINVAL, "linux.sysctl.%s: the %s namespace %s is the host's own", sysctls->items[i].key,
					 oci_namespace_name(type), cfg->linux_.namespaces[type].path);
	}
	return 0;
}

static struct container_time_offset take_offset(const struct oci_time_offset *from)
{
	return (struct container_time_offset){ .set = from->set,
					       .seconds = from->seconds,
					       .nanoseconds = from->nanoseconds };
}

static int take_linux(const struct oci_config *cfg, struct oci_arena *arena, struct container_spec *spec,
		      struct error *err)
{
	const struct oci_linux *l = &cfg->linux_;
	int r;

	if (l->mount_label && *l->mount_label) {
		if (host_has("/sys/fs/selinux/enforce"))
			return error_set(err, ENOTSUP, "linux.mountLabel: mounts with labels of SELinux are not supported");
		log_warning("linux.mountLabel: SELinux is not active here: '%s' is not applied", l->mount_label);
	}
	spec->masked_paths = l->masked_paths.items;
	spec->readonly_paths = l->readonly_paths.items;
	spec->personality = (unsigned long)l->personality.value;
	spec->monotonic_offset = take_offset(&l->time_monotonic);
	spec->boottime_offset = take_offset(&l->time_boottime);
	r = take_namespaces(cfg, arena, spec, err);
	if (r == 0)
		r = check_hosts_names(cfg, err);
	if (r == 0)
		r = check_hosts_sysctls(cfg, err);
	if (r == 0)
		r = take_maps(&l->uid_mappings, &l->gid_mappings, arena, &spec->maps, err);
	if (r == 0)
		r = take_devices(l, arena, spec, err);
	return r == 0 ? take_sysctls(l, arena, spec, err) : r;
}

/* ---- all of it ---- */

static int begin(struct container_bundle *ret, struct error *err)
{
	*ret = (struct container_bundle){ .arena = oci_arena_new() };
	if (!ret->arena)
		return no_memory(err);
	container_spec_init(&ret->spec);
	ret->spec.own_init = false;
	ret->spec.hostname = ret->spec.domainname = NULL;
	return 0;
}

int container_from_oci(const struct oci_config *cfg, const char *bundle, struct container_bundle *ret,
		       struct error *err)
{
	struct container_bundle made;
	int r;

	r = begin(&made, err);
	if (r < 0)
		return r;
	made.spec.hostname = cfg->hostname;
	made.spec.domainname = cfg->domainname;
	if (!cfg->process.present)
		r = error_set(err, EINVAL, "process: missing");
	if (r == 0)
		r = take_process(&cfg->process, made.arena, &made.spec, err);
	if (r == 0)
		r = take_root(cfg, bundle, made.arena, &made.spec, err);
	if (r == 0)
		r = take_mounts(cfg, bundle, made.arena, &made.spec, err);
	if (r == 0)
		r = take_linux(cfg, made.arena, &made.spec, err);
	if (r < 0)
		container_bundle_free(&made);
	else
		*ret = made;
	return r;
}

/* `list` is a valid one (oci/syntax.h). */
int container_cpus_from_oci(const char *list, cpu_set_t *ret, struct error *err)
{
	char *end;

	CPU_ZERO(ret);
	for (const char *p = list;; p = end + 1) {
		unsigned long from = strtoul(p, &end, 10), to = from;

		end += strspn(end, " \t");
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		if (to >= CPU_SETSIZE)
			return error_set(err, EINVAL, "execCPUAffinity: no CPU %lu", to);
		for (; from <= to; from++)
			CPU_SET(from, ret);
		end += strspn(end, " \t");
		if (*end != ',')
			return 0;
	}
}

int container_process_from_oci(const struct oci_process *process, struct container_bundle *ret, struct error *err)
{
	struct container_bundle made;
	int r;

	r = begin(&made, err);
	if (r < 0)
		return r;
	r = take_process(process, made.arena, &made.spec, err);
	if (r == 0 && process->exec_affinity_final) {
		made.spec.set_affinity = true;
		r = container_cpus_from_oci(process->exec_affinity_final, &made.spec.affinity, err);
	}
	if (r < 0)
		container_bundle_free(&made);
	else
		*ret = made;
	return r;
}

void container_bundle_free(struct container_bundle *bundle)
{
	bundle->arena = oci_arena_free(bundle->arena);
}
