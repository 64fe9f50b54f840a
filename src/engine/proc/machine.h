/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine that the guest is shown: one set of figures for system calls, /proc and /sys. */
#ifndef HS_ENGINE_MACHINE_H
#define HS_ENGINE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

struct engine;
struct task;

#define MACHINE_SYSNAME "Linux"
#define MACHINE_RELEASE "6.12.0"
#define MACHINE_HARDWARE "x86_64"
#define MACHINE_DOMAIN "(none)"
enum { MACHINE_TEXT_SIZE = 65, MACHINE_HZ = 100, MACHINE_PAGE = 4096, MACHINE_LOWEST_ADDRESS = 65536 /* vm.mmap_min_addr */ };

/* "#1 SMP PREEMPT_DYNAMIC Thu Jan  1 00:00:00 UTC 2026": built at the run's epoch. */
void machine_version(const struct engine *e, char text[MACHINE_TEXT_SIZE]);
const char *machine_hostname(const struct engine *e);

/* In bytes. How much is free does not change: what the host's kernel would free next is nobody's affair. */
struct machine_memory {
	uint64_t total, free, available, buffers, cached, shared;
};
struct machine_memory machine_memory(const struct engine *e);
/* The same for a machine of so many bytes. */
struct machine_memory machine_memory_of(uint64_t bytes);

unsigned machine_cpus(const struct engine *e);

/* Living threads; living processes and zombies. */
unsigned machine_count_tasks(const struct engine *e);
unsigned machine_count_processes(const struct engine *e);

/* Virtual time since the machine's start, and the wall clock then. */
uint64_t machine_uptime_ns(const struct engine *e);
uint64_t machine_boot_time_s(const struct engine *e);

#endif
