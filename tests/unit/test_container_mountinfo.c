/* SPDX-License-Identifier: BSD-3-Clause */
/* The parser of /proc/PID/mountinfo and the questions asked about paths and mounts. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "container/mountinfo.h"

static const char sample[] = "21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
			     "22 21 0:20 / /home\\040of\\134all ro,nosuid shared:2 master:1 - tmpfs none rw\n"
			     "23 22 0:21 /sub /home\\040of\\134all/x rw - nfs4 host:/a\\011b rw,addr=::1\n"
			     "24 21 0:22 / /srv rw,noexec - fuse  rw\n";

static struct mount_table parse(const char *text)
{
	struct mount_table table;
	struct error err = { 0 };

	cr_assert_eq(mount_table_parse(strdup(text), &table, &err), 0, "%s", err.text);
	return table;
}

Test(container_mountinfo, fields_are_separated_and_unescaped)
{
	struct mount_table table = parse(sample);

	cr_assert_eq(table.n, 4);
	cr_assert_eq(table.entries[0].id, 21);
	cr_assert_eq(table.entries[0].parent, 1);
	cr_assert_str_eq(table.entries[0].type, "ext4");
	cr_assert_str_eq(table.entries[0].super_options, "rw,discard");
	cr_assert_str_eq(table.entries[1].point, "/home of\\all");
	cr_assert_str_eq(table.entries[2].root, "/sub");
	cr_assert_str_eq(table.entries[2].source, "host:/a\tb");
	cr_assert_str_eq(table.entries[3].source, "", "an empty source is legal");
	mount_table_free(&table);
}

Test(container_mountinfo, malformed_lines_are_refused)
{
	static const struct {
		char what[32];
		const char *text;
	} rows[] = {
		{ "no separator", "21 1 254:0 / / rw shared:1 ext4 /dev/vda rw\n" },
		{ "number", "x 1 254:0 / / rw - ext4 /dev/vda rw\n" },
		{ "negative number", "-1 1 254:0 / / rw - ext4 /dev/vda rw\n" },
		{ "number too large", "99999999999 1 254:0 / / rw - ext4 /dev/vda rw\n" },
		{ "cut off after the type", "21 1 254:0 / / rw - ext4\n" },
		{ "cut off early", "21 1 254:0 /\n" },
		{ "second line", "21 1 254:0 / / rw - ext4 /dev/vda rw\n22\n" },
	};
	struct mount_table table;
	struct error err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		cr_expect_eq(mount_table_parse(strdup(rows[i].text), &table, &err), -EINVAL, "%s", rows[i].what);
	cr_expect_str_eq(err.text, "mountinfo: line 2 is malformed");
}

Test(container_mountinfo, empty_is_a_table)
{
	struct mount_table table = parse("");

	cr_assert_eq(table.n, 0);
	cr_assert_null(mount_table_find(&table, "/"));
	mount_table_free(&table);
}

Test(container_mountinfo, below_means_whole_components)
{
	cr_expect(path_is_under("/a/b", "/a"));
	cr_expect(path_is_under("/a", "/a"));
	cr_expect(path_is_under("/a", "/"));
	cr_expect_not(path_is_under("/ab", "/a"));
	cr_expect_not(path_is_under("/", "/a"));
}

Test(container_mountinfo, questions_about_mounts)
{
	struct mount_table table = parse(sample);

	cr_expect(mount_table_has_below(&table, "/"));
	cr_expect(mount_table_has_below(&table, "/home of\\all"));
	cr_expect_not(mount_table_has_below(&table, "/home"));
	cr_expect_not(mount_table_has_below(&table, "/srv"), "a mount is not below itself");
	cr_expect_eq(mount_table_find(&table, "/srv")->id, 24);
	cr_expect_null(mount_table_find(&table, "/srv/x"));
	cr_expect_eq(mount_table_containing(&table, "/srv/x")->id, 24);
	cr_expect_eq(mount_table_containing(&table, "/etc")->id, 21);
	cr_expect_eq(mount_table_containing(&table, "/home of\\all/x/y")->id, 23);
	mount_table_free(&table);
}

Test(container_mountinfo, the_later_of_two_on_one_point_counts)
{
	struct mount_table table = parse("1 0 0:1 / / rw - tmpfs a rw\n2 1 0:2 / / rw - tmpfs b rw\n");

	cr_expect_eq(mount_table_find(&table, "/")->id, 2);
	cr_expect_eq(mount_table_containing(&table, "/x")->id, 2);
	mount_table_free(&table);
}

Test(container_mountinfo, options_are_whole_words)
{
	cr_expect(options_have("rw,nosuid,relatime", "nosuid"));
	cr_expect(options_have("ro", "ro"));
	cr_expect_not(options_have("errors=ro,rootcontext", "ro"));
	cr_expect_not(options_have("", "ro"));
}

Test(container_mountinfo, hierarchies_of_cgroups)
{
	static const struct {
		const char *options, *name;
	} rows[] = {
		{ "rw,memory", "memory" },
		{ "rw,xattr,cpu,cpuacct", "cpu,cpuacct" },
		{ "rw,xattr,release_agent=/lib/agent,name=systemd", "name=systemd" },
		{ "rw,clone_children,cpuset,noprefix", "cpuset" },
		{ "rw", "" },
		{ "", "" },
	};
	char name[64];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cgroup_v1_name(rows[i].options, name, sizeof(name));
		cr_expect_str_eq(name, rows[i].name, "%s", rows[i].options);
	}
}
