/* SPDX-License-Identifier: BSD-3-Clause */
/* The probes of doctor.c, by file. */
#ifndef HS_SUPERVISOR_PROBES_H
#define HS_SUPERVISOR_PROBES_H

#include "supervisor/doctor/doctor.h"

/* Words about what was seen. Returns the result, so that a probe ends with: return probe_says(...). */
enum probe_result probe_says(enum probe_result result, char *detail, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* probe_seccomp.c */
probe_fn probe_listener;
probe_fn probe_unsupervised; /* not in the report */
probe_fn probe_continue;
probe_fn probe_hook;
probe_fn probe_wait_killable;
probe_fn probe_fast_reply;
probe_fn probe_sync_wake_up;
probe_fn probe_addfd;
probe_fn probe_addfd_send;

/* probe_process.c */
probe_fn probe_ptrace;
probe_fn probe_pidfd_getfd;
probe_fn probe_memory_calls;
probe_fn probe_memory_file;
probe_fn probe_vdso;

/* probe_container.c */
probe_fn probe_namespaces;
probe_fn probe_user_namespaces;
probe_fn probe_overlay;
probe_fn probe_cgroups;

/* probe_cpu.c */
probe_fn probe_tsc;
probe_fn probe_cpuid;
probe_fn probe_counters;

#endif
