/* SPDX-License-Identifier: BSD-3-Clause */
/* Cookies of inotify(7) as guests see them: 1, 2, ... The last ones are remembered. */
#ifndef HS_ENGINE_INOTIFY_H
#define HS_ENGINE_INOTIFY_H

#include <stdint.h>

enum { INOTIFY_COOKIES = 1024 };

struct inotify_cookies {
	uint32_t given;
	uint32_t host[INOTIFY_COOKIES]; /* what number n + 1 stands for, at n modulo the size */
};

#endif
