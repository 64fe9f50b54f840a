/* SPDX-License-Identifier: BSD-3-Clause */
/* OCI configuration to description: see from_oci.h. One small function for each part of the document. */
#include "container/from_oci.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "container/from_oci_internal.h"

int from_oci_no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "out of memory");
}

bool from_oci_host_has(const char *path)
{
	return access(path, F_OK) == 0;
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
		return from_oci_no_memory(err);
	if (!realpath(path, real) || stat(real, &st) < 0)
		return error_errno(err, errno, "root.path: %s", path);
	if (!S_ISDIR(st.st_mode))
		return error_errno(err, ENOTDIR, "root.path: %s", path);
	spec->root_kind = ROOT_PATH;
	spec->root_path = oci_arena_strdup(arena, real);
	spec->root_readonly = cfg->root_readonly;
	spec->root_propagation = (unsigned long)cfg->linux_.rootfs_propagation;
	spec->plain_mounts = true;
	return spec->root_path ? 0 : from_oci_no_memory(err);
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
		return from_oci_no_memory(err);
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
		return from_oci_no_memory(err);
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
		return from_oci_no_memory(err);
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
		return from_oci_no_memory(err);
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
		return from_oci_no_memory(err);
	for (size_t i = 0; i < from->sysctl.count; i++)
		sysctls[i] = (struct container_sysctl){
			.name = from->sysctl.items[i].key,
			.value = from->sysctl.items[i].value,
		};
	spec->sysctls = sysctls;
	spec->n_sysctls = from->sysctl.count;
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
		if (from_oci_host_has("/sys/fs/selinux/enforce"))
			return error_set(err, ENOTSUP, "linux.mountLabel: mounts with labels of SELinux are not supported");
		log_warning("linux.mountLabel: SELinux is not active here: '%s' is not applied", l->mount_label);
	}
	spec->masked_paths = l->masked_paths.items;
	spec->readonly_paths = l->readonly_paths.items;
	spec->personality = (unsigned long)l->personality.value;
	spec->monotonic_offset = take_offset(&l->time_monotonic);
	spec->boottime_offset = take_offset(&l->time_boottime);
	r = from_oci_namespaces(cfg, arena, spec, err);
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
		return from_oci_no_memory(err);
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
		r = from_oci_process(&cfg->process, made.arena, &made.spec, err);
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

int container_process_from_oci(const struct oci_process *process, struct container_bundle *ret, struct error *err)
{
	struct container_bundle made;
	int r;

	r = begin(&made, err);
	if (r < 0)
		return r;
	r = from_oci_process(process, made.arena, &made.spec, err);
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
