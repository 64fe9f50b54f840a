/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of "mounts", and what their options mean. */
#include "oci/tables.h"

#include <linux/mount.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#ifndef MS_NOSYMFOLLOW
#define MS_NOSYMFOLLOW 256
#endif
#ifndef MOUNT_ATTR_NOSYMFOLLOW
#define MOUNT_ATTR_NOSYMFOLLOW 0x00200000
#endif

/*
 * Access times are one field of mount_setattr(2), which has to be cleared as a whole. "ratime" and "rnostrictatime" go
 * back to the default of the kernel, which is relatime.
 */
/* clang-format off */
#define SET(name, bits) { name, OCI_OPTION_FLAG, bits, 0 }
#define CLEAR(name, bits) { name, OCI_OPTION_FLAG, 0, bits }
#define PROPAGATE(name, bits) { name, OCI_OPTION_PROPAGATION, bits, 0 }
#define REC(name, set, clear) { name, OCI_OPTION_RECURSIVE, set, clear }
/* clang-format on */

const struct oci_mount_option oci_mount_options[] = {
	SET("acl", MS_POSIXACL),
	CLEAR("async", MS_SYNCHRONOUS),
	CLEAR("atime", MS_NOATIME),
	SET("bind", MS_BIND),
	CLEAR("defaults", 0),
	CLEAR("dev", MS_NODEV),
	CLEAR("diratime", MS_NODIRATIME),
	SET("dirsync", MS_DIRSYNC),
	CLEAR("exec", MS_NOEXEC),
	{ "idmap", OCI_OPTION_IDMAP, OCI_IDMAP_MOUNT, 0 },
	SET("iversion", MS_I_VERSION),
	SET("lazytime", MS_LAZYTIME),
	CLEAR("loud", MS_SILENT),
	SET("mand", MS_MANDLOCK),
	CLEAR("noacl", MS_POSIXACL),
	SET("noatime", MS_NOATIME),
	SET("nodev", MS_NODEV),
	SET("nodiratime", MS_NODIRATIME),
	SET("noexec", MS_NOEXEC),
	CLEAR("noiversion", MS_I_VERSION),
	CLEAR("nolazytime", MS_LAZYTIME),
	CLEAR("nomand", MS_MANDLOCK),
	CLEAR("norelatime", MS_RELATIME),
	CLEAR("nostrictatime", MS_STRICTATIME),
	SET("nosuid", MS_NOSUID),
	SET("nosymfollow", MS_NOSYMFOLLOW),
	PROPAGATE("private", MS_PRIVATE),
	REC("ratime", MOUNT_ATTR_RELATIME, MOUNT_ATTR__ATIME),
	SET("rbind", MS_BIND | MS_REC),
	REC("rdev", 0, MOUNT_ATTR_NODEV),
	REC("rdiratime", 0, MOUNT_ATTR_NODIRATIME),
	SET("relatime", MS_RELATIME),
	SET("remount", MS_REMOUNT),
	REC("rexec", 0, MOUNT_ATTR_NOEXEC),
	{ "ridmap", OCI_OPTION_IDMAP, OCI_IDMAP_RECURSIVE, 0 },
	REC("rnoatime", MOUNT_ATTR_NOATIME, MOUNT_ATTR__ATIME),
	REC("rnodev", MOUNT_ATTR_NODEV, 0),
	REC("rnodiratime", MOUNT_ATTR_NODIRATIME, 0),
	REC("rnoexec", MOUNT_ATTR_NOEXEC, 0),
	REC("rnorelatime", 0, 0),
	REC("rnostrictatime", MOUNT_ATTR_RELATIME, MOUNT_ATTR__ATIME),
	REC("rnosuid", MOUNT_ATTR_NOSUID, 0),
	REC("rnosymfollow", MOUNT_ATTR_NOSYMFOLLOW, 0),
	SET("ro", MS_RDONLY),
	PROPAGATE("rprivate", MS_PRIVATE | MS_REC),
	REC("rrelatime", MOUNT_ATTR_RELATIME, MOUNT_ATTR__ATIME),
	REC("rro", MOUNT_ATTR_RDONLY, 0),
	REC("rrw", 0, MOUNT_ATTR_RDONLY),
	PROPAGATE("rshared", MS_SHARED | MS_REC),
	PROPAGATE("rslave", MS_SLAVE | MS_REC),
	REC("rstrictatime", MOUNT_ATTR_STRICTATIME, MOUNT_ATTR__ATIME),
	REC("rsuid", 0, MOUNT_ATTR_NOSUID),
	REC("rsymfollow", 0, MOUNT_ATTR_NOSYMFOLLOW),
	PROPAGATE("runbindable", MS_UNBINDABLE | MS_REC),
	CLEAR("rw", MS_RDONLY),
	PROPAGATE("shared", MS_SHARED),
	SET("silent", MS_SILENT),
	PROPAGATE("slave", MS_SLAVE),
	SET("strictatime", MS_STRICTATIME),
	CLEAR("suid", MS_NOSUID),
	CLEAR("symfollow", MS_NOSYMFOLLOW),
	SET("sync", MS_SYNCHRONOUS),
	{ "tmpcopyup", OCI_OPTION_TMPCOPYUP, 0, 0 },
	PROPAGATE("unbindable", MS_UNBINDABLE),
};

const size_t oci_n_mount_options = ARRAY_SIZE(oci_mount_options);

static const struct oci_mount_option *find_option(const char *name)
{
	size_t low = 0, high = oci_n_mount_options, middle;
	int c;

	while (low < high) {
		middle = low + (high - low) / 2;
		c = strcmp(name, oci_mount_options[middle].name);
		if (c == 0)
			return &oci_mount_options[middle];
		if (c < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* Bits that are asked for later take back earlier ones, of both kinds. */
static void apply_bits(uint64_t *on, uint64_t *off, uint64_t set, uint64_t clear)
{
	*on = (*on & ~clear) | set;
	*off = (*off & ~set) | clear;
}

static void apply_option(struct oci_mount *m, const struct oci_mount_option *option)
{
	switch (option->kind) {
	case OCI_OPTION_FLAG:
		apply_bits(&m->flags, &m->flags_clear, option->set, option->clear);
		break;
	case OCI_OPTION_PROPAGATION:
		m->propagation = option->set;
		break;
	case OCI_OPTION_RECURSIVE:
		apply_bits(&m->rec_attr_set, &m->rec_attr_clear, option->set, option->clear);
		break;
	case OCI_OPTION_TMPCOPYUP:
		m->tmpcopyup = true;
		break;
	case OCI_OPTION_IDMAP:
		m->idmap = (enum oci_idmap)option->set;
		break;
	}
}

/* An option with a value that is ours all the same; 1 if `text` is one. */
static int apply_idmap(struct jread_reader *r, const struct jread_value *value, const char *text, struct oci_mount *m)
{
	static const struct {
		const char *start;
		enum oci_idmap idmap;
	} rows[] = { { "idmap=", OCI_IDMAP_MOUNT }, { "ridmap=", OCI_IDMAP_RECURSIVE } };
	size_t i, n;
	int res;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		n = strlen(rows[i].start);
		if (strncmp(text, rows[i].start, n) != 0)
			continue;
		m->idmap = rows[i].idmap;
		res = oci_parse_idmap(r, value, text + n, m);
		return res < 0 ? res : 1;
	}
	return 0;
}

/* Appends to a list that is joined by commas. */
static void append_data(char *data, const char *text)
{
	size_t n = strlen(data);

	if (!*text)
		return;
	if (n > 0)
		data[n++] = ',';
	memcpy(data + n, text, strlen(text) + 1);
}

/* The options that are none of ours go to the filesystem. */
static int split_options(struct jread_reader *r, const struct jread_value *value, struct oci_mount *m)
{
	const struct oci_mount_option *option;
	size_t i, size = 1;
	char *data;
	int res;

	for (i = 0; i < m->options.count; i++)
		size += strlen(m->options.items[i]) + 1;
	data = oci_arena_alloc(r->arena, size);
	if (!data)
		return jread_no_memory(r);
	for (i = 0; i < m->options.count; i++) {
		option = find_option(m->options.items[i]);
		res = option ? 1 : apply_idmap(r, value, m->options.items[i], m);
		if (res < 0)
			return res;
		if (option)
			apply_option(m, option);
		else if (res == 0)
			append_data(data, m->options.items[i]);
	}
	m->data = *data ? data : NULL;
	return 0;
}

static bool is_bind(const struct oci_mount *m)
{
	return (m->flags & MS_BIND) != 0;
}

static int check_idmap(struct jread_reader *r, const struct jread_value *value, struct oci_mount *m)
{
	if (!m->uid_mappings.count != !m->gid_mappings.count)
		return jread_fail_member(r, value, m->uid_mappings.count ? "uidMappings" : "gidMappings",
					 "uidMappings and gidMappings go together");
	if (m->uid_mappings.count && m->idmap == OCI_IDMAP_NONE)
		m->idmap = OCI_IDMAP_MOUNT;
	if (m->idmap != OCI_IDMAP_NONE && !is_bind(m))
		return jread_fail(r, value, "only bind mounts can have their owners mapped");
	return 0;
}

/* Relative destinations are of old tools; they count from "/" (runtime-spec, config.md, Mounts). */
static int make_absolute(struct jread_reader *r, const struct jread_value *value, struct oci_mount *m)
{
	size_t len = strlen(m->destination);
	char *path;

	if (len == 0)
		return jread_fail_member(r, value, "destination", "must not be empty");
	if (m->destination[0] == '/')
		return 0;
	path = oci_arena_alloc(r->arena, len + 2);
	if (!path)
		return jread_no_memory(r);
	path[0] = '/';
	memcpy(path + 1, m->destination, len);
	m->destination = path;
	return 0;
}

static int finish_mount(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_mount *m = out;
	int res;

	res = make_absolute(r, value, m);
	if (res == 0)
		res = oci_strings_default(r, &m->options);
	if (res == 0)
		res = split_options(r, value, m);
	if (res < 0)
		return res;
	/* Docker writes the type alone at times. */
	if (m->type && strcmp(m->type, "bind") == 0)
		m->flags |= MS_BIND;
	if (is_bind(m) && !m->source)
		return jread_fail_member(r, value, "source", "required for a bind mount, but missing");
	return check_idmap(r, value, m);
}

/* clang-format off */
#define MOUNT(member, name, fn, ...) \
	{ .key = name, .convert = fn, .offset = offsetof(struct oci_mount, member), __VA_ARGS__ }
/* clang-format on */
static const struct jread_field mount_fields[] = {
	MOUNT(destination, "destination", jread_to_string, .flags = JREAD_REQUIRED),
	MOUNT(type, "type", jread_to_text),
	MOUNT(source, "source", jread_to_text),
	MOUNT(options, "options", jread_to_strings),
	MOUNT(uid_mappings, "uidMappings", oci_to_id_mappings),
	MOUNT(gid_mappings, "gidMappings", oci_to_id_mappings),
	{ 0 },
};

const struct jread_object oci_mount_object = { .fields = mount_fields, .finish = finish_mount };
