/* SPDX-License-Identifier: BSD-3-Clause */
/* The backend "notify" with guests of one thread: calls, memory, fresh images, waiting, what it costs. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/notify/notify.h"
#include "backend/notify/vdso.h"
#include "base/cleanup.h"
#include "drive.h"

/* --- the first events, and the end --- */

static int guest_exits(void)
{
	return 7;
}

static void test_first_event_is_execve(struct drive *d)
{
	struct event event;

	event = drive_next(d);
	check_int(event.kind, EVENT_CALL);
	check_int(event.task, 0);
	check_int(event.call.nr, SYS_execve);
	drive_pass(d, &event);
	event = drive_next(d);
	check_int(event.kind, EVENT_EXEC);
	check_int(event.old_task, 0);
	drive_pass(d, &event);
	drive_to_end(d);
}

static void test_close_kills(struct drive *d)
{
	(void)drive_until_call(d, SYS_exit_group);
}

/* --- verdicts on calls --- */

static int guest_wants_answers(void)
{
	check_int(mark(1, 11, 22, 33), 4711);
	check_int(mark(1, 11, 22, 33), -1);
	check_int(errno, EDOM);
	check_int(syscall(SYS_getppid), 12345);
	check_int(syscall(SYS_kexec_load), -1);
	check_int(errno, EPERM);
	return 0;
}

static void test_answers(struct drive *d)
{
	struct event event;

	event = drive_until(d, 1);
	check_int(event.call.args[1], 11);
	check_int(event.call.args[2], 22);
	check_int(event.call.args[3], 33);
	check(event.call.ip != 0);
	drive_answer(d, 0, 4711);
	event = drive_until(d, 1);
	drive_answer(d, 0, -EDOM);
	(void)drive_until_call(d, SYS_getppid);
	drive_answer(d, 0, 12345);
	drive_to_end(d);
}

static void test_verdicts_that_do_not_fit(struct drive *d)
{
	struct verdict go = { .kind = VERDICT_GO }, none = { 0 }, signal = { .kind = VERDICT_SIGNAL };
	const struct guest_ops *ops = d->g->ops;
	struct event event;

	event = drive_next(d);
	check_int(ops->resume(d->g, 0, &go), -EINVAL);
	check_int(ops->resume(d->g, 0, &none), -EINVAL);
	check_int(ops->resume(d->g, 1, &go), -ESRCH);
	drive_pass(d, &event);
	event = drive_next(d);
	check_int(ops->resume(d->g, 0, &signal), -EINVAL);
	drive_pass(d, &event);
	drive_to_end(d);
}

/* --- memory --- */

enum { PAGE = 4096 };

static int guest_shows_memory(void)
{
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(pages != MAP_FAILED);
	check_int(munmap(pages + 2 * PAGE, PAGE), 0);
	memset(pages, 'a', 2 * PAGE);
	strcpy(pages + PAGE - 3, "across");
	check_int(mprotect(pages, PAGE, PROT_READ), 0);
	check_int(mark(1, (uintptr_t)pages, 0, 0), 0);
	check(memcmp(pages + PAGE + 100, "written", 7) == 0);
	return 0;
}

static void test_memory(struct drive *d)
{
	const struct guest_ops *ops = d->g->ops;
	char buf[3 * PAGE];
	uint64_t base;

	base = drive_until(d, 1).call.args[1];
	check_int(ops->read(d->g, 0, base, buf, 2 * PAGE), 0);
	check(buf[0] == 'a' && buf[2 * PAGE - 1] == 'a');
	check_int(ops->read(d->g, 0, base + 2 * PAGE - 4, buf, 5), -EFAULT);
	check_int(ops->read(d->g, 0, 0, buf, 1), -EFAULT);
	check_int(ops->read(d->g, 0, 0, buf, 0), 0);
	check_int(ops->read(d->g, 0, UINT64_MAX - 1, buf, 8), -EFAULT);
	check_int(ops->write(d->g, 0, base + PAGE + 100, "written", 7), 0);
	check_int(ops->write(d->g, 0, base, "x", 1), -EFAULT);
	check_int(ops->read_string(d->g, 0, base + PAGE - 3, buf, sizeof(buf)), 6);
	check(strcmp(buf, "across") == 0);
	check_int(ops->read_string(d->g, 0, base + PAGE - 3, buf, 7), 6);
	check_int(ops->read_string(d->g, 0, base + PAGE - 3, buf, 6), -ENAMETOOLONG);
	check_int(ops->read_string(d->g, 0, base + PAGE + 200, buf, PAGE - 200), -ENAMETOOLONG);
	check_int(ops->read_string(d->g, 0, base + PAGE + 200, buf, PAGE), -EFAULT);
	check_int(ops->read_string(d->g, 0, base + 2 * PAGE, buf, 10), -EFAULT);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

static int guest_shows_mappings(void)
{
	char *shared = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("x", 0);
	char *one, *two;

	check_int(ftruncate(fd, 2 * PAGE), 0);
	one = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	two = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, PAGE);
	check_int(mark(1, (uintptr_t)shared, (uintptr_t)own, 0), 0);
	check_int(mark(2, (uintptr_t)one, (uintptr_t)two, 0), 0);
	return 0;
}

static void test_futex_key(struct drive *d)
{
	uint64_t a, b, object, offset, object2, offset2;
	const struct guest_ops *ops = d->g->ops;
	struct event event;

	event = drive_until(d, 1);
	a = event.call.args[1];
	b = event.call.args[2];
	check_int(ops->futex_key(d->g, 0, a + PAGE + 8, &object, &offset), 0);
	check_int(object, 1);
	check_int(offset, PAGE + 8);
	check_int(ops->futex_key(d->g, 0, b + 16, &object, &offset), 0);
	check_int(object, 0);
	check_int(ops->futex_key(d->g, 0, 8, &object, &offset), -EFAULT);
	drive_answer(d, 0, 0);
	event = drive_until(d, 2);
	check_int(ops->futex_key(d->g, 0, event.call.args[1] + PAGE + 4, &object, &offset), 0);
	check_int(ops->futex_key(d->g, 0, event.call.args[2] + 4, &object2, &offset2), 0);
	check_int(object, 2);
	check_int(object2, 2);
	check_int(offset, offset2);
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

/* --- time and randomness of a fresh image --- */

static int guest_asks_vdso(void)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_NOW);
	static const char *const names[] = { "__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time", "__vdso_clock_getres",
					     "__vdso_getcpu", "__vdso_getrandom" };
	ssize_t (*getrandom_fn)(void *, size_t, unsigned, void *, size_t);
	int (*functions[6])(long, void *, void *);
	char buf[64];
	size_t i;

	check(vdso != NULL);
	check(memcmp((void *)getauxval(AT_RANDOM), "0123456789abcdef", 16) == 0);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		*(void **)&functions[i] = dlsym(vdso, names[i]);
	check_int(mark(1, functions[5] != NULL, 0, 0), 0);
	check_int(functions[0](CLOCK_MONOTONIC, buf, NULL), 0);
	check_int(functions[1]((long)buf, NULL, NULL), 0);
	check(functions[2]((long)buf, NULL, NULL) != 0);
	check_int(functions[3](CLOCK_MONOTONIC, buf, NULL), 0);
	check_int(functions[4]((long)buf, buf + 8, NULL), 0);
	*(void **)&getrandom_fn = (void *)functions[5];
	if (getrandom_fn) {
		check_int(getrandom_fn(NULL, 0, 0, buf, ~0ul), -ENOSYS);
		check_int(getrandom_fn(buf, 5, 0, NULL, 0), 5);
	}
	return 0;
}

static void test_vdso(struct drive *d)
{
	static const int calls[] = { SYS_clock_gettime, SYS_gettimeofday, SYS_time, SYS_clock_getres, SYS_getcpu,
				     SYS_getrandom };
	struct event event;
	size_t i, n;

	d->setup_exec = true;
	event = drive_until(d, 1);
	n = event.call.args[1] ? 6 : 5;
	drive_answer(d, 0, 0);
	for (i = 0; i < n; i++) {
		event = drive_next(d);
		check_int(event.kind, EVENT_CALL);
		check_int(event.call.nr, calls[i]);
		drive_pass(d, &event);
	}
	check(d->g->abilities & GUEST_CAN_PATCH);
	drive_to_end(d);
}

static int guest_sees_no_vdso(void)
{
	struct timespec ts;

	check_int(mark(1, 0, 0, 0), 0);
	check(dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_NOW) == NULL);
	check_int(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	return 0;
}

/* Where the image is not the known one it is left alone, and hidden. */
static void test_unknown_vdso(struct drive *d)
{
	struct notify *n = notify_of(d->g);
	struct event event;

	n->vdso = vdso_new(VDSO_CALLS);
	check(n->vdso != NULL);
	n->vdso->before[0] ^= 1;
	if (n->vdso_page)
		n->vdso_page->before[0] ^= 1;
	d->setup_exec = true;
	(void)drive_until(d, 1);
	drive_answer(d, 0, 0);
	event = drive_until_call(d, SYS_clock_gettime);
	drive_pass(d, &event);
	check(d->g->abilities & GUEST_CAN_PATCH);
	drive_to_end(d);
}

/* --- waiting --- */

static int guest_pauses(void)
{
	(void)mark(1, 0, 0, 0);
	(void)pause();
	return 0;
}

static void test_host_signal(struct drive *d)
{
	struct event event;

	(void)drive_until(d, 1);
	drive_answer(d, 0, 0);
	event = drive_until_call(d, SYS_pause);
	drive_pass(d, &event);
	check_int(kill(getpid(), SIGUSR2), 0);
	event = drive_next(d);
	check_int(event.kind, EVENT_OUTSIDE);
	check_int(event.signo, SIGUSR2);
}

static int guest_computes(void)
{
	volatile unsigned i = 0;

	(void)mark(1, 0, 0, 0);
	while (i < 4000000000u)
		i = i + 1;
	return 0;
}

static void expect_alarm(struct drive *d, bool in_kernel)
{
	struct event event;

	notify_of(d->g)->watchdog_ms = 50;
	event = drive_next(d);
	check_int(event.kind, EVENT_ALARM);
	check_int(event.task, 0);
	check_int(event.alarm.in_kernel, in_kernel);
	event = drive_next(d); /* and again: it is still running */
	check_int(event.kind, EVENT_ALARM);
}

static void test_alarm_in_kernel(struct drive *d)
{
	struct event event;

	event = drive_until_call(d, SYS_pause);
	drive_pass(d, &event);
	expect_alarm(d, true);
}

static void test_alarm_in_program(struct drive *d)
{
	(void)drive_until(d, 1);
	drive_answer(d, 0, 0);
	expect_alarm(d, false);
}

/* --- cost --- */

enum { ROUNDS = 100000 };

static int guest_calls_much(void)
{
	int i;

	(void)mark(1, 0, 0, 0);
	for (i = 0; i < ROUNDS; i++)
		(void)syscall(SYS_getppid);
	(void)mark(2, 0, 0, 0);
	for (i = 0; i < ROUNDS / 10; i++)
		(void)syscall(SYS_getppid);
	(void)mark(3, 0, 0, 0);
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void test_cost(struct drive *d)
{
	uint64_t t;

	(void)drive_until(d, 1);
	drive_answer(d, 0, 0);
	t = now_ns();
	(void)drive_until(d, 2);
	printf("# %llu ns for a call let through\n", (unsigned long long)(now_ns() - t) / ROUNDS);
	d->hook_all = true;
	drive_answer(d, 0, 0);
	t = now_ns();
	(void)drive_until(d, 3);
	d->hook_all = false;
	printf("# %llu ns for a hooked call\n", (unsigned long long)(now_ns() - t) / (ROUNDS / 10));
	drive_answer(d, 0, 0);
	drive_to_end(d);
}

static const struct scenario scenarios[] = {
	{ "first-event-is-execve", guest_exits, test_first_event_is_execve, EXITED(7), false },
	{ "close-kills", guest_exits, test_close_kills, 0, false },
	{ "answers", guest_wants_answers, test_answers, 0, false },
	{ "verdicts-that-do-not-fit", guest_exits, test_verdicts_that_do_not_fit, EXITED(7), false },
	{ "memory", guest_shows_memory, test_memory, 0, false },
	{ "futex-key", guest_shows_mappings, test_futex_key, 0, false },
	{ "vdso", guest_asks_vdso, test_vdso, 0, false },
	{ "unknown-vdso", guest_sees_no_vdso, test_unknown_vdso, 0, false },
	{ "host-signal", guest_pauses, test_host_signal, 0, false },
	{ "alarm-in-kernel", guest_pauses, test_alarm_in_kernel, 0, false },
	{ "alarm-in-program", guest_computes, test_alarm_in_program, 0, false },
	{ "cost", guest_calls_much, test_cost, 0, false },
};

int main(int argc, char **argv)
{
	return drive_main(argc, argv, scenarios, ARRAY_SIZE(scenarios));
}
