/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the filter program and installs it in the guest: see filter.h. */
#include "backend/notify/filter.h"

#include <assert.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

static_assert(BACKEND_FILTER_FLAGS == (SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) &&
		      BACKEND_FILTER_FLAGS_OLD == SECCOMP_FILTER_FLAG_NEW_LISTENER,
	      "see backend.h");

struct backend_filter {
	struct sock_fprog program;
	bool fault_tsc;
};

static void release_context(scmp_filter_ctx *context)
{
	if (*context)
		seccomp_release(*context);
}

static int add_rules(scmp_filter_ctx context, const struct filter_rule *rules, size_t n_rules, struct error *err)
{
	struct scmp_arg_cmp clear;
	uint32_t action;
	size_t i;
	int r;

	for (i = 0; i < n_rules; i++) {
		action = rules[i].error ? SCMP_ACT_ERRNO((uint32_t)rules[i].error) : SCMP_ACT_ALLOW;
		clear = SCMP_CMP64(rules[i].argument, SCMP_CMP_MASKED_EQ, rules[i].bits, 0);
		r = seccomp_rule_add_exact_array(context, action, rules[i].nr, rules[i].if_clear, &clear);
		if (r < 0)
			return error_errno(err, -r, "filter rule for system call %d", rules[i].nr);
	}
	return 0;
}

static int set_attributes(scmp_filter_ctx context)
{
	int r;

	r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
	if (r == 0)
		r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary tree */
	return r;
}

int filter_export(void *context, struct sock_fprog *ret_program)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ struct sock_filter *code = NULL;
	off_t size;
	ssize_t n;
	int r;

	fd = memfd_create("filter", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = seccomp_export_bpf(context, fd);
	if (r < 0)
		return r;
	size = lseek(fd, 0, SEEK_END);
	if (size < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	if (size == 0 || (size_t)size / sizeof(*code) > BPF_MAXINSNS)
		return -E2BIG;
	code = malloc((size_t)size);
	if (!code)
		return -ENOMEM;
	n = fd_read_full(fd, code, (size_t)size);
	if (n != size)
		return n < 0 ? (int)n : -EIO;
	ret_program->len = (unsigned short)((size_t)size / sizeof(*code));
	ret_program->filter = take_ptr(code);
	return 0;
}

struct backend_filter *filter_build(const struct filter_rule *rules, size_t n_rules, struct error *err)
{
	_cleanup_(release_context) scmp_filter_ctx context = NULL;
	_cleanup_free_ struct backend_filter *filter = NULL;
	int r;

	filter = calloc(1, sizeof(*filter));
	context = seccomp_init(SCMP_ACT_NOTIFY);
	if (!filter || !context) {
		(void)error_set(err, ENOMEM, "cannot make a seccomp filter");
		return NULL;
	}
	r = set_attributes(context);
	if (r < 0) {
		(void)error_errno(err, -r, "seccomp filter attributes");
		return NULL;
	}
	if (add_rules(context, rules, n_rules, err) < 0)
		return NULL;
	r = filter_export(context, &filter->program);
	if (r < 0) {
		(void)error_errno(err, -r, "cannot generate the seccomp filter");
		return NULL;
	}
	return take_ptr(filter);
}

struct backend_filter *backend_filter_free(struct backend_filter *filter)
{
	if (filter)
		free(filter->program.filter);
	free(filter);
	return NULL;
}

const struct sock_fprog *filter_program(const struct backend_filter *filter)
{
	return &filter->program;
}

void backend_filter_fault_tsc(struct backend_filter *filter)
{
	filter->fault_tsc = true;
}

static int set_filter(unsigned flags, const struct sock_fprog *program)
{
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);

	return fd < 0 ? -errno : (int)fd;
}

/* Flags are looked at before the program is (seccomp(2)). Kernels before 5.19 do not know WAIT_KILLABLE_RECV. */
int filter_flags(void)
{
	return set_filter(BACKEND_FILTER_FLAGS, NULL) == -EINVAL ? BACKEND_FILTER_FLAGS_OLD : BACKEND_FILTER_FLAGS;
}

/* Without CAP_SYS_ADMIN a filter needs no_new_privs. */
static int set_filter_somehow(const struct sock_fprog *program)
{
	int fd;

	fd = set_filter(BACKEND_FILTER_FLAGS, program);
	if (fd == -EACCES) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			return -errno;
		fd = set_filter(BACKEND_FILTER_FLAGS, program);
	}
	if (fd == -EINVAL)
		fd = set_filter(BACKEND_FILTER_FLAGS_OLD, program);
	return fd;
}

int backend_filter_prepare(const struct backend_filter *filter)
{
	/* survives execve and is inherited */
	return filter->fault_tsc && prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0 ? -errno : 0;
}

int backend_filter_install(void *arg)
{
	const struct backend_filter *filter = arg;
	long fd;

	fd = set_filter_somehow(&filter->program);
	if (fd < 0)
		return (int)fd;
	__asm__ volatile("int3" : : "a"(FILTER_HANDOVER), "b"(fd) : "memory");
	return 0;
}
