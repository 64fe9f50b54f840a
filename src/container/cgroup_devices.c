/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules about devices for cgroup version 2, as a BPF program of type CGROUP_DEVICE. The rules are tested from the last to the
 * first and the first that applies decides, which is the same as applying them one after another in version 1. An allowing
 * rule applies when it covers all of the access asked for, a denying one when it touches any of it. No rule: allowed.
 *
 * Registers: r2 type, r3 access, r4 major, r5 minor (r1, the context, is read at the start only).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "container/cgroup_internal.h"

#define DEVICE(kind, maj, min)                                                                                         \
	{                                                                                                              \
		.allow = true, .type = kind, .major = { true, maj }, .minor = { true, min },                           \
		.access = OCI_DEVICE_READ | OCI_DEVICE_WRITE | OCI_DEVICE_MKNOD                                        \
	}

const struct oci_device_rule cgroup_default_devices[] = {
	{ .allow = true, .type = 'c', .access = OCI_DEVICE_MKNOD },
	{ .allow = true, .type = 'b', .access = OCI_DEVICE_MKNOD },
	DEVICE('c', 1, 3), /* null */
	DEVICE('c', 1, 5), /* zero */
	DEVICE('c', 1, 7), /* full */
	DEVICE('c', 1, 8), /* random */
	DEVICE('c', 1, 9), /* urandom */
	DEVICE('c', 5, 0), /* tty */
	DEVICE('c', 5, 1), /* console */
	DEVICE('c', 5, 2), /* ptmx */
	{ .allow = true,
	  .type = 'c',
	  .major = { true, 136 }, /* pts/N */
	  .access = OCI_DEVICE_READ | OCI_DEVICE_WRITE | OCI_DEVICE_MKNOD },
};
const size_t cgroup_n_default_devices = ARRAY_SIZE(cgroup_default_devices);

enum { PROLOGUE = 6, PER_RULE = 8, EPILOGUE = 2, MAX_JUMPS = 4 };

struct program {
	struct bpf_insn *code;
	size_t n;
};

static void emit(struct program *p, unsigned code, unsigned dst, unsigned src, int16_t off, int32_t imm)
{
	p->code[p->n++] = (struct bpf_insn){
		.code = (uint8_t)code,
		.dst_reg = dst & 0xf,
		.src_reg = src & 0xf,
		.off = off,
		.imm = imm,
	};
}

static void emit_prologue(struct program *p)
{
	emit(p, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, offsetof(struct bpf_cgroup_dev_ctx, access_type), 0);
	emit(p, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_3, BPF_REG_2, 0, 0);
	emit(p, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, 0, 0, 0xffff);
	emit(p, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_3, 0, 0, 16);
	emit(p, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_4, BPF_REG_1, offsetof(struct bpf_cgroup_dev_ctx, major), 0);
	emit(p, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_5, BPF_REG_1, offsetof(struct bpf_cgroup_dev_ctx, minor), 0);
}

static int32_t kernel_access(unsigned access)
{
	return (access & OCI_DEVICE_READ ? BPF_DEVCG_ACC_READ : 0) |
	       (access & OCI_DEVICE_WRITE ? BPF_DEVCG_ACC_WRITE : 0) |
	       (access & OCI_DEVICE_MKNOD ? BPF_DEVCG_ACC_MKNOD : 0);
}

/*
 * Each test jumps to the next rule when this one does not apply; the distance is filled in at the end. Returns false if the
 * rule applies always: code behind it could not be reached, which the kernel refuses.
 */
static bool emit_rule(struct program *p, const struct oci_device_rule *rule)
{
	const int32_t all = BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE | BPF_DEVCG_ACC_MKNOD;
	int32_t access = rule->type == 'a' ? all : kernel_access(rule->access);
	size_t jumps[MAX_JUMPS], n = 0;
	bool conditional;

	if (rule->type != 'a') {
		jumps[n++] = p->n;
		emit(p, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_2, 0, 0,
		     rule->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR);
	}
	if (access != all) {
		emit(p, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_0, BPF_REG_3, 0, 0);
		emit(p, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_0, 0, 0, rule->allow ? all & ~access : access);
		jumps[n++] = p->n;
		emit(p, BPF_JMP | (rule->allow ? BPF_JNE : BPF_JEQ) | BPF_K, BPF_REG_0, 0, 0, 0);
	}
	if (rule->major.set && rule->major.value >= 0) {
		jumps[n++] = p->n;
		emit(p, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_4, 0, 0, (int32_t)rule->major.value);
	}
	if (rule->minor.set && rule->minor.value >= 0) {
		jumps[n++] = p->n;
		emit(p, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_5, 0, 0, (int32_t)rule->minor.value);
	}
	emit(p, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, rule->allow);
	emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	conditional = n > 0;
	while (n > 0) {
		n--;
		p->code[jumps[n]].off = (int16_t)(p->n - jumps[n] - 1);
	}
	return conditional;
}

static void emit_all(struct program *p, const struct oci_device_rule *rules, size_t n)
{
	emit_prologue(p);
	for (size_t i = cgroup_n_default_devices; i-- > 0;)
		(void)emit_rule(p, &cgroup_default_devices[i]);
	for (size_t i = n; i-- > 0;)
		if (!emit_rule(p, &rules[i]))
			return;
	emit(p, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1);
	emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int load(const struct program *p, struct error *err)
{
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE,
		.insns = (uint64_t)(uintptr_t)p->code,
		.insn_cnt = (uint32_t)p->n,
		.license = (uint64_t)(uintptr_t) "BSD",
	};
	int fd;

	fd = bpf(BPF_PROG_LOAD, &attr);
	return fd < 0 ? error_errno(err, errno, "linux.resources.devices: cannot load a BPF program") : fd;
}

/* The program attached before, if there is one, is detached after the new one is in place. */
static int attach(int directory, int program, struct error *err)
{
	uint32_t before[8] = { 0 };
	union bpf_attr query = {
		.query = {
			.target_fd = (uint32_t)directory,
			.attach_type = BPF_CGROUP_DEVICE,
			.prog_ids = (uint64_t)(uintptr_t)before,
			.prog_cnt = ARRAY_SIZE(before),
		},
	};
	union bpf_attr attr = {
		.target_fd = (uint32_t)directory,
		.attach_bpf_fd = (uint32_t)program,
		.attach_type = BPF_CGROUP_DEVICE,
		.attach_flags = BPF_F_ALLOW_MULTI,
	};

	if (bpf(BPF_PROG_QUERY, &query) < 0)
		query.query.prog_cnt = 0;
	if (bpf(BPF_PROG_ATTACH, &attr) < 0)
		return error_errno(err, errno, "linux.resources.devices: cannot attach a BPF program");
	for (uint32_t i = 0; i < query.query.prog_cnt && i < ARRAY_SIZE(before); i++) {
		union bpf_attr by_id = { .prog_id = before[i] };
		_cleanup_close_ int old = bpf(BPF_PROG_GET_FD_BY_ID, &by_id);
		union bpf_attr detach = {
			.target_fd = (uint32_t)directory,
			.attach_bpf_fd = (uint32_t)old,
			.attach_type = BPF_CGROUP_DEVICE,
		};

		if (old < 0 || bpf(BPF_PROG_DETACH, &detach) < 0)
			return error_errno(err, errno,
					   "linux.resources.devices: cannot detach the BPF program of before");
	}
	return 0;
}

struct bpf_insn *cgroup_device_program(const struct oci_device_rule *rules, size_t n, size_t *ret_n)
{
	struct program p = { .code = calloc(PROLOGUE + PER_RULE * (n + cgroup_n_default_devices) + EPILOGUE, sizeof(*p.code)) };

	if (p.code)
		emit_all(&p, rules, n);
	*ret_n = p.n;
	return p.code;
}

int cgroup_attach_device_rules(const char *directory, const struct oci_device_rule *rules, size_t n, struct error *err)
{
	_cleanup_close_ int fd = -1, program = -1;
	_cleanup_free_ struct bpf_insn *code = NULL;
	struct program p = { 0 };

	p.code = code = cgroup_device_program(rules, n, &p.n);
	if (!code)
		return error_set(err, ENOMEM, "out of memory");
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, errno, "cannot open the cgroup %s", directory);
	program = load(&p, err);
	return program < 0 ? program : attach(fd, program, err);
}
