/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of the event log: see log_format.h. */
#include "trace/log_format.h"

#include <string.h>

static const char *const kind_names[LOG_KINDS] = {
	[LOG_HEADER] = "header",
	[LOG_CALL] = "call",
	[LOG_RETURN] = "return",
	[LOG_SIGNAL] = "signal",
	[LOG_BIRTH] = "birth",
	[LOG_EXEC] = "exec",
	[LOG_EXIT] = "exit",
	[LOG_STOP] = "stop",
	[LOG_CONT] = "continue",
	[LOG_CHOICE] = "choice",
	[LOG_TRAP] = "trap",
	[LOG_PREEMPT] = "preempt",
	[LOG_FAULT] = "fault",
	[LOG_OUTSIDE] = "outside",
	[LOG_UNCONTROLLED] = "uncontrolled",
	[LOG_CHECK] = "check",
	[LOG_FINISH] = "end",
};

const char *log_kind_name(enum log_kind kind)
{
	return kind > 0 && kind < LOG_KINDS ? kind_names[kind] : "?";
}

enum log_kind log_kind_parse(const char *name)
{
	for (int i = LOG_HEADER; i < LOG_KINDS; i++)
		if (!strcmp(name, kind_names[i]))
			return (enum log_kind)i;
	return 0;
}
