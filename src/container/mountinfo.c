/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mount table: see mountinfo.h. A line is
 *   36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
 * with any number of optional fields before the "-", and blanks in names as octal escapes (proc(5)).
 */
#include "container/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"

enum { TABLE_LIMIT = 64 << 20 };

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* "\040" and its like become the bytes they stand for; in place. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && is_octal(s[1]) && is_octal(s[2]) && is_octal(s[3])) {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

static char *next_field(char **rest)
{
	char *field;

	field = strsep(rest, " ");
	return field && *field ? field : NULL;
}

static bool parse_number(const char *text, int *ret)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < 0 || value > 0x7fffffff)
		return false;
	*ret = (int)value;
	return true;
}

static bool parse_line(char *line, struct mount_entry *ret)
{
	char *id, *parent, *device, *field, *rest = line;

	id = next_field(&rest);
	parent = next_field(&rest);
	device = next_field(&rest);
	ret->root = next_field(&rest);
	ret->point = next_field(&rest);
	ret->options = next_field(&rest);
	if (!id || !parent || !device || !ret->root || !ret->point || !ret->options)
		return false;
	if (!parse_number(id, &ret->id) || !parse_number(parent, &ret->parent))
		return false;
	do {
		field = next_field(&rest);
	} while (field && strcmp(field, "-") != 0);
	if (!field)
		return false;
	ret->type = next_field(&rest);
	ret->source = strsep(&rest, " "); /* may be empty */
	ret->super_options = rest;
	if (!ret->type || !ret->source || !ret->super_options)
		return false;
	unescape(ret->root);
	unescape(ret->point);
	unescape(ret->source);
	return true;
}

int mount_table_parse(char *text, struct mount_table *ret, struct error *err)
{
	struct mount_table table = { .text = text };
	size_t lines = 0;
	char *line, *rest = text;

	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	table.entries = calloc(lines + 1, sizeof(*table.entries));
	if (!table.entries) {
		mount_table_free(&table);
		return error_set(err, ENOMEM, "out of memory");
	}
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		if (!parse_line(line, &table.entries[table.n])) {
			(void)error_set(err, EINVAL, "mountinfo: line %zu is malformed", table.n + 1);
			mount_table_free(&table);
			return -EINVAL;
		}
		table.n++;
	}
	*ret = table;
	return 0;
}

int mount_table_read(struct mount_table *ret, pid_t pid, struct error *err)
{
	char path[40] = "/proc/self/mountinfo", *text = NULL;
	int r;

	if (pid)
		(void)snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	r = fd_read_file(AT_FDCWD, path, TABLE_LIMIT, &text, NULL);
	if (r < 0)
		return error_errno(err, -r, "cannot read %s", path);
	return mount_table_parse(text, ret, err);
}

static bool is_reached(const struct mount_entry *entry)
{
	struct statx st;

	if (statx(AT_FDCWD, entry->point, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_MNT_ID,
		  &st) < 0)
		return errno != ENOENT && errno != ENOTDIR; /* out of our reach, but it is there */
	if (!(st.stx_mask & STATX_MNT_ID))
		return true;
	return st.stx_mnt_id == (uint64_t)entry->id;
}

void mount_table_drop_covered(struct mount_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->n; i++)
		if (is_reached(&table->entries[i]))
			table->entries[kept++] = table->entries[i];
	table->n = kept;
}

void mount_table_free(struct mount_table *table)
{
	free(table->entries);
	free(table->text);
	*table = (struct mount_table){ 0 };
}

bool path_is_under(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return path[0] == '/';
	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

bool mount_table_has_below(const struct mount_table *table, const char *path)
{
	for (size_t i = 0; i < table->n; i++)
		if (strcmp(table->entries[i].point, path) != 0 && path_is_under(table->entries[i].point, path))
			return true;
	return false;
}

const struct mount_entry *mount_table_find(const struct mount_table *table, const char *path)
{
	for (size_t i = table->n; i-- > 0;)
		if (strcmp(table->entries[i].point, path) == 0)
			return &table->entries[i];
	return NULL;
}

const struct mount_entry *mount_table_containing(const struct mount_table *table, const char *path)
{
	const struct mount_entry *best = NULL;

	for (size_t i = 0; i < table->n; i++)
		if (path_is_under(path, table->entries[i].point) &&
		    (!best || strlen(table->entries[i].point) >= strlen(best->point)))
			best = &table->entries[i];
	return best;
}

bool options_have(const char *options, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = options; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (strncmp(p, word, len) == 0 && (p[len] == '\0' || p[len] == ','))
			return true;
	return false;
}

void cgroup_v1_name(const char *super_options, char *buf, size_t size)
{
	static const char *const others[] = { "rw",	 "ro", "xattr", "clone_children", "noprefix", "cpuset_v2_mode",
					      "seclabel" };
	size_t used = 0, len;

	buf[0] = '\0';
	for (const char *p = super_options; *p; p += len + (p[len] == ',')) {
		bool other;

		len = strcspn(p, ",");
		other = strncmp(p, "release_agent=", 14) == 0;
		for (size_t i = 0; i < ARRAY_SIZE(others); i++)
			other = other || (strlen(others[i]) == len && strncmp(p, others[i], len) == 0);
		if (!other && used + len + 2 < size)
			used += (size_t)snprintf(buf + used, size - used, "%s%.*s", used ? "," : "", (int)len, p);
	}
}
