/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A symbolised stack of a guest task: registers from the companion, memory through process_vm_readv, files through the
 * task's own root directory. libdw is known to this file and anchors.c only. No addresses are printed: they would differ between runs of
 * different builds for no reason that a reader cares about.
 */
#include "backend/notify/notify.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>
#include <unistd.h>

#include "base/cleanup.h"

enum { FRAMES_MAX = 64 };

struct stack {
	struct notify *n;
	const struct notify_task *task;
	struct user_regs_struct regs;
	FILE *out;
	unsigned n_frames;
};

static void end_dwfl(Dwfl **dwfl)
{
	if (*dwfl)
		dwfl_end(*dwfl);
}

/* By the name in the task's memory map, below its root. */
static int open_module(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, char **ret_name, Elf **elf)
{
	const struct stack *stack = *userdata;
	_cleanup_free_ char *path = NULL;
	int fd;

	if (!stack || name[0] != '/' || asprintf(&path, "root%s", name) < 0)
		return -1;
	fd = procfs_open(stack->n, stack->task->tid, path, O_RDONLY);
	if (fd < 0)
		return -1;
	*ret_name = strdup(name);
	return fd;
}

static pid_t only_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	const struct stack *stack = arg;

	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return stack->task->tid;
}

static bool find_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	*thread_arg = arg;
	return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *ret_word, void *arg)
{
	const struct stack *stack = arg;

	return notify_read(&stack->n->guest, stack->task->number, addr, ret_word, sizeof(*ret_word)) == 0;
}

/* In the order of DWARF's numbers for x86-64. */
static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct stack *stack = arg;
	const struct user_regs_struct *r = &stack->regs;
	const Dwarf_Word words[] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
				     r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip };

	return dwfl_thread_state_registers(thread, 0, ARRAY_SIZE(words), words);
}

static void print_source(struct stack *stack, Dwfl_Module *module, Dwarf_Addr pc)
{
	const char *file = NULL, *name;
	Dwfl_Line *line;
	int number = 0;

	line = dwfl_module_getsrc(module, pc);
	if (line)
		file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	if (file) {
		(void)fprintf(stack->out, " (%s:%d)", file, number);
		return;
	}
	name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	if (name)
		(void)fprintf(stack->out, " (%s)", name);
}

static int print_frame(Dwfl_Frame *frame, void *arg)
{
	struct stack *stack = arg;
	const char *function = NULL;
	Dwfl_Module *module;
	bool activation;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &activation))
		return DWARF_CB_ABORT;
	pc -= !activation; /* a return address is behind the call, perhaps behind the function */
	module = dwfl_addrmodule(dwfl_thread_dwfl(dwfl_frame_thread(frame)), pc);
	if (module)
		function = dwfl_module_addrname(module, pc);
	if (!function)
		function = "??";
	/* without the symbol's version */
	(void)fprintf(stack->out, "  #%u %.*s", stack->n_frames, (int)strcspn(function, "@"), function);
	if (module)
		print_source(stack, module, pc);
	(void)fputc('\n', stack->out);
	return ++stack->n_frames < FRAMES_MAX ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static int give_userdata(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
	*userdata = arg;
	return DWARF_CB_OK;
}

/* Tells libdw which files the task has mapped where. */
static int report_modules(struct stack *stack, Dwfl *dwfl)
{
	_cleanup_fclose_ FILE *maps = NULL;
	int r;

	r = procfs_stream(stack->n, stack->task->tid, "maps", &maps);
	if (r < 0)
		return r;
	dwfl_report_begin(dwfl);
	r = dwfl_linux_proc_maps_report(dwfl, maps);
	if (r != 0 || dwfl_report_end(dwfl, NULL, NULL) != 0)
		return -EIO;
	(void)dwfl_getmodules(dwfl, give_userdata, stack, 0);
	return 0;
}

static int unwind(struct stack *stack)
{
	static char *no_path = NULL; /* the library's own places for separate debug information */
	static const Dwfl_Callbacks callbacks = {
		.find_elf = open_module,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &no_path,
	};
	static const Dwfl_Thread_Callbacks thread_callbacks = {
		.next_thread = only_thread,
		.get_thread = find_thread,
		.memory_read = read_word,
		.set_initial_registers = set_registers,
	};
	_cleanup_(end_dwfl) Dwfl *dwfl = NULL;
	int r;

	dwfl = dwfl_begin(&callbacks);
	if (!dwfl)
		return -ENOMEM;
	r = report_modules(stack, dwfl);
	if (r < 0)
		return r;
	if (!dwfl_attach_state(dwfl, NULL, stack->task->tid, &thread_callbacks, stack))
		return -EIO;
	/* fails at the end of what can be unwound: what was printed until then is the answer */
	(void)dwfl_getthread_frames(dwfl, stack->task->tid, print_frame, stack);
	return 0;
}

int notify_backtrace(struct guest *g, int task, char **ret_text)
{
	struct stack stack = { .n = notify_of(g), .task = notify_find(g, task) };
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r;

	if (!stack.task)
		return -ESRCH;
	r = look_registers(stack.n, task, &stack.regs);
	if (r < 0)
		return r;
	stack.out = open_memstream(&text, &size);
	if (!stack.out)
		return -ENOMEM;
	r = unwind(&stack);
	if (stack.n_frames == 0)
		(void)fputs("  #0 ??\n", stack.out);
	if (fclose(stack.out) != 0)
		return -ENOMEM;
	if (r == -ENOMEM || r == -ESRCH)
		return r;
	*ret_text = take_ptr(text);
	return 0;
}
