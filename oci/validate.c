/* SPDX-License-Identifier: BSD-3-Clause */
/* See validate.h. */
#include "oci/validate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "oci/syntax.h"

static int fail(struct oci_problem *p, const char *path, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int fail(struct oci_problem *p, const char *path, const char *format, ...)
{
	va_list ap;

	(void)snprintf(p->path, sizeof(p->path), "%s", path);
	va_start(ap, format);
	(void)vsnprintf(p->text, sizeof(p->text), format, ap);
	va_end(ap);
	return -EINVAL;
}

static bool has_namespace(const struct oci_config *cfg, enum oci_namespace_type type)
{
	return cfg->linux_.namespaces[type].present;
}

static bool makes_namespace(const struct oci_config *cfg, enum oci_namespace_type type)
{
	return has_namespace(cfg, type) && !cfg->linux_.namespaces[type].path;
}

/* ---- names of the host ---- */

/* The kernel keeps 64 bytes for either (__NEW_UTS_LEN). */
static int check_names(const struct oci_config *cfg, struct oci_problem *p)
{
	const struct {
		const char *path, *value;
	} names[] = { { "hostname", cfg->hostname }, { "domainname", cfg->domainname } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!names[i].value)
			continue;
		if (strlen(names[i].value) > 64)
			return fail(p, names[i].path, "longer than 64 bytes");
		if (!has_namespace(cfg, OCI_NS_UTS))
			return fail(p, names[i].path, "needs a uts namespace");
	}
	return 0;
}

/* ---- user namespace ---- */

static int check_mappings(const struct oci_config *cfg, struct oci_problem *p)
{
	const struct {
		const char *path;
		size_t count;
	} maps[] = { { "linux.uidMappings", cfg->linux_.uid_mappings.count },
		     { "linux.gidMappings", cfg->linux_.gid_mappings.count } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(maps); i++) {
		if (maps[i].count > 0 && !has_namespace(cfg, OCI_NS_USER))
			return fail(p, maps[i].path, "needs a user namespace");
		if (maps[i].count == 0 && makes_namespace(cfg, OCI_NS_USER))
			return fail(p, maps[i].path, "required for a new user namespace, but missing");
	}
	return 0;
}

static bool is_mapped(const struct oci_id_mappings *maps, uint32_t id)
{
	size_t i;

	for (i = 0; i < maps->count; i++)
		if (id >= maps->items[i].container_id && id - maps->items[i].container_id < maps->items[i].size)
			return true;
	return false;
}

/* -1 is "unchanged" to the kernel: who has it would stay root. In a new user namespace every id of the process has to exist there. */
static int check_user(const struct oci_config *cfg, struct oci_problem *p)
{
	const struct oci_user *user = &cfg->process.user;
	char path[64];
	size_t i;

	if (!cfg->process.present)
		return 0;
	if (user->uid == UINT32_MAX)
		return fail(p, "process.user.uid", "%u is the number of nobody", user->uid);
	if (user->gid == UINT32_MAX)
		return fail(p, "process.user.gid", "%u is the number of no group", user->gid);
	if (!makes_namespace(cfg, OCI_NS_USER))
		return 0;
	if (!is_mapped(&cfg->linux_.uid_mappings, user->uid))
		return fail(p, "process.user.uid", "%u is not in linux.uidMappings", user->uid);
	if (!is_mapped(&cfg->linux_.gid_mappings, user->gid))
		return fail(p, "process.user.gid", "%u is not in linux.gidMappings", user->gid);
	for (i = 0; i < user->n_additional_gids; i++) {
		if (is_mapped(&cfg->linux_.gid_mappings, user->additional_gids[i]))
			continue;
		(void)snprintf(path, sizeof(path), "process.user.additionalGids[%zu]", i);
		return fail(p, path, "%u is not in linux.gidMappings", user->additional_gids[i]);
	}
	return 0;
}

static int check_idmapped_mounts(const struct oci_config *cfg, struct oci_problem *p)
{
	char path[64];
	size_t i;

	for (i = 0; i < cfg->n_mounts; i++) {
		if (cfg->mounts[i].idmap == OCI_IDMAP_NONE || cfg->mounts[i].uid_mappings.count > 0 ||
		    has_namespace(cfg, OCI_NS_USER))
			continue;
		(void)snprintf(path, sizeof(path), "mounts[%zu].options", i);
		return fail(p, path, "idmap needs uidMappings and gidMappings, or a user namespace");
	}
	return 0;
}

/* ---- time ---- */

static int check_time(const struct oci_config *cfg, struct oci_problem *p)
{
	if (!cfg->linux_.time_monotonic.set && !cfg->linux_.time_boottime.set)
		return 0;
	if (!makes_namespace(cfg, OCI_NS_TIME))
		return fail(p, "linux.timeOffsets", "needs a new time namespace");
	return 0;
}

/* ---- sysctl ---- */

/*
 * The ones that belong to a namespace, by the start of their path below /proc/sys. A row that ends in '/' is a
 * directory, others are the whole. Source: namespaces(7), sysctl code of ipc/,
 * net/ and kernel/utsname_sysctl.c.
 */
static const struct {
	const char *path;
	enum oci_namespace_type type;
} sysctls[] = {
	{ "kernel/msgmax", OCI_NS_IPC },
	{ "kernel/msgmnb", OCI_NS_IPC },
	{ "kernel/msgmni", OCI_NS_IPC },
	{ "kernel/msg_next_id", OCI_NS_IPC },
	{ "kernel/sem", OCI_NS_IPC },
	{ "kernel/sem_next_id", OCI_NS_IPC },
	{ "kernel/shmall", OCI_NS_IPC },
	{ "kernel/shmmax", OCI_NS_IPC },
	{ "kernel/shmmni", OCI_NS_IPC },
	{ "kernel/shm_next_id", OCI_NS_IPC },
	{ "kernel/shm_rmid_forced", OCI_NS_IPC },
	{ "kernel/auto_msgmni", OCI_NS_IPC },
	{ "fs/mqueue/", OCI_NS_IPC },
	{ "net/", OCI_NS_NETWORK },
	{ "kernel/hostname", OCI_NS_UTS },
	{ "kernel/domainname", OCI_NS_UTS },
	{ "user/", OCI_NS_USER },
};

static bool sysctl_matches(const char *row, const char *path)
{
	size_t n = strlen(row);

	return row[n - 1] == '/' ? strncmp(row, path, n) == 0 : strcmp(row, path) == 0;
}

int oci_sysctl_namespace(const char *name, enum oci_namespace_type *ret)
{
	char below[512];

	if (oci_sysctl_path(name, below, sizeof(below)) < 0)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(sysctls); i++) {
		if (!sysctl_matches(sysctls[i].path, below))
			continue;
		*ret = sysctls[i].type;
		return 0;
	}
	return -ENOENT;
}

static int check_sysctl(const struct oci_config *cfg, const char *name, struct oci_problem *p)
{
	enum oci_namespace_type type = OCI_NS_USER;
	char path[256], below[512];

	(void)snprintf(path, sizeof(path), "linux.sysctl.%s", name);
	if (oci_sysctl_path(name, below, sizeof(below)) < 0)
		return fail(p, path, "not the name of a sysctl");
	if (strcmp(below, "kernel/hostname") == 0)
		return fail(p, path, "conflicts with hostname, which is the place to set it");
	if (strcmp(below, "kernel/domainname") == 0 && cfg->domainname)
		return fail(p, path, "conflicts with domainname");
	if (oci_sysctl_namespace(name, &type) < 0)
		return fail(p, path, "does not belong to a namespace, so it would change the host");
	if (!has_namespace(cfg, type))
		return fail(p, path, "needs a %s namespace", oci_namespace_name(type));
	return 0;
}

static int check_sysctls(const struct oci_config *cfg, struct oci_problem *p)
{
	size_t i;
	int r;

	for (i = 0; i < cfg->linux_.sysctl.count; i++) {
		r = check_sysctl(cfg, cfg->linux_.sysctl.items[i].key, p);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- devices ---- */

static bool same_device(const struct oci_device *a, const struct oci_device *b)
{
	return a->type == b->type && a->major == b->major && a->minor == b->minor;
}

static int check_devices(const struct oci_config *cfg, struct oci_problem *p)
{
	const struct oci_device *devices = cfg->linux_.devices;
	char path[64];
	size_t i, j;

	if (cfg->linux_.n_devices > 4096)
		return fail(p, "linux.devices", "%zu entries", cfg->linux_.n_devices);
	for (i = 0; i < cfg->linux_.n_devices; i++) {
		(void)snprintf(path, sizeof(path), "linux.devices[%zu].path", i);
		if (!oci_path_stays_below(devices[i].path))
			return fail(p, path, "has a '..' component: '%s'", devices[i].path);
		for (j = 0; j < i; j++)
			if (strcmp(devices[i].path, devices[j].path) == 0 && !same_device(&devices[i], &devices[j]))
				return fail(p, path, "'%s' is another device in entry %zu", devices[i].path, j);
	}
	return 0;
}

/* ---- resources ---- */

int oci_resources_validate(const struct oci_resources *resources, const char *prefix, struct oci_problem *ret_problem)
{
	const struct oci_memory *m = &resources->memory;
	const struct oci_cpu *cpu = &resources->cpu;
	char path[64];

	(void)snprintf(path, sizeof(path), "%smemory.swap", prefix);
	if (m->swap.set && m->swap.value > 0 && m->limit.set && m->limit.value > m->swap.value)
		return fail(ret_problem, path, "%lld is memory and swap together, and below the limit %lld",
			    (long long)m->swap.value, (long long)m->limit.value);
	(void)snprintf(path, sizeof(path), "%scpu.burst", prefix);
	if (cpu->burst_us.set && cpu->quota_us.set && cpu->quota_us.value > 0 &&
	    cpu->burst_us.value > (uint64_t)cpu->quota_us.value)
		return fail(ret_problem, path, "%llu is above the quota %lld", (unsigned long long)cpu->burst_us.value,
			    (long long)cpu->quota_us.value);
	return 0;
}

static int check_resources(const struct oci_config *cfg, struct oci_problem *p)
{
	return oci_resources_validate(&cfg->linux_.resources, "linux.resources.", p);
}

typedef int check_fn(const struct oci_config *cfg, struct oci_problem *p);

static check_fn *const checks[] = {
	check_names, check_mappings, check_user,    check_idmapped_mounts,
	check_time,  check_sysctls,  check_devices, check_resources,
};

int oci_config_validate(const struct oci_config *cfg, struct oci_problem *ret_problem)
{
	size_t i;
	int r;

	for (i = 0; i < ARRAY_SIZE(checks); i++) {
		r = checks[i](cfg, ret_problem);
		if (r < 0)
			return r;
	}
	return 0;
}

int oci_config_validate_start(const struct oci_config *cfg, struct oci_problem *ret_problem)
{
	if (!cfg->process.present)
		return fail(ret_problem, "process", "required to start, but missing");
	if (cfg->process.args.count == 0)
		return fail(ret_problem, "process.args", "at least one argument is needed to start");
	if (cfg->process.args.items[0][0] == '\0')
		return fail(ret_problem, "process.args[0]", "must not be empty");
	return 0;
}
