/* SPDX-License-Identifier: BSD-3-Clause */
/* Payloads of calls: see payload.h. */
#include "supervisor/evidence/payload.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/policy/policy.h"

enum { PIECE = 65536, IOV_LIMIT = 1024, IOV_PIECE = 64, TIME_SIZE = 16, SOCKADDR_LIMIT = 128 };

struct gather {
	struct guest *g;
	int task;
	const struct payload_call *call;
	struct hash hash;
	uint64_t bytes; /* taken so far */
	uint64_t limit; /* that may still be taken: what the result says */
	bool failed;
};

static bool read_guest(struct gather *w, uint64_t addr, void *buf, size_t len)
{
	if (!w->failed && w->g->ops->read(w->g, w->task, addr, buf, len) < 0)
		w->failed = true;
	return !w->failed;
}

/* A range of memory; nothing behind the limit. */
static void take(struct gather *w, uint64_t addr, uint64_t len)
{
	unsigned char piece[PIECE];
	size_t n;

	if (len > w->limit)
		len = w->limit;
	w->limit -= len;
	while (len > 0 && addr) {
		n = len < sizeof(piece) ? (size_t)len : sizeof(piece);
		if (!read_guest(w, addr, piece, n))
			return;
		hash_add(&w->hash, piece, n);
		w->bytes += n;
		addr += n;
		len -= n;
	}
}

static void take_vector(struct gather *w, uint64_t addr, uint64_t count)
{
	struct iovec iov[IOV_PIECE];
	size_t n;

	for (count = count < IOV_LIMIT ? count : IOV_LIMIT; count > 0; count -= n) {
		n = count < IOV_PIECE ? (size_t)count : IOV_PIECE;
		if (!read_guest(w, addr, iov, n * sizeof(*iov)))
			return;
		for (size_t i = 0; i < n; i++)
			take(w, (uint64_t)(uintptr_t)iov[i].iov_base, iov[i].iov_len);
		addr += n * sizeof(*iov);
	}
}

static void take_message(struct gather *w, uint64_t addr, bool out)
{
	struct msghdr header;

	if (!read_guest(w, addr, &header, sizeof(header)))
		return;
	take_vector(w, (uint64_t)(uintptr_t)header.msg_iov, header.msg_iovlen);
	w->limit = UINT64_MAX;
	if (out)
		take(w, (uint64_t)(uintptr_t)header.msg_control, header.msg_controllen);
}

static void take_sockaddr_out(struct gather *w, uint64_t addr, uint64_t len_addr)
{
	uint32_t len;

	if (addr && len_addr && read_guest(w, len_addr, &len, sizeof(len)))
		take(w, addr, len < SOCKADDR_LIMIT ? len : SOCKADDR_LIMIT);
}

static uint64_t argument(const struct payload_call *call, size_t i)
{
	return i < 6 ? call->args[i] : 0;
}

static uint64_t at_most(int64_t result, uint64_t most)
{
	if (result <= 0)
		return 0;
	return (uint64_t)result < most ? (uint64_t)result : most;
}

static uint64_t items(uint64_t count, const struct arg_spec *spec)
{
	uint64_t bytes;

	return __builtin_mul_overflow(count, (uint64_t)ARG_ITEM_SIZE(spec->len), &bytes) ? 0 : bytes;
}

static uint64_t length_of(const struct payload_call *call, const struct arg_spec *spec)
{
	switch ((enum arg_len)spec->len_kind) {
	case LEN_FIXED:
		return spec->len;
	case LEN_ARG:
		return argument(call, spec->len);
	case LEN_RESULT:
		return at_most(call->result, argument(call, spec->len));
	case LEN_ITEMS:
		return items(argument(call, ARG_ITEM_COUNT(spec->len)), spec);
	case LEN_RESULT_ITEMS:
		return items(at_most(call->result, argument(call, ARG_ITEM_COUNT(spec->len))), spec);
	case LEN_NONE:
	case LEN_CUSTOM:
		return 0;
	}
	return 0;
}

static void take_in(struct gather *w, const struct arg_spec *spec, size_t i)
{
	const uint64_t *args = w->call->args;
	uint64_t next = i < 5 ? args[i + 1] : 0;

	if (spec->kind == ARG_IN || spec->kind == ARG_INOUT)
		take(w, args[i], length_of(w->call, spec));
	else if (spec->kind == ARG_IOV_IN || spec->kind == ARG_IOV_INOUT)
		take_vector(w, args[i], next);
	else if (spec->kind == ARG_MSGHDR_IN)
		take_message(w, args[i], false);
}

/* How much of a vector was used only the result tells, and only when it is a length. */
static void limit_by_result(struct gather *w, const struct policy_row *row)
{
	w->limit = row->ret == RET_LEN ? (uint64_t)w->call->result : UINT64_MAX;
}

static void take_out(struct gather *w, const struct policy_row *row, size_t i)
{
	const struct arg_spec *spec = &row->args[i];
	const uint64_t *args = w->call->args;
	uint64_t next = i < 5 ? args[i + 1] : 0;

	w->limit = UINT64_MAX;
	if (spec->kind == ARG_OUT || spec->kind == ARG_INOUT) {
		take(w, args[i], length_of(w->call, spec));
	} else if (spec->kind == ARG_IOV_OUT || spec->kind == ARG_IOV_INOUT) {
		limit_by_result(w, row);
		take_vector(w, args[i], next);
	} else if (spec->kind == ARG_MSGHDR_OUT) {
		limit_by_result(w, row);
		take_message(w, args[i], true);
	} else if (spec->kind == ARG_SOCKADDR_OUT) {
		take_sockaddr_out(w, args[i], next);
	} else if (spec->kind == ARG_TIMESPEC_OUT || spec->kind == ARG_TIMEVAL_OUT) {
		take(w, args[i], TIME_SIZE);
	}
}

static bool finish(struct gather *w, unsigned char ret_digest[HASH_BYTES])
{
	if (w->failed || w->bytes == 0)
		return false;
	hash_final(&w->hash, ret_digest);
	return true;
}

bool payload_in(struct guest *g, int task, const struct payload_call *call, unsigned char ret_digest[HASH_BYTES])
{
	struct gather w = { .g = g, .task = task, .call = call, .limit = UINT64_MAX };
	const struct policy_row *row = policy_row(call->nr);

	hash_init(&w.hash);
	for (size_t i = 0; i < 6; i++)
		take_in(&w, &row->args[i], i);
	return finish(&w, ret_digest);
}

bool payload_out(struct guest *g, int task, const struct payload_call *call, unsigned char ret_digest[HASH_BYTES])
{
	struct gather w = { .g = g, .task = task, .call = call };
	const struct policy_row *row = policy_row(call->nr);

	if (call->result < 0)
		return false;
	hash_init(&w.hash);
	for (size_t i = 0; i < 6; i++)
		take_out(&w, row, i);
	return finish(&w, ret_digest);
}

/* --- bytes that the kernel moves between descriptors --- */

/* Which arguments are the input and where in it to begin; position -1: there is no such argument. */
static const struct transfer {
	const char *name;
	int input, position;
} transfers[] = {
	{ "sendfile", 1, 2 },
	{ "copy_file_range", 0, 1 },
	{ "splice", 0, 1 },
};

static const struct transfer *find_transfer(int nr)
{
	const char *name = policy_row(nr)->name;

	for (size_t i = 0; name && i < ARRAY_SIZE(transfers); i++)
		if (!strcmp(name, transfers[i].name))
			return &transfers[i];
	return NULL;
}

/* Where the bytes were: the position is behind them by now, whether the file or the program's memory holds it. */
static int64_t moved_from(struct gather *w, const struct transfer *tr, int handle)
{
	uint64_t addr = w->call->args[tr->position];
	int64_t position;

	if (addr)
		position = read_guest(w, addr, &position, sizeof(position)) ? position : -1;
	else
		position = w->g->ops->handle_seek(w->g, handle, 0, SEEK_CUR);
	return position < 0 ? position : position - w->call->result;
}

static void take_file(struct gather *w, int handle, int64_t position)
{
	unsigned char piece[PIECE];
	uint64_t left = (uint64_t)w->call->result;
	ssize_t n;

	while (left > 0) {
		n = w->g->ops->handle_read_at(w->g, handle, piece, left < sizeof(piece) ? left : sizeof(piece), position);
		if (n <= 0) {
			w->failed = true;
			return;
		}
		hash_add(&w->hash, piece, (size_t)n);
		w->bytes += (uint64_t)n;
		position += n;
		left -= (uint64_t)n;
	}
}

bool payload_moved(struct guest *g, int task, const struct payload_call *call, unsigned char ret_digest[HASH_BYTES])
{
	struct gather w = { .g = g, .task = task, .call = call };
	const struct transfer *tr = find_transfer(call->nr);
	struct fd_info info;
	int64_t position;
	int handle;

	if (!tr || call->result <= 0)
		return false;
	handle = g->ops->fd_borrow(g, task, (int)call->args[tr->input]);
	if (handle < 0)
		return false;
	hash_init(&w.hash);
	position = g->ops->handle_info(g, handle, &info) == 0 && info.kind == FD_FILE ? moved_from(&w, tr, handle) : -1;
	if (position >= 0)
		take_file(&w, handle, position);
	g->ops->handle_release(g, handle);
	return position >= 0 && finish(&w, ret_digest);
}
