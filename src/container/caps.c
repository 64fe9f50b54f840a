/* SPDX-License-Identifier: BSD-3-Clause */
/* Capabilities of the guest; the only user of libcap. The order matters: see internal.h. */
#include <errno.h>
#include <stdbool.h>
#include <sys/capability.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "container/internal.h"

DEFINE_CLEANUP(caps, struct _cap_struct, cap_free)

static bool has(uint64_t mask, int cap)
{
	return cap < 64 && (mask >> cap & 1);
}

int caps_drop_bounding(const struct container_caps *caps, struct error *err)
{
	if (!caps->set)
		return 0;
	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++)
		if (!has(caps->bounding, cap) && cap_get_bound(cap) == 1 && cap_drop_bound(cap) < 0)
			return error_errno(err, errno, "cannot drop capability %d from the bounding set", cap);
	return 0;
}

/* What this process holds. A set can only be made of these. */
static uint64_t held(void)
{
	_cleanup_(cleanup_caps) struct _cap_struct *state = cap_get_proc();
	cap_flag_value_t value;
	uint64_t mask = 0;

	for (cap_value_t cap = 0; state && cap < cap_max_bits() && cap < 64; cap++)
		if (cap_get_flag(state, cap, CAP_PERMITTED, &value) == 0 && value == CAP_SET)
			mask |= UINT64_C(1) << cap;
	return mask;
}

bool container_may_shield(void)
{
	return geteuid() == 0 && has(held(), CAP_SYS_PTRACE);
}

static int fill(cap_t state, cap_flag_t flag, uint64_t mask)
{
	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++)
		if (has(mask, cap) && cap_set_flag(state, flag, 1, &cap, CAP_SET) < 0)
			return -errno;
	return 0;
}

/* The specification wants a capability that cannot be granted to be left out, not to be an error. */
int caps_apply(const struct container_caps *caps, bool keep_admin, struct error *err)
{
	_cleanup_(cleanup_caps) struct _cap_struct *state = NULL;
	uint64_t ours = held(), extra = keep_admin ? UINT64_C(1) << CAP_SYS_ADMIN & ours : 0;
	uint64_t permitted = caps->permitted & ours, inheritable = caps->inheritable & ours;

	if (!caps->set)
		return 0;
	if ((caps->permitted | caps->inheritable) & ~ours)
		log_debug("capabilities 0x%llx cannot be granted",
			  (unsigned long long)((caps->permitted | caps->inheritable) & ~ours));
	state = cap_init();
	if (!state)
		return error_errno(err, errno, "capabilities");
	if (fill(state, CAP_PERMITTED, permitted | extra) < 0 ||
	    fill(state, CAP_EFFECTIVE, (caps->effective & permitted) | extra) < 0 ||
	    fill(state, CAP_INHERITABLE, inheritable) < 0)
		return error_errno(err, errno, "capabilities");
	if (cap_set_proc(state) < 0)
		return error_errno(err, errno, "cannot set the capabilities");
	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++)
		if (has(caps->ambient & permitted & inheritable, cap) && cap_set_ambient(cap, CAP_SET) < 0)
			return error_errno(err, errno, "cannot raise ambient capability %d", cap);
	return 0;
}
