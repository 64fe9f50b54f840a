/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend "notify" with guests of one thread: signals, stops and deaths. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "drive.h"

static int guest_exits(void)
{
	return 7;
}

static siginfo_t got_info;
static volatile int got_signals;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	got_info = *info;
	got_signals++;
}

static void install_handler(int signo, int flags)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags };

	check_int(sigaction(signo, &sa, NULL), 0);
}

static int guest_gets_signals(void)
{
	sigset_t set;

	install_handler(SIGALRM, 0);
	install_handler(SIGUSR1, SA_RESTART);
	check_int(mark(1, 0, 0, 0), -1);
	check_int(errno, EINTR);
	check_int(got_signals, 1);
	check_int(got_info.si_code, SI_KERNEL);
	check_int(mark(2, 0, 0, 0), 55);
	check_int(got_signals, 2);
	check_int(got_info.si_code, SI_QUEUE);
	check_int(got_info.si_value.sival_int, 99);
	check_int(raise(SIGUSR1), 0);
	check_int(got_signals, 2);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	check_int(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	check_int(mark(3, 0, 0, 0), 0);
	check_int(sigwaitinfo(&set, NULL), SIGUSR2);
	install_handler(SIGUSR2, 0);
	check_int(mark(4, 0, 0, 0), 0);
	check_int(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
	check_int(got_info.si_uid, 22);
	return 0;
}

static int send_usr2(struct drive *d, uid_t uid)
{
	siginfo_t info = { .si_signo = SIGUSR2, .si_code = SI_USER, .si_pid = 7, .si_uid = uid };

	return d->g->ops->signal_send(d->g, 0, false, &info);
}

static void test_signals(struct drive *d)
{
	siginfo_t timer = { .si_signo = SIGALRM, .si_code = SI_KERNEL }, queued = { .si_signo = SIGUSR1, .si_code = SI_QUEUE };
	const struct guest_ops *ops = d->g->ops;
	struct signal_state state;
	struct event event;

	(void)drive_until(d, 1);
	check_int(ops->signal_send(d->g, 0, false, &timer), 0);
	check_int(ops->signal_state(d->g, 0, &state), 0);
	check_int(state.process_pending, 1u << (SIGALRM - 1));
	check_int(state.thread_pending, 0);
	check(state.caught & 1u << (SIGUSR1 - 1));
	drive_resume(d, 0, (struct verdict){ .kind = VERDICT_RESTART, .value = -512 });
	event = drive_next(d);
	check_int(event.kind, EVENT_SIGNAL);
	check_int(event.siginfo.si_code, SI_KERNEL);
	drive_pass(d, &event);

	(void)drive_until(d, 2);
	queued.si_value.sival_int = 99;
	check_int(ops->signal_send(d->g, 0, true, &queued), 0);
	check_int(ops->signal_state(d->g, 0, &state), 0);
	check_int(state.thread_pending, 1u << (SIGUSR1 - 1));
	drive_resume(d, 0, (struct verdict){ .kind = VERDICT_RESTART, .value = -512 });
	event = drive_next(d);
	check_int(event.kind, EVENT_SIGNAL);
	check_int(event.siginfo.si_code, SI_QUEUE);
	drive_pass(d, &event);
	(void)drive_until(d, 2); /* restarted after the handler */
	drive_answer(d, 0, 55);

	event = drive_until_kind(d, EVENT_SIGNAL); /* swallowed */
	drive_resume(d, 0, (struct verdict){ .kind = VERDICT_SIGNAL });

	(void)drive_until(d, 3);
	check_int(ops->signal_state(d->g, 0, &state), 0);
	check(state.blocked & 1u << (SIGUSR2 - 1));
	/* the first is taken without delivery; of the others the first one counts */
	check_int(send_usr2(d, 11), 0);
	drive_answer(d, 0, 0);
	(void)drive_until(d, 4);
	check_int(send_usr2(d, 22), 0);
	check_int(send_usr2(d, 33), 0);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

static int guest_crashes(void)
{
	volatile uintptr_t bad = 8;

	*(volatile char *)bad = 1;
	return 0;
}

static void test_fault(struct drive *d)
{
	struct event event;

	event = drive_until_kind(d, EVENT_SIGNAL);
	check_int(event.siginfo.si_signo, SIGSEGV);
	check_int((intptr_t)event.siginfo.si_addr, 8);
	drive_pass(d, &event);
	drive_to_end(d);
}

static int guest_stops(void)
{
	check_int(raise(SIGSTOP), 0);
	check_int(mark(1, 0, 0, 0), 0);
	return 3;
}

static void test_stop_and_continue(struct drive *d)
{
	struct event event;

	event = drive_until_kind(d, EVENT_STOPPED);
	check_int(event.signo, SIGSTOP);
	drive_pass(d, &event);
	check_int(kill(d->pid, SIGCONT), 0);
	event = drive_next(d);
	check_int(event.kind, EVENT_CONTINUED);
	drive_pass(d, &event);
	event = drive_next(d);
	check_int(event.kind, EVENT_SIGNAL);
	check_int(event.siginfo.si_signo, SIGCONT);
	drive_pass(d, &event);
	(void)drive_until(d, 1);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

/* A look at the stack of a stopped task leaves it stopped. */
static void test_look_at_stopped(struct drive *d)
{
	struct event event;
	char *text;

	event = drive_until_kind(d, EVENT_STOPPED);
	check_int(d->g->ops->backtrace(d->g, 0, &text), 0);
	check(strstr(text, "guest_stops (") != NULL);
	free(text);
	drive_pass(d, &event);
	check_int(d->g->ops->backtrace(d->g, 0, &text), 0);
	check(strstr(text, "guest_stops (") != NULL);
	free(text);
	check_int(kill(d->pid, SIGCONT), 0);
	event = drive_next(d);
	check_int(event.kind, EVENT_CONTINUED);
	drive_pass(d, &event);
	drive_to_end(d);
	check_int(d->counts[EVENT_STOPPED], 1);
}

static void test_killed_while_parked(struct drive *d)
{
	struct event event;

	(void)drive_until_call(d, SYS_exit_group);
	check_int(kill(d->pid, SIGKILL), 0);
	event = drive_next(d);
	check_int(event.kind, EVENT_EXIT);
	check_int(event.wait_status, SIGKILL);
	check_int(d->g->ops->read(d->g, 0, 0, &event, 1), -ESRCH);
}

static void test_answer_after_death(struct drive *d)
{
	struct event event;
	siginfo_t info;

	(void)drive_until_call(d, SYS_exit_group);
	check_int(kill(d->pid, SIGKILL), 0);
	check_int(waitid(P_PID, (id_t)d->pid, &info, WEXITED | WNOWAIT | __WALL), 0);
	drive_answer(d, 0, 0);
	event = drive_next(d);
	check_int(event.kind, EVENT_EXIT);
}

static const struct scenario scenarios[] = {
	{ "signals", guest_gets_signals, test_signals, 0, false },
	{ "fault", guest_crashes, test_fault, SIGSEGV, false },
	{ "stop-and-continue", guest_stops, test_stop_and_continue, EXITED(3), false },
	{ "look-at-stopped", guest_stops, test_look_at_stopped, EXITED(3), false },
	{ "killed-while-parked", guest_exits, test_killed_while_parked, SIGKILL, false },
	{ "answer-after-death", guest_exits, test_answer_after_death, SIGKILL, false },
};

int main(int argc, char **argv)
{
	return drive_main(argc, argv, scenarios, ARRAY_SIZE(scenarios));
}
