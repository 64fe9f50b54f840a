/* SPDX-License-Identifier: BSD-3-Clause */
/* From options to the description of a run. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "supervisor/launch.h"
#include "supervisor/user_names.h"

static void start(struct run_options *o)
{
	cr_assert_eq(run_options_init(o), 0);
	cr_assert_eq(strv_add(&o->argv, "/bin/true"), 0);
}

static void set(struct run_options *o, const char *name, const char *text)
{
	struct error err = { 0 };

	cr_assert_eq(run_options_set(o, option_find(name), text, &err), 0, "%s", err.text);
}

Test(launch, environment)
{
	_cleanup_run_options_ struct run_options o = { 0 };
	_cleanup_strv_ struct strv minimal = { 0 }, host = { 0 }, empty = { 0 };

	cr_assert_eq(setenv("LEAKS", "yes", 1), 0);
	start(&o);
	set(&o, "env", "PATH=/own");
	set(&o, "env", "NEW=1");
	cr_assert_eq(launch_environment(&o, &minimal), 0);
	cr_assert_null(strv_get_env(&minimal, "LEAKS"), "the caller's environment does not show unless asked for");
	cr_assert_str_eq(strv_get_env(&minimal, "HOME"), "/root");
	cr_assert_str_eq(strv_get_env(&minimal, "PATH"), "/own");
	cr_assert_str_eq(strv_get_env(&minimal, "NEW"), "1");
	set(&o, "base-env", "host");
	cr_assert_eq(launch_environment(&o, &host), 0);
	cr_assert_str_eq(strv_get_env(&host, "LEAKS"), "yes");
	set(&o, "base-env", "empty");
	cr_assert_eq(launch_environment(&o, &empty), 0);
	cr_assert_eq(empty.count, 2);
}

Test(launch, bind)
{
	static const struct {
		const char *text, *target, *message;
		unsigned long flags;
	} rows[] = {
		{ "/usr", "/usr", NULL, MS_BIND | MS_REC },
		{ "/usr:/x", "/x", NULL, MS_BIND | MS_REC },
		{ "/usr:/x:ro", "/x", NULL, MS_BIND | MS_REC | MS_RDONLY },
		{ "/usr:/x:rw", "/x", NULL, MS_BIND | MS_REC },
		{ "/usr:x", NULL, "--bind: 'x' is not an absolute path, in '/usr:x'", 0 },
		{ "/usr:/x:no", NULL, "--bind: 'no' is not known, in '/usr:/x:no'; known: ro, rw, z, Z, rbind, bind, private, rprivate, nosuid, nodev, noexec", 0 },
		{ "/usr:/x:ro,", NULL, "--bind: '' is not known, in '/usr:/x:ro,'; known: ro, rw, z, Z, rbind, bind, private, rprivate, nosuid, nodev, noexec", 0 },
		{ "/usr:/x:Z", "/x", NULL, MS_BIND | MS_REC },
		{ "/usr:/x:ro,z,noexec,bind", "/x", NULL, MS_BIND | MS_RDONLY | MS_NOEXEC },
		{ "/nowhere-at-all", NULL, "--bind: '/nowhere-at-all': No such file or directory", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strv_ struct strv texts = { 0 };
		struct container_mount mount = { 0 };
		struct error err = { 0 };
		int r = launch_parse_bind(rows[i].text, &texts, &mount, &err);

		cr_assert_eq(r < 0, rows[i].message != NULL, "%s: %s", rows[i].text, err.text);
		if (rows[i].message) {
			cr_assert_str_eq(err.text, rows[i].message);
			continue;
		}
		cr_assert_str_eq(mount.source, "/usr");
		cr_assert_str_eq(mount.target, rows[i].target);
		cr_assert_eq(mount.flags, rows[i].flags, "%s", rows[i].text);
	}
}

Test(launch, mount)
{
	static const struct {
		const char *text, *source, *target;
		unsigned long flags;
		const char *data;
	} rows[] = {
		{ "type=bind,source=/usr,target=/x", "/usr", "/x", MS_BIND | MS_REC, NULL },
		{ "type=bind,src=/usr,dst=/x,readonly", "/usr", "/x", MS_BIND | MS_REC | MS_RDONLY, NULL },
		{ "type=tmpfs,destination=/x", NULL, "/x", 0, NULL },
		{ "type=tmpfs,size=2k,target=/x", NULL, "/x", 0, "size=2048" },
	};
	static const char *const bad[] = {
		"", "type=bind,target=/x", "type=tmpfs,source=/usr,target=/x", "type=proc,target=/x", "type=tmpfs",
		"type=tmpfs,target=x", "type=tmpfs,target=/x,size=many", "type=tmpfs,target=/x,size=0", "type=tmpfs,target=/x,",
		"type=tmpfs,target=/x,sise=3", "type=bind,source=/usr,target=/x,size=3",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strv_ struct strv texts = { 0 };
		struct container_mount mount = { 0 };
		struct error err = { 0 };

		cr_assert_eq(launch_parse_mount(rows[i].text, &texts, &mount, &err), 0, "%s", err.text);
		cr_assert_eq(mount.source != NULL, rows[i].source != NULL, "%s", rows[i].text);
		cr_assert_str_eq(mount.target, rows[i].target);
		cr_assert_eq(mount.flags, rows[i].flags, "%s", rows[i].text);
		cr_assert_eq(mount.data != NULL, rows[i].data != NULL, "%s", rows[i].text);
		cr_assert(!mount.data || !strcmp(mount.data, rows[i].data), "%s", rows[i].text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_strv_ struct strv texts = { 0 };
		struct container_mount mount = { 0 };
		struct error err = { 0 };

		cr_assert_lt(launch_parse_mount(bad[i], &texts, &mount, &err), 0, "'%s'", bad[i]);
		cr_assert(err.text[0], "'%s'", bad[i]);
	}
}

Test(launch, user_by_number)
{
	static const char *const bad[] = { "root", "1:", "", ":", ":1", "1:root", "-1", "4294967295", "1:4294967295" };
	uid_t uid = 7;
	gid_t gid = 7;

	cr_assert_eq(user_names_parse_numbers("1000", &uid, &gid, NULL), 0);
	cr_assert(uid == 1000 && gid == 7);
	cr_assert_eq(user_names_parse_numbers("0:100", &uid, &gid, NULL), 0);
	cr_assert(uid == 0 && gid == 100);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = { 0 };

		cr_assert_lt(user_names_parse_numbers(bad[i], &uid, &gid, &err), 0, "'%s'", bad[i]);
		cr_assert(strstr(err.text, "is not the number of a user or group"), "%s", err.text);
	}
}

Test(launch, user_by_name)
{
	uid_t uid = 7;
	gid_t gid = 7;

	cr_assert_eq(user_names_find("1000", &uid, &gid, NULL), 0);
	cr_assert(uid == 1000 && gid == 7);
	cr_assert_eq(user_names_find("root", &uid, &gid, NULL), 0);
	cr_assert(uid == 0 && gid == 0);
	cr_assert_eq(user_names_find("root:5", &uid, &gid, NULL), 0);
	cr_assert(uid == 0 && gid == 5);
	cr_assert_eq(user_names_find("5:root", &uid, &gid, NULL), 0);
	cr_assert(uid == 5 && gid == 0);
	gid = 7;
	cr_assert_eq(user_names_find_group("root", &gid, NULL), 0);
	cr_assert(gid == 0);
	cr_assert_lt(user_names_find("4294967295", &uid, &gid, NULL), 0, "-1 means 'unchanged' to the kernel");
	cr_assert_lt(user_names_find("root:", &uid, &gid, NULL), 0);
	cr_assert_lt(user_names_find_group("", &gid, NULL), 0);
}
