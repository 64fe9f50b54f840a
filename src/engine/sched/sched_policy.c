/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules by draws: see sched_policy.h. PCT is the algorithm of Burckhardt and others (ASPLOS 2010), over events. */
#include "engine/sched/sched_policy.h"

#include <errno.h>
#include <string.h>
#include <asm/unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "engine/sched/sched.h"
#include "engine/task.h"

enum {
	DEPTH_PRESET = 3,
	STICKY_PRESET = 900,
	SLOWDOWN_PRESET = 10,
	STEPS_BITS = 11, /* instructions up to the end of a turn: 1 to 2048, mostly few */
	PLACES_BITS = 8,
	CHANGE_BITS = 13, /* of SCHED_PCT, which steps rarely: up to 8192 */
	EPOCH_LEAST = 32, /* events with the same tasks slowed down; up to eight times as many */
	CANDIDATES_MAX = 1024,
};

/* Above all that yielding hands out. Lower runs first. */
#define PLACE_DRAWN (1ull << 32)

/* Tasks that may be picked, in the queue's order. Those beyond CANDIDATES_MAX wait until others are done. */
struct candidates {
	struct task *tasks[CANDIDATES_MAX];
	size_t n;
};

static const char *const why_names[] = {
	[SCHED_WHY_QUEUE] = "queue", [SCHED_WHY_ONLY] = "only",	    [SCHED_WHY_DRAWN] = "drawn",       [SCHED_WHY_STARVED] = "starved",
	[SCHED_WHY_FORK] = "fork",   [SCHED_WHY_FORCED] = "forced", [SCHED_WHY_INTERRUPT] = "interrupt",
	[SCHED_WHY_FOLLOWED] = "followed",
};

const char *sched_why_name(enum sched_why why)
{
	return why_names[why];
}

const char *sched_priority_why_name(enum sched_priority_why why)
{
	static const char *const names[] = {
		[SCHED_PRIORITY_BORN] = "born", [SCHED_PRIORITY_POINT] = "point", [SCHED_PRIORITY_YIELDED] = "yielded",
	};

	return names[why];
}

/* ---- pickers ---- */

static struct task *any_of(struct sched_policy *p, const struct candidates *c)
{
	return c->tasks[c->n > 1 ? rng_below(&p->rng, c->n) : 0];
}

static struct task *pick_queue(struct sched_policy *p, const struct candidates *c, const struct task *last)
{
	return c->tasks[0];
}

static struct task *pick_random(struct sched_policy *p, const struct candidates *c, const struct task *last)
{
	return any_of(p, c);
}

static struct task *pick_sticky(struct sched_policy *p, const struct candidates *c, const struct task *last)
{
	for (size_t i = 0; c->n > 1 && i < c->n; i++)
		if (c->tasks[i] == last && rng_below(&p->rng, 1000) < p->spec.sticky_permille)
			return c->tasks[i];
	return any_of(p, c);
}

static struct task *pick_pct(struct sched_policy *p, const struct candidates *c, const struct task *last)
{
	struct task *best = c->tasks[0];

	for (size_t i = 1; i < c->n; i++)
		if (c->tasks[i]->place < best->place)
			best = c->tasks[i];
	return best;
}

/* How long the run is nobody knows: change points are spread over its orders of magnitude, from the first event to the 64 Ki-th. */
static void pct_init(struct sched_policy *p)
{
	p->n_changes = p->spec.depth - 1 < SCHED_CHANGES_MAX ? p->spec.depth - 1 : SCHED_CHANGES_MAX;
	for (unsigned i = 0; i < p->n_changes; i++)
		p->changes[i] = 1 + rng_below(&p->rng, 1ull << rng_below(&p->rng, 17));
	p->lowest = 2 * PLACE_DRAWN;
}

static void pct_birth(struct sched_policy *p, struct task *t)
{
	t->place = PLACE_DRAWN + rng_below(&p->rng, PLACE_DRAWN);
}

/* Each order of magnitude below 2 to the power of `bits` is as likely. */
static uint64_t draw_length(struct sched_policy *p, unsigned bits)
{
	return 1 + rng_below(&p->rng, 2ull << rng_below(&p->rng, bits));
}

/* A change point between the last event and this one; or at this event, perhaps not before the task has gone on for a while. */
static void pct_events(struct sched_policy *p, struct task *t, uint64_t first)
{
	for (unsigned i = 0; i < p->n_changes; i++) {
		if (p->changes[i] < first || p->changes[i] > p->events)
			continue;
		if (p->steps && rng_below(&p->rng, 4))
			p->due = true;
		else
			t->place = p->lowest++;
	}
}

static uint64_t pct_steps(struct sched_policy *p)
{
	return p->due ? draw_length(p, CHANGE_BITS) : 0;
}

/* Up to the next change point. */
static uint64_t pct_places(struct sched_policy *p)
{
	uint64_t best = 0;

	for (unsigned i = 0; i < p->n_changes; i++)
		if (p->changes[i] > p->events && (!best || p->changes[i] - p->events < best))
			best = p->changes[i] - p->events;
	return best;
}

/* The change point that was due has come, or another event before it. */
static void pct_settle(struct sched_policy *p, struct task *t)
{
	if (p->due)
		t->place = p->lowest++;
	p->due = false;
}

/* Half of the turns end inside the code: the others have long stretches without. */
static uint64_t random_steps(struct sched_policy *p)
{
	return rng_below(&p->rng, 2) ? 0 : draw_length(p, STEPS_BITS);
}

static uint64_t random_places(struct sched_policy *p)
{
	return rng_below(&p->rng, 2) ? 0 : draw_length(p, PLACES_BITS);
}

static void pct_yield(struct sched_policy *p, struct task *t)
{
	t->place = p->lowest++;
}

typedef int picker_parse_fn(const char *arg, struct sched_policy_spec *spec, struct error *err);

static int parse_range(const char *name, const char *arg, uint64_t least, uint64_t most, unsigned *to, struct error *err)
{
	uint64_t value;

	if (parse_u64(arg, &value) < 0 || value < least || value > most)
		return error_set(err, EINVAL, "%s: '%s' is not a number from %llu to %llu", name, arg, (unsigned long long)least,
				 (unsigned long long)most);
	*to = (unsigned)value;
	return 0;
}

static int parse_pct(const char *arg, struct sched_policy_spec *spec, struct error *err)
{
	return parse_range("pct", arg, 1, SCHED_CHANGES_MAX + 1, &spec->depth, err);
}

/* A probability: the parser of seconds knows fractions, and one is one. */
static int parse_sticky(const char *arg, struct sched_policy_spec *spec, struct error *err)
{
	uint64_t billionths;

	if (parse_duration_ns(arg, &billionths) < 0 || billionths >= 1000000000)
		return error_set(err, EINVAL, "stickyrandom: '%s' is not a probability below 1", arg);
	spec->sticky_permille = (unsigned)(billionths / 1000000);
	return 0;
}

static int parse_slowdown(const char *arg, struct sched_policy_spec *spec, struct error *err)
{
	return parse_range("slowdown", arg, 2, SCHED_PATIENCE, &spec->slowdown, err);
}

/* Names of pickers and what they do; NULL functions are skipped. */
static const struct {
	const char *name;
	struct task *(*pick)(struct sched_policy *p, const struct candidates *c, const struct task *last);
	void (*init)(struct sched_policy *p);
	void (*birth)(struct sched_policy *p, struct task *t);
	void (*events)(struct sched_policy *p, struct task *t, uint64_t first);
	void (*yield)(struct sched_policy *p, struct task *t);
	uint64_t (*steps)(struct sched_policy *p);
	uint64_t (*places)(struct sched_policy *p);
	void (*settle)(struct sched_policy *p, struct task *t);
	picker_parse_fn *parse; /* of an argument; NULL: takes none */
} pickers[] = {
	[SCHED_ROUNDROBIN] = { .name = "roundrobin", .pick = pick_queue },
	[SCHED_RANDOM] = { .name = "random", .pick = pick_random, .steps = random_steps, .places = random_places },
	[SCHED_STICKY] = { .name = "stickyrandom",
			   .pick = pick_sticky,
			   .steps = random_steps,
			   .places = random_places,
			   .parse = parse_sticky },
	[SCHED_PCT] = { .name = "pct",
			.pick = pick_pct,
			.init = pct_init,
			.birth = pct_birth,
			.events = pct_events,
			.yield = pct_yield,
			.steps = pct_steps,
			.places = pct_places,
			.settle = pct_settle,
			.parse = parse_pct },
	[SCHED_MIXED] = { .name = "mixed" },
};

/* ---- modifiers ---- */

/* Keeps those for which keep() is true, unless that is nobody. */
static void narrow(struct candidates *c, bool (*keep)(struct sched_policy *p, struct task *t), struct sched_policy *p)
{
	struct task *kept[CANDIDATES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		if (keep(p, c->tasks[i]))
			kept[n++] = c->tasks[i];
	if (n == 0 || n == c->n)
		return;
	memcpy(c->tasks, kept, n * sizeof(*kept));
	c->n = n;
}

static bool wants_to_connect(struct sched_policy *p, struct task *t)
{
	return t->in_call && t->call.nr == __NR_connect;
}

static bool does_not_want_to_bind(struct sched_policy *p, struct task *t)
{
	return !t->in_call || t->call.nr != __NR_bind;
}

/* Half of the tasks are slow, others in each epoch. */
static bool is_fast_enough(struct sched_policy *p, struct task *t)
{
	unsigned char bytes[8];
	struct rng slow;

	rng_init_child(&slow, &p->rng, p->epoch << 32 | (uint32_t)t->id);
	rng_bytes(&slow, bytes, sizeof(bytes));
	return bytes[0] & 1 || rng_below(&p->rng, p->spec.slowdown) == 0;
}

static void modify(struct sched_policy *p, struct candidates *c)
{
	if (p->spec.connectbind) {
		narrow(c, wants_to_connect, p);
		narrow(c, does_not_want_to_bind, p);
	}
	if (!p->spec.slowdown || c->n < 2)
		return;
	if (p->events >= p->epoch_end) {
		p->epoch++;
		p->epoch_end = p->events + EPOCH_LEAST + rng_below(&p->rng, 7 * EPOCH_LEAST);
	}
	narrow(c, is_fast_enough, p);
}

/* ---- from text ---- */

static int parse_word(const char *word, bool *picked, struct sched_policy_spec *spec, struct error *err)
{
	const char *arg = strchr(word, ':');
	size_t len = arg ? (size_t)(arg - word) : strlen(word);

	if (!strcmp(word, "connectbind")) {
		spec->connectbind = true;
		return 0;
	}
	if (len == strlen("slowdown") && !strncmp(word, "slowdown", len)) {
		spec->slowdown = SLOWDOWN_PRESET;
		return arg ? parse_slowdown(arg + 1, spec, err) : 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(pickers); i++) {
		if (strlen(pickers[i].name) != len || strncmp(pickers[i].name, word, len) != 0)
			continue;
		if (*picked)
			return error_set(err, EINVAL, "'%s' comes second: only one of those that pick can be used", word);
		if (arg && !pickers[i].parse)
			return error_set(err, EINVAL, "'%s' takes no argument", pickers[i].name);
		*picked = true;
		spec->picker = (enum sched_picker)i;
		return arg ? pickers[i].parse(arg + 1, spec, err) : 0;
	}
	return error_set(err, EINVAL, "there is no '%s'; known: roundrobin, random, stickyrandom[:P], pct[:D], mixed, connectbind, "
				      "slowdown[:R]", word);
}

int sched_policy_parse(const char *text, struct sched_policy_spec *ret, struct error *err)
{
	struct sched_policy_spec spec = { .picker = SCHED_ROUNDROBIN, .sticky_permille = STICKY_PRESET, .depth = DEPTH_PRESET };
	bool picked = false;
	char word[64];
	size_t len;
	int r;

	do {
		len = strcspn(text, ",");
		if (len >= sizeof(word))
			return error_set(err, EINVAL, "'%.40s...' is too long", text);
		memcpy(word, text, len);
		word[len] = '\0';
		r = parse_word(word, &picked, &spec, err);
		if (r < 0)
			return r;
		text += len;
	} while (*text++ == ',');
	*ret = spec;
	return 0;
}

/* ---- the policy ---- */

/* Bugs differ in what brings them out; over many seeds each way has its share. */
static void settle_mixed(struct sched_policy *p)
{
	static const struct sched_policy_spec ways[] = {
		{ .picker = SCHED_RANDOM },
		{ .picker = SCHED_STICKY, .sticky_permille = 700 },
		{ .picker = SCHED_STICKY, .sticky_permille = 950 },
		{ .picker = SCHED_PCT, .depth = 1 },
		{ .picker = SCHED_PCT, .depth = 3 },
		{ .picker = SCHED_PCT, .depth = 6 },
	};
	const struct sched_policy_spec *way = &ways[rng_below(&p->rng, ARRAY_SIZE(ways))];

	p->spec.picker = way->picker;
	p->spec.sticky_permille = way->sticky_permille;
	p->spec.depth = way->depth;
}

void sched_policy_init(struct sched_policy *p, const struct sched_policy_spec *spec, const struct rng *rng)
{
	*p = (struct sched_policy){ .spec = *spec, .rng = *rng, .fork_pick = -1 };
	if (spec->picker == SCHED_MIXED)
		settle_mixed(p);
	if (pickers[p->spec.picker].init)
		pickers[p->spec.picker].init(p);
}

void sched_policy_birth(struct sched_policy *p, struct task *t)
{
	if (pickers[p->spec.picker].birth)
		pickers[p->spec.picker].birth(p, t);
}

void sched_policy_event(struct sched_policy *p, struct task *t)
{
	p->events++;
	if (pickers[p->spec.picker].events)
		pickers[p->spec.picker].events(p, t, p->events);
}

uint64_t sched_policy_steps(struct sched_policy *p)
{
	return pickers[p->spec.picker].steps ? pickers[p->spec.picker].steps(p) : 0;
}

uint64_t sched_policy_places(struct sched_policy *p)
{
	return pickers[p->spec.picker].places ? pickers[p->spec.picker].places(p) : 0;
}

void sched_policy_passed(struct sched_policy *p, struct task *t, uint64_t places)
{
	uint64_t first = p->events + 1;

	if (pickers[p->spec.picker].settle)
		pickers[p->spec.picker].settle(p, t);
	p->events += places;
	if (places && pickers[p->spec.picker].events)
		pickers[p->spec.picker].events(p, t, first);
}

void sched_policy_yield(struct sched_policy *p, struct task *t)
{
	if (pickers[p->spec.picker].yield)
		pickers[p->spec.picker].yield(p, t);
}

static struct task *find(const struct sched *s, int id)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->queue[i]->id == id)
			return s->queue[i];
	return NULL;
}

static struct task *starved(const struct sched *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->queue[i]->passed_over >= SCHED_PATIENCE)
			return s->queue[i];
	return NULL;
}

static struct task *choose(struct sched_policy *p, const struct sched *s, const struct task *last, enum sched_why *ret_why)
{
	struct candidates c = { .n = s->n < CANDIDATES_MAX ? s->n : CANDIDATES_MAX };
	struct task *t;

	if (p->fork_pick >= 0) {
		t = find(s, p->fork_pick);
		p->fork_pick = -1;
		*ret_why = SCHED_WHY_FORK;
		if (t)
			return t;
	}
	*ret_why = SCHED_WHY_ONLY;
	if (s->n == 1)
		return s->queue[0];
	*ret_why = SCHED_WHY_STARVED;
	t = starved(s);
	if (t)
		return t;
	*ret_why = p->spec.picker == SCHED_ROUNDROBIN ? SCHED_WHY_QUEUE : SCHED_WHY_DRAWN;
	memcpy(c.tasks, s->queue, c.n * sizeof(*c.tasks));
	modify(p, &c);
	return pickers[p->spec.picker].pick(p, &c, last);
}

struct task *sched_policy_pick(struct sched_policy *p, const struct sched *s, const struct task *last, enum sched_why *ret_why)
{
	struct task *t;

	if (s->n == 0)
		return NULL;
	t = choose(p, s, last, ret_why);
	for (size_t i = 0; i < s->n; i++)
		s->queue[i]->passed_over++;
	t->passed_over = 0;
	return t;
}
