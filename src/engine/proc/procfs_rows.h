/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows' functions that are used in more than one file of procfs_*.c. */
#ifndef HS_ENGINE_PROCFS_ROWS_H
#define HS_ENGINE_PROCFS_ROWS_H

#include <stdbool.h>

#include "engine/proc/procfs.h"
#include "engine/policy/traits.h"

enum { PROCFS_RESIDENT_KB = 4096 }; /* what every process is said to have in memory */

/* procfs_stat.c: 'R', 'S' ... as Linux would say of a task that does what the guest's does; its traits, of a zombie those that it had. */
char procfs_state_letter(const struct procfs_view *view);
struct task_traits procfs_traits(const struct procfs_view *view);
bool procfs_is_realtime(const struct task_traits *traits);
procfs_fn procfs_filter_stat, procfs_filter_statm;

/* procfs_status.c */
procfs_fn procfs_filter_status;

/* procfs_task.c */
procfs_fn procfs_filter_id_map, procfs_make_limits;
#define PROCFS_NO_IO "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n"

/* procfs_maps.c: the mappings, with numbers of ours and without the clock page; residency is fixed. */
procfs_fn procfs_filter_maps, procfs_filter_smaps, procfs_filter_numa_maps;

/* procfs_mounts.c: mounts are numbered in order; devices, options of file systems and places on the host do not show. */
procfs_fn procfs_filter_mountinfo, procfs_filter_mounts, procfs_filter_mountstats;

/* procfs_files.c: open files, locks, System V objects. */
procfs_fn procfs_filter_fdinfo, procfs_filter_locks, procfs_filter_sysvipc;

/* procfs_groups.c: addresses, memberships and routes of links. */
procfs_fn procfs_filter_dev_mcast, procfs_filter_igmp, procfs_filter_igmp6, procfs_filter_anycast6, procfs_filter_mcfilter;
procfs_fn procfs_filter_if_inet6, procfs_filter_ipv6_route;

/* procfs_sockets.c: tables of sockets in /proc/net. */
procfs_fn procfs_filter_tcp, procfs_filter_tcp6, procfs_filter_udp, procfs_filter_udp6, procfs_filter_raw;
procfs_fn procfs_filter_unix, procfs_filter_netlink;

#endif
