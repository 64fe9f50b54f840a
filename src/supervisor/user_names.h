/* SPDX-License-Identifier: BSD-3-Clause */
/* Users and groups by name, as the files of this host say (/etc/passwd, /etc/group): nobody else is asked, so that a run needs no network. */
#ifndef HS_SUPERVISOR_USER_NAMES_H
#define HS_SUPERVISOR_USER_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* "USER[:GROUP]", numbers or names. A user's name says the group as well; with a number and no group *ret_gid stays. 0 or -errno with a message. */
int user_names_find(const char *text, uid_t *ret_uid, gid_t *ret_gid, struct error *err);

/* "UID[:GID]", numbers only: in a container whose files nobody looks at. The rest as above. */
int user_names_parse_numbers(const char *text, uid_t *ret_uid, gid_t *ret_gid, struct error *err);

/* "GROUP" */
int user_names_find_group(const char *text, gid_t *ret_gid, struct error *err);

/* Is it the number of a user or a group? */
bool user_names_is_number(const char *text, uint32_t *ret);

#endif
