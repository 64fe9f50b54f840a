/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about seccomp user notification. */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "facts.h"

enum { CALL = SYS_getppid, LISTENER = 200 };

/* Notifies getppid. Returns the listener or -1. */
static int install_filter(unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = code };

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &program);
}

struct guest {
	pid_t pid;
	int listener;
	struct seccomp_notif call;
};

/* A child with the filter that runs `body` and exits with its result; the first call of it is received. */
static void start(struct guest *g, unsigned flags, int (*body)(void))
{
	int ready[2], go[2], pidfd, fd;
	char byte;

	check(pipe2(ready, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0);
	g->pid = fork();
	check(g->pid >= 0);
	if (g->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = install_filter(flags);
		if (fd < 0 || dup2(fd, LISTENER) != LISTENER || close(fd) < 0 || write(ready[1], "", 1) != 1 ||
		    read(go[0], &byte, 1) != 1)
			_exit(97);
		_exit(body());
	}
	(void)close(ready[1]);
	check(read(ready[0], &byte, 1) == 1);
	pidfd = pidfd_open(g->pid, 0);
	g->listener = pidfd_getfd(pidfd, LISTENER, 0);
	check(g->listener >= 0);
	check(write(go[1], "", 1) == 1);
}

static void receive(struct guest *g)
{
	memset(&g->call, 0, sizeof(g->call));
	check(ioctl(g->listener, SECCOMP_IOCTL_NOTIF_RECV, &g->call) == 0);
	check(g->call.pid == (unsigned)g->pid);
}

static int reply(struct guest *g, int64_t value, int error, unsigned flags)
{
	struct seccomp_notif_resp response = { .id = g->call.id, .val = value, .error = error, .flags = flags };

	return ioctl(g->listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 ? -errno : 0;
}

static int exit_status(const struct guest *g)
{
	int status;

	check(waitpid(g->pid, &status, 0) == g->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static volatile int handled;

static void on_signal(int signo)
{
	handled++;
}

static void handle(int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };

	(void)sigaction(SIGUSR1, &sa, NULL);
}

/* 0 when the call gave 77 and the handler ran once. */
static int call_with_handler(void)
{
	handle(0);
	return syscall(CALL) == 77 && handled == 1 ? 0 : 1;
}

static void parked_call_survives_signals(void)
{
	struct guest g;

	start(&g, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, call_with_handler);
	receive(&g);
	check(kill(g.pid, SIGUSR1) == 0);
	check(ioctl(g.listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &g.call.id) == 0);
	check(reply(&g, 77, 0, 0) == 0);
	check(exit_status(&g) == 0);
}

static void killed_call_vanishes(void)
{
	struct guest g;
	siginfo_t info;

	start(&g, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, call_with_handler);
	receive(&g);
	check(kill(g.pid, SIGKILL) == 0);
	check(waitid(P_PID, (id_t)g.pid, &info, WEXITED | WNOWAIT) == 0);
	check(reply(&g, 0, 0, 0) == -ENOENT);
}

static void second_reply_is_refused(void)
{
	struct guest g;

	start(&g, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, call_with_handler);
	receive(&g);
	check(kill(g.pid, SIGSTOP) == 0); /* it does not run on between the replies */
	check(reply(&g, 77, 0, 0) == 0);
	check(reply(&g, 77, 0, 0) == -EINPROGRESS || errno == ENOENT);
	check(kill(g.pid, SIGKILL) == 0);
}

static int call_expects_interruption(void)
{
	handle(0);
	return syscall(CALL) == -1 && errno == EINTR && handled == 1 ? 0 : 1;
}

static int call_expects_restart(void)
{
	handle(SA_RESTART);
	return syscall(CALL) == 77 && handled == 1 ? 0 : 1;
}

static int call_expects_512(void)
{
	return syscall(CALL) == -1 && errno == 512 ? 0 : 1;
}

static void restart_code_interrupts(void)
{
	struct guest g;

	start(&g, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, call_expects_interruption);
	receive(&g);
	check(kill(g.pid, SIGUSR1) == 0);
	check(reply(&g, 0, -512, 0) == 0);
	check(exit_status(&g) == 0);
}

static void restart_code_restarts(void)
{
	struct guest g;
	uint64_t first;

	start(&g, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, call_expects_restart);
	receive(&g);
	first = g.call.id;
	check(kill(g.pid, SIGUSR1) == 0);
	check(reply(&g, 0, -512, 0) == 0);
	receive(&g);
	check(g.call.id != first);
	check(reply(&g, 77, 0, 0) == 0);
	check(exit_status(&g) == 0);
}

static void restart_code_needs_signal(void)
{
	struct guest g;

	start(&g, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, call_expects_512);
	receive(&g);
	check(reply(&g, 0, -512, 0) == 0);
	check(exit_status(&g) == 0);
}

/* The reply's val alone carries errors and restart codes as well as results. */
static void value_carries_errors(void)
{
	struct guest g;

	start(&g, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, call_expects_interruption);
	receive(&g);
	check(kill(g.pid, SIGUSR1) == 0);
	check(reply(&g, -512, 0, 0) == 0);
	check(exit_status(&g) == 0);
}

static int call_gets_descriptor(void)
{
	char byte;

	return read((int)syscall(CALL), &byte, 1) == 1 && byte == 'x' ? 0 : 1;
}

static void descriptor_is_installed_with_reply(void)
{
	struct seccomp_notif_addfd addfd = { .flags = SECCOMP_ADDFD_FLAG_SEND };
	struct guest g;
	int fds[2];

	check(pipe2(fds, O_CLOEXEC) == 0 && write(fds[1], "x", 1) == 1);
	start(&g, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, call_gets_descriptor);
	receive(&g);
	addfd.id = g.call.id;
	addfd.srcfd = (unsigned)fds[0];
	check(ioctl(g.listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd) > 2);
	check(reply(&g, 0, 0, 0) != 0);
	check(exit_status(&g) == 0);
}

static void continue_takes_no_value(void)
{
	struct guest g;

	start(&g, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, call_with_handler);
	receive(&g);
	check(reply(&g, 1, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE) == -EINVAL);
	check(kill(g.pid, SIGKILL) == 0);
}

static int second_listener_is_busy(void)
{
	return install_filter(0) == -1 && errno == EBUSY ? 0 : 1;
}

static void one_listener_only(void)
{
	struct guest g;

	start(&g, 0, second_listener_is_busy);
	check(exit_status(&g) == 0);
}

static int call_without_listener(void)
{
	(void)close(LISTENER);
	return syscall(CALL) == -1 && errno == ENOSYS ? 0 : 1;
}

static void closed_listener_gives_enosys(void)
{
	struct guest g;

	start(&g, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, call_without_listener);
	receive(&g);
	check(close(g.listener) == 0);
	check(exit_status(&g) == 0);
}

static int just_exit(void)
{
	return close(LISTENER);
}

static void end_of_all_is_hangup(void)
{
	struct guest g;
	struct pollfd p;

	start(&g, 0, just_exit);
	p = (struct pollfd){ .fd = g.listener, .events = POLLIN };
	check(poll(&p, 1, -1) == 1 && p.revents == POLLHUP);
	check(exit_status(&g) == 0);
}

static void listener_is_closed_by_exec(void)
{
	int fd = install_filter(0);

	check(fd >= 0);
	check(fcntl(fd, F_GETFD) == FD_CLOEXEC);
}

/* The filter in start() has been installed before, the listener of it is LISTENER. 0 when a second one can be had once that is closed. */
static int second_listener(void)
{
	int fd;

	(void)raise(SIGSTOP);
	fd = install_filter(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	if (fd >= 0 || errno != EBUSY || close(LISTENER) < 0)
		return 1;
	fd = install_filter(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	if (fd != LISTENER && (dup2(fd, LISTENER) != LISTENER || close(fd) < 0))
		return 2;
	(void)raise(SIGSTOP);
	return syscall(CALL) == 78 ? 0 : 3;
}

/* That a listener is there is looked for among open ones, and of filters that notify a call the youngest is asked. */
static void closed_listener_makes_room(void)
{
	struct guest g;
	int status;

	start(&g, 0, second_listener);
	check(waitpid(g.pid, &status, WUNTRACED) == g.pid && WIFSTOPPED(status));
	check(close(g.listener) == 0 && kill(g.pid, SIGCONT) == 0);
	check(waitpid(g.pid, &status, WUNTRACED) == g.pid && WIFSTOPPED(status));
	g.listener = pidfd_getfd(pidfd_open(g.pid, 0), LISTENER, 0);
	check(g.listener >= 0 && kill(g.pid, SIGCONT) == 0);
	receive(&g);
	check(reply(&g, 78, 0, 0) == 0);
	check(exit_status(&g) == 0);
}

static const struct fact facts[] = {
	{ "a parked call survives signals with WAIT_KILLABLE_RECV", parked_call_survives_signals },
	{ "a parked call vanishes with SIGKILL", killed_call_vanishes },
	{ "a second reply is refused", second_reply_is_refused },
	{ "-ERESTARTSYS with a signal queued: EINTR without SA_RESTART", restart_code_interrupts },
	{ "-ERESTARTSYS with a signal queued: notified again with SA_RESTART", restart_code_restarts },
	{ "-ERESTARTSYS without a signal reaches the program", restart_code_needs_signal },
	{ "val carries restart codes as error does", value_carries_errors },
	{ "ADDFD with FLAG_SEND installs and replies at once", descriptor_is_installed_with_reply },
	{ "CONTINUE with a value is EINVAL", continue_takes_no_value },
	{ "a task has one listener at most", one_listener_only },
	{ "a listener that is closed makes room for another", closed_listener_makes_room },
	{ "calls after the listener's end give ENOSYS", closed_listener_gives_enosys },
	{ "the end of the last task is POLLHUP", end_of_all_is_hangup },
	{ "the listener is close-on-exec", listener_is_closed_by_exec },
};

int main(void)
{
	return check_facts(facts, sizeof(facts) / sizeof(facts[0]));
}
