/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend "notify" with guests of many tasks: births, deaths, exec, stops, and what is left of them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "drive.h"

static const struct verdict go = { .kind = VERDICT_GO };

/* --- births --- */

static void *thread_marks(void *arg)
{
	(void)mark(1, (uintptr_t)arg, (uint64_t)gettid(), 0);
	return NULL;
}

static pthread_t start_thread(void *(*fn)(void *), uintptr_t arg)
{
	pthread_t thread;

	check_int(pthread_create(&thread, NULL, fn, (void *)arg), 0);
	return thread;
}

static int guest_makes_threads(void)
{
	pthread_t threads[4];
	uintptr_t i;

	for (i = 0; i < 4; i++) {
		threads[i] = start_thread(thread_marks, i);
		(void)mark(2, (uint64_t)getpid(), 0, 0);
	}
	for (i = 0; i < 4; i++)
		check_int(pthread_join(threads[i], NULL), 0);
	return 5;
}

static void test_threads(struct drive *d)
{
	struct event event, birth;
	int i;

	for (i = 0; i < 4; i++) {
		birth = drive_until_kind(d, EVENT_BIRTH);
		check_int(birth.task, 0);
		check_int(birth.birth.child, i + 1);
		drive_resume(d, birth.birth.child, go); /* the parent stays stopped: the child runs alone */
		event = drive_until(d, 1);
		check_int(event.task, i + 1);
		check_int(event.call.args[1], i);
		check_int(event.call.args[2], birth.birth.vtid);
		check_int(birth.birth.vpid, d->pid);
		drive_resume(d, 0, go);
		event = drive_until(d, 2);
		check_int(event.call.args[1], birth.birth.vpid);
		drive_answer(d, event.task, 0);
		drive_answer(d, i + 1, 0);
	}
	drive_to_end(d);
	check_int(d->counts[EVENT_EXIT], 5);
}

static int guest_makes_children(void)
{
	char *argv[] = { (char *)(uintptr_t) "true", NULL };
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0)
		_exit(3);
	check_int(waitpid(pid, &status, 0), pid);
	check_int(WEXITSTATUS(status), 3);
	check_int(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ), 0);
	check_int(waitpid(pid, &status, 0), pid);
	check_int(status, 0);
	return 0;
}

static void test_children(struct drive *d)
{
	struct event event;
	int vpid;

	event = drive_until_kind(d, EVENT_BIRTH);
	check_int(event.birth.child, 1);
	check_int(event.birth.vtid, event.birth.vpid);
	check(event.birth.vpid != d->pid);
	drive_pass(d, &event);
	event = drive_until_kind(d, EVENT_BIRTH); /* vfork: the parent stays stopped until the exec */
	vpid = event.birth.vpid;
	drive_resume(d, event.birth.child, go);
	event = drive_until_kind(d, EVENT_EXEC);
	check_int(event.task, 2);
	check_int(event.old_task, 2);
	drive_resume(d, 0, go);
	drive_pass(d, &event);
	drive_to_end(d);
	check_int(d->g->ops->settle_reaped(d->g, vpid), 0);
	check_int(d->counts[EVENT_EXIT], 3);
}

static int guest_hides_child(void)
{
	syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, NULL, NULL, NULL, NULL);
	while (mark(1, (uint64_t)getpid(), 0, 0) == 0)
		;
	return 1;
}

/* A child that escapes the companion is found by its first call, and does not outlive that. */
static void test_stranger(struct drive *d)
{
	struct event event;
	int r;

	check_int(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* what is left of the guest comes here */
	do {
		r = d->g->ops->wait(d->g, &event);
		if (r == 0)
			drive_pass(d, &event);
	} while (r == 0);
	check_int(r, -EPROTO);
	d->g = backend_close(d->g);
	while (wait(NULL) > 0)
		;
	check_int(errno, ECHILD);
}

/* --- exec by a thread that is not the leader --- */

static void *thread_execs(void *arg)
{
	char *argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t) "exit 9", NULL };

	(void)execv("/bin/sh", argv);
	return NULL;
}

static int guest_execs_by_thread(void)
{
	(void)start_thread(thread_marks, 0);
	(void)start_thread(thread_execs, 0);
	(void)mark(2, 0, 0, 0);
	return 1;
}

static void test_exec_by_thread(struct drive *d)
{
	bool marked[2] = { false, false }, exec = false;
	struct event event;
	char byte;

	/* the leader and the first thread stay parked, the second executes a program */
	while (!marked[0] || !marked[1] || !exec) {
		event = drive_next(d);
		if (event.kind == EVENT_CALL && event.call.nr == MARK_NR)
			marked[event.task] = true;
		else if (event.kind == EVENT_CALL && event.call.nr == SYS_execve && event.task == 2)
			exec = true;
		else
			drive_pass(d, &event);
	}
	drive_resume(d, 2, (struct verdict){ .kind = VERDICT_CONTINUE });
	event = drive_next(d);
	check_int(event.kind, EVENT_EXIT);
	check_int(event.task, 1);
	event = drive_next(d);
	check_int(event.kind, EVENT_EXIT);
	check_int(event.task, 0);
	event = drive_next(d);
	check_int(event.kind, EVENT_EXEC);
	check_int(event.task, 2);
	check_int(event.old_task, 2);
	check_int(d->g->ops->read(d->g, 2, 0, &byte, 1), -EFAULT); /* it is alive, under another id */
	check_int(d->g->ops->resume(d->g, 0, &go), -ESRCH);
	drive_pass(d, &event);
	do {
		event = drive_next(d);
		drive_pass(d, &event);
	} while (event.kind != EVENT_EXIT);
	check_int(event.task, 2);
	check_int(event.wait_status, 9 << 8);
	check_int(d->living, 0);
}

/* --- deaths --- */

static int guest_parks_threads(void)
{
	int i;

	for (i = 0; i < 8; i++)
		(void)start_thread(thread_marks, 0);
	(void)mark(2, 0, 0, 0);
	_exit(6);
}

/* All eight threads and the leader are parked. */
static void park_all(struct drive *d)
{
	unsigned parked = 0;
	struct event event;

	while (parked < 9) {
		event = drive_next(d);
		if (event.kind == EVENT_CALL && event.call.nr == MARK_NR)
			parked++;
		else
			drive_pass(d, &event);
	}
}

/* Threads by number, then the leader, in whatever order they really died. */
static void check_deaths_in_order(struct drive *d, int status)
{
	struct event event;
	int i;

	for (i = 1; i <= 9; i++) {
		event = drive_next(d);
		check_int(event.kind, EVENT_EXIT);
		check_int(event.task, i % 9);
		check_int(event.wait_status, status);
	}
	check_int(d->living, 0);
}

static void test_exit_group(struct drive *d)
{
	struct event event;

	park_all(d);
	drive_answer(d, 0, 0);
	event = drive_until_call(d, SYS_exit_group);
	drive_pass(d, &event);
	check_deaths_in_order(d, 6 << 8);
}

static void test_killed_together(struct drive *d)
{
	park_all(d);
	check_int(kill(d->pid, SIGKILL), 0);
	check_deaths_in_order(d, SIGKILL);
}

static void test_close_with_threads(struct drive *d)
{
	park_all(d);
}

static int guest_leader_leaves(void)
{
	(void)start_thread(thread_marks, 0);
	(void)mark(2, 0, 0, 0);
	syscall(SYS_exit, 0);
	return 1;
}

static void test_leader_leaves(struct drive *d)
{
	bool thread = false, leader = false;
	struct event event;
	char byte;

	while (!thread || !leader) {
		event = drive_next(d);
		if (event.kind == EVENT_CALL && event.call.nr == MARK_NR)
			*(event.task ? &thread : &leader) = true;
		else
			drive_pass(d, &event);
	}
	drive_answer(d, 0, 0);
	event = drive_until_call(d, SYS_exit);
	drive_pass(d, &event);
	check_int(d->g->ops->settle_leader(d->g, 0), 0);
	/* the thread lives on: its memory and its descriptors are there although the leader's are not */
	check_int(d->g->ops->read(d->g, 1, 0, &byte, 1), -EFAULT);
	check(d->g->ops->fd_borrow(d->g, 1, 1) >= 0);
	drive_answer(d, 1, 0);
	drive_to_end(d);
	check_int(d->last_exit, 0);
}

/* SIGCHLD is blocked, as an init has it: a wait that it interrupted would stop for it, with nobody to let it go on, before it reaps. */
static int guest_has_orphan(void)
{
	sigset_t child;
	pid_t pid;
	int status;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	check_int(sigprocmask(SIG_BLOCK, &child, NULL), 0);
	check_int(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid = fork();
	if (pid == 0) {
		if (fork() == 0)
			(void)mark(1, (uint64_t)getpid(), 0, 0);
		_exit(0);
	}
	while (wait(&status) > 0)
		;
	return 0;
}

static void test_orphan(struct drive *d)
{
	struct event event;
	int vpid = 0;
	unsigned waits = 0;
	bool marked = false;

	/* the orphan is parked when the guest is in its second wait, where it will reap it */
	while (!marked || waits < 2) {
		event = drive_next(d);
		if (event.kind == EVENT_CALL && event.call.nr == MARK_NR) {
			check_int(event.task, 2);
			vpid = (int)event.call.args[1];
			marked = true;
			continue;
		}
		waits += event.kind == EVENT_CALL && event.call.nr == SYS_wait4 && event.task == 0;
		drive_pass(d, &event);
	}
	drive_answer(d, 2, 0);
	do {
		event = drive_next(d);
		drive_pass(d, &event);
	} while (event.kind != EVENT_EXIT || event.task != 2);
	check_int(d->g->ops->settle_reaped(d->g, vpid), 0);
	check(kill(vpid, 0) < 0 && errno == ESRCH);
	check_int(d->g->ops->settle_reaped(d->g, vpid), 0); /* unknown by now */
	drive_to_end(d);
}

/* --- signals and stops with threads --- */

static volatile int handled;

static void on_signal(int signo)
{
	handled++;
}

static void *thread_expects_interruption(void *arg)
{
	check_int(mark(1, 0, 0, 0), -1);
	check_int(errno, EINTR);
	return NULL;
}

static int guest_is_interrupted_in_thread(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t thread;

	check_int(sigaction(SIGUSR1, &sa, NULL), 0);
	thread = start_thread(thread_expects_interruption, 0);
	check_int(mark(2, 0, 0, 0), 0);
	check_int(pthread_join(thread, NULL), 0);
	check_int(handled, 1);
	return 0;
}

/* The kernel marks the leader for a signal to the process; that another thread takes it needs the forced look. */
static void test_interrupted_thread(struct drive *d)
{
	siginfo_t info = { .si_signo = SIGUSR1, .si_code = SI_USER, .si_pid = 77 };
	bool thread = false, leader = false;
	struct event event;

	while (!thread || !leader) {
		event = drive_next(d);
		if (event.kind == EVENT_CALL && event.call.nr == MARK_NR)
			*(event.task ? &thread : &leader) = true;
		else
			drive_pass(d, &event);
	}
	check_int(d->g->ops->signal_send(d->g, 0, false, &info), 0);
	drive_resume(d, 1, (struct verdict){ .kind = VERDICT_RESTART, .value = -512 });
	event = drive_next(d);
	check_int(event.kind, EVENT_SIGNAL);
	check_int(event.task, 1);
	check_int(event.siginfo.si_pid, 77);
	drive_pass(d, &event);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

static int guest_stops_with_thread(void)
{
	pthread_t thread = start_thread(thread_marks, 0);

	check_int(raise(SIGSTOP), 0);
	(void)mark(2, 0, 0, 0);
	check_int(pthread_join(thread, NULL), 0);
	return 0;
}

/* The thread is parked when the leader stops the process. */
static struct event stop_leader(struct drive *d)
{
	struct event event, stop = { .task = -1 };
	bool parked = false;

	while (!parked || stop.task < 0) {
		event = drive_next(d);
		if (event.kind == EVENT_CALL && event.call.nr == MARK_NR)
			parked = true;
		else if (event.kind == EVENT_CALL && event.call.nr == SYS_tgkill)
			stop = event;
		else
			drive_pass(d, &event);
	}
	drive_pass(d, &stop);
	event = drive_until_kind(d, EVENT_STOPPED);
	check_int(event.task, 0);
	return event;
}

/* The parked thread does not take part in the stop until it is answered; SIGCONT then leaves a trace that nobody needs. */
static void test_stop_with_thread(struct drive *d)
{
	struct event event;

	event = stop_leader(d);
	drive_pass(d, &event);
	check_int(kill(d->pid, SIGCONT), 0);
	event = drive_until_kind(d, EVENT_CONTINUED);
	check_int(event.task, 0);
	drive_pass(d, &event);
	(void)drive_until(d, 2);
	drive_answer(d, 0, 0);
	drive_answer(d, 1, 0);
	drive_to_end(d);
}

static void test_thread_joins_stop(struct drive *d)
{
	struct event event;

	event = stop_leader(d);
	drive_pass(d, &event);
	drive_answer(d, 1, 0);
	event = drive_next(d);
	check_int(event.kind, EVENT_STOPPED);
	check_int(event.task, 1);
	check_int(event.signo, SIGSTOP);
	drive_pass(d, &event);
	check_int(kill(d->pid, SIGCONT), 0);
	drive_to_end(d);
	check_int(d->counts[EVENT_CONTINUED], 2);
}

/* --- nothing is left of many --- */

#ifdef __SANITIZE_ADDRESS__ /* keeps freed memory for a while */
enum { SLACK_PAGES = 100000 };
#else
enum { SLACK_PAGES = 16 };
#endif

enum { MANY = 10000 };

static void *thread_does_nothing(void *arg)
{
	return NULL;
}

static int guest_makes_many_threads(void)
{
	int i;

	for (i = 0; i < MANY; i++) {
		check_int(pthread_join(start_thread(thread_does_nothing, 0), NULL), 0);
		if (i == MANY / 10)
			(void)mark(1, 0, 0, 0);
	}
	(void)mark(2, 0, 0, 0);
	return 0;
}

static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	check(dir != NULL);
	while (readdir(dir))
		n++;
	check_int(closedir(dir), 0);
	return n;
}

static long resident_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long size, resident;

	check(f != NULL);
	check_int(fscanf(f, "%ld %ld", &size, &resident), 2);
	check_int(fclose(f), 0);
	return resident;
}

/* Borrows a descriptor of each newborn, as an engine might. */
static void run_many(struct drive *d, int what)
{
	struct event event;
	int handle;

	for (;;) {
		event = drive_next(d);
		if (event.kind == EVENT_CALL && event.call.nr == MARK_NR && (int)event.call.args[0] == what)
			return;
		if (event.kind == EVENT_BIRTH) {
			handle = d->g->ops->fd_borrow(d->g, event.birth.child, 1);
			check(handle >= 0);
			d->g->ops->handle_release(d->g, handle);
		}
		drive_pass(d, &event);
	}
}

static void test_many_threads(struct drive *d)
{
	unsigned descriptors;
	long pages;

	run_many(d, 1);
	descriptors = open_descriptors();
	pages = resident_pages();
	drive_answer(d, 0, 0);
	run_many(d, 2);
	/* the cache of pidfds may have filled up since */
	check(open_descriptors() <= descriptors + 1);
	check(resident_pages() <= pages + SLACK_PAGES);
	drive_answer(d, 0, 0);
	drive_to_end(d);
	check_int(d->counts[EVENT_BIRTH], MANY);
	check_int(d->counts[EVENT_EXIT], MANY + 1);
}

/* --- stacks --- */

static __attribute__((noinline)) void innermost(void)
{
	check_int(mark(1, 0, 0, 0), 66);
}

static __attribute__((noinline)) void middle(int depth)
{
	if (depth > 0)
		middle(depth - 1);
	else
		innermost();
	check(depth >= 0); /* no tail call */
}

static int guest_shows_stack(void)
{
	middle(2);
	return 0;
}

/* The call is parked again afterwards, and the guest has noticed nothing. */
static void test_backtrace(struct drive *d)
{
	static const char *const frames[] = { "  #0 syscall", " innermost (", "test_notify_tasks.c:", " middle (",
					      " guest_shows_stack (", " _start" };
	char *text, *again;
	const char *at;
	size_t i;

	(void)drive_until(d, 1);
	check_int(d->g->ops->backtrace(d->g, 0, &text), 0);
	for (i = 0, at = text; i < ARRAY_SIZE(frames); i++) {
		at = strstr(at, frames[i]);
		if (!at)
			fprintf(stderr, "no \"%s\" in order in:\n%s", frames[i], text);
		check(at != NULL);
	}
	check_int(d->g->ops->backtrace(d->g, 0, &again), 0);
	check_int(strcmp(text, again), 0);
	free(text);
	free(again);
	drive_answer(d, 0, 66);
	drive_to_end(d);
}

/* --- the network --- */

enum { CONNECTIONS = 200 };

static int listening_socket(struct sockaddr_in *address)
{
	socklen_t len = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	check_int(bind(fd, (struct sockaddr *)address, len), 0);
	check_int(listen(fd, 8), 0);
	check_int(getsockname(fd, (struct sockaddr *)address, &len), 0);
	return fd;
}

/* After each call that sends, the test settles the network and then demands what Linux will have delivered. */
static int guest_talks_to_itself(void)
{
	struct sockaddr_in address;
	int listener = listening_socket(&address), client, server, i;
	char big[60000] = "";

	for (i = 0; i < CONNECTIONS; i++) {
		client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		check(connect(client, (struct sockaddr *)&address, sizeof(address)) == 0 || errno == EINPROGRESS);
		check_int(mark(1, (uint64_t)listener, POLLIN, 0), 0);
		check_int(mark(1, (uint64_t)client, POLLOUT, 0), 0);
		server = accept(listener, NULL, NULL);
		check(write(client, big, sizeof(big)) > 0);
		check_int(mark(1, (uint64_t)server, POLLIN, 0), 0);
		check(read(server, big, sizeof(big)) > 0);
		check_int(close(client), 0);
		check_int(mark(1, (uint64_t)server, POLLRDHUP, 0), 0);
		check_int(close(server), 0);
	}
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void test_network(struct drive *d)
{
	uint64_t spent = 0, rounds = 0, t;
	struct handle_poll poll_one;
	struct event event;

	while (d->living > 0) {
		event = drive_next(d);
		if (event.kind == EVENT_CALL && event.call.nr == MARK_NR) {
			t = now_ns();
			check_int(d->g->ops->settle_network(d->g), 0);
			spent += now_ns() - t;
			rounds++;
			poll_one.handle = d->g->ops->fd_borrow(d->g, 0, (int)event.call.args[1]);
			poll_one.events = (short)event.call.args[2];
			check_int(d->g->ops->handles_poll(d->g, &poll_one, 1, 0), 1);
			d->g->ops->handle_release(d->g, poll_one.handle);
		}
		drive_pass(d, &event);
	}
	printf("# %llu ns to settle the network\n", (unsigned long long)(spent / rounds));
}

static const struct scenario scenarios[] = {
	{ "threads", guest_makes_threads, test_threads, EXITED(5), false },
	{ "children", guest_makes_children, test_children, 0, false },
	{ "stranger", guest_hides_child, test_stranger, 0, false },
	{ "exec-by-thread", guest_execs_by_thread, test_exec_by_thread, 0, false },
	{ "exit-group", guest_parks_threads, test_exit_group, EXITED(6), false },
	{ "killed-together", guest_parks_threads, test_killed_together, SIGKILL, false },
	{ "close-with-threads", guest_parks_threads, test_close_with_threads, 0, false },
	{ "leader-leaves", guest_leader_leaves, test_leader_leaves, 0, false },
	{ "orphan", guest_has_orphan, test_orphan, 0, false },
	{ "interrupted-thread", guest_is_interrupted_in_thread, test_interrupted_thread, 0, false },
	{ "stop-with-thread", guest_stops_with_thread, test_stop_with_thread, 0, false },
	{ "thread-joins-stop", guest_stops_with_thread, test_thread_joins_stop, 0, false },
	{ "many-threads", guest_makes_many_threads, test_many_threads, 0, false },
	{ "backtrace", guest_shows_stack, test_backtrace, 0, false },
	{ "network", guest_talks_to_itself, test_network, 0, true },
};

int main(int argc, char **argv)
{
	return drive_main(argc, argv, scenarios, ARRAY_SIZE(scenarios));
}
