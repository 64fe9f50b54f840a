/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals to an exploration: see explore_signals.h. */
#include "supervisor/explore/explore_signals.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"

/* What nohup or a shell's & has made ignored stays so. */
static bool is_ignored(int signo)
{
	struct sigaction action;

	return sigaction(signo, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
}

int explore_signals_take(struct explore_signals *s, struct error *err)
{
	static const int all[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	sigset_t set;
	int r;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (is_ignored(all[i]))
			continue;
		(void)sigaddset(&set, all[i]);
		s->list[s->n++] = all[i];
	}
	if (sigprocmask(SIG_BLOCK, &set, &s->old) < 0)
		return error_errno(err, errno, "cannot block signals");
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd >= 0)
		return 0;
	r = error_errno(err, errno, "signals");
	(void)sigprocmask(SIG_SETMASK, &s->old, NULL);
	return r;
}

int explore_signals_came(const struct explore_signals *s)
{
	struct signalfd_siginfo info;

	return s->fd >= 0 && read(s->fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

void explore_signals_release(struct explore_signals *s)
{
	if (s->fd < 0)
		return;
	while (explore_signals_came(s))
		;
	cleanup_close(&s->fd);
	s->fd = -1;
	(void)sigprocmask(SIG_SETMASK, &s->old, NULL);
}

void explore_signals_stop(const struct explore_signals *s, pid_t pid)
{
	for (size_t i = 0; i < s->n; i++)
		(void)kill(pid, s->list[i]);
	if (s->n < 2)
		(void)kill(pid, SIGKILL);
}
