/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a runtime's message ends: see supervisor/agent/agent_message.h. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

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
