/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings of links in a network namespace of one's own: whatever it has inherited, it is the same afterwards. Each setting that can be is changed here before,
 * as the host's could be.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/internal.h"

enum { SETTINGS_MAX = 1024, VALUE_MAX = 64 };

struct settings {
	size_t n;
	struct {
		char path[128], value[VALUE_MAX];
	} list[SETTINGS_MAX];
};

static void read_one(const char *path, char value[VALUE_MAX])
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : fd_read_full(fd, value, VALUE_MAX - 1); /* stable_secret cannot be read before it is set */

	value[n > 0 ? n : 0] = '\0';
}

static struct settings *read_all(const char *pattern)
{
	struct settings *s = calloc(1, sizeof(*s));
	glob_t found = { 0 };

	cr_assert(s);
	if (glob(pattern, GLOB_BRACE, NULL, &found) != 0)
		return s;
	for (size_t i = 0; i < found.gl_pathc && s->n < SETTINGS_MAX; i++) {
		(void)snprintf(s->list[s->n].path, sizeof(s->list[0].path), "%s", found.gl_pathv[i]);
		read_one(s->list[s->n].path, s->list[s->n].value);
		s->n++;
	}
	globfree(&found);
	return s;
}

/* Another value than it has, if the kernel takes one. */
static bool change_one(const char *path, const char *value)
{
	static const char *const tries[] = { "0", "1", "2", "77", "1300" };
	char now[VALUE_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		(void)fd_write_file(AT_FDCWD, path, tries[i]);
		read_one(path, now);
		if (strcmp(now, value) != 0)
			return true;
	}
	return false;
}

static void enter_namespace(void)
{
	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		cr_skip_test("no network namespaces can be made here");
}

static void come_up(bool inherits)
{
	struct error err = { 0 };

	cr_assert_eq(net_loopback_up(inherits, &err), 0);
}

/* Younger kernels may have settings that nobody here has heard of. */
static bool is_known_kernel(void)
{
	struct utsname name;
	unsigned major, minor;

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 && (major < 6 || (major == 6 && minor <= 18));
}

/* Settings that may be inherited are the same, changed before or not. */
static void nothing_is_left(const char *pattern, bool inherits, size_t at_least)
{
	_cleanup_free_ struct settings *before = NULL, *wanted = NULL, *changed = NULL;
	char value[VALUE_MAX];
	size_t n_changed = 0;

	enter_namespace();
	come_up(inherits);
	wanted = read_all(pattern);
	enter_namespace();
	before = read_all(pattern);
	if (!before->n) /* no IPv6 */
		return;
	for (size_t i = before->n; i-- > 0;) /* those of all links change others, and come first in the list */
		n_changed += change_one(before->list[i].path, before->list[i].value);
	cr_assert(n_changed >= at_least, "%zu of %zu could be changed", n_changed, before->n);
	changed = read_all(pattern);
	come_up(inherits);
	for (size_t i = 0; i < wanted->n; i++) {
		if (strstr(wanted->list[i].path, "/stable_secret")) /* is not inherited */
			continue;
		read_one(wanted->list[i].path, value);
		if (is_known_kernel())
			cr_expect_str_eq(value, wanted->list[i].value, "%s: inherited %s", wanted->list[i].path, changed->list[i].value);
	}
}

Test(container_net, ip4_inherits_nothing)
{
	nothing_is_left("/proc/sys/net/ipv4/conf/{all,default,lo}/*", false, 70);
}

Test(container_net, ip6_inherits_nothing)
{
	nothing_is_left("/proc/sys/net/ipv6/conf/{all,default,lo}/*", true, 100);
}
