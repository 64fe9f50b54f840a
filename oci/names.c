/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that config.json uses for numbers of the kernel. Each list is read by the parser and printed by `features`. */
#include "oci/tables.h"

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#include "base/cleanup.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* clang-format off */
#define CAP(name) { #name, name }
/* clang-format on */
const struct jread_name oci_capability_names[] = {
	CAP(CAP_CHOWN),
	CAP(CAP_DAC_OVERRIDE),
	CAP(CAP_DAC_READ_SEARCH),
	CAP(CAP_FOWNER),
	CAP(CAP_FSETID),
	CAP(CAP_KILL),
	CAP(CAP_SETGID),
	CAP(CAP_SETUID),
	CAP(CAP_SETPCAP),
	CAP(CAP_LINUX_IMMUTABLE),
	CAP(CAP_NET_BIND_SERVICE),
	CAP(CAP_NET_BROADCAST),
	CAP(CAP_NET_ADMIN),
	CAP(CAP_NET_RAW),
	CAP(CAP_IPC_LOCK),
	CAP(CAP_IPC_OWNER),
	CAP(CAP_SYS_MODULE),
	CAP(CAP_SYS_RAWIO),
	CAP(CAP_SYS_CHROOT),
	CAP(CAP_SYS_PTRACE),
	CAP(CAP_SYS_PACCT),
	CAP(CAP_SYS_ADMIN),
	CAP(CAP_SYS_BOOT),
	CAP(CAP_SYS_NICE),
	CAP(CAP_SYS_RESOURCE),
	CAP(CAP_SYS_TIME),
	CAP(CAP_SYS_TTY_CONFIG),
	CAP(CAP_MKNOD),
	CAP(CAP_LEASE),
	CAP(CAP_AUDIT_WRITE),
	CAP(CAP_AUDIT_CONTROL),
	CAP(CAP_SETFCAP),
	CAP(CAP_MAC_OVERRIDE),
	CAP(CAP_MAC_ADMIN),
	CAP(CAP_SYSLOG),
	CAP(CAP_WAKE_ALARM),
	CAP(CAP_BLOCK_SUSPEND),
	CAP(CAP_AUDIT_READ),
	CAP(CAP_PERFMON),
	CAP(CAP_BPF),
	CAP(CAP_CHECKPOINT_RESTORE),
	{ 0 },
};
#undef CAP

const struct jread_name oci_rlimit_names[] = {
	{ "RLIMIT_AS", RLIMIT_AS },
	{ "RLIMIT_CORE", RLIMIT_CORE },
	{ "RLIMIT_CPU", RLIMIT_CPU },
	{ "RLIMIT_DATA", RLIMIT_DATA },
	{ "RLIMIT_FSIZE", RLIMIT_FSIZE },
	{ "RLIMIT_LOCKS", 10 }, /* glibc hides the number behind an enum of the same name */
	{ "RLIMIT_MEMLOCK", RLIMIT_MEMLOCK },
	{ "RLIMIT_MSGQUEUE", RLIMIT_MSGQUEUE },
	{ "RLIMIT_NICE", RLIMIT_NICE },
	{ "RLIMIT_NOFILE", RLIMIT_NOFILE },
	{ "RLIMIT_NPROC", RLIMIT_NPROC },
	{ "RLIMIT_RSS", RLIMIT_RSS },
	{ "RLIMIT_RTPRIO", RLIMIT_RTPRIO },
	{ "RLIMIT_RTTIME", RLIMIT_RTTIME },
	{ "RLIMIT_SIGPENDING", RLIMIT_SIGPENDING },
	{ "RLIMIT_STACK", RLIMIT_STACK },
	{ 0 },
};

const struct jread_name oci_namespace_names[] = {
	{ "cgroup", OCI_NS_CGROUP },   { "ipc", OCI_NS_IPC }, { "mount", OCI_NS_MOUNT },
	{ "network", OCI_NS_NETWORK }, { "pid", OCI_NS_PID }, { "time", OCI_NS_TIME },
	{ "user", OCI_NS_USER },       { "uts", OCI_NS_UTS }, { 0 },
};

/* SCMP_ACT_KILL is the old name of SCMP_ACT_KILL_THREAD, and comes after it so that the new one is the one to print. */
const struct jread_name oci_seccomp_action_names[] = {
	{ "SCMP_ACT_ALLOW", OCI_SECCOMP_ALLOW },
	{ "SCMP_ACT_ERRNO", OCI_SECCOMP_ERRNO },
	{ "SCMP_ACT_KILL_PROCESS", OCI_SECCOMP_KILL_PROCESS },
	{ "SCMP_ACT_KILL_THREAD", OCI_SECCOMP_KILL_THREAD },
	{ "SCMP_ACT_KILL", OCI_SECCOMP_KILL_THREAD },
	{ "SCMP_ACT_LOG", OCI_SECCOMP_LOG },
	{ "SCMP_ACT_NOTIFY", OCI_SECCOMP_NOTIFY },
	{ "SCMP_ACT_TRACE", OCI_SECCOMP_TRACE },
	{ "SCMP_ACT_TRAP", OCI_SECCOMP_TRAP },
	{ 0 },
};

const struct jread_name oci_seccomp_op_names[] = {
	{ "SCMP_CMP_EQ", OCI_SECCOMP_EQ }, { "SCMP_CMP_GE", OCI_SECCOMP_GE },
	{ "SCMP_CMP_GT", OCI_SECCOMP_GT }, { "SCMP_CMP_LE", OCI_SECCOMP_LE },
	{ "SCMP_CMP_LT", OCI_SECCOMP_LT }, { "SCMP_CMP_MASKED_EQ", OCI_SECCOMP_MASKED_EQ },
	{ "SCMP_CMP_NE", OCI_SECCOMP_NE }, { 0 },
};

#define ARCH_X32 (AUDIT_ARCH_X86_64 & ~(unsigned)__AUDIT_ARCH_64BIT)
const struct jread_name oci_seccomp_arch_names[] = {
	{ "SCMP_ARCH_AARCH64", AUDIT_ARCH_AARCH64 },
	{ "SCMP_ARCH_ARM", AUDIT_ARCH_ARM },
	{ "SCMP_ARCH_LOONGARCH64", AUDIT_ARCH_LOONGARCH64 },
	{ "SCMP_ARCH_M68K", AUDIT_ARCH_M68K },
	{ "SCMP_ARCH_MIPS", AUDIT_ARCH_MIPS },
	{ "SCMP_ARCH_MIPS64", AUDIT_ARCH_MIPS64 },
	{ "SCMP_ARCH_MIPS64N32", AUDIT_ARCH_MIPS64N32 },
	{ "SCMP_ARCH_MIPSEL", AUDIT_ARCH_MIPSEL },
	{ "SCMP_ARCH_MIPSEL64", AUDIT_ARCH_MIPSEL64 },
	{ "SCMP_ARCH_MIPSEL64N32", AUDIT_ARCH_MIPSEL64N32 },
	{ "SCMP_ARCH_PARISC", AUDIT_ARCH_PARISC },
	{ "SCMP_ARCH_PARISC64", AUDIT_ARCH_PARISC64 },
	{ "SCMP_ARCH_PPC", AUDIT_ARCH_PPC },
	{ "SCMP_ARCH_PPC64", AUDIT_ARCH_PPC64 },
	{ "SCMP_ARCH_PPC64LE", AUDIT_ARCH_PPC64LE },
	{ "SCMP_ARCH_RISCV64", AUDIT_ARCH_RISCV64 },
	{ "SCMP_ARCH_S390", AUDIT_ARCH_S390 },
	{ "SCMP_ARCH_S390X", AUDIT_ARCH_S390X },
	{ "SCMP_ARCH_SH", AUDIT_ARCH_SHEL },
	{ "SCMP_ARCH_SHEB", AUDIT_ARCH_SH },
	{ "SCMP_ARCH_X32", ARCH_X32 },
	{ "SCMP_ARCH_X86", AUDIT_ARCH_I386 },
	{ "SCMP_ARCH_X86_64", AUDIT_ARCH_X86_64 },
	{ 0 },
};

const struct jread_name oci_seccomp_flag_names[] = {
	{ "SECCOMP_FILTER_FLAG_LOG", SECCOMP_FILTER_FLAG_LOG },
	{ "SECCOMP_FILTER_FLAG_SPEC_ALLOW", SECCOMP_FILTER_FLAG_SPEC_ALLOW },
	{ "SECCOMP_FILTER_FLAG_TSYNC", SECCOMP_FILTER_FLAG_TSYNC },
	{ "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV", SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV },
	{ 0 },
};

const struct jread_name oci_propagation_names[] = {
	{ "private", MS_PRIVATE },
	{ "rprivate", MS_PRIVATE | MS_REC },
	{ "shared", MS_SHARED },
	{ "rshared", MS_SHARED | MS_REC },
	{ "slave", MS_SLAVE },
	{ "rslave", MS_SLAVE | MS_REC },
	{ "unbindable", MS_UNBINDABLE },
	{ "runbindable", MS_UNBINDABLE | MS_REC },
	{ 0 },
};

static const struct {
	const char *file;
	uint64_t flag;
} namespaces[OCI_NS_TYPES] = {
	[OCI_NS_USER] = { "user", CLONE_NEWUSER },  [OCI_NS_CGROUP] = { "cgroup", CLONE_NEWCGROUP },
	[OCI_NS_IPC] = { "ipc", CLONE_NEWIPC },	    [OCI_NS_UTS] = { "uts", CLONE_NEWUTS },
	[OCI_NS_NETWORK] = { "net", CLONE_NEWNET }, [OCI_NS_PID] = { "pid", CLONE_NEWPID },
	[OCI_NS_TIME] = { "time", CLONE_NEWTIME },  [OCI_NS_MOUNT] = { "mnt", CLONE_NEWNS },
};

static const char *const hook_stages[OCI_HOOK_STAGES] = {
	[OCI_HOOK_PRESTART] = "prestart",
	[OCI_HOOK_CREATE_RUNTIME] = "createRuntime",
	[OCI_HOOK_CREATE_CONTAINER] = "createContainer",
	[OCI_HOOK_START_CONTAINER] = "startContainer",
	[OCI_HOOK_POSTSTART] = "poststart",
	[OCI_HOOK_POSTSTOP] = "poststop",
};

static const char *name_of(const struct jread_name *names, uint64_t value)
{
	for (; names->name; names++)
		if (names->value == value)
			return names->name;
	return NULL;
}

const char *oci_namespace_name(enum oci_namespace_type type)
{
	return name_of(oci_namespace_names, type);
}

uint64_t oci_namespace_flag(enum oci_namespace_type type)
{
	return type < OCI_NS_TYPES ? namespaces[type].flag : 0;
}

const char *oci_namespace_file(enum oci_namespace_type type)
{
	return type < OCI_NS_TYPES ? namespaces[type].file : NULL;
}

const char *oci_hook_stage_name(enum oci_hook_stage stage)
{
	return stage < OCI_HOOK_STAGES ? hook_stages[stage] : NULL;
}

const char *oci_capability_name(unsigned number)
{
	return name_of(oci_capability_names, number);
}

int oci_capability_number(const char *name)
{
	const struct jread_name *row;

	if (strncasecmp(name, "CAP_", 4) == 0)
		name += 4;
	for (row = oci_capability_names; row->name; row++)
		if (strcasecmp(row->name + 4, name) == 0)
			return (int)row->value;
	return -1;
}

const char *oci_seccomp_action_name(enum oci_seccomp_action action)
{
	return name_of(oci_seccomp_action_names, action);
}
