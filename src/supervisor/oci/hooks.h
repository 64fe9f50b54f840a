/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hooks of a container (runtime-spec, config.md, "POSIX-platform Hooks").
 *
 *	stage            where                          when                                   a failure
 *	prestart         host                           namespaces are made, before pivot_root  ends the creation
 *	createRuntime    host                           after prestart                          ends the creation
 *	createContainer  the container's namespaces,    after createRuntime, before pivot_root  ends the creation
 *	                 host's tree
 *	startContainer   inside                         `start`, before the program             ends the container
 *	poststart        host                           the program runs                        ends the container
 *	poststop         host                           after `delete`                          is warned of
 *
 * Each hook gets the state of the container on standard input. A hook without "env" has the environment of this
 * process, as with other runtimes; startContainer that of the container's process. Hooks are no programs of the guest: the
 * supervisor's filter is on none of them. linux.seccomp is on those of startContainer, as with other runtimes.
 */
#ifndef HS_SUPERVISOR_HOOKS_H
#define HS_SUPERVISOR_HOOKS_H

#include "base/error.h"
#include "oci/config.h"
#include "oci/state.h"

/*
 * Runs the hooks of a stage in order, with state->status and state->pid as given. The first failure ends it: a status other
 * than 0, a signal, a timeout (then the hook is killed). err names stage, hook and what it did.
 */
int hooks_run(const struct oci_config *cfg, enum oci_hook_stage stage, const struct oci_state *state, struct error *err);

/* The same, with confine(arg) called in each hook's process right before its execve: 0 or -errno. NULL: nothing. */
int hooks_run_confined(const struct oci_config *cfg, enum oci_hook_stage stage, const struct oci_state *state, int (*confine)(void *arg),
		       void *arg, struct error *err);

/* Runs all of them, whatever becomes of each; failures go to the log as warnings. */
void hooks_run_all(const struct oci_config *cfg, enum oci_hook_stage stage, const struct oci_state *state);

#endif
