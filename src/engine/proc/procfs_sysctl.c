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
	ROW_MAKE("kernel/random/uuid", make_uuid),
	ROW_MAKE("kernel/random/boot_id", make_boot_id),
	ROW_TEXT("kernel/random/entropy_avail", "256\n"),
	ROW_TEXT("kernel/random/poolsize", "256\n"),
	ROW_TEXT("kernel/random/urandom_min_reseed_secs", "60\n"),
	ROW_TEXT("kernel/random/write_wakeup_threshold", "256\n"),
	ROW_MAKE("kernel/hostname", make_hostname),
	ROW_TEXT("kernel/domainname", MACHINE_DOMAIN "\n"),
	ROW_TEXT("kernel/ostype", MACHINE_SYSNAME "\n"),
	ROW_TEXT("kernel/osrelease", MACHINE_RELEASE "\n"),
	ROW_TEXT("kernel/arch", MACHINE_HARDWARE "\n"),
	ROW_MAKE("kernel/version", make_version),
	ROW_MAKE("kernel/threads-max", make_threads_max),
	ROW_TEXT("kernel/pid_max", "32768\n"),
	ROW_REFUSE("kernel/ns_last_pid", EPERM),
	ROW_LIVE("kernel/cap_last_cap"), /* has to agree with prctl(2) and capget(2) */
	ROW_TEXT("kernel/ngroups_max", "65536\n"),
	ROW_TEXT("kernel/overflowuid", "65534\n"),
	ROW_TEXT("kernel/overflowgid", "65534\n"),
	ROW_TEXT("kernel/randomize_va_space", "2\n"),
	ROW_TEXT("kernel/core_pattern", "core\n"),
	ROW_TEXT("kernel/core_uses_pid", "0\n"),
	ROW_TEXT("kernel/core_pipe_limit", "0\n"),
	ROW_TEXT("kernel/tainted", "0\n"),
	ROW_TEXT("kernel/panic", "0\n"),
	ROW_TEXT("kernel/printk", "4\t4\t1\t7\n"),
	ROW_TEXT("kernel/sysrq", "0\n"),
	ROW_TEXT("kernel/modprobe", "/sbin/modprobe\n"),
	ROW_TEXT("kernel/modules_disabled", "1\n"),
	ROW_TEXT("kernel/kptr_restrict", "1\n"),
	ROW_TEXT("kernel/dmesg_restrict", "1\n"),
	ROW_TEXT("kernel/perf_event_paranoid", "3\n"),
	ROW_TEXT("kernel/perf_event_max_sample_rate", "100000\n"),
	ROW_TEXT("kernel/perf_event_mlock_kb", "516\n"),
	ROW_TEXT("kernel/unprivileged_bpf_disabled", "2\n"),
	ROW_TEXT("kernel/unprivileged_userns_clone", "0\n"),
	ROW_TEXT("kernel/io_uring_disabled", "2\n"),
	ROW_TEXT("kernel/yama/ptrace_scope", "1\n"),
	ROW_TEXT("kernel/numa_balancing", "0\n"),
	ROW_TEXT("kernel/sched_autogroup_enabled", "1\n"),
	ROW_TEXT("kernel/sched_child_runs_first", "0\n"),
	ROW_TEXT("kernel/sched_rt_period_us", "1000000\n"),
	ROW_TEXT("kernel/sched_rt_runtime_us", "950000\n"),
	ROW_TEXT("kernel/sched_rr_timeslice_ms", "100\n"),
	ROW_TEXT("kernel/seccomp/actions_avail", "kill_process kill_thread trap errno user_notif trace log allow\n"),
	ROW_TEXT("kernel/shmmax", "18446744073692774399\n"),
	ROW_TEXT("kernel/shmall", "18446744073692774399\n"),
	ROW_TEXT("kernel/shmmni", "4096\n"),
	ROW_TEXT("kernel/shm_rmid_forced", "0\n"),
	ROW_TEXT("kernel/msgmax", "8192\n"),
	ROW_TEXT("kernel/msgmnb", "16384\n"),
	ROW_TEXT("kernel/msgmni", "32000\n"),
	ROW_TEXT("kernel/sem", "32000\t1024000000\t500\t32000\n"),
	ROW_TEXT("kernel/auto_msgmni", "0\n"),
	ROW_TEXT("kernel/pty/max", "4096\n"),
	ROW_TEXT("kernel/pty/nr", "0\n"),
	ROW_TEXT("kernel/pty/reserve", "1024\n"),
	ROW_REFUSE("kernel/keys/*", EPERM),
	ROW_TEXT("vm/overcommit_memory", "0\n"),
	ROW_TEXT("vm/overcommit_ratio", "50\n"),
	ROW_TEXT("vm/overcommit_kbytes", "0\n"),
	ROW_TEXT("vm/max_map_count", "65530\n"),
	ROW_TEXT("vm/mmap_min_addr", "65536\n"), /* MACHINE_LOWEST_ADDRESS */
	ROW_TEXT("vm/mmap_rnd_bits", "28\n"),
	ROW_TEXT("vm/legacy_va_layout", "0\n"),
	ROW_TEXT("vm/swappiness", "60\n"),
	ROW_TEXT("vm/page-cluster", "3\n"),
	ROW_TEXT("vm/dirty_ratio", "20\n"),
	ROW_TEXT("vm/dirty_background_ratio", "10\n"),
	ROW_TEXT("vm/dirty_bytes", "0\n"),
	ROW_TEXT("vm/dirty_background_bytes", "0\n"),
	ROW_TEXT("vm/dirty_expire_centisecs", "3000\n"),
	ROW_TEXT("vm/dirty_writeback_centisecs", "500\n"),
	ROW_TEXT("vm/vfs_cache_pressure", "100\n"),
	ROW_TEXT("vm/zone_reclaim_mode", "0\n"),
	ROW_TEXT("vm/panic_on_oom", "0\n"),
	ROW_TEXT("vm/oom_kill_allocating_task", "0\n"),
	ROW_TEXT("vm/oom_dump_tasks", "1\n"),
	ROW_TEXT("vm/min_free_kbytes", "4096\n"),
	ROW_TEXT("vm/nr_hugepages", "0\n"),
	ROW_TEXT("vm/nr_overcommit_hugepages", "0\n"),
	ROW_TEXT("vm/hugetlb_shm_group", "0\n"),
	ROW_TEXT("vm/drop_caches", "0\n"),
	ROW_TEXT("vm/unprivileged_userfaultfd", "0\n"),
	ROW_TEXT("fs/file-max", HUGE_COUNT),
	ROW_TEXT("fs/file-nr", "1024\t0\t" HUGE_COUNT),
	ROW_TEXT("fs/nr_open", "1048576\n"),
	ROW_TEXT("fs/inode-nr", "10000\t1000\n"),
	ROW_TEXT("fs/inode-state", "10000\t1000\t0\t0\t0\t0\t0\n"),
	ROW_TEXT("fs/dentry-state", "10000\t5000\t45\t0\t1000\t0\n"),
	ROW_TEXT("fs/dentry-negative", "0\n"),
	ROW_TEXT("fs/quota/*", "0\n"),
	ROW_TEXT("fs/fanotify/max_queued_events", "16384\n"),
	ROW_TEXT("fs/fanotify/max_user_groups", "128\n"),
	ROW_TEXT("fs/fanotify/max_user_marks", "8192\n"),
	ROW_TEXT("fs/fanotify/watchdog_timeout", "0\n"),
	ROW_TEXT("fs/fuse/max_pages_limit", "256\n"),
	ROW_TEXT("fs/fuse/*_request_timeout", "0\n"),
	ROW_TEXT("fs/aio-nr", "0\n"),
	ROW_TEXT("fs/aio-max-nr", "65536\n"),
	ROW_TEXT("fs/pipe-max-size", "1048576\n"),
	ROW_TEXT("fs/pipe-user-pages-soft", "16384\n"),
	ROW_TEXT("fs/pipe-user-pages-hard", "0\n"),
	ROW_TEXT("fs/lease-break-time", "45\n"),
	ROW_TEXT("fs/leases-enable", "1\n"),
	ROW_TEXT("fs/dir-notify-enable", "1\n"),
	ROW_TEXT("fs/mount-max", "100000\n"),
	ROW_TEXT("fs/overflowuid", "65534\n"),
	ROW_TEXT("fs/overflowgid", "65534\n"),
	ROW_TEXT("fs/protected_hardlinks", "1\n"),
	ROW_TEXT("fs/protected_symlinks", "1\n"),
	ROW_TEXT("fs/protected_fifos", "1\n"),
	ROW_TEXT("fs/protected_regular", "2\n"),
	ROW_TEXT("fs/suid_dumpable", "0\n"),
	ROW_TEXT("fs/epoll/max_user_watches", "200000\n"),
	ROW_TEXT("fs/inotify/max_queued_events", "16384\n"),
	ROW_TEXT("fs/inotify/max_user_instances", "128\n"),
	ROW_TEXT("fs/inotify/max_user_watches", "65536\n"),
	ROW_TEXT("fs/mqueue/msg_default", "10\n"),
	ROW_TEXT("fs/mqueue/msg_max", "10\n"),
	ROW_TEXT("fs/mqueue/msgsize_default", "8192\n"),
	ROW_TEXT("fs/mqueue/msgsize_max", "8192\n"),
	ROW_TEXT("fs/mqueue/queues_max", "256\n"),
	ROW_TEXT("user/max_*", "0\n"),
	ROW_TEXT("abi/vsyscall32", "1\n"),
	ROW_TEXT("debug/exception-trace", "1\n"),
	ROW_TEXT("net/core/somaxconn", "4096\n"),
	ROW_TEXT("net/core/rmem_default", "212992\n"),
	ROW_TEXT("net/core/rmem_max", "212992\n"),
	ROW_TEXT("net/core/wmem_default", "212992\n"),
	ROW_TEXT("net/core/wmem_max", "212992\n"),
	ROW_TEXT("net/ipv4/ip_local_port_range", "32768\t60999\n"),
	ROW_TEXT("net/ipv4/tcp_fin_timeout", "60\n"),
	/* Of the whole host, by its memory and its modules; and what the container has set so that nothing waits by the kernel's clock. */
	ROW_TEXT("net/ipv4/tcp_max_tw_buckets", "65536\n"),
	ROW_TEXT("net/ipv4/tcp_max_syn_backlog", "1024\n"),
	ROW_TEXT("net/ipv4/tcp_max_orphans", "65536\n"),
	ROW_TEXT("net/ipv4/tcp_ehash_entries", "65536\n"),
	ROW_TEXT("net/ipv4/tcp_mem", "98304\t131072\t196608\n"),
	ROW_TEXT("net/ipv4/udp_mem", "196608\t262144\t393216\n"),
	ROW_TEXT("net/ipv4/udp_hash_entries", "4096\n"),
	ROW_TEXT("net/ipv4/tcp_available_congestion_control", "reno cubic\n"),
	ROW_TEXT("net/ipv4/tcp_allowed_congestion_control", "reno cubic\n"),
	ROW_TEXT("net/ipv4/tcp_available_ulp", "\n"),
	ROW_TEXT("net/ipv4/inet_peer_maxttl", "600\n"),
	ROW_TEXT("net/ipv4/inet_peer_minttl", "120\n"),
	ROW_TEXT("net/ipv4/inet_peer_threshold", "65664\n"),
	ROW_TEXT("net/ipv4/neigh/default/gc_interval", "30\n"),
	ROW_TEXT("net/ipv4/neigh/default/gc_stale_time", "60\n"),
	ROW_TEXT("net/ipv4/neigh/default/gc_thresh1", "128\n"),
	ROW_TEXT("net/ipv4/neigh/default/gc_thresh2", "512\n"),
	ROW_TEXT("net/ipv4/neigh/default/gc_thresh3", "1024\n"),
	ROW_TEXT("net/core/optmem_max", "131072\n"),
	ROW_TEXT("net/core/rps_default_mask", "0\n"),
	ROW_TEXT("net/core/tstamp_allow_data", "1\n"),
	ROW_TEXT("net/core/txrehash", "1\n"),
	ROW_LIVE("net/core/xfrm_*"),
	/* Namespaces begin with what the host has set for its own. */
	ROW_TEXT("net/ipv4/neigh/*/anycast_delay", "100\n"),
	ROW_TEXT("net/ipv6/neigh/*/anycast_delay", "100\n"),
	ROW_TEXT("net/ipv4/neigh/*/app_solicit", "0\n"),
	ROW_TEXT("net/ipv6/neigh/*/app_solicit", "0\n"),
	ROW_TEXT("net/ipv4/neigh/*/base_reachable_time", "30\n"),
	ROW_TEXT("net/ipv6/neigh/*/base_reachable_time", "30\n"),
	ROW_TEXT("net/ipv4/neigh/*/base_reachable_time_ms", "30000\n"),
	ROW_TEXT("net/ipv6/neigh/*/base_reachable_time_ms", "30000\n"),
	ROW_TEXT("net/ipv4/neigh/*/delay_first_probe_time", "5\n"),
	ROW_TEXT("net/ipv6/neigh/*/delay_first_probe_time", "5\n"),
	ROW_TEXT("net/ipv4/neigh/*/gc_stale_time", "60\n"),
	ROW_TEXT("net/ipv6/neigh/*/gc_stale_time", "60\n"),
	ROW_TEXT("net/ipv4/neigh/*/interval_probe_time_ms", "5000\n"),
	ROW_TEXT("net/ipv6/neigh/*/interval_probe_time_ms", "5000\n"),
	ROW_TEXT("net/ipv4/neigh/*/mcast_resolicit", "0\n"),
	ROW_TEXT("net/ipv6/neigh/*/mcast_resolicit", "0\n"),
	ROW_TEXT("net/ipv4/neigh/*/mcast_solicit", "3\n"),
	ROW_TEXT("net/ipv6/neigh/*/mcast_solicit", "3\n"),
	ROW_TEXT("net/ipv4/neigh/*/proxy_delay", "80\n"),
	ROW_TEXT("net/ipv6/neigh/*/proxy_delay", "80\n"),
	ROW_TEXT("net/ipv4/neigh/*/proxy_qlen", "64\n"),
	ROW_TEXT("net/ipv6/neigh/*/proxy_qlen", "64\n"),
	ROW_TEXT("net/ipv4/neigh/*/retrans_time_ms", "1000\n"),
	ROW_TEXT("net/ipv6/neigh/*/retrans_time_ms", "1000\n"),
	ROW_TEXT("net/ipv4/neigh/*/ucast_solicit", "3\n"),
	ROW_TEXT("net/ipv6/neigh/*/ucast_solicit", "3\n"),
	ROW_TEXT("net/ipv4/neigh/*/unres_qlen", "101\n"),
	ROW_TEXT("net/ipv6/neigh/*/unres_qlen", "101\n"),
	ROW_TEXT("net/ipv4/neigh/*/unres_qlen_bytes", "212992\n"),
	ROW_TEXT("net/ipv6/neigh/*/unres_qlen_bytes", "212992\n"),
	ROW_TEXT("net/ipv4/neigh/*/locktime", "100\n"),
	ROW_TEXT("net/ipv6/neigh/*/locktime", "0\n"),
	ROW_TEXT("net/ipv4/neigh/*/retrans_time", "100\n"),
	ROW_TEXT("net/ipv6/neigh/*/retrans_time", "250\n"),
	ROW_TEXT("net/ipv6/route/max_size", "2147483647\n"),
	/* Each namespace begins with the kernel's constants, or with what the container writes there (container/net.c). */
	ROW_LIVE("net/ipv4/tcp_*"),
	ROW_LIVE("net/ipv4/route/m*"),
	ROW_LIVE("net/ipv6/route/*"),
	ROW_LIVE("net/ipv4/fwmark_reflect"),
	ROW_LIVE("net/ipv4/nexthop_compat_mode"),
	ROW_LIVE("net/ipv4/raw_l3mdev_accept"),
	ROW_LIVE("net/ipv4/xfrm4_gc_thresh"),
	ROW_LIVE("net/ipv4/udp_*"),
	ROW_LIVE("net/ipv4/ip_*"),
	ROW_LIVE("net/ipv4/ipfrag_*"),
	ROW_LIVE("net/ipv4/icmp_*"),
	ROW_LIVE("net/ipv4/igmp_*"),
	ROW_LIVE("net/ipv4/fib_*"),
	ROW_LIVE("net/ipv4/ping_group_range"),
	/* Cannot be set, but would be inherited. */
	ROW_TEXT("net/ipv4/conf/*/mc_forwarding", "0\n"),
	ROW_TEXT("net/ipv6/conf/*/mc_forwarding", "0\n"),
	ROW_LIVE("net/ipv4/conf/*/*"),
	ROW_LIVE("net/ipv6/conf/*/*"),
	ROW_LIVE("net/ipv6/icmp/*"),
	ROW_LIVE("net/ipv6/*"),
	ROW_LIVE("net/unix/max_dgram_qlen"),
	/* There with a module of the host's only, so that listings do not have them: what is not each namespace's own is as with 2 GiB of memory. */
	ROW_LIVE("net/bridge/*"),
	ROW_TEXT("net/mptcp/available_path_managers", "kernel userspace\n"),
	ROW_TEXT("net/mptcp/available_schedulers", "default\n"),
	ROW_LIVE("net/mptcp/*"),
	ROW_TEXT("net/netfilter/nf_conntrack_acct", "0\n"),
	ROW_TEXT("net/netfilter/nf_conntrack_buckets", "65536\n"),
	ROW_TEXT("net/netfilter/nf_conntrack_count", "0\n"), /* those that are over go by the kernel's clock */
	ROW_TEXT("net/netfilter/nf_conntrack_expect_max", "1024\n"),
	ROW_TEXT("net/netfilter/nf_conntrack_max", "65536\n"),
	ROW_LIVE("net/netfilter/nf_conntrack_*"),
	ROW_LIVE("net/netfilter/nf_flowtable_*"),
	ROW_TEXT("net/netfilter/nf_hooks_lwtunnel", "0\n"),
	ROW_TEXT("net/netfilter/nf_log_all_netns", "0\n"),
	ROW_TEXT("net/netfilter/nf_log/*", "NONE\n"),
	ROW_REFUSE("fs/xfs/*", EACCES), /* the host's disks */
	/* Directories, shown in listings. */
	ROW_LIVE("fs/epoll"),
	ROW_LIVE("fs/fanotify"),
	ROW_LIVE("fs/inotify"),
	ROW_LIVE("fs/mqueue"),
	ROW_LIVE("fs/quota"),
	ROW_LIVE("net/core"),
	ROW_LIVE("net/ipv4"),
	ROW_LIVE("net/ipv6"),
	ROW_LIVE("net/unix"),
};

const struct procfs_table procfs_sysctl_table = { rows, ARRAY_SIZE(rows) };
