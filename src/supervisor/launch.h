/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From what a person asked for (struct run_options) to what the container and the engine are told. Everything that depends
 * on the caller's surroundings (environment, terminal, current directory) is looked at here, once, and nowhere later.
 */
#ifndef HS_SUPERVISOR_LAUNCH_H
#define HS_SUPERVISOR_LAUNCH_H

#include "base/error.h"
#include "base/strv.h"
#include "container/container.h"
#include "supervisor/machine_files.h"
#include "supervisor/machine_sys.h"
#include "supervisor/options/options.h"
#include "supervisor/run.h"

/* Holds what the request points to. Zeroed, then launch_init(). */
struct launch {
	struct run_request request;
	struct container_spec spec;
	struct strv env;
	struct strv mount_points; /* what lists of mounts show; empty: all */
	struct strv texts; /* strings that the spec points to */
	struct container_mount *mounts;
	size_t n_mounts;
	struct machine_sys sys;
	struct machine_files files;
	char *cache_dir;
	struct order_spec *order; /* NULL: none is asked for */
	gid_t no_groups[1];
};

/* The options are borrowed and must outlive the launch. */
int launch_init(struct launch *l, const struct run_options *o, struct error *err);
void launch_clear(struct launch *l);
#define _cleanup_launch_ __attribute__((cleanup(launch_clear)))

/* What the engine is told. The hostname is borrowed from the options. */
void launch_engine_options(const struct run_options *o, struct engine_options *engine);

/* The parts of a request that options decide by themselves; the rest of *request stays. */
void launch_request_options(const struct run_options *o, struct run_request *request);

/* The guest's environment by --base-env and --env, in a fixed order. Exported for its test. */
int launch_environment(const struct run_options *o, struct strv *env);

/*
 * Takes "SRC[:DST[:ro]]" or "type=bind,source=SRC,target=DST,readonly" or "type=tmpfs,target=DST,size=BYTES" apart. The strings of *ret are
 * stored in `texts`. Exported for their tests.
 */
int launch_parse_bind(const char *text, struct strv *texts, struct container_mount *ret, struct error *err);
int launch_parse_mount(const char *text, struct strv *texts, struct container_mount *ret, struct error *err);

#endif
