/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock page (engine/guest.h): one page of a memfd, mapped by us and by every guest program. At an exec the fresh program itself is made to
 * map it, by a few lines of code in its vDSO (vdso_code.h): the first call of that code is answered with the page's
 * descriptor, the others run.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/notify/vdso.h"
#include "backend/notify/vdso_code.h"
#include "base/cleanup.h"

enum { PAGE = 4096, MAPPING_CALLS = 3 };

void clockpage_init(struct notify *n)
{
	_cleanup_close_ int fd = -1;
	void *page;

	n->vdso_page = vdso_new(VDSO_PAGE);
	if (!n->vdso_page)
		return;
	fd = memfd_create("clock", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, PAGE) < 0)
		return;
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return;
	n->guest.clock_page = page;
	n->guest.clock_page->now_ns = 1; /* past the limit: reads are calls until somebody sets the clock */
	n->clock_page_fd = take_fd(&fd);
}

void clockpage_deinit(struct notify *n)
{
	if (n->guest.clock_page)
		(void)munmap(n->guest.clock_page, PAGE);
	n->guest.clock_page = NULL;
	cleanup_close(&n->clock_page_fd);
	n->clock_page_fd = -1;
	n->vdso_page = vdso_free(n->vdso_page);
}

/* Answers one call of the mapping code: the first with the page, the others by letting them run. */
static int answer(struct notify *n, const struct notify_task *t, bool first)
{
	struct event event;
	struct call_cookie cookie;
	pid_t caller;
	int r;

	r = listener_receive(n, t->cookie.listener, &caller, &cookie, &event);
	if (r <= 0)
		return r;
	if (caller != t->tid)
		return -EPROTO; /* everybody else is stopped */
	r = first ? listener_install(n, &cookie, n->clock_page_fd, 0) : listener_continue(n, &cookie);
	return r < 0 ? r : 1;
}

/*
 * The code has stopped on the way, or at its end: 1. Signals are blocked, but nobody can block SIGSTOP, and SIGCONT gives a stop without a signal; the
 * former is kept back until the end (*ret_stop, as it was sent).
 */
static int pass_stop(const struct notify_task *t, int status, siginfo_t *ret_stop)
{
	int r = 0;

	if (status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP)
		return 1;
	if (status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP)
		r = companion_get_siginfo(t->tid, ret_stop);
	else if (status >> 16 != PTRACE_EVENT_STOP)
		return -EPROTO;
	return r < 0 ? r : companion_go(t->tid, 0);
}

/* Answers the calls of the code. 0, or -ESRCH when the task died on the way. */
static int answer_calls(struct notify *n, const struct notify_task *t, siginfo_t *ret_stop)
{
	enum { LOOK_MS = 1 }; /* a task that stops makes no call */
	struct pollfd fds[2] = {
		{ .fd = t->cookie.listener, .events = POLLIN },
		{ .fd = handles_pidfd(n, t->tid), .events = POLLIN },
	};
	int answered = 0, status, r;

	while (answered < MAPPING_CALLS) {
		fds[0].revents = fds[1].revents = 0;
		if (poll(fds, 2, LOOK_MS) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents)
			return -ESRCH;
		r = fds[0].revents & POLLIN ? answer(n, t, answered == 0) : 0;
		if (r < 0)
			return r;
		answered += r;
		r = !fds[0].revents ? look_has_stopped(t, &status) : 0;
		if (r > 0)
			r = pass_stop(t, status, ret_stop);
		if (r != 0)
			return r < 0 ? r : -EPROTO;
	}
	return 0;
}

/* Waits for the trap at the code's end; a death is left for wait.c to find. */
static int await_trap(const struct notify_task *t, siginfo_t *ret_stop)
{
	int r = 0, status;

	while (r == 0) {
		r = companion_await(t->tid, &status);
		if (r <= 0)
			return r < 0 ? r : -ESRCH;
		r = pass_stop(t, status, ret_stop);
	}
	return r < 0 ? r : 0;
}

int clockpage_map(struct notify *n, const struct notify_task *t, uint64_t code)
{
	/* Signals wait meanwhile, but for the trap at the end, which the kernel would not leave blocked. */
	const uint64_t all_others = ~(1ull << (SIGTRAP - 1));
	struct user_regs_struct saved, regs;
	siginfo_t stop = { 0 };
	uint64_t blocked;
	int r;

	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &saved) < 0)
		return -errno;
	r = companion_get_blocked(t->tid, &blocked);
	if (r == 0)
		r = companion_set_blocked(t->tid, all_others);
	if (r < 0)
		return r;
	regs = saved;
	regs.rip = code;
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &regs) < 0 || ptrace(PTRACE_CONT, t->tid, NULL, NULL) < 0)
		return -errno;
	r = answer_calls(n, t, &stop);
	if (r == 0)
		r = await_trap(t, &stop);
	if (r < 0)
		return r;
	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs) < 0 || ptrace(PTRACE_SETREGS, t->tid, NULL, &saved) < 0)
		return -errno;
	r = companion_set_blocked(t->tid, blocked);
	if (r == 0 && stop.si_signo)
		r = look_send_again(n, t, &stop);
	return r < 0 ? r : regs.rax == CLOCK_PAGE_ADDRESS;
}
