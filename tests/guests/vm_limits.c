/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits: each bites at the same point, with Linux's word for it. See vm.h. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "vm.h"

static volatile sig_atomic_t caught;

static void on_signal(int signo)
{
	caught = signo;
}

static void limit(int which, rlim_t soft, rlim_t hard)
{
	struct rlimit value = { soft, hard };

	MUST(setrlimit(which, &value));
}

static void in_a_child(const char *what, void (*function)(void))
{
	int status;
	pid_t child = (pid_t)MUST(fork());

	if (!child) {
		limit(RLIMIT_CORE, 0, 0);
		function();
		(void)fflush(stdout);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0));
	if (WIFSIGNALED(status))
		SAME("%s: killed by %s", what, sigabbrev_np(WTERMSIG(status)));
	else
		SAME("%s: exit %d", what, WEXITSTATUS(status));
}

static void address_space(void)
{
	int n = 0;

	limit(RLIMIT_AS, 64 << 20, 64 << 20);
	while (n < 1000 && mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		n++;
	SAME("memory: some %d, then %s", n > 40 && n < 64, strerrorname_np(errno));
	SHOWN("memory: %d", n);
	SAME("malloc %d", malloc(10 << 20) == NULL);
}

static volatile int depth;
static char *volatile nowhere;
static volatile int depth_pipe;

static int __attribute__((noinline)) deeper(volatile char *above)
{
	volatile char here[1024];

	here[0] = above ? above[0] : 0;
	depth++;
	if (depth % 16 == 0)
		(void)!write(depth_pipe, "x", 1);
	return here == nowhere ? 0 : deeper(here) + here[0];
}

static void small_stack(void)
{
	limit(RLIMIT_STACK, 1 << 18, 1 << 18);
	(void)deeper(NULL);
}

static void stack(void)
{
	char text[256];
	int p[2];
	ssize_t n;
	long total = 0;

	MUST(pipe(p));
	depth_pipe = p[1];
	in_a_child("the stack", small_stack);
	close(p[1]);
	while ((n = read(p[0], text, sizeof(text))) > 0)
		total += n;
	SAME("some calls %d", total > 5 && total < 20);
	SHOWN("deep %ld times 16", total);
	close(p[0]);
}

static void processor(void)
{
	long n = 0;

	(void)signal(SIGXCPU, on_signal);
	limit(RLIMIT_CPU, 1, RLIM_INFINITY);
	while (!caught) {
		for (int i = 0; i < 100000; i++) /* not few: natively who yields often gets next to nothing of a processor that others want */
			(void)vm_now();
		(void)syscall(SYS_sched_yield);
		n++;
	}
	SAME("processor time: %s", sigabbrev_np(caught));
	SHOWN("after %ld rounds", n);
}

static void file_size(void)
{
	static char data[10000];
	int fd = (int)MUST(open("file", O_RDWR | O_CREAT | O_TRUNC, 0600));

	(void)signal(SIGXFSZ, on_signal);
	limit(RLIMIT_FSIZE, 15000, 15000);
	SAME("first %s", RESULT(write(fd, data, sizeof(data))));
	SAME("as much as may be %s", RESULT(write(fd, data, sizeof(data))));
	SAME("nothing yet %d", caught);
	SAME("no more %s", RESULT(write(fd, data, 1)));
	SAME("by %s", sigabbrev_np(caught));
	SAME("longer %s", RESULT(ftruncate(fd, 15001)));
	SAME("in place %s", RESULT(pwrite(fd, data, 100, 14950)));
	SAME("room %s", RESULT(fallocate(fd, 0, 0, 20000)));
	close(fd);
}

static void file_size_default(void)
{
	int fd = (int)MUST(open("file", O_RDWR | O_CREAT | O_TRUNC, 0600));

	limit(RLIMIT_FSIZE, 10, 10);
	(void)!write(fd, "0123456789", 10);
	(void)!write(fd, "x", 1);
}

static void descriptors(void)
{
	int p[2], n = 0, fd, used = 0;

	for (fd = 0; fd < 20; fd++)
		used += fcntl(fd, F_GETFD) >= 0;
	limit(RLIMIT_NOFILE, 20, 20);
	while (dup(0) >= 0)
		n++;
	SAME("descriptors: all places %d, then %s", n + used == 20, strerrorname_np(errno));
	SAME("pipe %s", RESULT(pipe(p)));
	SAME("open %s", RESULT(open("/dev/null", O_RDONLY)));
	MUST(close(7));
	SAME("the lowest %s", RESULT(open("/dev/null", O_RDONLY)));
	SAME("too high %s", RESULT(dup2(0, 20)));
	SAME("too high a start %s", RESULT(fcntl(0, F_DUPFD, 20)));
}

/* As another user: root has no such limit. */
static void processes(void)
{
	uid_t user = 100000 + (uid_t)getpid();
	int n = 0;

	MUST(setpgid(0, 0));
	(void)setpriority(PRIO_PROCESS, 0, 0); /* natively it is the caller's, which may be any */
	SAME("can be dumped %s", RESULT(prctl(PR_GET_DUMPABLE)));
	/* Somebody who natively has no processes, not even those of a run that was killed. */
	if (setresuid(user, user, user) < 0)
		return; /* nobody else to be */
	SAME("not any more %s", RESULT(prctl(PR_GET_DUMPABLE)));
	SAME("nicer %s", RESULT(setpriority(PRIO_PROCESS, 0, 5)));
	SAME("less nice %s", RESULT(setpriority(PRIO_PROCESS, 0, 4)));
	SAME("niceness %d", getpriority(PRIO_PROCESS, 0));
	limit(RLIMIT_NPROC, 7, 7);
	for (pid_t child; n < 50 && (child = fork()) >= 0; n++)
		if (!child) {
			(void)pause();
			_exit(0);
		}
	SAME("processes: %d, then %s", n, strerrorname_np(errno));
	(void)signal(SIGTERM, SIG_IGN);
	MUST(kill(0, SIGTERM));
	while (wait(NULL) > 0)
		;
	n = fork();
	if (!n)
		_exit(0);
	SAME("room again %d", n > 0);
}

/* How much goes into a full pipe. */
static void pipes(void)
{
	static char data[200000];
	int p[2];

	MUST(pipe2(p, O_NONBLOCK));
	SAME("a pipe holds %s", RESULT(write(p[1], data, sizeof(data))));
	SAME("and no more %s", RESULT(write(p[1], data, 1)));
	MUST(read(p[0], data, 100));
	SAME("a piece of a page is no room %s", RESULT(write(p[1], data, 1)));
	MUST(read(p[0], data, 4000));
	SAME("a page is %s", RESULT(write(p[1], data, 5000)));
	SAME("made larger %s", RESULT(fcntl(p[1], F_SETPIPE_SZ, 1 << 17)));
	SAME("holds %s", RESULT(write(p[1], data, sizeof(data))));
	SAME("too small now %s", RESULT(fcntl(p[1], F_SETPIPE_SZ, 4096)));
	close(p[0]);
	close(p[1]);
	/* What is larger than PIPE_BUF goes in pieces, what is not goes whole. */
	MUST(pipe2(p, O_NONBLOCK));
	while (write(p[1], data, 4096) > 0)
		;
	MUST(read(p[0], data, 4096));
	SAME("PIPE_BUF %s", RESULT(write(p[1], data, 4096)));
	MUST(read(p[0], data, 4096));
	SAME("PIPE_BUF and one %s", RESULT(write(p[1], data, 4097)));
	close(p[0]);
	close(p[1]);
}

int main(void)
{
	in_a_child("memory", address_space);
	stack();
	in_a_child("processor", processor);
	in_a_child("file size", file_size);
	in_a_child("file size, not handled", file_size_default);
	in_a_child("descriptors", descriptors);
	in_a_child("processes", processes);
	pipes();
	SHOWN("at %llu", (unsigned long long)vm_now());
	vm_end();
	return 0;
}
