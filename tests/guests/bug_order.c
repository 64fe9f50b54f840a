/* SPDX-License-Identifier: BSD-3-Clause */
/* Order violation: the reader takes for granted that main has set up what it uses before it comes there. */
#include "bug.h"

static char *volatile message;

static void *reader(void *arg)
{
	note("start\n");
	return message ? NULL : (void *)1;
}

int main(void)
{
	pthread_t thread;
	void *ret;

	if (pthread_create(&thread, NULL, reader, NULL) != 0)
		return 99;
	note("setting up\n");
	message = strdup("ready");
	(void)pthread_join(thread, &ret);
	return ret ? fail("used before it was set up") : 0;
}
