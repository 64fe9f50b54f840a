/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One printer per kind of argument. Amounts are bounded: a line of a log should stay readable, and the bytes themselves are
 * hashed elsewhere.
 */
#include "engine/policy/decode.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "engine/policy/flags.h"
#include "engine/guest.h"
#include "engine/policy/policy.h"

#define STRING_MAX 256 /* of a path or text */
#define DATA_MAX 32    /* of data the kernel reads */
#define IOVECS_MAX 4
#define STRINGS_MAX 32 /* of an argument vector */
#define SOCKADDR_MAX 128

/* One call on its way to text. */
struct decoding {
	struct guest *g;
	int task;
	const struct policy_row *row;
	const uint64_t *args;
	struct text *text;
	unsigned vectors; /* string vectors printed so far */
};

typedef void print_fn(struct decoding *d, unsigned i);

static int memory_read(struct decoding *d, uint64_t addr, void *buf, size_t len)
{
	return d->g ? d->g->ops->read(d->g, d->task, addr, buf, len) : -EFAULT;
}

static void print_address(struct decoding *d, uint64_t addr)
{
	text_add(d->text, addr ? "ADDR" : "NULL");
}

static void print_addr(struct decoding *d, unsigned i)
{
	print_address(d, d->args[i]);
}

static void print_int(struct decoding *d, unsigned i)
{
	text_add(d->text, "%d", (int)d->args[i]);
}

static void print_uint(struct decoding *d, unsigned i)
{
	text_add(d->text, "%u", (unsigned)d->args[i]);
}

static void print_hex(struct decoding *d, unsigned i)
{
	text_add(d->text, "0x%" PRIx64, d->args[i]);
}

static void print_size(struct decoding *d, unsigned i)
{
	text_add(d->text, "%" PRIu64, d->args[i]);
}

static void print_offset(struct decoding *d, unsigned i)
{
	text_add(d->text, "%" PRId64, (int64_t)d->args[i]);
}

/* Small numbers cannot be addresses: nothing is mapped below. */
static void print_any(struct decoding *d, unsigned i)
{
	if (d->args[i] < 65536 || d->args[i] >= (uint64_t)-4096)
		text_add(d->text, "%" PRId64, (int64_t)d->args[i]);
	else if (d->args[i] <= UINT32_MAX && (int32_t)d->args[i] < 0)
		text_add(d->text, "%d", (int32_t)d->args[i]);
	else
		print_address(d, d->args[i]);
}

static void print_dirfd(struct decoding *d, unsigned i)
{
	if ((int)d->args[i] == AT_FDCWD)
		text_add(d->text, "AT_FDCWD");
	else
		print_int(d, i);
}

static void print_mode(struct decoding *d, unsigned i)
{
	text_add(d->text, "0%o", (unsigned)(uint16_t)d->args[i]);
}

static void print_set(struct decoding *d, enum flag_set set, uint64_t value)
{
	char names[512];

	(void)flags_format(set, value, names, sizeof(names));
	text_add(d->text, "%s", names);
}

static void print_flags(struct decoding *d, unsigned i)
{
	print_set(d, d->row->args[i].len, d->args[i]);
}

static void print_signal_number(struct decoding *d, int signo)
{
	const char *name = flags_name(FLAG_SET_SIGNAL, (uint64_t)signo);

	if (name)
		text_add(d->text, "%s", name);
	else
		text_add(d->text, "%d", signo);
}

static void print_signal(struct decoding *d, unsigned i)
{
	print_signal_number(d, (int)d->args[i]);
}

/* Negative ids name the processor clocks of one process or thread, or a descriptor. */
static void print_clock(struct decoding *d, unsigned i)
{
	if ((int)d->args[i] < 0)
		print_int(d, i);
	else
		print_set(d, FLAG_SET_CLOCK, d->args[i]);
}

static bool print_string_at(struct decoding *d, uint64_t addr)
{
	char buf[STRING_MAX];
	ssize_t n;

	n = addr && d->g ? d->g->ops->read_string(d->g, d->task, addr, buf, sizeof(buf)) : -EFAULT;
	if (n == -ENAMETOOLONG && memory_read(d, addr, buf, sizeof(buf)) == 0) {
		text_add_quoted(d->text, buf, sizeof(buf));
		text_add(d->text, "...");
		return true;
	}
	if (n < 0) {
		print_address(d, addr);
		return false;
	}
	text_add_quoted(d->text, buf, (size_t)n);
	return true;
}

static void print_string(struct decoding *d, unsigned i)
{
	(void)print_string_at(d, d->args[i]);
}

static void print_data(struct decoding *d, uint64_t addr, uint64_t len)
{
	char buf[DATA_MAX];
	size_t n = len < sizeof(buf) ? (size_t)len : sizeof(buf);

	if (!addr || memory_read(d, addr, buf, n) < 0) {
		print_address(d, addr);
		return;
	}
	text_add_quoted(d->text, buf, n);
	if (n < len)
		text_add(d->text, "...");
}

/* Only data of a length that another argument gives is shown: structures may hold addresses. */
static void print_in(struct decoding *d, unsigned i)
{
	const struct arg_spec *spec = &d->row->args[i];

	if (spec->len_kind == LEN_ARG)
		print_data(d, d->args[i], d->args[spec->len]);
	else
		print_addr(d, i);
}

static void print_sigset(struct decoding *d, unsigned i)
{
	const char *separator = "";
	uint64_t set;

	if (!d->args[i] || d->args[d->row->args[i].len] != sizeof(set) || memory_read(d, d->args[i], &set, sizeof(set)) < 0) {
		print_addr(d, i);
		return;
	}
	text_add(d->text, set == UINT64_MAX ? "~[" : "[");
	for (int signo = 1; signo <= 64 && set != UINT64_MAX; signo++) {
		if (!(set >> (signo - 1) & 1))
			continue;
		text_add(d->text, "%s", separator);
		print_signal_number(d, signo);
		separator = " ";
	}
	text_add(d->text, "]");
}

/* struct timespec, struct timeval. */
static void print_time(struct decoding *d, unsigned i)
{
	int64_t parts[2];

	if (!d->args[i] || memory_read(d, d->args[i], parts, sizeof(parts)) < 0)
		print_addr(d, i);
	else
		text_add(d->text, "{%" PRId64 ", %" PRId64 "}", parts[0], parts[1]);
}

static uint16_t big_endian_16(const unsigned char *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void print_sockaddr_unix(struct decoding *d, const unsigned char *address, size_t len)
{
	size_t n = len - 2;

	text_add(d->text, "{AF_UNIX, ");
	if (n > 0 && address[2] != '\0')
		n = strnlen((const char *)address + 2, n);
	text_add_quoted(d->text, address + 2, n);
	text_add(d->text, "}");
}

static void print_sockaddr_inet(struct decoding *d, const unsigned char *a, size_t len)
{
	if (len < 8)
		text_add(d->text, "{AF_INET}");
	else
		text_add(d->text, "{AF_INET, %u.%u.%u.%u:%u}", a[4], a[5], a[6], a[7], big_endian_16(a + 2));
}

static void print_sockaddr_inet6(struct decoding *d, const unsigned char *a, size_t len)
{
	text_add(d->text, "{AF_INET6");
	if (len >= 24) {
		text_add(d->text, ", [");
		for (int i = 0; i < 8; i++)
			text_add(d->text, "%s%x", i ? ":" : "", big_endian_16(a + 8 + 2 * i));
		text_add(d->text, "]:%u", big_endian_16(a + 2));
	}
	text_add(d->text, "}");
}

static void print_sockaddr_netlink(struct decoding *d, const unsigned char *a, size_t len)
{
	uint32_t ids[2] = { 0, 0 };

	if (len >= 12)
		memcpy(ids, a + 4, sizeof(ids));
	text_add(d->text, "{AF_NETLINK, %u, 0x%x}", ids[0], ids[1]);
}

static void print_sockaddr(struct decoding *d, unsigned i)
{
	unsigned char a[SOCKADDR_MAX];
	uint64_t len = d->args[d->row->args[i].len];
	uint16_t family;

	if (!d->args[i] || len < sizeof(family) || len > sizeof(a) || memory_read(d, d->args[i], a, len) < 0) {
		print_addr(d, i);
		return;
	}
	memcpy(&family, a, sizeof(family));
	if (family == AF_UNIX)
		print_sockaddr_unix(d, a, len);
	else if (family == AF_INET)
		print_sockaddr_inet(d, a, len);
	else if (family == AF_INET6)
		print_sockaddr_inet6(d, a, len);
	else if (family == AF_NETLINK)
		print_sockaddr_netlink(d, a, len);
	else
		text_add(d->text, "{%u}", family);
}

/* A vector of struct iovec; with_data: what the kernel is going to read. */
static void print_iovecs(struct decoding *d, uint64_t addr, uint64_t count, bool with_data)
{
	struct iovec iov[IOVECS_MAX];
	size_t n = count < IOVECS_MAX ? (size_t)count : IOVECS_MAX;

	if (!addr || memory_read(d, addr, iov, n * sizeof(iov[0])) < 0) {
		print_address(d, addr);
		return;
	}
	text_add(d->text, "[");
	for (size_t k = 0; k < n; k++) {
		text_add(d->text, k ? ", {" : "{");
		if (with_data)
			print_data(d, (uint64_t)(uintptr_t)iov[k].iov_base, iov[k].iov_len);
		else
			print_address(d, (uint64_t)(uintptr_t)iov[k].iov_base);
		text_add(d->text, ", %zu}", iov[k].iov_len);
	}
	text_add(d->text, n < count ? ", ...]" : "]");
}

/* The count is the next argument. */
static void print_iov_in(struct decoding *d, unsigned i)
{
	print_iovecs(d, d->args[i], d->args[i + 1], true);
}

static void print_iov_out(struct decoding *d, unsigned i)
{
	print_iovecs(d, d->args[i], d->args[i + 1], false);
}

static void print_message(struct decoding *d, unsigned i, bool with_data)
{
	struct msghdr m;

	if (!d->args[i] || memory_read(d, d->args[i], &m, sizeof(m)) < 0) {
		print_addr(d, i);
		return;
	}
	text_add(d->text, "{");
	print_iovecs(d, (uint64_t)(uintptr_t)m.msg_iov, m.msg_iovlen, with_data);
	text_add(d->text, ", control %zu}", m.msg_controllen);
}

static void print_msghdr_in(struct decoding *d, unsigned i)
{
	print_message(d, i, true);
}

static void print_msghdr_out(struct decoding *d, unsigned i)
{
	print_message(d, i, false);
}

/* The first vector of a call is its arguments: shown. The second is the environment: counted. */
static void print_strings(struct decoding *d, unsigned i)
{
	bool show = d->vectors++ == 0;
	uint64_t addr = d->args[i], string;
	unsigned n = 0;

	if (!addr || memory_read(d, addr, &string, sizeof(string)) < 0) {
		print_addr(d, i);
		return;
	}
	text_add(d->text, "[");
	while (n < (show ? STRINGS_MAX : 65536) && memory_read(d, addr + 8ull * n, &string, sizeof(string)) == 0 && string) {
		if (show)
			text_add(d->text, n ? ", " : "");
		if (show && !print_string_at(d, string))
			break;
		n++;
	}
	if (!show)
		text_add(d->text, "%u strings", n);
	else if (n == STRINGS_MAX)
		text_add(d->text, ", ...");
	text_add(d->text, "]");
}

static print_fn *const printers[] = {
	[ARG_INT] = print_int,
	[ARG_UINT] = print_uint,
	[ARG_HEX] = print_hex,
	[ARG_SIZE] = print_size,
	[ARG_OFFSET] = print_offset,
	[ARG_ADDR] = print_addr,
	[ARG_FD] = print_int,
	[ARG_DIRFD] = print_dirfd,
	[ARG_PATH] = print_string,
	[ARG_STR] = print_string,
	[ARG_PID] = print_int,
	[ARG_SIGNAL] = print_signal,
	[ARG_CLOCK] = print_clock,
	[ARG_MODE] = print_mode,
	[ARG_FLAGS] = print_flags,
	[ARG_IN] = print_in,
	[ARG_OUT] = print_addr,
	[ARG_INOUT] = print_addr,
	[ARG_SOCKADDR_IN] = print_sockaddr,
	[ARG_SOCKADDR_OUT] = print_addr,
	[ARG_IOV_IN] = print_iov_in,
	[ARG_IOV_INOUT] = print_iov_out,
	[ARG_IOV_OUT] = print_iov_out,
	[ARG_MSGHDR_IN] = print_msghdr_in,
	[ARG_MSGHDR_OUT] = print_msghdr_out,
	[ARG_TIMESPEC_IN] = print_time,
	[ARG_TIMESPEC_OUT] = print_addr,
	[ARG_TIMEVAL_IN] = print_time,
	[ARG_TIMEVAL_OUT] = print_addr,
	[ARG_TIMESPEC_INOUT] = print_time,
	[ARG_TIMEVAL_INOUT] = print_time,
	[ARG_SIGSET_IN] = print_sigset,
	[ARG_STRV] = print_strings,
	[ARG_ANY] = print_any,
};

/* How many arguments count for these values of the others: what is left in a register of no use would only be noise. */
static unsigned arguments_used(const struct policy_row *row, const uint64_t args[6])
{
	unsigned n = row->nargs;

	for (unsigned i = 0; i + 1 < n; i++) {
		const struct arg_spec *spec = &row->args[i];

		if (spec->kind != ARG_FLAGS)
			continue;
		if (spec->len == FLAG_SET_OPEN && row->args[i + 1].kind == ARG_MODE && !(args[i] & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))))
			return i + 1;
		if (spec->len == FLAG_SET_FCNTL && (args[i] == F_GETFD || args[i] == F_GETFL || args[i] == F_GETOWN))
			return i + 1;
		if (spec->len == FLAG_SET_FUTEX && ((args[i] & FUTEX_CMD_MASK) == FUTEX_WAKE || (args[i] & FUTEX_CMD_MASK) == FUTEX_UNLOCK_PI))
			return i + 2;
		if (spec->len == FLAG_SET_FUTEX && (args[i] & FUTEX_CMD_MASK) == FUTEX_WAIT)
			return i + 3;
	}

	return n;
}

int decode_call(struct guest *g, int task, int nr, const uint64_t args[6], char *buf, size_t size)
{
	struct text text;
	struct decoding d = { .g = g, .task = task, .row = policy_row(nr), .args = args, .text = &text };
	unsigned n = arguments_used(d.row, args);

	if (size == 0)
		return -EINVAL;

	text_init(&text, buf, size);
	if (!d.row->name) {
		text_add(&text, "syscall_%d()", nr);
		return (int)text.len;
	}
	text_add(&text, "%s(", d.row->name);
	for (unsigned i = 0; i < n; i++) {
		enum arg_kind kind = d.row->args[i].kind;

		text_add(&text, i ? ", " : "");
		if (kind < ARRAY_SIZE(printers) && printers[kind])
			printers[kind](&d, i);
	}
	text_add(&text, ")");

	return (int)text.len;
}

const char *decode_errno_name(int error)
{
	static const char *const restart[] = { "ERESTARTSYS", "ERESTARTNOINTR", "ERESTARTNOHAND", NULL, "ERESTART_RESTARTBLOCK" };

	if (error >= 512 && error <= 516)
		return restart[error - 512];

	return error > 0 ? strerrorname_np(error) : NULL;
}

int decode_result(int nr, int64_t result, char *buf, size_t size)
{
	const char *name = result < 0 && result >= -4095 ? decode_errno_name((int)-result) : NULL;
	struct text text;

	if (size == 0)
		return -EINVAL;

	text_init(&text, buf, size);
	if (name)
		text_add(&text, "-%s", name);
	else if (policy_row(nr)->ret == RET_ADDR && (result < -4095 || result > 0))
		text_add(&text, "ADDR");
	else
		text_add(&text, "%" PRId64, result);

	return (int)text.len;
}
