/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text that a person wrote, to numbers, and back. The whole text has to be understood: 0, -EINVAL when it is not,
 * -ERANGE when the number does not fit. Nothing is stored on failure.
 */
#ifndef HS_BASE_PARSE_H
#define HS_BASE_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* Decimal, or hexadecimal after 0x. No sign, no blanks. */
int parse_u64(const char *text, uint64_t *ret);

/* Seconds with an optional fraction, or with a unit: ns, us, ms, s, m, h, d. */
int parse_duration_ns(const char *text, uint64_t *ret_ns);

/* Bytes; with a unit: k M G T (powers of 1024, also as KiB MiB ...), or kB MB GB TB (powers of 1000). */
int parse_bytes(const char *text, uint64_t *ret_bytes);

/* RFC 3339, "2026-01-01T00:00:00Z", with an optional fraction and an offset instead of Z; or @SECONDS since 1970. */
int parse_time_ns(const char *text, uint64_t *ret_ns);

enum { FORMAT_SIZE = 40 }; /* enough for what the functions below write */

/* Inverses, in the shortest of the forms above that is exact. They return buf. */
char *format_u64(uint64_t value, char buf[FORMAT_SIZE]);
char *format_duration_ns(uint64_t ns, char buf[FORMAT_SIZE]);
char *format_time_ns(uint64_t ns, char buf[FORMAT_SIZE]);

#endif
