/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vDSO: kernel code in every address space that answers some calls without a system call. Its functions are replaced by
 * ones that make the call. All address spaces of a kernel have the same image, so it is looked at once, in our own.
 */
#ifndef HS_BACKEND_NOTIFY_VDSO_H
#define HS_BACKEND_NOTIFY_VDSO_H

#include <stddef.h>

/* A stretch of the image that is to be overwritten: from `offset`, `size` bytes, `before` and `after`. */
struct vdso_image {
	size_t offset, size;
	unsigned char *before, *after;
	size_t map_page; /* VDSO_PAGE: offset of the code that maps the clock page (vdso_code.h) */
};

enum vdso_kind {
	VDSO_CALLS, /* all functions make calls */
	VDSO_PAGE,  /* clocks are read from the clock page */
};

/* NULL with errno when there is no vDSO, or no memory; ENOEXEC when it cannot be understood or lacks room. */
struct vdso_image *vdso_new(enum vdso_kind kind);
struct vdso_image *vdso_free(struct vdso_image *image);

#endif
