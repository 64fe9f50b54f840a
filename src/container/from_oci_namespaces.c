/* SPDX-License-Identifier: BSD-3-Clause */
/* Namespaces of an OCI configuration, new ones and those that are joined: see from_oci_internal.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "container/from_oci_internal.h"
#include "oci/validate.h"

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

static int take_namespaces(const struct oci_config *cfg, struct oci_arena *arena, struct container_spec *spec, struct error *err)
{
	struct container_join *joins = oci_arena_array(arena, OCI_NS_TYPES, sizeof(*joins));
	int r;

	if (!joins)
		return from_oci_no_memory(err);
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

int from_oci_namespaces(const struct oci_config *cfg, struct oci_arena *arena, struct container_spec *spec, struct error *err)
{
	int r;

	r = take_namespaces(cfg, arena, spec, err);
	if (r == 0)
		r = check_hosts_names(cfg, err);
	return r == 0 ? check_hosts_sysctls(cfg, err) : r;
}
