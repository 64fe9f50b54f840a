/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scope-bound ownership. A variable marked _cleanup_(fn) is handed to fn(&variable) when its scope ends;
 * take_ptr() and take_fd() move ownership out before that.
 */
#ifndef HS_BASE_CLEANUP_H
#define HS_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))
#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Defines cleanup_<name>(type **) that calls fn on a non-NULL pointer. */
#define DEFINE_CLEANUP(name, type, fn)            \
	static inline void cleanup_##name(type **p) \
	{                                           \
		if (*p)                             \
			(void)fn(*p);               \
	}

#define take_ptr(p)                        \
	({                                 \
		__typeof__(p) take_p_ = (p); \
		(p) = NULL;                \
		take_p_;                   \
	})

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		(void)fclose(*f);
}

/* Closes *fd if it is not -1; errno survives. In fd.c. */
void cleanup_close(int *fd);

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#endif
