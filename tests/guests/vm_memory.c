/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mappings at their edges: addresses that are part of a page, ranges across mappings and holes, segments of System V that are read-only or removed,
 * moves onto themselves, and pages that are not the program's (the vDSO and what is beside it). Each errno is Linux's. See vm.h.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "vm.h"

enum { PAGE = 4096 };

#define AT(base, pages) ((char *)(base) + (long)(pages) * PAGE)
#define NOT_A_PAGE(base) ((char *)(base) + 100)

static unsigned char *reserve(size_t pages)
{
	void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p == MAP_FAILED ? -1 : 0);
	return p;
}

/* An address that a call gave: where it is from what was hoped for. */
static const char *placed(const void *p, const void *wanted)
{
	if (p == MAP_FAILED)
		return strerrorname_np(errno);
	return p == wanted ? "there" : (uintptr_t)p % PAGE ? "in a page" : "elsewhere";
}

static const char *readable(const volatile unsigned char *p)
{
	int fds[2];
	const char *result;

	MUST(pipe(fds));
	result = write(fds[1], (const void *)(uintptr_t)p, 1) == 1 ? "yes" : strerrorname_np(errno);
	close(fds[0]);
	close(fds[1]);
	return result;
}

/* ---- System V ---- */

static void attach(const char *what, int id, const void *address, int flags)
{
	void *p = shmat(id, address, flags);

	SAME("shmat %s: %s", what, placed(p, address));
	if (p != MAP_FAILED)
		MUST(shmdt(p));
}

static void segments(void)
{
	unsigned char *room = reserve(8);
	int id = (int)MUST(shmget(IPC_PRIVATE, 2 * PAGE, IPC_CREAT | 0600)), odd = (int)MUST(shmget(IPC_PRIVATE, PAGE + 1, IPC_CREAT | 0600));
	struct shmid_ds ds;
	unsigned char *p, *q;

	MUST(munmap(room, 8 * PAGE));
	attach("at a page", id, room, 0);
	attach("in a page", id, NOT_A_PAGE(room), 0);
	p = shmat(id, NOT_A_PAGE(room), SHM_RND);
	SAME("shmat rounded: %s", placed(p, room));
	MUST(shmdt(p));
	attach("rounded to nothing, in place", id, (void *)100, SHM_RND | SHM_REMAP);
	attach("in place of nothing", id, NULL, SHM_REMAP);
	attach("at the end", id, (void *)0x7ffffffff000, 0);
	attach("behind the end", id, (void *)0x800000000000, 0);
	attach("high", id, (void *)-PAGE, 0);
	attach("high, in place", id, (void *)-PAGE, SHM_REMAP);
	attach("with flags that there are not", id, NULL, 0x7ff);
	attach("of a number below", -1, NULL, 0);
	attach("of none", 0x7fffffff, NULL, 0);
	MUST(mmap(room, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0);
	attach("over a mapping", id, room, 0);
	attach("over the end of one", id, AT(room, -1), 0);
	p = shmat(id, room, SHM_REMAP);
	SAME("shmat over a mapping, in place: %s", placed(p, room));
	q = shmat(id, p, SHM_REMAP);
	SAME("shmat over itself, in place: %s", placed(q, p));
	MUST(shmctl(id, IPC_STAT, &ds));
	SAME("attached %lu", (unsigned long)ds.shm_nattch);
	q = shmat(id, AT(room, 3), SHM_RDONLY);
	SAME("read-only: %s", placed(q, AT(room, 3)));
	SAME("read-only, made writable: %s", RESULT(mprotect(q, PAGE, PROT_READ | PROT_WRITE)));
	SAME("read-only, made executable: %s", RESULT(mprotect(q, PAGE, PROT_READ | PROT_EXEC)));
	SAME("read into it: %s", RESULT(read(open("/dev/zero", O_RDONLY), q, 1)));
	SAME("shmdt in a page: %s", RESULT(shmdt(NOT_A_PAGE(q))));
	SAME("shmdt of its second page: %s", RESULT(shmdt(AT(q, 1))));
	SAME("shmdt: %s", RESULT(shmdt(q)));
	SAME("shmdt again: %s", RESULT(shmdt(q)));
	SAME("shmdt of a mapping: %s", RESULT(shmdt(reserve(1))));
	SAME("shmdt of nothing: %s", RESULT(shmdt(NULL)));
	q = shmat(id, NULL, SHM_EXEC);
	SAME("executable: %s", q == MAP_FAILED ? strerrorname_np(errno) : "fine");
	SAME("a part is unmapped: %s", RESULT(munmap(q, PAGE)));
	SAME("shmdt at what is gone: %s", RESULT(shmdt(q)));
	SAME("shmdt where the rest is: %s", RESULT(shmdt(AT(q, 1))));
	SAME("the rest: %s", readable(AT(q, 1) ? (unsigned char *)AT(q, 1) : NULL));
	/* Removed while it is attached. */
	MUST(shmctl(id, IPC_RMID, NULL));
	MUST(shmctl(id, IPC_STAT, &ds));
	SAME("removed: mode %o", ds.shm_perm.mode & (01000 | 02000));
	q = shmat(id, NULL, 0);
	SAME("removed, attached again: %s", q == MAP_FAILED ? strerrorname_np(errno) : "fine");
	if (q != MAP_FAILED)
		MUST(shmdt(q));
	SAME("removed again: %s", RESULT(shmctl(id, IPC_RMID, NULL)));
	MUST(shmdt(p));
	SAME("the last one is gone: %s", RESULT(shmctl(id, IPC_STAT, &ds)));
	attach("of one that is gone", id, NULL, 0);
	p = shmat(odd, NULL, 0);
	SAME("a byte more than a page: the second page %s", readable(p + 2 * PAGE - 1));
	MUST(shmdt(p));
	MUST(shmctl(odd, IPC_RMID, NULL));
	(void)munmap(room, 8 * PAGE);
}

/* ---- mremap ---- */

/* A page of 'a', one of 'b', a hole, a read-only page, a shared one. */
static unsigned char *arrange(void)
{
	unsigned char *p = reserve(8);

	memset(p, 'a', PAGE);
	memset(p + PAGE, 'b', PAGE);
	MUST(munmap(p + 2 * PAGE, PAGE));
	MUST(mprotect(p + 3 * PAGE, PAGE, PROT_READ));
	MUST(mmap(p + 4 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0);
	MUST(munmap(p + 5 * PAGE, PAGE));
	return p;
}

static void moves(void)
{
	const int may = MREMAP_MAYMOVE, fixed = MREMAP_MAYMOVE | MREMAP_FIXED, keep = MREMAP_MAYMOVE | MREMAP_DONTUNMAP;
	const struct {
		const char *what;
		long from, offset, old, new;
		int flags;
		long to; /* pages from the start of another place; -1: NULL */
	} rows[] = {
		{ "in a page", 0, 100, PAGE, PAGE, may, -1 },
		{ "to nothing", 0, 0, PAGE, 0, may, -1 },
		{ "of nothing, private", 0, 0, 0, PAGE, may, -1 },
		{ "of nothing, shared", 4, 0, 0, PAGE, may, -1 },
		{ "of nothing, not to be moved", 4, 0, 0, PAGE, 0, -1 },
		{ "unknown flags", 0, 0, PAGE, PAGE, 8, -1 },
		{ "fixed alone", 0, 0, PAGE, PAGE, MREMAP_FIXED, 0 },
		{ "kept alone", 0, 0, PAGE, PAGE, MREMAP_DONTUNMAP, -1 },
		{ "kept and longer", 0, 0, PAGE, 2 * PAGE, keep, -1 },
		{ "kept and shorter", 0, 0, 2 * PAGE, PAGE, keep, -1 },
		{ "kept", 0, 0, PAGE, PAGE, keep, -1 },
		{ "kept, shared", 4, 0, PAGE, PAGE, keep, -1 },
		{ "kept, to a place", 1, 0, PAGE, PAGE, keep | MREMAP_FIXED, 3 },
		{ "of a hole", 2, 0, PAGE, PAGE, may, -1 },
		{ "over a hole", 0, 0, 3 * PAGE, 4 * PAGE, may, -1 },
		{ "across protections", 3, 0, 2 * PAGE, 3 * PAGE, may, -1 },
		{ "longer in place, taken", 0, 0, PAGE, 2 * PAGE, 0, -1 },
		{ "longer in place, free", 4, 0, PAGE, 2 * PAGE, 0, -1 },
		{ "longer than there is", 0, 0, PAGE, INT64_MAX & -PAGE, may, -1 },
		{ "the longest", 0, 0, PAGE, -1, may, -1 },
		{ "of the longest", 0, 0, -1, PAGE, may, -1 },
		{ "shorter", 0, 0, 2 * PAGE, PAGE, 0, -1 },
		{ "the same", 0, 0, PAGE, PAGE, 0, -1 },
		{ "part of a page more", 0, 0, PAGE, PAGE + 1, may, -1 },
		{ "onto a place", 0, 0, PAGE, PAGE, fixed, 1 },
		{ "longer onto a place", 0, 0, PAGE, 2 * PAGE, fixed, 1 },
		{ "shorter onto a place", 0, 0, 2 * PAGE, PAGE, fixed, 1 },
	};
	unsigned char *p, *to = reserve(8);
	char *result;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		p = arrange();
		result = mremap(p + rows[i].from * PAGE + rows[i].offset, (size_t)rows[i].old, (size_t)rows[i].new, rows[i].flags,
				rows[i].to < 0 ? NULL : AT(to, rows[i].to));
		SAME("mremap %s: %s", rows[i].what, placed(result, rows[i].to < 0 ? AT(p, rows[i].from) : AT(to, rows[i].to)));
		SAME("mremap %s: a %s, b %s, hole %s, read-only %s, shared %s", rows[i].what, readable(p), readable(p + PAGE), readable(p + 2 * PAGE),
		     readable(p + 3 * PAGE), readable(p + 4 * PAGE));
		if (result != MAP_FAILED && rows[i].new < 4 * PAGE)
			(void)munmap(result, (size_t)rows[i].new);
		(void)munmap(p, 8 * PAGE);
	}
	p = arrange();
	SAME("mremap into itself: %s", placed(mremap(p, 2 * PAGE, 2 * PAGE, fixed, AT(p, 1)), p));
	SAME("mremap onto itself: %s", placed(mremap(p, PAGE, PAGE, fixed, p), p));
	SAME("mremap to part of a page: %s", placed(mremap(p, PAGE, PAGE, fixed, NOT_A_PAGE(to)), to));
	SAME("mremap behind the end: %s", placed(mremap(p, PAGE, PAGE, fixed, (void *)0x7ffffffff000), to));
	SAME("mremap to a high place: %s", placed(mremap(p, PAGE, PAGE, fixed, (void *)-PAGE), to));
	SAME("mremap of a high place: %s", placed(mremap((void *)-PAGE, PAGE, PAGE, may, NULL), to));
	SAME("still %c%c", p[0], p[PAGE]);
	(void)munmap(p, 8 * PAGE);
	(void)munmap(to, 8 * PAGE);
}

/* ---- mmap, munmap, mprotect ---- */

static void map(const char *what, void *address, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *p = mmap(address, len, prot, flags, fd, offset);

	SAME("mmap %s: %s", what, p == MAP_FAILED ? strerrorname_np(errno) : (uintptr_t)p % PAGE ? "in a page" : "fine");
	if (p != MAP_FAILED)
		MUST(munmap(p, len));
}

static void maps(void)
{
	const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS, rw = PROT_READ | PROT_WRITE;
	char path[] = "/tmp/vm_memory.XXXXXX";
	int file = (int)MUST(mkstemp(path)), reads = (int)MUST(open(path, O_RDONLY)), writes = (int)MUST(open(path, O_WRONLY)), p[2];
	int directory = (int)MUST(open("/", O_RDONLY)), place = (int)MUST(open(path, O_PATH));
	unsigned char *room = reserve(6);

	MUST(unlink(path));
	MUST(pipe(p));
	map("of no length", NULL, 0, rw, anonymous, -1, 0);
	map("the longest", NULL, SIZE_MAX, rw, anonymous, -1, 0);
	map("longer than there is", NULL, 1ul << 48, rw, anonymous, -1, 0);
	map("neither shared nor private", NULL, PAGE, rw, MAP_ANONYMOUS, -1, 0);
	map("shared and private", NULL, PAGE, rw, anonymous | MAP_SHARED, -1, 0);
	map("shared, unknown flags", NULL, PAGE, rw, MAP_SHARED_VALIDATE | 0x200000, file, 0);
	map("shared, unknown flags, not validated", NULL, PAGE, rw, MAP_SHARED | 0x200000, file, 0);
	map("near part of a page", NOT_A_PAGE(room), PAGE, rw, anonymous, -1, 0);
	map("at part of a page", NOT_A_PAGE(room), PAGE, rw, anonymous | MAP_FIXED, -1, 0);
	map("at the end", (void *)0x7ffffffff000, PAGE, rw, anonymous | MAP_FIXED, -1, 0);
	map("in a high place", (void *)-PAGE, PAGE, rw, anonymous | MAP_FIXED, -1, 0);
	map("where something is", room, PAGE, rw, anonymous | MAP_FIXED_NOREPLACE, -1, 0);
	map("part of an offset", NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 100);
	map("an offset too far", NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, file, -PAGE);
	map("no descriptor", NULL, PAGE, PROT_READ, MAP_PRIVATE, 900, 0);
	map("a place only", NULL, PAGE, PROT_READ, MAP_PRIVATE, place, 0);
	map("a directory", NULL, PAGE, PROT_READ, MAP_PRIVATE, directory, 0);
	map("a pipe", NULL, PAGE, PROT_READ, MAP_PRIVATE, p[0], 0);
	map("read-only, shared, to write", NULL, PAGE, rw, MAP_SHARED, reads, 0);
	map("read-only, private, to write", NULL, PAGE, rw, MAP_PRIVATE, reads, 0);
	map("write-only", NULL, PAGE, PROT_WRITE, MAP_SHARED, writes, 0);
	map("to grow down", NULL, PAGE, rw, anonymous | MAP_GROWSDOWN, -1, 0);
	map("a file to grow down", NULL, PAGE, rw, MAP_PRIVATE | MAP_GROWSDOWN, file, 0);
	map("behind the file's end", NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 16 * PAGE);
	{
		unsigned char *shared = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, reads, 0);

		MUST(shared == MAP_FAILED ? -1 : 0);
		SAME("mprotect read-only, shared: %s", RESULT(mprotect(shared, PAGE, rw)));
		SAME("mprotect it executable: %s", RESULT(mprotect(shared, PAGE, PROT_READ | PROT_EXEC)));
		SAME("of a file without bytes: %s", readable(shared));
		MUST(munmap(shared, PAGE));
	}
	SAME("munmap in a page: %s", RESULT(munmap(NOT_A_PAGE(room), PAGE)));
	SAME("munmap of no length: %s", RESULT(munmap(room, 0)));
	SAME("munmap the longest: %s", RESULT(munmap(room, SIZE_MAX)));
	SAME("munmap behind the end: %s", RESULT(munmap((void *)0x7ffffffff000, PAGE)));
	SAME("munmap a high place: %s", RESULT(munmap((void *)-PAGE, PAGE)));
	SAME("munmap part of a page: %s", RESULT(munmap(room, 1)));
	SAME("munmap it again: %s", RESULT(munmap(room, PAGE)));
	SAME("what is left: %s %s", readable(room), readable(room + PAGE));
	SAME("mprotect in a page: %s", RESULT(mprotect(NOT_A_PAGE(room), PAGE, rw)));
	SAME("mprotect of no length: %s", RESULT(mprotect(room, 0, rw)));
	MUST(munmap(room + 4 * PAGE, PAGE));
	SAME("mprotect from a hole on: %s", RESULT(mprotect(room, 2 * PAGE, PROT_NONE)));
	SAME("mprotect into a hole: %s", RESULT(mprotect(room + 2 * PAGE, 3 * PAGE, PROT_NONE)));
	SAME("what came of it: %s %s", readable(room + PAGE), readable(room + 2 * PAGE));
	SAME("mprotect from a hole on, executable: %s", RESULT(mprotect(room, 2 * PAGE, PROT_READ | PROT_EXEC)));
	SAME("mprotect in a page, executable: %s", RESULT(mprotect(NOT_A_PAGE(room), PAGE, PROT_READ | PROT_EXEC)));
	SAME("mprotect of no length, executable: %s", RESULT(mprotect(room, 0, PROT_EXEC)));
	SAME("mprotect up and down: %s", RESULT(mprotect(room + PAGE, PAGE, rw | PROT_GROWSUP | PROT_GROWSDOWN)));
	SAME("mprotect down, of what does not: %s", RESULT(mprotect(room + PAGE, PAGE, rw | PROT_GROWSDOWN)));
	SAME("mprotect down, executable: %s", RESULT(mprotect(room + PAGE, PAGE, rw | PROT_EXEC | PROT_GROWSDOWN)));
	SAME("mprotect unknown: %s", RESULT(mprotect(room + PAGE, PAGE, rw | 0x100)));
	SAME("mprotect unknown, executable: %s", RESULT(mprotect(room + PAGE, PAGE, rw | PROT_EXEC | 0x100)));
	SAME("mprotect the longest: %s", RESULT(mprotect(room + PAGE, SIZE_MAX, rw)));
	SAME("mprotect the longest, executable: %s", RESULT(mprotect(room + PAGE, SIZE_MAX, rw | PROT_EXEC)));
	SAME("pkey_mprotect of no key: %s", RESULT(pkey_mprotect(room + PAGE, PAGE, PROT_READ | PROT_EXEC, -1)));
	SAME("pkey_mprotect of a key: %s", RESULT(pkey_mprotect(room + PAGE, PAGE, PROT_READ | PROT_EXEC, 9)));
	(void)munmap(room, 6 * PAGE);
}

/* ---- pages that are not the program's ---- */

/* How many bytes the vDSO has: a part of it is nobody's to change. */
static size_t vdso_size(uintptr_t vdso)
{
	unsigned long start, end = 0;
	char line[256];
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start == vdso)
			break;
	if (f)
		(void)fclose(f);
	return end - vdso;
}

/* In a child each: what is done is final. */
static void of_the_kernel(void)
{
	static const char *const calls[] = { "mprotect", "mprotect, executable", "mprotect of a part", "mprotect of a part, executable", "mremap", "mremap onto itself",
					     "mremap longer", "mremap kept", "mremap of a part", "munmap", "munmap of a part", "mmap in place", "madvise", "mlock",
					     "shmat in place", "mremap over it" };
	char *vdso = (char *)getauxval(AT_SYSINFO_EHDR);
	size_t size = vdso_size((uintptr_t)vdso);
	int id = (int)MUST(shmget(IPC_PRIVATE, size, IPC_CREAT | 0600));

	SAME("vDSO: pages %d", size % PAGE == 0 && size > PAGE);
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		pid_t pid = (pid_t)MUST(fork());
		const char *result = "";
		struct timespec ts;

		if (pid) {
			int status;

			MUST(waitpid(pid, &status, 0));
			SAME("%s: ended %d %d", calls[i], WIFEXITED(status), WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
			continue;
		}
		switch (i) {
		case 0: result = RESULT(mprotect(vdso, size, PROT_READ)); break;
		case 1: result = RESULT(mprotect(vdso, size, PROT_READ | PROT_WRITE | PROT_EXEC)); break;
		case 2: result = RESULT(mprotect(vdso, PAGE, PROT_READ)); break;
		case 3: result = RESULT(mprotect(vdso, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC)); break;
		case 4: result = placed(mremap(vdso, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, reserve(size / PAGE)), vdso); break;
		case 5: result = placed(mremap(vdso, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, vdso), vdso); break;
		case 6: result = placed(mremap(vdso, size, 16 * size, 0), vdso); break;
		case 7: result = placed(mremap(vdso, size, size, MREMAP_MAYMOVE | MREMAP_DONTUNMAP), vdso); break;
		case 8: result = placed(mremap(vdso, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, reserve(1)), vdso); break;
		case 9: result = RESULT(munmap(vdso, size)); break;
		case 10: result = RESULT(munmap(vdso, PAGE)); break;
		case 11: result = placed(mmap(vdso, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), vdso); break;
		case 12: result = RESULT(madvise(vdso, size, MADV_DONTNEED)); break;
		case 13: result = RESULT(mlock(vdso, size)); break;
		case 14: result = placed(shmat(id, vdso, 0), vdso); break;
		default: result = placed(mremap(reserve(size / PAGE), size, size, MREMAP_MAYMOVE | MREMAP_FIXED, vdso), vdso); break;
		}
		SAME("vDSO, %s: %s", calls[i], result);
		/* a call, and not the function: that may be gone */
		SAME("vDSO, %s: the time is known: %ld", calls[i], syscall(228 /* clock_gettime */, CLOCK_MONOTONIC, &ts));
		_exit(0);
	}
	MUST(shmctl(id, IPC_RMID, NULL));
}

int main(void)
{
	segments();
	moves();
	maps();
	of_the_kernel();
	vm_end();
	return 0;
}
