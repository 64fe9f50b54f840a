/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing JSON documents with jansson: what its functions leave to the caller, which is to check every result. */
#ifndef HS_OCI_DOCUMENT_H
#define HS_OCI_DOCUMENT_H

#include <jansson.h>

#include "base/cleanup.h"
#include "oci/config.h"
#include "oci/jread.h"

DEFINE_CLEANUP(json, json_t, json_decref)
#define _cleanup_json_ _cleanup_(cleanup_json)

/* Members keep the order in which they are set. value is taken, also on failure; NULL is -ENOMEM. */
int document_set(json_t *object, const char *key, json_t *value);

/* -EILSEQ if the text is not UTF-8. NULL is "". */
int document_set_string(json_t *object, const char *key, const char *value);
int document_set_strings(json_t *object, const char *key, const struct oci_strings *strings);
int document_set_pairs(json_t *object, const char *key, const struct oci_pairs *pairs);

/* A list of the names of a table, sorted as they are there. */
int document_set_names(json_t *object, const char *key, const struct jread_name *names);

/* flags of json_dumps(). The text gets a newline at its end and is the caller's. */
int document_format(const json_t *root, size_t flags, char **ret_text);

#endif
