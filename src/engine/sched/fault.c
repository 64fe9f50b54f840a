/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults: see fault.h. One row of the table is one kind: where it fits, and what it does. */
#include "engine/sched/fault.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "engine/engine_internal.h"
#include "engine/files/fdtable.h"
#include "engine/files/paths.h"
#include "engine/piece.h"

enum { PRESET = FAULT_CERTAIN / 100, LATENCY_MOST_NS = 10000000, DELAY_MOST_NS = 50000000, JUMP_BITS = 42 /* up to 73 minutes */ };

/* ---- where a kind fits: 1, 0, or -errno ---- */

static bool is_one_of(int nr, const int *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == nr)
			return true;
	return false;
}

#define IS_ONE_OF(nr, ...) is_one_of(nr, (const int[]){ __VA_ARGS__ }, ARRAY_SIZE(((const int[]){ __VA_ARGS__ })))

static bool writes(int nr)
{
	return IS_ONE_OF(nr, __NR_write, __NR_pwrite64, __NR_writev, __NR_pwritev, __NR_pwritev2, __NR_fallocate);
}

/* Making files takes room, too. */
static bool creates(const struct task *t)
{
	const uint64_t *a = t->call.args;

	if (IS_ONE_OF(t->call.nr, __NR_creat, __NR_mkdir, __NR_mkdirat, __NR_symlink, __NR_symlinkat, __NR_link, __NR_linkat))
		return true;
	return (t->call.nr == __NR_open && a[1] & O_CREAT) || (t->call.nr == __NR_openat && a[2] & O_CREAT);
}

static int fits_enospc(struct engine *e, struct task *t, const struct fd_info *info)
{
	return creates(t) || (writes(t->call.nr) && info->kind == FD_FILE);
}

static int fits_nomem(struct engine *e, struct task *t, const struct fd_info *info)
{
	const uint64_t *a = t->call.args;

	if (t->call.nr == __NR_brk)
		return t->mm->brk && a[0] > t->mm->brk;
	return t->call.nr == __NR_mremap || (t->call.nr == __NR_mmap && a[3] & MAP_ANONYMOUS && !(a[3] & MAP_FIXED));
}

static int fits_reset(struct engine *e, struct task *t, const struct fd_info *info)
{
	return fault_moves_data(t->call.nr) && info->kind == FD_INET && info->sock_type == SOCK_STREAM;
}

static bool may_wait(const struct fd_info *info)
{
	return info->kind == FD_PIPE || info->kind == FD_UNIX || info->kind == FD_INET || info->kind == FD_TTY || info->kind == FD_EVENTFD;
}

/* The flags of the call's descriptor as of now: what is known of it otherwise is from when it was seen first. Or -errno. */
static int flags_now(struct engine *e, const struct task *t)
{
	int handle, r;

	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	r = e->g->ops->handle_flags(e->g, handle);
	e->g->ops->handle_release(e->g, handle);
	return r;
}

static bool accepts(int nr)
{
	return nr == __NR_accept || nr == __NR_accept4;
}

/* A handler has run: there has to be one. The last ones end for any handler, whatever its flags (signal(7)). */
static int fits_eintr(struct engine *e, struct task *t, const struct fd_info *info)
{
	bool on_fd = (fault_moves_data(t->call.nr) || accepts(t->call.nr)) && may_wait(info);
	struct signal_state s;
	int r;

	r = on_fd ? flags_now(e, t) : 0;
	if (r < 0 || r & O_NONBLOCK)
		return r < 0 ? r : 0;
	if (!on_fd && !IS_ONE_OF(t->call.nr, __NR_wait4, __NR_waitid, __NR_poll, __NR_ppoll, __NR_select, __NR_pselect6, __NR_epoll_wait,
				 __NR_epoll_pwait, __NR_epoll_pwait2, __NR_semop, __NR_semtimedop, __NR_msgrcv, __NR_msgsnd))
		return 0;
	r = e->g->ops->signal_state(e->g, t->id, &s);
	return r < 0 ? r : s.caught != 0;
}

static int fits_eagain(struct engine *e, struct task *t, const struct fd_info *info)
{
	int r;

	if ((!fault_moves_data(t->call.nr) && !accepts(t->call.nr)) || !may_wait(info) || info->edge)
		return 0;
	r = flags_now(e, t);
	return r < 0 ? r : (r & O_NONBLOCK) != 0;
}

/*
 * Bytes in a stream, of which some may come later; and writes to files, which may come to their limit. Messages go whole. Whoever hears of
 * changes only (EPOLLET) takes a part for all that there is, as epoll(7) says, and would never hear of the rest.
 */
static int fits_short(struct engine *e, struct task *t, const struct fd_info *info)
{
	bool stream = info->kind == FD_PIPE || info->kind == FD_TTY ||
		      ((info->kind == FD_UNIX || info->kind == FD_INET) && info->sock_type == SOCK_STREAM);

	if (!fault_moves_data(t->call.nr) || info->edge)
		return 0;
	return stream || (info->kind == FD_FILE && !fault_reads(t->call.nr));
}

static int fits_datagram(struct engine *e, struct task *t, const struct fd_info *info)
{
	return fault_moves_data(t->call.nr) && !fault_reads(t->call.nr) && info->kind == FD_INET && info->sock_type == SOCK_DGRAM;
}

static int fits_always(struct engine *e, struct task *t, const struct fd_info *info)
{
	return 1;
}

/* ---- what it does: 1 with the call's outcome; 0: the call goes on; 2: it goes on, and nothing has happened; -errno ---- */

enum { IN_VAIN = 2 };

static int fail(struct engine *e, struct task *t, int error, struct verdict *v)
{
	int r;

	if (t->call.nr == __NR_brk)
		r = verdict_return(v, (int64_t)t->mm->brk); /* its way to say that there is no memory */
	else
		r = verdict_errno(v, error);
	return r < 0 ? r : 1;
}

static int take_time(struct engine *e, struct task *t, int error, struct verdict *v)
{
	clock_charge(&e->clock, rng_below(&e->fault_rng, LATENCY_MOST_NS));
	return 0;
}

static int shorten(struct engine *e, struct task *t, int error, struct verdict *v)
{
	t->call.shorten = true;
	return 0;
}

static int lose(struct engine *e, struct task *t, int error, struct verdict *v)
{
	int r = fault_datagram(e, t, 0, v);

	return r ? r : IN_VAIN;
}

static int delay(struct engine *e, struct task *t, int error, struct verdict *v)
{
	int r = fault_datagram(e, t, 1 + rng_below(&e->fault_rng, DELAY_MOST_NS), v);

	return r ? r : IN_VAIN;
}

/* Somebody sets the wall clock, forward or back; the other clocks do not notice. Waits that have begun keep their length. */
static int jump(struct engine *e, struct task *t, int error, struct verdict *v)
{
	uint64_t by = 1 + rng_below(&e->fault_rng, 1ull << (10 + rng_below(&e->fault_rng, JUMP_BITS - 9)));
	bool back = rng_below(&e->fault_rng, 2);

	if (back)
		e->clock.epoch_ns -= by < e->clock.epoch_ns ? by : e->clock.epoch_ns;
	else
		e->clock.epoch_ns = time_add(e->clock.epoch_ns, by);
	return 0;
}

typedef int fits_fn(struct engine *e, struct task *t, const struct fd_info *info);
typedef int effect_fn(struct engine *e, struct task *t, int error, struct verdict *v);

static const struct {
	const char *name;
	fits_fn *fits;
	effect_fn *effect;
	int error; /* of fail */
} kinds[] = {
	{ "short", fits_short, shorten, 0 },
	{ "eintr", fits_eintr, fail, EINTR },
	{ "eagain", fits_eagain, fail, EAGAIN },
	{ "enospc", fits_enospc, fail, ENOSPC },
	{ "nomem", fits_nomem, fail, ENOMEM },
	{ "reset", fits_reset, fail, ECONNRESET },
	{ "udp-drop", fits_datagram, lose, 0 },
	{ "udp-delay", fits_datagram, delay, 0 },
	{ "latency", fits_always, take_time, 0 },
	{ "clock-jump", fits_always, jump, 0 },
};

const char *fault_name(const struct fault_rule *rule)
{
	return kinds[rule->kind].name;
}

const char *fault_names(void)
{
	return "short, eintr, eagain, enospc, nomem, reset, udp-drop, udp-delay, latency, clock-jump";
}

bool fault_needs_brk(const struct fault_rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (kinds[rules[i].kind].fits == fits_nomem)
			return true;
	return false;
}

/* ---- from text ---- */

static int parse_probability(const char *text, struct fault_rule *rule, struct error *err)
{
	uint64_t billionths;

	/* The parser of seconds knows fractions, and one is one. */
	if (parse_duration_ns(text, &billionths) < 0 || billionths > 1000000000)
		return error_set(err, EINVAL, "'%s' is not a probability", text);
	rule->probability = (uint32_t)(billionths / (1000000000 / FAULT_CERTAIN));
	return 0;
}

static int parse_where(const char *text, struct fault_rule *rule, struct error *err)
{
	if (text[strcspn(text, "/.*")]) {
		if (strlen(text) >= sizeof(rule->path))
			return error_set(err, EINVAL, "the path '%.40s...' is too long", text);
		memcpy(rule->path, text, strlen(text) + 1);
		return 0;
	}
	for (int nr = 0; nr <= POLICY_MAX_NR && rule->call < 0; nr++)
		if (policy_row(nr)->name && !strcmp(policy_row(nr)->name, text))
			rule->call = nr;
	return rule->call < 0 ? error_set(err, EINVAL, "there is no call '%s', and a path has a '/', '.' or '*' in it", text) : 0;
}

int fault_parse(const char *text, struct fault_rule *ret, struct error *err)
{
	struct fault_rule rule = { .probability = PRESET, .call = -1 };
	char copy[96 + FAULT_PATH_SIZE], *where, *probability;
	int r;

	if (strlen(text) >= sizeof(copy))
		return error_set(err, EINVAL, "'%.40s...' is too long", text);
	memcpy(copy, text, strlen(text) + 1);
	where = strchr(copy, '@');
	if (where)
		*where++ = '\0';
	probability = strchr(copy, ':');
	if (probability)
		*probability++ = '\0';
	while (rule.kind < ARRAY_SIZE(kinds) && strcmp(kinds[rule.kind].name, copy) != 0)
		rule.kind++;
	if (rule.kind == ARRAY_SIZE(kinds))
		return error_set(err, EINVAL, "there is no '%s'; known: %s", copy, fault_names());
	r = probability ? parse_probability(probability, &rule, err) : 0;
	if (r == 0 && where)
		r = parse_where(where, &rule, err);
	if (r == 0)
		*ret = rule;
	return r;
}

/* ---- striking ---- */

/* A pattern without '/' is about the last component. */
static bool is_named(const char *pattern, const char *name)
{
	const char *last = strrchr(name, '/');

	return piece_matches(pattern, strchr(pattern, '/') || !last ? name : last + 1);
}

/* By the path that the call names, or by the one of its descriptor. 1, 0 or -errno. */
static int is_on_path(struct engine *e, struct task *t, const char *pattern)
{
	const struct policy_row *row = t->call.row;
	char name[PATH_MAX];
	int handle;
	ssize_t r;

	for (unsigned i = 0; i < row->nargs; i++) {
		if (row->args[i].kind != ARG_PATH)
			continue;
		r = e->g->ops->read_string(e->g, t->id, t->call.args[i], name, sizeof(name));
		if (r == -EFAULT || r == -ENAMETOOLONG)
			return 0;
		if (r < 0)
			return (int)r;
		if (is_named(pattern, name))
			return 1;
	}
	if (row->args[0].kind != ARG_FD || !e->g->ops->handle_path)
		return 0;
	handle = e->g->ops->fd_borrow(e->g, t->id, (int)t->call.args[0]);
	if (handle < 0)
		return handle == -EBADF ? 0 : handle;
	r = e->g->ops->handle_path(e->g, handle, name, sizeof(name));
	e->g->ops->handle_release(e->g, handle);
	return r == 0 && is_named(pattern, name);
}

static int applies(struct engine *e, struct task *t, const struct fault_rule *rule, const struct fd_info *info)
{
	int r;

	if (rule->call >= 0 && rule->call != t->call.nr)
		return 0;
	r = kinds[rule->kind].fits(e, t, info);
	return r > 0 && rule->path[0] ? is_on_path(e, t, rule->path) : r;
}

static void note(struct engine *e, const struct task *t, size_t rule)
{
	e->stats.faults[rule]++;
	for (size_t i = 0; i < e->n_observers; i++)
		if (e->observers[i].fault)
			e->observers[i].fault(e->observers[i].arg, e, t->id, kinds[e->options.faults[rule].kind].name);
}

int fault_strike(struct engine *e, struct task *t, struct verdict *v)
{
	static const struct fd_info none = { .kind = FD_NONE };
	const struct fd_info *info = &none;
	int r;

	if (t->call.row->args[0].kind == ARG_FD && fdtable_info(e, t, (int)t->call.args[0], &info) < 0)
		info = &none;
	for (size_t i = 0; i < e->options.n_faults; i++) {
		const struct fault_rule *rule = &e->options.faults[i];

		r = applies(e, t, rule, info);
		if (r < 0)
			return r;
		if (r == 0 || rng_below(&e->fault_rng, FAULT_CERTAIN) >= rule->probability)
			continue;
		r = kinds[rule->kind].effect(e, t, kinds[rule->kind].error, v);
		if (r >= 0 && r != IN_VAIN)
			note(e, t, i);
		if (r < 0 || r == 1)
			return r;
	}
	return 0;
}
