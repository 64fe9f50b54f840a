/* SPDX-License-Identifier: BSD-3-Clause */
/* The document as a whole. See config.h; the tables of its objects are in fields_*.c. */
#include "oci/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "oci/syntax.h"
#include "oci/tables.h"
#include "oci/validate.h"

static int to_version(struct json_reader *r, const struct json_value *value, const void *detail, void *out)
{
	int res;

	res = json_to_string(r, value, NULL, out);
	if (res < 0)
		return res;
	if (!oci_version_supported(value->text))
		return json_fail(r, value, "'%.64s' is no version 1.x of the specification", value->text);
	return 0;
}

#define CONFIG(member, name, fn, ...) \
	{ .key = name, .convert = fn, .offset = offsetof(struct oci_config, member), __VA_ARGS__ }

static const struct json_field root_fields[] = {
	CONFIG(root_path, "path", json_to_string, .flags = JSON_REQUIRED),
	CONFIG(root_readonly, "readonly", json_to_bool),
	{ 0 },
};

static int finish_root(struct json_reader *r, const struct json_value *value, const void *detail, void *out)
{
	struct oci_config *cfg = out;

	cfg->has_root = true;
	if (cfg->root_path[0] == '\0')
		return json_fail_member(r, value, "path", "must not be empty");
	return 0;
}

static const struct json_object root_object = { .fields = root_fields, .finish = finish_root };
static const struct json_list mount_list = {
	.size = sizeof(struct oci_mount), .convert = json_to_object, .detail = &oci_mount_object
};

static const struct json_field config_fields[] = {
	CONFIG(oci_version, "ociVersion", to_version, .flags = JSON_REQUIRED),
	/* Writes into the config itself, hence no offset. */
	{ .key = "root", .convert = json_to_object, .detail = &root_object, .flags = JSON_REQUIRED },
	CONFIG(process, "process", json_to_object, .detail = &oci_process_object),
	CONFIG(hostname, "hostname", json_to_text),
	CONFIG(domainname, "domainname", json_to_text),
	CONFIG(mounts, "mounts", json_to_list, .detail = &mount_list),
	CONFIG(hooks, "hooks", json_to_object, .detail = &oci_hooks_object),
	CONFIG(linux_, "linux", json_to_object, .detail = &oci_linux_object),
	CONFIG(annotations, "annotations", json_to_pairs),
	{ 0 },
};

/* A document for another platform has one of these and no "linux". */
static int finish_config(struct json_reader *r, const struct json_value *value, const void *detail, void *out)
{
	static const char *const platforms[] = { "windows", "solaris", "vm", "zos", "freebsd" };
	struct oci_config *cfg = out;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(platforms); i++)
		if (!cfg->linux_.present && json_object_get(value, platforms[i]))
			return json_fail_member(r, value, platforms[i], "not supported without \"linux\"");
	return 0;
}

static const struct json_object config_object = { .fields = config_fields, .finish = finish_config };

/* The empty lists of objects that the document leaves out. */
static int fill_absent(struct json_reader *r, struct oci_config *cfg)
{
	struct oci_strings *lists[] = { &cfg->process.args,	     &cfg->process.env,
					&cfg->process.capabilities.unknown, &cfg->linux_.masked_paths,
					&cfg->linux_.readonly_paths };
	size_t i;
	int res;

	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		res = oci_strings_default(r, lists[i]);
		if (res < 0)
			return res;
	}
	return 0;
}

/* The place of a complaint of the validator, from its path. */
static int fail_validation(const char *name, const struct json_value *root, const struct oci_problem *problem,
			   struct error *err)
{
	const struct json_value *at = json_tree_locate(root, problem->path);

	return error_set(err, EINVAL, "%s:%u:%u: %s: %s", name, at->line, at->column, problem->path, problem->text);
}

/* The tree has an arena of its own, since it goes before the config does. */
static int parse(struct oci_arena *tree, const char *text, size_t len, const char *name, struct oci_config *cfg,
		 struct error *err)
{
	struct json_reader reader = { .name = name, .arena = cfg->arena, .err = err };
	const struct json_value *root;
	struct oci_problem problem;
	int r;

	if (len > OCI_CONFIG_MAX_BYTES)
		return error_set(err, EINVAL, "%s: larger than %u bytes", name, OCI_CONFIG_MAX_BYTES);
	if (!tree || !cfg->arena)
		return error_set(err, ENOMEM, "%s: out of memory", name);
	r = json_tree_parse(text, len, name, tree, &root, err);
	if (r < 0)
		return r;
	r = json_read_object(&reader, root, &config_object, cfg);
	if (r < 0)
		return r;
	r = fill_absent(&reader, cfg);
	if (r < 0)
		return r;
	r = oci_config_validate(cfg, &problem);
	return r < 0 ? fail_validation(name, root, &problem, err) : 0;
}

int oci_config_parse(const char *text, size_t len, const char *name, struct oci_config *cfg, struct error *err)
{
	struct oci_arena *tree;
	int r;

	*cfg = (struct oci_config){ .arena = oci_arena_new() };
	tree = oci_arena_new();
	r = parse(tree, text, len, name, cfg, err);
	tree = oci_arena_free(tree);
	if (r < 0)
		oci_config_free(cfg);
	return r;
}

int oci_config_load(int dirfd, const char *path, struct oci_config *cfg, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	const char *slash = strrchr(path, '/');
	size_t len;
	int r;

	*cfg = (struct oci_config){ 0 };
	r = fd_read_file(dirfd, path, OCI_CONFIG_MAX_BYTES, &text, &len);
	if (r < 0)
		return error_errno(err, -r, "cannot read %s", path);
	return oci_config_parse(text, len, slash ? slash + 1 : path, cfg, err);
}

void oci_config_free(struct oci_config *cfg)
{
	oci_arena_free(cfg->arena);
	*cfg = (struct oci_config){ 0 };
}

const char *oci_annotation(const struct oci_config *cfg, const char *key)
{
	size_t i;

	for (i = 0; i < cfg->annotations.count; i++)
		if (strcmp(cfg->annotations.items[i].key, key) == 0)
			return cfg->annotations.items[i].value;
	return NULL;
}
