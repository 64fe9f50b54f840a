/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls as text. The guest is a piece of memory at a fixed address; nothing else of it is mapped. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>

#include <criterion/criterion.h>

#include "base/cleanup.h"
#include "engine/policy/decode.h"
#include "engine/policy/flags.h"
#include "engine/guest.h"
#include "engine/policy/policy.h"

#define BASE 0x7fff00000000ull
#define SIZE 4096

struct memory {
	struct guest guest;
	unsigned char bytes[SIZE];
	size_t used;
};

static int memory_read(struct guest *g, int task, uint64_t addr, void *buf, size_t len)
{
	struct memory *m = (struct memory *)g;

	if (addr < BASE || addr - BASE > SIZE || len > SIZE - (addr - BASE))
		return -EFAULT;
	memcpy(buf, m->bytes + (addr - BASE), len);
	return 0;
}

static ssize_t memory_read_string(struct guest *g, int task, uint64_t addr, char *buf, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (memory_read(g, task, addr + i, buf + i, 1) < 0)
			return -EFAULT;
		if (!buf[i])
			return (ssize_t)i;
	}
	return -ENAMETOOLONG;
}

static const struct guest_ops ops = { .name = "memory", .read = memory_read, .read_string = memory_read_string };

static struct memory memory_init(void)
{
	return (struct memory){ .guest.ops = &ops };
}

/* Puts bytes somewhere in the guest; returns their address. */
static uint64_t put(struct memory *m, const void *data, size_t len)
{
	uint64_t addr = BASE + m->used;

	cr_assert_leq(m->used + len, SIZE);
	memcpy(m->bytes + m->used, data, len);
	m->used += (len + 7) & ~7ull;
	return addr;
}

static uint64_t put_string(struct memory *m, const char *s)
{
	return put(m, s, strlen(s) + 1);
}

static void expect(struct memory *m, const char *name, const uint64_t args[6], const char *text)
{
	char buf[2048];
	int n = decode_call(m ? &m->guest : NULL, 0, policy_number(name), args, buf, sizeof(buf));

	cr_assert_str_eq(buf, text);
	cr_assert_eq((size_t)n, strlen(text));
}

#define ARGS(...) ((const uint64_t[6]){ __VA_ARGS__ })

Test(decode, paths_and_flags)
{
	struct memory m = memory_init();
	uint64_t path = put_string(&m, "/etc/\"pass\n\1wd");

	expect(&m, "openat", ARGS((uint32_t)AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0x1234),
	       "openat(AT_FDCWD, \"/etc/\\\"pass\\n\\1wd\", O_RDONLY|O_CLOEXEC)");
	expect(&m, "open", ARGS(path, O_RDWR | O_CREAT | O_TRUNC, 0644), "open(\"/etc/\\\"pass\\n\\1wd\", O_RDWR|O_CREAT|O_TRUNC, 0644)");
	expect(&m, "openat", ARGS(7, path, O_TMPFILE | O_WRONLY, 0600), "openat(7, \"/etc/\\\"pass\\n\\1wd\", O_WRONLY|O_TMPFILE, 0600)");
}

Test(decode, numbers_by_kind)
{
	expect(NULL, "close", ARGS(UINT64_MAX), "close(-1)");
	expect(NULL, "lseek", ARGS(3, (uint64_t)-10, SEEK_END), "lseek(3, -10, SEEK_END)");
	expect(NULL, "kill", ARGS((uint64_t)-1, SIGTERM), "kill(-1, SIGTERM)");
	expect(NULL, "kill", ARGS(5, 34), "kill(5, 34)");
	expect(NULL, "clock_gettime", ARGS(CLOCK_MONOTONIC, 0x1000), "clock_gettime(CLOCK_MONOTONIC, ADDR)");
	expect(NULL, "clock_gettime", ARGS((uint64_t)-6, 0), "clock_gettime(-6, NULL)");
	expect(NULL, "mmap", ARGS(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT32_MAX, 0),
	       "mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)");
	expect(NULL, "mprotect", ARGS(0x5000, 4096, PROT_NONE), "mprotect(ADDR, 4096, PROT_NONE)");
	expect(NULL, "socket", ARGS(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, 0)");
	expect(NULL, "clone", ARGS(CLONE_CHILD_SETTID | SIGCHLD, 0, 0, 0x1000, 0),
	       "clone(CLONE_CHILD_SETTID|SIGCHLD, NULL, NULL, ADDR, NULL)");
	expect(NULL, "getpid", ARGS(1, 2, 3), "getpid()");
}

/* Registers that a call does not use hold anything. */
Test(decode, arguments_of_no_use_are_left_out)
{
	expect(NULL, "futex", ARGS(0x1000, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0xdead, 0xbeef, 3),
	       "futex(ADDR, FUTEX_WAKE|FUTEX_PRIVATE_FLAG, 1)");
	expect(NULL, "futex", ARGS(0x1000, FUTEX_WAIT, 2, 0, 0xbeef, 3), "futex(ADDR, FUTEX_WAIT, 2, 0)");
	expect(NULL, "fcntl", ARGS(3, F_GETFL, 0xdead), "fcntl(3, F_GETFL)");
	expect(NULL, "fcntl", ARGS(3, F_SETFD, 1), "fcntl(3, F_SETFD, 1)");
	expect(NULL, "fcntl", ARGS(3, F_SETLK, BASE), "fcntl(3, F_SETLK, ADDR)");
}

Test(decode, data_that_the_kernel_reads)
{
	struct memory m = memory_init();
	uint64_t data = put_string(&m, "hello\n");
	uint64_t many = put(&m, "0123456789012345678901234567890123456789", 40);

	expect(&m, "write", ARGS(1, data, 6), "write(1, \"hello\\n\", 6)");
	expect(&m, "write", ARGS(1, many, 40), "write(1, \"01234567890123456789012345678901\"..., 40)");
	expect(&m, "write", ARGS(1, 16, 6), "write(1, ADDR, 6)");
	expect(&m, "write", ARGS(1, 0, 6), "write(1, NULL, 6)");
	expect(&m, "read", ARGS(0, data, 6), "read(0, ADDR, 6)");
}

Test(decode, vectors)
{
	struct memory m = memory_init();
	uint64_t a = put_string(&m, "ab"), b = put_string(&m, "cde");
	struct iovec iov[] = { { (void *)(uintptr_t)a, 2 }, { (void *)(uintptr_t)b, 3 } };
	uint64_t v = put(&m, iov, sizeof(iov));
	struct msghdr h = { .msg_iov = (void *)(uintptr_t)v, .msg_iovlen = 2 };
	uint64_t msg = put(&m, &h, sizeof(h));

	expect(&m, "writev", ARGS(1, v, 2), "writev(1, [{\"ab\", 2}, {\"cde\", 3}], 2)");
	expect(&m, "readv", ARGS(1, v, 2), "readv(1, [{ADDR, 2}, {ADDR, 3}], 2)");
	expect(&m, "sendmsg", ARGS(4, msg, MSG_NOSIGNAL), "sendmsg(4, {[{\"ab\", 2}, {\"cde\", 3}], control 0}, MSG_NOSIGNAL)");
	expect(&m, "writev", ARGS(1, v, 0), "writev(1, [], 0)");
	expect(&m, "writev", ARGS(1, BASE + SIZE - 8, 2), "writev(1, ADDR, 2)");
}

Test(decode, program_arguments)
{
	struct memory m = memory_init();
	uint64_t path = put_string(&m, "/bin/ls");
	uint64_t argv[] = { path, put_string(&m, "-l"), 0 };
	uint64_t a = put(&m, argv, sizeof(argv));

	expect(&m, "execve", ARGS(path, a, a), "execve(\"/bin/ls\", [\"/bin/ls\", \"-l\"], [2 strings])");
	expect(&m, "execve", ARGS(path, 0, 8), "execve(\"/bin/ls\", NULL, ADDR)");
}

Test(decode, addresses_of_sockets)
{
	struct memory m = memory_init();
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(0x7f000001) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(443), .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/tmp/s" };
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_pid = 7, .nl_groups = 1 };
	uint64_t a = put(&m, &in, sizeof(in)), a6 = put(&m, &in6, sizeof(in6)), u = put(&m, &un, sizeof(un)), n = put(&m, &nl, sizeof(nl));

	expect(&m, "connect", ARGS(3, a, sizeof(in)), "connect(3, {AF_INET, 127.0.0.1:80}, 16)");
	expect(&m, "bind", ARGS(3, a6, sizeof(in6)), "bind(3, {AF_INET6, [0:0:0:0:0:0:0:1]:443}, 28)");
	expect(&m, "connect", ARGS(3, u, sizeof(un)), "connect(3, {AF_UNIX, \"/tmp/s\"}, 110)");
	expect(&m, "bind", ARGS(3, u, 2), "bind(3, {AF_UNIX, \"\"}, 2)");
	expect(&m, "bind", ARGS(3, n, sizeof(nl)), "bind(3, {AF_NETLINK, 7, 0x1}, 12)");
	expect(&m, "bind", ARGS(3, a, 1), "bind(3, ADDR, 1)");
	expect(&m, "bind", ARGS(3, a, 4096), "bind(3, ADDR, 4096)");
}

Test(decode, times_and_signal_sets)
{
	struct memory m = memory_init();
	int64_t ts[] = { 3, 500 };
	uint64_t set = 1ull << (SIGINT - 1) | 1ull << (SIGCHLD - 1) | 1ull << 33, all = UINT64_MAX, none = 0;
	uint64_t t = put(&m, ts, sizeof(ts)), s = put(&m, &set, 8), f = put(&m, &all, 8), e = put(&m, &none, 8);

	expect(&m, "nanosleep", ARGS(t, t), "nanosleep({3, 500}, ADDR)");
	expect(&m, "rt_sigprocmask", ARGS(SIG_BLOCK, s, 0, 8), "rt_sigprocmask(SIG_BLOCK, [SIGINT SIGCHLD 34], NULL, 8)");
	expect(&m, "rt_sigprocmask", ARGS(SIG_SETMASK, f, 0, 8), "rt_sigprocmask(SIG_SETMASK, ~[], NULL, 8)");
	expect(&m, "rt_sigsuspend", ARGS(e, 8), "rt_sigsuspend([], 8)");
	expect(&m, "rt_sigsuspend", ARGS(e, 128), "rt_sigsuspend(ADDR, 128)");
}

Test(decode, long_strings_are_cut)
{
	struct memory m = memory_init();
	uint64_t args[6];
	char text[2048];

	memset(m.bytes, 'x', SIZE);
	args[0] = BASE;
	cr_assert_eq(decode_call(&m.guest, 0, policy_number("chdir"), args, text, sizeof(text)), (int)strlen("chdir(\"\"...)") + 256);
	/* No NUL before the end of what is mapped. */
	args[0] = BASE + SIZE - 10;
	(void)decode_call(&m.guest, 0, policy_number("chdir"), args, text, sizeof(text));
	cr_assert_str_eq(text, "chdir(ADDR)");
}

Test(decode, the_buffer_is_kept)
{
	char buf[12] = "###########";
	uint64_t args[6] = { 1, 0x1000, 5 };

	cr_assert_eq(decode_call(NULL, 0, 1, args, buf, 8), (int)strlen("write(1, ADDR, 5)"));
	cr_assert_str_eq(buf, "write(1");
	cr_assert_eq(buf[8], '#');
	cr_assert_eq(decode_call(NULL, 0, 1, args, buf, 0), -EINVAL);
	cr_assert_eq(decode_call(NULL, 0, 1, args, buf, 1), (int)strlen("write(1, ADDR, 5)"));
	cr_assert_str_eq(buf, "");
}

Test(decode, numbers_without_a_row)
{
	uint64_t args[6] = { 1 };
	char buf[64];

	(void)decode_call(NULL, 0, 400, args, buf, sizeof(buf));
	cr_assert_str_eq(buf, "syscall_400()");
	(void)decode_call(NULL, 0, -1, args, buf, sizeof(buf));
	cr_assert_str_eq(buf, "syscall_-1()");
}

/* The same memory at two places of the address space gives the same text, for every call. */
Test(decode, addresses_do_not_show)
{
	char one[1024], two[1024];
	uint64_t a[6], b[6];

	for (int nr = 0; nr <= POLICY_MAX_NR; nr++) {
		const struct policy_row *row = policy_row(nr);

		for (unsigned i = 0; i < 6; i++) {
			bool address = policy_arg_is_memory(row->args[i].kind) || row->args[i].kind == ARG_ADDR ||
				       row->args[i].kind == ARG_PATH || row->args[i].kind == ARG_STR || row->args[i].kind == ARG_ANY;

			a[i] = address ? 0x7f0000001000 + i : i;
			b[i] = address ? 0x550000002000 + 8 * i : i;
		}
		(void)decode_call(NULL, 0, nr, a, one, sizeof(one));
		(void)decode_call(NULL, 0, nr, b, two, sizeof(two));
		cr_assert_str_eq(one, two);
		cr_assert_null(strstr(one, "7f0000001"), "%s", one);
	}
}

Test(decode, results)
{
	static const struct {
		const char *name;
		int64_t result;
		const char *text;
	} rows[] = {
		{ "read", 5, "5" },		 { "read", -EAGAIN, "-EAGAIN" }, { "read", -512, "-ERESTARTSYS" },
		{ "mmap", 0x7f1234560000, "ADDR" }, { "mmap", -ENOMEM, "-ENOMEM" },  { "brk", 0x555555000000, "ADDR" },
		{ "read", -516, "-ERESTART_RESTARTBLOCK" }, { "read", -4000, "-4000" }, { "close", 0, "0" },
	};
	char buf[64];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cr_assert_eq(decode_result(policy_number(rows[i].name), rows[i].result, buf, sizeof(buf)), (int)strlen(rows[i].text));
		cr_assert_str_eq(buf, rows[i].text);
	}
}

Test(decode, names_of_flags)
{
	char buf[128];

	cr_assert_str_eq(flags_name(FLAG_SET_SIGNAL, SIGSEGV), "SIGSEGV");
	cr_assert_null(flags_name(FLAG_SET_SIGNAL, 0));
	cr_assert_null(flags_name(FLAG_SET_SIGNAL, 64));
	cr_assert_eq(flags_format(FLAG_SET_OPEN, O_WRONLY | 0x40000000, buf, sizeof(buf)), strlen("O_WRONLY|0x40000000"));
	cr_assert_str_eq(buf, "O_WRONLY|0x40000000");
	(void)flags_format(FLAG_SET_OPEN, 0xffffffff00000000, buf, sizeof(buf));
	cr_assert_str_eq(buf, "O_RDONLY");
	(void)flags_format(FLAG_SET_MSG, 0, buf, sizeof(buf));
	cr_assert_str_eq(buf, "0");
	(void)flags_format(FLAG_SET_OPEN, O_SYNC, buf, sizeof(buf));
	cr_assert_str_eq(buf, "O_RDONLY|O_SYNC");
	(void)flags_format(N_FLAG_SETS, 5, buf, sizeof(buf));
	cr_assert_str_eq(buf, "0x5");
	(void)flags_format(FLAG_SET_FLOCK, 2 | 4, buf, sizeof(buf));
	cr_assert_str_eq(buf, "LOCK_EX|LOCK_NB");
}
