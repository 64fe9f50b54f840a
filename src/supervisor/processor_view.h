/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor that programs are shown, as far as it is decided before the run: engine_options of the level chosen there. */
#ifndef HS_SUPERVISOR_PROCESSOR_VIEW_H
#define HS_SUPERVISOR_PROCESSOR_VIEW_H

#include "backend/processor_answers.h"
#include "base/error.h"
#include "engine/engine.h"
#include "supervisor/run.h"

/* Has this host all that the processor to be shown has? 0, or -ENOTSUP with a message that names what is missing. */
int processor_check(const struct engine_options *options, struct processor_answers *answers, struct error *err);

/* Fills in hwcap and cpuinfo. *ret_cpuinfo, the text, is the caller's. */
int processor_describe(struct engine_options *options, struct processor_answers *answers, char **ret_cpuinfo, struct error *err);

/* Are RDTSC and RDTSCP made to fault? Found out by trying. -ENOTSUP with a message when they have to be, and are not. */
int processor_choose_tsc(enum run_tsc how, bool *ret_faults, struct error *err);

#endif
