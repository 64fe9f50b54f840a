/* SPDX-License-Identifier: BSD-3-Clause */
/* Capabilities of the guest; the only user of libcap. The order matters: see internal.h. */
#include <errno.h>
#include <stdbool.h>
#include <sys/capability.h>

#include "base/cleanup.h"
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

static int fill(cap_t state, cap_flag_t flag, uint64_t mask)
{
	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++)
		if (has(mask, cap) && cap_set_flag(state, flag, 1, &cap, CAP_SET) < 0)
			return -errno;
	return 0;
}

int caps_apply(const struct container_caps *caps, bool keep_admin, struct error *err)
{
	_cleanup_(cleanup_caps) struct _cap_struct *state = NULL;
	uint64_t extra = keep_admin ? UINT64_C(1) << CAP_SYS_ADMIN : 0;

	if (!caps->set)
		return 0;
	state = cap_init();
	if (!state)
		return error_errno(err, errno, "capabilities");
	if (fill(state, CAP_PERMITTED, caps->permitted | extra) < 0 ||
	    fill(state, CAP_EFFECTIVE, (caps->effective & caps->permitted) | extra) < 0 ||
	    fill(state, CAP_INHERITABLE, caps->inheritable) < 0)
		return error_errno(err, errno, "capabilities");
	if (cap_set_proc(state) < 0)
		return error_errno(err, errno, "cannot set the capabilities");
	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++)
		if (has(caps->ambient, cap) && cap_set_ambient(cap, CAP_SET) < 0)
			return error_errno(err, errno, "cannot raise ambient capability %d", cap);
	return 0;
}
