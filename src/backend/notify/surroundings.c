/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run changes of the supervisor's own process, and puts back at its end: signals, the limit of open files, the processor. */
#include "backend/notify/notify.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/error.h"

/* SIGCHLD must not be ignored, or the kernel would not tell of tracees; SIGPIPE must, since we write to guest pipes. */
static int take_signals_over(struct notify *n, const int *host_signals)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, standard = { .sa_handler = SIG_DFL };
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	for (; host_signals && *host_signals; host_signals++)
		sigaddset(&mask, *host_signals);
	n->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (n->signal_fd < 0)
		return -errno;
	if (sigprocmask(SIG_BLOCK, &mask, &n->old_mask) < 0 || sigaction(SIGPIPE, &ignore, &n->old_sigpipe) < 0 ||
	    sigaction(SIGCHLD, &standard, &n->old_sigchld) < 0)
		return -errno;
	return 0;
}

static void give_signals_back(struct notify *n)
{
	if (n->signal_fd < 0)
		return;
	(void)sigaction(SIGPIPE, &n->old_sigpipe, NULL);
	(void)sigaction(SIGCHLD, &n->old_sigchld, NULL);
	(void)sigprocmask(SIG_SETMASK, &n->old_mask, NULL);
	(void)close(n->signal_fd);
}

/* Handles are descriptors of ours: a guest that waits for many needs many. */
static int raise_descriptor_limit(struct notify *n)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &n->old_nofile) < 0)
		return -errno;
	limit = n->old_nofile;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}

int surroundings_pin(pid_t pid, unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(pid, sizeof(set), &set) < 0 ? -errno : 0;
}

static int pin(struct notify *n, pid_t guest_pid, unsigned cpu)
{
	size_t size = CPU_ALLOC_SIZE(CPU_SETSIZE);
	cpu_set_t *cpus;
	int r;

	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	cpus = CPU_ALLOC(CPU_SETSIZE);
	if (!cpus)
		return -ENOMEM;
	if (sched_getaffinity(0, size, cpus) < 0) {
		r = -errno;
		CPU_FREE(cpus);
		return r;
	}
	n->old_cpus = cpus;
	n->cpu = cpu;
	r = surroundings_pin(0, cpu);
	return r < 0 ? r : surroundings_pin(guest_pid, cpu);
}

int surroundings_take(struct notify *n, const struct backend_options *options, pid_t guest_pid, struct error *err)
{
	int r;

	r = take_signals_over(n, options->host_signals);
	if (r < 0)
		return error_errno(err, -r, "cannot take over signals");
	r = raise_descriptor_limit(n);
	if (r < 0)
		return error_errno(err, -r, "cannot raise the limit of open files");
	r = options->pin ? pin(n, guest_pid, options->cpu) : 0;
	return r < 0 ? error_errno(err, -r, "cannot pin supervisor and guest to CPU %u", options->cpu) : 0;
}

void surroundings_give_back(struct notify *n)
{
	give_signals_back(n);
	if (n->old_cpus) {
		(void)sched_setaffinity(0, CPU_ALLOC_SIZE(CPU_SETSIZE), n->old_cpus);
		CPU_FREE(n->old_cpus);
	}
	if (n->old_nofile.rlim_max)
		(void)setrlimit(RLIMIT_NOFILE, &n->old_nofile);
}
