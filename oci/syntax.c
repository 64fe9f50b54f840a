/* SPDX-License-Identifier: BSD-3-Clause */
/* See syntax.h. */
#include "oci/syntax.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#define DIGITS "0123456789"

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " \t\n");
}

/* A number of up to nine digits; NULL if there is none. */
static const char *scan_number(const char *p, uint32_t *ret)
{
	size_t n = strspn(p, DIGITS), i;

	if (n == 0 || n > 9)
		return NULL;
	*ret = 0;
	for (i = 0; i < n; i++)
		*ret = *ret * 10 + (uint32_t)(p[i] - '0');
	return p + n;
}

/* "3" or "3-5". */
static const char *scan_range(const char *p)
{
	uint32_t from, to;

	p = scan_number(skip_blanks(p), &from);
	if (!p)
		return NULL;
	p = skip_blanks(p);
	if (*p != '-')
		return p;
	p = scan_number(skip_blanks(p + 1), &to);
	if (!p || to < from)
		return NULL;
	return skip_blanks(p);
}

bool oci_cpu_list_valid(const char *list)
{
	for (;;) {
		list = scan_range(list);
		if (!list)
			return false;
		if (*list == '\0')
			return true;
		if (*list++ != ',')
			return false;
	}
}

bool oci_page_size_valid(const char *size)
{
	uint32_t n;

	size = scan_number(size, &n);
	return size && n > 0 && size[0] && strchr("KMG", size[0]) && strcmp(size + 1, "B") == 0;
}

/* A number of a version: no leading zero. */
static const char *scan_version_number(const char *p)
{
	uint32_t n;

	if (p[0] == '0' && isdigit((unsigned char)p[1]))
		return NULL;
	return scan_number(p, &n);
}

/* Identifiers of letters, digits and '-', joined by dots; up to `end` or the end of the text. */
static const char *scan_identifiers(const char *p, char end)
{
	size_t n;

	for (;;) {
		for (n = 0; isalnum((unsigned char)p[n]) || p[n] == '-'; n++)
			;
		if (n == 0)
			return NULL;
		p += n;
		if (*p != '.')
			return *p == '\0' || *p == end ? p : NULL;
		p++;
	}
}

bool oci_version_supported(const char *version)
{
	const char *p;

	if (strncmp(version, "1.", 2) != 0)
		return false;
	p = scan_version_number(version + 2);
	if (!p || *p != '.')
		return false;
	p = scan_version_number(p + 1);
	if (p && *p == '-')
		p = scan_identifiers(p + 1, '+');
	if (p && *p == '+')
		p = scan_identifiers(p + 1, '\0');
	return p && *p == '\0';
}

bool oci_path_stays_below(const char *path)
{
	size_t n;

	for (; *path; path += n) {
		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n == 2 && memcmp(path, "..", 2) == 0)
			return false;
	}
	return true;
}

int oci_sysctl_path(const char *name, char *buf, size_t size)
{
	const char *first = strpbrk(name, "./");
	bool dots = first && *first == '.';
	size_t i, n = strlen(name);

	if (n == 0 || name[0] == '/' || name[0] == '.' || name[n - 1] == '/' || (dots && name[n - 1] == '.'))
		return -EINVAL;
	if (n >= size)
		return -ENAMETOOLONG;
	for (i = 0; i <= n; i++) {
		buf[i] = name[i];
		if (dots && (name[i] == '.' || name[i] == '/'))
			buf[i] = name[i] == '.' ? '/' : '.';
	}
	if (strstr(buf, "//") || strstr(buf, "/./") || !oci_path_stays_below(buf))
		return -EINVAL;
	return 0;
}

bool oci_id_valid(const char *id)
{
	const char *p;

	for (p = id; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_+-.", *p))
			return false;
	return p != id && p - id <= 1024 && strcmp(id, ".") != 0 && strcmp(id, "..") != 0;
}
