/* SPDX-License-Identifier: BSD-3-Clause */
/* Start and end of the backend: see backend.h. */
#include "backend/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/notify/filter.h"
#include "backend/notify/notify.h"
#include "backend/notify/start.h"
#include "backend/notify/vdso.h"
#include "base/cleanup.h"

static int first_task(struct notify *n, pid_t guest_pid)
{
	struct proc_ids ids;
	int r;

	r = procfs_ids(n, guest_pid, 0, &ids);
	if (r < 0)
		return r;
	n->pid_depth = ids.depth;
	n->pid_namespace = procfs_open(n, guest_pid, "ns/pid", O_RDONLY);
	return tasks_add(&n->tasks, guest_pid, ids.tgid, ids.vpid) ? 0 : -ENOMEM;
}

static int watchdog_ms(uint64_t ns)
{
	uint64_t ms = ns / 1000000 + (ns % 1000000 != 0);

	if (ns == 0)
		return -1;
	return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

struct notify *start_new(const struct backend_options *options)
{
	struct notify *n;

	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->guest.ops = &notify_ops;
	n->guest.abilities = GUEST_CAN_HOOK | GUEST_CAN_PATCH | GUEST_CAN_STEP;
	n->first_pidfd = options->first_waits ? options->first_pidfd : -1;
	n->signal_fd = n->proc_fd = n->root_fd = n->pid_namespace = n->clock_page_fd = -1;
	n->network = options->network;
	n->code = options->code;
	n->faulting_kinds = options->tsc_faults ? INSN_KINDS_TSC : 0;
	n->kinds = options->tsc_stays ? INSN_KINDS_ALL & ~n->faulting_kinds : INSN_KINDS_ALL;
	n->processor = options->processor;
	n->spin_limit_ms = options->spin_limit_ns / 1000000;
	n->self = getpid();
	n->euid = geteuid();
	n->terminal_probe.master = n->terminal_probe.slave = -1;
	n->probe.send_fd = n->probe.receive_fd = n->probe.stat_fd = -1;
	n->watchdog_ms = watchdog_ms(options->watchdog_ns);
	n->listener_made = options->listener_made;
	n->listener_arg = options->listener_arg;
	handles_init(n);
	n->own_polls = calloc(OWN_POLLS_BESIDE, sizeof(*n->own_polls));
	if (n->own_polls && points_init(n, options) == 0)
		return n;
	free(n->own_polls);
	free(n);
	return NULL;
}

int start_open_proc(struct notify *n, struct error *err)
{
	n->proc_fd = n->proc_fd < 0 ? open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC) : n->proc_fd;
	return n->proc_fd < 0 ? error_errno(err, errno, "cannot open /proc") : 0;
}

int start_look_around(struct notify *n, const struct notify_task *t, const char *whose, struct error *err)
{
	int r;

	r = paths_init(n, t->tid);
	if (r < 0)
		return error_errno(err, -r, "cannot open the %s's root directory", whose);
	r = objects_init(n, t->tid);
	return r < 0 ? error_errno(err, -r, "cannot read the %s's mounts", whose) : 0;
}

static int begin_without_first(struct notify *n, struct error *err)
{
	struct notify_task *t = notify_find(&n->guest, 0);

	t->where = WHERE_OUTSIDE;
	clockpage_init(n);
	return start_look_around(n, t, "guest", err);
}

int start_attach(struct notify *n, const struct backend_options *options, pid_t guest_pid, struct error *err)
{
	int r;

	r = start_open_proc(n, err);
	if (r < 0)
		return r;
	r = surroundings_take(n, options, guest_pid, err);
	if (r < 0)
		return r;
	r = n->seized_early == guest_pid || options->first_waits ? 0 : companion_seize(guest_pid);
	if (r < 0)
		return error_errno(err, -r, "cannot trace the guest (ptrace of process %d)", (int)guest_pid);
	r = first_task(n, guest_pid);
	if (r < 0)
		return error_errno(err, -r, "cannot read the guest's ids in /proc/%d/status", (int)guest_pid);
	handles_note_outside(n, guest_pid, options->outside_fds);
	return options->first_waits ? begin_without_first(n, err) : 0;
}

int backend_attach(const struct backend_options *options, pid_t guest_pid, struct guest **ret_guest, struct error *err)
{
	struct notify *n;
	int r;

	if (options->no_companion)
		return error_set(err, ENOTSUP, "this backend cannot work without ptrace");
	n = start_new(options);
	if (!n)
		return error_errno(err, ENOMEM, "backend");
	r = start_attach(n, options, guest_pid, err);
	if (r < 0) {
		(void)backend_close(&n->guest);
		return r;
	}
	*ret_guest = &n->guest;
	return 0;
}

/* True when the task is at the breakpoint of backend_filter_install(). */
static bool at_handover(pid_t tid, int status, int *ret_fd)
{
	struct user_regs_struct regs;

	if (status >> 16 != 0 || WSTOPSIG(status) != SIGTRAP)
		return false;
	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) < 0 || regs.rax != FILTER_HANDOVER)
		return false;
	*ret_fd = (int)regs.rbx;
	return true;
}

/* Waits for the breakpoint; other signals are delivered as they come. */
static int await_handover(pid_t tid, int *ret_fd, struct error *err)
{
	int status, r;

	for (;;) {
		if (waitpid(tid, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return error_errno(err, errno, "waiting for the guest's filter");
		}
		if (WIFEXITED(status))
			return error_set(err, ECHILD, "the guest ended before its filter was installed, with status %d",
					 WEXITSTATUS(status));
		if (WIFSIGNALED(status))
			return error_set(err, ECHILD, "the guest was killed before its filter was installed, by signal %d",
					 WTERMSIG(status));
		if (at_handover(tid, status, ret_fd))
			return 0;
		r = companion_go(tid, status >> 16 ? 0 : WSTOPSIG(status));
		if (r < 0)
			return error_errno(err, -r, "the guest cannot go on");
	}
}

int start_take_listener(struct notify *n, struct notify_task *t, struct error *err)
{
	_cleanup_close_ int fd = -1;
	int guest_fd = -1, r;

	r = await_handover(t->tid, &guest_fd, err);
	if (r < 0) {
		/* it is reaped: nothing is left to be closed */
		if (r == -ECHILD)
			(void)tasks_bury(&n->tasks, t);
		return r;
	}
	fd = handles_borrow(n, t->tid, guest_fd);
	if (fd < 0)
		return error_errno(err, -fd, "cannot take the seccomp listener out of the guest");
	r = n->listener_made ? n->listener_made(n->listener_arg, fd) : 0;
	if (r == 0)
		r = listeners_add(n, fd);
	if (r < 0)
		return error_errno(err, -r, "seccomp listener");
	t->cookie.listener = take_fd(&fd);
	return 0;
}

int backend_start(struct guest *g, struct error *err)
{
	struct notify *n = notify_of(g);
	struct notify_task *t;
	int r;

	t = notify_find(g, 0);
	if (!t)
		return error_set(err, ESRCH, "the guest is gone");
	r = start_take_listener(n, t, err);
	if (r < 0)
		return r;
	clockpage_init(n);
	r = start_look_around(n, t, "guest", err);
	if (r < 0)
		return r;
	r = companion_go(t->tid, 0);
	return r < 0 ? error_errno(err, -r, "the guest cannot go on") : 0;
}

int backend_first_seize(struct guest *g, struct error *err)
{
	struct notify *n = notify_of(g);
	struct notify_task *t = notify_find(g, 0);
	int r;

	r = t && t->where == WHERE_OUTSIDE ? companion_seize(t->tid) : -ESRCH;
	if (r < 0)
		return error_errno(err, -r, "cannot trace the guest");
	t->where = WHERE_RUNNING;
	n->first_pidfd = -1;
	return 0;
}

/* The listener stays open until all are dead: without it their calls would be answered with ENOSYS, and they would run. */
static void kill_all(struct notify *n)
{
	struct notify_process *p, *tmp;
	int status;
	size_t i;
	pid_t tid;

	HASH_ITER(hh, n->tasks.processes, p, tmp)
		(void)kill(p->tgid, SIGKILL);
	for (i = 0; i < n->newborns.n; i++)
		(void)kill(n->newborns.tids[i], SIGKILL);
	if (!n->tasks.by_tid)
		return;
	do {
		tid = waitpid(-1, &status, __WCLONE);
		if (tid > 0 && WIFSTOPPED(status))
			(void)kill(tid, SIGKILL); /* a newborn that was not known yet */
	} while (tid > 0 || errno == EINTR);
}

struct guest *backend_close(struct guest *g)
{
	struct notify *n;

	if (!g)
		return NULL;
	n = notify_of(g);
	kill_all(n);
	listeners_deinit(n);
	free(n->own_polls);
	settle_deinit(n);
	settle_terminals_deinit(n);
	handles_deinit(n);
	surroundings_give_back(n);
	cleanup_close(&n->proc_fd);
	paths_deinit(n);
	cleanup_close(&n->pid_namespace);
	queue_deinit(&n->queue);
	newborns_deinit(&n->newborns);
	deaths_deinit(&n->deaths);
	tasks_deinit(&n->tasks);
	n->vdso = vdso_free(n->vdso);
	clockpage_deinit(n);
	objects_deinit(n);
	points_deinit(n);
	free(n->objects.ids);
	free(n);
	return NULL;
}
