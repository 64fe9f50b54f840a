/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the host's tree that say which machine it is. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "supervisor/machine_files.h"

Test(machine_files, hosts)
{
	static const struct {
		const char *text, *host, *made;
	} rows[] = {
		{ "", "web", "127.0.1.1\tbox\n" },
		{ "127.0.0.1 localhost\n127.0.1.1\tweb\n", "web", "127.0.0.1 localhost\n127.0.1.1\tbox\n" },
		{ "127.0.0.1\tlocalhost web", "web", "127.0.0.1\tlocalhost\n127.0.1.1\tbox\n" },
		{ "10.0.0.7 web.example.org  web # this one\n::1 ip6\n", "web", "::1 ip6\n127.0.1.1\tbox\n" },
		{ "10.0.0.7 web other # both\n", "web", "10.0.0.7 other # both\n127.0.1.1\tbox\n" },
		{ "10.0.0.7 web.example.org web a\n", "web.example.org", "10.0.0.7 a\n127.0.1.1\tbox\n" },
		{ "10.0.0.7 webs we example.web\n", "web", "10.0.0.7 webs we example.web\n127.0.1.1\tbox\n" },
		{ "# web box\n\n  \nweb x\n", "web", "# web box\n\n  \nweb x\n127.0.1.1\tbox\n" },
		{ "10.0.0.9 box\n", "web", "10.0.0.9 box\n" },
		{ "10.0.0.9 box\n", "box", "127.0.1.1\tbox\n" },
		{ "10.0.0.9 #box\n10.0.0.8\n", "web", "10.0.0.9 #box\n10.0.0.8\n127.0.1.1\tbox\n" },
		{ "127.0.0.1 localhost.localdomain localhost\n", "localhost", "127.0.0.1 localhost.localdomain localhost\n127.0.1.1\tbox\n" },
		{ "127.0.0.1 localhost\n", "localhost.localdomain", "127.0.0.1 localhost\n127.0.1.1\tbox\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *made = machine_files_hosts(rows[i].text, rows[i].host, "box");

		cr_expect_str_eq(made, rows[i].made, "row %zu: '%s'", i, made);
	}
}

static const struct container_file *find(const struct machine_files *files, const char *path)
{
	for (size_t i = 0; i < files->n; i++)
		if (strcmp(files->items[i].path, path) == 0)
			return &files->items[i];
	return NULL;
}

Test(machine_files, all)
{
	struct machine_files files;

	cr_assert_eq(machine_files_init(&files, "box", false), 0);
	cr_expect_str_eq(find(&files, "/etc/hostname")->text, "box\n");
	cr_expect_not_null(find(&files, "/etc/resolv.conf"));
	cr_expect_str_eq(find(&files, "/etc/machine-id")->text, find(&files, "/var/lib/dbus/machine-id")->text);
	cr_expect_eq(strspn(find(&files, "/etc/machine-id")->text, "0123456789abcdef"), 32, "machine-id(5)");
	cr_expect_eq(strlen(find(&files, "/etc/hostid")->text), 4, "gethostid(3)");
	for (size_t i = 0; i < files.n; i++) {
		cr_expect_eq(files.items[i].path[0], '/');
		cr_expect(!files.items[i].text != !files.items[i].link, "%s has one of both", files.items[i].path);
	}
	machine_files_clear(&files);
	cr_assert_eq(machine_files_init(&files, "box", true), 0);
	cr_expect_null(find(&files, "/etc/resolv.conf"), "the host's network has the host's name servers");
	machine_files_clear(&files);
}
