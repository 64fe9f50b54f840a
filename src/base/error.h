/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An error that a person will read. Caller-owned, fixed size, no allocation on the failure path. It is set once where the
 * failure happens and prefixed on the way up. All functions accept err == NULL.
 */
#ifndef HS_BASE_ERROR_H
#define HS_BASE_ERROR_H

struct error {
	int code; /* errno value, positive; 0 when unset */
	char text[1024];
};

/* Stores code and message; returns -code, so that callers write: return error_set(err, EINVAL, "...", ...). */
int error_set(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* As error_set, with ": " and the description of errno `code` added. */
int error_errno(struct error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts a context in front of the message that is there. */
void error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
