/* SPDX-License-Identifier: BSD-3-Clause */
/* See readiness.h. */
#include "supervisor/oci/readiness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "supervisor/oci/lifecycle_internal.h"

#define DIRECTORY "notify"
#define SOCKET "notify"
#define MANAGER_FILE "notify-socket" /* the text of NOTIFY_SOCKET: `start` is called without it */

/* Where a container finds it when the manager's has no path (systemd's may be abstract). */
#define WITHOUT_PATH "/run/notify"

enum { NAME_LIMIT = 4096, MESSAGE_SIZE = 4096, MESSAGES_AT_ONCE = 1024 };

/* ---- at create ---- */

static int add_mount(const struct state_dir *dir, const char *target, struct container_spec *spec, struct oci_arena *arena,
		     struct error *err)
{
	_cleanup_free_ char *root = realpath(dir->path, NULL), *source = NULL;
	struct container_mount *mounts = oci_arena_array(arena, spec->n_mounts + 1, sizeof(*mounts));

	if (!mounts || !root || asprintf(&source, "%s/" DIRECTORY, root) < 0)
		return error_set(err, ENOMEM, "out of memory");
	if (spec->n_mounts > 0)
		memcpy(mounts, spec->mounts, spec->n_mounts * sizeof(*mounts));
	mounts[spec->n_mounts] = (struct container_mount){
		.type = "bind",
		.source = oci_arena_strdup(arena, source),
		.target = target,
		.flags = MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, /* it can be told something all the same */
	};
	if (!mounts[spec->n_mounts].source)
		return error_set(err, ENOMEM, "out of memory");
	spec->mounts = mounts;
	spec->n_mounts++;
	return 0;
}

int readiness_prepare(const struct state_dir *dir, struct container_spec *spec, struct oci_arena *arena, struct error *err)
{
	const char *manager = getenv("NOTIFY_SOCKET");
	const char *target = manager && manager[0] == '/' ? manager : WITHOUT_PATH;
	_cleanup_free_ char *variable = NULL;
	int r;

	if (!manager || !*manager)
		return 0;
	if (mkdirat(dir->fd, DIRECTORY, 0755) < 0 || fchmodat(dir->fd, DIRECTORY, 0755, 0) < 0)
		return error_errno(err, errno, "%s/" DIRECTORY, dir->path);
	if (asprintf(&variable, "NOTIFY_SOCKET=%s/" SOCKET, target) < 0)
		return error_set(err, ENOMEM, "out of memory");
	r = state_dir_save(dir, MANAGER_FILE, manager, strlen(manager), err);
	if (r == 0)
		r = add_mount(dir, target, spec, arena, err);
	return r < 0 ? r : add_variable(spec, variable, arena, err);
}

/* ---- from the start on ---- */

/* Any user of the container may say so; the directory is nobody's to write to. */
static int listen_there(const struct state_dir *dir, struct error *err)
{
	_cleanup_close_ int fd = -1, directory = openat(dir->fd, DIRECTORY, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	fd = directory < 0 ? -1 : socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_errno(err, errno, "socket for NOTIFY_SOCKET");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" SOCKET, directory);
	(void)unlinkat(directory, SOCKET, 0); /* of a `start` that was killed */
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || fchmodat(directory, SOCKET, 0666, 0) < 0)
		return error_errno(err, errno, "socket for NOTIFY_SOCKET");
	return take_fd(&fd);
}

int readiness_open(const struct state_dir *dir, struct readiness *ret, struct error *err)
{
	int r = fd_read_file(dir->fd, MANAGER_FILE, NAME_LIMIT, &ret->manager, NULL);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_errno(err, -r, "%s/" MANAGER_FILE, dir->path);
	ret->fd = listen_there(dir, err);
	return ret->fd < 0 ? ret->fd : 0;
}

/* A manager that does not listen is not the container's problem. */
static void tell(const char *manager, const char *text)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(manager);

	if (fd < 0 || len >= sizeof(address.sun_path)) {
		log_warning("NOTIFY_SOCKET: %s cannot be reached", manager);
		return;
	}
	memcpy(address.sun_path, manager, len);
	if (manager[0] == '@')
		address.sun_path[0] = '\0';
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		log_warning("NOTIFY_SOCKET: %s: %s", manager, strerrordesc_np(errno));
}

static bool says_ready(char *text)
{
	for (char *line; (line = strsep(&text, "\n"));)
		if (!strcmp(line, "READY=1"))
			return true;
	return false;
}

bool readiness_pass_on(const struct readiness *to, pid_t main)
{
	char text[MESSAGE_SIZE + 1];
	ssize_t len;

	/* no more at a time than can be queued: who never stops holds nobody up */
	for (int n = 0; n < MESSAGES_AT_ONCE; n++) {
		len = recv(to->fd, text, MESSAGE_SIZE, 0);
		if (len < 0)
			return false;
		text[len] = '\0';
		if (!says_ready(text))
			continue;
		(void)snprintf(text, sizeof(text), main ? "READY=1\nMAINPID=%d" : "READY=1", (int)main);
		tell(to->manager, text);
		return true;
	}
	return false;
}

void readiness_wait(const struct readiness *to, pid_t init)
{
	_cleanup_close_ int pidfd = pidfd_open(init, 0);
	struct pollfd polls[] = { { .fd = to->fd, .events = POLLIN }, { .fd = pidfd, .events = POLLIN } };

	if (to->fd >= 0 && pidfd < 0)
		(void)readiness_pass_on(to, init); /* it is gone already */
	while (to->fd >= 0 && pidfd >= 0) {
		if (poll(polls, ARRAY_SIZE(polls), -1) < 0)
			continue;
		/* what it has said before it ended counts */
		if (polls[0].revents ? readiness_pass_on(to, init) : polls[1].revents != 0)
			return;
	}
}

void readiness_close(struct readiness *to)
{
	cleanup_close(&to->fd);
	free(to->manager);
	*to = (struct readiness)READINESS_NONE;
}
