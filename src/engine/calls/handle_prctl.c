/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prctl(2) and arch_prctl(2), option by option. What is the process's own goes to the kernel; what shows the host's processor or build
 * is answered the same everywhere; what would loosen the supervisor's hold is refused.
 */
#include <asm/prctl.h>
#include <errno.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/calls/handlers.h"

/* Options that are younger than some headers. */
enum {
	OPTION_GET_UNTAG_MASK = 0x4001,
	TSC_ALLOWED = 1,
	SECCOMP_MODE_OF_FILTERS = 2,
	DEFAULT_MCE_KILL = 2,
	SIGNALS = 64,
};
#define DEFAULT_TIMER_SLACK_NS 50000ull

typedef int option_fn(struct engine *e, struct task *t, struct verdict *v);

static int put_int(struct engine *e, struct task *t, int value, struct verdict *v)
{
	int32_t number = value;
	int r;

	r = guest_write(e, t, t->call.args[1], &number, sizeof(number));
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, 0);
}

static int put_word(struct engine *e, struct task *t, uint64_t value, struct verdict *v)
{
	int r;

	r = guest_write(e, t, t->call.args[1], &value, sizeof(value));
	return r == -EFAULT ? verdict_errno(v, EFAULT) : r < 0 ? r : verdict_return(v, 0);
}

static int set_death_signal(struct engine *e, struct task *t, struct verdict *v)
{
	uint64_t signo = t->call.args[1];

	if (signo > SIGNALS)
		return verdict_errno(v, EINVAL);
	t->traits.death_signal = (int)signo;
	if (signo == SIGKILL)
		e->g->death_kills = true;
	signals_note_sent(e, (int)signo);
	return verdict_continue(v);
}

/* Not the kernel's: the supervisor may have set one to bind the container's life to its own. */
static int get_death_signal(struct engine *e, struct task *t, struct verdict *v)
{
	return put_int(e, t, t->traits.death_signal, v);
}

/* Stays ours: a process that cannot be dumped would be hard to look after. */
static int set_dumpable(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	if (t->call.args[1] > 1)
		return verdict_errno(v, EINVAL);
	t->process->traits.not_dumpable = !t->call.args[1];
	return verdict_return(v, 0);
}

static int get_dumpable(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	return verdict_return(v, !t->process->traits.not_dumpable);
}

static int set_name(struct engine *e, struct task *t, struct verdict *v)
{
	char name[sizeof(t->comm)] = "";
	ssize_t n;

	n = e->g->ops->read_string(e->g, t->id, t->call.args[1], name, sizeof(name));
	if (n == -EFAULT)
		return verdict_errno(v, EFAULT);
	if (n < 0 && n != -ENAMETOOLONG)
		return (int)n;
	name[sizeof(name) - 1] = '\0';
	memcpy(t->comm, name, sizeof(name));
	return verdict_continue(v);
}

/* Our own filter does not count. */
static int get_seccomp(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	return verdict_return(v, t->traits.filters ? SECCOMP_MODE_OF_FILTERS : 0);
}

/* A filter is added; strict mode cannot follow on a filter, ours. */
static int set_seccomp(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	if (t->call.done) {
		t->traits.filters += t->call.result == 0;
		v->kind = VERDICT_GO;
		return 0;
	}
	return t->call.args[1] == SECCOMP_MODE_FILTER ? verdict_hook(v) : verdict_errno(v, EINVAL);
}

static int get_tsc(struct engine *e, struct task *t, struct verdict *v)
{
	return put_int(e, t, TSC_ALLOWED, v);
}

/* Whether the instruction traps is the supervisor's business. */
static int set_tsc(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	return t->call.args[1] == TSC_ALLOWED ? verdict_return(v, 0) : verdict_errno(v, EINVAL);
}

static int set_timer_slack(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	t->traits.timer_slack_ns = (int64_t)t->call.args[1] <= 0 ? DEFAULT_TIMER_SLACK_NS : t->call.args[1];
	return verdict_return(v, 0);
}

static int get_timer_slack(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	return verdict_return(v, (int64_t)t->traits.timer_slack_ns);
}

static int set_subreaper(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	t->process->subreaper = t->call.args[1] != 0;
	return verdict_continue(v);
}

static int get_tid_address(struct engine *e, struct task *t, struct verdict *v)
{
	return put_word(e, t, t->clear_tid_addr, v);
}

static bool no_more_arguments(const struct task *t, int from)
{
	for (int i = from; i < 5; i++)
		if (t->call.args[i])
			return false;
	return true;
}

static int set_huge_pages(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	if (!no_more_arguments(t, 2))
		return verdict_errno(v, EINVAL);
	t->process->traits.no_huge_pages = t->call.args[1] != 0;
	return verdict_return(v, 0);
}

static int get_huge_pages(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	return no_more_arguments(t, 1) ? verdict_return(v, t->process->traits.no_huge_pages) : verdict_errno(v, EINVAL);
}

static int get_memory_failure(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	return no_more_arguments(t, 1) ? verdict_return(v, DEFAULT_MCE_KILL) : verdict_errno(v, EINVAL);
}

/* A processor that none of the known faults of speculation concerns. */
static int get_speculation(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	if (!no_more_arguments(t, 2))
		return verdict_errno(v, EINVAL);
	return t->call.args[1] <= PR_SPEC_INDIRECT_BRANCH ? verdict_return(v, PR_SPEC_NOT_AFFECTED) : verdict_errno(v, ENODEV);
}

static int set_speculation(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	if (!no_more_arguments(t, 3))
		return verdict_errno(v, EINVAL);
	return verdict_errno(v, t->call.args[1] <= PR_SPEC_INDIRECT_BRANCH ? ENXIO : ENODEV);
}

/* Switching off what is off is allowed. */
static int set_dispatch(struct engine *e, struct task *t, struct verdict *v)
{
	(void)e;
	return no_more_arguments(t, 1) ? verdict_return(v, 0) : verdict_errno(v, EINVAL);
}

enum action { TO_KERNEL, ANSWER_0, REFUSE_EPERM, CALL };

static const struct option {
	uint32_t number;
	enum action action;
	option_fn *fn; /* CALL */
} options[] = {
	{ PR_SET_PDEATHSIG, CALL, set_death_signal },
	{ PR_GET_PDEATHSIG, CALL, get_death_signal },
	{ PR_GET_DUMPABLE, CALL, get_dumpable },
	{ PR_SET_DUMPABLE, CALL, set_dumpable },
	{ PR_GET_KEEPCAPS, TO_KERNEL, NULL },
	{ PR_SET_KEEPCAPS, TO_KERNEL, NULL },
	{ PR_GET_TIMING, TO_KERNEL, NULL },
	{ PR_SET_TIMING, TO_KERNEL, NULL },
	{ PR_SET_NAME, CALL, set_name },
	{ PR_GET_NAME, TO_KERNEL, NULL },
	{ PR_GET_SECCOMP, CALL, get_seccomp },
	{ PR_SET_SECCOMP, CALL, set_seccomp },
	{ PR_CAPBSET_READ, TO_KERNEL, NULL },
	{ PR_CAPBSET_DROP, TO_KERNEL, NULL },
	{ PR_GET_TSC, CALL, get_tsc },
	{ PR_SET_TSC, CALL, set_tsc },
	{ PR_GET_SECUREBITS, TO_KERNEL, NULL },
	{ PR_SET_SECUREBITS, TO_KERNEL, NULL },
	{ PR_SET_TIMERSLACK, CALL, set_timer_slack },
	{ PR_GET_TIMERSLACK, CALL, get_timer_slack },
	{ PR_TASK_PERF_EVENTS_DISABLE, ANSWER_0, NULL }, /* there are none */
	{ PR_TASK_PERF_EVENTS_ENABLE, ANSWER_0, NULL },
	{ PR_MCE_KILL_GET, CALL, get_memory_failure },
	{ PR_SET_MM, REFUSE_EPERM, NULL },
	{ PR_SET_CHILD_SUBREAPER, CALL, set_subreaper },
	{ PR_GET_CHILD_SUBREAPER, TO_KERNEL, NULL },
	{ PR_SET_NO_NEW_PRIVS, TO_KERNEL, NULL },
	{ PR_GET_NO_NEW_PRIVS, TO_KERNEL, NULL },
	{ PR_GET_TID_ADDRESS, CALL, get_tid_address },
	{ PR_SET_THP_DISABLE, CALL, set_huge_pages },
	{ PR_GET_THP_DISABLE, CALL, get_huge_pages },
	{ PR_CAP_AMBIENT, TO_KERNEL, NULL },
	{ PR_GET_SPECULATION_CTRL, CALL, get_speculation },
	{ PR_SET_SPECULATION_CTRL, CALL, set_speculation },
	{ PR_SET_IO_FLUSHER, REFUSE_EPERM, NULL },
	{ PR_GET_IO_FLUSHER, REFUSE_EPERM, NULL },
	{ PR_SET_SYSCALL_USER_DISPATCH, CALL, set_dispatch },
	/* Everything else, as other processors and other builds of the kernel have it: EINVAL. Among them on purpose: */
	/* PR_SET_VMA names appear in /proc only, and only some kernels have them; PR_SET_PTRACER depends on a security module. */
};

int handle_id_prctl(struct engine *e, struct task *t, struct verdict *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (options[i].number != (uint32_t)t->call.args[0])
			continue;
		switch (options[i].action) {
		case TO_KERNEL:
			return verdict_continue(v);
		case ANSWER_0:
			return verdict_return(v, 0);
		case REFUSE_EPERM:
			return verdict_errno(v, EPERM);
		case CALL:
			return options[i].fn(e, t, v);
		}
	}
	return verdict_errno(v, EINVAL);
}

int handle_id_seccomp(struct engine *e, struct task *t, struct verdict *v)
{
	enum { SET_MODE_STRICT, SET_MODE_FILTER };
	bool adds = (uint32_t)t->call.args[0] == SET_MODE_FILTER;

	(void)e;
	if (t->call.done) {
		t->traits.filters += adds && t->call.result >= 0;
		v->kind = VERDICT_GO;
		return 0;
	}
	if ((uint32_t)t->call.args[0] == SET_MODE_STRICT)
		return verdict_errno(v, EINVAL);
	return adds ? verdict_hook(v) : verdict_continue(v);
}

int handle_id_arch_prctl(struct engine *e, struct task *t, struct verdict *v)
{
	switch ((uint32_t)t->call.args[0]) {
	case ARCH_SET_GS:
	case ARCH_SET_FS:
	case ARCH_GET_FS:
	case ARCH_GET_GS:
		return verdict_continue(v);
	case ARCH_GET_CPUID:
		return verdict_return(v, 1);
	case ARCH_SET_CPUID: /* the trapping of the instruction is the supervisor's */
		return verdict_errno(v, t->call.args[1] ? 0 : ENODEV);
	case OPTION_GET_UNTAG_MASK:
		return put_word(e, t, UINT64_MAX, v);
	default: /* processor state, shadow stacks and the like differ between hosts: as before they existed */
		return verdict_errno(v, EINVAL);
	}
}
