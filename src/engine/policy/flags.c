/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One list of names per set. An entry matches when (value & mask) == its value; its mask is then taken out of the value. So a bit
 * is BIT(name), a number in a field is FIELD(mask, name), a plain number is NUM(name), and what headers of the build host may lack is
 * given with its value. Composites stand before their parts.
 */
#include "engine/policy/flags.h"

#include <asm/ioctls.h>
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/memfd.h>
#include <linux/mempolicy.h>
#include <linux/prctl.h>
#include <linux/random.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <linux/stat.h>
#include <linux/xattr.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

struct flag_name {
	uint32_t value, mask;
	const char *name;
};

#define BIT(name) { (uint32_t)(name), (uint32_t)(name), #name }
#define NEWBIT(value, name) { (value), (value), name }
#define FIELD(mask, name) { (uint32_t)(name), (mask), #name }
#define NEWFIELD(mask, value, name) { (value), (mask), name }
#define NUM(name) { (uint32_t)(name), UINT32_MAX, #name }
#define NEWNUM(value, name) { (value), UINT32_MAX, name }
#define END { 0, 0, NULL }

/* clang-format off */
static const struct flag_name access_names[] = { NUM(F_OK), BIT(R_OK), BIT(W_OK), BIT(X_OK), END };

static const struct flag_name arch_prctl_names[] = {
	NUM(ARCH_SET_GS), NUM(ARCH_SET_FS), NUM(ARCH_GET_FS), NUM(ARCH_GET_GS),
	NEWNUM(0x1011, "ARCH_GET_CPUID"), NEWNUM(0x1012, "ARCH_SET_CPUID"),
	NEWNUM(0x1021, "ARCH_GET_XCOMP_SUPP"), NEWNUM(0x1022, "ARCH_GET_XCOMP_PERM"), NEWNUM(0x1023, "ARCH_REQ_XCOMP_PERM"),
	NEWNUM(0x3001, "ARCH_CET_STATUS"), NEWNUM(0x5001, "ARCH_SHSTK_ENABLE"), NEWNUM(0x5002, "ARCH_SHSTK_DISABLE"),
	NEWNUM(0x5003, "ARCH_SHSTK_LOCK"), NEWNUM(0x5005, "ARCH_SHSTK_STATUS"), END
};

static const struct flag_name at_names[] = {
	BIT(AT_SYMLINK_NOFOLLOW), BIT(AT_SYMLINK_FOLLOW), BIT(AT_NO_AUTOMOUNT), BIT(AT_EMPTY_PATH),
	BIT(AT_STATX_FORCE_SYNC), BIT(AT_STATX_DONT_SYNC), END
};

static const struct flag_name at_access_names[] = { BIT(AT_EACCESS), BIT(AT_SYMLINK_NOFOLLOW), BIT(AT_EMPTY_PATH), END };

static const struct flag_name at_unlink_names[] = { BIT(AT_REMOVEDIR), END };

static const struct flag_name clock_names[] = {
	NUM(CLOCK_REALTIME), NUM(CLOCK_MONOTONIC), NUM(CLOCK_PROCESS_CPUTIME_ID), NUM(CLOCK_THREAD_CPUTIME_ID),
	NUM(CLOCK_MONOTONIC_RAW), NUM(CLOCK_REALTIME_COARSE), NUM(CLOCK_MONOTONIC_COARSE), NUM(CLOCK_BOOTTIME),
	NUM(CLOCK_REALTIME_ALARM), NUM(CLOCK_BOOTTIME_ALARM), NUM(CLOCK_TAI), END
};

static const struct flag_name clone_names[] = {
	BIT(CLONE_VM), BIT(CLONE_FS), BIT(CLONE_FILES), BIT(CLONE_SIGHAND), BIT(CLONE_PIDFD), BIT(CLONE_PTRACE),
	BIT(CLONE_VFORK), BIT(CLONE_PARENT), BIT(CLONE_THREAD), BIT(CLONE_NEWNS), BIT(CLONE_SYSVSEM), BIT(CLONE_SETTLS),
	BIT(CLONE_PARENT_SETTID), BIT(CLONE_CHILD_CLEARTID), BIT(CLONE_DETACHED), BIT(CLONE_UNTRACED),
	BIT(CLONE_CHILD_SETTID), BIT(CLONE_NEWCGROUP), BIT(CLONE_NEWUTS), BIT(CLONE_NEWIPC), BIT(CLONE_NEWUSER),
	BIT(CLONE_NEWPID), BIT(CLONE_NEWNET), BIT(CLONE_IO), FIELD(0xff, SIGCHLD), END
};

static const struct flag_name close_range_names[] = { BIT(CLOSE_RANGE_UNSHARE), BIT(CLOSE_RANGE_CLOEXEC), END };

static const struct flag_name epoll_ctl_names[] = { NUM(EPOLL_CTL_ADD), NUM(EPOLL_CTL_DEL), NUM(EPOLL_CTL_MOD), END };

static const struct flag_name eventfd_names[] = { BIT(EFD_SEMAPHORE), BIT(EFD_CLOEXEC), BIT(EFD_NONBLOCK), END };

static const struct flag_name fadvise_names[] = {
	NUM(POSIX_FADV_NORMAL), NUM(POSIX_FADV_RANDOM), NUM(POSIX_FADV_SEQUENTIAL), NUM(POSIX_FADV_WILLNEED),
	NUM(POSIX_FADV_DONTNEED), NUM(POSIX_FADV_NOREUSE), END
};

static const struct flag_name falloc_names[] = {
	BIT(FALLOC_FL_KEEP_SIZE), BIT(FALLOC_FL_PUNCH_HOLE), BIT(FALLOC_FL_COLLAPSE_RANGE), BIT(FALLOC_FL_ZERO_RANGE),
	BIT(FALLOC_FL_INSERT_RANGE), BIT(FALLOC_FL_UNSHARE_RANGE), END
};

static const struct flag_name family_names[] = {
	NUM(AF_UNSPEC), NUM(AF_UNIX), NUM(AF_INET), NUM(AF_INET6), NUM(AF_NETLINK), NUM(AF_PACKET), NUM(AF_ALG),
	NUM(AF_VSOCK), NUM(AF_BLUETOOTH), NUM(AF_CAN), NUM(AF_TIPC), NUM(AF_KEY), NUM(AF_XDP), END
};

static const struct flag_name fcntl_names[] = {
	NUM(F_DUPFD), NUM(F_GETFD), NUM(F_SETFD), NUM(F_GETFL), NUM(F_SETFL), NUM(F_GETLK), NUM(F_SETLK), NUM(F_SETLKW),
	NUM(F_SETOWN), NUM(F_GETOWN), NUM(F_SETSIG), NUM(F_GETSIG), NUM(F_SETOWN_EX), NUM(F_GETOWN_EX), NUM(F_OFD_GETLK),
	NUM(F_OFD_SETLK), NUM(F_OFD_SETLKW), NUM(F_SETLEASE), NUM(F_GETLEASE), NUM(F_NOTIFY), NUM(F_DUPFD_CLOEXEC),
	NEWNUM(1027, "F_DUPFD_QUERY"), NEWNUM(1028, "F_CREATED_QUERY"), NUM(F_SETPIPE_SZ), NUM(F_GETPIPE_SZ),
	NUM(F_ADD_SEALS), NUM(F_GET_SEALS), NUM(F_GET_RW_HINT), NUM(F_SET_RW_HINT), NUM(F_GET_FILE_RW_HINT),
	NUM(F_SET_FILE_RW_HINT), END
};

static const struct flag_name fd_flag_names[] = { BIT(O_CLOEXEC), BIT(O_NONBLOCK), BIT(O_DIRECT), END };

static const struct flag_name flock_names[] = {
	FIELD(~(uint32_t)LOCK_NB, LOCK_SH), FIELD(~(uint32_t)LOCK_NB, LOCK_EX), FIELD(~(uint32_t)LOCK_NB, LOCK_UN), BIT(LOCK_NB), END
};

#define FUTEX_CMD(name) { (name), 0x7f, #name }
static const struct flag_name futex_names[] = {
	FUTEX_CMD(FUTEX_WAIT), FUTEX_CMD(FUTEX_WAKE), FUTEX_CMD(FUTEX_FD), FUTEX_CMD(FUTEX_REQUEUE), FUTEX_CMD(FUTEX_CMP_REQUEUE),
	FUTEX_CMD(FUTEX_WAKE_OP), FUTEX_CMD(FUTEX_LOCK_PI), FUTEX_CMD(FUTEX_UNLOCK_PI), FUTEX_CMD(FUTEX_TRYLOCK_PI),
	FUTEX_CMD(FUTEX_WAIT_BITSET), FUTEX_CMD(FUTEX_WAKE_BITSET), FUTEX_CMD(FUTEX_WAIT_REQUEUE_PI),
	FUTEX_CMD(FUTEX_CMP_REQUEUE_PI), NEWFIELD(0x7f, 13, "FUTEX_LOCK_PI2"),
	BIT(FUTEX_PRIVATE_FLAG), BIT(FUTEX_CLOCK_REALTIME), END
};

static const struct flag_name getrandom_names[] = { BIT(GRND_NONBLOCK), BIT(GRND_RANDOM), BIT(GRND_INSECURE), END };

static const struct flag_name id_type_names[] = { NUM(P_ALL), NUM(P_PID), NUM(P_PGID), NEWNUM(3, "P_PIDFD"), END };

static const struct flag_name inotify_names[] = {
	FIELD(IN_ALL_EVENTS, IN_ALL_EVENTS), BIT(IN_ACCESS), BIT(IN_MODIFY), BIT(IN_ATTRIB), BIT(IN_CLOSE_WRITE),
	BIT(IN_CLOSE_NOWRITE), BIT(IN_OPEN), BIT(IN_MOVED_FROM), BIT(IN_MOVED_TO), BIT(IN_CREATE), BIT(IN_DELETE),
	BIT(IN_DELETE_SELF), BIT(IN_MOVE_SELF), BIT(IN_ONLYDIR), BIT(IN_DONT_FOLLOW), BIT(IN_EXCL_UNLINK),
	NEWBIT(1u << 28, "IN_MASK_CREATE"), BIT(IN_MASK_ADD), BIT(IN_ISDIR), BIT(IN_ONESHOT), END
};

static const struct flag_name ioctl_names[] = {
	NUM(TCGETS), NUM(TCSETS), NUM(TCSETSW), NUM(TCSETSF), NUM(TCGETA), NUM(TCSETA), NUM(TCSBRK), NUM(TCXONC), NUM(TCFLSH),
	NUM(TIOCEXCL), NUM(TIOCNXCL), NUM(TIOCSCTTY), NUM(TIOCGPGRP), NUM(TIOCSPGRP), NUM(TIOCOUTQ), NUM(TIOCSTI),
	NUM(TIOCGWINSZ), NUM(TIOCSWINSZ), NUM(FIONREAD), NUM(TIOCCONS), NUM(TIOCPKT), NUM(FIONBIO), NUM(TIOCNOTTY),
	NUM(TIOCSETD), NUM(TIOCGETD), NUM(TCSBRKP), NUM(TIOCGSID), NUM(TIOCGPTN), NUM(TIOCSPTLCK), NUM(TIOCGPTLCK),
	NUM(TIOCGPTPEER), NUM(FIONCLEX), NUM(FIOCLEX), NUM(FIOASYNC), NUM(FIOQSIZE), NEWNUM(0x802c542a, "TCGETS2"), NEWNUM(0x402c542b, "TCSETS2"),
	NUM(SIOCGIFNAME), NUM(SIOCGIFCONF), NUM(SIOCGIFFLAGS), NUM(SIOCSIFFLAGS), NUM(SIOCGIFADDR), NUM(SIOCGIFDSTADDR),
	NUM(SIOCGIFBRDADDR), NUM(SIOCGIFNETMASK), NUM(SIOCGIFMETRIC), NUM(SIOCGIFMTU), NUM(SIOCGIFHWADDR), NUM(SIOCGIFINDEX),
	NUM(SIOCGIFTXQLEN), NUM(SIOCGIFMAP), NUM(SIOCETHTOOL), NUM(SIOCGARP), NUM(SIOCGSTAMP_OLD), NUM(SIOCGSTAMPNS_OLD),
	NUM(SIOCATMARK), NUM(FIOSETOWN), NUM(FIOGETOWN), NUM(SIOCGPGRP), NUM(SIOCSPGRP), NUM(FICLONE), NUM(FICLONERANGE),
	NUM(FIDEDUPERANGE), NUM(FS_IOC_GETFLAGS), NUM(FS_IOC_SETFLAGS), NUM(FS_IOC_FSGETXATTR), NUM(FS_IOC_FSSETXATTR),
	NEWNUM(0xc020660b, "FS_IOC_FIEMAP"), NUM(FIBMAP), NUM(FIGETBSZ), NUM(FIFREEZE), NUM(FITHAW), NUM(FITRIM), NUM(BLKGETSIZE),
	NUM(BLKGETSIZE64), NUM(BLKSSZGET), END
};

#define IPC_SHARED NUM(IPC_RMID), NUM(IPC_SET), NUM(IPC_STAT), NUM(IPC_INFO)
static const struct flag_name ipc_cmd_names[] = { IPC_SHARED, END };

static const struct flag_name sem_cmd_names[] = {
	IPC_SHARED, NUM(GETPID), NUM(GETVAL), NUM(GETALL), NUM(GETNCNT), NUM(GETZCNT), NUM(SETVAL), NUM(SETALL),
	NUM(SEM_STAT), NUM(SEM_INFO), NEWNUM(20, "SEM_STAT_ANY"), END
};

static const struct flag_name ipc_get_names[] = { BIT(IPC_CREAT), BIT(IPC_EXCL), END };

static const struct flag_name shmget_names[] = {
	BIT(IPC_CREAT), BIT(IPC_EXCL), BIT(SHM_HUGETLB), BIT(SHM_NORESERVE), END
};

static const struct flag_name shmat_names[] = { BIT(SHM_RDONLY), BIT(SHM_RND), BIT(SHM_REMAP), BIT(SHM_EXEC), END };

static const struct flag_name msgrcv_names[] = { BIT(IPC_NOWAIT), BIT(MSG_NOERROR), BIT(MSG_EXCEPT), NEWBIT(040000, "MSG_COPY"), END };

static const struct flag_name itimer_names[] = { NUM(ITIMER_REAL), NUM(ITIMER_VIRTUAL), NUM(ITIMER_PROF), END };

static const struct flag_name madvise_names[] = {
	NUM(MADV_NORMAL), NUM(MADV_RANDOM), NUM(MADV_SEQUENTIAL), NUM(MADV_WILLNEED), NUM(MADV_DONTNEED), NUM(MADV_FREE),
	NUM(MADV_REMOVE), NUM(MADV_DONTFORK), NUM(MADV_DOFORK), NUM(MADV_MERGEABLE), NUM(MADV_UNMERGEABLE), NUM(MADV_HUGEPAGE),
	NUM(MADV_NOHUGEPAGE), NUM(MADV_DONTDUMP), NUM(MADV_DODUMP), NUM(MADV_WIPEONFORK), NUM(MADV_KEEPONFORK), NUM(MADV_COLD),
	NUM(MADV_PAGEOUT), NEWNUM(22, "MADV_POPULATE_READ"), NEWNUM(23, "MADV_POPULATE_WRITE"),
	NEWNUM(24, "MADV_DONTNEED_LOCKED"), NEWNUM(25, "MADV_COLLAPSE"), NUM(MADV_HWPOISON), NEWNUM(101, "MADV_SOFT_OFFLINE"),
	NEWNUM(102, "MADV_GUARD_INSTALL"), NEWNUM(103, "MADV_GUARD_REMOVE"), END
};

static const struct flag_name membarrier_names[] = {
	NUM(MEMBARRIER_CMD_QUERY), NUM(MEMBARRIER_CMD_GLOBAL), NUM(MEMBARRIER_CMD_GLOBAL_EXPEDITED),
	NUM(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED), NUM(MEMBARRIER_CMD_PRIVATE_EXPEDITED),
	NUM(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED), NUM(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE),
	NUM(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE), NUM(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ),
	NUM(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ), NEWNUM(512, "MEMBARRIER_CMD_GET_REGISTRATIONS"), END
};

static const struct flag_name memfd_names[] = {
	BIT(MFD_CLOEXEC), BIT(MFD_ALLOW_SEALING), BIT(MFD_HUGETLB), NEWBIT(8, "MFD_NOEXEC_SEAL"), NEWBIT(16, "MFD_EXEC"), END
};

static const struct flag_name mlockall_names[] = { BIT(MCL_CURRENT), BIT(MCL_FUTURE), BIT(MCL_ONFAULT), END };

static const struct flag_name mmap_names[] = {
	FIELD(0xf, MAP_SHARED), FIELD(0xf, MAP_PRIVATE), FIELD(0xf, MAP_SHARED_VALIDATE), NEWFIELD(0xf, 8, "MAP_DROPPABLE"),
	BIT(MAP_FIXED), BIT(MAP_ANONYMOUS), BIT(MAP_32BIT), BIT(MAP_GROWSDOWN), BIT(MAP_DENYWRITE), BIT(MAP_EXECUTABLE),
	BIT(MAP_LOCKED), BIT(MAP_NORESERVE), BIT(MAP_POPULATE), BIT(MAP_NONBLOCK), BIT(MAP_STACK), BIT(MAP_HUGETLB),
	BIT(MAP_SYNC), BIT(MAP_FIXED_NOREPLACE), END
};

static const struct flag_name mpol_names[] = {
	NUM(MPOL_DEFAULT), NUM(MPOL_PREFERRED), NUM(MPOL_BIND), NUM(MPOL_INTERLEAVE), NUM(MPOL_LOCAL), END
};

static const struct flag_name mremap_names[] = { BIT(MREMAP_MAYMOVE), BIT(MREMAP_FIXED), BIT(MREMAP_DONTUNMAP), END };

static const struct flag_name msg_names[] = {
	BIT(MSG_OOB), BIT(MSG_PEEK), BIT(MSG_DONTROUTE), BIT(MSG_CTRUNC), BIT(MSG_TRUNC), BIT(MSG_DONTWAIT), BIT(MSG_EOR),
	BIT(MSG_WAITALL), BIT(MSG_CONFIRM), BIT(MSG_ERRQUEUE), BIT(MSG_NOSIGNAL), BIT(MSG_MORE), BIT(MSG_WAITFORONE),
	BIT(MSG_ZEROCOPY), BIT(MSG_FASTOPEN), BIT(MSG_CMSG_CLOEXEC), END
};

static const struct flag_name msync_names[] = { BIT(MS_ASYNC), BIT(MS_INVALIDATE), BIT(MS_SYNC), END };

/* O_LARGEFILE is 0 for 64-bit programs, but some set its bit. */
static const struct flag_name open_names[] = {
	FIELD(O_ACCMODE, O_RDONLY), FIELD(O_ACCMODE, O_WRONLY), FIELD(O_ACCMODE, O_RDWR), BIT(O_TMPFILE), BIT(O_SYNC), BIT(O_CREAT),
	BIT(O_EXCL), BIT(O_NOCTTY), BIT(O_TRUNC), BIT(O_APPEND), BIT(O_NONBLOCK), BIT(O_DSYNC), BIT(O_ASYNC), BIT(O_DIRECT),
	NEWBIT(0100000, "O_LARGEFILE"), BIT(O_DIRECTORY), BIT(O_NOFOLLOW), BIT(O_NOATIME), BIT(O_CLOEXEC), BIT(O_PATH), END
};

static const struct flag_name pidfd_names[] = { NEWBIT(O_NONBLOCK, "PIDFD_NONBLOCK"), NEWBIT(O_EXCL, "PIDFD_THREAD"), END };

static const struct flag_name prctl_names[] = {
	NUM(PR_SET_PDEATHSIG), NUM(PR_GET_PDEATHSIG), NUM(PR_GET_DUMPABLE), NUM(PR_SET_DUMPABLE), NUM(PR_GET_KEEPCAPS),
	NUM(PR_SET_KEEPCAPS), NUM(PR_GET_TIMING), NUM(PR_SET_TIMING), NUM(PR_SET_NAME), NUM(PR_GET_NAME), NUM(PR_GET_SECCOMP),
	NUM(PR_SET_SECCOMP), NUM(PR_CAPBSET_READ), NUM(PR_CAPBSET_DROP), NUM(PR_GET_TSC), NUM(PR_SET_TSC),
	NUM(PR_GET_SECUREBITS), NUM(PR_SET_SECUREBITS), NUM(PR_SET_TIMERSLACK), NUM(PR_GET_TIMERSLACK),
	NUM(PR_TASK_PERF_EVENTS_DISABLE), NUM(PR_TASK_PERF_EVENTS_ENABLE), NUM(PR_MCE_KILL), NUM(PR_MCE_KILL_GET), NUM(PR_SET_MM),
	NUM(PR_SET_PTRACER), NUM(PR_SET_CHILD_SUBREAPER), NUM(PR_GET_CHILD_SUBREAPER), NUM(PR_SET_NO_NEW_PRIVS),
	NUM(PR_GET_NO_NEW_PRIVS), NUM(PR_GET_TID_ADDRESS), NUM(PR_SET_THP_DISABLE), NUM(PR_GET_THP_DISABLE), NUM(PR_CAP_AMBIENT),
	NUM(PR_GET_SPECULATION_CTRL), NUM(PR_SET_SPECULATION_CTRL), NUM(PR_SET_IO_FLUSHER), NUM(PR_GET_IO_FLUSHER),
	NUM(PR_SET_SYSCALL_USER_DISPATCH), NUM(PR_SCHED_CORE), NEWNUM(65, "PR_SET_MDWE"), NEWNUM(66, "PR_GET_MDWE"),
	NEWNUM(67, "PR_SET_MEMORY_MERGE"), NEWNUM(68, "PR_GET_MEMORY_MERGE"), NUM(PR_SET_VMA), END
};

static const struct flag_name prio_names[] = { NUM(PRIO_PROCESS), NUM(PRIO_PGRP), NUM(PRIO_USER), END };

static const struct flag_name prot_names[] = {
	NUM(PROT_NONE), BIT(PROT_READ), BIT(PROT_WRITE), BIT(PROT_EXEC), BIT(PROT_GROWSDOWN), BIT(PROT_GROWSUP), END
};

static const struct flag_name rename_names[] = { BIT(RENAME_NOREPLACE), BIT(RENAME_EXCHANGE), BIT(RENAME_WHITEOUT), END };

static const struct flag_name rlimit_names[] = {
	NUM(RLIMIT_CPU), NUM(RLIMIT_FSIZE), NUM(RLIMIT_DATA), NUM(RLIMIT_STACK), NUM(RLIMIT_CORE), NUM(RLIMIT_RSS),
	NUM(RLIMIT_NPROC), NUM(RLIMIT_NOFILE), NUM(RLIMIT_MEMLOCK), NUM(RLIMIT_AS), NUM(RLIMIT_LOCKS), NUM(RLIMIT_SIGPENDING),
	NUM(RLIMIT_MSGQUEUE), NUM(RLIMIT_NICE), NUM(RLIMIT_RTPRIO), NUM(RLIMIT_RTTIME), END
};

static const struct flag_name rusage_names[] = { NUM(RUSAGE_SELF), NUM(RUSAGE_CHILDREN), NUM(RUSAGE_THREAD), END };

static const struct flag_name rwf_names[] = {
	BIT(RWF_HIPRI), BIT(RWF_DSYNC), BIT(RWF_SYNC), BIT(RWF_NOWAIT), BIT(RWF_APPEND), NEWBIT(0x20, "RWF_NOAPPEND"),
	NEWBIT(0x40, "RWF_ATOMIC"), NEWBIT(0x80, "RWF_DONTCACHE"), END
};

static const struct flag_name sched_names[] = {
	FIELD(0xff, SCHED_OTHER), FIELD(0xff, SCHED_FIFO), FIELD(0xff, SCHED_RR), FIELD(0xff, SCHED_BATCH),
	FIELD(0xff, SCHED_IDLE), NEWFIELD(0xff, 6, "SCHED_DEADLINE"), NEWFIELD(0xff, 7, "SCHED_EXT"),
	BIT(SCHED_RESET_ON_FORK), END
};

static const struct flag_name seccomp_names[] = {
	NUM(SECCOMP_SET_MODE_STRICT), NUM(SECCOMP_SET_MODE_FILTER), NUM(SECCOMP_GET_ACTION_AVAIL),
	NUM(SECCOMP_GET_NOTIF_SIZES), END
};

static const struct flag_name seek_names[] = {
	NUM(SEEK_SET), NUM(SEEK_CUR), NUM(SEEK_END), NUM(SEEK_DATA), NUM(SEEK_HOLE), END
};

static const struct flag_name shut_names[] = { NUM(SHUT_RD), NUM(SHUT_WR), NUM(SHUT_RDWR), END };

static const struct flag_name signal_names[] = {
	NUM(SIGHUP), NUM(SIGINT), NUM(SIGQUIT), NUM(SIGILL), NUM(SIGTRAP), NUM(SIGABRT), NUM(SIGBUS), NUM(SIGFPE), NUM(SIGKILL),
	NUM(SIGUSR1), NUM(SIGSEGV), NUM(SIGUSR2), NUM(SIGPIPE), NUM(SIGALRM), NUM(SIGTERM), NUM(SIGSTKFLT), NUM(SIGCHLD),
	NUM(SIGCONT), NUM(SIGSTOP), NUM(SIGTSTP), NUM(SIGTTIN), NUM(SIGTTOU), NUM(SIGURG), NUM(SIGXCPU), NUM(SIGXFSZ),
	NUM(SIGVTALRM), NUM(SIGPROF), NUM(SIGWINCH), NUM(SIGIO), NUM(SIGPWR), NUM(SIGSYS), END
};

static const struct flag_name sig_how_names[] = { NUM(SIG_BLOCK), NUM(SIG_UNBLOCK), NUM(SIG_SETMASK), END };

static const struct flag_name sock_flag_names[] = { BIT(SOCK_CLOEXEC), BIT(SOCK_NONBLOCK), END };

static const struct flag_name sock_level_names[] = {
	NEWNUM(0, "SOL_IP"), NUM(SOL_SOCKET), NEWNUM(6, "SOL_TCP"), NEWNUM(17, "SOL_UDP"), NEWNUM(41, "SOL_IPV6"),
	NEWNUM(58, "SOL_ICMPV6"), NEWNUM(255, "SOL_RAW"), NEWNUM(263, "SOL_PACKET"), NEWNUM(270, "SOL_NETLINK"),
	NEWNUM(282, "SOL_TLS"), END
};

static const struct flag_name sock_type_names[] = {
	FIELD(0xf, SOCK_STREAM), FIELD(0xf, SOCK_DGRAM), FIELD(0xf, SOCK_RAW), FIELD(0xf, SOCK_RDM), FIELD(0xf, SOCK_SEQPACKET),
	FIELD(0xf, SOCK_DCCP), FIELD(0xf, SOCK_PACKET), BIT(SOCK_CLOEXEC), BIT(SOCK_NONBLOCK), END
};

static const struct flag_name splice_names[] = {
	BIT(SPLICE_F_MOVE), BIT(SPLICE_F_NONBLOCK), BIT(SPLICE_F_MORE), BIT(SPLICE_F_GIFT), END
};

static const struct flag_name statx_names[] = {
	FIELD(STATX_ALL, STATX_ALL), FIELD(STATX_BASIC_STATS, STATX_BASIC_STATS), BIT(STATX_TYPE), BIT(STATX_MODE),
	BIT(STATX_NLINK), BIT(STATX_UID), BIT(STATX_GID), BIT(STATX_ATIME), BIT(STATX_MTIME), BIT(STATX_CTIME), BIT(STATX_INO),
	BIT(STATX_SIZE), BIT(STATX_BLOCKS), BIT(STATX_BTIME), NEWBIT(0x1000, "STATX_MNT_ID"), NEWBIT(0x2000, "STATX_DIOALIGN"),
	NEWBIT(0x4000, "STATX_MNT_ID_UNIQUE"), NEWBIT(0x8000, "STATX_SUBVOL"), END
};

static const struct flag_name sync_range_names[] = {
	BIT(SYNC_FILE_RANGE_WAIT_BEFORE), BIT(SYNC_FILE_RANGE_WRITE), BIT(SYNC_FILE_RANGE_WAIT_AFTER), END
};

static const struct flag_name timer_names[] = { BIT(TIMER_ABSTIME), END };

static const struct flag_name timerfd_names[] = { BIT(TFD_CLOEXEC), BIT(TFD_NONBLOCK), END };

static const struct flag_name timerfd_set_names[] = { BIT(TFD_TIMER_ABSTIME), BIT(TFD_TIMER_CANCEL_ON_SET), END };

static const struct flag_name wait_names[] = {
	BIT(WNOHANG), BIT(WUNTRACED), BIT(WEXITED), BIT(WCONTINUED), BIT(WNOWAIT), BIT(__WNOTHREAD), BIT(__WALL), BIT(__WCLONE), END
};

static const struct flag_name xattr_names[] = { BIT(XATTR_CREATE), BIT(XATTR_REPLACE), END };

static const struct flag_name *const sets[N_FLAG_SETS] = {
	[FLAG_SET_ACCESS] = access_names,           [FLAG_SET_ARCH_PRCTL] = arch_prctl_names,
	[FLAG_SET_AT] = at_names,                   [FLAG_SET_AT_ACCESS] = at_access_names,
	[FLAG_SET_AT_UNLINK] = at_unlink_names,     [FLAG_SET_CLOCK] = clock_names,
	[FLAG_SET_CLONE] = clone_names,             [FLAG_SET_CLOSE_RANGE] = close_range_names,
	[FLAG_SET_EPOLL_CTL] = epoll_ctl_names,     [FLAG_SET_EVENTFD] = eventfd_names,
	[FLAG_SET_FADVISE] = fadvise_names,         [FLAG_SET_FALLOC] = falloc_names,
	[FLAG_SET_FAMILY] = family_names,           [FLAG_SET_FCNTL] = fcntl_names,
	[FLAG_SET_FD_FLAGS] = fd_flag_names,        [FLAG_SET_FLOCK] = flock_names,
	[FLAG_SET_FUTEX] = futex_names,             [FLAG_SET_GETRANDOM] = getrandom_names,
	[FLAG_SET_ID_TYPE] = id_type_names,         [FLAG_SET_INOTIFY_MASK] = inotify_names,
	[FLAG_SET_IOCTL] = ioctl_names,             [FLAG_SET_IPC_CMD] = ipc_cmd_names,
	[FLAG_SET_IPC_GET] = ipc_get_names,         [FLAG_SET_ITIMER] = itimer_names,
	[FLAG_SET_MADVISE] = madvise_names,         [FLAG_SET_MEMBARRIER] = membarrier_names,
	[FLAG_SET_MEMFD] = memfd_names,             [FLAG_SET_MLOCKALL] = mlockall_names,
	[FLAG_SET_MMAP] = mmap_names,               [FLAG_SET_MPOL] = mpol_names,
	[FLAG_SET_MREMAP] = mremap_names,           [FLAG_SET_MSG] = msg_names,
	[FLAG_SET_MSGRCV] = msgrcv_names,           [FLAG_SET_MSYNC] = msync_names,
	[FLAG_SET_OPEN] = open_names,               [FLAG_SET_PIDFD] = pidfd_names,
	[FLAG_SET_PRCTL] = prctl_names,             [FLAG_SET_PRIO] = prio_names,
	[FLAG_SET_PROT] = prot_names,               [FLAG_SET_RENAME] = rename_names,
	[FLAG_SET_RLIMIT] = rlimit_names,           [FLAG_SET_RUSAGE] = rusage_names,
	[FLAG_SET_RWF] = rwf_names,                 [FLAG_SET_SCHED] = sched_names,
	[FLAG_SET_SECCOMP] = seccomp_names,         [FLAG_SET_SEEK] = seek_names,
	[FLAG_SET_SEM_CMD] = sem_cmd_names,         [FLAG_SET_SHMAT] = shmat_names,
	[FLAG_SET_SHMGET] = shmget_names,           [FLAG_SET_SHUT] = shut_names,
	[FLAG_SET_SIGNAL] = signal_names,           [FLAG_SET_SIG_HOW] = sig_how_names,
	[FLAG_SET_SOCK_FLAGS] = sock_flag_names,    [FLAG_SET_SOCK_LEVEL] = sock_level_names,
	[FLAG_SET_SOCK_TYPE] = sock_type_names,     [FLAG_SET_SPLICE] = splice_names,
	[FLAG_SET_STATX] = statx_names,             [FLAG_SET_SYNC_RANGE] = sync_range_names,
	[FLAG_SET_TIMER] = timer_names,             [FLAG_SET_TIMERFD] = timerfd_names,
	[FLAG_SET_TIMERFD_SET] = timerfd_set_names, [FLAG_SET_WAIT] = wait_names,
	[FLAG_SET_XATTR] = xattr_names,
};
/* clang-format on */

static const struct flag_name *set_names(enum flag_set set)
{
	static const struct flag_name none[] = { END };

	return (size_t)set < ARRAY_SIZE(sets) && sets[set] ? sets[set] : none;
}

size_t flags_format(enum flag_set set, uint64_t value, char *buf, size_t size)
{
	uint32_t done = 0, rest = (uint32_t)value;
	const char *separator = "";
	struct text text;

	text_init(&text, buf, size);
	for (const struct flag_name *n = set_names(set); n->name; n++) {
		if ((n->mask & done) || ((uint32_t)value & n->mask) != n->value)
			continue;
		text_add(&text, "%s%s", separator, n->name);
		separator = "|";
		done |= n->mask;
		rest &= ~n->mask;
	}
	if (rest)
		text_add(&text, "%s0x%x", separator, rest);
	else if (!*separator)
		text_add(&text, "0");

	return text.len;
}

const char *flags_name(enum flag_set set, uint64_t value)
{
	for (const struct flag_name *n = set_names(set); n->name; n++)
		if (n->value == (uint32_t)value && (n->value || n->mask))
			return n->name;

	return NULL;
}
