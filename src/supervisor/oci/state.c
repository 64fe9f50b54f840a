/* SPDX-License-Identifier: BSD-3-Clause */
/* State directories: see state.h. */
#include "supervisor/oci/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/process.h"

enum { STATE_LIMIT = 1 << 20, MAX_ID = 1024 };

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

int state_check_id(const char *id, struct error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+.-";
	size_t len = strlen(id);

	if (len == 0 || len > MAX_ID || strspn(id, allowed) != len || !strcmp(id, ".") || !strcmp(id, ".."))
		return error_set(err, EINVAL, "invalid container ID format: '%s'", id);
	return 0;
}

static int set_names(struct state_dir *dir, const char *root, const char *id, struct error *err)
{
	int r = state_check_id(id, err);

	if (r < 0)
		return r;
	dir->id = strdup(id);
	if (!dir->id || asprintf(&dir->path, "%s/%s", root, id) < 0) {
		dir->path = NULL;
		return error_errno(err, ENOMEM, "container %s", id);
	}
	return 0;
}

/* ---- the lock: of the process, not of the open file, so that children do not inherit it, and that it tells who holds it ---- */

enum { LOOK_MS = 5, STOPPED_MS = 3000, HELD_MS = 10000 };

/* 0: nobody, or nobody whose number can be seen from here. */
static pid_t holder_of(int lock_fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(lock_fd, F_GETLK, &whole) < 0 || whole.l_type == F_UNLCK || whole.l_pid < 0 ? 0 : whole.l_pid;
}

static bool is_held(int lock_fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(lock_fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

/* Asked again when there is a descriptor of the process: it is the one that holds the lock, and no later one with its number. */
static void kill_holder(int lock_fd)
{
	pid_t holder = holder_of(lock_fd);
	_cleanup_close_ int fd = holder > 0 ? pidfd_open(holder, 0) : -1;

	if (fd >= 0 && holder_of(lock_fd) == holder)
		process_kill_family(holder, fd);
}

#define IN_HOOKS_FILE "in-hooks"

static bool is_in_hooks(const struct state_dir *dir)
{
	return faccessat(dir->fd, IN_HOOKS_FILE, F_OK, 0) == 0;
}

/* Somebody has the lock, since `since_ms`. -EBUSY: it is not worth while to wait for him. */
static int consider_holder(const struct state_dir *dir, bool force, int64_t *last_moved_ms, int64_t since_ms, struct error *err)
{
	int64_t now = host_clock_ms();
	pid_t holder = holder_of(dir->lock_fd);
	bool stopped = holder > 0 && process_is_stopped(holder);

	if (!stopped)
		*last_moved_ms = now;
	if (force && (stopped || is_in_hooks(dir) || now - since_ms > HELD_MS))
		kill_holder(dir->lock_fd);
	if (force && now - since_ms > 2 * HELD_MS)
		return error_set(err, EBUSY, "container %s: process %d works on it, and cannot be ended", dir->id, (int)holder);
	if (now - *last_moved_ms > STOPPED_MS)
		return error_set(err, EBUSY, "container %s: process %d, which works on it, is stopped: continue it (kill -CONT %d), or delete --force",
				 dir->id, (int)holder, (int)holder);
	return 0;
}

static int await_lock(const struct state_dir *dir, bool force, struct error *err)
{
	const struct timespec moment = { .tv_nsec = LOOK_MS * 1000000 };
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int64_t since = host_clock_ms(), last_moved = since;
	int r;

	while (fcntl(dir->lock_fd, F_SETLK, &whole) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN && errno != EACCES)
			return error_errno(err, errno, "%s/lock", dir->path);
		r = consider_holder(dir, force, &last_moved, since, err);
		if (r < 0)
			return r;
		(void)nanosleep(&moment, NULL);
	}
	return 0;
}

static int lock(struct state_dir *dir, bool force, struct error *err)
{
	dir->lock_fd = openat(dir->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (dir->lock_fd < 0)
		return errno == ENOENT ? -ENOENT : error_errno(err, errno, "%s/lock", dir->path);
	return await_lock(dir, force, err);
}

bool state_dir_is_held(const struct state_dir *dir)
{
	_cleanup_close_ int fd = openat(dir->fd, "lock", O_RDWR | O_CLOEXEC);

	return fd >= 0 && is_held(fd);
}

void state_dir_unlock(struct state_dir *dir)
{
	cleanup_close(&dir->lock_fd);
	dir->lock_fd = -1;
}

/* Whoever had the lock before may have removed the directory, and another may have been made. */
static bool is_current(const struct state_dir *dir)
{
	struct stat ours, now;

	return fstat(dir->fd, &ours) == 0 && stat(dir->path, &now) == 0 && ours.st_ino == now.st_ino &&
	       ours.st_dev == now.st_dev;
}

static int open_directory(struct state_dir *dir)
{
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir->fd < 0 ? -errno : 0;
}

int state_dir_create(struct state_dir *dir, const char *root, const char *id, struct error *err)
{
	int r;

	r = set_names(dir, root, id, err);
	if (r < 0)
		return r;
	r = state_make_root(root, err);
	if (r < 0)
		return r;
	if (mkdir(dir->path, 0700) < 0)
		return errno == EEXIST ? error_set(err, EEXIST, "container with given ID already exists: '%s'", id)
				       : error_errno(err, errno, "cannot make the directory %s", dir->path);
	r = open_directory(dir);
	if (r == 0)
		r = lock(dir, false, err);
	if (r == 0 && !is_current(dir))
		r = -ENOENT; /* somebody who deletes by force was quicker */
	return r < 0 && (!err || !err->code) ? error_errno(err, -r, "%s", dir->path) : r;
}

int state_no_such_container(const char *id, struct error *err)
{
	return error_set(err, ENOENT, STATE_NO_SUCH_CONTAINER, id);
}

int state_dir_look(struct state_dir *dir, const char *root, const char *id, struct error *err)
{
	int r;

	r = set_names(dir, root, id, err);
	if (r == 0)
		r = state_check_root(root, err);
	if (r < 0)
		return r;
	r = open_directory(dir);
	if (r == -ENOENT)
		return state_no_such_container(id, err);
	return r < 0 ? error_errno(err, -r, "%s", dir->path) : 0;
}

static int open_locked(struct state_dir *dir, const char *root, const char *id, bool force, struct error *err)
{
	int r;

	r = state_dir_look(dir, root, id, err);
	if (r == 0)
		r = lock(dir, force, err);
	if (r == -ENOENT || (r == 0 && !is_current(dir)))
		return state_no_such_container(id, err);
	return r;
}

int state_dir_open(struct state_dir *dir, const char *root, const char *id, struct error *err)
{
	return open_locked(dir, root, id, false, err);
}

int state_dir_seize(struct state_dir *dir, const char *root, const char *id, struct error *err)
{
	return open_locked(dir, root, id, true, err);
}

void state_dir_close(struct state_dir *dir)
{
	state_dir_unlock(dir);
	cleanup_close(&dir->fd);
	dir->fd = -1;
	free(take_ptr(dir->id));
	free(take_ptr(dir->path));
}

int state_dir_save(const struct state_dir *dir, const char *name, const char *text, size_t len, struct error *err)
{
	_cleanup_free_ char *temporary = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (asprintf(&temporary, ".%s.new", name) < 0) {
		temporary = NULL;
		return error_errno(err, ENOMEM, "%s", name);
	}
	fd = openat(dir->fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	r = fd < 0 ? -errno : fd_write_full(fd, text, len);
	if (r == 0 && renameat(dir->fd, temporary, dir->fd, name) < 0)
		r = -errno;
	return r < 0 ? error_errno(err, -r, "cannot write %s/%s", dir->path, name) : 0;
}

int state_dir_write(const struct state_dir *dir, const struct oci_runtime_state *state, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	int r;

	r = oci_runtime_state_format(state, &text);
	if (r < 0)
		return error_errno(err, -r, "cannot write down the state of container %s", dir->id);
	return state_dir_save(dir, "state.json", text, strlen(text), err);
}

#define STARTED_FILE "started"
#define UNMOUNTED_FILE "unmounted"
#define ENDED_FILE "ended"
#define DELETING_FILE "deleting"

static void mark(int dir_fd, const char *name)
{
	_cleanup_close_ int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)fd;
}

void state_mark_started(int dir_fd)
{
	mark(dir_fd, STARTED_FILE);
}

void state_mark_unmounted(int dir_fd)
{
	mark(dir_fd, UNMOUNTED_FILE);
}

bool state_dir_is_unmounted(const struct state_dir *dir)
{
	return faccessat(dir->fd, UNMOUNTED_FILE, F_OK, 0) == 0;
}

void state_mark_deleting(int dir_fd)
{
	mark(dir_fd, DELETING_FILE);
}

bool state_dir_is_deleting(const struct state_dir *dir)
{
	return faccessat(dir->fd, DELETING_FILE, F_OK, 0) == 0;
}

void state_mark_ended(int dir_fd)
{
	mark(dir_fd, ENDED_FILE);
}

bool state_dir_is_ended(const struct state_dir *dir)
{
	return faccessat(dir->fd, ENDED_FILE, F_OK, 0) == 0;
}

bool state_dir_is_started(const struct state_dir *dir)
{
	return faccessat(dir->fd, STARTED_FILE, F_OK, 0) == 0;
}

void state_mark_in_hooks(int dir_fd, bool in_hooks)
{
	if (in_hooks)
		mark(dir_fd, IN_HOOKS_FILE);
	else
		(void)unlinkat(dir_fd, IN_HOOKS_FILE, 0);
}

int state_dir_read(const struct state_dir *dir, struct oci_runtime_state *state, struct error *err)
{
	_cleanup_free_ char *text = NULL, *name = NULL;
	size_t len;
	int r;

	r = fd_read_file(dir->fd, "state.json", STATE_LIMIT, &text, &len);
	if (r == -ENOENT)
		return r;
	if (r < 0)
		return error_errno(err, -r, "%s/state.json", dir->path);
	if (asprintf(&name, "%s/state.json", dir->path) < 0) {
		name = NULL;
		return error_errno(err, ENOMEM, "%s", dir->path);
	}
	r = oci_runtime_state_parse(text, len, name, state, err);
	if (r == 0 && state->status == OCI_CREATED && state_dir_is_started(dir))
		state->status = OCI_RUNNING;
	return r;
}

/* Everything in a directory; what cannot be removed shows when the directory is to go. */
static int remove_entries(int fd)
{
	_cleanup_(cleanup_dir) DIR *list = NULL;
	struct dirent *entry;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	list = copy < 0 ? NULL : fdopendir(copy);
	if (!list)
		return -errno;
	rewinddir(list);
	while ((entry = readdir(list))) {
		_cleanup_close_ int below = -1;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || unlinkat(fd, entry->d_name, 0) == 0 || errno != EISDIR)
			continue;
		below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0 && remove_entries(below) == 0)
			(void)unlinkat(fd, entry->d_name, AT_REMOVEDIR);
	}
	return 0;
}

bool state_dir_is_removed(const struct state_dir *dir)
{
	return faccessat(dir->fd, "state.json", F_OK, 0) < 0 || !is_current(dir);
}

int state_dir_remove(struct state_dir *dir, struct error *err)
{
	int r;

	(void)unlinkat(dir->fd, "state.json", 0); /* first: what the other files say is true while it is there */
	r = remove_entries(dir->fd);
	if (r < 0)
		return error_errno(err, -r, "cannot read the directory %s", dir->path);
	if (rmdir(dir->path) < 0 && errno != ENOENT)
		return error_errno(err, errno, "cannot remove the directory %s", dir->path);
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int state_list(const char *root, struct strv *ids, struct error *err)
{
	_cleanup_(cleanup_dir) DIR *list = NULL;
	struct dirent *entry;
	int r = state_check_root(root, err);

	if (r < 0)
		return r;
	list = opendir(root);
	if (!list)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", root);
	while ((entry = readdir(list)))
		if (state_check_id(entry->d_name, NULL) == 0 && entry->d_type == DT_DIR && strv_add(ids, entry->d_name) < 0)
			return error_errno(err, ENOMEM, "%s", root);
	if (ids->count > 1)
		qsort(ids->items, ids->count, sizeof(*ids->items), compare_names);
	return 0;
}

/* ---- processes ---- */

/* State letter and start time, fields 3 and 22 of /proc/PID/stat; the name before them may hold anything. */
static int read_stat(int pid, char *ret_state, uint64_t *ret_start)
{
	_cleanup_free_ char *text = NULL;
	char path[32], *p;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	r = fd_read_file(AT_FDCWD, path, 4096, &text, NULL);
	if (r < 0)
		return r;
	p = strrchr(text, ')');
	if (!p || p[1] != ' ' || !p[2])
		return -EPROTO;
	*ret_state = p[2];
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return -EPROTO;
	*ret_start = strtoull(p + 1, NULL, 10);
	return 0;
}

struct oci_process_ref process_ref(int pid)
{
	struct oci_process_ref ref = { .pid = pid };
	char state;

	if (pid <= 0 || read_stat(pid, &state, &ref.start) < 0)
		return (struct oci_process_ref){ 0 };
	return ref;
}

bool process_ref_lives(const struct oci_process_ref *ref)
{
	uint64_t start;
	char state;

	return ref->pid > 0 && read_stat(ref->pid, &state, &start) == 0 && start == ref->start && state != 'Z' && state != 'X';
}

bool process_is_stopped(int pid)
{
	uint64_t start;
	char state;

	return read_stat(pid, &state, &start) == 0 && state == 'T';
}

int process_ref_open(const struct oci_process_ref *ref)
{
	_cleanup_close_ int fd = -1;

	if (ref->pid <= 0)
		return -ESRCH;
	fd = pidfd_open(ref->pid, 0);
	if (fd < 0)
		return -errno;
	/* looked at after the pidfd was made: it is of the right one then */
	return process_ref_lives(ref) ? take_fd(&fd) : -ESRCH;
}

enum oci_status state_status(const struct oci_runtime_state *state)
{
	if (state->init.pid == 0)
		return state->status;
	return process_ref_lives(&state->init) ? state->status : OCI_STOPPED;
}

struct oci_state state_for_others(const struct oci_runtime_state *state, enum oci_status status)
{
	return (struct oci_state){
		.oci_version = state->oci_version,
		.id = state->id,
		.bundle = state->bundle,
		.status = status,
		.pid = status == OCI_STOPPED ? 0 : state->init.pid,
		.annotations = state->annotations,
		.rootfs = state->rootfs,
		.created = state->created,
		.owner = state->owner,
	};
}
