/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/sys: the settings of an ordinary kernel. What this one is set to is the host's affair. */
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/proc/machine.h"
#include "engine/proc/procfs.h"

/* ---- randomness ---- */

static void put_uuid(FILE *out, const unsigned char bytes[16])
{
	enum { UUID_VERSION = 4 };

	for (int i = 0; i < 16; i++) {
		unsigned char byte = bytes[i];

		if (i == 6)
			byte = (unsigned char)((byte & 0x0f) | UUID_VERSION << 4);
		if (i == 8)
			byte = (unsigned char)((byte & 0x3f) | 0x80);
		fprintf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", byte);
	}
	fputs("\n", out);
}

/* Another one at each look, from the reader's own stream. */
static int make_uuid(const struct procfs_view *view, FILE *out)
{
	unsigned char bytes[16];

	rng_bytes(&view->reader->rng, bytes, sizeof(bytes));
	put_uuid(out, bytes);
	return 0;
}

/* The same throughout the run, whoever asks first. */
static int make_boot_id(const struct procfs_view *view, FILE *out)
{
	unsigned char bytes[16];
	struct rng rng;

	rng_init(&rng, view->e->options.seed, "boot id", 0);
	rng_bytes(&rng, bytes, sizeof(bytes));
	put_uuid(out, bytes);
	return 0;
}

/* ---- what the machine is ---- */

static int make_hostname(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "%s\n", machine_hostname(view->e));
	return 0;
}

static int make_version(const struct procfs_view *view, FILE *out)
{
	char version[MACHINE_TEXT_SIZE];

	machine_version(view->e, version);
	fprintf(out, "%s\n", version);
	return 0;
}

/* As Linux computes it: an eighth of the memory for thread stacks of 16 KiB. */
static int make_threads_max(const struct procfs_view *view, FILE *out)
{
	fprintf(out, "%" PRIu64 "\n", machine_memory(view->e).total / 8 / 16384);
	return 0;
}

#define HUGE_COUNT "9223372036854775807\n"

static const struct procfs_row rows[] = {
	{ .pattern = "kernel/random/uuid", .action = PROCFS_MAKE, .fn = make_uuid },
	{ .pattern = "kernel/random/boot_id", .action = PROCFS_MAKE, .fn = make_boot_id },
	{ .pattern = "kernel/random/entropy_avail", .action = PROCFS_TEXT, .text = "256\n" },
	{ .pattern = "kernel/random/poolsize", .action = PROCFS_TEXT, .text = "256\n" },
	{ .pattern = "kernel/random/urandom_min_reseed_secs", .action = PROCFS_TEXT, .text = "60\n" },
	{ .pattern = "kernel/random/write_wakeup_threshold", .action = PROCFS_TEXT, .text = "256\n" },
	{ .pattern = "kernel/hostname", .action = PROCFS_MAKE, .fn = make_hostname },
	{ .pattern = "kernel/domainname", .action = PROCFS_TEXT, .text = MACHINE_DOMAIN "\n" },
	{ .pattern = "kernel/ostype", .action = PROCFS_TEXT, .text = MACHINE_SYSNAME "\n" },
	{ .pattern = "kernel/osrelease", .action = PROCFS_TEXT, .text = MACHINE_RELEASE "\n" },
	{ .pattern = "kernel/arch", .action = PROCFS_TEXT, .text = MACHINE_HARDWARE "\n" },
	{ .pattern = "kernel/version", .action = PROCFS_MAKE, .fn = make_version },
	{ .pattern = "kernel/threads-max", .action = PROCFS_MAKE, .fn = make_threads_max },
	{ .pattern = "kernel/pid_max", .action = PROCFS_TEXT, .text = "32768\n" },
	{ .pattern = "kernel/ns_last_pid", .action = PROCFS_REFUSE, .error = EPERM },
	{ .pattern = "kernel/cap_last_cap", .action = PROCFS_LIVE }, /* has to agree with prctl(2) and capget(2) */
	{ .pattern = "kernel/ngroups_max", .action = PROCFS_TEXT, .text = "65536\n" },
	{ .pattern = "kernel/overflowuid", .action = PROCFS_TEXT, .text = "65534\n" },
	{ .pattern = "kernel/overflowgid", .action = PROCFS_TEXT, .text = "65534\n" },
	{ .pattern = "kernel/randomize_va_space", .action = PROCFS_TEXT, .text = "2\n" },
	{ .pattern = "kernel/core_pattern", .action = PROCFS_TEXT, .text = "core\n" },
	{ .pattern = "kernel/core_uses_pid", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "kernel/core_pipe_limit", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "kernel/tainted", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "kernel/panic", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "kernel/printk", .action = PROCFS_TEXT, .text = "4\t4\t1\t7\n" },
	{ .pattern = "kernel/sysrq", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "kernel/modprobe", .action = PROCFS_TEXT, .text = "/sbin/modprobe\n" },
	{ .pattern = "kernel/modules_disabled", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "kernel/kptr_restrict", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "kernel/dmesg_restrict", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "kernel/perf_event_paranoid", .action = PROCFS_TEXT, .text = "3\n" },
	{ .pattern = "kernel/perf_event_max_sample_rate", .action = PROCFS_TEXT, .text = "100000\n" },
	{ .pattern = "kernel/perf_event_mlock_kb", .action = PROCFS_TEXT, .text = "516\n" },
	{ .pattern = "kernel/unprivileged_bpf_disabled", .action = PROCFS_TEXT, .text = "2\n" },
	{ .pattern = "kernel/unprivileged_userns_clone", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "kernel/io_uring_disabled", .action = PROCFS_TEXT, .text = "2\n" },
	{ .pattern = "kernel/yama/ptrace_scope", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "kernel/numa_balancing", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "kernel/sched_autogroup_enabled", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "kernel/sched_child_runs_first", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "kernel/sched_rt_period_us", .action = PROCFS_TEXT, .text = "1000000\n" },
	{ .pattern = "kernel/sched_rt_runtime_us", .action = PROCFS_TEXT, .text = "950000\n" },
	{ .pattern = "kernel/sched_rr_timeslice_ms", .action = PROCFS_TEXT, .text = "100\n" },
	{ .pattern = "kernel/seccomp/actions_avail", .action = PROCFS_TEXT,
	  .text = "kill_process kill_thread trap errno user_notif trace log allow\n" },
	{ .pattern = "kernel/shmmax", .action = PROCFS_TEXT, .text = "18446744073692774399\n" },
	{ .pattern = "kernel/shmall", .action = PROCFS_TEXT, .text = "18446744073692774399\n" },
	{ .pattern = "kernel/shmmni", .action = PROCFS_TEXT, .text = "4096\n" },
	{ .pattern = "kernel/shm_rmid_forced", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "kernel/msgmax", .action = PROCFS_TEXT, .text = "8192\n" },
	{ .pattern = "kernel/msgmnb", .action = PROCFS_TEXT, .text = "16384\n" },
	{ .pattern = "kernel/msgmni", .action = PROCFS_TEXT, .text = "32000\n" },
	{ .pattern = "kernel/sem", .action = PROCFS_TEXT, .text = "32000\t1024000000\t500\t32000\n" },
	{ .pattern = "kernel/auto_msgmni", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "kernel/pty/max", .action = PROCFS_TEXT, .text = "4096\n" },
	{ .pattern = "kernel/pty/nr", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "kernel/pty/reserve", .action = PROCFS_TEXT, .text = "1024\n" },
	{ .pattern = "kernel/keys/*", .action = PROCFS_REFUSE, .error = EPERM },
	{ .pattern = "vm/overcommit_memory", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "vm/overcommit_ratio", .action = PROCFS_TEXT, .text = "50\n" },
	{ .pattern = "vm/overcommit_kbytes", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "vm/max_map_count", .action = PROCFS_TEXT, .text = "65530\n" },
	{ .pattern = "vm/mmap_min_addr", .action = PROCFS_TEXT, .text = "65536\n" }, /* MACHINE_LOWEST_ADDRESS */
	{ .pattern = "vm/mmap_rnd_bits", .action = PROCFS_TEXT, .text = "28\n" },
	{ .pattern = "vm/legacy_va_layout", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "vm/swappiness", .action = PROCFS_TEXT, .text = "60\n" },
	{ .pattern = "vm/page-cluster", .action = PROCFS_TEXT, .text = "3\n" },
	{ .pattern = "vm/dirty_ratio", .action = PROCFS_TEXT, .text = "20\n" },
	{ .pattern = "vm/dirty_background_ratio", .action = PROCFS_TEXT, .text = "10\n" },
	{ .pattern = "vm/dirty_bytes", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "vm/dirty_background_bytes", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "vm/dirty_expire_centisecs", .action = PROCFS_TEXT, .text = "3000\n" },
	{ .pattern = "vm/dirty_writeback_centisecs", .action = PROCFS_TEXT, .text = "500\n" },
	{ .pattern = "vm/vfs_cache_pressure", .action = PROCFS_TEXT, .text = "100\n" },
	{ .pattern = "vm/zone_reclaim_mode", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "vm/panic_on_oom", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "vm/oom_kill_allocating_task", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "vm/oom_dump_tasks", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "vm/min_free_kbytes", .action = PROCFS_TEXT, .text = "4096\n" },
	{ .pattern = "vm/nr_hugepages", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "vm/nr_overcommit_hugepages", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "vm/hugetlb_shm_group", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "vm/drop_caches", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "vm/unprivileged_userfaultfd", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "fs/file-max", .action = PROCFS_TEXT, .text = HUGE_COUNT },
	{ .pattern = "fs/file-nr", .action = PROCFS_TEXT, .text = "1024\t0\t" HUGE_COUNT },
	{ .pattern = "fs/nr_open", .action = PROCFS_TEXT, .text = "1048576\n" },
	{ .pattern = "fs/inode-nr", .action = PROCFS_TEXT, .text = "10000\t1000\n" },
	{ .pattern = "fs/inode-state", .action = PROCFS_TEXT, .text = "10000\t1000\t0\t0\t0\t0\t0\n" },
	{ .pattern = "fs/dentry-state", .action = PROCFS_TEXT, .text = "10000\t5000\t45\t0\t1000\t0\n" },
	{ .pattern = "fs/dentry-negative", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "fs/quota/*", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "fs/fanotify/max_queued_events", .action = PROCFS_TEXT, .text = "16384\n" },
	{ .pattern = "fs/fanotify/max_user_groups", .action = PROCFS_TEXT, .text = "128\n" },
	{ .pattern = "fs/fanotify/max_user_marks", .action = PROCFS_TEXT, .text = "8192\n" },
	{ .pattern = "fs/fanotify/watchdog_timeout", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "fs/fuse/max_pages_limit", .action = PROCFS_TEXT, .text = "256\n" },
	{ .pattern = "fs/fuse/*_request_timeout", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "fs/aio-nr", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "fs/aio-max-nr", .action = PROCFS_TEXT, .text = "65536\n" },
	{ .pattern = "fs/pipe-max-size", .action = PROCFS_TEXT, .text = "1048576\n" },
	{ .pattern = "fs/pipe-user-pages-soft", .action = PROCFS_TEXT, .text = "16384\n" },
	{ .pattern = "fs/pipe-user-pages-hard", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "fs/lease-break-time", .action = PROCFS_TEXT, .text = "45\n" },
	{ .pattern = "fs/leases-enable", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "fs/dir-notify-enable", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "fs/mount-max", .action = PROCFS_TEXT, .text = "100000\n" },
	{ .pattern = "fs/overflowuid", .action = PROCFS_TEXT, .text = "65534\n" },
	{ .pattern = "fs/overflowgid", .action = PROCFS_TEXT, .text = "65534\n" },
	{ .pattern = "fs/protected_hardlinks", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "fs/protected_symlinks", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "fs/protected_fifos", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "fs/protected_regular", .action = PROCFS_TEXT, .text = "2\n" },
	{ .pattern = "fs/suid_dumpable", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "fs/epoll/max_user_watches", .action = PROCFS_TEXT, .text = "200000\n" },
	{ .pattern = "fs/inotify/max_queued_events", .action = PROCFS_TEXT, .text = "16384\n" },
	{ .pattern = "fs/inotify/max_user_instances", .action = PROCFS_TEXT, .text = "128\n" },
	{ .pattern = "fs/inotify/max_user_watches", .action = PROCFS_TEXT, .text = "65536\n" },
	{ .pattern = "fs/mqueue/msg_default", .action = PROCFS_TEXT, .text = "10\n" },
	{ .pattern = "fs/mqueue/msg_max", .action = PROCFS_TEXT, .text = "10\n" },
	{ .pattern = "fs/mqueue/msgsize_default", .action = PROCFS_TEXT, .text = "8192\n" },
	{ .pattern = "fs/mqueue/msgsize_max", .action = PROCFS_TEXT, .text = "8192\n" },
	{ .pattern = "fs/mqueue/queues_max", .action = PROCFS_TEXT, .text = "256\n" },
	{ .pattern = "user/max_*", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "abi/vsyscall32", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "debug/exception-trace", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "net/core/somaxconn", .action = PROCFS_TEXT, .text = "4096\n" },
	{ .pattern = "net/core/rmem_default", .action = PROCFS_TEXT, .text = "212992\n" },
	{ .pattern = "net/core/rmem_max", .action = PROCFS_TEXT, .text = "212992\n" },
	{ .pattern = "net/core/wmem_default", .action = PROCFS_TEXT, .text = "212992\n" },
	{ .pattern = "net/core/wmem_max", .action = PROCFS_TEXT, .text = "212992\n" },
	{ .pattern = "net/ipv4/ip_local_port_range", .action = PROCFS_TEXT, .text = "32768\t60999\n" },
	{ .pattern = "net/ipv4/tcp_fin_timeout", .action = PROCFS_TEXT, .text = "60\n" },
	/* Of the whole host, by its memory and its modules; and what the container has set so that nothing waits by the kernel's clock. */
	{ .pattern = "net/ipv4/tcp_max_tw_buckets", .action = PROCFS_TEXT, .text = "65536\n" },
	{ .pattern = "net/ipv4/tcp_max_syn_backlog", .action = PROCFS_TEXT, .text = "1024\n" },
	{ .pattern = "net/ipv4/tcp_max_orphans", .action = PROCFS_TEXT, .text = "65536\n" },
	{ .pattern = "net/ipv4/tcp_ehash_entries", .action = PROCFS_TEXT, .text = "65536\n" },
	{ .pattern = "net/ipv4/tcp_mem", .action = PROCFS_TEXT, .text = "98304\t131072\t196608\n" },
	{ .pattern = "net/ipv4/udp_mem", .action = PROCFS_TEXT, .text = "196608\t262144\t393216\n" },
	{ .pattern = "net/ipv4/udp_hash_entries", .action = PROCFS_TEXT, .text = "4096\n" },
	{ .pattern = "net/ipv4/tcp_available_congestion_control", .action = PROCFS_TEXT, .text = "reno cubic\n" },
	{ .pattern = "net/ipv4/tcp_allowed_congestion_control", .action = PROCFS_TEXT, .text = "reno cubic\n" },
	{ .pattern = "net/ipv4/tcp_available_ulp", .action = PROCFS_TEXT, .text = "\n" },
	{ .pattern = "net/ipv4/inet_peer_maxttl", .action = PROCFS_TEXT, .text = "600\n" },
	{ .pattern = "net/ipv4/inet_peer_minttl", .action = PROCFS_TEXT, .text = "120\n" },
	{ .pattern = "net/ipv4/inet_peer_threshold", .action = PROCFS_TEXT, .text = "65664\n" },
	{ .pattern = "net/ipv4/neigh/default/gc_interval", .action = PROCFS_TEXT, .text = "30\n" },
	{ .pattern = "net/ipv4/neigh/default/gc_stale_time", .action = PROCFS_TEXT, .text = "60\n" },
	{ .pattern = "net/ipv4/neigh/default/gc_thresh1", .action = PROCFS_TEXT, .text = "128\n" },
	{ .pattern = "net/ipv4/neigh/default/gc_thresh2", .action = PROCFS_TEXT, .text = "512\n" },
	{ .pattern = "net/ipv4/neigh/default/gc_thresh3", .action = PROCFS_TEXT, .text = "1024\n" },
	{ .pattern = "net/core/optmem_max", .action = PROCFS_TEXT, .text = "131072\n" },
	{ .pattern = "net/core/rps_default_mask", .action = PROCFS_TEXT, .text = "0\n" },
	{ .pattern = "net/core/tstamp_allow_data", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "net/core/txrehash", .action = PROCFS_TEXT, .text = "1\n" },
	{ .pattern = "net/core/xfrm_*", .action = PROCFS_LIVE },
	/* Each namespace begins with the kernel's constants, or with what the container writes there (container/net.c). */
	{ .pattern = "net/ipv4/tcp_*", .action = PROCFS_LIVE },
	{ .pattern = "net/ipv4/udp_*", .action = PROCFS_LIVE },
	{ .pattern = "net/ipv4/ip_*", .action = PROCFS_LIVE },
	{ .pattern = "net/ipv4/ipfrag_*", .action = PROCFS_LIVE },
	{ .pattern = "net/ipv4/icmp_*", .action = PROCFS_LIVE },
	{ .pattern = "net/ipv4/igmp_*", .action = PROCFS_LIVE },
	{ .pattern = "net/ipv4/fib_*", .action = PROCFS_LIVE },
	{ .pattern = "net/ipv4/ping_group_range", .action = PROCFS_LIVE },
	{ .pattern = "net/ipv4/conf/*/*", .action = PROCFS_LIVE },
	{ .pattern = "net/ipv6/conf/*/*", .action = PROCFS_LIVE },
	{ .pattern = "net/ipv6/icmp/*", .action = PROCFS_LIVE },
	{ .pattern = "net/ipv6/*", .action = PROCFS_LIVE },
	{ .pattern = "net/unix/max_dgram_qlen", .action = PROCFS_LIVE },
};

const struct procfs_table procfs_sysctl_table = { rows, ARRAY_SIZE(rows) };
