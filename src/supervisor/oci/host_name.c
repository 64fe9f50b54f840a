/* SPDX-License-Identifier: BSD-3-Clause */
/* See host_name.h. */
#include "supervisor/oci/host_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "oci/arena.h"

/* Docker and podman cut the id here. Kubernetes appends so many letters to the names of pods that it makes itself. */
enum { DRAWN_MIN = 12, POD_SUFFIX = 5, FILE_LIMIT = 1 << 20 };

#define BLANKS " \t\n"

static const char small_letters[] = "abcdefghijklmnopqrstuvwxyz";
static const char pod_letters[] = "bcdfghjklmnpqrstvwxz2456789";

/* ---- whose name it is ---- */

static bool is_of_pod(const struct oci_config *cfg)
{
	static const char *const keys[] = { "io.kubernetes.cri.container-type", "io.kubernetes.cri-o.ContainerType" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *value = oci_annotation(cfg, keys[i]);

		if (value && strcmp(value, "container") == 0)
			return true;
	}
	return false;
}

static const char *in_environment(const struct oci_strings *env)
{
	for (size_t i = 0; i < env->count; i++)
		if (strncmp(env->items[i], "HOSTNAME=", 9) == 0 && env->items[i][9])
			return env->items[i] + 9;
	return NULL;
}

const char *host_name_by_document(const struct oci_config *cfg)
{
	if (cfg->hostname)
		return cfg->hostname;
	return is_of_pod(cfg) ? in_environment(&cfg->process.env) : NULL;
}

static bool is_made_of(const char *name, const char *id)
{
	return strlen(name) >= DRAWN_MIN && strncmp(id, name, strlen(name)) == 0;
}

static bool has_pod_suffix(const char *name)
{
	size_t len = strlen(name);

	return len > POD_SUFFIX + 1 && name[len - POD_SUFFIX - 1] == '-' && strspn(name + len - POD_SUFFIX, pod_letters) == POD_SUFFIX;
}

/* The name that nobody has given the container, or NULL. */
static const char *drawn_name(const struct oci_config *cfg, const char *id)
{
	const char *name = host_name_by_document(cfg);

	return name && (is_made_of(name, id) || (is_of_pod(cfg) && has_pod_suffix(name))) ? name : NULL;
}

const char *host_name_given(const struct oci_config *cfg, const char *id)
{
	return drawn_name(cfg, id) ? NULL : host_name_by_document(cfg);
}

/* ---- files ---- */

static bool is_word(const char *word, size_t len, const char *which)
{
	return len == strlen(which) && memcmp(word, which, len) == 0;
}

/* "romantic_morse", "romantic_morse3" */
static bool is_drawn_name(const char *word, size_t len)
{
	size_t first = strspn(word, small_letters), second;

	if (first == 0 || first >= len || word[first] != '_')
		return false;
	second = strspn(word + first + 1, small_letters);
	if (second == 0)
		return false;
	return first + 1 + second == len || (first + 2 + second == len && strchr("0123456789", word[len - 1]));
}

static bool line_has(const char *line, size_t len, const char *which)
{
	for (const char *p = line; p < line + len; p += strcspn(p, BLANKS)) {
		p += strspn(p, " \t");
		if (is_word(p, strcspn(p, BLANKS), which))
			return true;
		if (*p == '\n' || !*p)
			return false;
	}
	return false;
}

/* One line without its end. What is between words stays as it is, but goes with a word that is left out. */
static void rewrite_line(FILE *to, const char *line, size_t len, const char *drawn, const char *name)
{
	bool ours = line_has(line, len, drawn);

	for (const char *p = line; p < line + len;) {
		size_t blank = strspn(p, " \t"), word = strcspn(p + blank, BLANKS);

		if (ours && is_word(p + blank, word, drawn))
			(void)fprintf(to, "%.*s%s", (int)blank, p, name);
		else if (!ours || !is_drawn_name(p + blank, word))
			(void)fprintf(to, "%.*s", (int)(blank + word), p);
		p += blank + word;
	}
}

char *host_name_rewrite(const char *text, const char *drawn, const char *name)
{
	char *made = NULL;
	size_t size;
	FILE *to = open_memstream(&made, &size);

	if (!to)
		return NULL;
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");

		rewrite_line(to, line, len, drawn, name);
		line += len;
		if (*line) {
			(void)fputc('\n', to);
			line++;
		}
	}
	if (fclose(to) == 0)
		return made;
	free(made);
	return NULL;
}

/* Owner and mode as the engine has made them: an ordinary user of the container reads it. */
static int copy_attributes_of(const struct state_dir *dir, const char *file, const struct stat *st, struct error *err)
{
	if (fchownat(dir->fd, file, st->st_uid, st->st_gid, 0) < 0 && errno != EPERM)
		return error_errno(err, errno, "cannot set the owner of %s/%s", dir->path, file);
	return fchmodat(dir->fd, file, st->st_mode & 07777, 0) < 0 ? error_errno(err, errno, "cannot set the mode of %s/%s", dir->path, file) : 0;
}

/* A mount whose source is to be a copy, in the state directory, of what it was. */
static int replace_file(struct oci_config *cfg, struct oci_mount *m, const char *file, const struct state_dir *dir, const char *drawn,
			const char *name, struct error *err)
{
	_cleanup_free_ char *text = NULL, *made = NULL, *root = NULL, *path = NULL;
	struct stat st;
	int r;

	if (stat(m->source, &st) < 0 || !S_ISREG(st.st_mode))
		return 0; /* who mounts it will say so */
	r = fd_read_file(AT_FDCWD, m->source, FILE_LIMIT, &text, NULL);
	if (r < 0)
		return error_errno(err, -r, "%s", m->source);
	made = host_name_rewrite(text, drawn, name);
	root = realpath(dir->path, NULL);
	if (!made || !root || asprintf(&path, "%s/%s", root, file) < 0)
		return error_set(err, ENOMEM, "out of memory");
	r = state_dir_save(dir, file, made, strlen(made), err);
	if (r == 0)
		r = copy_attributes_of(dir, file, &st, err);
	if (r < 0)
		return r;
	m->source = oci_arena_strdup(cfg->arena, path);
	return m->source ? 0 : error_set(err, ENOMEM, "out of memory");
}

static int replace_files(struct oci_config *cfg, const struct state_dir *dir, const char *drawn, const char *name, struct error *err)
{
	static const struct {
		const char *target, *file;
	} files[] = { { "/etc/hostname", "hostname" }, { "/etc/hosts", "hosts" } };
	int r = 0;

	for (size_t i = 0; r == 0 && i < cfg->n_mounts; i++) {
		struct oci_mount *m = &cfg->mounts[i];

		for (size_t k = 0; r == 0 && k < ARRAY_SIZE(files); k++)
			if ((m->flags & MS_BIND) && m->source && m->source[0] == '/' && !strcmp(m->destination, files[k].target))
				r = replace_file(cfg, m, files[k].file, dir, drawn, name, err);
	}
	return r;
}

/* ---- the document ---- */

int host_name_in_environment(const struct oci_config *cfg, struct oci_strings *env, const char *id, const char *name, struct error *err)
{
	_cleanup_free_ char *drawn = drawn_name(cfg, id) ? strdup(drawn_name(cfg, id)) : NULL; /* which may be what is replaced here */

	for (size_t i = 0; drawn && i < env->count; i++) {
		char **variable = &env->items[i];

		if (strncmp(*variable, "HOSTNAME=", 9) != 0 || strcmp(*variable + 9, drawn) != 0)
			continue;
		*variable = oci_arena_alloc(cfg->arena, strlen(name) + sizeof("HOSTNAME="));
		if (!*variable)
			return error_set(err, ENOMEM, "out of memory");
		(void)sprintf(*variable, "HOSTNAME=%s", name);
	}
	return 0;
}

int host_name_settle(struct oci_config *cfg, const struct state_dir *dir, const char *name, struct error *err)
{
	const char *drawn = drawn_name(cfg, dir->id);
	int r;

	if (!drawn)
		return 0;
	r = replace_files(cfg, dir, drawn, name, err);
	if (r == 0)
		r = host_name_in_environment(cfg, &cfg->process.env, dir->id, name, err);
	if (r < 0 || !cfg->hostname) /* a pod's, whose own name in the kernel is not only this container's */
		return r;
	cfg->hostname = oci_arena_strdup(cfg->arena, name);
	return cfg->hostname ? 0 : error_set(err, ENOMEM, "out of memory");
}
