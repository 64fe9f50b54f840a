/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes: descriptors of them, deaths and who hears of them, descriptors that send signals, memory that is not there. See vm.h. */
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "vm.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static int pidfd_open(pid_t pid, unsigned flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

static int pidfd_send(int fd, int signo, siginfo_t *info, unsigned flags)
{
	return (int)syscall(SYS_pidfd_send_signal, fd, signo, info, flags);
}

static volatile sig_atomic_t caught, caught_fd, caught_band;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	(void)context;
	caught = signo;
	caught_fd = info->si_fd;
	caught_band = (int)info->si_band;
}

static void handle(int signo, int flags)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags };

	sigaction(signo, &sa, NULL);
	caught = 0;
}

/* ---- pidfd ---- */

static void show_fdinfo(const char *what, int fd)
{
	char path[64], line[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "Pid:", 4) || !strncmp(line, "NSpid:", 6))
			SHOWN("%s: %s", what, line);
	}
	if (f)
		(void)fclose(f);
}

static void process_descriptors(void)
{
	int fd, copy, p[2], status;
	siginfo_t info = { 0 };
	struct pollfd look;
	pid_t child;
	char c;

	MUST(pipe(p));
	child = fork();
	if (!child) {
		(void)pause();
		_exit(7);
	}
	fd = (int)MUST(pidfd_open(child, 0));
	SAME("close on exec %s", RESULT(fcntl(fd, F_GETFD)));
	look = (struct pollfd){ .fd = fd, .events = POLLIN };
	SAME("alive: poll %s", RESULT(poll(&look, 1, 0)));
	SAME("signal 0 %s", RESULT(pidfd_send(fd, 0, NULL, 0)));
	SAME("bad signal %s", RESULT(pidfd_send(fd, 99, NULL, 0)));
	SAME("bad flags %s", RESULT(pidfd_send(fd, 0, NULL, 0x80000000)));
	SAME("no pidfd %s", RESULT(pidfd_send(p[0], 0, NULL, 0)));
	SAME("bad descriptor %s", RESULT(pidfd_send(999, 0, NULL, 0)));
	info.si_signo = SIGUSR1;
	info.si_code = SI_USER;
	SAME("another's name %s", RESULT(pidfd_send(fd, SIGUSR1, &info, 0)));
	show_fdinfo("alive", fd);
	SAME("not yet %s", RESULT(waitid((idtype_t)P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG)));
	SAME("nothing %d", info.si_pid);
	copy = (int)syscall(SYS_pidfd_getfd, fd, p[1], 0);
	SAME("its descriptor %d", copy >= 0);
	MUST(write(copy, "c", 1));
	MUST(read(p[0], &c, 1));
	SAME("none of its descriptors %s", RESULT(syscall(SYS_pidfd_getfd, fd, 777, 0)));
	SAME("flags %s", RESULT(syscall(SYS_pidfd_getfd, fd, 0, 5)));
	SAME("kill %s", RESULT(pidfd_send(fd, SIGKILL, NULL, 0)));
	SAME("dead: poll %s", RESULT(poll(&look, 1, -1)));
	SAME("events %x", (unsigned)look.revents & POLLIN);
	show_fdinfo("dead", fd);
	memset(&info, 0, sizeof(info));
	SAME("left there %s", RESULT(waitid((idtype_t)P_PIDFD, (id_t)fd, &info, WEXITED | WNOWAIT)));
	SAME("%d by %d, ours %d", info.si_code, info.si_status, info.si_pid == child);
	SAME("taken %s", RESULT(waitid((idtype_t)P_PIDFD, (id_t)fd, &info, WEXITED)));
	SAME("again %s", RESULT(waitid((idtype_t)P_PIDFD, (id_t)fd, &info, WEXITED)));
	SAME("signal %s", RESULT(pidfd_send(fd, 0, NULL, 0)));
	SAME("no such process %s", RESULT(pidfd_open(child, 0)));
	SAME("no process %s", RESULT(pidfd_open(0, 0)));
	SAME("bad flags %s", RESULT(pidfd_open(getpid(), 0x40000000)));
	SAME("wait for no pidfd %s", RESULT(waitid((idtype_t)P_PIDFD, (id_t)p[0], &info, WEXITED)));
	close(fd);
	/* Waiting for it, blocked; and by clone. */
	struct clone_args args = { .flags = CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)&fd, .exit_signal = SIGCHLD };

	child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!child) {
		vm_sleep_ms(10);
		_exit(3);
	}
	SAME("clone3 %d", child > 0);
	SAME("waits %s", RESULT(waitid((idtype_t)P_PIDFD, (id_t)fd, &info, WEXITED)));
	SAME("status %d", info.si_status);
	close(fd);
	/* poll before SIGCHLD is handled */
	handle(SIGCHLD, SA_RESTART);
	child = fork();
	if (!child)
		_exit(0);
	fd = (int)MUST(pidfd_open(child, 0));
	look.fd = fd;
	while (poll(&look, 1, -1) < 0)
		;
	while (!caught) /* natively the descriptor may be first */
		vm_sleep_ms(1);
	SAME("and the signal %d", caught == SIGCHLD);
	MUST(waitpid(child, &status, 0));
	signal(SIGCHLD, SIG_DFL);
	close(fd);
	/* of a thread */
	SHOWN("pidfd of a thread that is none %s", RESULT(pidfd_open(99999999, 0)));
	fd = (int)MUST(pidfd_open(getpid(), O_NONBLOCK));
	SAME("not blocking %s", RESULT(waitid((idtype_t)P_PIDFD, (id_t)fd, &info, WEXITED)));
	close(fd);
	close(p[0]);
	close(p[1]);
}

/* ---- the parent's death ---- */

static void parents_death(void)
{
	int p[2], prepared[2], status;
	char line[64] = "", c;

	MUST(pipe(p));
	MUST(pipe(prepared));
	if (!fork()) {
		if (!fork()) {
			int signo = 0;

			handle(SIGUSR1, 0);
			MUST(prctl(PR_SET_PDEATHSIG, SIGUSR1));
			MUST(prctl(PR_GET_PDEATHSIG, &signo));
			MUST(write(p[1], "ready ", 6));
			MUST(write(prepared[1], "+", 1));
			while (!caught)
				vm_sleep_ms(1);
			MUST(dprintf(p[1], "%d of %d, orphan %d", (int)caught, signo, getppid() != 0));
			_exit(0);
		}
		MUST(read(prepared[0], &c, 1));
		_exit(0);
	}
	close(p[1]);
	close(prepared[0]);
	close(prepared[1]);
	wait(&status);
	for (ssize_t n, at = 0; (n = read(p[0], line + at, sizeof(line) - 1 - (size_t)at)) > 0;)
		at += n;
	SAME("death signal: %s", line);
	SAME("bad signal %s", RESULT(prctl(PR_SET_PDEATHSIG, 99)));
	close(p[0]);
}

/* Orphans go to the next who takes them. */
static void orphans(void)
{
	int status, p[2];
	pid_t middle;
	char c;

	MUST(pipe(p));
	MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
	middle = fork();
	if (!middle) {
		if (!fork()) {
			while (getppid() == middle || read(p[0], &c, 1) < 0)
				;
			_exit(9);
		}
		_exit(0);
	}
	SAME("the middle one %d", waitpid(middle, &status, 0) == middle);
	MUST(write(p[1], "x", 1));
	SAME("the orphan is ours %d", wait(&status) > 0);
	SAME("status %d", WEXITSTATUS(status));
	SAME("nobody left %s", RESULT(wait(&status)));
	MUST(prctl(PR_SET_CHILD_SUBREAPER, 0));
	close(p[0]);
	close(p[1]);
}

/* ---- signals of descriptors ---- */

static void descriptor_signals(void)
{
	int p[2], s[2];
	struct f_owner_ex owner;
	pid_t child;

	handle(SIGIO, SA_RESTART);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	MUST(fcntl(s[0], F_SETOWN, getpid()));
	SAME("owner is us %d", fcntl(s[0], F_GETOWN) == getpid());
	MUST(fcntl(s[0], F_SETFL, O_ASYNC | O_NONBLOCK));
	MUST(write(s[1], "x", 1));
	SAME("SIGIO at once %d", caught == SIGIO);
	handle(SIGRTMIN + 1, SA_RESTART);
	MUST(fcntl(s[0], F_SETSIG, SIGRTMIN + 1));
	SAME("F_GETSIG %d", fcntl(s[0], F_GETSIG) - SIGRTMIN);
	MUST(write(s[1], "y", 1));
	SAME("another %d, of the descriptor %d, band %x", caught - SIGRTMIN, caught_fd == s[0], (unsigned)caught_band);
	MUST(pipe(p));
	owner = (struct f_owner_ex){ F_OWNER_TID, (pid_t)syscall(SYS_gettid) };
	MUST(fcntl(p[0], F_SETOWN_EX, &owner));
	MUST(fcntl(p[0], F_GETOWN_EX, &owner));
	SAME("type %d, us %d", owner.type, owner.pid == getpid());
	MUST(fcntl(p[0], F_SETFL, O_ASYNC));
	MUST(fcntl(p[0], F_SETSIG, SIGIO));
	/* Another process writes while we wait. */
	caught = 0;
	child = fork();
	if (!child) {
		vm_sleep_ms(10);
		MUST(write(p[1], "x", 1));
		_exit(0);
	}
	while (!caught)
		vm_sleep_ms(1);
	SAME("from the child %d", caught == SIGIO);
	waitpid(child, NULL, 0);
	SAME("no such owner %s", RESULT(fcntl(p[0], F_SETOWN, 99999999)));
	close(p[0]);
	close(p[1]);
	close(s[0]);
	close(s[1]);
}

/* ---- memory that is not there ---- */

static void memory(void)
{
	char *map = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char pages[4];
	static const struct {
		const char *name;
		int advice;
	} advices[] = { { "NORMAL", 0 },     { "RANDOM", 1 },	   { "SEQUENTIAL", 2 }, { "WILLNEED", 3 },   { "DONTNEED", 4 },
			{ "FREE", 8 },	     { "DONTFORK", 10 },   { "DOFORK", 11 },	{ "DONTDUMP", 16 },  { "DODUMP", 17 },
			{ "WIPEONFORK", 18 }, { "KEEPONFORK", 19 }, { "COLD", 20 },	{ "PAGEOUT", 21 },   { "POPULATE_READ", 22 },
			{ "POPULATE_WRITE", 23 } };

	memset(map, 1, 4 * 4096);
	MUST(munmap(map + 4096, 4096));
	for (unsigned i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		SAME("%s: over the hole %s", advices[i].name, RESULT(madvise(map, 4 * 4096, advices[i].advice)));
		SAME("%s: in the hole %s", advices[i].name, RESULT(madvise(map + 4096, 4096, advices[i].advice)));
		SAME("%s: not of a page %s", advices[i].name, RESULT(madvise(map + 1, 4096, advices[i].advice)));
		SAME("%s: of nothing %s", advices[i].name, RESULT(madvise(map, 0, advices[i].advice)));
	}
	SAME("unknown advice %s", RESULT(madvise(map, 4096, 9999)));
	SAME("mincore over the hole %s", RESULT(mincore(map, 4 * 4096, pages)));
	SAME("mincore not of a page %s", RESULT(mincore(map + 1, 4096, pages)));
	SAME("mincore to nowhere %s", RESULT(mincore(map, 4096, (unsigned char *)8)));
	SAME("mincore %s", RESULT(mincore(map + 8192, 8192, pages)));
	SHOWN("resident %d %d", pages[0], pages[1]);
	MUST(munmap(map, 4 * 4096));
	SAME("no replacing %s",
	     mmap((void *)((uintptr_t)&pages & ~4095ul), 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED ? strerrorname_np(errno) :
														       "replaced");
}

/* Layout: the same each time, whoever asks. */
static void layout(void)
{
	static int somewhere;
	void *heap = malloc(100), *large = malloc(1 << 20), *low;
	int here;

	low = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	SHOWN("text %p data %p stack %p heap %p large %p break %p low %p library %p", (void *)(uintptr_t)layout, (void *)&somewhere,
	      (void *)&here, heap, large, sbrk(0), low, (void *)(uintptr_t)printf);
	free(heap);
	free(large);
}

static void *allocate(void *arg)
{
	uintptr_t sum = 0;

	for (size_t i = 1; i < 400; i++)
		sum = sum * 31 + (uintptr_t)malloc(i * 37 % 5000 + 1);
	*(uintptr_t *)arg = sum;
	return NULL;
}

static void arenas(void)
{
	uintptr_t sums[8];
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, allocate, &sums[i]);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 8; i++)
		SHOWN("addresses of thread %d: %lx", i, (unsigned long)sums[i]);
}

/* ---- one process in another's memory ---- */

static void others_memory(void)
{
	static char there[16] = "theirs";
	char here[16] = "";
	struct iovec local = { here, sizeof(here) }, remote = { there, sizeof(there) };
	int written[2];
	pid_t child;

	MUST(pipe(written));
	child = (pid_t)MUST(fork());
	if (!child) {
		strcpy(there, "the child's");
		close(written[0]);
		close(written[1]);
		(void)pause();
		_exit(0);
	}
	close(written[1]);
	MUST(read(written[0], here, 1)); /* its end: natively the child may take its time */
	close(written[0]);
	SAME("read %s", RESULT(process_vm_readv(child, &local, 1, &remote, 1, 0)));
	SAME("%s", here);
	strcpy(here, "ours");
	SAME("write %s", RESULT(process_vm_writev(child, &local, 1, &remote, 1, 0)));
	SAME("flags %s", RESULT(process_vm_readv(child, &local, 1, &remote, 1, 1)));
	SAME("nobody %s", RESULT(process_vm_readv(99999999, &local, 1, &remote, 1, 0)));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* ---- many at once ---- */

static void births(void)
{
	int p[2], status;
	char order[41] = "";
	size_t at = 0;
	ssize_t n;

	MUST(pipe(p));
	for (int i = 0; i < 40; i++) {
		if (fork())
			continue;
		sched_yield();
		MUST(write(p[1], (char[]){ (char)('0' + i) }, 1));
		_exit(i);
	}
	close(p[1]);
	while ((n = read(p[0], order + at, sizeof(order) - 1 - at)) > 0)
		at += (size_t)n;
	SAME("%zu children", strlen(order));
	SHOWN("write in order %s", order);
	at = 0;
	for (pid_t pid; (pid = wait(&status)) > 0;)
		at = at * 31 + (size_t)WEXITSTATUS(status);
	SHOWN("and die in order %zx", at);
}

/*
 * What /proc lists of a host's accidents is nothing, and by name there is nothing either: each call says what it says of a name that nobody has. Not
 * natively, where some of that would be done.
 */
static void not_listed(void)
{
	static const char *const names[] = {
		"/proc/no-such", "/proc/config.gz", "/proc/kcore", "/proc/mdstat", "/proc/fb", "/proc/mtrr", "/proc/acpi", "/proc/irq", "/proc/irq/0",
		"/proc/bus/input/devices", "/proc/driver/rtc", "/proc/tty/driver/serial", "/proc/fs/ext4", "/proc/sys/net/netfilter", "/proc/self/no-such",
		"/proc/thread-self/no-such", "/proc//config.gz", "/proc/./irq/./0", "/proc/self/../config.gz", "/proc/tty/../irq", "/proc/config.gz/below",
		"//proc/config.gz", "/.//./proc/mdstat",
	};
	int directory = (int)MUST(open("/proc", O_RDONLY | O_DIRECTORY));
	struct statx x;
	struct stat st;
	char text[8];

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *name = names[i];

		SHOWN("%s: open %s", name, RESULT(open(name, O_RDONLY)));
		SHOWN("%s: open as a place %s", name, RESULT(open(name, O_PATH)));
		SHOWN("%s: create %s", name, RESULT(open(name, O_RDONLY | O_CREAT, 0600)));
		SHOWN("%s: openat %s", name, RESULT(openat(directory, name + 6, O_RDONLY)));
		SHOWN("%s: stat %s", name, RESULT(stat(name, &st)));
		SHOWN("%s: lstat %s", name, RESULT(lstat(name, &st)));
		SHOWN("%s: statx %s", name, RESULT(statx(directory, name + 6, 0, 0, &x)));
		SHOWN("%s: access %s", name, RESULT(access(name, F_OK)));
		SHOWN("%s: readlink %s", name, RESULT(readlink(name, text, sizeof(text))));
		SHOWN("%s: chdir %s", name, RESULT(chdir(name)));
		SHOWN("%s: mkdir %s", name, RESULT(mkdir(name, 0700)));
		SHOWN("%s: unlink %s", name, RESULT(unlink(name)));
		SHOWN("%s: chmod %s", name, RESULT(chmod(name, 0600)));
		SHOWN("%s: truncate %s", name, RESULT(truncate(name, 0)));
		SHOWN("%s: rename %s", name, RESULT(rename("/proc/uptime", name)));
		SHOWN("%s: execute %s", name, RESULT(syscall(SYS_execve, name, NULL, NULL)));
	}
	close(directory);
	/* A symbolic link may name what it likes. */
	SHOWN("%s", RESULT(symlink("/proc/config.gz", "/tmp/vm_proc.link")));
	(void)unlink("/tmp/vm_proc.link");
}

int main(void)
{
	process_descriptors();
	parents_death();
	orphans();
	descriptor_signals();
	memory();
	layout();
	arenas();
	others_memory();
	births();
	if (getenv("VM_CALLS_REFUSED"))
		not_listed();
	vm_end();
	return 0;
}
