/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The policy table: one row for every x86-64 system call number (src/engine/policy/syscalls.def, the only list of calls in the
 * tree). The filter, the dispatch, the event log's decoding of arguments, `hermit syscalls` and hermit-syscalls(7) are all
 * made from it.
 */
#ifndef HS_ENGINE_POLICY_H
#define HS_ENGINE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;
struct task;
struct verdict;

/* Who decides what the guest sees. A number without a row is CLASS_UNLISTED: refused with ENOSYS and reported once. */
enum policy_class {
	CLASS_UNLISTED = 0,
	CLASS_PASS,    /* not trapped: cannot block, a function of state that is deterministic already */
	CLASS_ORDER,   /* the kernel runs it, in turn; the handler says when it may happen */
	CLASS_FIXUP,   /* the kernel runs it, the handler normalises what came out (it is called again with the result) */
	CLASS_EMULATE, /* the handler answers, the kernel never sees it */
	CLASS_REFUSE,  /* fixed errno, before arguments are looked at */
};

/* What an argument is. The event log prints by kind; fd and path kinds are what the generic layer resolves. */
enum arg_kind {
	ARG_NONE = 0,
	ARG_INT,    /* signed number */
	ARG_UINT,   /* unsigned number */
	ARG_HEX,    /* bit pattern without a name table */
	ARG_SIZE,   /* byte count */
	ARG_OFFSET, /* file offset */
	ARG_ADDR,   /* guest address that is not dereferenced by name here: printed as address */
	ARG_FD,
	ARG_DIRFD, /* descriptor or AT_FDCWD, goes with the ARG_PATH that follows */
	ARG_PATH,  /* NUL-terminated path */
	ARG_STR,   /* NUL-terminated text that is no path */
	ARG_PID,
	ARG_SIGNAL,
	ARG_CLOCK,
	ARG_MODE, /* file mode, octal */
	ARG_FLAGS, /* number or bits with names: len holds an enum flag_set (flags.h) */
	ARG_IN,    /* pointer to bytes the kernel reads */
	ARG_OUT,   /* pointer to bytes the kernel writes */
	ARG_INOUT,
	ARG_SOCKADDR_IN,  /* length in another argument, as len says */
	ARG_SOCKADDR_OUT, /* length pointer in the next argument */
	ARG_IOV_IN,       /* struct iovec[], count in the next argument; data read by the kernel */
	ARG_IOV_OUT,
	ARG_IOV_INOUT,    /* read or written, as the descriptor says */
	ARG_MSGHDR_IN,
	ARG_MSGHDR_OUT,
	ARG_TIMESPEC_IN,
	ARG_TIMESPEC_OUT,
	ARG_TIMEVAL_IN,
	ARG_TIMEVAL_OUT,
	ARG_TIMESPEC_INOUT, /* a timeout that is written back */
	ARG_TIMEVAL_INOUT,
	ARG_SIGSET_IN,
	ARG_STRV, /* argv, envp: NULL-terminated array of strings */
	ARG_ANY,  /* number or address, as another argument says: the handler's family knows */
};

/* How many bytes a memory argument has. */
enum arg_len {
	LEN_NONE = 0,
	LEN_FIXED,  /* len bytes */
	LEN_ARG,    /* the value of argument number len (0-based) */
	LEN_RESULT, /* the call's result, at most the value of argument number len */
	LEN_CUSTOM, /* known to the handler only */
	LEN_ITEMS,  /* the value of argument ARG_ITEM_COUNT(len), times ARG_ITEM_SIZE(len) bytes */
	LEN_RESULT_ITEMS, /* the call's result, at most the value of that argument, times the same */
};

#define ARG_ITEMS(argument, size) ((argument) | (size) << 3)
#define ARG_ITEM_COUNT(len) ((len) & 7)
#define ARG_ITEM_SIZE(len) ((len) >> 3)

struct arg_spec {
	uint8_t kind;     /* enum arg_kind */
	uint8_t len_kind; /* enum arg_len */
	uint16_t len;
};

/* What the result is. */
enum ret_kind {
	RET_ZERO,
	RET_LEN,
	RET_FD,
	RET_PID,
	RET_ADDR,
	RET_INT,
	RET_NEVER,
	RET_EINTR, /* waits for a signal: the kernel gives -ERESTARTNOHAND, which becomes EINTR behind a handler */
};

/* Bits of policy_row.flags. */
enum {
	CALL_RESTARTS = 1 << 0,  /* a handled signal restarts it under SA_RESTART, else EINTR (-ERESTARTSYS) */
	CALL_NOHAND = 1 << 1,    /* EINTR for any handled signal, restarted when no handler ran (-ERESTARTNOHAND) */
	CALL_EINTR = 1 << 2,     /* always EINTR */
	CALL_MAY_BLOCK = 1 << 3, /* may park the caller */
	CALL_FD_CHANGE = 1 << 4, /* may change what a descriptor number means: the descriptor cache is told */
	CALL_SIGNALS = 1 << 5,   /* may queue a signal for somebody: signal state is looked at afterwards */
	CALL_EXEC_ONLY = 1 << 8, /* passes in the filter when argument 2, a protection, has no PROT_EXEC */
	CALL_TOUCHES_IO = 1 << 6, /* may make somebody's descriptor ready: readiness is asked again afterwards */
	CALL_LINKS = 1 << 9,     /* may name links of the network namespace: they are translated around it (link_numbers.h) */
	CALL_PIECEWISE = 1 << 7, /* stops early when the task is asked to stop, so it is not to notice (VERDICT_HOOK) */
};

typedef int policy_handler_fn(struct engine *e, struct task *t, struct verdict *v);

struct policy_row {
	const char *name; /* NULL: no row */
	enum policy_class class;
	policy_handler_fn *handler; /* NULL for PASS and REFUSE */
	uint8_t ret;                /* enum ret_kind */
	uint8_t nargs;
	uint16_t flags;
	int16_t error;    /* REFUSE: the errno, positive */
	uint32_t cost_ns; /* virtual time it takes, never 0 */
	const char *why;  /* reason for the class: one sentence, for the manual page */
	struct arg_spec args[6];
};

/* Numbers run from 0 to POLICY_MAX_NR; there is room above the newest known. */
#define POLICY_MAX_NR 511

/* The row of a number; for unknown numbers a row with class CLASS_UNLISTED. Never NULL. */
const struct policy_row *policy_row(int64_t nr);

/* The number of a call by name, -1 if there is none. */
int policy_number(const char *name);

/* "PASS" ..., "UNLISTED". */
const char *policy_class_name(enum policy_class class);

/* What a class means, in a few words. */
const char *policy_class_meaning(enum policy_class class);

/* The kind in a word: "fd", "path", "out" ... */
const char *policy_kind_name(enum arg_kind kind);

/* What a call gives back, in a word. */
const char *policy_ret_name(enum ret_kind ret);

/* Does the kind name guest memory whose length the specification tells? (PATH and STR end at their NUL.) */
bool policy_arg_is_memory(enum arg_kind kind);

#endif
