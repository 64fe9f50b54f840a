/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The policy table is read here as a table: is it whole, and does each row say what its class needs? Numbers are checked against two
 * witnesses that do not come from this tree: libseccomp's resolver and the kernel's header.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/cleanup.h"
#include "engine/policy/decode.h"
#include "engine/policy/flags.h"
#include "engine/calls/handlers.h"
#include "engine/policy/policy.h"

/* Linux has had these up to 6.18; the numbers between are reserved. */
#define FIRST_BLOCK_END 336
#define SECOND_BLOCK_START 424
#define SECOND_BLOCK_END 470

static const struct {
	int nr;
	const char *name;
} header_calls[] = {
#define HEADER_CALL(nr, name) { nr, #name },
#include "tests/unit/kernel_calls.h"
#undef HEADER_CALL
};

static bool is_known_number(int nr)
{
	return nr <= FIRST_BLOCK_END || (nr >= SECOND_BLOCK_START && nr <= SECOND_BLOCK_END);
}

#define for_each_row(nr, row)                                                                          \
	for (int nr = 0; nr <= POLICY_MAX_NR; nr++)                                                    \
		for (const struct policy_row *row = policy_row(nr); row && row->name; row = NULL)

Test(policy, every_known_number_has_a_row_and_no_other)
{
	for (int nr = 0; nr <= POLICY_MAX_NR; nr++)
		cr_assert_eq(policy_row(nr)->name != NULL, is_known_number(nr), "number %d", nr);
}

Test(policy, the_table_ends_where_it_should)
{
	static const int64_t outside[] = { -1, SECOND_BLOCK_END + 1, POLICY_MAX_NR, POLICY_MAX_NR + 1, INT_MAX,
					   1ll << 32, (1ll << 32) + 1, 0x40000000, INT64_MIN, INT64_MAX };

	cr_assert_str_eq(policy_row(0)->name, "read");
	cr_assert_str_eq(policy_row(SECOND_BLOCK_END)->name, "listns");
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++) {
		cr_assert_eq(policy_row(outside[i])->class, CLASS_UNLISTED, "number %lld", (long long)outside[i]);
		cr_assert_null(policy_row(outside[i])->name);
		cr_assert_eq(policy_row(outside[i])->error, ENOSYS);
	}
}

Test(policy, names_agree_with_libseccomp)
{
	unsigned agreed = 0;

	for (int nr = 0; nr <= POLICY_MAX_NR; nr++) {
		_cleanup_free_ char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, nr);

		if (!name)
			continue;
		cr_assert_not_null(policy_row(nr)->name, "%s (%d) has no row", name, nr);
		cr_assert_str_eq(policy_row(nr)->name, name, "number %d", nr);
		agreed++;
	}
	cr_assert_geq(agreed, 360, "libseccomp knew only %u calls", agreed);
}

Test(policy, numbers_agree_with_libseccomp)
{
	for_each_row(nr, row) {
		int other = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, row->name);

		if (other != __NR_SCMP_ERROR)
			cr_assert_eq(other, nr, "%s", row->name);
	}
}

Test(policy, every_call_of_the_kernel_header_has_its_row)
{
	cr_assert_gt(ARRAY_SIZE(header_calls), 350);
	for (size_t i = 0; i < ARRAY_SIZE(header_calls); i++) {
		const char *name = policy_row(header_calls[i].nr)->name;

		cr_assert_not_null(name, "%s (%d) has no row", header_calls[i].name, header_calls[i].nr);
		cr_assert_str_eq(name, header_calls[i].name);
	}
}

Test(policy, names_lead_to_their_numbers)
{
	for_each_row(nr, row)
		cr_assert_eq(policy_number(row->name), nr, "%s", row->name);
	cr_assert_eq(policy_number("no_such_call"), -1);
	cr_assert_eq(policy_number(""), -1);
	cr_assert_eq(policy_number("rea"), -1);
}

Test(policy, a_handler_stands_where_the_class_needs_one)
{
	for_each_row(nr, row) {
		bool needed = row->class == CLASS_ORDER || row->class == CLASS_FIXUP || row->class == CLASS_EMULATE;

		cr_assert_neq(row->class, CLASS_UNLISTED, "%s", row->name);
		cr_assert_eq(row->handler != NULL, needed, "%s", row->name);
	}
}

/* A handler that only lets the call through cannot replace or answer anything. */
Test(policy, plain_is_for_order_only)
{
	for_each_row(nr, row)
		cr_assert(row->handler != handle_plain || row->class == CLASS_ORDER, "%s", row->name);
}

Test(policy, an_error_stands_where_the_class_refuses)
{
	for_each_row(nr, row) {
		cr_assert_eq(row->error != 0, row->class == CLASS_REFUSE, "%s", row->name);
		cr_assert_geq(row->error, 0, "%s", row->name);
		if (row->error)
			cr_assert_not_null(decode_errno_name(row->error), "%s", row->name);
	}
}

Test(policy, every_call_costs_time)
{
	cr_assert_gt(policy_row(-1)->cost_ns, 0);
	for_each_row(nr, row) {
		cr_assert_gt(row->cost_ns, 0, "%s", row->name);
		cr_assert_leq(row->cost_ns, 1000000, "%s", row->name);
	}
}

Test(policy, calls_that_pass_cannot_block_or_change_what_the_engine_tracks)
{
	for_each_row(nr, row) {
		if (row->class != CLASS_PASS)
			continue;
		cr_assert_eq(row->flags, 0, "%s", row->name);
		cr_assert_neq(row->ret, RET_FD, "%s", row->name);
		cr_assert_geq(strlen(row->why), 40, "%s: say why it is safe", row->name);
	}
}

Test(policy, reasons_are_plain_sentences)
{
	for_each_row(nr, row) {
		cr_assert_geq(strlen(row->why), 5, "%s", row->name);
		cr_assert_neq(row->why[strlen(row->why) - 1], '.', "%s", row->name);
		for (const char *p = row->why; *p; p++)
			cr_assert(*p >= ' ' && *p < 0x7f && *p != '"' && *p != '\\' && *p != '|', "%s: '%c'", row->name, *p);
	}
}

Test(policy, arguments_are_counted_right)
{
	for_each_row(nr, row) {
		cr_assert_leq(row->nargs, 6, "%s", row->name);
		for (unsigned i = 0; i < 6; i++)
			cr_assert_eq(row->args[i].kind != ARG_NONE, i < row->nargs, "%s, argument %u", row->name, i);
	}
}

static bool is_kind(const struct policy_row *row, unsigned i, enum arg_kind kind)
{
	return i < row->nargs && row->args[i].kind == kind;
}

static void check_length(const struct policy_row *row, const struct arg_spec *spec)
{
	bool by_argument = spec->len_kind == LEN_ARG || spec->len_kind == LEN_RESULT;
	bool by_items = spec->len_kind == LEN_ITEMS || spec->len_kind == LEN_RESULT_ITEMS;

	cr_assert_eq(spec->len_kind != LEN_NONE, policy_arg_is_memory(spec->kind), "%s", row->name);
	if (spec->len_kind == LEN_FIXED)
		cr_assert_gt(spec->len, 0, "%s", row->name);
	if (by_argument)
		cr_assert(is_kind(row, spec->len, ARG_SIZE), "%s: length by argument %u", row->name, spec->len);
	if (by_items) {
		cr_assert(is_kind(row, ARG_ITEM_COUNT(spec->len), ARG_SIZE), "%s", row->name);
		cr_assert_gt(ARG_ITEM_SIZE(spec->len), 0, "%s", row->name);
	}
	if (spec->len_kind == LEN_RESULT || spec->len_kind == LEN_RESULT_ITEMS)
		cr_assert(row->ret == RET_LEN || row->ret == RET_INT, "%s: its result is no length", row->name);
}

Test(policy, memory_has_a_length_and_nothing_else_has)
{
	for_each_row(nr, row)
		for (unsigned i = 0; i < row->nargs; i++)
			check_length(row, &row->args[i]);
}

Test(policy, a_directory_descriptor_goes_with_a_path)
{
	for_each_row(nr, row)
		for (unsigned i = 0; i < row->nargs; i++)
			if (row->args[i].kind == ARG_DIRFD)
				cr_assert(is_kind(row, i + 1, ARG_PATH), "%s", row->name);
}

Test(policy, an_iovec_goes_with_its_count)
{
	for_each_row(nr, row)
		for (unsigned i = 0; i < row->nargs; i++)
			if (row->args[i].kind >= ARG_IOV_IN && row->args[i].kind <= ARG_IOV_INOUT)
				cr_assert(is_kind(row, i + 1, ARG_SIZE), "%s", row->name);
}

Test(policy, flag_sets_exist)
{
	char text[256];

	for_each_row(nr, row)
		for (unsigned i = 0; i < row->nargs; i++) {
			if (row->args[i].kind != ARG_FLAGS)
				continue;
			cr_assert(row->args[i].len > FLAG_SET_NONE && row->args[i].len < N_FLAG_SETS, "%s", row->name);
			/* All bits at once: a set without any name would print the bare number. */
			(void)flags_format(row->args[i].len, UINT32_MAX, text, sizeof(text));
			if (row->args[i].len != FLAG_SET_ITIMER)
				cr_assert(strcmp(text, "") != 0, "%s", row->name);
		}
}

Test(policy, what_blocks_says_what_a_signal_does)
{
	for_each_row(nr, row) {
		unsigned ways = !!(row->flags & CALL_RESTARTS) + !!(row->flags & CALL_NOHAND) + !!(row->flags & CALL_EINTR);

		if (strcmp(row->name, "restart_syscall") == 0)
			continue; /* the call that is restarted says it */
		cr_assert_eq(ways, row->flags & CALL_MAY_BLOCK ? 1 : 0, "%s", row->name);
	}
}

Test(policy, what_makes_descriptors_tells_the_cache)
{
	for_each_row(nr, row)
		if (row->ret == RET_FD && row->class != CLASS_REFUSE)
			cr_assert(row->flags & CALL_FD_CHANGE, "%s", row->name);
}

/* One sibling forgotten was the commonest fault of older systems. */
Test(policy, siblings_have_one_class)
{
	static const char *const families[][10] = {
		{ "read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg", "recvmmsg" },
		{ "write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg", "sendmmsg" },
		{ "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs" },
		{ "open", "openat", "openat2", "creat" },
		{ "getdents", "getdents64" },
		{ "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2" },
		{ "utime", "utimes", "futimesat", "utimensat" },
		{ "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal" },
		{ "clone", "clone3", "fork", "vfork" },
		{ "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir" },
		{ "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "mknod", "mknodat" },
		{ "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat" },
		{ "getxattr", "lgetxattr", "fgetxattr", "getxattrat", "listxattr", "llistxattr", "flistxattr", "listxattrat" },
		{ "time", "gettimeofday", "clock_gettime", "clock_getres", "times", "getrusage" },
		{ "io_uring_setup", "io_uring_enter", "io_uring_register", "io_setup", "io_submit", "io_getevents", "io_pgetevents" },
	};

	for (size_t f = 0; f < ARRAY_SIZE(families); f++)
		for (size_t i = 0; i < ARRAY_SIZE(families[f]) && families[f][i]; i++) {
			int nr = policy_number(families[f][i]);

			cr_assert_geq(nr, 0, "%s", families[f][i]);
			cr_assert_eq(policy_row(nr)->class, policy_row(policy_number(families[f][0]))->class, "%s and %s",
				     families[f][i], families[f][0]);
		}
}

Test(policy, classes_and_kinds_have_names)
{
	for (enum policy_class class = CLASS_UNLISTED; class <= CLASS_REFUSE; class++)
		cr_assert_gt(strlen(policy_class_name(class)), 3);
	cr_assert_str_eq(policy_class_name(CLASS_REFUSE + 1), "?");
	for (enum arg_kind kind = ARG_INT; kind <= ARG_ANY; kind++)
		cr_assert_str_neq(policy_kind_name(kind), "?", "kind %d", kind);
	cr_assert_str_eq(policy_kind_name(ARG_ANY + 1), "?");
}
