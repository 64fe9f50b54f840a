/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traps of instructions that show the host: those that text.c has replaced come as SIGTRAP, those that the processor itself makes fault
 * (PR_SET_TSC, ARCH_SET_CPUID, where they work) as SIGSEGV. Signals that somebody sends are told apart by the text, or by si_code.
 */
#include "backend/notify/notify.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "backend/notify/inline.h"
#include "backend/processor_answers.h"
#include "insn/decode.h"

struct insn_regs trap_registers(const struct user_regs_struct *u)
{
	return (struct insn_regs){
		.gpr = { u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi, u->r8, u->r9, u->r10, u->r11, u->r12, u->r13,
			 u->r14, u->r15 },
		.fs_base = u->fs_base,
		.gs_base = u->gs_base,
		.rip = u->rip,
		.rflags = u->eflags,
	};
}

static void to_user(const struct insn_regs *r, struct user_regs_struct *u)
{
	const uint64_t *g = r->gpr;

	u->rax = g[INSN_RAX], u->rcx = g[INSN_RCX], u->rdx = g[INSN_RDX], u->rbx = g[INSN_RBX];
	u->rsp = g[INSN_RSP], u->rbp = g[INSN_RBP], u->rsi = g[INSN_RSI], u->rdi = g[INSN_RDI];
	u->r8 = g[INSN_R8], u->r9 = g[INSN_R9], u->r10 = g[INSN_R10], u->r11 = g[INSN_R11];
	u->r12 = g[INSN_R12], u->r13 = g[INSN_R13], u->r14 = g[INSN_R14], u->r15 = g[INSN_R15];
	u->rip = r->rip;
	u->eflags = r->rflags;
}

/* Text, whatever its protection says: whole words, none of which crosses a page. */
static bool peek(pid_t tid, uint64_t address, uint8_t *to, size_t len)
{
	unsigned long word;
	size_t at, part;

	for (; len > 0; address += part, to += part, len -= part) {
		at = address % sizeof(word);
		part = len < sizeof(word) - at ? len : sizeof(word) - at;
		errno = 0;
		word = (unsigned long)ptrace(PTRACE_PEEKTEXT, tid, (void *)(address - at), NULL);
		if (errno)
			return false;
		memcpy(to, (const uint8_t *)&word + at, part);
	}
	return true;
}

/* The program may have written something else there, with a breakpoint of its own. To look costs a sixth of a trap. */
static bool stands_there(const struct notify_task *t, const struct insn_site *site, uint64_t address)
{
	uint8_t now[INSN_MAX_LENGTH], expected[INSN_MAX_LENGTH];
	size_t len = (size_t)(site->length - site->opcode_at);

	if (!t->process->code->writable)
		return true;
	memcpy(expected, site->bytes + site->opcode_at, len);
	expected[0] = INSN_TRAP;
	return peek(t->tid, address, now, len) && !memcmp(now, expected, len);
}

enum { BEHIND = 8 }; /* bytes from the breakpoint on, itself and the rest of the longest instruction among them */

/*
 * Text that was copied elsewhere with breakpoints in it, which are known by what stands behind them: the rest of the instruction and some of what
 * comes next. What is shorter, or was changed when it was copied, is not known again.
 */
static const struct insn_site *find_copied(const struct notify_task *t, uint64_t address, uint64_t *ret_start)
{
	const struct insn_traps *traps = &t->process->code->traps;
	uint8_t behind[BEHIND], copy[INSN_MAX_LENGTH + BEHIND], text[INSN_MAX_LENGTH + BEHIND];

	if (!peek(t->tid, address, behind, sizeof(behind)))
		return NULL;
	for (size_t i = 0; i < traps->count; i++) {
		const struct insn_trap *trap = &traps->items[i];
		size_t before = (size_t)trap->site.opcode_at, len = before + BEHIND;

		if (behind[1] != trap->site.bytes[before + 1])
			continue;
		if (peek(t->tid, address - before, copy, len) && peek(t->tid, trap->address, text, len) && !memcmp(copy, text, len)) {
			*ret_start = address - before;
			return &trap->site;
		}
	}
	return NULL;
}

/*
 * The replaced instruction, whose breakpoint is just before rip. One that is not in the table may have been moved (mremap), or been mapped
 * by a process that shares the memory: the mapping at rip is looked up.
 */
static int find_replaced(struct notify *n, struct notify_task *t)
{
	const struct insn_traps *traps = &t->process->code->traps;
	uint64_t address = t->trap.regs.rip - 1;
	const struct insn_site *site;
	struct code_found found = { 0 };
	uint8_t byte;
	int r;

	site = insn_traps_find(traps, address, &t->trap.regs.rip);
	if (!site && (site = inline_missed(t->process->code, address)))
		t->trap.regs.rip = address;
	if (!site && peek(t->tid, address, &byte, 1) && byte == INSN_TRAP) {
		r = text_replace(n, t, address, address + 1, &found);
		if (r < 0)
			return r;
		site = insn_traps_find(traps, address, &t->trap.regs.rip);
		if (!site)
			site = find_copied(t, address, &t->trap.regs.rip);
	}
	if (!site || !stands_there(t, site, address))
		return 0;
	t->trap.site = *site;
	return 1;
}

/* The instruction that the processor has refused to run. */
static int find_faulting(struct notify *n, struct notify_task *t)
{
	unsigned char code[INSN_MAX_LENGTH];
	size_t len = sizeof(code);
	int kind;

	/* it may be the last one of its page */
	while (len > 1 && notify_read(&n->guest, t->number, t->trap.regs.rip, code, len) < 0)
		len--;
	if (len < 2 || insn_decode_site(code, len, t->trap.regs.rip, &t->trap.site) < 0)
		return 0;
	kind = t->trap.site.kind;
	return kind == INSN_RDTSC || kind == INSN_RDTSCP || kind == INSN_CPUID;
}

static void describe(struct notify *n, const struct notify_task *t, struct event *event)
{
	uint32_t leaf = (uint32_t)t->trap.regs.gpr[INSN_RAX], subleaf = (uint32_t)t->trap.regs.gpr[INSN_RCX];

	event->kind = EVENT_TRAP;
	event->trap.kind = t->trap.site.kind;
	event->trap.subleaf = subleaf;
	if (event->trap.kind == INSN_CPUID) {
		event->trap.leaf = leaf;
		processor_ask(n->processor, leaf, subleaf, &event->trap.host[0]);
	} else if (event->trap.kind == INSN_XGETBV) {
		processor_ask(n->processor, 13, 0, &event->trap.host[0]);
		processor_ask(n->processor, 13, 1, &event->trap.host[1]);
	}
}

/* One is pending for the process and nobody handles it (any more): a thread that does not block it had taken it. */
static bool is_held_back(struct notify *n, const struct notify_task *t, int signo)
{
	enum { SOME = 8 };
	struct __ptrace_peeksiginfo_args queue = { .flags = PTRACE_PEEKSIGINFO_SHARED, .nr = SOME };
	uint64_t bit = 1ull << (signo - 1);
	struct signal_state state;
	siginfo_t infos[SOME];
	bool seen;
	long count;

	count = ptrace(PTRACE_PEEKSIGINFO, t->tid, &queue, infos);
	seen = count == SOME; /* perhaps */
	for (long i = 0; i < count; i++)
		seen |= infos[i].si_signo == signo;
	return seen && notify_signal_state(&n->guest, t->number, &state) == 0 && state.process_pending & bit && !(state.caught & bit);
}

/*
 * The kernel forces the signal of a trap: who blocks it has it unblocked (and its handler gone) before anybody can look. That it was blocked
 * shows where one was pending: else it would have been taken before. One in the thread's own queue is what the stop shows in place of the
 * trap's, as a standard signal is queued once only; its address tells the trap all the same: behind the first opcode byte of a replaced
 * instruction nobody else stands. Not so where the processor makes it fault: the address is one that a signal can be taken at.
 */
int trap_recognise(struct notify *n, struct notify_task *t, struct event *event)
{
	bool forced = t->siginfo.si_code == SI_KERNEL;
	bool replaced = t->siginfo.si_signo == SIGTRAP;
	bool faulted = t->siginfo.si_signo == SIGSEGV && forced;
	int r;

	if (!n->code || (!replaced && !faulted))
		return 0;
	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &t->trap.user) < 0)
		return -errno;
	t->trap.regs = trap_registers(&t->trap.user);
	r = replaced ? find_replaced(n, t) : find_faulting(n, t);
	if (r <= 0)
		return r;
	t->trap.pending = forced ? 0 : t->siginfo.si_signo;
	t->trap.blocked = !forced || is_held_back(n, t, t->siginfo.si_signo) ? t->siginfo.si_signo : 0;
	describe(n, t, event);
	return r;
}

/* A general protection fault, as the kernel makes a signal of it. */
static int deliver_fault(const struct notify_task *t)
{
	siginfo_t info = { .si_signo = SIGSEGV, .si_code = SI_KERNEL };
	int r;

	r = companion_set_siginfo(t->tid, &info);
	return r < 0 ? r : companion_go(t->tid, SIGSEGV);
}

static int block_again(pid_t tid, int signo)
{
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof(mask), &mask) < 0)
		return -errno;
	mask |= 1ull << (signo - 1);
	return ptrace(PTRACE_SETSIGMASK, tid, (void *)sizeof(mask), &mask) < 0 ? -errno : 0;
}

int trap_carry_out(struct notify_task *t, const struct insn_answers *answers)
{
	int r;

	r = insn_emulate(&t->trap.site, &t->trap.regs, answers);
	if (r < 0)
		return r;
	to_user(&t->trap.regs, &t->trap.user); /* of one that faults too: rip is at its beginning then */
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &t->trap.user) < 0)
		return errno == ESRCH ? 0 : -errno;
	if (t->trap.blocked && block_again(t->tid, t->trap.blocked) < 0)
		return errno == ESRCH ? 0 : -errno;
	/* a signal that is let go on and is blocked goes back to its queue */
	return r == INSN_FAULT_GP ? deliver_fault(t) : companion_go(t->tid, t->trap.pending);
}
