/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A main() for fuzz targets that have to run without a fuzzer: gives every file of the directories in its arguments
 * (or, as a test, of the corpora that the build names) to the target. Fails when it finds none.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(int dirfd, const char *name)
{
	_cleanup_free_ char *text = NULL;
	uint8_t *exact;
	size_t len;
	int r;

	r = fd_read_file(dirfd, name, 16 << 20, &text, &len);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", name, strerror(-r));
		return r;
	}
	exact = malloc(len ? len : 1); /* without the NUL, so that a sanitizer sees a step too far */
	if (!exact)
		return -1;
	memcpy(exact, text, len);
	(void)LLVMFuzzerTestOneInput(exact, len);
	free(exact);
	return 0;
}

/* Returns the number of files, or -1. */
static int run_directory(const char *path)
{
	struct dirent *entry;
	int n = 0, r = 0;
	DIR *dir;

	dir = opendir(path);
	if (!dir) {
		perror(path);
		return -1;
	}
	while (r == 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		r = run_file(dirfd(dir), entry->d_name);
		n++;
	}
	closedir(dir);
	return r < 0 ? -1 : n;
}

static int run_list(const char *const *paths, size_t n, const char *top)
{
	char path[4096];
	int total = 0, r;
	size_t i;

	for (i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "%s%s%s", top, top[0] ? "/" : "", paths[i]);
		r = run_directory(path);
		if (r < 0)
			return EXIT_FAILURE;
		total += r;
	}
	printf("%d inputs\n", total);
	return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static const char *const corpora[] = { CORPORA };
	const char *top = getenv("top_srcdir");

	if (argc > 1)
		return run_list((const char *const *)argv + 1, (size_t)argc - 1, "");
	return run_list(corpora, ARRAY_SIZE(corpora), top ? top : ".");
}
