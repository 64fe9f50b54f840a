/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * File format, little-endian, in this order:
 *
 *	header	magic, version, count of sites, size of strings, key
 *	sites	struct disk_site, count times
 *	strings	NUL-terminated names; the first is empty
 *	digest	SHA-256 of all before it
 *
 * The version changes with the format and with every change of what the scanner finds.
 */
#include "insn/cache.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "insn/decode.h"

#define CACHE_VERSION  3u
#define MAX_CACHE_FILE (64u * 1024 * 1024)
#define MAX_NOTES      (64u * 1024)
#define MAX_HEADERS    128

static const char magic[8] = { 'h', 's', 'i', 'n', 's', 'n', '\n', '\0' };

struct disk_header {
	char magic[8];
	uint32_t version;
	uint32_t count;
	uint64_t strings_size;
	unsigned char key[HASH_BYTES];
};

struct disk_site {
	uint64_t offset, vaddr;
	uint32_t name, name_offset;
	uint8_t trust, length;
	uint8_t bytes[INSN_MAX_LENGTH];
	uint8_t tail, head, moved_distance;
	uint8_t moved[INSN_MOVED_MOST];
};

_Static_assert(sizeof(struct disk_header) == 56, "no holes");
_Static_assert(sizeof(struct disk_site) == 56, "no holes");

void insn_cache_name(const struct insn_key *key, char ret[INSN_CACHE_NAME_SIZE])
{
	hash_hex(key->bytes, sizeof(key->bytes), ret);
	(void)snprintf(ret + 2 * sizeof(key->bytes), INSN_CACHE_NAME_SIZE - 2 * sizeof(key->bytes), ".insn");
}

static int read_at(int fd, uint64_t offset, void *buf, size_t len)
{
	ssize_t n;

	do {
		n = pread(fd, buf, len, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -ENOEXEC;
}

static bool is_x86_64(const Elf64_Ehdr *ehdr)
{
	return !memcmp(ehdr->e_ident, ELFMAG, SELFMAG) && ehdr->e_ident[EI_CLASS] == ELFCLASS64 &&
	       ehdr->e_ident[EI_DATA] == ELFDATA2LSB && ehdr->e_machine == EM_X86_64 &&
	       (ehdr->e_type == ET_EXEC || ehdr->e_type == ET_DYN) && ehdr->e_phentsize == sizeof(Elf64_Phdr);
}

/* Looks through one PT_NOTE segment: the build-id's bytes go into the hash. */
static bool add_build_id(const char *notes, size_t size, struct hash *hash)
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, desc, next;

		memcpy(&note, notes + at, sizeof(note));
		name = at + sizeof(note);
		if (note.n_namesz > size || note.n_descsz > size)
			return false;
		desc = name + ((size_t)note.n_namesz + 3) / 4 * 4;
		next = desc + ((size_t)note.n_descsz + 3) / 4 * 4;
		if (next > size)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + name, "GNU", 4) &&
		    note.n_descsz >= 8) {
			hash_add(hash, notes + desc, note.n_descsz);
			return true;
		}
		at = next;
	}
	return false;
}

static bool find_build_id(int fd, const Elf64_Phdr *phdrs, size_t count, struct hash *hash)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_free_ char *notes = NULL;
		size_t size = phdrs[i].p_filesz;

		if (phdrs[i].p_type != PT_NOTE || size == 0 || size > MAX_NOTES)
			continue;
		notes = malloc(size);
		if (notes && read_at(fd, phdrs[i].p_offset, notes, size) == 0 && add_build_id(notes, size, hash))
			return true;
	}
	return false;
}

int insn_key_of(int fd, struct insn_key *ret)
{
	Elf64_Phdr phdrs[MAX_HEADERS];
	Elf64_Ehdr ehdr;
	struct hash hash;
	struct stat st;
	int r;

	r = read_at(fd, 0, &ehdr, sizeof(ehdr));
	if (r < 0)
		return r;
	if (!is_x86_64(&ehdr))
		return -ENOEXEC;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (ehdr.e_phnum <= MAX_HEADERS && read_at(fd, ehdr.e_phoff, phdrs, ehdr.e_phnum * sizeof(*phdrs)) == 0) {
		hash_init(&hash);
		hash_add(&hash, &st.st_size, sizeof(st.st_size));
		hash_add(&hash, &st.st_mtim.tv_sec, sizeof(st.st_mtim.tv_sec));
		hash_add(&hash, &st.st_mtim.tv_nsec, sizeof(st.st_mtim.tv_nsec));
		hash_add(&hash, phdrs, ehdr.e_phnum * sizeof(*phdrs));
		ret->from_build_id = find_build_id(fd, phdrs, ehdr.e_phnum, &hash);
		hash_final(&hash, ret->bytes);
		if (ret->from_build_id)
			return 0;
	}
	ret->from_build_id = false;
	return hash_fd(fd, ret->bytes);
}

struct parts {
	const struct disk_header *header;
	const char *sites, *strings;
};

/* Are the lengths right and is the digest? Nothing else of the file is looked at before. */
static bool check_whole(const char *data, size_t len, const struct insn_key *key, struct parts *ret)
{
	unsigned char digest[HASH_BYTES];
	struct disk_header *header = (struct disk_header *)(void *)(uintptr_t)data; /* malloc aligns it */
	size_t want;

	if (len < sizeof(*header) + HASH_BYTES || memcmp(header->magic, magic, sizeof(magic)) ||
	    header->version != CACHE_VERSION || memcmp(header->key, key->bytes, sizeof(key->bytes)))
		return false;
	if (header->strings_size < 1 || header->strings_size > MAX_CACHE_FILE)
		return false;
	want = sizeof(*header) + (size_t)header->count * sizeof(struct disk_site) + header->strings_size + HASH_BYTES;
	if (len != want)
		return false;
	hash_buffer(data, len - HASH_BYTES, digest);
	if (memcmp(digest, data + len - HASH_BYTES, HASH_BYTES))
		return false;
	ret->header = header;
	ret->sites = data + sizeof(*header);
	ret->strings = ret->sites + (size_t)header->count * sizeof(struct disk_site);
	return true;
}

static bool check_moved(const struct disk_site *disk, int fd)
{
	size_t len = disk->tail ? disk->tail : disk->head;
	uint64_t offset = disk->tail ? disk->offset + disk->length : disk->offset - disk->head;
	uint8_t now[INSN_MOVED_MOST];

	if (len > INSN_MOVED_MOST || (disk->tail && disk->head) || (disk->moved_distance && disk->moved_distance + 4u > disk->tail))
		return false;
	return !len || (read_at(fd, offset, now, len) == 0 && !memcmp(now, disk->moved, len));
}

/* The site as its own bytes say, and those must be in the scanned file now. */
static bool check_site(const struct disk_site *disk, int fd, uint64_t strings_size, struct insn_site *ret)
{
	uint8_t now[INSN_MAX_LENGTH];

	if (disk->length < 2 || disk->length > INSN_MAX_LENGTH || disk->trust > INSN_CERTAIN ||
	    disk->name >= strings_size)
		return false;
	if (insn_decode_site(disk->bytes, disk->length, disk->vaddr, ret) < 0 || ret->length != disk->length)
		return false;
	if (read_at(fd, disk->offset, now, disk->length) < 0 || memcmp(now, disk->bytes, disk->length))
		return false;
	if (!check_moved(disk, fd))
		return false;
	ret->offset = disk->offset;
	ret->trust = disk->trust;
	ret->name = disk->name;
	ret->name_offset = disk->name_offset;
	ret->tail = disk->tail;
	ret->head = disk->head;
	ret->moved_distance = disk->moved_distance;
	memcpy(ret->moved, disk->moved, INSN_MOVED_MOST);
	return true;
}

static int read_map(const struct parts *parts, int fd, struct insn_map *map)
{
	size_t size = parts->header->strings_size;

	if (parts->strings[0] != '\0' || parts->strings[size - 1] != '\0')
		return -ENOENT;
	free(map->strings);
	map->strings = malloc(size);
	map->sites = calloc(parts->header->count ? parts->header->count : 1, sizeof(*map->sites));
	if (!map->strings || !map->sites)
		return -ENOMEM;
	memcpy(map->strings, parts->strings, size);
	map->strings_size = size;
	for (uint32_t i = 0; i < parts->header->count; i++) {
		struct disk_site disk;

		memcpy(&disk, parts->sites + i * sizeof(disk), sizeof(disk));
		if (!check_site(&disk, fd, size, &map->sites[i]))
			return -ENOENT;
		if (i > 0 && disk.offset <= map->sites[i - 1].offset)
			return -ENOENT;
		map->count++;
	}
	return 0;
}

DEFINE_CLEANUP(map, struct insn_map, insn_map_free)

int insn_cache_load(int dirfd, const struct insn_key *key, int fd, struct insn_map **ret_map)
{
	_cleanup_(cleanup_map) struct insn_map *map = NULL;
	_cleanup_free_ char *data = NULL;
	char name[INSN_CACHE_NAME_SIZE];
	struct parts parts;
	struct stat st;
	size_t len;
	int r;

	insn_cache_name(key, name);
	if (fstatat(dirfd, name, &st, 0) < 0 || !S_ISREG(st.st_mode)) /* nobody waits for the writer of a FIFO */
		return -ENOENT;
	r = fd_read_file(dirfd, name, MAX_CACHE_FILE, &data, &len);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	if (!check_whole(data, len, key, &parts))
		return -ENOENT;
	map = insn_map_new();
	if (!map)
		return -ENOMEM;
	r = read_map(&parts, fd, map);
	if (r < 0)
		return r;
	*ret_map = take_ptr(map);
	return 0;
}

static void put_site(const struct insn_site *site, void *to)
{
	struct disk_site disk = {
		.offset = site->offset,
		.vaddr = site->vaddr,
		.name = site->name,
		.name_offset = site->name_offset,
		.trust = site->trust,
		.length = site->length,
		.tail = site->tail,
		.head = site->head,
		.moved_distance = site->moved_distance,
	};

	memcpy(disk.bytes, site->bytes, sizeof(disk.bytes));
	memcpy(disk.moved, site->moved, sizeof(disk.moved));
	memcpy(to, &disk, sizeof(disk));
}

/* The whole file as it will be; the caller frees. */
static char *serialise(const struct insn_key *key, const struct insn_map *map, size_t *ret_len)
{
	struct disk_header header = { .version = CACHE_VERSION,
				      .count = (uint32_t)map->count,
				      .strings_size = map->strings_size };
	size_t sites = map->count * sizeof(struct disk_site);
	size_t body = sizeof(header) + sites + map->strings_size;
	char *data = malloc(body + HASH_BYTES);

	if (!data)
		return NULL;
	memcpy(header.magic, magic, sizeof(magic));
	memcpy(header.key, key->bytes, sizeof(header.key));
	memcpy(data, &header, sizeof(header));
	for (size_t i = 0; i < map->count; i++)
		put_site(&map->sites[i], data + sizeof(header) + i * sizeof(struct disk_site));
	memcpy(data + sizeof(header) + sites, map->strings, map->strings_size);
	hash_buffer(data, body, (unsigned char *)data + body);
	*ret_len = body + HASH_BYTES;
	return data;
}

static int write_new(int dirfd, const char *name, const char *data, size_t len)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	return fd_write_full(fd, data, len);
}

/*
 * A name of its own for each writer of this host. Two of the same number in different pid namespaces can disturb each
 * other's file; its digest makes that a lost entry at worst.
 */
static void temporary_name(const char *name, char *ret, size_t size)
{
	(void)snprintf(ret, size, ".%s.%ld", name, (long)getpid());
}

int insn_cache_save(int dirfd, const struct insn_key *key, const struct insn_map *map)
{
	char name[INSN_CACHE_NAME_SIZE], temporary[INSN_CACHE_NAME_SIZE + 32];
	_cleanup_free_ char *data = NULL;
	size_t len;
	int r;

	data = serialise(key, map, &len);
	if (!data)
		return -ENOMEM;
	insn_cache_name(key, name);
	temporary_name(name, temporary, sizeof(temporary));
	r = write_new(dirfd, temporary, data, len);
	if (r == -EEXIST && unlinkat(dirfd, temporary, 0) == 0) /* left by a process of this number that was killed */
		r = write_new(dirfd, temporary, data, len);
	if (r == 0 && renameat(dirfd, temporary, dirfd, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dirfd, temporary, 0);
	return r;
}
