/* SPDX-License-Identifier: BSD-3-Clause */
/* Files: who is told of changes, holes, unnamed files, what is in the cache, locks and their owners, directories' positions, moving bytes. See vm.h. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "vm.h"

static int make_file(const char *name, const char *text)
{
	int fd = (int)MUST(open(name, O_RDWR | O_CREAT | O_TRUNC, 0600));

	MUST(write(fd, text, strlen(text)));
	return fd;
}

/* ---- inotify ---- */

static void show_events(int fd, const char *what)
{
	static uint32_t first_cookie;
	char buf[4096] __attribute__((aligned(8)));
	struct inotify_event *event;
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0) {
		SAME("%s: %s", what, vm_result(-1));
		return;
	}
	for (char *at = buf; at < buf + n; at += sizeof(*event) + event->len) {
		event = (struct inotify_event *)at;
		if (event->cookie && !first_cookie)
			first_cookie = event->cookie;
		SAME("%s: watch %d mask %x cookie +%u name %s", what, event->wd, event->mask,
		     event->cookie ? event->cookie - first_cookie + 1 : 0, event->len ? event->name : "-");
		SHOWN("cookie %u", event->cookie);
	}
}

static void watching(void)
{
	int fd = (int)MUST(inotify_init1(IN_NONBLOCK)), file, dir, pending;
	char small[8];
	DIR *d;

	mkdir("watched", 0700);
	SAME("watch %s", RESULT(inotify_add_watch(fd, "watched", IN_ALL_EVENTS)));
	SAME("nothing yet: %s", RESULT(read(fd, small, sizeof(small))));
	file = make_file("watched/one", "text");
	close(file);
	show_events(fd, "create");
	MUST(rename("watched/one", "watched/two"));
	MUST(rename("watched/two", "watched/three"));
	show_events(fd, "rename");
	file = (int)MUST(open("watched/three", O_RDONLY));
	MUST(read(file, small, 2));
	MUST(fchmod(file, 0640));
	close(file);
	show_events(fd, "read");
	d = opendir("watched");
	while (readdir(d))
		;
	closedir(d);
	show_events(fd, "list");
	dir = (int)MUST(open("watched", O_RDONLY | O_DIRECTORY));
	MUST(linkat(AT_FDCWD, "watched/three", dir, "four", 0));
	MUST(symlinkat("x", dir, "five"));
	struct stat st;
	MUST(stat("watched/four", &st));
	MUST(access("watched/four", R_OK));
	close(dir);
	show_events(fd, "link and stat");
	file = (int)MUST(open("watched/four", O_RDWR));
	void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	*(char *)map = 'X';
	munmap(map, 4096);
	MUST(ftruncate(file, 100));
	MUST(flock(file, LOCK_EX));
	close(file);
	show_events(fd, "map, cut, lock");
	MUST(unlink("watched/four"));
	MUST(unlink("watched/five"));
	MUST(ioctl(fd, FIONREAD, &pending));
	SAME("bytes waiting %d", pending);
	SAME("too small: %s", RESULT(read(fd, small, sizeof(small))));
	show_events(fd, "unlink");
	MUST(unlink("watched/three"));
	MUST(rmdir("watched"));
	show_events(fd, "the end");
	SAME("remove: %s", RESULT(inotify_rm_watch(fd, 1)));
	close(fd);
}

/* Three processes at work, one looks on. */
static void watching_others(void)
{
	int fd = (int)MUST(inotify_init1(0)), status;
	char buf[4096] __attribute__((aligned(8))), name[32];
	unsigned moved = 0, made = 0, order = 0;
	struct inotify_event *event;
	ssize_t n;

	mkdir("busy", 0700);
	MUST(inotify_add_watch(fd, "busy", IN_CREATE | IN_MOVE));
	for (int p = 0; p < 3; p++) {
		if (fork())
			continue;
		for (int i = 0; i < 5; i++) {
			(void)snprintf(name, sizeof(name), "busy/%d.%d", p, i);
			close(make_file(name, "x"));
			(void)snprintf(buf, sizeof(buf), "busy/%d.%d.moved", p, i);
			MUST(rename(name, buf));
		}
		_exit(0);
	}
	while (moved < 30 || made < 15) {
		n = MUST(read(fd, buf, sizeof(buf)));
		for (char *at = buf; at < buf + n; at += sizeof(*event) + event->len) {
			event = (struct inotify_event *)at;
			made += event->mask == IN_CREATE;
			moved += event->mask != IN_CREATE;
			order = order * 31 + (unsigned)event->name[0] * 7 + (unsigned)event->name[2] + event->mask + event->cookie;
		}
	}
	SAME("%u made, %u moved", made, moved);
	SHOWN("in order %x", order);
	while (wait(&status) > 0)
		;
	close(fd);
}

/* ---- holes ---- */

static void holes(void)
{
	int fd = make_file("holes", "start");
	struct fiemap map = { .fm_length = ~0ull };
	struct stat st;

	MUST(pwrite(fd, "end", 3, 1 << 20));
	SHOWN("data %s", RESULT(lseek(fd, 0, SEEK_DATA)));
	SHOWN("hole %s", RESULT(lseek(fd, 0, SEEK_HOLE)));
	SHOWN("data after the hole %s", RESULT(lseek(fd, 8192, SEEK_DATA)));
	SAME("hole in the end %s", RESULT(lseek(fd, 1 << 20, SEEK_HOLE)));
	SAME("position %s", RESULT(lseek(fd, 0, SEEK_CUR)));
	SAME("beyond %s", RESULT(lseek(fd, 2 << 20, SEEK_DATA)));
	SAME("beyond %s", RESULT(lseek(fd, 2 << 20, SEEK_HOLE)));
	SAME("before %s", RESULT(lseek(fd, -1, SEEK_DATA)));
	SAME("position %s", RESULT(lseek(fd, 0, SEEK_CUR)));
	SHOWN("map %s", RESULT(ioctl(fd, FS_IOC_FIEMAP, &map)));
	MUST(fstat(fd, &st));
	SAME("size %lld", (long long)st.st_size);
	SHOWN("blocks %lld", (long long)st.st_blocks);
	SHOWN("punch %s", RESULT(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096)));
	SAME("of a pipe %s", RESULT(lseek((int)MUST(memfd_create("m", 0)), 0, SEEK_DATA)));
	close(fd);
	unlink("holes");
}

/* ---- no name ---- */

static void without_name(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR, 0600), again;
	char path[64];
	struct stat st;

	if (fd < 0) {
		SHOWN("O_TMPFILE: %s", vm_result(-1));
		return;
	}
	MUST(write(fd, "unnamed", 7));
	MUST(fstat(fd, &st));
	SAME("links %lu size %lld", (unsigned long)st.st_nlink, (long long)st.st_size);
	SHOWN("inode %lu", (unsigned long)st.st_ino);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	SAME("link %s", RESULT(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW)));
	again = (int)MUST(open("named", O_RDONLY));
	ino_t ino = st.st_ino;
	MUST(fstat(again, &st));
	SAME("the same %d, links %lu", st.st_ino == ino, (unsigned long)st.st_nlink);
	close(fd);
	close(again);
	unlink("named");
	fd = (int)MUST(open(".", O_TMPFILE | O_RDWR | O_EXCL, 0600));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	SAME("with O_EXCL %s", RESULT(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW)));
	close(fd);
	(void)strcpy(path, "name.XXXXXX");
	close((int)MUST(mkstemp(path)));
	SHOWN("made up names %s", path);
	unlink(path);
	MUST(mkdir("removed", 0700));
	close(fd);
	fd = (int)MUST(open("removed", O_RDONLY | O_DIRECTORY));
	MUST(rmdir("removed"));
	MUST(fstat(fd, &st));
	SAME("links of a directory that is removed %lu", (unsigned long)st.st_nlink);
	close(fd);
}

/* ---- what is in the cache ---- */

static void cached(void)
{
	int fd = make_file("cached", "0123456789");
	char data[16] = "";
	struct iovec iov = { data, 4 }, big = { data, sizeof(data) };

	MUST(lseek(fd, 2, SEEK_SET));
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	SHOWN("without waiting %s", RESULT(preadv2(fd, &iov, 1, 0, RWF_NOWAIT)));
	SHOWN("%.4s", data);
	SHOWN("from the position %s", RESULT(preadv2(fd, &iov, 1, -1, RWF_NOWAIT)));
	SHOWN("%.4s %s", data, RESULT(lseek(fd, 0, SEEK_CUR)));
	SHOWN("at the end %s", RESULT(preadv2(fd, &big, 1, 6, RWF_NOWAIT)));
	SHOWN("behind it %s", RESULT(preadv2(fd, &big, 1, 100, RWF_NOWAIT)));
	SHOWN("writing %s", RESULT(pwritev2(fd, &iov, 1, 0, RWF_NOWAIT)));
	SAME("high priority %s", RESULT(preadv2(fd, &big, 1, 0, RWF_HIPRI)));
	SAME("appended %s", RESULT(pwritev2(fd, &iov, 1, 0, RWF_APPEND)));
	SAME("unknown flag %s", RESULT(preadv2(fd, &big, 1, 0, 0x40000000)));
	SAME("bad descriptor %s", RESULT(preadv2(99, &big, 1, 0, RWF_NOWAIT)));
	close(fd);
	unlink("cached");
}

/* ---- locks ---- */

static void show_locks(const char *what)
{
	char line[256];
	FILE *f = fopen("/proc/locks", "re");
	int n = 0;

	/* Natively the locks of the whole machine are there. */
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		SHOWN("%s: %s", what, line);
		n++;
	}
	SHOWN("%s: %d locks", what, n);
	if (f)
		(void)fclose(f);
}

static void locks(void)
{
	int fd = make_file("locked", "0123456789"), other = (int)MUST(open("locked", O_RDWR)), status;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2, .l_len = 3 }, probe;
	struct stat st;
	int asked[2];
	pid_t child;
	char c;

	MUST(pipe(asked));
	SAME("OFD lock %s", RESULT(fcntl(fd, F_OFD_SETLK, &lock)));
	probe = lock;
	SAME("asked by another %s", RESULT(fcntl(other, F_OFD_GETLK, &probe)));
	SAME("type %d start %lld length %lld pid %d", probe.l_type, (long long)probe.l_start, (long long)probe.l_len, probe.l_pid);
	SAME("taken by another %s", RESULT(fcntl(other, F_OFD_SETLK, &lock)));
	lock.l_start = 7;
	SAME("POSIX lock %s", RESULT(fcntl(other, F_SETLK, &lock)));
	SAME("flock %s", RESULT(flock(fd, LOCK_SH)));
	MUST(fstat(fd, &st));
	SHOWN("inode %lu", (unsigned long)st.st_ino);
	show_locks("held");
	child = fork();
	if (!child) {
		probe = lock;
		MUST(fcntl(other, F_GETLK, &probe));
		SAME("held by the parent %d", probe.l_pid == getppid());
		MUST(write(asked[1], "+", 1));
		SAME("waits %s", RESULT(fcntl(other, F_SETLKW, &lock)));
		show_locks("the child's");
		_exit(0);
	}
	MUST(read(asked[0], &c, 1));
	vm_until_sleeps(child, 0);
	show_locks("waited for");
	lock.l_type = F_UNLCK;
	MUST(fcntl(other, F_SETLK, &lock));
	waitpid(child, &status, 0);
	close(fd);
	close(other);
	close(asked[0]);
	close(asked[1]);
	show_locks("released");
	unlink("locked");
}

/* Four want the lock: who has it in which order? */
static void winners(const char *what, int kind)
{
	int fd = make_file("prize", ""), status;
	char order[8] = "";

	for (int p = 0; p < 4; p++) {
		if (fork())
			continue;
		int mine = (int)MUST(open("prize", O_RDWR));
		struct flock lock = { .l_type = F_WRLCK };

		for (int i = 0; i < 3; i++) {
			MUST(kind == 0 ? flock(mine, LOCK_EX) : fcntl(mine, kind == 1 ? F_SETLKW : F_OFD_SETLKW, &lock));
			MUST(write((int)MUST(open("prize", O_WRONLY | O_APPEND)), (char[]){ (char)('a' + p) }, 1));
			lock.l_type = F_UNLCK;
			MUST(kind == 0 ? flock(mine, LOCK_UN) : fcntl(mine, kind == 1 ? F_SETLK : F_OFD_SETLK, &lock));
			lock.l_type = F_WRLCK;
		}
		_exit(0);
	}
	while (wait(&status) > 0)
		;
	memset(order, 0, sizeof(order));
	char all[16] = "";
	MUST(pread(fd, all, 12, 0));
	SAME("%s: %zu turns", what, strlen(all));
	SHOWN("%s: %s", what, all);
	close(fd);
	unlink("prize");
}

/* ---- directories ---- */

static void directories(void)
{
	char name[64], seen[60] = "", buf[4096];
	struct dirent *entry;
	long places[64];
	int n = 0, fd, missing = 0;
	DIR *d;

	mkdir("many", 0700);
	for (int i = 0; i < 50; i++) {
		(void)snprintf(name, sizeof(name), "many/%d", i * 7 % 50);
		close(make_file(name, ""));
	}
	d = opendir("many");
	for (;;) {
		places[n] = telldir(d);
		entry = readdir(d);
		if (!entry)
			break;
		n++;
	}
	SAME("%d entries", n);
	seekdir(d, places[30]);
	entry = readdir(d);
	SHOWN("entry 30 is %s at %ld", entry->d_name, places[30]);
	seekdir(d, places[2]);
	entry = readdir(d);
	SHOWN("entry 2 is %s", entry->d_name);
	rewinddir(d);
	/* Files come and go while it is read: the old ones that stay are each seen once. */
	for (int i = 0; (entry = readdir(d)); i++) {
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < 3)
			seen[atoi(entry->d_name)]++;
		(void)snprintf(name, sizeof(name), "many/new%d", i);
		if (i < 20)
			close(make_file(name, ""));
	}
	for (int i = 0; i < 50; i++)
		missing += seen[i] != 1;
	SAME("not seen once: %d", missing);
	closedir(d);
	fd = (int)MUST(open("many", O_RDONLY | O_DIRECTORY));
	SAME("too small %s", RESULT(syscall(SYS_getdents64, fd, buf, 8)));
	n = (int)syscall(SYS_getdents64, fd, buf, 64);
	SHOWN("small %d, then at %s", n, RESULT(lseek(fd, 0, SEEK_CUR)));
	SAME("to the start %s", RESULT(lseek(fd, 0, SEEK_SET)));
	SHOWN("from the end %s", RESULT(lseek(fd, 0, SEEK_END)));
	SAME("before the start %s", RESULT(lseek(fd, -5, SEEK_SET)));
	SAME("bad pointer %s", (MUST(lseek(fd, 0, SEEK_SET)), RESULT(syscall(SYS_getdents64, fd, 1, 4096))));
	SAME("no directory %s", RESULT(syscall(SYS_getdents64, make_file("plain", ""), buf, 4096)));
	MUST(mkdir("removed", 0700));
	close(fd);
	fd = (int)MUST(open("removed", O_RDONLY | O_DIRECTORY));
	MUST(rmdir("removed"));
	SAME("removed %s", RESULT(syscall(SYS_getdents64, fd, buf, 4096)));
	close(fd);
}

/* ---- moving bytes ---- */

static void moving(void)
{
	static char big[300000];
	int in, out, p[2], q[2], null = (int)MUST(open("/dev/null", O_WRONLY)), status;
	loff_t offset = 5;
	long n, total = 0;
	struct iovec iov = { big, 5000 };

	memset(big, 'm', sizeof(big) - 1);
	in = make_file("source", big);
	out = make_file("target", "");
	SAME("sendfile %s", RESULT(sendfile(out, in, &(off_t){ 0 }, 100000)));
	SAME("copy_file_range %s", RESULT(copy_file_range(in, &offset, out, NULL, 250000, 0)));
	SAME("at %lld", (long long)offset);
	MUST(pipe(p));
	MUST(pipe(q));
	MUST(lseek(in, 0, SEEK_SET));
	SHOWN("splice into a pipe %s", RESULT(splice(in, NULL, p[1], NULL, 200000, 0)));
	SHOWN("tee %s", RESULT(tee(p[0], q[1], 30000, 0)));
	SHOWN("splice out %s", RESULT(splice(p[0], NULL, null, NULL, 200000, 0)));
	SHOWN("splice out %s", RESULT(splice(q[0], NULL, null, NULL, 200000, 0)));
	SAME("vmsplice %s", RESULT(vmsplice(p[1], &iov, 1, 0)));
	SAME("empty, without waiting %s", RESULT(splice(q[0], NULL, null, NULL, 10, SPLICE_F_NONBLOCK)));
	SAME("two files %s", RESULT(splice(in, NULL, out, NULL, 10, 0)));
	MUST(read(p[0], big, 5000));
	if (!fork()) {
		close(p[0]);
		MUST(lseek(in, 0, SEEK_SET));
		SHOWN("sendfile into a pipe %s", RESULT(sendfile(p[1], in, NULL, 250000)));
		_exit(0);
	}
	close(p[1]);
	while ((n = splice(p[0], NULL, null, NULL, 100000, 0)) > 0)
		total += n;
	SHOWN("arrived %ld", total); /* older kernels send all, newer ones what fits */
	wait(&status);
	SAME("sendfile from a pipe %s", RESULT(sendfile(out, q[0], NULL, 10)));
}

/* ---- where it lies ---- */

static void places(void)
{
	struct statfs fs;
	struct statx sx;

	close(make_file("here", "x"));
	MUST(statfs("here", &fs));
	SHOWN("statfs %lx %lu %lu %lu id %d %d", (long)fs.f_type, (unsigned long)fs.f_blocks, (unsigned long)fs.f_bfree, (unsigned long)fs.f_ffree,
	      fs.f_fsid.__val[0], fs.f_fsid.__val[1]);
	MUST(statx(AT_FDCWD, "here", 0, 0xffff & ~0x80000000u, &sx));
	SHOWN("statx ino %llu mount %llu birth %lld mask %x attributes %llx align %u", (unsigned long long)sx.stx_ino,
	      (unsigned long long)sx.stx_mnt_id, (long long)sx.stx_btime.tv_sec, sx.stx_mask, (unsigned long long)sx.stx_attributes_mask,
	      sx.stx_dio_mem_align);
}

static int64_t status_time(const char *path)
{
	struct stat st;

	MUST(lstat(path, &st));
	return st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec;
}

/* A link, or what it leads to? */
#define WHOSE(what, call)                                                                                                                 \
	do {                                                                                                                              \
		int64_t link_ns = status_time("link"), file_ns = status_time("file");                                                    \
		vm_sleep_ms(20);                                                                                                          \
		const char *said = RESULT(call);                                                                                          \
		SAME("%s: %s, link %d, file %d", what, said, status_time("link") != link_ns, status_time("file") != file_ns);             \
	} while (0)

static void whose_status(void)
{
	enum { NR_fchmodat2 = 452 };
	int file = make_file("file", "text");

	MUST(symlink("file", "link"));
	WHOSE("lchown", lchown("link", getuid(), getgid()));
	WHOSE("chown", chown("link", getuid(), getgid()));
	WHOSE("fchownat", fchownat(AT_FDCWD, "link", getuid(), getgid(), 0));
	WHOSE("fchownat of the link", fchownat(AT_FDCWD, "link", getuid(), getgid(), AT_SYMLINK_NOFOLLOW));
	WHOSE("fchownat of a descriptor", fchownat(file, "", getuid(), getgid(), AT_EMPTY_PATH));
	WHOSE("fchmodat2", syscall(NR_fchmodat2, AT_FDCWD, "link", 0600, 0));
	WHOSE("fchmodat2 of a descriptor", syscall(NR_fchmodat2, file, "", 0600, AT_EMPTY_PATH));
	WHOSE("link", link("link", "second"));
	WHOSE("linkat", linkat(AT_FDCWD, "link", AT_FDCWD, "third", 0));
	WHOSE("linkat of the file", linkat(AT_FDCWD, "link", AT_FDCWD, "fourth", AT_SYMLINK_FOLLOW));
	close(file);
}

int main(void)
{
	char dir[] = "/tmp/vm_files.XXXXXX";

	MUST(mkdtemp(dir) ? 0 : -1);
	MUST(chdir(dir));
	watching();
	watching_others();
	holes();
	without_name();
	cached();
	locks();
	winners("flock", 0);
	winners("POSIX", 1);
	winners("OFD", 2);
	directories();
	moving();
	places();
	whose_status();
	vm_end();
	MUST(chdir("/"));
	execl("/bin/rm", "rm", "-r", dir, (char *)NULL);
	return 1;
}
