/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options that have the kernel wait, hold back or give up by its own clock, or measure with it (socket(7), tcp(7)). They are kept, and read as they
 * were set, but have no effect: close(2) does not linger, an end that is half closed is not forgotten, what is corked or paced is sent at
 * once, who has connected is accepted at once, and a window that stays closed is waited for. Nothing is lost on the way, so these are what
 * would come in the end. How long it may take to connect is heeded (connecting.c). What would be sent with the request for a connection,
 * and so before anybody knows whether it is heard, is sent after it, as to all who have given no cookie.
 */
#include <asm/socket.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/net/socket_note.h"
#include "engine/net/sockets.h"

static const struct timed_option {
	int level, name;
	socklen_t size;
	bool answered; /* the kernel is not asked: it would not forget that it was ever set */
	bool listens;  /* of a listening socket: what it accepts begins without */
	uint64_t unset; /* what it shows before it is set; 0: what the kernel says, which is the same everywhere */
} options[SOCKET_TIMED_OPTIONS] = {
	{ SOL_SOCKET, SO_LINGER, sizeof(struct linger), false, false, 0 },
	{ SOL_SOCKET, SO_MAX_PACING_RATE, 8, true, false, 0 },
	{ IPPROTO_TCP, TCP_LINGER2, 4, false, false, 60 },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT, 4, false, false, 0 },
	{ IPPROTO_TCP, TCP_DEFER_ACCEPT, 4, false, true, 0 },
	{ IPPROTO_TCP, TCP_CORK, 4, false, false, 0 },
	{ IPPROTO_TCP, TCP_TX_DELAY, 4, false, false, 0 },
	{ IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, 4, false, false, 0 },
	{ IPPROTO_TCP, TCP_CONGESTION, SOCKET_TIMED_SIZE, true, false, 0 },
};

static int find(int level, int name)
{
	for (int i = 0; i < SOCKET_TIMED_OPTIONS; i++)
		if (options[i].level == level && options[i].name == name)
			return i;
	return -1;
}

bool socket_option_is_timed(const struct fd_info *info, int level, int name)
{
	return info->kind == FD_INET && find(level, name) >= 0 && (level == SOL_SOCKET || info->sock_type == SOCK_STREAM);
}

static bool is(const struct timed_option *option, int level, int name)
{
	return option->level == level && option->name == name;
}

/* What waits is above zero; but with SO_LINGER zero seconds are an abort. */
static bool takes_effect(const struct timed_option *option, const unsigned char *value)
{
	int numbers[2];

	memcpy(numbers, value, sizeof(numbers));
	return is(option, SOL_SOCKET, SO_LINGER) ? numbers[0] && numbers[1] : numbers[0] > 0;
}

/* The default of TCP_LINGER2 reads as a setting of the namespace that is above what can be set (container/net.c). */
static bool is_default(const struct timed_option *option, const unsigned char *value)
{
	enum { LINGER2_MOST = 120 };
	int number;

	memcpy(&number, value, sizeof(number));
	return is(option, IPPROTO_TCP, TCP_LINGER2) && number > LINGER2_MOST;
}

/* The algorithms that every Linux has. By measured times they differ; none are measured. */
static int answer_congestion(char *name)
{
	return !strcmp(name, "reno") || !strcmp(name, "cubic") ? 0 : -ENOENT;
}

/* As far as its end, which may be the end of what can be read. */
static int read_name(struct engine *e, struct task *t, uint64_t address, unsigned char *name, size_t size)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < size && (i == 0 || name[i - 1]); i++)
		r = guest_read(e, t, address + i, name + i, 1);
	return r;
}

int socket_timed_option_answer(struct engine *e, struct task *t, const struct fd_info *info, bool *ret_answered)
{
	int i = find((int)t->call.args[1], (int)t->call.args[2]), size = (int)t->call.args[4], r;
	unsigned char value[SOCKET_TIMED_SIZE] = { 0 };
	bool named = is(&options[i], IPPROTO_TCP, TCP_CONGESTION);
	struct socket_note *note;

	*ret_answered = options[i].answered;
	if (!options[i].answered)
		return 0;
	if (size < (named ? 1 : (int)sizeof(int)))
		return -EINVAL;
	size = size >= (int)options[i].size ? (int)options[i].size - named : named ? size : (int)sizeof(int);
	r = named ? read_name(e, t, t->call.args[3], value, (size_t)size) : guest_read(e, t, t->call.args[3], value, (size_t)size);
	if (r < 0)
		return r;
	if (!named && size == (int)sizeof(int) && !memcmp(value, "\xff\xff\xff\xff", sizeof(int)))
		memset(value, 0xff, sizeof(uint64_t)); /* no limit, in either size */
	r = named ? answer_congestion((char *)value) : 0;
	if (r < 0)
		return r;
	note = socket_note(e, info, true);
	if (!note)
		return -ENOMEM;
	note->timed[i].set = true;
	memcpy(note->timed[i].value, value, sizeof(value));
	return 0;
}

/* The kernel has taken it: what it makes of it is kept, and taken out of force again, which zero does with all of them. */
int socket_timed_option_set(struct engine *e, struct task *t, const struct fd_info *info)
{
	static const unsigned char off[SOCKET_TIMED_SIZE];
	int i = find((int)t->call.args[1], (int)t->call.args[2]), handle, r;
	const struct timed_option *option = &options[i];
	struct socket_note *note = socket_note(e, info, true);

	if (!note)
		return -ENOMEM;
	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	r = e->g->ops->handle_option(e->g, handle, option->level, option->name, note->timed[i].value, option->size);
	note->timed[i].set = r == 0 && !is_default(option, note->timed[i].value);
	if (note->timed[i].set && takes_effect(option, note->timed[i].value))
		r = e->g->ops->handle_set_option(e->g, handle, option->level, option->name, off, option->size);
	e->g->ops->handle_release(e->g, handle);
	return r;
}

bool socket_timed_option_get(const struct socket_note *note, int level, int name, size_t len, void *ret_value)
{
	const uint32_t most = UINT32_MAX;
	int i = find(level, name);
	uint64_t rate;

	if (i < 0 || !note->timed[i].set)
		return false;
	memcpy(ret_value, note->timed[i].value, options[i].size);
	memcpy(&rate, note->timed[i].value, sizeof(rate));
	if (is(&options[i], SOL_SOCKET, SO_MAX_PACING_RATE) && len < sizeof(rate) && rate > most)
		memcpy(ret_value, &most, sizeof(most));
	return true;
}

bool socket_timed_option_unset(int level, int name, size_t *ret_keep, uint64_t *ret_value)
{
	int i = find(level, name);

	if (i < 0)
		return false;
	*ret_keep = options[i].unset ? 0 : options[i].size;
	*ret_value = options[i].unset;
	return true;
}

void socket_timed_options_inherit(struct socket_note *to, const struct socket_note *from)
{
	for (int i = 0; i < SOCKET_TIMED_OPTIONS; i++)
		if (!options[i].listens)
			to->timed[i] = from->timed[i];
}
