/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The beginning of a run: see run_internal.h.
 *
 * Its order: signals are blocked, so that none is lost or does its default; the filter is compiled; the container is made; the backend
 * seizes the guest's first process; that one is let go, installs the filter, gives up its listener; the engine takes over.
 */
#include "supervisor/run_internal.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/processor.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "insn/store.h"

/* Real time after which a silent guest is looked at: is it computing, or asleep in the kernel? */
#define WATCHDOG_NS (200 * 1000000ull)

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
void run_list_outside(int fds[MAX_OUTSIDE + 1], unsigned preserved)
{
	unsigned n = STDERR_FILENO + 1 + preserved;

	n = n < MAX_OUTSIDE ? n : MAX_OUTSIDE;
	for (unsigned fd = 0; fd < n; fd++)
		fds[fd] = (int)fd;
	fds[n] = -1;
}

static int install_filter(void *filter)
{
	int r = backend_filter_prepare(filter);

	return r < 0 ? r : backend_filter_install(filter);
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
	run->spec.install_filter = install_filter;
	run->spec.filter_arg = run->filter;
	run->spec.traceable |= geteuid() != 0;
	r = container_create(&run->spec, &run->container, err);
	if (r < 0)
		return r;
	run->has_container = true;
	r = container_enter_its_users(&run->spec, &run->container, err);
	if (r == 0 && run->request->created)
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

/* Engines put links into a namespace that is new, too. */
static enum backend_network network_of(const struct run *run)
{
	const struct run_host *host = run->request->host;

	if (host && host->adopt)
		return BACKEND_NETWORK_JOINED;
	if (container_is_in_host_network(&run->spec))
		return BACKEND_NETWORK_HOST;
	return host || run->spec.n_joins ? BACKEND_NETWORK_JOINED : BACKEND_NETWORK_OWN;
}

static int start_guest(struct run *run, struct error *err)
{
	const struct run_host *host = run->request->host;
	int outside[MAX_OUTSIDE + 1];
	struct backend_options options = {
		.cpu = run->cpu,
		.pin = run->spec.pin_cpu,
		.outside_fds = outside,
		.network = network_of(run),
		.watchdog_ns = WATCHDOG_NS,
		.host_signals = run->signals,
		.listener_made = host ? host->listener_made : NULL,
		.listener_arg = host ? host->arg : NULL,
		.code = run->code,
		.tsc_faults = run->tsc_faults,
		.tsc_stays = run->request->tsc == RUN_TSC_FAULT,
		.processor = &run->processor,
		.spin_limit_ns = run->request->spin_limit_ns,
		.place_modules = run->request->place_modules,
		.n_place_modules = run->request->n_place_modules,
		.order = run->request->engine.order,
		.passes = backend_filter_passes,
		.places_budget = run->request->engine.chaos.preempt_budget,
		.first_waits = run->waiting,
		.first_pidfd = run->container.guest_pidfd,
	};
	struct error said = { 0 };
	int r;

	run_list_outside(outside, run->spec.preserve_fds);
	if (host && host->adopt)
		return adopt_guest(run, &options, err);
	r = host ? 0 : make_container(run, err);
	if (r < 0)
		return r;
	r = backend_attach(&options, run->container.guest_pid, &run->guest, err);
	if (r < 0 || run->waiting)
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

	/* With a user namespace of its own: the numbers in its maps are the caller's, who need not be root in a further one. */
	r = run->spec.namespaces & CLONE_NEWUSER ? 0 : container_enter_userns(err);
	if (r < 0)
		return r;
	run_choose_signals(run);
	r = run_block_signals(run, err);
	if (r < 0)
		return r;
	run_save_terminal(run);
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
	run->waiting = host->first_waits;
	for (size_t i = 0; host->signals[i] && n < MAX_SIGNALS - 1; i++)
		run->signals[n++] = host->signals[i];
	if (run->request->timeout_ns)
		run->signals[n++] = SIGALRM;
	return run_block_signals(run, err);
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
	options.first_waits = run->waiting;
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
	if (!request->host || !request->host->adopt)
		r = processor_choose_tsc(request->tsc, &run->tsc_faults, err);
	if (r < 0)
		return r;
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

int run_begin(struct run *run, struct error *err)
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
	/* Once for the whole run: what comes and goes there is not told apart. */
	if (!(request->host && request->host->adopt) && container_is_in_host_network(&run->spec))
		engine_report_uncontrolled(run->engine, "network", "the host's");
	run_set_timer(run->waiting ? 0 : request->timeout_ns);
	return 0;
}
