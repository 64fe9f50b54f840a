/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run: see run.h. run_begin.c makes what is driven here; the end releases it in the reverse order, from wherever the beginning had
 * come to.
 */
#include "supervisor/run_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/processor.h"
#include "base/log.h"
#include "container/mountinfo.h"
#include "insn/store.h"
#include "supervisor/exit_codes.h"

/* ---- the loop ---- */

static bool asks_to_end(int signo)
{
	return signo == SIGINT || signo == SIGTERM || signo == SIGHUP || signo == SIGQUIT;
}

/* A host signal: 1 when the run ends by it, else the engine hands it on. */
static int on_outside(struct run *run, const struct event *event, struct run_result *result)
{
	if (event->signo == SIGALRM && run->request->timeout_ns) {
		result->end = RUN_TIMEOUT;
		return 1;
	}
	if (!asks_to_end(event->signo))
		return 0;
	if (run->last_request) {
		result->end = RUN_KILLED;
		run->last_request = event->signo;
		return 1;
	}
	run->last_request = event->signo;
	return 0;
}

static int tell_engine(struct run *run, const struct event *event, struct error *err)
{
	int r = engine_event(run->engine, event);

	return r < 0 ? error_set(err, -r, "%s", engine_failure(run->engine)) : 0;
}

int run_send_signal(struct run *run, int signo, struct error *err)
{
	return tell_engine(run, &(struct event){ .kind = EVENT_OUTSIDE, .signo = signo }, err);
}

void run_was_paused(struct run *run, uint64_t real_ns)
{
	pace_shift(&run->pace, real_ns);
}

bool run_is_waiting(const struct run *run)
{
	return run->waiting;
}

int run_start(struct run *run, struct error *err)
{
	struct error said = { 0 };
	int r;

	run->waiting = false;
	run_set_timer(run->request->timeout_ns);
	r = backend_first_seize(run->guest, err);
	if (r == 0)
		r = container_release(&run->container, err);
	if (r == 0)
		r = backend_join_start(run->guest, 0, err);
	if (r < 0 && container_exec_error(&run->container, &said) == 1)
		*err = said;
	return r;
}

/* The engine knows of it by now, so it has to know of its end: as an event where the backend has buried it already. */
static void join_failed(struct run *run, pid_t pid, int task, bool buried)
{
	struct error unread = { 0 };

	if (buried)
		(void)tell_engine(run, &(struct event){ .kind = EVENT_EXIT, .task = task }, &unread);
	else
		(void)kill(pid, SIGKILL);
}

int run_join(struct run *run, pid_t pid, int channel, unsigned preserved, int *ret_status, struct error *err)
{
	struct container joining = CONTAINER_NONE;
	struct error said = { 0 };
	struct event event;
	int outside[MAX_OUTSIDE + 1], r;

	*ret_status = EXIT_CODE_TOOL;
	joining.channel = channel;
	run_list_outside(outside, preserved);
	r = backend_join_attach(run->guest, pid, outside, &event, err);
	if (r < 0)
		(void)kill(pid, SIGKILL);
	else
		r = tell_engine(run, &event, err);
	if (r == 0) {
		r = container_release(&joining, err);
		if (r == 0)
			r = backend_join_start(run->guest, event.task, err);
		if (r < 0)
			join_failed(run, pid, event.task, r == -ECHILD);
	}
	if (r < 0 && container_exec_error(&joining, &said) == 1) {
		*err = said;
		*ret_status = joining.failure_status;
	}
	(void)close(channel);
	return r;
}

/* A host signal of a run that somebody watches over. 1 when the run ends by it. */
static int on_host_signal(struct run *run, const struct event *event, struct run_result *result, struct error *err)
{
	const struct run_host *host = run->request->host;
	int r;

	if (event->signo == SIGALRM && run->request->timeout_ns) {
		result->end = RUN_TIMEOUT;
		return 1;
	}
	r = host->signal(host->arg, run, event->signo, err);
	if (r == 1) {
		result->end = RUN_KILLED;
		run->last_request = SIGKILL;
	}
	return r;
}

/* Waits for one event and tells the engine. 1 when the run ends by it. */
static int take_event(struct run *run, struct run_result *result, struct error *err)
{
	const struct run_host *host = run->request->host;
	struct event event = { 0 };
	int r;

	r = run->guest->ops->wait(run->guest, &event);
	if (r < 0)
		return error_errno(err, -r, "waiting for the guest");
	if (event.kind == EVENT_OUTSIDE && event.signo == 0)
		return tell_engine(run, &event, err);
	if (event.kind == EVENT_OUTSIDE && host)
		return on_host_signal(run, &event, result, err);
	if (event.kind == EVENT_OUTSIDE && on_outside(run, &event, result))
		return 1;
	if (event.kind == EVENT_CALL && event.task == 0 && !run->executed && event.call.nr == SYS_exit_group)
		run->exec_errno = (int)(event.call.args[0] >> CONTAINER_ERRNO_SHIFT & 0xfff);
	if (event.kind == EVENT_EXEC && event.task == 0 && !run->executed) {
		run->executed = true;
		if (host && host->executed)
			host->executed(host->arg);
	}
	return tell_engine(run, &event, err);
}

/* Carries out one step. 1 when it was the last one. */
static int do_step(struct run *run, const struct step *step, struct run_result *result, struct error *err)
{
	int r;

	switch (step->kind) {
	case STEP_RESUME:
		r = run->guest->ops->resume(run->guest, step->task, &step->verdict);
		if (r < 0)
			return error_errno(err, -r, "letting task %d go on", step->task);
		return step->no_event ? 0 : take_event(run, result, err);
	case STEP_WAIT:
		return take_event(run, result, err);
	case STEP_END:
		result->end = RUN_EXITED;
		result->wait_status = step->exit_status;
		return 1;
	case STEP_DEADLOCK:
		result->end = RUN_DEADLOCK;
		return 1;
	case STEP_MISFIT:
		result->end = RUN_MISFIT;
		return 1;
	case STEP_STOPPED:
		result->end = RUN_STOPPED;
		return 1;
	case STEP_REFUSED:
		result->end = RUN_REFUSED;
		return 1;
	}
	return error_set(err, EINVAL, "step of unknown kind %d", (int)step->kind);
}

static int loop(struct run *run, struct run_result *result, struct error *err)
{
	struct step step;
	int r;

	do {
		if (run->tsc_faults && processor_tsc_is_back())
			processor_tsc_forgo();
		r = engine_next(run->engine, &step);
		if (r < 0)
			return error_set(err, -r, "%s", engine_failure(run->engine));
		r = do_step(run, &step, result, err);
	} while (r == 0);
	return r < 0 ? r : 0;
}

/* ---- the end ---- */

static int explain_exec(const struct run *run, struct error *err)
{
	const char *program = run->spec.argv ? run->spec.argv[0] : "the container's program";

	switch (run->exec_errno) {
	case 0:
	case ENOEXEC:
		return error_set(err, ENOEXEC, "cannot execute '%s': exec format error: is it a program for 64-bit x86, or a script for one?",
				 program);
	case ENOENT:
		return error_set(err, ENOENT, "cannot execute '%s': the program that is to read it, as its first line or its header says, does not "
					      "exist in the container", program);
	default:
		return error_errno(err, run->exec_errno, "cannot execute '%s'", program);
	}
}

/* The kernel kills a guest whose program turns out to be broken when the old one is gone already; other signals somebody has sent. */
static bool is_killed_by_exec(int wait_status)
{
	return WIFSIGNALED(wait_status) && (WTERMSIG(wait_status) == SIGSEGV || WTERMSIG(wait_status) == SIGKILL);
}

/* The guest ended before its program was loaded: its own status is then the tool's word for why. */
static int check_start(struct run *run, struct run_result *result, struct error *err)
{
	int r;

	if (run->waiting || run->executed || result->end != RUN_EXITED || (WIFSIGNALED(result->wait_status) && !is_killed_by_exec(result->wait_status)))
		return 0;
	r = container_exec_error(&run->container, err);
	if (r == 0)
		(void)explain_exec(run, err);
	if (r == 0 && WIFSIGNALED(result->wait_status))
		result->exit_code = EXIT_CODE_NOT_EXECUTABLE;
	else if (result->exit_code < EXIT_CODE_TOOL || result->exit_code > EXIT_CODE_NOT_FOUND)
		result->exit_code = EXIT_CODE_TOOL;
	return err->code ? -err->code : -ENOEXEC;
}

static void end(struct run *run)
{
	if (run->tsc_faults)
		processor_tsc_take_back();
	run_set_timer(0);
	run->engine = engine_free(run->engine);
	run->code = insn_store_free(run->code);
	free(run->cpuinfo);
	run->guest = backend_close(run->guest);
	if (run->has_container)
		container_destroy(&run->container);
	relay_finish(&run->relay);
	run->filter = backend_filter_free(run->filter);
	run_restore_terminal(run);
	run_unblock_signals(run);
}

/* Who has just built a program in /tmp does not expect that it is missing. */
static void explain_tmp(const struct container_spec *spec, int exit_code, struct error *err)
{
	if (exit_code == EXIT_CODE_NOT_FOUND && spec->private_tmp && path_is_under(spec->argv[0], "/tmp"))
		(void)error_set(err, err->code, "cannot execute %s: no such file or directory: /tmp is one of the run's own; --tmp=/tmp shows the host's",
				spec->argv[0]);
}

int run_guest(const struct run_request *request, struct run_result *ret, struct error *err)
{
	struct run run = { .request = request, .spec = *request->spec };
	struct error unread = { 0 };
	int r;

	*ret = (struct run_result){ .exit_code = EXIT_CODE_TOOL };
	err = err ? err : &unread;
	err->code = 0;
	r = run_begin(&run, err);
	if (r < 0 && !run.has_container && run.container.failure_status) {
		ret->exit_code = run.container.failure_status;
		explain_tmp(&run.spec, ret->exit_code, err);
	}
	if (r == 0)
		r = loop(&run, ret, err);
	if (r == 0) {
		run_report(&run, ret);
		r = check_start(&run, ret, err);
	}
	end(&run);
	return r;
}
