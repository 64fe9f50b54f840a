/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pseudo-terminals. Linux passes on what is written to one side in its own time; here everybody who looks finds all of it, so lines with "#" say what
 * is there at once, and lines with "=" what is there in the end. See vm.h.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>

#include "vm.h"

enum { MUCH = 100000 };

static int master, slave;

static void make(void)
{
	int unlocked = 0;

	master = (int)MUST(open("/dev/ptmx", O_RDWR | O_NOCTTY));
	MUST(ioctl(master, TIOCSPTLCK, &unlocked));
	slave = (int)MUST(ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY));
}

static void end(void)
{
	close(master);
	close(slave);
}

static void put(int fd, const char *text)
{
	MUST(write(fd, text, strlen(text)));
}

static void set_raw(void)
{
	struct termios mode;

	MUST(tcgetattr(slave, &mode));
	cfmakeraw(&mode);
	MUST(tcsetattr(slave, TCSANOW, &mode));
}

static int queued(int fd)
{
	int n = -1;

	(void)ioctl(fd, FIONREAD, &n);
	return n;
}

static void until(int fd, int n)
{
	while (queued(fd) < n)
		vm_sleep_ms(1);
}

static void show(const char *what, ssize_t n, const char *text)
{
	printf("= %s: %zd ", what, n);
	for (ssize_t i = 0; i < n; i++)
		printf((unsigned char)text[i] < 32 || text[i] == 127 ? "\\%03o" : "%c", (unsigned char)text[i]);
	printf("\n");
	(void)fflush(stdout);
}

/* A line with corrections, and what comes back. */
static void line(void)
{
	char text[256];
	ssize_t n;

	make();
	put(master, "wrong\025a wordX\177 more\nnext\n");
	until(slave, 12);
	show("a line", read(slave, text, sizeof(text)), text);
	show("the next", read(slave, text, sizeof(text)), text);
	put(master, "unfinished\004");
	until(slave, 10);
	show("pushed", read(slave, text, sizeof(text)), text);
	put(master, "\004");
	show("end of file", read(slave, text, sizeof(text)), text);
	vm_sleep_ms(50); /* the echo of what makes no line */
	put(slave, "END");
	for (n = 0; n < 3 || memcmp(text + n - 3, "END", 3);)
		n += MUST(read(master, text + n, sizeof(text) - (size_t)n));
	show("echoed", n, text);
	put(slave, "one\ntwo\n");
	until(master, 10);
	show("written", read(master, text, sizeof(text)), text);
	end();
}

/* What is there at once: after one write, and when there was something before. Natively that is anybody's guess. */
static void at_once(void)
{
	unsigned in_slave = 0, in_master = 0, echoed = 0, ready = 0;
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd look;
	char text[4096];
	int set;

	make();
	set = (int)MUST(epoll_create1(0));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, master, &event));
	look = (struct pollfd){ .fd = slave, .events = POLLIN };
	for (int i = 0; i < 30; i++) {
		put(master, "first\n");
		MUST(poll(&look, 1, -1));
		put(master, "second, while the first is still there\n");
		ready += (unsigned)epoll_wait(set, &event, 1, 0);
		in_slave = in_slave * 31 + (unsigned)queued(slave);
		echoed = echoed * 31 + (unsigned)queued(master);
		put(slave, "out\n");
		put(slave, "and more\n");
		in_master = in_master * 31 + (unsigned)queued(master);
		until(slave, 45);
		until(master, 62);
		MUST(read(slave, text, sizeof(text)));
		MUST(read(slave, text, sizeof(text)));
		MUST(read(master, text, sizeof(text)));
	}
	SHOWN("at once: %x in the slave, %x echoed, %x in the master, %u ready", in_slave, echoed, in_master, ready);
	close(set);
	end();
}

static volatile sig_atomic_t caught;

static void on_signal(int signo)
{
	caught = signo;
}

static void key(int out, const char *character, int signo)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pid_t child;
	int p[2], status;
	char c;

	MUST(pipe(p));
	child = (pid_t)MUST(fork());
	if (!child) {
		MUST(setsid());
		MUST(ioctl(slave, TIOCSCTTY, 0));
		MUST(sigaction(signo, &sa, NULL));
		MUST(write(p[1], "+", 1));
		/* typed ahead: a line that is there does not keep a key from its effect */
		while (!caught)
			(void)usleep(1000);
		SAME("key %o: %s", (unsigned)character[0], sigabbrev_np(caught));
		_exit(0);
	}
	MUST(read(p[0], &c, 1));
	put(out, "ahead\n");
	put(out, character);
	MUST(waitpid(child, &status, 0));
	close(p[0]);
	close(p[1]);
}

static void keys(void)
{
	make();
	key(master, "\003", SIGINT);
	end();
	make();
	key(master, "\034", SIGQUIT);
	end();
	make();
	key(master, "\032", SIGTSTP);
	end();
}

static void *drain(void *arg)
{
	static char data[8192];
	long total = 0;

	while (total < MUCH) {
		ssize_t n = read(*(int *)arg, data, sizeof(data));

		if (n <= 0)
			break;
		total += n;
	}
	return (void *)total;
}

/* More than fits: the writer waits for the reader. */
static void much(int from, int *to, const char *what)
{
	static char data[MUCH];
	pthread_t thread;
	void *total;
	long n;

	memset(data, 'x', sizeof(data));
	pthread_create(&thread, NULL, drain, to);
	n = write(from, data, sizeof(data));
	pthread_join(thread, &total);
	SAME("%s: wrote %ld, read %ld", what, n, (long)total);
}

static void both_ways(void)
{
	static char data[MUCH];
	ssize_t n;

	make();
	set_raw();
	much(slave, &master, "out of the slave");
	much(master, &slave, "into the slave");
	MUST(fcntl(slave, F_SETFL, O_NONBLOCK));
	n = write(slave, data, sizeof(data));
	SAME("not waiting: some %d", n > 0 && n < MUCH);
	SHOWN("not waiting: %zd", n);
	end();
}

static void packets(void)
{
	struct termios mode;
	char text[64];
	int on = 1;

	make();
	set_raw();
	MUST(ioctl(master, TIOCPKT, &on));
	put(slave, "data");
	show("a packet", read(master, text, sizeof(text)), text);
	MUST(tcflush(slave, TCIOFLUSH));
	show("flushed", read(master, text, sizeof(text)), text);
	MUST(tcgetattr(slave, &mode));
	mode.c_iflag |= IXON;
	mode.c_cc[VSTOP] = 023;
	mode.c_cc[VSTART] = 021;
	MUST(tcsetattr(slave, TCSANOW, &mode));
	show("flow control", read(master, text, sizeof(text)), text);
	end();
}

static void hangups(void)
{
	struct pollfd look;
	char text[64];

	make();
	put(slave, "last words");
	until(master, 10);
	close(slave);
	look = (struct pollfd){ .fd = master, .events = POLLIN };
	SAME("closed: poll %s", RESULT(poll(&look, 1, -1)));
	SAME("events %x", (unsigned)look.revents);
	show("what was left", read(master, text, sizeof(text)), text);
	SAME("and then %s", RESULT(read(master, text, sizeof(text))));
	close(master);
	make();
	put(master, "typed\n");
	close(master);
	look = (struct pollfd){ .fd = slave, .events = POLLIN };
	SAME("the master's end: poll %s", RESULT(poll(&look, 1, -1)));
	SAME("its events %x", (unsigned)look.revents);
	SAME("it reads %s", RESULT(read(slave, text, sizeof(text))));
	SAME("it writes %s", RESULT(write(slave, text, 1)));
	close(slave);
}

static void queues(void)
{
	int n = -1;

	make();
	put(master, "line\n");
	until(slave, 5);
	MUST(tcflush(slave, TCIFLUSH));
	SAME("flushed: %d", queued(slave));
	put(slave, "out");
	MUST(tcdrain(slave));
	SAME("%s", RESULT(ioctl(slave, TIOCOUTQ, &n)));
	SAME("nothing is left to go: %d", n);
	SAME("break %s", RESULT(tcsendbreak(slave, 0)));
	MUST(tcflow(slave, TCOOFF));
	MUST(fcntl(slave, F_SETFL, O_NONBLOCK));
	SAME("stopped: %s", RESULT(write(slave, "x", 1)));
	MUST(tcflow(slave, TCOON));
	SAME("goes on: %s", RESULT(write(slave, "x", 1)));
	end();
}

enum { LINES = 800, LONGEST = 200 };

struct lines {
	int way; /* by write, writev, sendfile */
	size_t size;
	bool whole; /* each call wrote all of its line */
};

static ssize_t put_line(const struct lines *lines, const char *line, int file)
{
	const struct iovec parts[2] = { { (void *)(uintptr_t)line, lines->size / 2 },
					{ (void *)(uintptr_t)(line + lines->size / 2), lines->size - lines->size / 2 } };
	off_t start = 0;

	switch (lines->way) {
	case 0:
		return write(slave, line, lines->size);
	case 1:
		return writev(slave, parts, 2);
	default:
		return sendfile(slave, file, &start, lines->size);
	}
}

static void *put_lines(void *arg)
{
	struct lines *lines = arg;
	char line[LONGEST];
	FILE *f = tmpfile();

	memset(line, 'z', lines->size);
	line[lines->size - 1] = '\n';
	if (!f || write(fileno(f), line, lines->size) != (ssize_t)lines->size)
		return NULL;
	lines->whole = true;
	for (int i = 0; i < LINES; i++)
		lines->whole &= put_line(lines, line, fileno(f)) == (ssize_t)lines->size;
	(void)fclose(f);
	return NULL;
}

/* Many short lines into a terminal that is full most of the time: a line's end becomes two characters. */
static void short_lines(int way, size_t size)
{
	struct lines lines = { .way = way, .size = size };
	size_t total = 0, want = LINES * (size + 1);
	unsigned text = 0, reads = 0;
	pthread_t thread;
	char buf[4096];
	ssize_t n;

	make();
	pthread_create(&thread, NULL, put_lines, &lines);
	while (total < want) {
		n = MUST(read(master, buf, sizeof(buf)));
		for (ssize_t i = 0; i < n; i++)
			text = text * 31 + (unsigned char)buf[i];
		reads = reads * 31 + (unsigned)n;
		total += (size_t)n;
	}
	pthread_join(thread, NULL);
	SAME("lines of %zu by way %d: %zu read, %x, whole %d", size, way, total, text, lines.whole);
	SHOWN("lines of %zu by way %d: reads %x", size, way, reads);
	end();
}

/* Who writes in the background to a terminal that is set so is stopped. */
static void in_background(size_t size)
{
	static const char data[LONGEST];
	struct termios mode;
	pid_t leader, child;
	int status = 0;

	make();
	leader = (pid_t)MUST(fork());
	if (!leader) {
		(void)signal(SIGTTOU, SIG_DFL);
		MUST(setsid());
		MUST(ioctl(slave, TIOCSCTTY, 0));
		MUST(tcgetattr(slave, &mode));
		mode.c_lflag |= TOSTOP;
		MUST(tcsetattr(slave, TCSANOW, &mode));
		SAME("%zu in the foreground: %s", size, RESULT(write(slave, data, size)));
		child = (pid_t)MUST(fork());
		if (!child) {
			MUST(setpgid(0, 0));
			MUST(write(slave, data, size));
			_exit(0);
		}
		MUST(waitpid(child, &status, WUNTRACED));
		SAME("%zu in the background: stopped %d by %s", size, WIFSTOPPED(status), WIFSTOPPED(status) ? sigabbrev_np(WSTOPSIG(status)) : "none");
		(void)kill(child, SIGKILL);
		MUST(waitpid(child, &status, 0));
		_exit(0);
	}
	MUST(waitpid(leader, &status, 0));
	end();
}

/* Who does not take the signal for that is not stopped: his writes wait for their reader as everybody's. */
static void unstoppable(bool blocks)
{
	static char data[MUCH];
	struct termios mode;
	size_t total = 0;
	unsigned reads = 0;
	sigset_t set;
	pid_t leader;
	ssize_t n;

	make();
	leader = (pid_t)MUST(fork());
	if (!leader) {
		MUST(setsid());
		MUST(ioctl(slave, TIOCSCTTY, 0));
		MUST(tcgetattr(slave, &mode));
		mode.c_lflag |= TOSTOP;
		MUST(tcsetattr(slave, TCSANOW, &mode));
		if (!MUST(fork())) {
			(void)signal(SIGTTOU, blocks ? SIG_DFL : SIG_IGN);
			(void)sigemptyset(&set);
			(void)sigaddset(&set, SIGTTOU);
			MUST(sigprocmask(blocks ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL));
			MUST(setpgid(0, 0));
			SAME("in the background, and not to be stopped: %s", RESULT(write(slave, data, MUCH)));
			_exit(0);
		}
		MUST(wait(NULL));
		_exit(0);
	}
	for (; total < MUCH; total += (size_t)n) {
		n = MUST(read(master, data, 1000));
		reads = reads * 31 + (unsigned)n;
	}
	MUST(waitpid(leader, NULL, 0));
	SHOWN("reads %x", reads);
	end();
}

static void no_op(int signo)
{
	(void)signo;
}

/* Who reads in the background does not wait for input: it is stopped, or gets EIO when it does not want that. */
static void reads_in_background(void)
{
	static void (*const hows[])(int) = { SIG_DFL, SIG_IGN, no_op };
	struct sigaction action = { 0 };
	pid_t leader, child;
	int status = 0;
	char byte;

	make();
	leader = (pid_t)MUST(fork());
	if (leader) {
		MUST(waitpid(leader, &status, 0));
		end();
		return;
	}
	MUST(setsid());
	MUST(ioctl(slave, TIOCSCTTY, 0));
	for (unsigned i = 0; i < 3; i++) {
		child = (pid_t)MUST(fork());
		if (!child) {
			action.sa_handler = hows[i];
			MUST(sigaction(SIGTTIN, &action, NULL));
			MUST(setpgid(0, 0));
			SAME("%u: reads in the background: %s", i, RESULT(read(i ? slave : (int)MUST(open("/dev/tty", O_RDWR)), &byte, 1)));
			_exit(0);
		}
		MUST(waitpid(child, &status, WUNTRACED));
		SAME("%u: %s", i, WIFSTOPPED(status) ? sigabbrev_np(WSTOPSIG(status)) : "goes on");
		if (WIFSTOPPED(status)) {
			MUST(kill(child, SIGKILL));
			MUST(waitpid(child, NULL, 0));
		}
	}
	_exit(0);
}

/* Through /dev/tty, more than a terminal holds: it waits for who reads the other end, and writes all. */
static void by_its_other_name(void)
{
	static char data[60000];
	struct termios mode;
	size_t total = 0;
	pid_t leader;
	ssize_t n;

	make();
	MUST(tcgetattr(slave, &mode));
	cfmakeraw(&mode);
	MUST(tcsetattr(slave, TCSANOW, &mode));
	leader = (pid_t)MUST(fork());
	if (!leader) {
		int fd;

		MUST(setsid());
		MUST(ioctl(slave, TIOCSCTTY, 0));
		fd = (int)MUST(open("/dev/tty", O_RDWR));
		SAME("/dev/tty: writes %s", RESULT(write(fd, data, sizeof(data))));
		(void)pause(); /* its end would be the terminal's */
	}
	vm_sleep_ms(20);
	while (total < sizeof(data)) {
		n = MUST(read(master, data, sizeof(data)));
		total += (size_t)n;
	}
	vm_sleep_ms(50);
	SAME("/dev/tty: %zu read", total);
	MUST(kill(leader, SIGKILL));
	MUST(waitpid(leader, NULL, 0));
	end();
}

/* Linux 5.10 and earlier said the same: programs that copy by it fall back to writing. */
static void spliced(void)
{
	int p[2];

	make();
	MUST(pipe(p));
	MUST(write(p[1], "abc", 3));
	SHOWN("splice onto a terminal: %s", RESULT(splice(p[0], NULL, slave, NULL, 3, 0)));
	MUST(write(p[1], "def", 3)); /* natively the first ones are gone */
	SHOWN("splice into its other end: %s", RESULT(splice(p[0], NULL, master, NULL, 3, 0)));
	SHOWN("nothing came: %d, nothing is lost: %d", queued(master), queued(p[0]));
	close(p[0]);
	close(p[1]);
	end();
}

int main(void)
{
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGTTOU, SIG_IGN);
	line();
	at_once();
	keys();
	both_ways();
	packets();
	hangups();
	queues();
	for (int way = 0; way < 3; way++)
		short_lines(way, 66);
	short_lines(0, 30);
	short_lines(0, 120);
	in_background(1);
	in_background(66);
	in_background(LONGEST);
	unstoppable(false);
	unstoppable(true);
	reads_in_background();
	by_its_other_name();
	spliced();
	SHOWN("at %llu", (unsigned long long)vm_now());
	vm_end();
	return 0;
}
