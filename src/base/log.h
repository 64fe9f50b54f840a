/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of the tool itself, to stderr or a descriptor chosen at start. Only supervisor/ and cli/ log above debug. */
#ifndef HS_BASE_LOG_H
#define HS_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR = 1, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Chooses where and how much; fd is borrowed. json: one object a line, as container engines parse it. */
void log_setup(int fd, enum log_level level, bool json, const char *program);

/* The first failure to write a message since log_setup(), or 0: -errno. */
int log_failure(void);

/* "off" .. "debug" (also "error", "warn", "warning", "info", "trace"); -1 for an unknown name. */
int log_level_parse(const char *name);

bool log_enabled(enum log_level level);
void log_message(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An unfinished line stands on the terminal `fd`: it is wiped before the next message, or by log_wipe(). */
void log_unfinished(int fd);
void log_wipe(void);

#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)                                            \
	do {                                                      \
		if (log_enabled(LOG_LEVEL_DEBUG))                 \
			log_message(LOG_LEVEL_DEBUG, __VA_ARGS__); \
	} while (0)

#endif
