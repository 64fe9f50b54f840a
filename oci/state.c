/* SPDX-License-Identifier: BSD-3-Clause */
/* The state document of the specification, and the message to a seccomp agent that contains it. See state.h. */
#include "oci/state.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "oci/document.h"
#include "oci/tables.h"

const struct jread_name oci_status_names[] = {
	{ "creating", OCI_CREATING }, { "created", OCI_CREATED }, { "running", OCI_RUNNING },
	{ "paused", OCI_PAUSED },     { "stopped", OCI_STOPPED }, { 0 },
};

const char *oci_status_name(enum oci_status status)
{
	const struct jread_name *row;

	for (row = oci_status_names; row->name; row++)
		if (row->value == (uint64_t)status)
			return row->name;
	return NULL;
}

/* ---- writing ---- */

int oci_state_format(const struct oci_state *state, enum oci_state_form form, char **ret_text)
{
	_cleanup_json_ json_t *root = json_object();
	bool person = form == OCI_STATE_FOR_PERSON;
	int r;

	r = document_set_string(root, "ociVersion", state->oci_version);
	if (r == 0)
		r = document_set_string(root, "id", state->id);
	if (r == 0 && (person || state->pid > 0))
		r = document_set(root, "pid", json_integer(state->pid));
	if (r == 0)
		r = document_set_string(root, "status", oci_status_name(state->status) ?: "stopped");
	if (r == 0)
		r = document_set_string(root, "bundle", state->bundle);
	if (r == 0 && person && state->rootfs)
		r = document_set_string(root, "rootfs", state->rootfs);
	if (r == 0 && person && state->created)
		r = document_set_string(root, "created", state->created);
	if (r == 0 && (person || state->annotations.count > 0))
		r = document_set_pairs(root, "annotations", &state->annotations);
	if (r == 0 && person && state->owner)
		r = document_set_string(root, "owner", state->owner);
	return r < 0 ? r : document_format(root, person ? JSON_INDENT(2) : JSON_COMPACT, ret_text);
}

/* ---- reading ---- */

static const struct jread_range range_pid = { 0, INT_MAX };

/* clang-format off */
#define STATE(member, name, fn, ...) \
	{ .key = name, .convert = fn, .offset = offsetof(struct oci_state, member), __VA_ARGS__ }
/* clang-format on */
static const struct jread_field state_fields[] = {
	STATE(oci_version, "ociVersion", jread_to_string, .flags = JREAD_REQUIRED),
	STATE(id, "id", jread_to_string, .flags = JREAD_REQUIRED),
	STATE(status, "status", jread_to_name_int, .detail = oci_status_names, .flags = JREAD_REQUIRED),
	STATE(pid, "pid", jread_to_i32, .detail = &range_pid),
	STATE(bundle, "bundle", jread_to_string, .flags = JREAD_REQUIRED),
	STATE(annotations, "annotations", jread_to_pairs),
	STATE(rootfs, "rootfs", jread_to_text),
	STATE(created, "created", jread_to_text),
	STATE(owner, "owner", jread_to_text),
	{ 0 },
};
static const struct jread_object state_object = { .fields = state_fields };

int oci_state_parse(const char *text, size_t len, const char *name, struct oci_state *state, struct error *err)
{
	int r;

	*state = (struct oci_state){ .arena = oci_arena_new() };
	r = jread_read_document(text, len, name, &state_object, state->arena, state, err);
	if (r < 0)
		oci_state_free(state);
	return r;
}

void oci_state_free(struct oci_state *state)
{
	oci_arena_free(state->arena);
	*state = (struct oci_state){ 0 };
}

/* clang-format off */
#define PROCESS_STATE(member, name, fn, ...) \
	{ .key = name, .convert = fn, .offset = offsetof(struct oci_process_state, member), __VA_ARGS__ }
/* clang-format on */
static const struct jread_field process_state_fields[] = {
	PROCESS_STATE(oci_version, "ociVersion", jread_to_string, .flags = JREAD_REQUIRED),
	PROCESS_STATE(fds, "fds", jread_to_strings, .flags = JREAD_REQUIRED),
	PROCESS_STATE(pid, "pid", jread_to_i32, .detail = &range_pid, .flags = JREAD_REQUIRED),
	PROCESS_STATE(metadata, "metadata", jread_to_text),
	PROCESS_STATE(state, "state", jread_to_object, .detail = &state_object, .flags = JREAD_REQUIRED),
	{ 0 },
};

static int finish_process_state(struct jread_reader *r, const struct jread_value *value, const void *detail, void *out)
{
	struct oci_process_state *state = out;
	size_t i;

	state->seccomp_fd = -1;
	if (state->fds.count > 253) /* SCM_MAX_FD: no more can come with a message */
		return jread_fail_member(r, value, "fds", "%zu entries", state->fds.count);
	for (i = state->fds.count; i-- > 0;)
		if (strcmp(state->fds.items[i], "seccompFd") == 0)
			state->seccomp_fd = (int)i;
	return 0;
}

static const struct jread_object process_state_object = { .fields = process_state_fields,
							  .finish = finish_process_state };

int oci_process_state_parse(const char *text, size_t len, const char *name, struct oci_process_state *state,
			    struct error *err)
{
	int r;

	*state = (struct oci_process_state){ .arena = oci_arena_new() };
	r = jread_read_document(text, len, name, &process_state_object, state->arena, state, err);
	if (r < 0)
		oci_process_state_free(state);
	return r;
}

void oci_process_state_free(struct oci_process_state *state)
{
	oci_arena_free(state->arena);
	*state = (struct oci_process_state){ 0 };
}
