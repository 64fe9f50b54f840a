/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One run: see run.h.
 *
 * Order of beginning: signals are blocked, so that none is lost or does its default; the filter is compiled; the container
 * is made; the backend seizes the guest's first process; that one is let go, installs the filter, gives up its listener; the
 * engine takes over. The end is the reverse, from wherever the beginning had come to.
 */
#include "supervisor/run.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/processor.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/parse.h"
#include "insn/store.h"
#include "supervisor/exit_codes.h"
#include "supervisor/oci/pace.h"
#include "supervisor/processor_view.h"
#include "supervisor/relay.h"

enum {
	MAX_SIGNALS = 16,
	MAX_OUTSIDE = 32,
};

/* Real time after which a silent guest is looked at: is it computing, or asleep in the kernel? */
#define WATCHDOG_NS (200 * 1000000ull)

static const int forwarded_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGUSR1, SIGUSR2 };

struct terminal_state {
	bool saved;
	struct termios modes;
};

struct run {
	const struct run_request *request;
	struct container_spec spec; /* the request's, completed */
	int signals[MAX_SIGNALS + 1]; /* ended by 0 */
	sigset_t old_mask;
	bool mask_changed;
	struct terminal_state terminal;
	unsigned cpu;
	struct backend_filter *filter;
	struct container container;
	bool has_container;
	struct relay relay; /* of the guest's own terminal, if it has one */
	struct guest *guest;
	struct engine *engine;
	bool tsc_faults;
	struct pace pace;
	struct insn_store *code; /* NULL: instructions stay as they are */
	struct processor_answers processor;
	char *cpuinfo; /* the engine's for the run */
	uint64_t start_ns; /* host_clock_ns() */
	bool executed; /* the program was loaded */
	int last_request; /* the signal that asked the guest to end, 0: none yet */
};

/* ---- host signals ---- */

static bool is_ignored(int signo)
{
	struct sigaction action;

	return sigaction(signo, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN;
}

/* What nohup or a shell's & has made ignored stays so. A terminal of the guest's own tells it about its size itself. */
static void choose_signals(struct run *run)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(forwarded_signals); i++)
		if (!is_ignored(forwarded_signals[i]) && !(run->spec.terminal && forwarded_signals[i] == SIGWINCH))
			run->signals[n++] = forwarded_signals[i];
	if (run->request->timeout_ns)
		run->signals[n++] = SIGALRM;
	run->signals[n] = 0;
}

static int block_signals(struct run *run, struct error *err)
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
static void unblock_signals(struct run *run)
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

static void set_timer(uint64_t ns)
{
	struct itimerval timer = {
		.it_value = { .tv_sec = (time_t)(ns / NS_PER_S), .tv_usec = (suseconds_t)(ns % NS_PER_S / 1000) },
	};

	if (ns && !timer.it_value.tv_sec && !timer.it_value.tv_usec)
		timer.it_value.tv_usec = 1;
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- the caller's terminal ---- */

static void terminal_save(struct terminal_state *t)
{
	t->saved = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &t->modes) == 0;
}

/* The guest may have died with echo off. In the background this would stop us, so SIGTTOU is blocked meanwhile. */
static void terminal_restore(const struct terminal_state *t)
{
	struct termios now;
	sigset_t set, old;

	if (!t->saved || tcgetattr(STDIN_FILENO, &now) < 0 || !memcmp(&now, &t->modes, sizeof(now)))
		return;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &set, &old);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t->modes);
	(void)sigprocmask(SIG_SETMASK, &old, NULL);
}

/* ---- beginning ---- */

/* One that a container which exists already may use. */
static int allowed_cpu(pid_t pid, int wish)
{
	cpu_set_t allowed;

	if (sched_getaffinity(pid, sizeof(allowed), &allowed) < 0 || wish < 0 || wish >= CPU_SETSIZE || CPU_ISSET(wish, &allowed))
		return wish;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			return cpu;
	return wish;
}

static void choose_cpu(struct run *run)
{
	int cpu = sched_getcpu();

	if (run->request->host && !run->request->host->adopt)
		cpu = allowed_cpu(run->container.guest_pid, cpu);
	run->cpu = cpu < 0 ? 0 : (unsigned)cpu;
	run->spec.pin_cpu = !run->request->no_pin && cpu >= 0;
	run->spec.cpu = run->cpu;
}

/* The descriptors of a guest that come from outside: the standard ones, and those after them that were preserved. */
static void list_outside(int fds[MAX_OUTSIDE + 1], unsigned preserved)
{
	unsigned n = STDERR_FILENO + 1 + preserved;

	n = n < MAX_OUTSIDE ? n : MAX_OUTSIDE;
	for (unsigned fd = 0; fd < n; fd++)
		fds[fd] = (int)fd;
	fds[n] = -1;
}

/* Makes the container; the relay of its terminal where it has one. */
static int make_container(struct run *run, struct error *err)
{
	const struct engine_options *options = &run->request->engine;
	int r;

	run->filter = backend_filter_new(options->allow_uncontrolled, fault_needs_brk(options->faults, options->n_faults), err);
	if (!run->filter)
		return err->code ? -err->code : -ENOMEM;
	if (run->tsc_faults)
		backend_filter_fault_tsc(run->filter);
	run->spec.install_filter = backend_filter_install;
	run->spec.filter_arg = run->filter;
	r = container_create(&run->spec, &run->container, err);
	if (r < 0)
		return r;
	run->has_container = true;
	if (run->request->created)
		r = run->request->created(run->request->created_arg, run->container.guest_pid, err);
	if (r < 0)
		return r;
	return run->container.console_fd >= 0 ? relay_start(&run->relay, run->container.console_fd, err) : 0;
}

/* A container of another runtime: it is there, its program is about to be executed. */
static int adopt_guest(struct run *run, const struct backend_options *options, struct error *err)
{
	const struct run_host *host = run->request->host;
	struct backend_adoption found;
	int r;

	r = backend_adopt(options, host->adopt, &run->guest, &found, err);
	if (r == 0 && host->adopted)
		host->adopted(host->arg, &found);
	return r;
}

static int start_guest(struct run *run, struct error *err)
{
	const struct run_host *host = run->request->host;
	int outside[MAX_OUTSIDE + 1];
	struct backend_options options = {
		.cpu = run->cpu,
		.pin = run->spec.pin_cpu,
		.outside_fds = outside,
		.watchdog_ns = WATCHDOG_NS,
		.host_signals = run->signals,
		.listener_made = host ? host->listener_made : NULL,
		.listener_arg = host ? host->arg : NULL,
		.code = run->code,
		.tsc_faults = run->tsc_faults,
		.processor = &run->processor,
		.spin_limit_ns = run->request->spin_limit_ns,
		.place_modules = run->request->place_modules,
		.n_place_modules = run->request->n_place_modules,
		.order = run->request->engine.order,
		.passes = backend_filter_passes,
		.places_budget = run->request->engine.chaos.preempt_budget,
	};
	struct error said = { 0 };
	int r;

	list_outside(outside, run->spec.preserve_fds);
	if (host && host->adopt)
		return adopt_guest(run, &options, err);
	r = host ? 0 : make_container(run, err);
	if (r < 0)
		return r;
	r = backend_attach(&options, run->container.guest_pid, &run->guest, err);
	if (r < 0)
		return r;
	r = container_release(&run->container, err);
	if (r < 0)
		return r;
	r = backend_start(run->guest, err);
	if (r < 0 && container_exec_error(&run->container, &said) == 1)
		*err = said;
	return r;
}

/* What the container was told to set is what the guest is shown. */
static void apply_limits(const struct run *run, struct rlimit limits[LIMITS_COUNT])
{
	for (unsigned i = 0; i < LIMITS_COUNT; i++)
		limits[i] = *limits_default(i);
	for (size_t i = 0; i < run->spec.n_rlimits; i++)
		if ((unsigned)run->spec.rlimits[i].resource < LIMITS_COUNT)
			limits[run->spec.rlimits[i].resource] = run->spec.rlimits[i].limit;
}

/* What concerns the caller as a program in the foreground. */
static int take_foreground(struct run *run, struct error *err)
{
	int r;

	r = container_enter_userns(err);
	if (r < 0)
		return r;
	choose_signals(run);
	r = block_signals(run, err);
	if (r < 0)
		return r;
	terminal_save(&run->terminal);
	return 0;
}

/* The container is ours from now on, whatever comes. */
static int take_host(struct run *run, struct error *err)
{
	const struct run_host *host = run->request->host;
	size_t n = 0;

	run->container = CONTAINER_NONE;
	if (host->container) {
		run->container = *host->container;
		run->has_container = true;
		*host->container = CONTAINER_NONE;
	}
	for (size_t i = 0; host->signals[i] && n < MAX_SIGNALS - 1; i++)
		run->signals[n++] = host->signals[i];
	if (run->request->timeout_ns)
		run->signals[n++] = SIGALRM;
	return block_signals(run, err);
}

static int make_engine(struct run *run, struct error *err)
{
	struct engine_options options = run->request->engine;
	struct rlimit limits[LIMITS_COUNT];
	int r, vtid, vpid;

	r = backend_first_ids(run->guest, &vtid, &vpid);
	if (r < 0)
		return error_errno(err, -r, "the guest's ids");
	if (run->request->host && run->request->host->adopt)
		vtid = vpid; /* whichever thread of the runtime executes the program becomes the first one */
	apply_limits(run, limits);
	options.limits = limits;
	options.pace = run->request->pace ? pace_left_ms : NULL;
	options.pace_arg = &run->pace;
	r = processor_describe(&options, &run->processor, &run->cpuinfo, err);
	if (r < 0)
		return r;
	run->engine = engine_new(&options, run->guest, vtid, vpid);
	return run->engine ? 0 : error_errno(err, ENOMEM, "engine");
}

/* The processor that is shown, and where its instructions are to be replaced. Before the user namespace: the cache is the user's. */
static int prepare_processor(struct run *run, struct error *err)
{
	const struct run_request *request = run->request;
	int r;

	r = processor_check(&request->engine, &run->processor, err);
	if (r < 0 || request->engine.keep_instructions)
		return r;
	run->tsc_faults = request->tsc != RUN_TSC_REPLACE && !request->host && processor_tsc_faults();
	if (request->tsc == RUN_TSC_FAULT && !request->host && !run->tsc_faults)
		return error_set(err, ENOTSUP, "--tsc=fault: RDTSC cannot be made to fault on this host; --tsc=replace works everywhere");
	run->code = insn_store_new(request->cache_dir);
	return run->code ? 0 : error_errno(err, ENOMEM, "maps of instructions");
}

/* Said at once: the program may go on for long. */
static void on_uncontrolled(void *arg, struct engine *e, const char *what, const char *where)
{
	const struct run *run = arg;

	(void)e;
	if (!strcmp(what, UNCONTROLLED_LOOP) && !run->request->quiet && !run->request->engine.strict)
		log_warning("%s: %s; from here on another run may go another way", what, where);
}

static int begin(struct run *run, struct error *err)
{
	const struct run_request *request = run->request;
	int r;

	run->start_ns = host_clock_ns();
	r = prepare_processor(run, err);
	if (r < 0)
		return r;
	r = request->host ? take_host(run, err) : take_foreground(run, err);
	if (r < 0)
		return r;
	choose_cpu(run);
	r = start_guest(run, err);
	if (r == 0)
		r = make_engine(run, err);
	if (r < 0)
		return r;
	if (run->tsc_faults)
		processor_tsc_forgo();
	engine_observe(run->engine, &(struct engine_observer){ .uncontrolled = on_uncontrolled, .arg = run });
	for (size_t i = 0; i < request->n_observers; i++)
		engine_observe(run->engine, &request->observers[i]);
	set_timer(request->timeout_ns);
	return 0;
}

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
	list_outside(outside, preserved);
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
	if (event.kind == EVENT_EXEC && !run->executed) {
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

static void list_uncontrolled(struct run *run, struct run_result *result)
{
	const struct uncontrolled *list;
	size_t n;

	list = engine_uncontrolled(run->engine, &n);
	for (size_t i = 0; i < n; i++) {
		result->n_uncontrolled += list[i].count;
		if (run->request->quiet)
			continue;
		if (list[i].count > 1)
			log_error("uncontrolled: %s: %s (%" PRIu64 " times)", list[i].what, list[i].where, list[i].count);
		else
			log_error("uncontrolled: %s: %s", list[i].what, list[i].where);
	}
}

static void describe_waiters(struct run *run)
{
	_cleanup_free_ char *waiters = engine_describe_waiters(run->engine);
	char *line, *rest = waiters;

	while (rest && (line = strsep(&rest, "\n")))
		if (*line)
			log_error("%s", line);
}

static void describe_deadlock(struct run *run)
{
	log_error("deadlock: nobody can ever go on, at turn %" PRIu64, engine_turn(run->engine));
	describe_waiters(run);
}

static void describe_stop(struct run *run)
{
	log_error("stopped at turn %" PRIu64, engine_turn(run->engine));
	describe_waiters(run);
}

/* What ended a strict run: a wish that is not modelled was refused; anything else had happened already. */
static bool was_a_wish(const struct run *run)
{
	static const char *const wishes[] = { "not modelled", "unknown system call" };
	const struct uncontrolled *list;
	size_t n;

	list = engine_uncontrolled(run->engine, &n);
	for (size_t i = 0; n > 0 && i < ARRAY_SIZE(wishes); i++)
		if (!strcmp(list[n - 1].what, wishes[i]))
			return true;
	return false;
}

static int exit_code_of(const struct run *run, const struct run_result *result)
{
	switch (result->end) {
	case RUN_EXITED:
		return WIFSIGNALED(result->wait_status) ? EXIT_CODE_SIGNAL_BASE + WTERMSIG(result->wait_status)
							: WEXITSTATUS(result->wait_status);
	case RUN_DEADLOCK:
		return EXIT_CODE_DEADLOCK;
	case RUN_MISFIT:
		return EXIT_CODE_MISFIT;
	case RUN_STOPPED:
		return EXIT_CODE_STOPPED;
	case RUN_REFUSED:
		return was_a_wish(run) ? EXIT_CODE_REFUSED : EXIT_CODE_UNCONTROLLED;
	case RUN_TIMEOUT:
		return EXIT_CODE_TIMEOUT;
	case RUN_KILLED:
		return EXIT_CODE_SIGNAL_BASE + run->last_request;
	}
	return EXIT_CODE_TOOL;
}

static void report(struct run *run, struct run_result *result)
{
	char buf[FORMAT_SIZE];

	switch (result->end) {
	case RUN_DEADLOCK:
		describe_deadlock(run);
		break;
	case RUN_MISFIT:
		log_error("%s: %s", run->request->engine.chooser ? "the program no longer fits the schedule"
								   : "the order that was asked for cannot be kept",
			  engine_failure(run->engine));
		break;
	case RUN_STOPPED:
		describe_stop(run);
		break;
	case RUN_REFUSED:
		log_error("%s under --strict: %s", was_a_wish(run) ? "refused" : "ended", engine_failure(run->engine));
		break;
	case RUN_TIMEOUT:
		log_error("the time limit of %s s is over at turn %" PRIu64 "; everything was killed",
			  format_duration_ns(run->request->timeout_ns, buf), engine_turn(run->engine));
		break;
	case RUN_KILLED:
	case RUN_EXITED:
		break;
	}
	list_uncontrolled(run, result);
	result->exit_code = exit_code_of(run, result);
	result->turns = engine_turn(run->engine);
	result->virtual_ns = engine_now_ns(run->engine);
	result->real_ns = host_clock_ns() - run->start_ns;
	result->tsc_faults = run->tsc_faults;
	result->stats = *engine_stats(run->engine);
	result->preempt_cost = run->guest->preempt_cost;
	for (size_t i = 0; i < ORDER_ANCHORS_MAX; i++)
		result->anchors_seen[i] = engine_anchor_seen(run->engine, i);
}

/* The guest ended before its program was loaded: its own status is then the tool's word for why. */
static int check_start(struct run *run, struct run_result *result, struct error *err)
{
	int r;

	if (run->executed || result->end != RUN_EXITED)
		return 0;
	r = container_exec_error(&run->container, err);
	if (r == 0)
		(void)error_set(err, ENOEXEC, "cannot execute '%s': is it a program for 64-bit x86, or a script for one?",
				run->spec.argv ? run->spec.argv[0] : "the container's program");
	if (result->exit_code < EXIT_CODE_TOOL || result->exit_code > EXIT_CODE_NOT_FOUND)
		result->exit_code = EXIT_CODE_TOOL;
	return err->code ? -err->code : -ENOEXEC;
}

static void end(struct run *run)
{
	if (run->tsc_faults)
		processor_tsc_take_back();
	set_timer(0);
	run->engine = engine_free(run->engine);
	run->code = insn_store_free(run->code);
	free(run->cpuinfo);
	run->guest = backend_close(run->guest);
	if (run->has_container)
		container_destroy(&run->container);
	relay_finish(&run->relay);
	run->filter = backend_filter_free(run->filter);
	terminal_restore(&run->terminal);
	unblock_signals(run);
}

int run_guest(const struct run_request *request, struct run_result *ret, struct error *err)
{
	struct run run = { .request = request, .spec = *request->spec };
	struct error unread = { 0 };
	int r;

	*ret = (struct run_result){ .exit_code = EXIT_CODE_TOOL };
	err = err ? err : &unread;
	err->code = 0;
	r = begin(&run, err);
	if (r < 0 && !run.has_container && run.container.failure_status)
		ret->exit_code = run.container.failure_status;
	if (r == 0)
		r = loop(&run, ret, err);
	if (r == 0) {
		report(&run, ret);
		r = check_start(&run, ret, err);
	}
	end(&run);
	return r;
}
