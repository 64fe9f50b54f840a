/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes in documents of ours: arguments, paths and what guests say need not be UTF-8, which JSON is. */
#ifndef HS_SUPERVISOR_JSON_TEXT_H
#define HS_SUPERVISOR_JSON_TEXT_H

#include <jansson.h>

/* A string, of any length; bytes that are no UTF-8 become \xNN, as in event logs. NULL: out of memory. */
json_t *json_text(const char *text);

#endif
