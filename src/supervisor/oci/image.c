/* SPDX-License-Identifier: BSD-3-Clause */
/* Images without an engine: see image.h. */
#include "supervisor/oci/image.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/container.h"
#include "supervisor/cache_directory.h"
#include "supervisor/scratch.h"

enum { NOT_FOUND = 127, DOCUMENT_LIMIT = 16 << 20 };

static void cleanup_json(json_t **json)
{
	json_decref(*json);
}
#define _cleanup_json_ _cleanup_(cleanup_json)

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "out of memory");
}

/* ---- programs that help ---- */

static _Noreturn void execute(char **argv, int said)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 && dup2(said, STDERR_FILENO) >= 0)
		(void)execvp(argv[0], argv);
	_exit(errno == ENOENT ? NOT_FOUND : 126);
}

/* The last line that a program said. */
static void last_line(int fd, char *buf, size_t size)
{
	off_t end = lseek(fd, 0, SEEK_END);
	ssize_t n = pread(fd, buf, size - 1, end > (off_t)size - 1 ? end - (off_t)size + 1 : 0);
	char *line;

	buf[n > 0 ? n : 0] = '\0';
	while (n > 0 && buf[n - 1] == '\n')
		buf[--n] = '\0';
	line = strrchr(buf, '\n');
	if (line)
		memmove(buf, line + 1, strlen(line));
}

static int run_program(char **argv, struct error *err)
{
	_cleanup_close_ int said = memfd_create("said", MFD_CLOEXEC);
	char line[400];
	int status = 0;
	pid_t pid = said < 0 ? -1 : fork();

	if (pid < 0)
		return error_errno(err, errno, "%s", argv[0]);
	if (pid == 0)
		execute(argv, said);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_errno(err, errno, "%s", argv[0]);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
		return error_set(err, ENOENT, "%s is not installed; images are %s by it (Debian: apt-get install %s)", argv[0],
				 strcmp(argv[0], "umoci") == 0 ? "unpacked" : "converted", argv[0]);
	last_line(said, line, sizeof(line));
	return error_set(err, EPROTO, "%s %s failed: %s", argv[0], argv[1], line);
}

/* ---- the layout ---- */

static bool has_file(const char *directory, const char *name)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		path = NULL;
		return false;
	}
	return access(path, F_OK) == 0;
}

/* Into a layout of our own. */
static int convert(struct image *image, const char *transport, const char *name, struct error *err)
{
	_cleanup_free_ char *from = NULL, *to = NULL;
	char scratch[64];
	int r;

	r = scratch_make_in("/var/tmp", scratch, sizeof(scratch), "image", err);
	if (r < 0)
		return r;
	image->scratch = strdup(scratch);
	if (!image->scratch)
		return no_memory(err);
	if (asprintf(&image->layout, "%s/layout", image->scratch) < 0)
		image->layout = NULL;
	if (asprintf(&from, "%s:%s", transport, name) < 0)
		from = NULL;
	if (!image->layout || asprintf(&to, "oci:%s:image", image->layout) < 0)
		to = NULL;
	image->tag = strdup("image");
	if (!from || !to || !image->tag)
		return no_memory(err);
	return run_program((char *[]){ (char[]){ "skopeo" }, (char[]){ "copy" }, (char[]){ "--insecure-policy" }, from, to, NULL }, err);
}

/* DIR or DIR:TAG */
static int take_layout(struct image *image, const char *name, struct error *err)
{
	const char *colon = strrchr(name, ':');

	image->layout = strdup(name);
	if (!image->layout)
		return no_memory(err);
	if (has_file(name, "oci-layout"))
		return 0;
	if (!colon && access(name, F_OK) < 0)
		return error_errno(err, errno, "%s", name);
	if (!colon)
		return error_set(err, EINVAL, "%s: is no OCI layout, no directory of skopeo's and no archive of docker save", name);
	image->layout[colon - name] = '\0';
	image->tag = strdup(colon + 1);
	if (!image->tag)
		return no_memory(err);
	if (access(image->layout, F_OK) < 0)
		return error_errno(err, errno, "%s", image->layout);
	return has_file(image->layout, "oci-layout") ? 0 : error_set(err, ENOENT, "%s: is no OCI layout", image->layout);
}

static int find_layout(struct image *image, const char *name, struct error *err)
{
	struct stat st;

	if (stat(name, &st) == 0 && S_ISREG(st.st_mode))
		return convert(image, "docker-archive", name, err);
	if (has_file(name, "manifest.json") && has_file(name, "version"))
		return convert(image, "dir", name, err);
	return take_layout(image, name, err);
}

static int read_document(const struct image *image, const char *name, json_t **ret, struct error *err)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	json_error_t wrong;
	int r;

	if (asprintf(&path, "%s/%s", image->layout, name) < 0) {
		path = NULL;
		return no_memory(err);
	}
	r = fd_read_file(AT_FDCWD, path, DOCUMENT_LIMIT, &text, NULL);
	if (r < 0)
		return error_errno(err, -r, "%s", path);
	*ret = json_loads(text, 0, &wrong);
	return *ret ? 0 : error_set(err, EPROTO, "%s:%d:%d: %s", path, wrong.line, wrong.column, wrong.text);
}

/* "sha256:0123..." as the name of a file in the layout; what is no digest cannot be a path. */
static int read_blob(const struct image *image, const char *digest, json_t **ret, struct error *err)
{
	_cleanup_free_ char *name = NULL;

	if (!digest || strncmp(digest, "sha256:", 7) != 0 || strspn(digest + 7, "0123456789abcdef") != 64 || strlen(digest) != 71)
		return error_set(err, EPROTO, "%s: has no digest where one is needed", image->layout);
	if (asprintf(&name, "blobs/sha256/%s", digest + 7) < 0) {
		name = NULL;
		return no_memory(err);
	}
	return read_document(image, name, ret, err);
}

static const char *text_at(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* The manifest that the tag names; without a tag, the only one. */
static int choose_manifest(struct image *image, struct error *err)
{
	_cleanup_json_ json_t *index = NULL;
	const json_t *found = NULL, *list;
	int r;

	r = read_document(image, "index.json", &index, err);
	if (r < 0)
		return r;
	list = json_object_get(index, "manifests");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		const char *name = text_at(json_object_get(entry, "annotations"), "org.opencontainers.image.ref.name");

		if (!name || (image->tag ? strcmp(name, image->tag) != 0 : json_array_size(list) != 1))
			continue;
		found = entry;
		if (!image->tag && !(image->tag = strdup(name)))
			return no_memory(err);
	}
	if (!found)
		return error_set(err, ENOENT, "%s: %s; name one as DIR:TAG (skopeo copy oci:DIR oci:NEW:TAG gives a tag)", image->layout,
				 image->tag ? "there is no such tag" : "there is not just one image with a tag");
	image->digest = strdup(text_at(found, "digest") ?: "");
	return image->digest ? 0 : no_memory(err);
}

static int take_entrypoint(struct image *image, struct error *err)
{
	_cleanup_json_ json_t *manifest = NULL, *config = NULL;
	const json_t *words;
	int r;

	r = read_blob(image, image->digest, &manifest, err);
	if (r == 0)
		r = read_blob(image, text_at(json_object_get(manifest, "config"), "digest"), &config, err);
	if (r < 0)
		return r;
	words = json_object_get(json_object_get(config, "config"), "Entrypoint");
	for (size_t i = 0; i < json_array_size(words); i++)
		if (strv_add(&image->entrypoint, json_string_value(json_array_get(words, i)) ?: "") < 0)
			return no_memory(err);
	return 0;
}

/* ---- files ---- */

static int make_directories(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

/* In a directory beside its place, then renamed: nobody sees half of it, and of two who unpack the second one throws its own away. */
static int unpack(const struct image *image, struct error *err)
{
	_cleanup_free_ char *from = NULL, *temporary = NULL, *images = NULL;
	char scratch[PATH_MAX];
	int r;

	if (asprintf(&from, "%s:%s", image->layout, image->tag) < 0)
		from = NULL;
	images = strndup(image->bundle, (size_t)(strrchr(image->bundle, '/') - image->bundle));
	if (!from || !images)
		return no_memory(err);
	r = scratch_make_in(images, scratch, sizeof(scratch), "unpack", err);
	if (r < 0)
		return r;
	if (asprintf(&temporary, "%s/bundle", scratch) < 0) {
		temporary = NULL;
		scratch_remove(scratch);
		return no_memory(err);
	}
	r = run_program((char *[]){ (char[]){ "umoci" }, (char[]){ "unpack" }, (char[]){ "--image" }, from, temporary,
				    image->rootless ? (char[]){ "--rootless" } : NULL, NULL },
			err);
	if (r == 0 && rename(temporary, image->bundle) < 0 && errno != EEXIST && errno != ENOTEMPTY)
		r = error_errno(err, errno, "%s", image->bundle);
	scratch_remove(scratch);
	return r;
}

static int find_bundle(struct image *image, struct error *err)
{
	_cleanup_free_ char *cache = cache_directory();
	int r;

	if (!cache)
		return error_set(err, ENOENT, "there is no directory for the cache of images: HOME is not set");
	if (asprintf(&image->bundle, "%s/images/%s%s", cache, image->digest + strlen("sha256:"), image->rootless ? "-root" : "") < 0) {
		image->bundle = NULL;
		return no_memory(err);
	}
	if (has_file(image->bundle, "config.json"))
		return 0;
	r = make_directories(image->bundle);
	return r < 0 ? error_errno(err, -r, "%s", image->bundle) : unpack(image, err);
}

int image_open(const char *name, struct image *image, struct error *err)
{
	enum container_users users;
	int r;

	*image = (struct image){ 0 };
	r = container_enter_userns_of_many(&users, err);
	image->nested = users != CONTAINER_USERS_ALL;
	image->rootless = users == CONTAINER_USERS_ONE;
	if (r == 0)
		r = find_layout(image, name, err);
	if (r == 0)
		r = choose_manifest(image, err);
	if (r == 0)
		r = take_entrypoint(image, err);
	return r == 0 ? find_bundle(image, err) : r;
}

/* A tmpfs over the bundle's own directory "layer" holds what the run writes. */
static int make_layer(struct image *image, char *layer, struct error *err)
{
	static const char *const names[] = { "upper", "work", "root" };
	_cleanup_free_ char *options = NULL;
	char path[4096];

	if (mkdir(layer, 0700) < 0 && errno != EEXIST)
		return error_errno(err, errno, "%s", layer);
	if (mount("hermit", layer, "tmpfs", MS_NODEV, "mode=700") < 0)
		return error_errno(err, errno, "tmpfs on %s", layer);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", layer, names[i]);
		if (mkdir(path, 0755) < 0)
			return error_errno(err, errno, "%s", path);
	}
	image->root = strdup(path);
	if (!image->root || asprintf(&options, "lowerdir=%s/rootfs,upperdir=%s/upper,workdir=%s/work,xino=on%s", image->bundle, layer, layer,
				     image->nested ? ",userxattr" : "") < 0)
		return no_memory(err);
	return mount("hermit", image->root, "overlay", 0, options) < 0 ? error_errno(err, errno, "overlay on %s", image->root) : 0;
}

int image_mount(struct image *image, struct error *err)
{
	_cleanup_free_ char *layer = NULL;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return error_errno(err, errno, "a mount namespace for the image");
	if (asprintf(&layer, "%s/layer", image->bundle) < 0) {
		layer = NULL;
		return no_memory(err);
	}
	return make_layer(image, layer, err);
}

void image_close(struct image *image)
{
	if (image->scratch)
		scratch_remove(image->scratch);
	strv_clear(&image->entrypoint);
	free(image->digest);
	free(image->bundle);
	free(image->root);
	free(image->layout);
	free(image->scratch);
	free(image->tag);
	*image = (struct image){ 0 };
}
