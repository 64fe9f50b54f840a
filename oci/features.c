/* SPDX-License-Identifier: BSD-3-Clause */
/* See features.h. */
#include "oci/features.h"

#include <config.h> /* not the one in this folder */
#include <errno.h>
#include <jansson.h>

#include "oci/document.h"
#include "oci/tables.h"

static int set_hooks(json_t *root)
{
	struct jread_name names[OCI_HOOK_STAGES + 1] = { { 0 } };
	unsigned i;

	for (i = 0; i < OCI_HOOK_STAGES; i++)
		names[i].name = oci_hook_stage_name(i);
	return document_set_names(root, "hooks", names);
}

static int set_mount_options(json_t *root)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && i < oci_n_mount_options; i++) {
		if (json_array_append_new(list, json_string(oci_mount_options[i].name)) < 0) {
			json_decref(list);
			return -ENOMEM;
		}
	}
	return document_set(root, "mountOptions", list);
}

static int set_cgroup(json_t *linux_object)
{
#ifdef HAVE_SYSTEMD
	const int systemd = 1;
#else
	const int systemd = 0;
#endif

	return document_set(
		linux_object, "cgroup",
		json_pack("{s:b, s:b, s:b, s:b, s:b}", "v1", 1, "v2", 1, "systemd", systemd, "systemdUser", systemd, "rdma", 1));
}

static int set_seccomp(json_t *linux_object)
{
	json_t *seccomp = json_object();
	int r;

	r = document_set(seccomp, "enabled", json_true());
	if (r == 0)
		r = document_set_names(seccomp, "actions", oci_seccomp_action_names);
	if (r == 0)
		r = document_set_names(seccomp, "operators", oci_seccomp_op_names);
	if (r == 0)
		r = document_set_names(seccomp, "archs", oci_seccomp_arch_names);
	if (r == 0)
		r = document_set_names(seccomp, "knownFlags", oci_seccomp_flag_names);
	if (r == 0)
		r = document_set_names(seccomp, "supportedFlags", oci_seccomp_flag_names);
	if (r < 0) {
		json_decref(seccomp);
		return r;
	}
	return document_set(linux_object, "seccomp", seccomp);
}

/* Things that are there or not. A row is the path of an object with one member, "enabled". */
static int set_switches(json_t *linux_object)
{
	static const struct {
		const char *key;
		bool enabled;
	} rows[] = { { "apparmor", false }, { "selinux", false }, { "intelRdt", false } };
	size_t i;
	int r;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		r = document_set(linux_object, rows[i].key, json_pack("{s:b}", "enabled", rows[i].enabled));
		if (r < 0)
			return r;
	}
	return document_set(linux_object, "mountExtensions", json_pack("{s:{s:b}}", "idmap", "enabled", 1));
}

static int set_linux(json_t *root)
{
	json_t *object = json_object();
	int r;

	r = document_set_names(object, "namespaces", oci_namespace_names);
	if (r == 0)
		r = document_set_names(object, "capabilities", oci_capability_names);
	if (r == 0)
		r = set_cgroup(object);
	if (r == 0)
		r = set_seccomp(object);
	if (r == 0)
		r = set_switches(object);
	if (r < 0) {
		json_decref(object);
		return r;
	}
	return document_set(root, "linux", object);
}

int oci_features_format(const char *program_version, char **ret_text)
{
	_cleanup_json_ json_t *root = json_object();
	int r;

	r = document_set_string(root, "ociVersionMin", OCI_VERSION_MIN);
	if (r == 0)
		r = document_set_string(root, "ociVersionMax", OCI_VERSION_MAX);
	if (r == 0)
		r = set_hooks(root);
	if (r == 0)
		r = set_mount_options(root);
	if (r == 0)
		r = set_linux(root);
	if (r == 0)
		r = document_set(root, "annotations", json_pack("{s:s}", "org.hermit.version", program_version));
	/* A name that ends in a dot stands for all that start so. */
	if (r == 0)
		r = document_set(root, "potentiallyUnsafeConfigAnnotations", json_pack("[s]", OCI_HERMIT_PREFIX));
	return r < 0 ? r : document_format(root, JSON_INDENT(2), ret_text);
}
