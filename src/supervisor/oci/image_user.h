/* SPDX-License-Identifier: BSD-3-Clause */
/* Who a process of an image is, by the image's own lists of users and groups. */
#ifndef HS_SUPERVISOR_IMAGE_USER_H
#define HS_SUPERVISOR_IMAGE_USER_H

#include "base/error.h"
#include "oci/arena.h"
#include "oci/config.h"

/*
 * text: "USER[:GROUP]", names or numbers. Without a group it is the user's, with the groups that list the user; a number that is in no list has
 * group 0. *ret_home is "HOME=" and the user's directory, "/" without one; both live in the arena. -EINVAL: there is no such name.
 */
int image_user(const char *root, const char *text, struct oci_arena *arena, struct oci_user *ret, char **ret_home, struct error *err);

#endif
