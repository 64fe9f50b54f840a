/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A filter of ours in place of the runtime's.
 *
 * Stock runtimes install filters without SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV: any signal takes a parked task out of its call, whatever
 * was decided about it. A filter cannot be changed, but its listener can be closed; then one more filter may bring a listener
 * (has_duplicate_listener() in the kernel's seccomp.c looks for open ones), and of two filters that notify a call the younger one is asked.
 * So a thread of the runtime's, on its way to execute the program, is made to install ours.
 *
 * That needs CAP_SYS_ADMIN or no_new_privs, which the thread has: it has just installed a filter itself. It gives the one up with one of the calls
 * in gives_rights_up(), so it happens at the latest there. And it needs every duplicate of the old listener closed: the runtime's process
 * outside sends its own away and closes it, some time while the thread goes on.
 */
#include "backend/notify/adopt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

#include "backend/notify/filter.h"
#include "base/cleanup.h"

enum { RUNTIME_CLOSES_MS = 2000 };

/* ---- may it be done here? ---- */

static bool gives_rights_up(int nr)
{
	return nr == SYS_capset || nr == SYS_setuid || nr == SYS_setreuid || nr == SYS_setresuid || nr == SYS_execve || nr == SYS_execveat;
}

static uint64_t field(const char *status, const char *key, int base)
{
	const char *value = procfs_field(status, key);

	return value ? strtoull(value, NULL, base) : 0;
}

static bool may_install(const char *status)
{
	return field(status, "NoNewPrivs", 10) == 1 || field(status, "CapEff", 16) & 1ull << CAP_SYS_ADMIN;
}

static DIR *open_directory(const struct notify *n, pid_t tid, const char *name)
{
	int fd = procfs_open(n, tid, name, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		(void)close(fd);
	return dir;
}

/* Another thread below the old filter would be left without a listener. */
static bool is_alone(const struct notify *n, pid_t tid, const char *status)
{
	DIR *dir = open_directory(n, tid, "task");
	uint64_t filters = field(status, "Seccomp_filters", 10);
	const struct dirent *entry;
	bool alone = dir != NULL;
	char text[4096];
	pid_t other;

	while (alone && (entry = readdir(dir))) {
		other = (pid_t)atoi(entry->d_name);
		if (other > 0 && other != tid && procfs_status(n, other, text, sizeof(text)) == 0)
			alone = field(text, "Seccomp_filters", 10) < filters;
	}
	if (dir)
		(void)closedir(dir);
	return alone;
}

/* A descriptor of the process that is a listener; -1: there is none. */
static int find_listener(const struct notify *n, pid_t pid)
{
	DIR *dir = open_directory(n, pid, "fd");
	const struct dirent *entry;
	char target[64];
	ssize_t len;
	int found = -1;

	while (dir && found < 0 && (entry = readdir(dir))) {
		len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		target[len < 0 ? 0 : len] = '\0';
		if (!strcmp(target, "anon_inode:seccomp notify"))
			found = atoi(entry->d_name);
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

/* The runtime's process outside is about to close its duplicate: that does not depend on the thread, which stands. */
static bool await_closed(const struct notify *n, pid_t pid)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int left = RUNTIME_CLOSES_MS;

	while (find_listener(n, pid) >= 0 && left-- > 0)
		(void)nanosleep(&moment, NULL);
	return left > 0;
}

/* NULL: nothing is in the way. */
static const char *find_obstacle(const struct notify *n, const struct adopted *call)
{
	bool last = gives_rights_up(call->event.call.nr);
	char status[4096];
	pid_t parent;

	if (procfs_status(n, call->tid, status, sizeof(status)) < 0)
		return "it is gone";
	if (!may_install(status))
		return "it has neither no_new_privs nor CAP_SYS_ADMIN";
	if (!is_alone(n, call->tid, status))
		return "it has other threads below the filter";
	parent = (pid_t)field(status, "PPid", 10);
	if (!last && find_listener(n, call->tid) >= 0)
		return "it has the listener open";
	if (last ? !await_closed(n, parent) : find_listener(n, parent) >= 0)
		return "the runtime has the listener open";
	return NULL;
}

/* ---- doing it ---- */

struct operation {
	struct notify *n;
	struct adopted *call;
	struct stopped saved;
	uint64_t page, size; /* in the thread's memory */
};

static bool is_error(int64_t result)
{
	return result < 0 && result > -4096;
}

/* A call that has to succeed. */
static int do_call(struct operation *op, const struct injected *call, int64_t *ret_result)
{
	int r = adopt_inject(op->n, op->call, &op->saved, call, ret_result);

	return r < 0 ? r : is_error(*ret_result) ? (int)*ret_result : 0;
}

/* Memory of its own, for the program: a stack may have no room. */
static int place_program(struct operation *op)
{
	const struct sock_fprog *program = filter_program(op->n->replacement);
	size_t size = program->len * sizeof(*program->filter);
	const struct injected map = {
		.nr = SYS_mmap,
		.args = { 0, sizeof(*program) + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0 },
	};
	struct sock_fprog there = { .len = program->len };
	int64_t result;
	int r;

	r = do_call(op, &map, &result);
	if (r < 0)
		return r;
	op->page = (uint64_t)result;
	op->size = sizeof(*program) + size;
	there.filter = (struct sock_filter *)(uintptr_t)(op->page + sizeof(there));
	r = memory_force_write(op->n, op->call->tid, op->page, &there, sizeof(there));
	return r < 0 ? r : memory_force_write(op->n, op->call->tid, op->page + sizeof(there), program->filter, size);
}

/* Those of the thread's process, which it would have closed at its execve. */
static int close_copies(struct operation *op)
{
	struct injected call = { .nr = SYS_close };
	int64_t result;
	int fd, r = 0;

	while (r == 0 && (fd = find_listener(op->n, op->call->tid)) >= 0) {
		call.args[0] = (uint64_t)fd;
		r = do_call(op, &call, &result);
	}
	return r;
}

static int take_over(struct operation *op, int guest_fd)
{
	_cleanup_close_ int fd = handles_borrow(op->n, op->call->tid, guest_fd);
	int r;

	if (fd < 0)
		return fd;
	r = listeners_add(op->n, fd);
	if (r == 0)
		(void)take_fd(&fd);
	return r;
}

static int install(struct operation *op)
{
	const uint64_t flags = (uint64_t)filter_flags();
	const struct injected set = { .nr = SYS_seccomp, .args = { SECCOMP_SET_MODE_FILTER, flags, op->page } };
	const struct injected unmap = { .nr = SYS_munmap, .args = { op->page, op->size } };
	struct injected close_it = { .nr = SYS_close };
	int64_t fd, result;
	int r;

	r = close_copies(op);
	if (r < 0)
		return r;
	listener_close(&op->n->listeners[0]);
	r = do_call(op, &set, &fd);
	if (r == 0)
		r = take_over(op, (int)fd);
	close_it.args[0] = (uint64_t)fd;
	if (r == 0)
		r = do_call(op, &close_it, &result);
	return r < 0 ? r : do_call(op, &unmap, &result);
}

int replace_listener(struct notify *n, struct adopted *call)
{
	struct operation op = { .n = n, .call = call };
	int r;

	n->why_not = find_obstacle(n, call);
	if (!n->why_not && !n->seized_early && companion_seize_lightly(call->tid) < 0)
		n->why_not = "it cannot be traced";
	if (n->why_not)
		return 0;
	n->seized_early = call->tid;
	do
		r = adopt_stop_there(n, call, &op.saved);
	while (r == -EALREADY);
	if (r == -EAGAIN)
		return 1;
	if (r == 0)
		r = place_program(&op);
	if (r == 0)
		r = install(&op);
	if (r == 0)
		n->replacement = NULL;
	if (r == 0)
		r = adopt_call_again(call->tid, &op.saved);
	return r < 0 ? r : 1;
}
