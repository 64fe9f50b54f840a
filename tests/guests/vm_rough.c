/* SPDX-License-Identifier: BSD-3-Clause */
/* What few programs do, and none should get far with: names that are as long as may be, many groups, writes to where none belong. See vm.h. */
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "vm.h"

/* "../" and slashes up to a length, then the name. */
static const char *long_name(size_t len, const char *name)
{
	static char path[PATH_MAX + 1];

	memset(path, '/', sizeof(path));
	memcpy(path, "..", 2);
	(void)strcpy(path + len - strlen(name), name);
	return path;
}

/* Down into directories with long names, or up again and rid of them. */
static void go(const char *name, int depth)
{
	for (; depth > 0; depth--) {
		MUST(mkdir(name, 0755));
		MUST(chdir(name));
	}
	for (; depth < 0; depth++) {
		MUST(chdir(".."));
		MUST(rmdir(name));
	}
}

static void long_names(void)
{
	enum { DEPTH = 12 };
	char name[251];
	struct stat st;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	(void)!chdir("/dev/shm"); /* better: a mount of its own */
	(void)rmdir(name);
	go(name, DEPTH);
	SAME("made %s", RESULT(mkdir("../rough", 0755)));
	SAME("up %s", RESULT(stat("../rough", &st)));
	SAME("nothing there %s", RESULT(stat("../nothing", &st)));
	SAME("as long as may be %s", RESULT(stat(long_name(PATH_MAX - 1, "rough"), &st)));
	SAME("and nothing there %s", RESULT(stat(long_name(PATH_MAX - 1, "nothing"), &st)));
	SAME("too long %s", RESULT(stat(long_name(PATH_MAX, "rough"), &st)));
	SAME("a file %s", RESULT(open(long_name(PATH_MAX - 1, "nothing"), O_RDONLY)));
	SAME("gone %s", RESULT(rmdir("../rough")));
	go(name, -DEPTH);
}

static volatile sig_atomic_t caught;

static void on_signal(int signo)
{
	caught = signo;
}

/* The status file of such a task is longer than anybody expects. */
static void many_groups(void)
{
	enum { MANY = 3000 };
	static gid_t groups[MANY];
	struct stat st;
	int status = -1;
	pid_t child;

	for (gid_t i = 0; i < MANY; i++)
		groups[i] = 1000000 + i;
	if (setgroups(MANY, groups) < 0)
		return; /* only root may */
	(void)signal(SIGUSR1, on_signal);
	MUST(kill(getpid(), SIGUSR1));
	SAME("caught %s", sigabbrev_np(caught));
	SAME("the directory %s", RESULT(stat(".", &st)));
	vm_sleep_ms(3);
	(void)signal(SIGUSR1, SIG_DFL);
	child = (pid_t)MUST(fork());
	if (!child) {
		(void)pause();
		_exit(1);
	}
	MUST(kill(child, SIGUSR1));
	MUST(waitpid(child, &status, 0));
	SAME("the child: %s", WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : "lives");
	SAME("groups %s", RESULT(getgroups(0, NULL)));
}

/* Reads all of it, after a while, and says how much. */
static pid_t late_reader(const char *what, int fd)
{
	pid_t child = (pid_t)MUST(fork());
	unsigned char buf[3000];
	unsigned total = 0, sum = 0;
	ssize_t n;

	if (child)
		return child;
	vm_sleep_ms(20);
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + buf[i];
		total += (unsigned)n;
	}
	SAME("%s: %u read, %x", what, total, sum);
	_exit(0);
}

/* What a socket with a small buffer takes is less than its readiness promises of others. */
static void small_buffer(void)
{
	static unsigned char data[30000];
	int s[2], p[2], small = 2048;
	ssize_t n, total = 0;
	pid_t child;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 7 + i / 256);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	MUST(setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)));
	child = late_reader("written", s[1]);
	SAME("write %s", RESULT(write(s[0], data, sizeof(data))));
	MUST(shutdown(s[0], SHUT_WR));
	MUST(waitpid(child, NULL, 0));
	close(s[0]);
	close(s[1]);

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	MUST(setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)));
	MUST(pipe(p));
	MUST(write(p[1], data, sizeof(data)));
	child = late_reader("spliced", s[1]);
	for (; total < (ssize_t)sizeof(data); total += n)
		n = MUST(splice(p[0], NULL, s[0], NULL, total ? 20000 : 100000, 0));
	SAME("splice %zd", total);
	MUST(shutdown(s[0], SHUT_WR));
	MUST(waitpid(child, NULL, 0));
	close(s[0]);
	close(s[1]);
	close(p[0]);
	close(p[1]);
}

/* The other end goes away while a write waits: a pipe's writer gets the signal as well, a socket's what it has done. */
static void left_alone(const char *what, const int fds[2])
{
	static const char data[400000];
	pid_t child = (pid_t)MUST(fork());
	char buf[5000];
	ssize_t n;

	if (!child) {
		close(fds[1]);
		vm_sleep_ms(20);
		MUST(read(fds[0], buf, sizeof(buf)));
		_exit(0);
	}
	close(fds[0]);
	caught = 0;
	n = write(fds[1], data, sizeof(data));
	SAME("%s: some written %d, signal %d", what, n > 0 && n < (ssize_t)sizeof(data), caught);
	caught = 0;
	SAME("%s: then %s", what, RESULT(write(fds[1], data, sizeof(data))));
	SAME("%s: signal %d", what, caught);
	MUST(waitpid(child, NULL, 0));
	close(fds[1]);
}

static void ends_gone(void)
{
	int fds[2];

	(void)signal(SIGPIPE, on_signal);
	MUST(pipe(fds));
	left_alone("pipe", fds);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	left_alone("socket", fds);
}

/* Where hermit counts reads of clocks. */
static void nonsense(void)
{
	volatile uint64_t *page = (volatile uint64_t *)0x7ffff8001000;
	uint64_t before = vm_now();

	if (msync((void *)page, 4096, MS_ASYNC) == 0) {
		page[0] = 1000;
		page[2] = 0;
		vm_sleep_ms(1);
		page[0] = UINT64_MAX / 2;
		vm_sleep_ms(1);
	}
	SAME("time goes on %d", vm_now() > before);
}

/* Lengths that nothing has. */
static void wrong_ranges(void)
{
	static char data[3] = "abc";
	struct iovec ranges[] = { { data, sizeof(data) }, { data, SIZE_MAX } };
	int p[2];

	MUST(pipe(p));
	SAME("written %s", RESULT(writev(p[1], ranges, 2)));
	SAME("one byte %s", RESULT(write(p[1], data, 1)));
	SAME("read %s", RESULT(readv(p[0], ranges, 2)));
	SAME("nothing was read %s", RESULT(read(p[0], data, 3)));
	close(p[0]);
	close(p[1]);
}

/* Text that is writable from the start: the flags of the section are given in its name. */
extern unsigned char own_breakpoint[];

static void __attribute__((noinline, section(".rough,\"awx\",@progbits#"))) rough_text(void)
{
	__asm__ volatile("own_breakpoint: rdtsc\n nop\n nop" ::: "rax", "rdx");
}

static void breakpoints(void)
{
	(void)signal(SIGTRAP, on_signal);
	caught = 0;
	rough_text();
	own_breakpoint[0] = 0xcc;
	own_breakpoint[1] = 0x90;
	SAME("no breakpoint %d", caught);
	rough_text();
	SAME("a breakpoint of its own %d", caught);
}

int main(void)
{
	long_names();
	many_groups();
	small_buffer();
	ends_gone();
	wrong_ranges();
	breakpoints();
	nonsense();
	SHOWN("at %llu", (unsigned long long)vm_now());
	vm_end();
	return 0;
}
