/* SPDX-License-Identifier: BSD-3-Clause */
/* A guest in memory: see fake_guest.h. */
#include "support/fake_guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct fake_guest *fake_of(struct guest *g)
{
	return (struct fake_guest *)g;
}

/* Counts down to the failure that a test has asked for. */
static bool fails(struct guest *g)
{
	struct fake_guest *f = fake_of(g);

	return f->fail_after && --f->fail_after == 0;
}

static bool inside(uint64_t addr, size_t len)
{
	return addr >= FAKE_BASE && addr - FAKE_BASE <= FAKE_ARENA && len <= FAKE_ARENA - (addr - FAKE_BASE);
}

static int fake_read(struct guest *g, int task, uint64_t addr, void *buf, size_t len)
{
	if (fails(g))
		return -ENOMEM;
	if (!inside(addr, len))
		return -EFAULT;
	memcpy(buf, fake_of(g)->arena + (addr - FAKE_BASE), len);
	return 0;
}

static int fake_write(struct guest *g, int task, uint64_t addr, const void *buf, size_t len)
{
	if (fails(g))
		return -ENOMEM;
	if (!inside(addr, len))
		return -EFAULT;
	memcpy(fake_of(g)->arena + (addr - FAKE_BASE), buf, len);
	return 0;
}

static ssize_t fake_read_string(struct guest *g, int task, uint64_t addr, char *buf, size_t size)
{
	for (size_t n = 0; n < size; n++) {
		if (!inside(addr + n, 1))
			return -EFAULT;
		buf[n] = (char)fake_of(g)->arena[addr - FAKE_BASE + n];
		if (!buf[n])
			return (ssize_t)n;
	}
	return -ENAMETOOLONG;
}

static int fake_futex_key(struct guest *g, int task, uint64_t addr, uint64_t *ret_object, uint64_t *ret_offset)
{
	if (!inside(addr, 4))
		return -EFAULT;
	*ret_object = 1;
	*ret_offset = addr;
	return 0;
}

static int fake_borrow(struct guest *g, int task, int fd)
{
	if (fails(g))
		return -ENOMEM;
	if (fd < 0 || fd >= 2 * FAKE_PIPES)
		return -EBADF;
	fake_of(g)->held++;
	return fd;
}

static void fake_release(struct guest *g, int handle)
{
	fake_of(g)->held--;
}

static int fake_info(struct guest *g, int handle, struct fd_info *ret)
{
	*ret = (struct fd_info){ .kind = fake_of(g)->kind ?: FD_PIPE, .open_flags = O_RDWR, .mode = 0010600, .dev = 1,
				 .ino = (uint64_t)(handle / 2) + 1, .sock_type = fake_of(g)->sock_type };
	return 0;
}

static int fake_reach(struct guest *g, int handle)
{
	return 0;
}

static int fake_flags(struct guest *g, int handle)
{
	return fake_of(g)->flags;
}

static short readiness(const struct fake_guest *f, int handle)
{
	const struct fake_pipe *p = &f->pipes[handle / 2];

	if (handle % 2 == 0)
		return (short)((p->used ? POLLIN : 0) | (p->writers ? 0 : POLLHUP));
	return (short)((p->used + FAKE_PIPE_BUF <= FAKE_PIPE_ROOM ? POLLOUT : 0) | (p->readers ? 0 : POLLERR));
}

static int fake_poll(struct guest *g, struct handle_poll *polls, size_t n, int timeout_ms)
{
	int ready = 0;

	if (fails(g))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		polls[i].revents = 0;
		if (polls[i].handle >= 0)
			polls[i].revents = readiness(fake_of(g), polls[i].handle) & (polls[i].events | POLLHUP | POLLERR);
		ready += polls[i].revents != 0;
	}
	return ready;
}

static ssize_t fake_handle_read(struct guest *g, int handle, void *buf, size_t len)
{
	struct fake_pipe *p = &fake_of(g)->pipes[handle / 2];
	size_t n = len < p->used ? len : p->used;

	if (!n)
		return p->writers ? -EAGAIN : 0;
	memset(buf, 'x', n);
	p->used -= n;
	return (ssize_t)n;
}

static int fake_handle_path(struct guest *g, int handle, char *buf, size_t size)
{
	if (!fake_of(g)->path)
		return -ENOTSUP;
	(void)snprintf(buf, size, "%s", fake_of(g)->path);
	return 0;
}

static ssize_t fake_handle_write(struct guest *g, int handle, const void *buf, size_t len)
{
	struct fake_pipe *p = &fake_of(g)->pipes[handle / 2];
	size_t room = FAKE_PIPE_ROOM - p->used, n = len < room ? len : room;

	if (!p->readers)
		return -EPIPE;
	if (!n)
		return -EAGAIN;
	p->used += n;
	return (ssize_t)n;
}

static int fake_signal_state(struct guest *g, int task, struct signal_state *ret)
{
	if (fails(g))
		return -ENOMEM;
	*ret = fake_of(g)->signals[task];
	return 0;
}

static int fake_signal_send(struct guest *g, int task, bool to_thread, const siginfo_t *info)
{
	struct signal_state *s = &fake_of(g)->signals[task];
	uint64_t bit = 1ull << (info->si_signo - 1);

	if (to_thread)
		s->thread_pending |= bit;
	else
		s->process_pending |= bit;
	return 0;
}

static int fake_exec_setup(struct guest *g, int task, const struct exec_image *image, struct code_found *ret_found)
{
	return 0;
}

static int fake_reaped(struct guest *g, int vpid)
{
	struct fake_guest *f = fake_of(g);

	return f->no_zombies;
}

static int fake_settle_reaped(struct guest *g, int vpid)
{
	return 0;
}

static int fake_settle_leader(struct guest *g, int task)
{
	return 0;
}

static int fake_settle_killed(struct guest *g, int task)
{
	const struct signal_state *s = &fake_of(g)->signals[task];

	return (s->thread_pending | s->process_pending) >> (SIGKILL - 1) & 1;
}

static int fake_hold_stopped(struct guest *g, int task)
{
	return 0;
}

static int fake_release_stopped(struct guest *g, int task)
{
	const struct signal_state *s = &fake_of(g)->signals[task];

	return (s->thread_pending | s->process_pending) >> (SIGCONT - 1) & 1;
}

static int fake_settle_network(struct guest *g)
{
	return 0;
}

static int fake_settle_terminals(struct guest *g, bool echoes)
{
	return 0;
}

static int fake_outside_pending(struct guest *g)
{
	return 0;
}

static const struct guest_ops fake_ops = {
	.name = "fake",
	.read = fake_read,
	.write = fake_write,
	.read_string = fake_read_string,
	.futex_key = fake_futex_key,
	.fd_borrow = fake_borrow,
	.handle_release = fake_release,
	.handle_info = fake_info,
	.handle_reach = fake_reach,
	.handle_flags = fake_flags,
	.handles_poll = fake_poll,
	.handle_read = fake_handle_read,
	.handle_path = fake_handle_path,
	.handle_write = fake_handle_write,
	.signal_state = fake_signal_state,
	.signal_send = fake_signal_send,
	.exec_setup = fake_exec_setup,
	.reaped = fake_reaped,
	.settle_reaped = fake_settle_reaped,
	.settle_leader = fake_settle_leader,
	.settle_killed = fake_settle_killed,
	.hold_stopped = fake_hold_stopped,
	.release_stopped = fake_release_stopped,
	.settle_network = fake_settle_network,
	.settle_terminals = fake_settle_terminals,
	.outside_pending = fake_outside_pending,
};

void fake_init(struct fake_guest *f)
{
	*f = (struct fake_guest){ .guest = { .ops = &fake_ops } };
	for (int i = 0; i < FAKE_PIPES; i++)
		f->pipes[i].readers = f->pipes[i].writers = 1;
}

struct event fake_call(int task, int nr, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
	return (struct event){ .kind = EVENT_CALL, .task = task, .call = { .nr = nr, .args = { a0, a1, a2, a3, a4, a5 } } };
}

struct event fake_birth(int parent, int child, int vtid, int vpid)
{
	return (struct event){ .kind = EVENT_BIRTH, .task = parent, .birth = { .child = child, .vtid = vtid, .vpid = vpid } };
}

struct event fake_exit(int task, int wait_status)
{
	return (struct event){ .kind = EVENT_EXIT, .task = task, .wait_status = wait_status };
}

struct event fake_done(int task, int64_t result)
{
	return (struct event){ .kind = EVENT_DONE, .task = task, .result = result };
}

void fake_poke(struct fake_guest *f, size_t offset, uint32_t value)
{
	memcpy(f->arena + offset, &value, sizeof(value));
}

uint32_t fake_peek(const struct fake_guest *f, size_t offset)
{
	uint32_t value;

	memcpy(&value, f->arena + offset, sizeof(value));
	return value;
}
