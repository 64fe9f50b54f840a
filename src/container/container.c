/* SPDX-License-Identifier: BSD-3-Clause */
/* The creator's side: see container.h. */
#include "container/container.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "container/internal.h"

enum {
	REAPED_PIPE_SIZE = 1 << 20,
	WATCH_MS = 5,
};

static const unsigned long default_namespaces =
	CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP;

void container_spec_init(struct container_spec *spec)
{
	*spec = (struct container_spec){
		.hostname = "hermetic-container.local",
		.domainname = "local",
		.root_kind = ROOT_HOST_COW,
		.namespaces = CONTAINER_DEFAULT_NAMESPACES,
		.own_init = true,
		.stdio = { 0, 1, 2 },
	};
}

static unsigned long own_namespaces(const struct container_spec *spec)
{
	unsigned long flags = spec->namespaces == CONTAINER_DEFAULT_NAMESPACES ? default_namespaces : spec->namespaces;

	return spec->network_host ? flags & ~(unsigned long)CLONE_NEWNET : flags;
}

bool container_is_in_host_network(const struct container_spec *spec)
{
	if (own_namespaces(spec) & CLONE_NEWNET)
		return false;
	for (size_t i = 0; i < spec->n_joins; i++)
		if (spec->joins[i].nstype == CLONE_NEWNET)
			return false;
	return true;
}

/* Has process 1 said why it ends, or ended without a word? */
static bool has_failed(const struct container *c)
{
	struct channel_message message;
	ssize_t n = recv(c->channel, &message, sizeof(message), MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n == sizeof(message) && message.kind == CHANNEL_ERROR);
}

/*
 * Process 1 waits for this when it has cgroups to be in or maps to get. If it has ended before, what it said about that comes next, and not that it
 * could not be admitted.
 */
static int admit(const struct container_spec *spec, const struct container *c, const struct child_ends *ends,
		 struct error *err)
{
	const struct channel_message go = { .kind = CHANNEL_GO };
	char number[16], **procs = spec->cgroup_procs;
	int r = 0;

	if (!ends->admitted_by_creator)
		return 0;
	(void)snprintf(number, sizeof(number), "%d", c->init_pid);
	if (spec->cgroup_hook)
		r = spec->cgroup_hook(spec->cgroup_arg, c->init_pid, &procs, err);
	for (char **p = procs; r == 0 && p && *p; p++) {
		r = fd_write_file(AT_FDCWD, *p, number);
		if (r == -ESRCH)
			return 0;
		if (r < 0)
			(void)error_errno(err, -r, "cannot join the cgroup of %s", *p);
	}
	if (r == 0 && (ends->namespaces & CLONE_NEWUSER))
		r = userns_write_maps(c->init_pid, &spec->maps, err);
	if (r < 0)
		return has_failed(c) ? 0 : r;
	r = channel_send(c->channel, &go);
	return r == -EPIPE ? 0 : r;
}

static int create_init(const struct container_spec *spec, struct container *c, const struct child_ends *ends,
		       struct error *err)
{
	int code;

	c->init_pid = launch(spec, ends, c->channel, c->reaped_fd, err);
	code = errno;
	if (c->init_pid > 0)
		return launch_takes_helper(spec, ends) ? 0 : admit(spec, c, ends, err);
	c->init_pid = 0;
	if (err && err->code)
		return -err->code;
	(void)error_errno(err, code, "cannot create the container's namespaces");
	namespaces_explain(ends->namespaces, err);
	return -code;
}

static int report_death(struct container *c, struct error *err)
{
	int status = 0;

	if (waitpid(c->init_pid, &status, __WALL) == c->init_pid)
		c->init_pid = 0;
	if (WIFSIGNALED(status))
		return error_set(err, EIO, "the container's first process was killed by signal %d while setting up",
				 WTERMSIG(status));
	return error_set(err, EIO, "the container's first process ended with status %d while setting up",
			 WEXITSTATUS(status));
}

static void reap_launcher(struct container *c)
{
	while (waitpid(c->init_pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

static int run_created_hook(const struct container_spec *spec, struct container *c, struct error *err)
{
	const struct channel_message go = { .kind = CHANNEL_GO };
	int r = spec->created_hook ? spec->created_hook(spec->created_arg, c->init_pid, err) : 0;

	return r < 0 ? r : channel_send(c->channel, &go);
}

static int take_message(const struct container_spec *spec, const struct child_ends *ends, struct container *c,
			const struct channel_message *message, pid_t sender, int attached, struct error *err)
{
	switch (message->kind) {
	case CHANNEL_ERROR:
		c->failure_status = message->status;
		return error_set(err, message->code, "%s", message->text);
	case CHANNEL_CONSOLE:
		c->console_fd = attached;
		return 0;
	case CHANNEL_READY:
		c->guest_pid = sender;
		return 1;
	case CHANNEL_CHILD:
		reap_launcher(c);
		c->init_pid = message->code;
		return admit(spec, c, ends, err);
	case CHANNEL_HOOK:
		return run_created_hook(spec, c, err);
	case CHANNEL_GO:
		break;
	}
	return error_set(err, EPROTO, "unexpected message %d from the container", (int)message->kind);
}

static int wait_until_ready(const struct container_spec *spec, const struct child_ends *ends, struct container *c,
			    struct error *err)
{
	/* A child may be ready before its launcher has said which one it is. */
	bool ready = false, announced = !launch_takes_helper(spec, ends);
	struct channel_message message;
	int r, attached;
	pid_t sender;

	do {
		r = channel_receive(c->channel, 0, &message, &sender, &attached);
		if (r < 0)
			return error_errno(err, -r, "waiting for the container");
		if (r == 0)
			return report_death(c, err);
		r = take_message(spec, ends, c, &message, sender, attached, err);
		ready |= r > 0;
		announced |= message.kind == CHANNEL_CHILD;
	} while (r >= 0 && !(ready && announced));
	if (r < 0)
		return r;
	c->guest_pidfd = (int)syscall(SYS_pidfd_open, c->guest_pid, 0);
	c->init_pidfd = (int)syscall(SYS_pidfd_open, c->init_pid, 0);
	if (c->guest_pidfd < 0 || c->init_pidfd < 0)
		return error_errno(err, errno, "cannot open the guest process %d", c->guest_pid);
	return 0;
}

static int check_spec(const struct container_spec *spec, struct error *err)
{
	if (!spec->argv || !spec->argv[0])
		return error_set(err, EINVAL, "no program to run");
	if (spec->root_kind == ROOT_PATH && !spec->root_path)
		return error_set(err, EINVAL, "no root directory");
	if (spec->cwd && spec->cwd[0] != '/')
		return error_set(err, EINVAL, "working directory '%s' is not absolute", spec->cwd);
	return 0;
}

static int open_ends(const struct container_spec *spec, struct container *c, struct child_ends *ends, struct error *err)
{
	int channel[2], reaped[2], r;

	r = channel_open(channel);
	if (r < 0)
		return error_errno(err, -r, "cannot create a socket pair");
	c->channel = channel[0];
	ends->channel = channel[1];
	if (!spec->own_init || ends->inside)
		return 0;
	if (pipe2(reaped, O_CLOEXEC | O_NONBLOCK) < 0)
		return error_errno(err, errno, "cannot create a pipe");
	(void)fcntl(reaped[1], F_SETPIPE_SZ, REAPED_PIPE_SIZE);
	c->reaped_fd = reaped[0];
	ends->reaped_fd = reaped[1];
	return 0;
}

static void close_ends(const struct container_spec *spec, struct child_ends *ends)
{
	cleanup_close(&ends->channel);
	cleanup_close(&ends->reaped_fd);
	for (size_t i = 0; ends->idmapped && i < spec->n_mounts; i++)
		cleanup_close(&ends->idmapped[i]);
	free(ends->idmapped);
	cleanup_close(&ends->devices);
}

bool container_has_own_mounts(const struct container_spec *spec)
{
	return own_namespaces(spec) & CLONE_NEWNS;
}

static int create(const struct container_spec *spec, pid_t inside, struct container *c, struct error *err)
{
	struct child_ends ends = {
		.channel = -1,
		.reaped_fd = -1,
		.devices = -1,
		.namespaces = inside ? 0 : own_namespaces(spec),
		.links_inherit = net_links_inherit(),
		.inside = inside,
	};
	int r;

	ends.admitted_by_creator = (ends.namespaces & CLONE_NEWUSER) || spec->cgroup_hook || (spec->cgroup_procs && spec->cgroup_procs[0]);
	r = check_spec(spec, err);
	if (r == 0)
		r = open_ends(spec, c, &ends, err);
	if (r == 0 && !inside)
		r = container_shared_root_find(spec, &c->shared, err);
	if (r == 0 && !inside)
		r = mounts_prepare_idmapped(spec, &ends.idmapped, err);
	if (r == 0 && !inside)
		r = devices_prepare(spec, &ends.devices, err);
	if (r == 0)
		r = create_init(spec, c, &ends, err);
	close_ends(spec, &ends);
	if (r == 0)
		r = wait_until_ready(spec, &ends, c, err);
	if (r == 0)
		container_shared_root_note(&c->shared, c->guest_pid);
	return r;
}

static int create_or_nothing(const struct container_spec *spec, pid_t inside, struct container *ret, struct error *err)
{
	struct error first = { 0 };
	int r, status;

	*ret = CONTAINER_NONE;
	ret->failure_status = STATUS_FAILURE;
	r = create(spec, inside, ret, &first);
	status = r < 0 ? ret->failure_status : 0;
	if (r < 0) {
		container_destroy(ret);
		(void)error_set(err, first.code, "%s", first.text);
	}
	ret->failure_status = status;
	return r;
}

int container_create(const struct container_spec *spec, struct container *ret, struct error *err)
{
	return create_or_nothing(spec, 0, ret, err);
}

int container_create_inside(const struct container_spec *spec, pid_t process, struct container *ret, struct error *err)
{
	return create_or_nothing(spec, process, ret, err);
}

static int gone_before_start(struct error *err)
{
	return error_set(err, ESRCH, "the container ended before its program was loaded");
}

int container_begin_start_hook(const struct container_spec *spec, int channel, struct error *err)
{
	const struct channel_message request = { .kind = CHANNEL_HOOK };

	if (!spec->start_hook)
		return 0;
	return channel_send(channel, &request) < 0 ? gone_before_start(err) : 1;
}

int container_end_start_hook(int channel, struct error *err)
{
	struct channel_message reply;
	int attached, r = channel_receive(channel, MSG_DONTWAIT, &reply, NULL, &attached);

	if (r == -EAGAIN)
		return r;
	if (r <= 0)
		return gone_before_start(err);
	return reply.kind == CHANNEL_READY ? 0 : error_set(err, reply.code, "%s", reply.text);
}

int container_release(struct container *c, struct error *err)
{
	const struct channel_message go = { .kind = CHANNEL_GO };
	int r;

	r = channel_send(c->channel, &go);
	if (r < 0)
		return error_errno(err, -r, "the guest is gone before it was released");
	c->released = true;
	return 0;
}

int container_exec_error(struct container *c, struct error *err)
{
	struct channel_message message;
	int r, attached;

	if (c->channel < 0)
		return 0;
	r = channel_receive(c->channel, MSG_DONTWAIT, &message, NULL, &attached);
	if (r <= 0 || message.kind != CHANNEL_ERROR)
		return 0;
	c->failure_status = message.status;
	(void)error_set(err, message.code, "%s", message.text);
	return 1;
}

/* One child or tracee. Tracees that stop on their way out (PTRACE_EVENT_EXIT) are sent on. As waitpid(2), 0 for a stop. */
static pid_t reap_one(int flags)
{
	int status;
	pid_t pid;

	do {
		pid = waitpid(-1, &status, __WALL | flags);
	} while (pid < 0 && errno == EINTR);
	if (pid <= 0 || !WIFSTOPPED(status))
		return pid;
	(void)ptrace(PTRACE_CONT, pid, NULL, NULL);
	return 0;
}

static bool is_our_child(pid_t pid)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/*
 * Process 1 ends when everything in its namespace has ended, and what we trace has ended when we have reaped it. If process 1
 * is somebody else's child, its end shows at the pidfd only, and both have to be watched.
 */
static void reap_until_end(pid_t init, int pidfd)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	pid_t pid = 0;

	if (is_our_child(init)) {
		while (pid >= 0 && pid != init)
			pid = reap_one(0);
		return;
	}
	while (pidfd >= 0 && poll(&end, 1, WATCH_MS) == 0)
		while (reap_one(WNOHANG) > 0)
			;
}

void container_destroy(struct container *c)
{
	int *const fds[] = { &c->init_pidfd, &c->guest_pidfd, &c->reaped_fd, &c->channel, &c->console_fd };
	struct error err = { 0 };

	if (c->init_pid > 0) {
		if (c->init_pidfd >= 0)
			(void)syscall(SYS_pidfd_send_signal, c->init_pidfd, SIGKILL, NULL, 0);
		else
			(void)kill(c->init_pid,
				   SIGKILL); /* still being made: our child and not reaped, the number is its own */
		reap_until_end(c->init_pid, c->init_pidfd);
		c->init_pid = 0;
	}
	c->guest_pid = 0;
	if (container_shared_root_end(&c->shared, NULL, &err) < 0)
		log_warning("%s", err.text);
	container_shared_root_clear(&c->shared);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		cleanup_close(fds[i]);
		*fds[i] = -1;
	}
}
