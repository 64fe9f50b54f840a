/* SPDX-License-Identifier: BSD-3-Clause */
/* The small languages of oci/syntax.h, the tables that are searched, and the arena. */
#include "oci/syntax.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "oci/arena.h"
#include "oci/tables.h"

struct row {
	const char *text;
	bool good;
};

static void check(bool (*valid)(const char *), const struct row *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		cr_expect_eq(valid(rows[i].text), rows[i].good, "'%s'", rows[i].text);
}

Test(oci_syntax, versions)
{
	static const struct row rows[] = {
		{ "1.0.0", true },	 { "1.0.2-dev", true },
		{ "1.3.0", true },	 { "1.2.0-rc.1+build.5", true },
		{ "1.0.0+dev", true },	 { "1.999999999.0", true },
		{ "", false },		 { "1", false },
		{ "1.0", false },	 { "1.0.", false },
		{ "1.0.0.0", false },	 { "2.0.0", false },
		{ "10.0.0", false },	 { "1.00.0", false },
		{ "1.0.0-", false },	 { "1.0.0+", false },
		{ "1.0.0-a..b", false }, { " 1.0.0", false },
		{ "1.0.0 ", false },	 { "1.0.0-a_b", false },
		{ "0.2.0", false },
	};

	check(oci_version_supported, rows, ARRAY_SIZE(rows));
}

Test(oci_syntax, cpu_lists)
{
	static const struct row rows[] = {
		{ "0", true },	 { "0-3", true }, { "0-3,7", true }, { " 0 - 3 , 7 ", true }, { "5-5", true },
		{ "", false },	 { ",", false },  { "1,", false },   { "3-0", false },	      { "-1", false },
		{ "1-", false }, { "a", false },  { "1;2", false },  { "1234567890", false },
	};

	check(oci_cpu_list_valid, rows, ARRAY_SIZE(rows));
}

Test(oci_syntax, page_sizes)
{
	static const struct row rows[] = {
		{ "2MB", true }, { "1GB", true },  { "64KB", true },  { "", false },	 { "2M", false },
		{ "MB", false }, { "0MB", false }, { "2MiB", false }, { "2MBs", false }, { "2", false },
	};

	check(oci_page_size_valid, rows, ARRAY_SIZE(rows));
}

Test(oci_syntax, ids)
{
	static const struct row rows[] = {
		{ "a", true },	 { "A-b_c.d+9", true }, { "...", true },  { "", false },	 { ".", false },
		{ "..", false }, { "a/b", false },	{ "a b", false }, { "\xc3\xa4", false },
	};

	check(oci_id_valid, rows, ARRAY_SIZE(rows));
}

Test(oci_syntax, sysctl_paths)
{
	static const struct {
		const char *name, *path;
	} rows[] = {
		{ "net.ipv4.ip_forward", "net/ipv4/ip_forward" },
		{ "net/ipv4/conf/eth0.100/forwarding", "net/ipv4/conf/eth0.100/forwarding" },
		{ "net.ipv4.conf.eth0/100.forwarding", "net/ipv4/conf/eth0.100/forwarding" },
		{ "single", "single" },
		{ "", NULL },
		{ "/net/x", NULL },
		{ ".net.x", NULL },
		{ "net.", NULL },
		{ "net/", NULL },
		{ "net..x", NULL },
		{ "net//x", NULL },
		{ "net/../vm/x", NULL },
		{ "net/./x", NULL },
		{ "net.//.vm.x", NULL },
	};
	char buf[64];
	size_t i;
	int r;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		r = oci_sysctl_path(rows[i].name, buf, sizeof(buf));
		cr_expect_eq(r, rows[i].path ? 0 : -EINVAL, "'%s'", rows[i].name);
		if (rows[i].path && r == 0)
			cr_expect_str_eq(buf, rows[i].path);
	}
	cr_expect_eq(oci_sysctl_path("net.core.somaxconn", buf, 8), -ENAMETOOLONG);
}

Test(oci_tables, mount_options_are_sorted)
{
	size_t i;

	for (i = 1; i < oci_n_mount_options; i++)
		cr_expect_lt(strcmp(oci_mount_options[i - 1].name, oci_mount_options[i].name), 0, "%s",
			     oci_mount_options[i].name);
}

/* libseccomp is the witness for the tokens of the architectures. */
Test(oci_tables, architectures_agree_with_libseccomp)
{
	const struct jread_name *row;
	char name[32];
	uint32_t token;
	size_t i, n = 0;

	for (row = oci_seccomp_arch_names; row->name; row++) {
		memset(name, 0, sizeof(name));
		for (i = strlen("SCMP_ARCH_"); row->name[i]; i++)
			name[i - strlen("SCMP_ARCH_")] = (char)(row->name[i] | (row->name[i] >= 'A' ? 0x20 : 0));
		token = seccomp_arch_resolve_name(name);
		if (token == 0)
			continue; /* younger than the library */
		cr_expect_eq(row->value, token, "%s", row->name);
		n++;
	}
	cr_expect_geq(n, 17);
}

Test(oci_tables, capabilities_are_complete)
{
	size_t n = 0;

	for (; oci_capability_names[n].name; n++)
		cr_expect_eq(oci_capability_names[n].value, n);
	cr_expect_eq(n, CAP_LAST_CAP + 1);
}

Test(oci_arena, gives_zeroed_aligned_memory)
{
	struct oci_arena *arena = oci_arena_new();
	unsigned char *p;
	size_t i, size;

	for (size = 0; size < 20000; size += 997) {
		p = oci_arena_alloc(arena, size);
		cr_assert(p);
		cr_expect_eq((uintptr_t)p % _Alignof(max_align_t), 0);
		for (i = 0; i < size; i++)
			cr_assert_eq(p[i], 0);
		memset(p, 0xff, size);
	}
	cr_expect_null(oci_arena_array(arena, SIZE_MAX / 2, 4));
	cr_expect_null(oci_arena_alloc(arena, SIZE_MAX));
	cr_expect_str_eq(oci_arena_strndup(arena, "abcdef", 3), "abc");
	cr_expect_null(oci_arena_free(arena));
	cr_expect_null(oci_arena_free(NULL));
}
