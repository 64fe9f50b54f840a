/* SPDX-License-Identifier: BSD-3-Clause */
/* See json_text.h. */
#include "supervisor/json_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "trace/log_text.h"

json_t *json_text(const char *text)
{
	enum { LONGEST = sizeof("\\xNN") - 1 };
	size_t room = strlen(text) * LONGEST + 1;
	_cleanup_free_ char *clean = malloc(room);

	if (!clean)
		return NULL;
	(void)log_text_clean(text, clean, room);
	return json_string(clean);
}
