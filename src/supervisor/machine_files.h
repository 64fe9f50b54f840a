/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of the host's tree that say which machine it is, where it stands, or what has happened on it, with the contents that they have in a run:
 * those that fit the name, the network and the clock that the run has. All others are inputs of a run, as programs are.
 */
#ifndef HS_SUPERVISOR_MACHINE_FILES_H
#define HS_SUPERVISOR_MACHINE_FILES_H

#include <stdbool.h>

#include "base/strv.h"
#include "container/container.h"

enum { MACHINE_FILES_MAX = 16 };

struct machine_files {
	struct container_file items[MACHINE_FILES_MAX];
	size_t n;
	struct strv texts; /* what they point to */
};

/* hostname: of the run. host_network: the run has the host's network, whose name servers it needs. 0 or -ENOMEM. */
int machine_files_init(struct machine_files *files, const char *hostname, bool host_network);
void machine_files_clear(struct machine_files *files);

/*
 * The text of a hosts(5) file of a machine called `host`, for one called `name`: names of the former are left out (also those that begin with it and
 * a dot, or are its first part), the latter is an address of loopback. The caller frees; NULL: out of memory. Exported for its test.
 */
char *machine_files_hosts(const char *text, const char *host, const char *name);

#endif
