/* SPDX-License-Identifier: BSD-3-Clause */
/* Drives guests without an engine: see drive.h. */
#include "drive.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/notify/filter.h"
#include "base/cleanup.h"
#include "base/error.h"

enum { SECONDS = 600 };

long mark(int what, uint64_t a, uint64_t b, uint64_t c)
{
	return syscall(MARK_NR, what, a, b, c);
}

void check_true(bool ok, const char *what, const char *file, int line)
{
	if (ok)
		return;
	fprintf(stderr, "%s:%d: failed: %s (errno %d)\n", file, line, what, errno);
	exit(99);
}

void check_equal(int64_t got, int64_t want, const char *what, const char *file, int line)
{
	if (got == want)
		return;
	fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", file, line, what, (long long)got, (long long)want);
	exit(99);
}

static void count(struct drive *d, const struct event *event)
{
	d->counts[event->kind]++;
	switch (event->kind) {
	case EVENT_CALL:
		d->calls++;
		break;
	case EVENT_BIRTH:
		d->living++;
		break;
	case EVENT_EXIT:
		d->living--;
		if (event->task == 0)
			d->status = event->wait_status;
		d->ordered = d->ordered && event->task > d->last_exit;
		d->last_exit = event->task;
		break;
	case EVENT_NONE:
	case EVENT_DONE:
	case EVENT_EXEC:
	case EVENT_SIGNAL:
	case EVENT_STOPPED:
	case EVENT_CONTINUED:
	case EVENT_ALARM:
	case EVENT_TRAP:
	case EVENT_SPIN:
	case EVENT_PREEMPT:
	case EVENT_OUTSIDE:
	case EVENT_JOIN:
		break;
	}
}

struct event drive_next(struct drive *d)
{
	struct event event;

	check_int(d->g->ops->wait(d->g, &event), 0);
	count(d, &event);
	return event;
}

void drive_resume(struct drive *d, int task, struct verdict v)
{
	check_int(d->g->ops->resume(d->g, task, &v), 0);
}

void drive_answer(struct drive *d, int task, int64_t value)
{
	drive_resume(d, task, (struct verdict){ .kind = VERDICT_RETURN, .value = value });
}

static void pass_call(struct drive *d, const struct event *event)
{
	if (event->call.nr == MARK_NR)
		drive_answer(d, event->task, 0);
	else
		drive_resume(d, event->task,
			     (struct verdict){ .kind = d->hook_all ? VERDICT_HOOK : VERDICT_CONTINUE });
}

void drive_pass(struct drive *d, const struct event *event)
{
	static const struct exec_image image = { .random = "0123456789abcdef" };
	struct code_found found = { 0 };

	switch (event->kind) {
	case EVENT_CALL:
		pass_call(d, event);
		break;
	case EVENT_BIRTH:
		drive_resume(d, event->birth.child, (struct verdict){ .kind = VERDICT_GO });
		drive_resume(d, event->task, (struct verdict){ .kind = VERDICT_GO });
		break;
	case EVENT_EXEC:
		if (d->setup_exec)
			check_int(d->g->ops->exec_setup(d->g, event->task, &image, &found), 0);
		drive_resume(d, event->task, (struct verdict){ .kind = VERDICT_GO });
		break;
	case EVENT_DONE:
	case EVENT_CONTINUED:
		drive_resume(d, event->task, (struct verdict){ .kind = VERDICT_GO });
		break;
	case EVENT_SIGNAL:
		drive_resume(d, event->task, (struct verdict){ .kind = VERDICT_SIGNAL, .siginfo = event->siginfo });
		break;
	case EVENT_STOPPED:
		drive_resume(d, event->task, (struct verdict){ .kind = VERDICT_LISTEN });
		break;
	case EVENT_NONE:
	case EVENT_EXIT:
	case EVENT_ALARM:
	case EVENT_TRAP:
	case EVENT_SPIN:
	case EVENT_PREEMPT:
	case EVENT_OUTSIDE:
	case EVENT_JOIN:
		break;
	}
}

struct event drive_until(struct drive *d, int what)
{
	struct event event;

	for (;;) {
		event = drive_next(d);
		if (event.kind == EVENT_CALL && event.call.nr == MARK_NR && (int)event.call.args[0] == what)
			return event;
		check(event.kind != EVENT_EXIT || event.task != 0);
		drive_pass(d, &event);
	}
}

struct event drive_until_kind(struct drive *d, enum event_kind kind)
{
	struct event event;

	for (;;) {
		event = drive_next(d);
		if (event.kind == kind)
			return event;
		check(event.kind != EVENT_EXIT || d->living > 0);
		drive_pass(d, &event);
	}
}

struct event drive_until_call(struct drive *d, int nr)
{
	struct event event;

	for (;;) {
		event = drive_until_kind(d, EVENT_CALL);
		if (event.call.nr == nr)
			return event;
		drive_pass(d, &event);
	}
}

void drive_to_end(struct drive *d)
{
	struct event event;

	while (d->living > 0) {
		event = drive_next(d);
		drive_pass(d, &event);
	}
	check_int(d->g->ops->wait(d->g, &event), -ECHILD);
}

/* The guest's process: waits until it is seized, puts its filter on and becomes a fresh image. */
static _Noreturn void guest_process(int go, struct backend_filter *filter, const char *name)
{
	char *argv[] = { (char *)(uintptr_t) "guest", (char *)(uintptr_t)name, NULL };
	char byte;

	check_int(read(go, &byte, 1), 1);
	/* with sanitizers: a leak checker that traces the guest itself cannot work, and faults are tested */
	check_int(setenv("ASAN_OPTIONS", "detect_leaks=0:handle_segv=0", 1), 0);
	check_int(backend_filter_install(filter), 0);
	(void)execve("/proc/self/exe", argv, environ);
	_exit(98);
}

static pid_t start_guest(struct backend_filter *filter, const char *name, int *ret_go)
{
	int pipe_fds[2];
	pid_t pid;

	check_int(pipe2(pipe_fds, O_CLOEXEC), 0);
	pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		(void)close(pipe_fds[1]);
		guest_process(pipe_fds[0], filter, name);
	}
	(void)close(pipe_fds[0]);
	*ret_go = pipe_fds[1];
	return pid;
}

static void start(struct drive *d, const struct scenario *s)
{
	static const struct filter_rule rules[] = { { .nr = SYS_brk }, { .nr = SYS_kexec_load, .error = EPERM } };
	static const int outside[] = { 0, 1, -1 };
	static const int host_signals[] = { SIGUSR2, 0 };
	struct backend_options options = {
		.cpu = (unsigned)sched_getcpu(),
		.pin = true,
		.outside_fds = outside,
		.host_signals = host_signals,
		.watchdog_ns = 30000000000u,
	};
	struct backend_filter *filter;
	struct error err = { 0 };
	int go;

	filter = filter_build(rules, ARRAY_SIZE(rules), &err);
	check(filter != NULL);
	d->pid = start_guest(filter, s->name, &go);
	if (backend_attach(&options, d->pid, &d->g, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	check(d->g != NULL);
	check_int(write(go, "", 1), 1);
	check_int(backend_start(d->g, &err), 0);
	(void)backend_filter_free(filter);
	d->living = 1;
	d->last_exit = -1;
	d->ordered = true;
}

static _Noreturn void scenario_process(const struct scenario *s)
{
	struct drive d = { 0 };

	(void)alarm(SECONDS);
	start(&d, s);
	s->test(&d);
	if (d.living == 0)
		check_int(d.status, s->status);
	d.g = backend_close(d.g);
	check(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	exit(0);
}

static bool run_scenario(const struct scenario *s)
{
	int status;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	check(pid >= 0);
	if (pid == 0)
		scenario_process(s);
	check_int(waitpid(pid, &status, 0), pid);
	if (status != 0)
		printf("# %s: wait status 0x%x\n", s->name, (unsigned)status);
	printf("%s - %s\n", status == 0 ? "ok" : "not ok", s->name);
	return status == 0;
}

static const struct scenario *find(const char *name, const struct scenario *scenarios, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	return NULL;
}

int drive_main(int argc, char **argv, const struct scenario *scenarios, size_t n_scenarios)
{
	const struct scenario *s;
	bool ok = true;
	size_t i;

	if (argc == 2 && strcmp(argv[0], "guest") == 0) {
		s = find(argv[1], scenarios, n_scenarios);
		check(s != NULL);
		return s->guest();
	}
	for (i = 0; i < n_scenarios; i++) {
		s = &scenarios[i];
		if (argc >= 2 && strcmp(argv[1], s->name) != 0)
			continue;
		if (s->needs_root && geteuid() != 0)
			printf("ok - %s # SKIP needs root\n", s->name);
		else
			ok = run_scenario(s) && ok;
	}
	return ok ? 0 : 1;
}
