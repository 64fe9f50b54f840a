/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JSON documents that other people wrote, read by tables.
 *
 * jread_tree_parse() makes a light tree (through yajl) in which numbers keep their text, so that nothing is rounded,
 * and every value knows its line and column. A document is refused when it is no JSON (RFC 8259, UTF-8), nests deeper
 * than JREAD_MAX_DEPTH, or goes on after its value.
 *
 * jread_read_object() then walks the table of an object, one row per property: how it is converted, where the result
 * goes, and whether it may, must or must not be there. The rules are the same for every object:
 *   - a property without a row is ignored, as runtime-spec demands of runtimes;
 *   - null is the same as absent, because the Go engines write both;
 *   - a property (or a name of a map) that is written twice is an error: readers of the world differ in which one
 * counts;
 *   - a string with a NUL character is an error, since everything here ends in C strings;
 *   - a number has to be a plain integer ("1e3" and "1.0" are none) within the range of its field.
 *
 * Messages look like "config.json:12:18: linux.resources.memory.limit: expected integer, found string". Lines and
 * columns start at 1; columns count characters.
 */
#ifndef HS_OCI_JREAD_H
#define HS_OCI_JREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oci/arena.h"

struct error;

#define JREAD_MAX_DEPTH 64
#define JREAD_MAX_BYTES (16u << 20) /* larger documents are refused */

enum jread_type { JREAD_NULL, JREAD_BOOLEAN, JREAD_NUMBER, JREAD_STRING, JREAD_ARRAY, JREAD_OBJECT };

struct jread_value {
	enum jread_type type;
	uint32_t line, column;
	const char *key; /* within an object; NUL-terminated copy, key_len may be longer than strlen */
	size_t key_len;
	const char *text; /* of a string (decoded) or number (as written); NUL-terminated copy */
	size_t len;
	bool truth;				 /* of a boolean */
	struct jread_value *first, *last, *next; /* children of an array or object, in order */
	size_t count;
};

/* Where the reader is, for messages. */
struct jread_step {
	const char *key; /* NULL: an element */
	size_t index;
};

struct jread_reader {
	const char *name;	 /* of the document */
	struct oci_arena *arena; /* of the results */
	struct error *err;
	struct jread_step path[JREAD_MAX_DEPTH];
	size_t depth;
};

/* Sets *ret_root (in arena). 0, -EINVAL with "name:line:column: ..." in err, -ENOMEM. */
int jread_tree_parse(const char *text, size_t len, const char *name, struct oci_arena *arena,
		     const struct jread_value **ret_root, struct error *err);

/* The deepest value on the way to a path as it stands in messages ("mounts[2].source"). Never NULL. */
const struct jread_value *jread_tree_locate(const struct jread_value *root, const char *path);

/* Property of an object, NULL if there is none or it is null. */
const struct jread_value *jread_object_get(const struct jread_value *object, const char *key);

/* ---- tables ---- */

/*
 * Converts one value into *out, whose type the function documents. `detail` comes from the row. Returns 0 or the
 * negative errno of jread_fail().
 */
typedef int jread_convert_fn(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out);

enum {
	JREAD_REQUIRED = 1,    /* absent: error */
	JREAD_UNSUPPORTED = 2, /* present: error. The row says so instead of being left out */
	JREAD_IGNORED = 4,     /* known, without effect here */
};

struct jread_field {
	const char *key;
	jread_convert_fn *convert;
	size_t offset;
	const void *detail;
	unsigned flags;
};

/* An object: rows (a NULL key ends them), and what is to be checked or completed when all of them are in. */
struct jread_object {
	const struct jread_field *fields;
	jread_convert_fn *finish; /* may be NULL; called with the value of the object, detail NULL and the struct */
};

int jread_read_object(struct jread_reader *r, const struct jread_value *value, const struct jread_object *object,
		      void *out);

/*
 * Parses text and reads its value by the table: the whole of what a document needs. Results go to arena. 0, -EINVAL,
 * -ENOMEM.
 */
int jread_read_document(const char *text, size_t len, const char *name, const struct jread_object *object,
			struct oci_arena *arena, void *out, struct error *err);

/* Sets the message with place and path in front of it; returns -EINVAL. value gives the place. */
int jread_fail(struct jread_reader *r, const struct jread_value *value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a property of the object `value`, or an element of a list there: with its path and its place. */
int jread_fail_member(struct jread_reader *r, const struct jread_value *value, const char *key, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int jread_fail_element(struct jread_reader *r, const struct jread_value *value, const char *key, size_t index,
		       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* -ENOMEM with a message. */
int jread_no_memory(struct jread_reader *r);

/* -EINVAL with "expected X, found Y" unless the value has the type. */
int jread_expect(struct jread_reader *r, const struct jread_value *value, enum jread_type type);

/* Every name of the object is written once only. */
int jread_check_unique(struct jread_reader *r, const struct jread_value *object);

/* Steps into a property or element and out again, for converters that read children of their own. */
int jread_enter_key(struct jread_reader *r, const struct jread_value *value);
int jread_enter_index(struct jread_reader *r, const struct jread_value *value, size_t index);
void jread_leave(struct jread_reader *r);

/* All elements of an array through `convert`: the first one to `out`, each next one `step` bytes further (0: all to the same place). */
int jread_each(struct jread_reader *r, const struct jread_value *value, jread_convert_fn *convert, const void *detail,
	       void *out, size_t step);

/* ---- converters; the comment is the type of *out ---- */

/* Ranges of integers. min and max are inclusive; max as a uint64 so that all of them fit. */
struct jread_range {
	int64_t min;
	uint64_t max;
};

/* Names of an enumeration, ended by a NULL name. */
struct jread_name {
	const char *name;
	uint64_t value;
};

/* A list: struct { T *items; size_t count; } at out, each element by `convert` into a zero-filled T. */
struct jread_list {
	size_t size;
	jread_convert_fn *convert;
	const void *detail;
	size_t max; /* 0: no limit */
};

jread_convert_fn jread_to_bool;	     /* bool */
jread_convert_fn jread_to_opt_bool;  /* struct oci_bool */
jread_convert_fn jread_to_string;    /* char * */
jread_convert_fn jread_to_text;	     /* char *; "" becomes NULL */
jread_convert_fn jread_to_path;	     /* char *; absolute, not empty */
jread_convert_fn jread_to_strings;   /* struct oci_strings */
jread_convert_fn jread_to_pairs;     /* struct oci_pairs */
jread_convert_fn jread_to_u32;	     /* uint32_t; detail: struct jread_range or NULL */
jread_convert_fn jread_to_i32;	     /* int32_t; detail as above, as for all numbers */
jread_convert_fn jread_to_u64;	     /* uint64_t */
jread_convert_fn jread_to_i64;	     /* int64_t */
jread_convert_fn jread_to_opt_u64;   /* struct oci_u64 */
jread_convert_fn jread_to_opt_i64;   /* struct oci_i64 */
jread_convert_fn jread_to_limit_u64; /* struct oci_u64; 0 is not set */
jread_convert_fn jread_to_limit_i64; /* struct oci_i64; 0 is not set */
jread_convert_fn jread_to_object;    /* the struct of detail, a struct jread_object */
jread_convert_fn jread_to_list;	     /* detail: struct jread_list */
jread_convert_fn jread_to_name_int;  /* int; detail: struct jread_name[] */
jread_convert_fn jread_to_name_u64;  /* uint64_t */
jread_convert_fn jread_to_name_bits; /* uint64_t; a list of names, their values or-ed */

/* Looks a name up; the message of a failure lists what there is. */
int jread_find_name(struct jread_reader *r, const struct jread_value *value, const struct jread_name *names,
		    uint64_t *ret_value);

#endif
