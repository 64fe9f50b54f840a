/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of /proc that the machine does not have, by every way that leads there: links of /proc and of the guest's own, directories that are open or
 * current, another root. Each call answers as it does to a name that nobody has in the same place. Names that are there are found by all of these
 * ways, and a link's own name is the link's. See vm.h.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "vm.h"

enum { ELSEWHERE, ROOT, PROC, PROC_SELF, LINK_DIRECTORY, N_PLACES };
static const char *const places[] = { NULL, "/", "/proc", "/proc/self", "proc-link" };

static int here; /* the directory that the links are in */
static int watches;

/* How a name X of /proc is written, and from where. %s is X; @ is the number of a descriptor of /proc. */
static const struct {
	int place;
	const char *text;
	const char *dirfd; /* of which directory it is looked up; NULL: the current one */
} ways[] = {
	{ ELSEWHERE, "/proc/self/root/proc/%s", NULL },
	{ ELSEWHERE, "/proc/thread-self/root/proc/%s", NULL },
	{ ELSEWHERE, "/proc/self/task/../root/./proc//%s", NULL },
	{ ELSEWHERE, "/proc/self/cwd/proc-link/%s", NULL },
	{ ELSEWHERE, "/proc/self/fd/@/%s", NULL },
	{ ELSEWHERE, "/dev/fd/@/%s", NULL },
	{ ELSEWHERE, "/dev/fd/../../%s", NULL },
	{ ELSEWHERE, "/proc/net/../../%s", NULL },
	{ ELSEWHERE, "/proc/../proc/%s", NULL },
	{ ELSEWHERE, "proc-link/%s", NULL },
	{ ELSEWHERE, "self-link/../%s", NULL },
	{ ELSEWHERE, "chain-link/%s", NULL },
	{ ELSEWHERE, "root-link/proc/%s", NULL },
	{ ELSEWHERE, "%s.link", NULL },
	{ ROOT, "proc/%s", NULL },
	{ ROOT, "./proc/self/../%s", NULL },
	{ PROC, "%s", NULL },
	{ PROC, "./self/../%s", NULL },
	{ PROC, "../proc/%s", NULL },
	{ PROC, "self/cwd/%s", NULL },
	{ PROC, "/proc/self/cwd/%s", NULL },
	{ PROC_SELF, "../%s", NULL },
	{ LINK_DIRECTORY, "%s", NULL },
	{ ELSEWHERE, "proc/%s", "/" },
	{ ELSEWHERE, "../%s", "/proc/self" },
	{ ELSEWHERE, "../../%s", "/proc/self/task" },
	{ ELSEWHERE, "root/proc/%s", "/proc/self" },
	{ ELSEWHERE, "%s", "proc-link" },
};

/* Each name with one that nobody has beside it. */
static const struct {
	const char *name, *like;
} names[] = {
	{ "config.gz", "no-such" }, { "kcore", "no-such" }, { "mdstat", "no-such" }, { "irq", "no-such" }, { "irq/0", "no-such/0" },
	{ "sys/net/netfilter", "sys/net/no-such" }, { "acpi", "no-such" }, { "bus/input", "bus/no-such" }, { "self/no-such", "self/nor-this" },
};

enum { N_CALLS = 24 };

static const char *call(unsigned which, int dirfd, const char *path)
{
	static struct stat st;
	static struct statx x;
	static struct statfs fs;
	static const struct timespec times[2];
	static char text[64];
	uint64_t how[3] = { O_RDONLY, 0, 0 };

	switch (which) {
	case 0: return RESULT(openat(dirfd, path, O_RDONLY));
	case 1: return RESULT(openat(dirfd, path, O_PATH));
	case 2: return RESULT(syscall(SYS_openat2, dirfd, path, how, sizeof(how)));
	case 3: return RESULT(fstatat(dirfd, path, &st, 0));
	case 4: return RESULT(statx(dirfd, path, 0, 0, &x));
	case 5: return RESULT(faccessat(dirfd, path, F_OK, 0));
	case 6: return RESULT(fchmodat(dirfd, path, 0555, 0));
	case 7: return RESULT(utimensat(dirfd, path, times, 0));
	case 8: return RESULT(syscall(SYS_execveat, dirfd, path, NULL, NULL, 0));
	case 9: return RESULT(fchownat(dirfd, path, (uid_t)-1, (gid_t)-1, 0));
	case 10: return RESULT(openat(dirfd, path, O_RDONLY | O_DIRECTORY));
	default: break;
	}
	if (dirfd != AT_FDCWD)
		return "";
	switch (which) {
	case 11: return RESULT(open(path, O_RDONLY));
	case 12: return RESULT(stat(path, &st));
	case 13: return RESULT(access(path, F_OK));
	case 14: return RESULT(chdir(path));
	case 15: return RESULT(statfs(path, &fs));
	case 16: return RESULT(getxattr(path, "user.x", text, sizeof(text)));
	case 17: return RESULT(listxattr(path, text, sizeof(text)));
	case 18: return RESULT(inotify_add_watch(watches, path, IN_MODIFY));
	case 19: return RESULT(truncate(path, 0));
	case 20: return RESULT(syscall(SYS_execve, path, NULL, NULL));
	case 21: return RESULT(chmod(path, 0555));
	case 22: return RESULT(link(path, "made"));
	default: return RESULT(rename(path, "made"));
	}
}

static void fill(char *to, size_t size, const char *text, const char *name, int proc)
{
	char link_name[64], *slash;

	(void)snprintf(link_name, sizeof(link_name), "%s", name);
	while (strstr(text, ".link") && (slash = strchr(link_name, '/')))
		*slash = '_';
	*to = '\0';
	for (size_t n; *text && (n = strlen(to)) < size; text++) {
		if (text[0] == '%')
			(void)snprintf(to + n, size - n, "%s", (text++, link_name));
		else if (text[0] == '@')
			(void)snprintf(to + n, size - n, "%d", proc);
		else
			(void)snprintf(to + n, size - n, "%c", *text);
	}
}

static void make_link(const char *name)
{
	char target[96], path[96];

	(void)snprintf(target, sizeof(target), "/proc/%s", name);
	fill(path, sizeof(path), "%s.link", name, 0);
	(void)unlink(path);
	MUST(symlink(target, path));
}

static void try_way(unsigned way, unsigned name, int proc)
{
	char path[160], like[160], answer[32];
	struct stat st;
	int dirfd = AT_FDCWD;

	fill(path, sizeof(path), ways[way].text, names[name].name, proc);
	fill(like, sizeof(like), ways[way].text, names[name].like, proc);
	for (unsigned which = 0; which < N_CALLS; which++) {
		MUST(fchdir(here));
		if (ways[way].dirfd)
			dirfd = (int)MUST(open(ways[way].dirfd, O_PATH | O_DIRECTORY));
		if (places[ways[way].place])
			MUST(chdir(places[ways[way].place]));
		if (which >= 22 && strstr(path, ".link")) /* of the link itself */
			continue;
		(void)snprintf(answer, sizeof(answer), "%s", call(which, dirfd, path));
		if (strcmp(answer, call(which, dirfd, like)) != 0 || (*answer && strcmp(answer, "ENOENT") != 0))
			printf("! way %u, call %u: %s says %s\n", way, which, path, answer);
		if (dirfd != AT_FDCWD)
			close(dirfd);
	}
	MUST(fchdir(here));
	if (strstr(path, ".link"))
		SHOWN("%s: lstat %s, readlink %d", path, RESULT(lstat(path, &st)), readlink(path, answer, sizeof(answer)) > 0);
}

/* What is there is found as before. */
static void try_present(unsigned way, const char *name, int proc)
{
	char path[160];
	struct stat st;
	int dirfd = AT_FDCWD;

	make_link(name);
	fill(path, sizeof(path), ways[way].text, name, proc);
	if (ways[way].dirfd)
		dirfd = (int)MUST(open(ways[way].dirfd, O_PATH | O_DIRECTORY));
	if (places[ways[way].place])
		MUST(chdir(places[ways[way].place]));
	SAME("%s from %s: %s", ways[way].text, places[ways[way].place] ? places[ways[way].place] : "here", RESULT(fstatat(dirfd, path, &st, 0)));
	if (dirfd != AT_FDCWD)
		close(dirfd);
	MUST(fchdir(here));
}

static void clean_up(const char *directory)
{
	DIR *links = opendir(".");
	const struct dirent *entry;

	while (links && (entry = readdir(links)))
		(void)unlink(entry->d_name);
	if (links)
		(void)closedir(links);
	MUST(chdir("/"));
	(void)rmdir(directory);
}

int main(void)
{
	char directory[] = "/tmp/vm_ways.XXXXXX";
	int proc;

	if (!mkdtemp(directory))
		return 1;
	MUST(chdir(directory));
	here = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
	watches = (int)MUST(inotify_init1(IN_CLOEXEC));
	proc = (int)MUST(fcntl((int)MUST(open("/proc", O_RDONLY | O_DIRECTORY)), F_DUPFD, 30));
	for (unsigned way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		if (way == 0) {
			MUST(symlink("/proc", "proc-link"));
			MUST(symlink("/proc/self", "self-link"));
			MUST(symlink("proc-link", "chain-link"));
			MUST(symlink("/", "root-link"));
			MUST(symlink("loop-link", "loop-link"));
		}
		for (unsigned name = 0; name < sizeof(names) / sizeof(names[0]) && getenv("VM_CALLS_REFUSED"); name++) {
			make_link(names[name].name);
			make_link(names[name].like);
			try_way(way, name, proc);
		}
		try_present(way, "uptime", proc);
	}
	SAME("loop: %s", RESULT(open("loop-link/x", O_RDONLY)));
	SAME("not a directory: %s", RESULT(open("proc-link/uptime/x", O_RDONLY)));
	clean_up(directory);
	vm_end();
	return 0;
}
