/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ptrace companion: births, execs, signals and hooks; stops at system calls where a single one is followed. ESRCH from a request means
 * that the task was killed out of its stop; its death is reported by waitpid, so it is not an error here.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/process.h"

enum {
	LIGHT_OPTIONS = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD,
	COMPANION_OPTIONS = LIGHT_OPTIONS | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC,
};

static int request(int what, pid_t tid, void *addr, void *data)
{
	if (ptrace(what, tid, addr, data) == 0 || errno == ESRCH)
		return 0;
	return -errno;
}

static int seize(pid_t tid, unsigned options)
{
	return ptrace(PTRACE_SEIZE, tid, NULL, (void *)(uintptr_t)options) < 0 ? -errno : 0;
}

int companion_seize(pid_t tid)
{
	return seize(tid, COMPANION_OPTIONS);
}

int companion_seize_lightly(pid_t tid)
{
	return seize(tid, LIGHT_OPTIONS);
}

int companion_seize_fully(pid_t tid)
{
	return request(PTRACE_SETOPTIONS, tid, NULL, (void *)(uintptr_t)COMPANION_OPTIONS);
}

int companion_go(pid_t tid, int signo)
{
	return request(PTRACE_CONT, tid, NULL, (void *)(intptr_t)signo);
}

int companion_go_to_call(pid_t tid, int signo)
{
	return request(PTRACE_SYSCALL, tid, NULL, (void *)(intptr_t)signo);
}

/*
 * One that has been killed may be no news before others have been reaped, which nobody does meanwhile. So any tracee's news end the waiting; news of others
 * stay, and while there are any it is looked again and again.
 */
int companion_await(pid_t tid, int *ret_status)
{
	siginfo_t info = { 0 }, any;

	for (;;) {
		any.si_pid = 0;
		if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0)
			return errno == ECHILD ? 0 : -errno;
		if (info.si_pid != 0)
			break;
		if (waitid(P_ALL, 0, &any, WEXITED | WSTOPPED | WNOWAIT | __WCLONE) < 0 && errno != EINTR)
			return errno == ECHILD ? 0 : -errno;
		if (any.si_pid != tid && process_is_ending(tid))
			return 0;
		if (any.si_pid != tid)
			(void)sched_yield();
	}
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return 0;
	return waitpid(tid, ret_status, __WALL) == tid;
}

bool companion_repeats(const struct user_regs_struct *regs)
{
	enum { FIRST = -512, LAST = -516 };

	return (int64_t)regs->orig_rax >= 0 && (int64_t)regs->rax <= FIRST && (int64_t)regs->rax >= LAST;
}

int companion_step(pid_t tid, int *ret_status)
{
	if (ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL) < 0)
		return errno == ESRCH ? 0 : -errno;
	return companion_await(tid, ret_status);
}

int companion_interrupt(pid_t tid)
{
	return request(PTRACE_INTERRUPT, tid, NULL, NULL);
}

int companion_listen(pid_t tid)
{
	return request(PTRACE_LISTEN, tid, NULL, NULL);
}

int companion_get_result(pid_t tid, int64_t *ret_result)
{
	long value;

	errno = 0;
	value = ptrace(PTRACE_PEEKUSER, tid, (void *)offsetof(struct user, regs.rax), NULL);
	if (errno)
		return -errno;
	*ret_result = value;
	return 0;
}

int companion_set_result(pid_t tid, int64_t result)
{
	return request(PTRACE_POKEUSER, tid, (void *)offsetof(struct user, regs.rax), (void *)(intptr_t)result);
}

int companion_set_args(pid_t tid, const uint64_t args[6])
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) < 0)
		return errno == ESRCH ? 0 : -errno;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	return request(PTRACE_SETREGS, tid, NULL, &regs);
}

int companion_get_blocked(pid_t tid, uint64_t *ret_blocked)
{
	return ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof(*ret_blocked), ret_blocked) < 0 ? -errno : 0;
}

int companion_set_blocked(pid_t tid, uint64_t blocked)
{
	return ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(blocked), &blocked) < 0 ? -errno : 0;
}

int companion_get_siginfo(pid_t tid, siginfo_t *ret_info)
{
	return ptrace(PTRACE_GETSIGINFO, tid, NULL, ret_info) < 0 ? -errno : 0;
}

int companion_set_siginfo(pid_t tid, const siginfo_t *info)
{
	siginfo_t copy = *info;

	return request(PTRACE_SETSIGINFO, tid, NULL, &copy);
}

int companion_get_message(pid_t tid, pid_t *ret_tid)
{
	unsigned long message = 0;
	int r;

	r = request(PTRACE_GETEVENTMSG, tid, NULL, &message);
	*ret_tid = (pid_t)message;
	return r;
}
