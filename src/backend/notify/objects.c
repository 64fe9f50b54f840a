/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of procfs, sysfs and cgroupfs: what an open one is called, and what it says. The mounts of the guest's mount namespace are noted at
 * the start: guests make none. The kernel shows us a name from the root of the mount namespace on, or from our own root where the guest shares our
 * namespace: the guest's names begin at the guest's root, which lies below that where somebody has entered it by chroot(2).
 */
#include "backend/notify/notify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backend/notify/vdso_code.h"
#include "base/cleanup.h"

enum { PATH_SIZE = 4096, TEXT_FIRST = 16384, TEXT_MOST = 16 << 20 };

/* ---- identities ---- */

static void note_namespaces(struct notify *n, pid_t tid)
{
	static const char *const names[GUEST_NAMESPACES] = { "cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts" };
	struct guest_identities *known = &n->guest.identities;
	char path[64];
	struct stat st;
	int count = 0;

	for (int i = 0; i < GUEST_NAMESPACES; i++) {
		(void)snprintf(path, sizeof(path), "%d/ns/%s", (int)tid, names[i]);
		if (fstatat(n->proc_fd, path, &st, 0) < 0)
			continue; /* a kernel without it */
		known->namespaces[count].name = names[i];
		known->namespaces[count++].ino = st.st_ino;
		known->namespace_dev = st.st_dev;
	}
}

static void note_devices(struct notify *n)
{
	_cleanup_close_ int reader = -1, writer = -1, sock = -1;
	struct stat st;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) == 0) {
		reader = ends[0];
		writer = ends[1];
		if (fstat(reader, &st) == 0)
			n->guest.identities.pipe_dev = st.st_dev;
	}
	sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock >= 0 && fstat(sock, &st) == 0)
		n->guest.identities.socket_dev = st.st_dev;
}

/* ---- mounts ---- */

static void free_mount(struct object_mount *m)
{
	free(m->line);
	free(m->point);
}

static void free_mounts(struct notify *n)
{
	for (size_t i = 0; i < n->n_mounts; i++)
		free_mount(&n->mounts[i]);
	free(n->mounts);
	n->mounts = NULL;
	n->n_mounts = 0;
	n->mounts_compared = false;
}

void objects_deinit(struct notify *n)
{
	free_mounts(n);
	free(n->root_prefix);
	n->root_prefix = NULL;
}

/* Spaces and the like are written as three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] && text[3]) {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* "id parent major:minor root point options [...] - type source options"; takes the line over. */
static bool parse_mount(char *line, struct object_mount *ret)
{
	char *words[6], *rest = line, *dash = strstr(line, " - ");

	if (!dash)
		return false;
	*dash = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		words[i] = strsep(&rest, " ");
		if (!words[i])
			return false;
	}
	*ret = (struct object_mount){ .line = line, .id = atoi(words[0]), .root = words[3], .point = words[4], .type = dash + 3 };
	ret->type[strcspn(ret->type, " ")] = '\0';
	if (sscanf(words[2], "%u:%u", &ret->major, &ret->minor) != 2)
		return false;
	unescape(words[3]);
	unescape(words[4]);
	return true;
}

/* What stands before a task's own names in those that we see: "" for the root of a mount namespace of its own. */
static int root_prefix(const struct notify *n, pid_t tid, char *buf, size_t size)
{
	char link[64];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "%d/root", (int)tid);
	len = readlinkat(n->proc_fd, link, buf, size - 1);
	if (len < 0)
		return -errno;
	buf[len] = '\0';
	if (!strcmp(buf, "/"))
		buf[0] = '\0';
	return 0;
}

const char *objects_inside(const struct notify *n, const char *name)
{
	size_t len = n->root_prefix ? strlen(n->root_prefix) : 0;

	if (len == 0 || strncmp(name, n->root_prefix, len) != 0 || (name[len] && name[len] != '/'))
		return name;
	return name[len] ? name + len : "/";
}

static int add_mount(struct notify *n, const char *prefix, const char *text)
{
	struct object_mount *grown, mount;
	char *line;

	line = strdup(text);
	if (!line)
		return -ENOMEM;
	if (!parse_mount(line, &mount)) {
		free(line);
		return 0;
	}
	if (asprintf(&mount.point, "%s%s", prefix, *prefix && !strcmp(mount.point, "/") ? "" : mount.point) < 0) {
		free(line);
		return -ENOMEM;
	}
	grown = realloc(n->mounts, (n->n_mounts + 1) * sizeof(*grown));
	if (!grown) {
		free_mount(&mount);
		return -ENOMEM;
	}
	n->mounts = grown;
	n->mounts[n->n_mounts++] = mount;
	return 0;
}

static int read_mounts(struct notify *n, pid_t tid)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *line = NULL;
	char prefix[PATH_SIZE];
	const char *inside;
	size_t size = 0;
	FILE *file;
	int r = root_prefix(n, tid, prefix, sizeof(prefix));

	if (r < 0)
		return r;
	fd = procfs_open(n, tid, "mountinfo", O_RDONLY);
	if (fd < 0)
		return fd;
	file = fdopen(fd, "r");
	if (!file)
		return -errno;
	fd = -1;
	free_mounts(n);
	inside = objects_inside(n, prefix);
	while (r == 0 && getline(&line, &size, file) > 0)
		r = add_mount(n, strcmp(inside, "/") != 0 ? inside : "", line);
	(void)fclose(file);
	return r;
}

static const struct object_mount *find_mount(const struct notify *n, int id)
{
	for (size_t i = 0; i < n->n_mounts; i++)
		if (n->mounts[i].id == id)
			return &n->mounts[i];
	return NULL;
}

int objects_init(struct notify *n, pid_t tid)
{
	char prefix[PATH_SIZE];
	int r;

	note_namespaces(n, tid);
	note_devices(n);
	n->guest.clock_page_address = n->guest.clock_page ? CLOCK_PAGE_ADDRESS : 0;
	r = root_prefix(n, tid, prefix, sizeof(prefix));
	if (r < 0)
		return r;
	n->root_prefix = strdup(prefix);
	if (!n->root_prefix)
		return -ENOMEM;
	r = read_mounts(n, tid);
	for (size_t i = 0; i < n->n_mounts; i++)
		if (strcmp(n->mounts[i].type, "proc") == 0)
			n->guest.identities.proc_dev = makedev(n->mounts[i].major, n->mounts[i].minor);
	return r;
}

/* ---- names ---- */

static const struct {
	const char *type, *name;
} usual_places[] = {
	{ "proc", "/proc" },
	{ "sysfs", "/sys" },
	{ "cgroup2", "/sys/fs/cgroup" },
	{ "cgroup", "/sys/fs/cgroup/v1" },
	{ "debugfs", "/sys/kernel/debug" },
};

static const char *usual_place(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(usual_places); i++)
		if (!strcmp(type, usual_places[i].type))
			return usual_places[i].name;
	return NULL;
}

static int mount_of(const struct notify *n, int fd)
{
	char name[64], text[1024];
	const char *id;
	int r;

	(void)snprintf(name, sizeof(name), "fdinfo/%d", fd);
	r = procfs_read(n, n->self, name, text, sizeof(text));
	if (r < 0)
		return r;
	id = procfs_field(text, "mnt_id");
	return id ? atoi(id) : -ENOTSUP;
}

/* By file systems and not by mounts: a name is nothing to them. That of a container's own is in no namespace but its. */
static void compare_mounts(struct notify *n)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	unsigned major, minor;
	size_t size = 0;

	if (procfs_stream(n, n->self, "mountinfo", &file) < 0)
		return;
	n->mounts_compared = true;
	while (getline(&line, &size, file) >= 0) {
		if (sscanf(line, "%*d %*d %u:%u", &major, &minor) != 2)
			continue;
		for (size_t i = 0; i < n->n_mounts; i++)
			n->mounts[i].shared |= n->mounts[i].major == major && n->mounts[i].minor == minor;
	}
}

bool objects_shared(struct notify *n, int fd)
{
	const struct object_mount *mount;
	int id = mount_of(n, fd);

	if (!n->mounts_compared)
		compare_mounts(n);
	mount = id < 0 ? NULL : find_mount(n, id);
	return mount && mount->shared;
}

int objects_link(const struct notify *n, int fd, char *buf, size_t size)
{
	const char *inside;
	char link[64];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "self/fd/%d", fd);
	len = readlinkat(n->proc_fd, link, buf, size - 1);
	if (len < 0)
		return -errno;
	buf[len] = '\0';
	inside = objects_inside(n, buf);
	memmove(buf, inside, strlen(inside) + 1);
	return 0;
}

/* The name in the guest's mount namespace, without the mark of removed entries. */
static int full_name(const struct notify *n, int fd, char *buf, size_t size)
{
	static const char deleted[] = " (deleted)";
	int r = objects_link(n, fd, buf, size);
	size_t len;

	if (r < 0)
		return r;
	len = strlen(buf);
	if (len > sizeof(deleted) - 1 && !strcmp(buf + len - (sizeof(deleted) - 1), deleted))
		buf[len - (sizeof(deleted) - 1)] = '\0';
	return 0;
}

/* ---- network devices: what is open keeps the name that it was opened by, when the device is called otherwise by now ---- */

static const char NET_DEVICES[] = "/sys/devices/virtual/net/";

static bool is_file(int directory, const char *name, const struct stat *file)
{
	struct stat st;

	return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

/* The device that has the file as its `below` ("/mtu"); "" when there is none any more. Node numbers of sysfs are not used twice. */
static void find_device(int directory, const char *below, const struct stat *file, char ret_name[NAME_MAX + 1])
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *devices = fd < 0 ? NULL : fdopendir(fd);
	char path[NAME_MAX + 1 + PATH_SIZE];
	const struct dirent *entry;

	ret_name[0] = '\0';
	if (!devices) {
		cleanup_close(&fd);
		return;
	}
	while (!ret_name[0] && (entry = readdir(devices))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s%s", entry->d_name, below);
		if (is_file(directory, path, file))
			(void)snprintf(ret_name, NAME_MAX + 1, "%s", entry->d_name);
	}
	(void)closedir(devices);
}

/* buf: the usual name, path: the one in the task's mount namespace. A device that is gone has no name: ".../net//mtu". */
static int follow_device(const struct notify *n, pid_t tid, int fd, const char *path, char *buf, size_t size)
{
	const size_t before = sizeof(NET_DEVICES) - 1;
	char there[PATH_SIZE + 32], name[NAME_MAX + 1], below[PATH_SIZE];
	_cleanup_close_ int directory = -1;
	struct stat st;
	size_t tail;
	int r;

	if (!tid || strncmp(buf, NET_DEVICES, before) != 0 || !buf[before] || fstat(fd, &st) < 0)
		return 0;
	tail = strlen(buf + before);
	if (strlen(path) <= tail)
		return 0;
	(void)snprintf(there, sizeof(there), "%d/root%.*s", (int)tid, (int)(strlen(path) - tail), path);
	directory = openat(n->proc_fd, there, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0 || is_file(directory, buf + before, &st))
		return 0;
	(void)snprintf(below, sizeof(below), "%s", buf + before + strcspn(buf + before, "/"));
	find_device(directory, below, &st, name);
	r = snprintf(buf, size, "%s%s%s", NET_DEVICES, name, below);
	return r < (int)size ? 0 : -ENAMETOOLONG;
}

int objects_name(struct notify *n, pid_t tid, int fd, char *buf, size_t size)
{
	const struct object_mount *mount;
	const char *place, *below;
	char path[PATH_SIZE];
	size_t len;
	int id, r;

	id = mount_of(n, fd);
	if (id < 0)
		return id;
	mount = find_mount(n, id);
	if (!mount && tid) {
		r = read_mounts(n, tid);
		if (r < 0)
			return r;
		mount = find_mount(n, id);
	}
	place = mount ? usual_place(mount->type) : NULL;
	if (!place)
		return -ENOTSUP;
	r = full_name(n, fd, path, sizeof(path));
	if (r < 0)
		return r;
	len = strcmp(mount->point, "/") != 0 ? strlen(mount->point) : 0;
	below = strncmp(path, mount->point, len) == 0 ? path + len : "";
	r = snprintf(buf, size, "%s%s%s", place, strcmp(mount->root, "/") != 0 ? mount->root : "", below);
	if (r >= (int)size)
		return -ENAMETOOLONG;
	return strcmp(mount->type, "sysfs") == 0 ? follow_device(n, tid, fd, path, buf, size) : 0;
}

int notify_handle_object(struct guest *g, int task, int handle, char *buf, size_t size)
{
	const struct notify_task *t = notify_find(g, task);

	return t ? objects_name(notify_of(g), t->tid, handle, buf, size) : -ESRCH;
}

uint64_t objects_key(const char *name)
{
	const uint64_t BASIS = 0xcbf29ce484222325, PRIME = 0x100000001b3;
	uint64_t hash = BASIS;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * PRIME;
	return hash | 1ull << 63; /* apart from real numbers */
}

/* ---- contents ---- */

/* The kernel writes the names of mapped files as the reader sees them. In place; they come after a blank, or "file=". */
static void strip_root(const struct notify *n, int handle, char *text, size_t *size)
{
	const size_t len = n->root_prefix ? strlen(n->root_prefix) : 0;
	char name[PATH_SIZE], *from = text, *to = text, *end = text + *size;
	const char *last;

	if (len == 0 || objects_link(n, handle, name, sizeof(name)) < 0)
		return;
	last = strrchr(name, '/');
	if (!last || (strcmp(last, "/maps") != 0 && strcmp(last, "/smaps") != 0 && strcmp(last, "/numa_maps") != 0))
		return;
	while (from < end) {
		if (from > text && (from[-1] == ' ' || from[-1] == '=') && (size_t)(end - from) > len && !memcmp(from, n->root_prefix, len) &&
		    from[len] == '/')
			from += len;
		*to++ = *from++;
	}
	*to = '\0';
	*size = (size_t)(to - text);
}

/* Through the guest's own open file: what it says may depend on who opened it. */
int notify_handle_read_all(struct guest *g, int handle, char **ret_text, size_t *ret_size)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0, room = 0;
	ssize_t n;

	for (;;) {
		if (size == room) {
			char *grown;

			room = room ? room * 4 : TEXT_FIRST;
			if (room > TEXT_MOST)
				return -EFBIG;
			grown = realloc(text, room + 1);
			if (!grown)
				return -ENOMEM;
			text = grown;
		}
		n = pread(handle, text + size, room - size, (off_t)size);
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
	}
	text[size] = '\0';
	strip_root(notify_of(g), handle, text, &size);
	*ret_text = take_ptr(text);
	*ret_size = size;
	return 0;
}
