/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit on processor time, which counts virtual time. */
#ifndef HS_ENGINE_LIMITS_H
#define HS_ENGINE_LIMITS_H

struct engine;
struct process;

/* The process's CPU time has grown: sends what RLIMIT_CPU asks for. */
int limits_check_cpu(struct engine *e, struct process *p);

#endif
