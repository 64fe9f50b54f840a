/* SPDX-License-Identifier: BSD-3-Clause */
/* Credentials for looking up paths: see identity.h. */
#include "backend/notify/identity.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/notify/notify.h"

static const uint64_t overriding = 1ull << CAP_DAC_OVERRIDE | 1ull << CAP_DAC_READ_SEARCH;

/* The number `index` (from 0) in a line of a status file. */
static unsigned long nth_number(const char *text, int index)
{
	unsigned long value = 0;
	char *end;

	for (; index >= 0; index--, text = end)
		value = strtoul(text, &end, 10);
	return value;
}

static int parse_groups(const char *text, struct identity *identity)
{
	char *end;

	for (;;) {
		while (*text == ' ' || *text == '\t')
			text++;
		if (*text == '\n')
			return 0;
		if (*text < '0' || *text > '9')
			return -ENOTSUP; /* "many" */
		if (identity->n_groups == GROUPS_MAX)
			return -ENOTSUP;
		identity->groups[identity->n_groups++] = (gid_t)strtoul(text, &end, 10);
		text = end;
	}
}

int identity_read(const struct notify *n, pid_t tid, struct identity *identity)
{
	const char *uid, *gid, *groups, *caps;
	char text[8192];
	int r;

	r = procfs_status(n, tid, text, sizeof(text));
	if (r < 0)
		return r;
	uid = procfs_field(text, "Uid");
	gid = procfs_field(text, "Gid");
	groups = procfs_field(text, "Groups");
	caps = procfs_field(text, "CapEff");
	if (!uid || !gid || !groups || !caps)
		return -EPROTO;
	identity->fsuid = (uid_t)nth_number(uid, 3);
	identity->fsgid = (gid_t)nth_number(gid, 3);
	identity->overrides = strtoull(caps, NULL, 16) & overriding;
	identity->n_groups = 0;
	return parse_groups(groups, identity);
}

/* ---- the disguise ---- */

/* The calling thread's effective capabilities. */
static int get_effective(uint64_t *ret)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	*ret = data[0].effective | (uint64_t)data[1].effective << 32;
	return 0;
}

static int set_effective(uint64_t effective)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	data[0].effective = (uint32_t)effective;
	data[1].effective = (uint32_t)(effective >> 32);
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* What is ours as well need not be put on: an ordinary user may not. */
static bool is_ours(const struct disguise *own, const struct identity *identity)
{
	return identity->fsuid == geteuid() && identity->fsgid == getegid() && identity->overrides == (own->effective & overriding) &&
	       identity->n_groups == own->n_groups && memcmp(identity->groups, own->groups, (size_t)own->n_groups * sizeof(gid_t)) == 0;
}

/* A change of credentials makes the kernel forget which signal we get when our parent dies. */
static void note_parent(struct disguise *disguise)
{
	disguise->parent = getppid();
	if (prctl(PR_GET_PDEATHSIG, &disguise->death_signal) < 0)
		disguise->death_signal = 0;
}

static void restore_parent(const struct disguise *disguise)
{
	if (!disguise->death_signal)
		return;
	(void)prctl(PR_SET_PDEATHSIG, disguise->death_signal);
	if (getppid() != disguise->parent)
		(void)raise(disguise->death_signal);
}

int disguise_put_on(const struct notify *n, struct disguise *disguise, const struct identity *identity)
{
	disguise->worn = false;
	if (identity->overrides == overriding && identity->fsuid == n->euid)
		return 0;
	disguise->n_groups = getgroups(GROUPS_MAX, disguise->groups);
	if (disguise->n_groups < 0 || get_effective(&disguise->effective) < 0)
		return -ENOTSUP;
	if (is_ours(disguise, identity))
		return 0;
	note_parent(disguise);
	if (setgroups((size_t)identity->n_groups, identity->groups) < 0)
		return -ENOTSUP;
	disguise->worn = true;
	(void)setfsgid(identity->fsgid);
	(void)setfsuid(identity->fsuid);
	if ((uid_t)setfsuid((uid_t)-1) != identity->fsuid || (gid_t)setfsgid((gid_t)-1) != identity->fsgid)
		return -ENOTSUP;
	return set_effective((disguise->effective & ~overriding) | identity->overrides) < 0 ? -ENOTSUP : 0;
}

void disguise_take_off(struct disguise *disguise)
{
	if (!disguise->worn)
		return;
	disguise->worn = false;
	(void)setfsuid(geteuid());
	(void)setfsgid(getegid());
	(void)setgroups((size_t)disguise->n_groups, disguise->groups);
	(void)set_effective(disguise->effective);
	restore_parent(disguise);
}
