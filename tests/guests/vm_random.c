/* SPDX-License-Identifier: BSD-3-Clause */
/* Randomness by each way to it, who gets what when several ask at once, and who sent a message. See vm.h. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "vm.h"

enum { THREADS = 4, BYTES = 8 };

static void show(const char *what, const unsigned char bytes[BYTES])
{
	SHOWN("%s %02x%02x%02x%02x%02x%02x%02x%02x", what, bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]);
}

static void devices(const char *path)
{
	unsigned char first[BYTES], second[BYTES];
	int fd = (int)MUST(open(path, O_RDONLY));

	SAME("%s: read %s", path, RESULT(read(fd, first, BYTES)));
	SAME("%s: again %s", path, RESULT(read(fd, second, BYTES)));
	SAME("%s: another time others %d", path, memcmp(first, second, BYTES) != 0);
	show(path, first);
	show(path, second);
	SAME("%s: at a place %s", path, RESULT(pread(fd, first, BYTES, 100)));
	SAME("%s: written %s", path, RESULT(write((int)MUST(open(path, O_WRONLY)), first, BYTES)));
	close(fd);
}

static void calls(void)
{
	static const unsigned flags[] = { 0, GRND_RANDOM, GRND_NONBLOCK, GRND_INSECURE, GRND_RANDOM | GRND_NONBLOCK };
	unsigned char bytes[BYTES];

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		SAME("getrandom %x: %s", flags[i], RESULT(getrandom(bytes, BYTES, flags[i])));
		show("getrandom", bytes);
	}
	SAME("getrandom: both kinds %s", RESULT(getrandom(bytes, BYTES, GRND_RANDOM | GRND_INSECURE)));
	SAME("getrandom: neither %s", RESULT(getrandom(bytes, BYTES, 0x100)));
	MUST(getentropy(bytes, BYTES));
	show("getentropy", bytes);
	show("at the start", (const unsigned char *)(uintptr_t)getauxval(AT_RANDOM)); // NOLINT(performance-no-int-to-ptr)
}

/* ---- at once ---- */

static pthread_barrier_t together;

static void *ask(void *bytes)
{
	(void)pthread_barrier_wait(&together);
	(void)getrandom(bytes, BYTES, 0);
	return NULL;
}

static void threads_at_once(void)
{
	unsigned char bytes[THREADS][BYTES];
	pthread_t threads[THREADS];

	(void)pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, ask, bytes[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		show("a thread of several", bytes[i]);
	SAME("each has its own %d", memcmp(bytes[0], bytes[1], BYTES) && memcmp(bytes[1], bytes[2], BYTES) && memcmp(bytes[2], bytes[3], BYTES));
}

static void processes_at_once(void)
{
	unsigned char bytes[THREADS][BYTES];
	int p[THREADS][2];

	for (int i = 0; i < THREADS; i++) {
		MUST(pipe(p[i]));
		if (!MUST(fork())) {
			MUST(getrandom(bytes[i], BYTES, 0));
			MUST(write(p[i][1], bytes[i], BYTES));
			_exit(0);
		}
	}
	for (int i = 0; i < THREADS; i++) {
		MUST(read(p[i][0], bytes[i], BYTES));
		show("a process of several", bytes[i]);
		MUST(wait(NULL));
	}
}

/* ---- numbers of processes in System V's words ---- */

static void senders(void)
{
	struct {
		long type;
		char text[4];
	} message = { 1, "abc" };
	int queue = (int)MUST(msgget(IPC_PRIVATE, 0600));
	struct msqid_ds state;
	pid_t child = (pid_t)MUST(fork());

	if (!child) {
		MUST(msgsnd(queue, &message, sizeof(message.text), 0));
		_exit(0);
	}
	MUST(waitpid(child, NULL, 0));
	MUST(msgctl(queue, IPC_STAT, &state));
	SAME("sent by the child %d, taken by nobody %d", state.msg_lspid == child, state.msg_lrpid == 0);
	SHOWN("sent by %d at %ld", state.msg_lspid, (long)state.msg_stime);
	MUST(msgrcv(queue, &message, sizeof(message.text), 0, 0));
	MUST(msgctl(queue, IPC_STAT, &state));
	SAME("taken by us %d, in order %d", state.msg_lrpid == getpid(), state.msg_rtime >= state.msg_stime);
	MUST(msgctl(queue, IPC_RMID, NULL));
}

int main(void)
{
	devices("/dev/urandom");
	devices("/dev/random");
	calls();
	threads_at_once();
	processes_at_once();
	senders();
	vm_end();
	return 0;
}
