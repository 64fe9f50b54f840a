/* SPDX-License-Identifier: BSD-3-Clause */
/* The cache believes nothing: every damaged byte, every shortened file, a changed program, many writers at once. */
#include "insn/cache.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "insn/scan.h"
#include "insn/store.h"

static char directory[] = "/tmp/insn-cache-test.XXXXXX";
static int dir_fd = -1, exe_fd = -1;
static struct insn_key key;
static char name[INSN_CACHE_NAME_SIZE];

static void set_up(void)
{
	cr_assert(mkdtemp(directory));
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	exe_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	cr_assert(dir_fd >= 0 && exe_fd >= 0);
	cr_assert_eq(insn_key_of(exe_fd, &key), 0);
	insn_cache_name(&key, name);
}

static void tear_down(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	cr_assert_eq(system(command), 0);
}

static struct insn_map *scan(void)
{
	struct insn_map *map;

	/* This program has something to find. */
	__asm__ volatile("rdtsc" : : : "eax", "edx");
	__asm__ volatile("rdtscp" : : : "eax", "ecx", "edx");
	__asm__ volatile("mov $7, %%eax; cpuid; mov %%ebx, %%ebx; mov %%ecx, %%ecx" : : : "eax", "ebx", "ecx", "edx"); /* something can be moved */
	cr_assert_eq(insn_scan_fd(exe_fd, &map), 0);
	cr_assert(map->count >= 2);
	return map;
}

static void expect_same(const struct insn_map *a, const struct insn_map *b)
{
	cr_assert_eq(a->count, b->count);
	cr_assert_eq(a->strings_size, b->strings_size);
	cr_assert(!memcmp(a->sites, b->sites, a->count * sizeof(*a->sites)));
	cr_assert(!memcmp(a->strings, b->strings, a->strings_size));
}

static int count_files(void)
{
	char command[160];
	FILE *f;
	int n = -1;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", directory);
	f = popen(command, "r");
	cr_assert(f && fscanf(f, "%d", &n) == 1);
	(void)pclose(f);
	return n;
}

static void write_entry(const char *data, size_t len)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert(fd >= 0);
	cr_assert_eq(fd_write_full(fd, data, len), 0);
	close(fd);
}

Test(cache, round_trip, .init = set_up, .fini = tear_down)
{
	struct insn_map *map = scan(), *loaded = NULL;

	cr_assert_eq(insn_cache_load(dir_fd, &key, exe_fd, &loaded), -ENOENT);
	cr_assert_eq(insn_cache_save(dir_fd, &key, map), 0);
	cr_assert_eq(insn_cache_load(dir_fd, &key, exe_fd, &loaded), 0);
	expect_same(map, loaded);
	cr_assert_eq(count_files(), 1, "no temporary file is left");
	insn_map_free(map);
	insn_map_free(loaded);
}

Test(cache, each_damaged_byte_makes_it_worthless, .init = set_up, .fini = tear_down)
{
	struct insn_map *map = scan(), *loaded = NULL;
	_cleanup_free_ char *data = NULL;
	size_t len;

	cr_assert_eq(insn_cache_save(dir_fd, &key, map), 0);
	cr_assert_eq(fd_read_file(dir_fd, name, 1 << 20, &data, &len), 0);
	for (size_t i = 0; i<len; i += len> 4096 ? 7 : 1) {
		data[i] ^= 0x41;
		write_entry(data, len);
		data[i] ^= 0x41;
		cr_assert_eq(insn_cache_load(dir_fd, &key, exe_fd, &loaded), -ENOENT, "byte %zu", i);
	}
	for (size_t n = 0; n < len; n += 1 + n / 8) {
		write_entry(data, n);
		cr_assert_eq(insn_cache_load(dir_fd, &key, exe_fd, &loaded), -ENOENT, "%zu bytes", n);
	}
	cr_assert_eq(unlinkat(dir_fd, name, 0), 0);
	cr_assert_eq(mkfifoat(dir_fd, name, 0600), 0);
	cr_assert_eq(insn_cache_load(dir_fd, &key, exe_fd, &loaded), -ENOENT, "a FIFO");
	/* And what was ignored is written anew. */
	cr_assert_eq(insn_cache_save(dir_fd, &key, map), 0);
	cr_assert_eq(insn_cache_load(dir_fd, &key, exe_fd, &loaded), 0);
	insn_map_free(loaded);
	insn_map_free(map);
}

/* Makes a copy of this program in the directory, of the same time; the offset of a byte of its first site in *ret_offset. */
static int copy_program(uint64_t *ret_offset)
{
	struct insn_map *map = scan();
	_cleanup_free_ char *data = NULL;
	struct stat st;
	size_t len;
	int fd;

	cr_assert_eq(fd_read_file(AT_FDCWD, "/proc/self/exe", 1 << 26, &data, &len), 0);
	fd = openat(dir_fd, "program", O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	cr_assert(fd >= 0);
	cr_assert_eq(fd_write_full(fd, data, len), 0);
	cr_assert_eq(fstat(exe_fd, &st), 0);
	cr_assert_eq(futimens(fd, (struct timespec[]){ st.st_atim, st.st_mtim }), 0);
	*ret_offset = map->sites[0].offset + map->sites[0].opcode_at;
	insn_map_free(map);
	return fd;
}

Test(cache, entry_whose_bytes_are_gone_from_the_program_is_ignored, .init = set_up, .fini = tear_down)
{
	struct insn_map *map = scan(), *loaded = NULL;
	struct insn_key after;
	uint64_t offset;
	int fd = copy_program(&offset);

	cr_assert_eq(insn_cache_save(dir_fd, &key, map), 0);
	cr_assert_eq(insn_cache_load(dir_fd, &key, fd, &loaded), 0);
	loaded = insn_map_free(loaded);
	/* Edited in place: the build-id stays, the time does not. */
	cr_assert_eq(insn_key_of(fd, &after), 0);
	cr_assert(!memcmp(&after, &key, sizeof(key)));
	cr_assert_eq(pwrite(fd, "\x90", 1, (off_t)offset), 1);
	cr_assert_eq(insn_key_of(fd, &after), 0);
	cr_assert(memcmp(&after, &key, sizeof(key)));
	/* And where somebody has set it back, what was found is looked for. */
	cr_assert_eq(insn_cache_load(dir_fd, &key, fd, &loaded), -ENOENT);
	insn_map_free(map);
	close(fd);
}

Test(cache, key_depends_on_headers_and_size, .init = set_up, .fini = tear_down)
{
	struct insn_key after;
	uint64_t offset;
	int fd = copy_program(&offset);

	cr_assert_eq(insn_key_of(fd, &after), 0);
	cr_assert(!memcmp(after.bytes, key.bytes, sizeof(key.bytes)), "same content, same key");
	cr_assert_eq(pwrite(fd, "\x01", 1, 64 + 40), 1); /* a size in the first program header */
	cr_assert_eq(insn_key_of(fd, &after), 0);
	cr_assert(memcmp(after.bytes, key.bytes, sizeof(key.bytes)));
	cr_assert_eq(ftruncate(fd, 30), 0);
	cr_assert_eq(insn_key_of(fd, &after), -ENOEXEC);
	close(fd);
}

Test(cache, many_writers_and_readers, .init = set_up, .fini = tear_down)
{
	struct insn_map *map = scan();
	int failed = 0, status;

	for (int child = 0; child < 8; child++) {
		if (fork() != 0)
			continue;
		for (int i = 0; i < 200; i++) {
			struct insn_map *loaded = NULL;
			int r = insn_cache_save(dir_fd, &key, map);

			if (r == 0)
				r = insn_cache_load(dir_fd, &key, exe_fd, &loaded);
			if (r < 0 || loaded->count != map->count)
				_exit(1);
			insn_map_free(loaded);
		}
		_exit(0);
	}
	for (int child = 0; child < 8; child++) {
		cr_assert(wait(&status) > 0);
		failed += status != 0;
	}
	cr_assert_eq(failed, 0);
	cr_assert_eq(count_files(), 1);
	insn_map_free(map);
}

Test(cache, store_uses_memory_then_cache_then_scan, .init = set_up, .fini = tear_down)
{
	struct insn_store *store = insn_store_new(directory);
	const struct insn_map *first, *second;

	cr_assert_eq(insn_store_get(store, exe_fd, &first), 0);
	cr_assert_eq(insn_store_get(store, exe_fd, &second), 0);
	cr_assert_eq(first, second);
	cr_assert_eq(insn_store_stats(store)->scanned, 1);
	cr_assert_eq(insn_store_stats(store)->known, 1);
	store = insn_store_free(store);

	store = insn_store_new(directory);
	cr_assert_eq(insn_store_get(store, exe_fd, &first), 0);
	cr_assert_eq(insn_store_stats(store)->from_cache, 1);
	cr_assert_eq(insn_store_stats(store)->scanned, 0);
	store = insn_store_free(store);

	/* A bad entry is replaced. */
	write_entry("rubbish", 7);
	store = insn_store_new(directory);
	cr_assert_eq(insn_store_get(store, exe_fd, &first), 0);
	cr_assert_eq(insn_store_stats(store)->scanned, 1);
	store = insn_store_free(store);
	store = insn_store_new(directory);
	cr_assert_eq(insn_store_get(store, exe_fd, &first), 0);
	cr_assert_eq(insn_store_stats(store)->from_cache, 1);
	insn_store_free(store);
}

Test(cache, unusable_directory_means_no_cache, .init = set_up, .fini = tear_down)
{
	struct insn_store *store = insn_store_new("/proc/no/such/directory");
	const struct insn_map *map;

	cr_assert(store);
	cr_assert_eq(insn_store_get(store, exe_fd, &map), 0);
	cr_assert_eq(insn_store_get(store, dir_fd, &map), -ENOEXEC);
	cr_assert_eq(insn_store_get(store, dir_fd, &map), -ENOEXEC, "known as such");
	cr_assert_eq(insn_store_stats(store)->not_elf, 1);
	insn_store_free(store);
}
