/* SPDX-License-Identifier: BSD-3-Clause */
/* The creator's side: see container.h. */
#include "container/container.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/internal.h"

enum { REAPED_PIPE_SIZE = 1 << 20 };

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

/* fork() into new namespaces, with a pidfd. The cgroup namespace comes later, see init.c. */
static pid_t clone_into(unsigned long flags, int *ret_pidfd)
{
	struct clone_args args = {
		.flags = (flags & ~(unsigned long)CLONE_NEWCGROUP) | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* The child starts with all signals blocked, so that no handler of ours runs in it. */
static int create_init(const struct container_spec *spec, struct container *c, const int channel[2], const int reaped[2],
		       struct error *err)
{
	struct child_ends ends = {
		.channel = channel[1],
		.reaped_fd = reaped[1],
		.namespaces = own_namespaces(spec),
	};
	sigset_t all, before;
	int code;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	c->init_pid = clone_into(ends.namespaces, &c->init_pidfd);
	code = errno;
	if (c->init_pid == 0) {
		(void)close(channel[0]);
		if (reaped[0] >= 0)
			(void)close(reaped[0]);
		init_main(spec, &ends);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (c->init_pid > 0)
		return 0;
	c->init_pid = 0;
	c->init_pidfd = -1;
	(void)error_errno(err, code, "cannot create the container's namespaces");
	namespaces_explain(ends.namespaces, err);
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

static int take_message(struct container *c, const struct channel_message *message, pid_t sender, int attached,
			struct error *err)
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
	case CHANNEL_GO:
		break;
	}
	return error_set(err, EPROTO, "unexpected message %d from the container", (int)message->kind);
}

static int wait_until_ready(struct container *c, struct error *err)
{
	struct channel_message message;
	int r, attached;
	pid_t sender;

	do {
		r = channel_receive(c->channel, 0, &message, &sender, &attached);
		if (r < 0)
			return error_errno(err, -r, "waiting for the container");
		if (r == 0)
			return report_death(c, err);
		r = take_message(c, &message, sender, attached, err);
	} while (r == 0);
	if (r < 0)
		return r;
	c->guest_pidfd = (int)syscall(SYS_pidfd_open, c->guest_pid, 0);
	return c->guest_pidfd < 0 ? error_errno(err, errno, "cannot open the guest process %d", c->guest_pid) : 0;
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

static int create(const struct container_spec *spec, struct container *c, struct error *err)
{
	int channel[2], reaped[2] = { -1, -1 }, r;

	r = check_spec(spec, err);
	if (r < 0)
		return r;
	r = channel_open(channel);
	if (r < 0)
		return error_errno(err, -r, "cannot create a socket pair");
	c->channel = channel[0];
	if (spec->own_init) {
		if (pipe2(reaped, O_CLOEXEC | O_NONBLOCK) < 0) {
			r = error_errno(err, errno, "cannot create a pipe");
			cleanup_close(&channel[1]);
			return r;
		}
		(void)fcntl(reaped[1], F_SETPIPE_SZ, REAPED_PIPE_SIZE);
		c->reaped_fd = reaped[0];
	}
	r = create_init(spec, c, channel, reaped, err);
	cleanup_close(&channel[1]);
	cleanup_close(&reaped[1]);
	return r < 0 ? r : wait_until_ready(c, err);
}

int container_create(const struct container_spec *spec, struct container *ret, struct error *err)
{
	int r;

	*ret = CONTAINER_NONE;
	ret->failure_status = STATUS_FAILURE;
	r = create(spec, ret, err);
	if (r < 0) {
		int status = ret->failure_status;

		container_destroy(ret);
		ret->failure_status = status;
		return r;
	}
	ret->failure_status = 0;
	return 0;
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

/* Tracees that stop on their way out (PTRACE_EVENT_EXIT) are sent on; everything that died is reaped. */
static void reap_until(pid_t last)
{
	int status;
	pid_t pid;

	do {
		pid = waitpid(-1, &status, __WALL);
		if (pid > 0 && WIFSTOPPED(status))
			(void)ptrace(PTRACE_CONT, pid, NULL, NULL);
	} while ((pid > 0 && (pid != last || WIFSTOPPED(status))) || (pid < 0 && errno == EINTR));
}

void container_destroy(struct container *c)
{
	int *const fds[] = { &c->init_pidfd, &c->guest_pidfd, &c->reaped_fd, &c->channel, &c->console_fd };

	if (c->init_pid > 0) {
		(void)kill(c->init_pid, SIGKILL); /* our child and not reaped: the number is still its own */
		reap_until(c->init_pid);
		c->init_pid = 0;
	}
	c->guest_pid = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		cleanup_close(fds[i]);
		*fds[i] = -1;
	}
}
