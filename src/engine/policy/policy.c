/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The policy table in memory: syscalls.def, indexed by number. The shorthands below exist for the rows only. A number that stands
 * twice is a compile error (-Woverride-init).
 */
#include "engine/policy/policy.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/policy/flags.h"
#include "engine/calls/handlers.h"

/* clang-format off */

/* Bits of `flags`. */
#define BLOCK   CALL_MAY_BLOCK
#define RESTART CALL_RESTARTS
#define NOHAND  CALL_NOHAND
#define EINTR_  CALL_EINTR
#define FDS     CALL_FD_CHANGE
#define SIGNALS CALL_SIGNALS
#define EXEC_ONLY CALL_EXEC_ONLY
#define IO      CALL_TOUCHES_IO
#define PIECES  CALL_PIECEWISE
#define LINKS   CALL_LINKS

/* Arguments that are values. */
#define INT     { .kind = ARG_INT }
#define UINT    { .kind = ARG_UINT }
#define HEX     { .kind = ARG_HEX }
#define SIZE    { .kind = ARG_SIZE }
#define OFFSET  { .kind = ARG_OFFSET }
#define ADDR    { .kind = ARG_ADDR }
#define ANY     { .kind = ARG_ANY }
#define FD      { .kind = ARG_FD }
#define DIRFD   { .kind = ARG_DIRFD }
#define PID     { .kind = ARG_PID }
#define SIGNAL  { .kind = ARG_SIGNAL }
#define CLOCK   { .kind = ARG_CLOCK }
#define MODE    { .kind = ARG_MODE }
#define FLAGS(set) { .kind = ARG_FLAGS, .len = FLAG_SET_##set }

/* Strings: they end at their NUL. */
#define PATH    { .kind = ARG_PATH }
#define STR     { .kind = ARG_STR }

/* Memory of n bytes; as many bytes as argument a says, or as the result says; or items of n bytes, counted in argument a. */
#define IN(n)      { .kind = ARG_IN, .len_kind = LEN_FIXED, .len = (n) }
#define OUT(n)     { .kind = ARG_OUT, .len_kind = LEN_FIXED, .len = (n) }
#define INOUT(n)   { .kind = ARG_INOUT, .len_kind = LEN_FIXED, .len = (n) }
#define IN_ARG(a)     { .kind = ARG_IN, .len_kind = LEN_ARG, .len = (a) }
#define OUT_ARG(a)    { .kind = ARG_OUT, .len_kind = LEN_ARG, .len = (a) }
#define INOUT_ARG(a)  { .kind = ARG_INOUT, .len_kind = LEN_ARG, .len = (a) }
#define OUT_RESULT(a) { .kind = ARG_OUT, .len_kind = LEN_RESULT, .len = (a) }
#define IN_ITEMS(a, n)    { .kind = ARG_IN, .len_kind = LEN_ITEMS, .len = ARG_ITEMS(a, n) }
#define OUT_ITEMS(a, n)   { .kind = ARG_OUT, .len_kind = LEN_ITEMS, .len = ARG_ITEMS(a, n) }
#define INOUT_ITEMS(a, n) { .kind = ARG_INOUT, .len_kind = LEN_ITEMS, .len = ARG_ITEMS(a, n) }
#define OUT_RESULT_ITEMS(a, n) { .kind = ARG_OUT, .len_kind = LEN_RESULT_ITEMS, .len = ARG_ITEMS(a, n) }
#define IN_CUSTOM    { .kind = ARG_IN, .len_kind = LEN_CUSTOM }
#define OUT_CUSTOM   { .kind = ARG_OUT, .len_kind = LEN_CUSTOM }
#define INOUT_CUSTOM { .kind = ARG_INOUT, .len_kind = LEN_CUSTOM }

/* Structures with a kind of their own. */
#define SOCKADDR_IN(a) { .kind = ARG_SOCKADDR_IN, .len_kind = LEN_ARG, .len = (a) }
#define SOCKADDR_OUT   { .kind = ARG_SOCKADDR_OUT, .len_kind = LEN_CUSTOM }
#define IOV_IN         { .kind = ARG_IOV_IN, .len_kind = LEN_CUSTOM }
#define IOV_INOUT      { .kind = ARG_IOV_INOUT, .len_kind = LEN_CUSTOM }
#define IOV_OUT        { .kind = ARG_IOV_OUT, .len_kind = LEN_CUSTOM }
#define MSGHDR_IN      { .kind = ARG_MSGHDR_IN, .len_kind = LEN_FIXED, .len = 56 }
#define MSGHDR_OUT     { .kind = ARG_MSGHDR_OUT, .len_kind = LEN_FIXED, .len = 56 }
#define TIMESPEC_IN    { .kind = ARG_TIMESPEC_IN, .len_kind = LEN_FIXED, .len = 16 }
#define TIMESPEC_OUT   { .kind = ARG_TIMESPEC_OUT, .len_kind = LEN_FIXED, .len = 16 }
#define TIMEVAL_IN     { .kind = ARG_TIMEVAL_IN, .len_kind = LEN_FIXED, .len = 16 }
#define TIMEVAL_OUT    { .kind = ARG_TIMEVAL_OUT, .len_kind = LEN_FIXED, .len = 16 }
#define TIMESPEC_INOUT { .kind = ARG_TIMESPEC_INOUT, .len_kind = LEN_FIXED, .len = 16 }
#define TIMEVAL_INOUT  { .kind = ARG_TIMEVAL_INOUT, .len_kind = LEN_FIXED, .len = 16 }
#define SIGSET_IN(a)   { .kind = ARG_SIGSET_IN, .len_kind = LEN_ARG, .len = (a) }
#define STRV           { .kind = ARG_STRV, .len_kind = LEN_CUSTOM }

#define handle_none NULL

#define ROW(nr, call, class_, handler_, ret_, flags_, error_, cost, why_, ...)                       \
	[nr] = {                                                                                     \
		.name = #call,                                                                       \
		.class = CLASS_##class_,                                                             \
		.handler = handle_##handler_,                                                        \
		.ret = RET_##ret_,                                                                   \
		.nargs = sizeof((struct arg_spec[]){ __VA_ARGS__ }) / sizeof(struct arg_spec),       \
		.flags = (flags_),                                                                   \
		.error = (error_),                                                                   \
		.cost_ns = (cost),                                                                   \
		.why = (why_),                                                                       \
		.args = { __VA_ARGS__ },                                                             \
	},

/* clang-format on */

static const struct policy_row policy_table[POLICY_MAX_NR + 1] = {
#include "engine/policy/syscalls.def"
};

static const struct policy_row policy_unlisted = {
	.class = CLASS_UNLISTED,
	.ret = RET_INT,
	.error = ENOSYS,
	.cost_ns = 1000,
	.why = "no such call is known",
};

static const struct {
	const char *name, *meaning;
} classes[] = {
	[CLASS_UNLISTED] = { "UNLISTED", "no row: refused with ENOSYS and reported once" },
	[CLASS_PASS] = { "PASS", "not looked at: cannot block, a function of what is deterministic already" },
	[CLASS_ORDER] = { "ORDER", "the kernel runs it, in turn" },
	[CLASS_FIXUP] = { "FIXUP", "the kernel runs it, in turn, and what the host would show is replaced" },
	[CLASS_EMULATE] = { "EMULATE", "answered by the supervisor" },
	[CLASS_REFUSE] = { "REFUSE", "refused with a fixed error, before arguments are looked at" },
};

static const char *const kind_names[] = {
	[ARG_NONE] = "",
	[ARG_INT] = "int",
	[ARG_UINT] = "uint",
	[ARG_HEX] = "bits",
	[ARG_SIZE] = "size",
	[ARG_OFFSET] = "offset",
	[ARG_ADDR] = "address",
	[ARG_FD] = "fd",
	[ARG_DIRFD] = "dirfd",
	[ARG_PATH] = "path",
	[ARG_STR] = "string",
	[ARG_PID] = "pid",
	[ARG_SIGNAL] = "signal",
	[ARG_CLOCK] = "clock",
	[ARG_MODE] = "mode",
	[ARG_FLAGS] = "flags",
	[ARG_IN] = "in",
	[ARG_OUT] = "out",
	[ARG_INOUT] = "inout",
	[ARG_SOCKADDR_IN] = "sockaddr",
	[ARG_SOCKADDR_OUT] = "sockaddr-out",
	[ARG_IOV_IN] = "iovec",
	[ARG_IOV_INOUT] = "iovec-inout",
	[ARG_IOV_OUT] = "iovec-out",
	[ARG_MSGHDR_IN] = "msghdr",
	[ARG_MSGHDR_OUT] = "msghdr-out",
	[ARG_TIMESPEC_IN] = "timespec",
	[ARG_TIMESPEC_OUT] = "timespec-out",
	[ARG_TIMEVAL_IN] = "timeval",
	[ARG_TIMEVAL_OUT] = "timeval-out",
	[ARG_TIMESPEC_INOUT] = "timespec-inout",
	[ARG_TIMEVAL_INOUT] = "timeval-inout",
	[ARG_SIGSET_IN] = "sigset",
	[ARG_STRV] = "strings",
	[ARG_ANY] = "any",
};

static const char *const ret_names[] = {
	[RET_ZERO] = "zero", [RET_LEN] = "length", [RET_FD] = "fd",       [RET_PID] = "pid",
	[RET_ADDR] = "address", [RET_INT] = "int",  [RET_NEVER] = "never",
	[RET_EINTR] = "EINTR",
};

const struct policy_row *policy_row(int64_t nr)
{
	if (nr < 0 || nr > POLICY_MAX_NR || !policy_table[nr].name)
		return &policy_unlisted;

	return &policy_table[nr];
}

int policy_number(const char *name)
{
	for (int nr = 0; nr <= POLICY_MAX_NR; nr++)
		if (policy_table[nr].name && strcmp(policy_table[nr].name, name) == 0)
			return nr;

	return -1;
}

const char *policy_class_name(enum policy_class class)
{
	return (size_t)class < ARRAY_SIZE(classes) ? classes[class].name : "?";
}

const char *policy_class_meaning(enum policy_class class)
{
	return (size_t)class < ARRAY_SIZE(classes) ? classes[class].meaning : "?";
}

const char *policy_kind_name(enum arg_kind kind)
{
	return (size_t)kind < ARRAY_SIZE(kind_names) && kind_names[kind] ? kind_names[kind] : "?";
}

const char *policy_ret_name(enum ret_kind ret)
{
	return (size_t)ret < ARRAY_SIZE(ret_names) ? ret_names[ret] : "?";
}

bool policy_arg_is_memory(enum arg_kind kind)
{
	return (kind >= ARG_IN && kind <= ARG_SIGSET_IN) || kind == ARG_STRV;
}
