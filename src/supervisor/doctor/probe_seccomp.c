/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What seccomp user notification can do here. Each probe makes a target: a child whose getppid() comes to us. It reports by
 * its exit status; the descriptor of its listener is sent over a socket, so that nothing but seccomp itself is needed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/doctor/probes.h"

/* Newer than the headers of some systems that this is built on. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS  SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

enum { WANTED = 4711, ROUNDS = 300 };

struct target {
	pid_t pid;
	int listener;
	int socket;
};

/* ---- making one ---- */

static int install(unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };
	long fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &program);
	return fd < 0 ? -errno : (int)fd;
}

/* seccomp(2): EBUSY where a filter with a listener is there already. To this process, which ends then, it happens for good. */
enum probe_result probe_unsupervised(char *detail, size_t size)
{
	return install(0) == -EBUSY ? PROBE_MISSING : PROBE_WORKS;
}

/* Sends a result, and the descriptor if it is one. */
static int send_listener(int socket, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = &fd, .iov_len = sizeof(fd) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = control.space;
		message.msg_controllen = sizeof(control.space);
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The descriptor, or the other side's -errno. */
static int receive_listener(int socket)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	int result = -EIO;
	struct iovec iov = { .iov_base = &result, .iov_len = sizeof(result) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space,
				  .msg_controllen = sizeof(control.space) };
	struct cmsghdr *first;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != sizeof(result))
		return -EIO;
	first = CMSG_FIRSTHDR(&message);
	if (first && first->cmsg_type == SCM_RIGHTS)
		memcpy(&result, CMSG_DATA(first), sizeof(result));
	return result;
}

/* 0 or -errno: what seccomp(2) said in the target. */
static int target_start(unsigned flags, int (*body)(int socket), struct target *ret)
{
	int ends[2], fd;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	ret->socket = ends[0];
	ret->pid = fork();
	if (ret->pid < 0)
		return -errno;
	if (ret->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = install(flags);
		if (send_listener(ends[1], fd) < 0 || fd < 0)
			_exit(1);
		(void)close(fd);
		_exit(body(ends[1]));
	}
	(void)close(ends[1]);
	ret->listener = receive_listener(ret->socket);
	return ret->listener < 0 ? ret->listener : 0;
}

/* Exit status of the target, -1 when it was killed. */
static int target_end(struct target *t)
{
	int status;

	(void)close(t->listener);
	if (waitpid(t->pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- answering ---- */

static int receive_call(const struct target *t, struct seccomp_notif *call)
{
	memset(call, 0, sizeof(*call));
	return ioctl(t->listener, SECCOMP_IOCTL_NOTIF_RECV, call) < 0 ? -errno : 0;
}

static int answer(const struct target *t, const struct seccomp_notif *call, int64_t value, unsigned flags)
{
	struct seccomp_notif_resp response = { .id = call->id, .val = value, .flags = flags };

	return ioctl(t->listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 ? -errno : 0;
}

/* ---- bodies of targets: 0 when they saw what they should ---- */

static int body_expects_wanted(int socket)
{
	return syscall(SYS_getppid) == WANTED ? 0 : 1;
}

static int body_expects_parent(int socket)
{
	return syscall(SYS_getppid) > 0 ? 0 : 1;
}

static void do_nothing(int signo)
{
}

/* A handler without SA_RESTART: an interrupted call would give EINTR. */
static int body_interrupted(int socket)
{
	struct sigaction action = { .sa_handler = do_nothing };

	if (sigaction(SIGUSR1, &action, NULL) < 0)
		return 2;
	return body_expects_wanted(socket);
}

static int body_many_rounds(int socket)
{
	struct sigaction action = { .sa_handler = do_nothing };
	int wrong = 0;

	if (sigaction(SIGUSR1, &action, NULL) < 0)
		return 2;
	for (int i = 0; i < ROUNDS; i++)
		wrong += syscall(SYS_getppid) != WANTED;
	return wrong ? 1 : 0;
}

/* getppid() gives a descriptor, which leads to the supervisor. */
static int body_writes_to_result(int socket)
{
	int fd = (int)syscall(SYS_getppid);

	return fd >= 0 && write(fd, "x", 1) == 1 ? 0 : 1;
}

/* ---- the probes ---- */

static enum probe_result no_target(int r, char *detail, size_t size)
{
	return probe_says(PROBE_MISSING, detail, size, "seccomp: %s", strerrordesc_np(-r));
}

static enum probe_result call_failed(const char *what, int r, char *detail, size_t size)
{
	return probe_says(PROBE_MISSING, detail, size, "%s: %s", what, strerrordesc_np(-r));
}

/* One call is received and answered. */
static enum probe_result one_call(int (*body)(int socket), unsigned flags, char *detail, size_t size)
{
	struct seccomp_notif call;
	struct target t;
	int r;

	r = target_start(0, body, &t);
	if (r < 0)
		return no_target(r, detail, size);
	r = receive_call(&t, &call);
	if (r == 0)
		r = answer(&t, &call, flags ? 0 : WANTED, flags);
	if (r < 0)
		return call_failed("notification", r, detail, size);
	return target_end(&t) == 0 ? PROBE_WORKS : probe_says(PROBE_MISSING, detail, size, "the answer did not arrive");
}

enum probe_result probe_listener(char *detail, size_t size)
{
	return one_call(body_expects_wanted, 0, detail, size);
}

enum probe_result probe_continue(char *detail, size_t size)
{
	return one_call(body_expects_parent, SECCOMP_USER_NOTIF_FLAG_CONTINUE, detail, size);
}

/* Waits until the target has stopped; -1 when it ended instead. */
static int await_interrupt(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, __WALL) < 0 || !WIFSTOPPED(status) || status >> 16 != PTRACE_EVENT_STOP)
		return -1;
	return 0;
}

/*
 * An interrupt that is asked for before a call is let through stops the target when the call has returned, before its own code
 * goes on; its result can be seen and changed there.
 */
enum probe_result probe_hook(char *detail, size_t size)
{
	struct user_regs_struct regs;
	struct seccomp_notif call;
	struct target t;
	int r;

	r = target_start(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, body_expects_wanted, &t);
	if (r < 0)
		return no_target(r, detail, size);
	r = receive_call(&t, &call);
	if (r < 0)
		return call_failed("notification", r, detail, size);
	if (ptrace(PTRACE_SEIZE, t.pid, NULL, PTRACE_O_EXITKILL) < 0 || ptrace(PTRACE_INTERRUPT, t.pid, NULL, NULL) < 0)
		return call_failed("ptrace", -errno, detail, size);
	r = answer(&t, &call, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
	if (r < 0 || await_interrupt(t.pid) < 0)
		return probe_says(PROBE_MISSING, detail, size, "the process did not stop");
	if (ptrace(PTRACE_GETREGS, t.pid, NULL, &regs) < 0 || (pid_t)regs.rax != getpid())
		return probe_says(PROBE_MISSING, detail, size, "the result is not there yet");
	regs.rax = WANTED;
	if (ptrace(PTRACE_SETREGS, t.pid, NULL, &regs) < 0 || ptrace(PTRACE_DETACH, t.pid, NULL, NULL) < 0)
		return call_failed("ptrace", -errno, detail, size);
	return target_end(&t) == 0 ? PROBE_WORKS : probe_says(PROBE_MISSING, detail, size, "the changed result did not arrive");
}

/* A signal comes while the call is with us; the call is to stay ours. */
enum probe_result probe_wait_killable(char *detail, size_t size)
{
	struct seccomp_notif call;
	struct target t;
	int r;

	r = target_start(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, body_interrupted, &t);
	if (r < 0)
		return no_target(r, detail, size);
	r = receive_call(&t, &call);
	if (r < 0)
		return call_failed("notification", r, detail, size);
	if (kill(t.pid, SIGUSR1) < 0)
		return PROBE_FAILED;
	/* Time for the target to be disturbed, if it can be. */
	(void)poll(NULL, 0, 20);
	r = answer(&t, &call, WANTED, 0);
	if (r < 0)
		return probe_says(PROBE_MISSING, detail, size, "a signal took the call away");
	return target_end(&t) == 0 ? PROBE_WORKS : probe_says(PROBE_MISSING, detail, size, "a signal broke the call off");
}

static void share_processor(pid_t pid)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	(void)sched_setaffinity(pid, sizeof(set), &set);
}

/*
 * The call is received, a signal is sent and the answer given at once, before the target (on the same processor) had time to
 * go to sleep again. Kernels without the correction lose the answer: the target sees EINTR although the answer was accepted.
 */
enum probe_result probe_fast_reply(char *detail, size_t size)
{
	struct seccomp_notif call;
	struct target t;
	int r = 0;

	r = target_start(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, body_many_rounds, &t);
	if (r < 0)
		return no_target(r, detail, size);
	share_processor(t.pid);
	for (int i = 0; i < ROUNDS && r == 0; i++) {
		r = receive_call(&t, &call);
		if (r == 0 && kill(t.pid, SIGUSR1) < 0)
			r = -errno;
		if (r == 0)
			r = answer(&t, &call, WANTED, 0);
	}
	if (r < 0)
		return call_failed("notification", r, detail, size);
	return target_end(&t) == 0 ? PROBE_WORKS : probe_says(PROBE_PARTLY, detail, size, "an accepted answer was lost");
}

enum probe_result probe_sync_wake_up(char *detail, size_t size)
{
	struct seccomp_notif call;
	struct target t;
	int r;

	r = target_start(0, body_expects_wanted, &t);
	if (r < 0)
		return no_target(r, detail, size);
	if (ioctl(t.listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) < 0)
		return call_failed("ioctl", -errno, detail, size);
	r = receive_call(&t, &call);
	if (r == 0)
		r = answer(&t, &call, WANTED, 0);
	return r == 0 && target_end(&t) == 0 ? PROBE_WORKS : PROBE_MISSING;
}

/* The target gets the writing end of a pipe; flags as of struct seccomp_notif_addfd. */
static enum probe_result add_descriptor(unsigned flags, char *detail, size_t size)
{
	struct seccomp_notif_addfd add = { .flags = flags, .newfd_flags = O_CLOEXEC };
	struct seccomp_notif call;
	struct target t;
	int ends[2], fd, r;
	char byte;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return PROBE_FAILED;
	r = target_start(0, body_writes_to_result, &t);
	if (r < 0)
		return no_target(r, detail, size);
	r = receive_call(&t, &call);
	if (r < 0)
		return call_failed("notification", r, detail, size);
	add.id = call.id;
	add.srcfd = (__u32)ends[1];
	fd = ioctl(t.listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	if (fd < 0)
		return call_failed("ioctl", -errno, detail, size);
	if (!flags && answer(&t, &call, fd, 0) < 0)
		return PROBE_MISSING;
	return target_end(&t) == 0 && read(ends[0], &byte, 1) == 1 ? PROBE_WORKS : PROBE_MISSING;
}

enum probe_result probe_addfd(char *detail, size_t size)
{
	return add_descriptor(0, detail, size);
}

enum probe_result probe_addfd_send(char *detail, size_t size)
{
	return add_descriptor(SECCOMP_ADDFD_FLAG_SEND, detail, size);
}
