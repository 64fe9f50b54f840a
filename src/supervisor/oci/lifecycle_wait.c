/* SPDX-License-Identifier: BSD-3-Clause */
/* `run` and `exec` in the foreground: until the process has ended, the caller's signals go to the container. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/parse.h"
#include "supervisor/exit_codes.h"
#include "supervisor/oci/lifecycle.h"
#include "supervisor/oci/readiness.h"
#include "supervisor/oci/supervise.h"

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

static int status_code(int status)
{
	return WIFSIGNALED(status) ? EXIT_CODE_SIGNAL_BASE + WTERMSIG(status) : WEXITSTATUS(status);
}

static int watch_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		(void)sigaddset(&set, forwarded[i]);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Waits for a child; each signal goes to `forward`, and its word that it is ready to whom `readiness` says. */
static int wait_for(pid_t pid, void (*forward)(void *arg, int signo), void *arg, struct readiness *readiness)
{
	_cleanup_close_ int pidfd = pidfd_open(pid, 0), signals = watch_signals();
	struct pollfd polls[] = {
		{ .fd = pidfd, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
		{ .fd = readiness ? readiness->fd : -1, .events = POLLIN },
	};
	struct signalfd_siginfo info;
	int status = 0;

	while (pidfd >= 0 && !(polls[0].revents & POLLIN)) {
		if (poll(polls, ARRAY_SIZE(polls), -1) < 0)
			continue;
		while (read(signals, &info, sizeof(info)) == sizeof(info))
			forward(arg, (int)info.ssi_signo);
		if (polls[2].revents && readiness_pass_on(readiness, 0)) {
			readiness_close(readiness);
			polls[2].fd = -1;
		}
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_CODE_TOOL;
	return status_code(status);
}

struct forwarding {
	const struct runtime *rt;
	const char *id;
	pid_t pid;
};

static void to_container(void *arg, int signo)
{
	const struct forwarding *f = arg;
	struct error unread = { 0 };

	(void)lifecycle_kill(f->rt, f->id, signo, false, &unread);
}

static void to_process(void *arg, int signo)
{
	const struct forwarding *f = arg;

	(void)kill(f->pid, signo);
}

/* What the supervisor says about the end of the run, which process 1 could not say: it was killed. */
static int read_exit(const struct state_dir *dir, int status)
{
	_cleanup_free_ char *text = NULL;
	uint64_t code;

	if (fd_read_file(dir->fd, SUPERVISE_EXIT_FILE, 64, &text, NULL) < 0)
		return status;
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, &code) == 0 ? (int)code : status;
}

static void await_supervisor(const struct oci_process_ref *ref)
{
	_cleanup_close_ int fd = process_ref_open(ref);
	struct pollfd end = { .fd = fd, .events = POLLIN };

	while (fd >= 0 && poll(&end, 1, -1) < 0 && errno == EINTR)
		;
}

int lifecycle_wait(const struct runtime *rt, const char *id, pid_t init, struct readiness *readiness)
{
	_cleanup_state_dir_ struct state_dir dir = STATE_DIR_NONE;
	struct forwarding f = { .rt = rt, .id = id, .pid = init };
	struct oci_runtime_state state = { 0 };
	struct error unread = { 0 };
	int status = wait_for(init, to_container, &f, readiness);

	if (state_dir_look(&dir, rt->root, id, &unread) < 0 || state_dir_read(&dir, &state, &unread) < 0)
		return status;
	await_supervisor(&state.supervisor);
	oci_runtime_state_free(&state);
	return read_exit(&dir, status);
}

int lifecycle_wait_exec(pid_t pid)
{
	struct forwarding f = { .pid = pid };

	return wait_for(pid, to_process, &f, NULL);
}
