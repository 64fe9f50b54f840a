/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a runtime's message ends: see supervisor/agent/agent_message.h. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/agent/agent_message.h"

static const struct {
	const char *text;
	int complete;
} cases[] = {
	{ "", 0 },
	{ " \n", 0 },
	{ "{", 0 },
	{ "{}", 1 },
	{ "{}\n", 1 },
	{ "{\"a\": {\"b\": {}}", 0 },
	{ "{\"a\": {\"b\": {}}}", 1 },
	{ "{\"a\": \"}\"", 0 },
	{ "{\"a\": \"}\"}", 1 },
	{ "{\"a\": \"\\\"}\"", 0 },
	{ "{\"a\": \"\\\\\"}", 1 },
	{ "{\"a\": \"\\\\\\\"}", 0 },
	{ "}", -EINVAL },
	{ "[]", -EINVAL },
	{ "x{}", -EINVAL },
};

Test(agent_message, complete)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_assert_eq(agent_message_complete(cases[i].text, strlen(cases[i].text)), cases[i].complete, "%s", cases[i].text);
}

/* However a message is cut, no beginning of it counts as whole. */
Test(agent_message, every_beginning)
{
	static const char text[] = "{\"fds\": [\"seccompFd\"], \"pid\": 7, \"metadata\": \"a\\\\\\\"{b\", \"state\": {\"id\": \"}{\"}}";

	for (size_t len = 0; len + 1 < sizeof(text) - 1; len++)
		cr_assert_eq(agent_message_complete(text, len), 0, "%zu", len);
	cr_assert_eq(agent_message_complete(text, sizeof(text) - 1), 1);
}

/* What comes of a connection on which a runtime sends so much after so many milliseconds, and nothing more: it ends then, or waits. */
static int receive_after(long ms, const char *text, bool ends, int limit_ms, struct error *err)
{
	const struct timespec wait = { .tv_nsec = ms * 1000000 };
	struct agent_message message;
	int pair[2], r;
	pid_t pid;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		(void)close(pair[0]);
		(void)nanosleep(&wait, NULL);
		(void)send(pair[1], text, strlen(text), MSG_NOSIGNAL);
		while (!ends && recv(pair[1], &message, 1, 0) > 0)
			;
		_exit(0);
	}
	(void)close(pair[1]);
	r = agent_message_receive(pair[0], limit_ms, &message, err);
	agent_message_clear(&message);
	(void)close(pair[0]);
	return r;
}

/* A runtime that connects early may take its time until it speaks; once it does, it shall come to an end. */
Test(agent_message, limit)
{
	struct error err = { 0 };

	/* it has all come, but is no state of a container */
	cr_assert_eq(receive_after(200, "{}", false, 1, &err), -EINVAL, "%s", err.text);
	cr_assert_eq(receive_after(0, "{", false, 1, &err), -ETIMEDOUT);
	cr_assert_eq(receive_after(0, "{", true, 60000, &err), -EBADMSG);
	cr_assert_eq(receive_after(50, "", true, 1, &err), -ENODATA);
}
