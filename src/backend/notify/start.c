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

#include "backend/notify/adopt.h"
#include "backend/notify/filter.h"
#include "backend/notify/notify.h"
#include "backend/notify/vdso.h"
#include "base/cleanup.h"

static const struct guest_ops notify_ops = {
	.name = "notify",
	.resume = notify_resume,
	.wait = notify_wait,
	.read = notify_read,
	.write = notify_write,
	.read_string = notify_read_string,
	.memory_mapped = notify_memory_mapped,
	.futex_key = notify_futex_key,
	.fd_borrow = notify_fd_borrow,
	.fd_find = notify_fd_find,
	.handle_release = notify_handle_release,
	.handle_info = notify_handle_info,
	.handle_flags = notify_handle_flags,
	.handles_poll = notify_handles_poll,
	.handle_read = notify_handle_read,
	.handle_write = notify_handle_write,
	.pidfd_target = notify_pidfd_target,
	.set_args = notify_set_args,
	.set_limit = notify_set_limit,
	.path_info = notify_path_info,
	.path_bytes = notify_path_bytes,
	.path_hides = notify_path_hides,
	.path_stat = notify_path_stat,
	.handle_stat = notify_handle_stat,
	.handle_list = notify_handle_list,
	.handle_seek = notify_handle_seek,
	.beacon_new = notify_beacon_new,
	.beacon_set = notify_beacon_set,
	.beacons_held = notify_beacons_held,
	.outside_pending = notify_outside_pending,
	.handle_await = notify_handle_await,
	.handle_reach = notify_handle_reach,
	.handle_read_at = notify_handle_read_at,
	.fifo_has_partner = notify_fifo_has_partner,
	.fifo_hold = notify_fifo_hold,
	.handle_object = notify_handle_object,
	.handle_read_all = notify_handle_read_all,
	.handle_bind = notify_handle_bind,
	.handle_connect = notify_handle_connect,
	.handle_open_fast = notify_handle_open_fast,
	.handle_address = notify_handle_address,
	.handle_send = notify_handle_send,
	.handle_receive = notify_handle_receive,
	.handle_option = notify_handle_option,
	.handle_set_option = notify_handle_set_option,
	.network_ask = notify_network_ask,
	.network_listen = notify_network_listen,
	.signal_state = notify_signal_state,
	.signal_send = notify_signal_send,
	.signal_taken = notify_signal_taken,
	.exec_setup = notify_exec_setup,
	.seek_loop = notify_seek_loop,
	.code_mapped = notify_code_mapped,
	.handle_path = notify_handle_path,
	.settle_reaped = notify_settle_reaped,
	.settle_leader = notify_settle_leader,
	.settle_network = notify_settle_network,
	.settle_garbage = notify_settle_garbage,
	.settle_terminals = notify_settle_terminals,
	.terminal_stops = notify_terminal_stops,
	.credentials = notify_credentials,
	.backtrace = notify_backtrace,
};

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

static struct notify *notify_new(const struct backend_options *options)
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

static int open_proc(struct notify *n, struct error *err)
{
	n->proc_fd = n->proc_fd < 0 ? open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC) : n->proc_fd;
	return n->proc_fd < 0 ? error_errno(err, errno, "cannot open /proc") : 0;
}

/* What is asked about paths and files begins at its root and its mounts. */
static int look_around(struct notify *n, const struct notify_task *t, const char *whose, struct error *err)
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
	return look_around(n, t, "guest", err);
}

static int attach(struct notify *n, const struct backend_options *options, pid_t guest_pid, struct error *err)
{
	int r;

	r = open_proc(n, err);
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
	n = notify_new(options);
	if (!n)
		return error_errno(err, ENOMEM, "backend");
	r = attach(n, options, guest_pid, err);
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

/* Waits for the task's listener and takes it over; the task stays stopped. -ECHILD: it is dead and buried. */
static int take_listener(struct notify *n, struct notify_task *t, struct error *err)
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
	r = take_listener(n, t, err);
	if (r < 0)
		return r;
	clockpage_init(n);
	r = look_around(n, t, "guest", err);
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

/*
 * The call that is parked becomes the first event. The clock page is mapped by calls that are answered, which a filter of another make need not
 * notify.
 */
static int begin_adopted(struct notify *n, const struct adopted *adopted, bool own_filter, struct error *err)
{
	struct notify_task *t = notify_find(&n->guest, 0);
	struct event event = adopted->event;
	int r;

	if (!t)
		return error_set(err, ESRCH, "the container's process is gone");
	if (own_filter)
		clockpage_init(n);
	r = look_around(n, t, "container", err);
	if (r < 0)
		return r;
	t->where = WHERE_CALL;
	t->cookie = adopted->cookie;
	t->call_nr = event.call.nr;
	event.task = t->number;
	r = queue_push(&n->queue, &event);
	return r < 0 ? error_errno(err, -r, "backend") : 0;
}

/* Up to the execve, with the listener that stays. */
static int await_program(struct notify *n, const struct backend_adoptee *adoptee, struct adopted *adopted, struct error *err)
{
	int r;

	r = open_proc(n, err);
	if (r < 0)
		return r;
	n->replacement = adoptee->filter;
	n->adopting = n->fresh = true;
	r = adopt_await_exec(n, adoptee->pid, adopted);
	if (r == -EBUSY)
		return error_errno(err, -r, "the runtime keeps the listener that it has sent open, so there cannot be another");
	if (r < 0)
		return error_errno(err, -r, "the container ended before its program was executed");
	if (n->replacement)
		return error_set(err, ENOTSUP, "the runtime's filter cannot be replaced when the container's process executes its program: %s",
				 n->why_not);
	r = n->listener_made ? n->listener_made(n->listener_arg, n->listeners[0]) : 0;
	return r < 0 ? error_errno(err, -r, "seccomp listener") : 0;
}

static int adopt(struct notify *n, const struct backend_options *options, const struct backend_adoptee *adoptee,
		 struct backend_adoption *ret_adoption, struct error *err)
{
	struct adopted adopted;
	int r;

	r = listeners_add(n, *adoptee->listener);
	if (r < 0)
		return error_errno(err, -r, "the listener that was sent");
	(void)take_fd(adoptee->listener);
	r = await_program(n, adoptee, &adopted, err);
	if (r < 0)
		return r;
	ret_adoption->killable = adoptee->filter && filter_flags() == BACKEND_FILTER_FLAGS;
	r = attach(n, options, adopted.tid, err);
	if (r < 0)
		return r;
	r = adopt_fix_addresses(n, &adopted);
	if (r < 0)
		return error_errno(err, -r, "cannot prepare the container's process");
	ret_adoption->randomised = r == 1;
	r = adopt_fix_numbers(n, adopted.tid);
	if (r < 0)
		return error_errno(err, -r, "the ids of the container's processes");
	ret_adoption->numbered = r == 1;
	ret_adoption->shared = adopt_shared_namespaces(adopted.tid);
	if (ret_adoption->shared & CLONE_NEWNET)
		n->network = BACKEND_NETWORK_HOST;
	ret_adoption->early_calls = n->strange_calls;
	ret_adoption->stderr_fd = handles_borrow(n, adopted.tid, STDERR_FILENO);
	return begin_adopted(n, &adopted, adoptee->filter != NULL, err);
}

int backend_adopt(const struct backend_options *options, const struct backend_adoptee *adoptee, struct guest **ret_guest,
		  struct backend_adoption *ret_adoption, struct error *err)
{
	struct notify *n = notify_new(options);
	int r;

	*ret_adoption = (struct backend_adoption){ .stderr_fd = -1 };
	if (!n)
		return error_errno(err, ENOMEM, "backend");
	r = adopt(n, options, adoptee, ret_adoption, err);
	if (r < 0) {
		(void)backend_close(&n->guest);
		return r;
	}
	*ret_guest = &n->guest;
	return 0;
}

int backend_first_ids(struct guest *g, int *ret_vtid, int *ret_vpid)
{
	struct notify *n = notify_of(g);
	const struct notify_task *t = notify_find(g, 0);
	struct proc_ids ids;
	int r;

	r = t ? procfs_ids(n, t->tid, n->pid_depth, &ids) : -ESRCH;
	if (r < 0)
		return r;
	*ret_vtid = ids.vtid;
	*ret_vpid = ids.vpid;
	return 0;
}

int backend_join_attach(struct guest *g, pid_t pid, const int *outside_fds, struct event *ret_event, struct error *err)
{
	struct notify *n = notify_of(g);
	struct notify_task *t;
	struct proc_ids ids;
	int r;

	r = n->old_cpus ? surroundings_pin(pid, n->cpu) : 0;
	if (r < 0)
		return error_errno(err, -r, "cannot pin process %d to CPU %u", (int)pid, n->cpu);
	r = companion_seize(pid);
	if (r < 0)
		return error_errno(err, -r, "cannot trace process %d", (int)pid);
	r = procfs_ids(n, pid, n->pid_depth, &ids);
	if (r < 0)
		return error_errno(err, -r, "cannot read the ids in /proc/%d/status", (int)pid);
	t = tasks_add(&n->tasks, pid, ids.tgid, ids.vpid);
	if (!t)
		return error_errno(err, ENOMEM, "backend");
	handles_note_outside(n, pid, outside_fds);
	*ret_event = (struct event){ .kind = EVENT_JOIN, .task = t->number, .join = { .vtid = ids.vtid, .vpid = ids.vpid } };
	return 0;
}

int backend_join_start(struct guest *g, int task, struct error *err)
{
	struct notify *n = notify_of(g);
	struct notify_task *t;
	int r;

	t = notify_find(g, task);
	if (!t)
		return error_set(err, ESRCH, "the process is gone");
	r = take_listener(n, t, err);
	if (r == -ECHILD) {
		tasks_remove(&n->tasks, task);
		return r;
	}
	if (r < 0)
		return r;
	r = companion_go(t->tid, 0);
	return r < 0 ? error_errno(err, -r, "the process cannot go on") : 0;
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
