/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a program with its instructions replaced, as simply as can be: ptrace, one process (of any threads), made-up answers. It shows
 * that maps, patches, traps and emulation fit together, without the engine.
 *
 * usage: insn_trace [-v] [-m LEVEL] PROGRAM [ARGUMENT...]
 *	-v	counts of traps by kind on stderr at the end
 *	-m	processor model: host, baseline, x86-64-v2, x86-64-v3
 *
 * Time advances by 1000 for each RDTSC; random numbers are those of a stream. Exit status: the program's, 128 + n for
 *signal n, 99 when the tracer failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "insn/cpuid.h"
#include "insn/patch.h"
#include "insn/store.h"

struct tracer {
	pid_t pid; /* the process */
	pid_t tid; /* the thread that has stopped */
	int mem_fd;
	struct insn_store *store;
	struct insn_traps traps;
	struct cpuid_model model;
	struct rng rng;
	uint64_t tsc;
	uint64_t counts[INSN_KIND_COUNT];
	uint64_t patched;
};

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "insn_trace: %s: %s\n", what, strerror(errno));
	exit(99);
}

static void apply(struct tracer *t, const struct insn_patch *patch)
{
	const uint8_t trap = INSN_TRAP;
	uint8_t now;

	if (pread(t->mem_fd, &now, 1, (off_t)patch->address) != 1)
		die("read text");
	if (now == INSN_TRAP)
		return; /* seen before */
	if (now != patch->original) {
		errno = EILSEQ;
		die("text is not as scanned");
	}
	if (pwrite(t->mem_fd, &trap, 1, (off_t)patch->address) != 1)
		die("write text");
	t->patched++;
}

static void patch_mapping(struct tracer *t, const char *path, uint64_t start, uint64_t len, uint64_t offset)
{
	_cleanup_free_ struct insn_patch *patches = NULL;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct insn_map *map;
	int n;

	if (fd < 0 || insn_store_get(t->store, fd, &map) < 0)
		return;
	n = insn_patch_mapping(map, INSN_KINDS_ALL, offset, len, start, &patches);
	if (n < 0 || insn_traps_map(&t->traps, map, INSN_KINDS_ALL, offset, len, start) < 0)
		die("patches");
	for (int i = 0; i < n; i++)
		apply(t, &patches[i]);
}

/* All executable mappings of files. */
static void patch_all(struct tracer *t)
{
	char path[64], line[4400], file[4200], modes[8];
	uint64_t start, end, offset;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)t->pid);
	maps = fopen(path, "re");
	if (!maps)
		die(path);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4199s", &start, &end, modes, &offset,
			   file) == 5 &&
		    modes[2] == 'x' && file[0] == '/')
			patch_mapping(t, file, start, end - start, offset);
	(void)fclose(maps);
}

static struct insn_regs from_user(const struct user_regs_struct *u)
{
	return (struct insn_regs){
		.gpr = { u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi, u->r8, u->r9, u->r10, u->r11,
			 u->r12, u->r13, u->r14, u->r15 },
		.rip = u->rip,
		.rflags = u->eflags,
	};
}

static void to_user(const struct insn_regs *r, struct user_regs_struct *u)
{
	u->rax = r->gpr[INSN_RAX], u->rcx = r->gpr[INSN_RCX], u->rdx = r->gpr[INSN_RDX], u->rbx = r->gpr[INSN_RBX];
	u->rsp = r->gpr[INSN_RSP], u->rbp = r->gpr[INSN_RBP], u->rsi = r->gpr[INSN_RSI], u->rdi = r->gpr[INSN_RDI];
	u->r8 = r->gpr[INSN_R8], u->r9 = r->gpr[INSN_R9], u->r10 = r->gpr[INSN_R10], u->r11 = r->gpr[INSN_R11];
	u->r12 = r->gpr[INSN_R12], u->r13 = r->gpr[INSN_R13], u->r14 = r->gpr[INSN_R14], u->r15 = r->gpr[INSN_R15];
	u->rip = r->rip;
	u->eflags = r->rflags;
}

static struct insn_answers answers_for(struct tracer *t, const struct insn_regs *regs)
{
	struct insn_answers a = { .tsc = t->tsc += 1000, .random = rng_u64(&t->rng), .xcr0 = 7 };
	uint32_t leaf = (uint32_t)regs->gpr[INSN_RAX], subleaf = (uint32_t)regs->gpr[INSN_RCX];
	struct insn_cpuid host;

	cpuid_host_query(NULL, leaf, subleaf, &host);
	cpuid_answer(&t->model, leaf, subleaf, &host, &a.cpuid);
	return a;
}

/* True when the signal was one of our traps. */
static bool handle_trap(struct tracer *t)
{
	struct user_regs_struct user;
	const struct insn_site *site;
	struct insn_answers answers;
	struct insn_regs regs;
	uint64_t start;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &user) < 0)
		die("registers");
	site = insn_traps_find(&t->traps, user.rip - 1, &start);
	if (!site)
		return false;
	regs = from_user(&user);
	regs.rip = start;
	answers = answers_for(t, &regs);
	if (insn_emulate(site, &regs, &answers) != INSN_DONE)
		return false;
	to_user(&regs, &user);
	if (ptrace(PTRACE_SETREGS, t->tid, 0, &user) < 0)
		die("registers");
	t->counts[site->kind]++;
	return true;
}

static bool may_map_code(struct tracer *t)
{
	struct user_regs_struct user;

	if (ptrace(PTRACE_GETREGS, t->tid, 0, &user) < 0)
		die("registers");
	/* mmap, mprotect, munmap, mremap */
	return user.orig_rax >= 9 && (user.orig_rax <= 11 || user.orig_rax == 25);
}

/* What a stopped thread is to be continued with: a signal, or 0. */
static int handle_stop(struct tracer *t, int status)
{
	if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
		if (may_map_code(t))
			patch_all(t);
		return 0;
	}
	if (status >> 16) /* a new thread, which begins with a SIGSTOP of the kernel's */
		return 0;
	if (WSTOPSIG(status) == SIGTRAP && handle_trap(t))
		return 0;
	return WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
}

static int follow(struct tracer *t)
{
	int status, deliver = 0;

	t->tid = t->pid;
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, t->tid, 0, deliver) < 0 && errno != ESRCH)
			die("continue");
		do {
			t->tid = waitpid(-1, &status, __WALL);
			if (t->tid < 0)
				die("wait");
		} while (!WIFSTOPPED(status) && t->tid != t->pid);
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		if (WIFSIGNALED(status))
			return 128 + WTERMSIG(status);
		deliver = handle_stop(t, status);
	}
}

static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0)
			(void)execvp(argv[0], argv);
		_exit(99);
	}
	return pid;
}

static void report(const struct tracer *t)
{
	fprintf(stderr, "patched %" PRIu64 "\n", t->patched);
	for (unsigned i = 1; i < INSN_KIND_COUNT; i++)
		if (t->counts[i])
			fprintf(stderr, "%s %" PRIu64 "\n", insn_kind_name(i), t->counts[i]);
}

int main(int argc, char **argv)
{
	struct tracer t = { .model = { .level = CPUID_HOST, .cpus = 1, .tsc_hz = 1000000000 } };
	char path[64];
	bool verbose = false;
	int status, option;

	while ((option = getopt(argc, argv, "+vm:")) != -1) {
		verbose |= option == 'v';
		if (option == '?' || (option == 'm' && cpuid_level_parse(optarg, &t.model.level) < 0))
			return 99;
	}
	if (optind == argc)
		return 99;
	rng_init(&t.rng, 0, "insn_trace", 0);
	t.store = insn_store_new(getenv("INSN_CACHE"));
	t.pid = start(argv + optind);
	if (!t.store || waitpid(t.pid, &status, 0) < 0 || !WIFSTOPPED(status))
		die("start");
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)t.pid);
	t.mem_fd = open(path, O_RDWR | O_CLOEXEC);
	if (t.mem_fd < 0 ||
	    ptrace(PTRACE_SETOPTIONS, t.pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE) < 0)
		die(path);
	patch_all(&t);
	status = follow(&t);
	if (verbose)
		report(&t);
	insn_traps_deinit(&t.traps);
	(void)insn_store_free(t.store);
	(void)close(t.mem_fd);
	return status;
}
