/* SPDX-License-Identifier: BSD-3-Clause */
/* See spec.h. What is in both variants is in tables; ROOT and ROOTLESS mark what is in one. */
#include "oci/spec.h"

#include <errno.h>
#include <jansson.h>

#include "oci/document.h"
#include "oci/features.h"

enum { ROOT = 1, ROOTLESS = 2, BOTH = ROOT | ROOTLESS };

static const struct {
	unsigned when;
	const char *destination, *type, *source;
	const char *options[8];
} mounts[] = {
	{ BOTH, "/proc", "proc", "proc", { 0 } },
	{ BOTH, "/dev", "tmpfs", "tmpfs", { "nosuid", "strictatime", "mode=755", "size=65536k" } },
	{ ROOT,
	  "/dev/pts",
	  "devpts",
	  "devpts",
	  { "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5" } },
	{ ROOTLESS,
	  "/dev/pts",
	  "devpts",
	  "devpts",
	  { "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620" } },
	{ BOTH, "/dev/shm", "tmpfs", "shm", { "nosuid", "noexec", "nodev", "mode=1777", "size=65536k" } },
	{ BOTH, "/dev/mqueue", "mqueue", "mqueue", { "nosuid", "noexec", "nodev" } },
	{ ROOT, "/sys", "sysfs", "sysfs", { "nosuid", "noexec", "nodev", "ro" } },
	{ ROOTLESS, "/sys", "none", "/sys", { "rbind", "nosuid", "noexec", "nodev", "ro" } },
	{ ROOT, "/sys/fs/cgroup", "cgroup", "cgroup", { "nosuid", "noexec", "nodev", "relatime", "ro" } },
};

static const struct {
	unsigned when;
	const char *type;
} namespaces[] = {
	{ BOTH, "pid" },   { ROOT, "network" }, { BOTH, "ipc" },      { BOTH, "uts" },
	{ BOTH, "mount" }, { BOTH, "cgroup" },	{ ROOTLESS, "user" },
};

static const char *const capabilities[] = { "CAP_AUDIT_WRITE", "CAP_KILL", "CAP_NET_BIND_SERVICE", NULL };

static const char *const masked_paths[] = {
	"/proc/acpi",
	"/proc/asound",
	"/proc/kcore",
	"/proc/keys",
	"/proc/latency_stats",
	"/proc/timer_list",
	"/proc/timer_stats",
	"/proc/sched_debug",
	"/sys/firmware",
	"/proc/scsi",
	NULL,
};

static const char *const readonly_paths[] = {
	"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", NULL,
};

/* A list of at most `max` strings, or up to the NULL. */
static json_t *string_list(const char *const *strings, size_t max)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < max && strings[i]; i++) {
		if (json_array_append_new(list, json_string(strings[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *make_process(void)
{
	json_t *caps = string_list(capabilities, ARRAY_SIZE(capabilities));

	/* "O" takes a reference, the last "o" takes ours. */
	return json_pack("{s:b, s:{s:i, s:i}, s:[s], s:[s, s], s:s, s:{s:O, s:O, s:O, s:o}, s:[{s:s, s:i, s:i}], s:b}",
			 "terminal", 1, "user", "uid", 0, "gid", 0, "args", "sh", "env",
			 "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=xterm", "cwd", "/",
			 "capabilities", "bounding", caps, "effective", caps, "permitted", caps, "ambient", caps,
			 "rlimits", "type", "RLIMIT_NOFILE", "hard", 1024, "soft", 1024, "noNewPrivileges", 1);
}

static json_t *make_mount(size_t i)
{
	json_t *mount = json_pack("{s:s, s:s, s:s}", "destination", mounts[i].destination, "type", mounts[i].type,
				  "source", mounts[i].source);

	if (!mount || !mounts[i].options[0])
		return mount;
	if (document_set(mount, "options", string_list(mounts[i].options, ARRAY_SIZE(mounts[i].options))) == 0)
		return mount;
	json_decref(mount);
	return NULL;
}

static json_t *make_mounts(unsigned when)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < ARRAY_SIZE(mounts); i++) {
		if ((mounts[i].when & when) && json_array_append_new(list, make_mount(i)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *make_namespaces(unsigned when)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < ARRAY_SIZE(namespaces); i++) {
		if ((namespaces[i].when & when) &&
		    json_array_append_new(list, json_pack("{s:s}", "type", namespaces[i].type)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *make_mapping(uint32_t host_id)
{
	return json_pack("[{s:i, s:I, s:i}]", "containerID", 0, "hostID", (json_int_t)host_id, "size", 1);
}

static int fill_linux(json_t *object, bool rootless, uint32_t uid, uint32_t gid)
{
	int r = 0;

	if (rootless) {
		r = document_set(object, "uidMappings", make_mapping(uid));
		if (r == 0)
			r = document_set(object, "gidMappings", make_mapping(gid));
	} else {
		r = document_set(object, "resources",
				 json_pack("{s:[{s:b, s:s}]}", "devices", "allow", 0, "access", "rwm"));
	}
	if (r == 0)
		r = document_set(object, "namespaces", make_namespaces(rootless ? ROOTLESS : ROOT));
	if (r == 0)
		r = document_set(object, "maskedPaths", string_list(masked_paths, ARRAY_SIZE(masked_paths)));
	if (r == 0)
		r = document_set(object, "readonlyPaths", string_list(readonly_paths, ARRAY_SIZE(readonly_paths)));
	return r;
}

int oci_spec_format(bool rootless, uint32_t host_uid, uint32_t host_gid, char **ret_text)
{
	_cleanup_json_ json_t *root = json_object(), *linux_object = json_object();
	int r;

	r = document_set_string(root, "ociVersion", OCI_VERSION_MAX);
	if (r == 0)
		r = document_set(root, "process", make_process());
	if (r == 0)
		r = document_set(root, "root", json_pack("{s:s, s:b}", "path", "rootfs", "readonly", 1));
	if (r == 0)
		r = document_set_string(root, "hostname", "hermit");
	if (r == 0)
		r = document_set(root, "mounts", make_mounts(rootless ? ROOTLESS : ROOT));
	if (r == 0)
		r = fill_linux(linux_object, rootless, host_uid, host_gid);
	if (r == 0)
		r = document_set(root, "linux", json_incref(linux_object));
	return r < 0 ? r : document_format(root, JSON_INDENT(4), ret_text);
}
