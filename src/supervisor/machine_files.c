/* SPDX-License-Identifier: BSD-3-Clause */
/* See machine_files.h. */
#include "supervisor/machine_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/fd.h"

enum { HOSTS_LIMIT = 1 << 20 }; /* a longer one, of names that shall not be reached, stays as it is */

#define BLANKS " \t\n"
#define HOSTS "/etc/hosts"

/* ---- hosts(5) ---- */

/* Is `part` the other name up to a dot in it? */
static bool is_first_part(const char *part, size_t part_len, const char *of, size_t of_len)
{
	return part_len < of_len && of[part_len] == '.' && memcmp(part, of, part_len) == 0;
}

static bool is_name_of(const char *word, size_t len, const char *host)
{
	size_t n = strlen(host);

	return (len == n && memcmp(word, host, n) == 0) || is_first_part(host, n, word, len) || is_first_part(word, len, host, n);
}

/* The host's own name may be the one that everybody's loopback has. */
static bool is_local(const char *host)
{
	return strcspn(host, ".") == strlen("localhost") && strncmp(host, "localhost", strlen("localhost")) == 0;
}

struct hosts_line {
	size_t names, left_out;
	bool has_name;
};

/* Writes a line without its end, less the host's names; to == NULL: only looks. */
static struct hosts_line take_line(FILE *to, const char *line, size_t len, const char *host, const char *name)
{
	struct hosts_line found = { 0 };
	bool address = true;

	for (const char *p = line; p < line + len;) {
		size_t blank = strspn(p, " \t"), word = strcspn(p + blank, BLANKS "#");
		bool left_out = !address && word > 0 && !is_local(host) && is_name_of(p + blank, word, host);

		if (p[blank] == '#')
			word = (size_t)(line + len - p) - blank;
		else if (word > 0 && !address)
			found.names++;
		found.left_out += left_out;
		found.has_name |= !address && !left_out && word == strlen(name) && memcmp(p + blank, name, word) == 0;
		address &= word == 0;
		if (to && !left_out)
			(void)fprintf(to, "%.*s", (int)(blank + word), p);
		p += blank + word;
	}
	return found;
}

char *machine_files_hosts(const char *text, const char *host, const char *name)
{
	bool has_name = false;
	char *made = NULL;
	size_t size;
	FILE *to = open_memstream(&made, &size);

	if (!to)
		return NULL;
	while (*text) {
		size_t len = strcspn(text, "\n");
		struct hosts_line line = take_line(NULL, text, len, host, name);

		has_name |= line.has_name;
		if (line.left_out == 0 || line.left_out < line.names) {
			(void)take_line(to, text, len, host, name);
			(void)fputc('\n', to);
		}
		text += len + (text[len] == '\n');
	}
	if (!has_name)
		(void)fprintf(to, "127.0.1.1\t%s\n", name);
	if (fclose(to) == 0)
		return made;
	free(made);
	return NULL;
}

/* ---- all of them ---- */

/*
 * Constants, so that the runs of all hosts agree. Nothing has happened on the machine: nobody is logged in, or ever was. The zone is a link, because
 * programs take its name from where it leads to; where that is missing it is UTC too. Files of a directory stand together: that is faster.
 */
static const struct container_file constant_files[] = {
	{ .path = "/run/utmp", .text = "" },
	{ .path = "/var/log/wtmp", .text = "" },
	{ .path = "/var/log/btmp", .text = "" },
	{ .path = "/var/log/lastlog", .text = "" },
	{ .path = "/var/lib/dbus/machine-id", .text = "6865726d697440008000000000000001\n" },
	{ .path = "/etc/machine-id", .text = "6865726d697440008000000000000001\n" },
	{ .path = "/etc/hostid", .text = "herm" },
	{ .path = "/etc/localtime", .link = "/usr/share/zoneinfo/Etc/UTC" },
	{ .path = "/etc/timezone", .text = "Etc/UTC\n" },
};
static_assert(ARRAY_SIZE(constant_files) + 3 <= MACHINE_FILES_MAX, "three more follow");

static int add(struct machine_files *files, const char *path, char *text)
{
	int r = strv_take(&files->texts, text);

	if (r == 0)
		files->items[files->n++] = (struct container_file){ .path = path, .text = text };
	return r;
}

static int add_name(struct machine_files *files, const char *hostname)
{
	char *text;

	return asprintf(&text, "%s\n", hostname) < 0 ? -ENOMEM : add(files, "/etc/hostname", text);
}

static int add_hosts(struct machine_files *files, const char *hostname)
{
	_cleanup_free_ char *text = NULL;
	struct utsname host;

	if (uname(&host) < 0 || fd_read_file(AT_FDCWD, HOSTS, HOSTS_LIMIT, &text, NULL) < 0)
		return 0;
	return add(files, HOSTS, machine_files_hosts(text, host.nodename, hostname));
}

int machine_files_init(struct machine_files *files, const char *hostname, bool host_network)
{
	int r;

	*files = (struct machine_files){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(constant_files); i++)
		files->items[files->n++] = constant_files[i];
	if (!host_network) /* only what the run itself may have is in reach */
		files->items[files->n++] = (struct container_file){ .path = "/etc/resolv.conf", .text = "nameserver 127.0.0.1\n" };
	r = add_name(files, hostname);
	return r < 0 ? r : add_hosts(files, hostname);
}

void machine_files_clear(struct machine_files *files)
{
	strv_clear(&files->texts);
	files->n = 0;
}
