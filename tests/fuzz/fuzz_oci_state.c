/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the state documents. What can be read can be written, and what was written reads the same. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "oci/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_state(const char *text, size_t size)
{
	struct oci_state state, back;
	char *once = NULL, *twice = NULL;
	int r;

	if (oci_state_parse(text, size, "state", &state, NULL) == 0) {
		r = oci_state_format(&state, OCI_STATE_FOR_PERSON, &once);
		assert(r == 0 || r == -EILSEQ); /* yajl lets a lone surrogate through */
		if (r == 0) {
			assert(oci_state_parse(once, strlen(once), "state", &back, NULL) == 0);
			assert(oci_state_format(&back, OCI_STATE_FOR_PERSON, &twice) == 0);
			assert(strcmp(once, twice) == 0);
			oci_state_free(&back);
		}
	}
	free(once);
	free(twice);
	oci_state_free(&state);
}

static void try_runtime_state(const char *text, size_t size)
{
	struct oci_runtime_state state, back;
	char *once = NULL, *twice = NULL;

	if (oci_runtime_state_parse(text, size, "state", &state, NULL) == 0) {
		assert(oci_runtime_state_format(&state, &once) == 0);
		assert(oci_runtime_state_parse(once, strlen(once), "state", &back, NULL) == 0);
		assert(oci_runtime_state_format(&back, &twice) == 0);
		assert(strcmp(once, twice) == 0);
		oci_runtime_state_free(&back);
	}
	free(once);
	free(twice);
	oci_runtime_state_free(&state);
}

static void try_process_state(const char *text, size_t size)
{
	struct oci_process_state state;

	if (oci_process_state_parse(text, size, "agent", &state, NULL) == 0)
		assert(state.seccomp_fd >= -1 && state.seccomp_fd < (int)state.fds.count);
	oci_process_state_free(&state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_state((const char *)data, size);
	try_runtime_state((const char *)data, size);
	try_process_state((const char *)data, size);
	return 0;
}
