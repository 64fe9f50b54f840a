/* SPDX-License-Identifier: BSD-3-Clause */
/* What a container needs of this host. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "container/container.h"
#include "supervisor/doctor/probes.h"

static const struct {
	int flag;
	const char *name;
} wanted[] = {
	{ CLONE_NEWPID, "pid" }, { CLONE_NEWNS, "mount" }, { CLONE_NEWNET, "network" },
	{ CLONE_NEWUTS, "uts" }, { CLONE_NEWIPC, "ipc" },  { CLONE_NEWCGROUP, "cgroup" },
};

/* The caller's way: root as it is, others through a user namespace. */
enum probe_result probe_namespaces(char *detail, size_t size)
{
	struct error err = { 0 };

	if (container_enter_userns(&err) < 0)
		return probe_says(PROBE_MISSING, detail, size, "%s", err.text);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (unshare(wanted[i].flag) < 0)
			return probe_says(PROBE_MISSING, detail, size, "%s namespace: %s", wanted[i].name, strerrordesc_np(errno));
	return PROBE_WORKS;
}

/* Root tries as somebody else. */
enum probe_result probe_user_namespaces(char *detail, size_t size)
{
	enum { SOMEBODY = 65534 };
	struct error err = { 0 };

	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(SOMEBODY, SOMEBODY, SOMEBODY) < 0 ||
			       setresuid(SOMEBODY, SOMEBODY, SOMEBODY) < 0))
		return probe_says(PROBE_FAILED, detail, size, "cannot become an ordinary user: %s", strerrordesc_np(errno));
	/* Changing the user has made /proc/self root's. */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (container_enter_userns(&err) < 0)
		return probe_says(PROBE_MISSING, detail, size, "%s", err.text);
	if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) < 0)
		return probe_says(PROBE_MISSING, detail, size, "namespaces inside it: %s", strerrordesc_np(errno));
	return PROBE_WORKS;
}

/* An overlay over /usr in a mount namespace of our own, on a tmpfs on top of /mnt or /tmp; all of it ends with the probe. */
static int try_overlay(const char *place, bool user)
{
	char options[512];

	if (mount("hermit", place, "tmpfs", 0, "mode=0700") < 0 || chdir(place) < 0)
		return -errno;
	if (mkdir("upper", 0700) < 0 || mkdir("work", 0700) < 0 || mkdir("view", 0700) < 0)
		return -errno;
	(void)snprintf(options, sizeof(options), "lowerdir=/usr,upperdir=%s/upper,workdir=%s/work%s", place, place,
		       user ? ",userxattr" : "");
	if (mount("hermit", "view", "overlay", 0, options) < 0)
		return -errno;
	return mkdir("view/hermit-probe", 0700) < 0 ? -errno : 0;
}

enum probe_result probe_overlay(char *detail, size_t size)
{
	static const char *const places[] = { "/mnt", "/media", "/tmp" };
	bool user = geteuid() != 0;
	int r = -ENOENT;

	if (container_enter_userns(NULL) < 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return probe_says(PROBE_MISSING, detail, size, "mount namespace: %s", strerrordesc_np(errno));
	for (size_t i = 0; i < ARRAY_SIZE(places) && r < 0; i++)
		if (access(places[i], X_OK) == 0)
			r = try_overlay(places[i], user);
	return r < 0 ? probe_says(PROBE_MISSING, detail, size, "%s", strerrordesc_np(-r)) : PROBE_WORKS;
}

enum probe_result probe_cgroups(char *detail, size_t size)
{
	struct statfs fs;

	if (statfs("/sys/fs/cgroup", &fs) < 0)
		return probe_says(PROBE_MISSING, detail, size, "/sys/fs/cgroup: %s", strerrordesc_np(errno));
	if (fs.f_type == CGROUP2_SUPER_MAGIC) {
		if (access("/sys/fs/cgroup/cgroup.procs", W_OK) < 0)
			return probe_says(PROBE_PARTLY, detail, size, "version 2, not writable");
		return probe_says(PROBE_WORKS, detail, size, "version 2");
	}
	if (access("/sys/fs/cgroup/unified", F_OK) == 0)
		return probe_says(PROBE_PARTLY, detail, size, "version 1 and 2");
	if (access("/sys/fs/cgroup/memory", F_OK) == 0)
		return probe_says(PROBE_PARTLY, detail, size, "version 1");
	return probe_says(PROBE_MISSING, detail, size, "not mounted");
}
