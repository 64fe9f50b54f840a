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

static int to_version(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	int res;

	res = jread_to_string(r, value, NULL, out);
	if (res < 0)
		return res;
	if (!oci_version_supported(value->text))
		return jread_fail(r, value, "'%.64s' is no version 1.x of the specification", value->text);
	return 0;
}

/* clang-format off */
#define CONFIG(member, name, fn, ...) \
	{ .key = name, .convert = fn, .offset = offsetof(struct oci_config, member), __VA_ARGS__ }
/* clang-format on */

static const struct jread_field root_fields[] = {
	CONFIG(root_path, "path", jread_to_string, .flags = JREAD_REQUIRED),
	CONFIG(root_readonly, "readonly", jread_to_bool),
	{ 0 },
};

static int finish_root(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_config *cfg = out;

	cfg->has_root = true;
	if (cfg->root_path[0] == '\0')
		return jread_fail_member(r, value, "path", "must not be empty");
	return 0;
}

static const struct jread_object root_object = { .fields = root_fields, .finish = finish_root };
static const struct jread_list mount_list = { .size = sizeof(struct oci_mount),
					      .convert = jread_to_object,
					      .detail = &oci_mount_object };

static const struct jread_field config_fields[] = {
	CONFIG(oci_version, "ociVersion", to_version, .flags = JREAD_REQUIRED),
	/* Writes into the config itself, hence no offset. */
	{ .key = "root", .convert = jread_to_object, .detail = &root_object, .flags = JREAD_REQUIRED },
	CONFIG(process, "process", jread_to_object, .detail = &oci_process_object),
	CONFIG(hostname, "hostname", jread_to_text),
	CONFIG(domainname, "domainname", jread_to_text),
	CONFIG(mounts, "mounts", jread_to_list, .detail = &mount_list),
	CONFIG(hooks, "hooks", jread_to_object, .detail = &oci_hooks_object),
	CONFIG(linux_, "linux", jread_to_object, .detail = &oci_linux_object),
	CONFIG(annotations, "annotations", jread_to_pairs),
	{ 0 },
};

/* A document for another platform has one of these and no "linux". */
static int check_platform(struct jread_reader *r, const struct jread_value *value, const struct oci_config *cfg)
{
	static const char *const platforms[] = { "windows", "solaris", "vm", "zos", "freebsd" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(platforms); i++)
		if (!cfg->linux_.present && jread_object_get(value, platforms[i]))
			return jread_fail_member(r, value, platforms[i], "not supported without \"linux\"");
	return 0;
}

/* The empty lists of objects that the document leaves out. */
static int fill_absent(struct jread_reader *r, struct oci_config *cfg)
{
	struct oci_strings *lists[] = { &cfg->process.args, &cfg->process.env, &cfg->process.capabilities.unknown,
					&cfg->linux_.masked_paths, &cfg->linux_.readonly_paths };
	size_t i;
	int res;

	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		res = oci_strings_default(r, lists[i]);
		if (res < 0)
			return res;
	}
	return 0;
}

static int finish_config(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_problem problem;
	struct oci_config *cfg = out;
	int res;

	res = check_platform(r, value, cfg);
	if (res == 0)
		res = fill_absent(r, cfg);
	if (res == 0)
		res = oci_resolve_idmaps(r, value, cfg);
	if (res < 0)
		return res;
	res = oci_config_validate(cfg, &problem);
	return res < 0 ? jread_fail_member(r, value, problem.path, "%s", problem.text) : 0;
}

static const struct jread_object config_object = { .fields = config_fields, .finish = finish_config };

int oci_config_parse(const char *text, size_t len, const char *name, struct oci_config *cfg, struct error *err)
{
	int r;

	*cfg = (struct oci_config){ .arena = oci_arena_new() };
	r = jread_read_document(text, len, name, &config_object, cfg->arena, cfg, err);
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
	r = fd_read_file(dirfd, path, JREAD_MAX_BYTES, &text, &len);
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

int oci_hermit_options(struct oci_config *cfg, struct oci_pairs *ret_options, struct error *err)
{
	const size_t prefix = strlen(OCI_HERMIT_PREFIX);
	const struct oci_pairs *all = &cfg->annotations;
	struct oci_pairs options = { 0 };
	size_t i;

	options.items = oci_arena_array(cfg->arena, all->count, sizeof(*options.items));
	if (!options.items)
		return error_set(err, ENOMEM, "out of memory");
	for (i = 0; i < all->count; i++) {
		if (strncmp(all->items[i].key, OCI_HERMIT_PREFIX, prefix) != 0)
			continue;
		if (all->items[i].key[prefix] == '\0')
			return error_set(err, EINVAL, "annotations.%s: no name of an option", all->items[i].key);
		options.items[options.count++] =
			(struct oci_pair){ .key = all->items[i].key + prefix, .value = all->items[i].value };
	}
	*ret_options = options;
	return 0;
}

/* ---- documents that are a part of one ---- */

static int finish_process_file(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	const struct oci_process *p = out;
	int res;

	res = oci_process_object.finish(r, value, detail, out);
	if (res < 0)
		return res;
	if (p->args.count == 0)
		return jread_fail_member(r, value, "args", "at least one argument is needed");
	return p->args.items[0][0] ? 0 : jread_fail_element(r, value, "args", 0, "must not be empty");
}

int oci_process_parse(const char *text, size_t len, const char *name, struct oci_process_file *file, struct error *err)
{
	const struct jread_object object = { .fields = oci_process_object.fields, .finish = finish_process_file };
	int r;

	*file = (struct oci_process_file){ .arena = oci_arena_new() };
	r = jread_read_document(text, len, name, &object, file->arena, &file->process, err);
	if (r < 0)
		oci_process_free(file);
	return r;
}

void oci_process_free(struct oci_process_file *file)
{
	oci_arena_free(file->arena);
	*file = (struct oci_process_file){ 0 };
}

static int finish_resources_file(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_problem problem;
	int res;

	res = oci_resources_object.finish(r, value, detail, out);
	if (res == 0 && oci_resources_validate(out, "", &problem) < 0)
		res = jread_fail_member(r, value, problem.path, "%s", problem.text);
	return res;
}

int oci_resources_parse(const char *text, size_t len, const char *name, struct oci_resources_file *file,
			struct error *err)
{
	const struct jread_object object = { .fields = oci_resources_object.fields, .finish = finish_resources_file };
	int r;

	*file = (struct oci_resources_file){ .arena = oci_arena_new() };
	r = jread_read_document(text, len, name, &object, file->arena, &file->resources, err);
	if (r < 0)
		oci_resources_free(file);
	return r;
}

void oci_resources_free(struct oci_resources_file *file)
{
	oci_arena_free(file->arena);
	*file = (struct oci_resources_file){ 0 };
}
