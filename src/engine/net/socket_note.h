/* SPDX-License-Identifier: BSD-3-Clause */
/* The note of a socket: private to sockets.c, socket_notes.c, stamps.c, passed.c, timed_options.c and handle_sockopt.c. */
#ifndef HS_ENGINE_SOCKET_NOTE_H
#define HS_ENGINE_SOCKET_NOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

struct socket_note_key {
	uint64_t dev, ino;
};

/* Options of timed_options.c, in the order of its table. */
enum { SOCKET_TIMED_OPTIONS = 9, SOCKET_TIMED_SIZE = 16 /* TCP_CA_NAME_MAX */ };

struct socket_timed {
	bool set;
	unsigned char value[SOCKET_TIMED_SIZE]; /* as it reads */
};

/* Arrays: what receives, what sends. */
struct socket_note {
	UT_hash_handle hh;
	struct socket_note_key key;
	uint64_t limit_ns[2];   /* SO_RCVTIMEO, SO_SNDTIMEO; TIME_NEVER: none */
	uint32_t buffer[2];     /* SO_RCVBUF, SO_SNDBUF as they read; 0: not set */
	bool shares_port;       /* SO_REUSEPORT */
	bool stamps;            /* some kind of time stamp was asked for */
	uint32_t timestamping;  /* SO_TIMESTAMPING: SOF_TIMESTAMPING_ bits, with ... */
	int timestamping_type;  /* ... the type of its messages */
	struct socket_timed timed[SOCKET_TIMED_OPTIONS];
	unsigned parts;         /* in messages with sockets: passed.c */
	bool findable;          /* the guest's namespace knows it as long as it exists */
	uint64_t received_ns;   /* virtual CLOCK_REALTIME when data was last taken; 0: not known */
};

#endif
