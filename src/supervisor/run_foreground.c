/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What concerns the caller of a run as a program in the foreground: host signals, the time limit, the state of the caller's terminal.
 * See run_internal.h.
 */
#include "supervisor/run_internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

static const int forwarded_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGUSR1, SIGUSR2 };

/* ---- host signals ---- */

static bool is_ignored(int signo)
{
	struct sigaction action;

	return sigaction(signo, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
}

/* What nohup or a shell's & has made ignored stays so. A terminal of the guest's own tells it about its size itself. */
void run_choose_signals(struct run *run)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(forwarded_signals); i++)
		if (!is_ignored(forwarded_signals[i]) && !(run->spec.terminal && forwarded_signals[i] == SIGWINCH))
			run->signals[n++] = forwarded_signals[i];
	if (run->request->timeout_ns)
		run->signals[n++] = SIGALRM;
	run->signals[n] = 0;
}

int run_block_signals(struct run *run, struct error *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; run->signals[i]; i++)
		(void)sigaddset(&set, run->signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, &run->old_mask) < 0)
		return error_errno(err, errno, "cannot block signals");
	run->mask_changed = true;
	return 0;
}

/* Signals that came in the last moment have been about a run that is over. */
void run_unblock_signals(struct run *run)
{
	static const struct timespec at_once = { 0 };
	sigset_t set;

	if (!run->mask_changed)
		return;
	(void)sigemptyset(&set);
	for (size_t i = 0; run->signals[i]; i++)
		(void)sigaddset(&set, run->signals[i]);
	while (sigtimedwait(&set, NULL, &at_once) > 0)
		;
	(void)sigprocmask(SIG_SETMASK, &run->old_mask, NULL);
}

void run_set_timer(uint64_t ns)
{
	struct itimerval timer = {
		.it_value = { .tv_sec = (time_t)(ns / NS_PER_S), .tv_usec = (suseconds_t)(ns % NS_PER_S / 1000) },
	};

	if (ns && !timer.it_value.tv_sec && !timer.it_value.tv_usec)
		timer.it_value.tv_usec = 1;
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- the caller's terminal ---- */

void run_save_terminal(struct run *run)
{
	run->terminal.saved = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &run->terminal.modes) == 0;
}

/* The guest may have died with echo off. In the background this would stop us, so SIGTTOU is blocked meanwhile. */
void run_restore_terminal(struct run *run)
{
	struct termios now;
	sigset_t set, old;

	if (!run->terminal.saved || tcgetattr(STDIN_FILENO, &now) < 0 || !memcmp(&now, &run->terminal.modes, sizeof(now)))
		return;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &set, &old);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &run->terminal.modes);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
}
