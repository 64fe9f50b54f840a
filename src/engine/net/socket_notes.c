/* SPDX-License-Identifier: BSD-3-Clause */
/* The notes of sockets, by inode: see sockets.h and socket_note.h. */
#include "engine/net/sockets.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>

/* The library's default function does not compile cleanly with clang. */
#define HASH_FUNCTION HASH_FNV
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/cleanup.h"
#include "engine/engine_internal.h"
#include "engine/net/socket_note.h"
#include "netlink/peer.h"

enum { FEW = 512 }; /* not worth to be looked through */

struct socket_note *socket_note(struct engine *e, const struct fd_info *info, bool make)
{
	struct socket_note_key key = { info->dev, info->ino };
	struct socket_note *note;

	HASH_FIND(hh, e->socket_notes.by_inode, &key, sizeof(key), note);
	if (note || !make)
		return note;
	note = calloc(1, sizeof(*note));
	if (!note)
		return NULL;
	note->key = key;
	note->limit_ns[0] = note->limit_ns[1] = TIME_NEVER;
	HASH_ADD(hh, e->socket_notes.by_inode, key, sizeof(note->key), note);
	if (!note->hh.tbl) { /* out of memory in the table */
		free(note);
		return NULL;
	}
	return note;
}

void socket_notes_deinit(struct socket_notes *notes)
{
	struct socket_note *note, *tmp;

	HASH_ITER(hh, notes->by_inode, note, tmp) {
		HASH_DEL(notes->by_inode, note);
		free(note);
	}
}

int socket_note_copy(struct engine *e, uint64_t from_dev, uint64_t from_ino, const struct fd_info *to)
{
	const struct fd_info from_info = { .dev = from_dev, .ino = from_ino };
	const struct socket_note *from = socket_note(e, &from_info, false);
	struct socket_note *copy;

	if (!from)
		return 0;
	copy = socket_note(e, to, true);
	if (!copy)
		return -ENOMEM;
	for (int i = 0; i < 2; i++) {
		copy->limit_ns[i] = from->limit_ns[i];
		copy->buffer[i] = from->buffer[i];
	}
	socket_timed_options_inherit(copy, from);
	copy->stamps = from->stamps;
	copy->timestamping = from->timestamping;
	return 0;
}

static void drop(struct socket_notes *notes, struct socket_note *note)
{
	HASH_DEL(notes->by_inode, note);
	free(note);
}

/* Some that are looked for together. */
struct batch {
	struct socket_note *notes[NL_PEERS_MAX];
	struct nl_peer_request requests[NL_PEERS_MAX];
	uint32_t n;
};

static void add(struct batch *batch, struct socket_note *note)
{
	batch->requests[batch->n] = nl_peer_request((uint32_t)note->key.ino);
	batch->requests[batch->n].header.nlmsg_seq = batch->n;
	batch->notes[batch->n++] = note;
}

/* Which the kernel cannot be asked about are kept. 0 or -errno. */
static int look(struct engine *e, struct task *t, struct batch *batch)
{
	_cleanup_free_ void *answer = NULL;
	uint64_t gone = 0;
	size_t len = 0;
	int r;

	r = batch->n ? e->g->ops->network_ask(e->g, t->id, NETLINK_SOCK_DIAG, batch->requests, batch->n * sizeof(batch->requests[0]), &answer, &len) : 0;
	if (r >= 0)
		gone = nl_peers_gone(answer, len);
	for (uint32_t i = 0; i < batch->n; i++)
		if (gone >> i & 1)
			drop(&e->socket_notes, batch->notes[i]);
	batch->n = 0;
	return r == -ENOMEM ? r : 0;
}

int socket_notes_sweep(struct engine *e, struct task *t)
{
	struct socket_notes *notes = &e->socket_notes;
	struct socket_note *note, *tmp;
	struct batch batch = { .n = 0 };
	int r = 0;

	if (HASH_COUNT(notes->by_inode) <= FEW || HASH_COUNT(notes->by_inode) / 2 < notes->n_looked || !e->g->ops->network_ask)
		return 0;
	HASH_ITER(hh, notes->by_inode, note, tmp) {
		if (r == 0 && note->findable)
			add(&batch, note);
		if (batch.n == NL_PEERS_MAX)
			r = look(e, t, &batch);
	}
	if (r == 0)
		r = look(e, t, &batch);
	notes->n_looked = HASH_COUNT(notes->by_inode);
	return r;
}
