/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts a program that spins, stops it after a while at whatever place it is, and lets the spin detector step it: the
 * detector, the effects of instructions and the register state of a real thread together.
 *
 * usage: spin_trace MICROSECONDS PROGRAM [ARGUMENT...]
 * Prints "found CYCLE PC", the length of the loop and the first of its points, or "given up"; kills the program.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/sched/spin.h"
#include "insn/effect.h"

#define STEP_LIMIT 4000

/* All that an instruction can depend on. */
struct state {
	struct user_regs_struct user;
	unsigned char vectors[8192]; /* the XSAVE area */
};

struct tracer {
	pid_t pid;
	int mem_fd;
	struct state state;
};

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "spin_trace: %s: %s\n", what, strerror(errno));
	exit(99);
}

static void read_state(struct tracer *t)
{
	struct iovec area = { .iov_base = t->state.vectors, .iov_len = sizeof(t->state.vectors) };

	memset(&t->state, 0, sizeof(t->state));
	if (ptrace(PTRACE_GETREGS, t->pid, 0, &t->state.user) < 0 ||
	    ptrace(PTRACE_GETREGSET, t->pid, (void *)NT_X86_XSTATE, &area) < 0)
		die("registers");
	t->state.user.orig_rax = 0; /* of the last system call, no register */
}

static struct insn_regs registers(const struct user_regs_struct *u)
{
	return (struct insn_regs){
		.gpr = { u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi, u->r8, u->r9, u->r10, u->r11,
			 u->r12, u->r13, u->r14, u->r15 },
		.rip = u->rip,
		.rflags = u->eflags,
		.fs_base = u->fs_base,
		.gs_base = u->gs_base,
	};
}

/* The bytes that the instruction may write, as they are now. */
static bool read_written(const struct tracer *t, const struct insn_effect *effect, unsigned char *ret)
{
	for (unsigned i = 0; i < effect->count; i++) {
		size_t len = effect->writes[i].len;

		if (pread(t->mem_fd, ret + i * INSN_MAX_WRITE_LEN, len, (off_t)effect->writes[i].address) !=
		    (ssize_t)len)
			return false;
	}
	return true;
}

static void step(const struct tracer *t)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, t->pid, 0, 0) < 0 || waitpid(t->pid, &status, 0) < 0)
		die("step");
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		die("the program did something else than step");
}

/* One step, which the detector is told. */
static enum spin_answer step_and_tell(struct tracer *t, struct spin *spin)
{
	unsigned char before[INSN_MAX_WRITES * INSN_MAX_WRITE_LEN], after[sizeof(before)];
	struct spin_write writes[INSN_MAX_WRITES];
	struct insn_regs regs = registers(&t->state.user);
	unsigned char code[INSN_MAX_LENGTH];
	struct insn_effect effect;
	ssize_t n = pread(t->mem_fd, code, sizeof(code), (off_t)regs.rip);
	bool known;

	if (n <= 0 || insn_effect_of(code, (size_t)n, &regs, &effect) < 0)
		die("decode");
	known = !effect.unknown && !effect.leaves && read_written(t, &effect, before);
	step(t);
	read_state(t);
	known = known && read_written(t, &effect, after);
	for (unsigned i = 0; i < effect.count; i++)
		writes[i] = (struct spin_write){ effect.writes[i].address, effect.writes[i].len, before + i * INSN_MAX_WRITE_LEN,
						 after + i * INSN_MAX_WRITE_LEN };
	return spin_feed(spin, t->state.user.rip, &t->state, writes, known ? effect.count : 0, !known);
}

static void detect(struct tracer *t)
{
	enum spin_answer answer;
	struct spin spin;

	if (spin_init(&spin, sizeof(t->state), STEP_LIMIT, 0) < 0)
		die("memory");
	read_state(t);
	answer = spin_begin(&spin, t->state.user.rip, &t->state);
	while (answer == SPIN_STEP)
		answer = step_and_tell(t, &spin);
	if (answer == SPIN_FOUND)
		printf("found %" PRIu64 " %#" PRIx64 "\n", spin_cycle_length(&spin), spin_point_pc(&spin));
	else
		printf("given up\n");
	if (answer == SPIN_FOUND && t->state.user.rip != spin_point_pc(&spin))
		die("the program is not at the point");
	spin_deinit(&spin);
}

/* Starts the program without address randomisation and waits until it has said that it is about to spin. */
static pid_t start(char **argv)
{
	int out[2];
	char line[6];
	pid_t pid;

	if (pipe(out) < 0 || (pid = fork()) < 0)
		die("fork");
	if (pid == 0) {
		(void)personality(ADDR_NO_RANDOMIZE);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)execvp(argv[0], argv);
		_exit(99);
	}
	(void)close(out[1]);
	if (read(out[0], line, sizeof(line)) != sizeof(line) || memcmp(line, "ready\n", sizeof(line)) != 0)
		die("the program is not ready");
	return pid;
}

int main(int argc, char **argv)
{
	struct tracer t = { 0 };
	char path[64];
	int status;

	if (argc < 3)
		return 99;
	t.pid = start(argv + 2);
	(void)usleep((useconds_t)atoi(argv[1]));
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)t.pid);
	t.mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (t.mem_fd < 0 || ptrace(PTRACE_SEIZE, t.pid, 0, PTRACE_O_EXITKILL) < 0 ||
	    ptrace(PTRACE_INTERRUPT, t.pid, 0, 0) < 0 || waitpid(t.pid, &status, 0) < 0 || !WIFSTOPPED(status))
		die("stop");
	detect(&t);
	(void)kill(t.pid, SIGKILL);
	(void)waitpid(t.pid, &status, 0);
	(void)close(t.mem_fd);
	return 0;
}
