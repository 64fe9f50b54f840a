/* SPDX-License-Identifier: BSD-3-Clause */
/* How many reports are kept: see agent_reports.h. */
#include "supervisor/agent/agent_reports.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

enum { MAX_REPORT = 1 << 16 };

static const char ending[] = ".txt";

struct found {
	char *name;
	struct timespec changed;
};

static int is_report(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return len >= sizeof(ending) && !strcmp(e->d_name + len - strlen(ending), ending);
}

static int by_age(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->changed.tv_sec != y->changed.tv_sec)
		return x->changed.tv_sec < y->changed.tv_sec ? -1 : 1;
	return x->changed.tv_nsec < y->changed.tv_nsec ? -1 : x->changed.tv_nsec > y->changed.tv_nsec;
}

static bool has_ended(int dir, const char *name)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	return fd_read_file(dir, name, MAX_REPORT, &text, &len) == 0 && !strstr(text, AGENT_NO_END);
}

static void forget(int dir, const char *name)
{
	char log[NAME_MAX + 1];

	(void)snprintf(log, sizeof(log), "%.*s.log", (int)(strlen(name) - strlen(ending)), name);
	(void)unlinkat(dir, name, 0);
	(void)unlinkat(dir, log, 0);
}

/* Oldest first; one that another process of the agent's has removed meanwhile is no matter. */
static void forget_oldest(int dir, struct dirent **entries, size_t n)
{
	_cleanup_free_ struct found *all = calloc(n, sizeof(*all));
	size_t over = n - AGENT_REPORTS_KEPT;
	struct stat st;

	if (!all)
		return;
	for (size_t i = 0; i < n; i++) {
		all[i].name = entries[i]->d_name;
		if (fstatat(dir, all[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			all[i].changed = st.st_mtim;
	}
	qsort(all, n, sizeof(*all), by_age);
	for (size_t i = 0; i < n && over > 0; i++)
		if (has_ended(dir, all[i].name)) {
			forget(dir, all[i].name);
			over--;
		}
}

void agent_reports_bound(const char *directory)
{
	_cleanup_close_ int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries;
	int n;

	if (dir < 0)
		return;
	n = scandirat(dir, ".", &entries, is_report, NULL);
	if (n < 0)
		return;
	if (n > AGENT_REPORTS_KEPT)
		forget_oldest(dir, entries, (size_t)n);
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
}
