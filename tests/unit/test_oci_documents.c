/* SPDX-License-Identifier: BSD-3-Clause */
/* The smaller documents of oci/: state, our own state file, process.json, resources, features, spec, annotations. */
#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "oci/config.h"
#include "oci/features.h"
#include "oci/spec.h"
#include "oci/state.h"
#include "oci/tables.h"
#include "oci/validate.h"

/* ---- state ---- */

static struct oci_pair pairs[] = { { (char *)"z", (char *)"1" }, { (char *)"a", (char *)"\xc3\xa4\n" } };

static struct oci_state example_state(void)
{
	return (struct oci_state){
		.oci_version = "1.2.1",
		.id = "c1",
		.bundle = "/b",
		.status = OCI_CREATED,
		.pid = 4422,
		.annotations = { .items = pairs, .count = 2 },
		.rootfs = "/b/rootfs",
		.created = "2026-11-01T00:00:00.000000001Z",
		.owner = "",
	};
}

Test(oci_state, for_a_hook)
{
	struct oci_state state = example_state();
	_cleanup_free_ char *text = NULL;

	cr_assert_eq(oci_state_format(&state, OCI_STATE_FOR_HOOK, &text), 0);
	cr_expect_str_eq(
		text, "{\"ociVersion\":\"1.2.1\",\"id\":\"c1\",\"pid\":4422,\"status\":\"created\",\"bundle\":\"/b\","
		      "\"annotations\":{\"z\":\"1\",\"a\":\"\xc3\xa4\\n\"}}\n");
}

Test(oci_state, stopped_has_no_pid_for_a_hook)
{
	struct oci_state state = { .oci_version = "1.2.1", .id = "c1", .bundle = "/b", .status = OCI_STOPPED };
	_cleanup_free_ char *text = NULL;

	cr_assert_eq(oci_state_format(&state, OCI_STATE_FOR_HOOK, &text), 0);
	cr_expect_str_eq(text, "{\"ociVersion\":\"1.2.1\",\"id\":\"c1\",\"status\":\"stopped\",\"bundle\":\"/b\"}\n");
}

Test(oci_state, for_a_person_comes_back)
{
	struct oci_state state = example_state(), back;
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };

	cr_assert_eq(oci_state_format(&state, OCI_STATE_FOR_PERSON, &text), 0);
	cr_expect(strstr(text, "\n  \"rootfs\": \"/b/rootfs\",\n"));
	cr_assert_eq(oci_state_parse(text, strlen(text), "stdin", &back, &err), 0, "%s", err.text);
	cr_expect_str_eq(back.id, "c1");
	cr_expect_eq(back.status, OCI_CREATED);
	cr_expect_eq(back.pid, 4422);
	cr_expect_str_eq(back.annotations.items[0].key, "z");
	cr_expect_str_eq(back.created, state.created);
	cr_expect_null(back.owner, "empty is absent");
	oci_state_free(&back);
	oci_state_free(&back);
}

Test(oci_state, text_that_is_not_utf8_is_refused)
{
	struct oci_state state = example_state();
	char *text = NULL;

	state.bundle = "/b\xff";
	cr_expect_eq(oci_state_format(&state, OCI_STATE_FOR_HOOK, &text), -EILSEQ);
	cr_expect_null(text);
}

Test(oci_state, other_runtimes_are_read)
{
	static const char crun_exec[] =
		"{\"ociVersion\": \"0.2.0\", \"fds\": [\"x\", \"seccompFd\"], \"pid\": 0, \"metadata\": \"\","
		"\"state\": {\"ociVersion\": \"1.0\", \"id\": \"c\", \"pid\": 0, \"status\": \"running\","
		"\"bundle\": \".\", \"unknown\": 1}, \"more\": []}";
	struct oci_process_state state;
	struct error err = { 0 };

	cr_assert_eq(oci_process_state_parse(crun_exec, strlen(crun_exec), "agent", &state, &err), 0, "%s", err.text);
	cr_expect_eq(state.seccomp_fd, 1);
	cr_expect_null(state.metadata);
	cr_expect_str_eq(state.state.id, "c");
	oci_process_state_free(&state);
}

struct bad_row {
	const char *text, *message;
};

Test(oci_state, bad_ones)
{
	static const struct bad_row rows[] = {
		{ "", "s:1:1: not valid JSON: premature EOF" },
		{ "[]", "s:1:1: expected object, found array" },
		{ "{\"ociVersion\":\"1.0.0\"}", "s:1:1: id: required, but missing" },
		{ "{\"ociVersion\":\"1.0.0\",\"id\":\"a\",\"status\":\"dead\"}",
		  "s:1:41: status: unknown value 'dead', known are: creating, created, running, paused, stopped" },
		{ "{\"ociVersion\":\"1.0.0\",\"id\":\"a\",\"status\":\"stopped\",\"pid\":-1,\"bundle\":\"\"}",
		  "s:1:57: pid: out of range: -1 is not within 0..2147483647" },
	};
	struct oci_state state;
	struct error err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(&err, 0, sizeof(err));
		cr_expect_eq(oci_state_parse(rows[i].text, strlen(rows[i].text), "s", &state, &err), -EINVAL);
		cr_expect_str_eq(err.text, rows[i].message, "%s\n  got      %s\n  expected %s", rows[i].text, err.text,
				 rows[i].message);
	}
}

/* ---- our own file ---- */

static struct oci_runtime_state example_runtime_state(void)
{
	static int handed[] = { 28, 29 };

	return (struct oci_runtime_state){
		.id = (char *)"c-1",
		.oci_version = (char *)"1.0.2",
		.bundle = (char *)"/b",
		.rootfs = (char *)"/b/r",
		.created = (char *)"2026-11-01T00:00:00.000000001Z",
		.owner = (char *)"root",
		.status = OCI_PAUSED,
		.init = { 7, UINT64_MAX },
		.supervisor = { 8, 1 },
		.guardian = { 0, 0 },
		.rootless = true,
		.exit_status = { .set = true, .value = 137 },
		.cgroup_manager = (char *)"cgroupfs",
		.cgroups = { .items = pairs, .count = 2 },
		.shared_below = 30,
		.shared_mount = 31,
		.shared_handed = { .items = handed, .count = 2 },
	};
}

Test(oci_runtime_state, comes_back)
{
	struct oci_runtime_state state = example_runtime_state(), back;
	_cleanup_free_ char *text = NULL, *again = NULL;
	struct error err = { 0 };

	cr_assert_eq(oci_runtime_state_format(&state, &text), 0);
	cr_assert_eq(oci_runtime_state_parse(text, strlen(text), "state.json", &back, &err), 0, "%s", err.text);
	cr_expect_eq(back.init.start, UINT64_MAX);
	cr_expect_eq(back.supervisor.pid, 8);
	cr_expect(back.rootless && !back.untrapped);
	cr_expect_eq(back.exit_status.value, 137);
	cr_expect_null(back.cgroup_unit);
	cr_expect_null(back.shared_mounts);
	cr_expect_eq(back.shared_below, 30);
	cr_expect_eq(back.shared_mount, 31);
	cr_assert_eq(back.shared_handed.count, 2);
	cr_expect_eq(back.shared_handed.items[1], 29);
	cr_expect_str_eq(back.cgroups.items[1].value, "\xc3\xa4\n");
	cr_expect_eq(back.annotations.count, 0);
	cr_assert_eq(oci_runtime_state_format(&back, &again), 0);
	cr_expect_str_eq(again, text);
	oci_runtime_state_free(&back);
	oci_runtime_state_free(&back);
}

/* Takes one member out, or changes it, at a time. */
Test(oci_runtime_state, nothing_may_be_missing_or_wrong)
{
	struct oci_runtime_state state = example_runtime_state(), back;
	_cleanup_free_ char *text = NULL, *changed = NULL;
	json_t *root, *copy;
	const char *key;
	json_t *value;
	struct error err;
	int n = 0;

	cr_assert_eq(oci_runtime_state_format(&state, &text), 0);
	root = json_loads(text, 0, NULL);
	json_object_foreach(root, key, value)
	{
		copy = json_deep_copy(root);
		json_object_set_new(copy, key, json_real(1.5));
		changed = json_dumps(copy, 0);
		cr_expect_eq(oci_runtime_state_parse(changed, strlen(changed), "f", &back, &err), -EINVAL, "%s", key);
		cr_expect(strstr(err.text, key), "%s: %s", key, err.text);
		free(changed);
		json_object_del(copy, key);
		changed = json_dumps(copy, 0);
		cr_expect_eq(oci_runtime_state_parse(changed, strlen(changed), "f", &back, &err),
			     strcmp(key, "exitStatus") == 0 || strncmp(key, "shared", 6) == 0 ? 0 : -EINVAL, "%s", key);
		oci_runtime_state_free(&back);
		free(changed);
		changed = NULL;
		json_decref(copy);
		n++;
	}
	json_decref(root);
	cr_expect_eq(n, 20);
}

Test(oci_runtime_state, strict)
{
	struct oci_runtime_state state = example_runtime_state(), back;
	_cleanup_free_ char *text = NULL, *more = NULL;
	struct error err = { 0 };
	size_t len;

	cr_assert_eq(oci_runtime_state_format(&state, &text), 0);
	for (len = 0; len + 2 < strlen(text); len++)
		cr_assert_eq(oci_runtime_state_parse(text, len, "f", &back, NULL), -EINVAL, "%zu bytes", len);
	cr_assert(asprintf(&more, "{\"extra\": 1, %s", text + 1) > 0);
	cr_expect_eq(oci_runtime_state_parse(more, strlen(more), "f", &back, &err), -EINVAL);
	cr_expect_str_eq(err.text, "f: extra: unknown");
	state.id = (char *)"../x";
	free(text);
	cr_assert_eq(oci_runtime_state_format(&state, &text), 0);
	cr_expect_eq(oci_runtime_state_parse(text, strlen(text), "f", &back, &err), -EINVAL);
	cr_expect_str_eq(err.text, "f: id: not an id");
}

/* ---- parts of a config ---- */

Test(oci_process, is_read_alone)
{
	static const char text[] =
		"{\"terminal\": true, \"user\": {\"uid\": 3, \"gid\": 4}, \"args\": [\"ls\", \"-l\"], \"cwd\": \"/\","
		"\"env\": [\"A=b\"], \"capabilities\": {\"effective\": [\"CAP_CHOWN\"]}, \"apparmorProfile\": \"x\"}";
	struct oci_process_file file;
	struct error err = { 0 };

	cr_assert_eq(oci_process_parse(text, strlen(text), "process.json", &file, &err), 0, "%s", err.text);
	cr_expect(file.process.present && file.process.terminal);
	cr_expect_str_eq(file.process.args.items[1], "-l");
	cr_expect_eq(file.process.user.gid, 4);
	cr_expect_eq(file.process.capabilities.effective, 1);
	oci_process_free(&file);
	oci_process_free(&file);
}

Test(oci_process, bad_ones)
{
	static const struct bad_row rows[] = {
		{ "{\"cwd\": \"/\"}", "p:1:1: args: at least one argument is needed" },
		{ "{\"cwd\": \"/\", \"args\": []}", "p:1:22: args: at least one argument is needed" },
		{ "{\"cwd\": \"/\", \"args\": [\"\"]}", "p:1:23: args[0]: must not be empty" },
		{ "{\"args\": [\"ls\"]}", "p:1:1: cwd: required, but missing" },
		{ "{\"args\": [\"ls\"], \"cwd\": \"/\", \"user\": {\"uid\": 0}}",
		  "p:1:38: user.gid: required, but missing" },
	};
	struct oci_process_file file;
	struct error err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(&err, 0, sizeof(err));
		cr_expect_eq(oci_process_parse(rows[i].text, strlen(rows[i].text), "p", &file, &err), -EINVAL);
		cr_expect_str_eq(err.text, rows[i].message, "%s\n  got      %s\n  expected %s", rows[i].text, err.text,
				 rows[i].message);
	}
}

Test(oci_resources, are_read_alone_and_partial)
{
	static const char text[] =
		"{\"memory\": {\"limit\": 104857600, \"swap\": 0}, \"cpu\": {\"quota\": -1}, \"pids\": {\"limit\": -1},"
		"\"devices\": null}";
	struct oci_resources_file file;
	struct error err = { 0 };

	cr_assert_eq(oci_resources_parse(text, strlen(text), "resources", &file, &err), 0, "%s", err.text);
	cr_expect_eq(file.resources.memory.limit.value, 104857600);
	cr_expect_not(file.resources.memory.swap.set);
	cr_expect(file.resources.cpu.quota_us.set && file.resources.cpu.quota_us.value == -1);
	cr_expect_not(file.resources.cpu.shares.set);
	cr_expect_eq(file.resources.pids_limit.value, -1);
	oci_resources_free(&file);
	oci_resources_free(&file);
}

Test(oci_resources, bad_ones)
{
	static const struct bad_row rows[] = {
		{ "{\"memory\": {\"limit\": \"1\"}}", "r:1:22: memory.limit: expected integer, found string" },
		{ "{\"memory\": {\"limit\": 9, \"swap\": 8}}",
		  "r:1:33: memory.swap: 8 is memory and swap together, and below the limit 9" },
		{ "[]", "r:1:1: expected object, found array" },
	};
	struct oci_resources_file file;
	struct error err;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(&err, 0, sizeof(err));
		cr_expect_eq(oci_resources_parse(rows[i].text, strlen(rows[i].text), "r", &file, &err), -EINVAL);
		cr_expect_str_eq(err.text, rows[i].message, "%s\n  got      %s\n  expected %s", rows[i].text, err.text,
				 rows[i].message);
	}
}

Test(oci_hermit_options, in_the_order_of_the_document)
{
	static const char text[] = "{\"ociVersion\":\"1.0.0\",\"root\":{\"path\":\"r\"},\"annotations\":{\"x\":\"1\","
				   "\"org.hermit.seed\":\"7\","
				   "\"org.hermit\":\"no\",\"org.hermit.a.b\":\"\",\"ORG.HERMIT.seed\":\"8\"}}";
	struct oci_pairs options;
	struct oci_config cfg;

	cr_assert_eq(oci_config_parse(text, strlen(text), "c", &cfg, NULL), 0);
	cr_assert_eq(oci_hermit_options(&cfg, &options, NULL), 0);
	cr_assert_eq(options.count, 2);
	cr_expect_str_eq(options.items[0].key, "seed");
	cr_expect_str_eq(options.items[0].value, "7");
	cr_expect_str_eq(options.items[1].key, "a.b");
	oci_config_free(&cfg);
}

Test(oci_hermit_options, without_a_name)
{
	static const char text[] =
		"{\"ociVersion\":\"1.0.0\",\"root\":{\"path\":\"r\"},\"annotations\":{\"org.hermit.\":\"7\"}}";
	struct oci_pairs options;
	struct oci_config cfg;
	struct error err = { 0 };

	cr_assert_eq(oci_config_parse(text, strlen(text), "c", &cfg, NULL), 0);
	cr_expect_eq(oci_hermit_options(&cfg, &options, &err), -EINVAL);
	cr_expect_str_eq(err.text, "annotations.org.hermit.: no name of an option");
	oci_config_free(&cfg);
}

/* ---- features ---- */

/* What the document lists the parser has to accept: each name is put into a config. */
static void accept_all(const json_t *list, const char *format)
{
	struct oci_config cfg;
	char text[1024];
	struct error err;
	json_t *name;
	size_t i;

	cr_assert_gt(json_array_size(list), 0);
	json_array_foreach(list, i, name)
	{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), format, json_string_value(name));
#pragma GCC diagnostic pop
		cr_expect_eq(oci_config_parse(text, strlen(text), "c", &cfg, &err), 0, "%s: %s", text, err.text);
		cr_expect_eq(cfg.process.capabilities.unknown.count, 0);
		cr_expect_eq(cfg.n_mounts && cfg.mounts[0].data, 0, "%s", json_string_value(name));
		oci_config_free(&cfg);
	}
}

Test(oci_features, what_is_listed_is_accepted)
{
	_cleanup_free_ char *text = NULL;
	json_t *root, *l, *s;

	cr_assert_eq(oci_features_format("9.9", &text), 0);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	cr_assert(root);
	l = json_object_get(root, "linux");
	s = json_object_get(l, "seccomp");
#define DOC(rest) "{\"ociVersion\":\"1.0.0\",\"root\":{\"path\":\"r\"}," rest "}"
	accept_all(json_object_get(root, "hooks"), DOC("\"hooks\":{\"%s\":[{\"path\":\"/x\"}]}"));
	accept_all(json_object_get(root, "mountOptions"),
		   DOC("\"linux\":{\"namespaces\":[{\"type\":\"user\",\"path\":\"/u\"}]},"
		       "\"mounts\":[{\"destination\":\"/x\",\"source\":\"/y\",\"options\":[\"bind\",\"%s\"]}]"));
	accept_all(json_object_get(l, "namespaces"),
		   DOC("\"linux\":{\"namespaces\":[{\"type\":\"%s\",\"path\":\"/n\"}]}"));
	accept_all(json_object_get(l, "capabilities"),
		   DOC("\"process\":{\"cwd\":\"/\",\"capabilities\":{\"ambient\":[\"%s\"]}}"));
	accept_all(json_object_get(s, "actions"),
		   DOC("\"linux\":{\"seccomp\":{\"defaultAction\":\"%s\",\"listenerPath\":\"/l\"}}"));
	accept_all(json_object_get(s, "operators"),
		   DOC("\"linux\":{\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"syscalls\":[{\"names\":[\"a\"],"
		       "\"action\":"
		       "\"SCMP_ACT_KILL\",\"args\":[{\"index\":0,\"value\":0,\"op\":\"%s\"}]}]}}"));
	accept_all(json_object_get(s, "archs"),
		   DOC("\"linux\":{\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"architectures\":[\"%s\"]}}"));
	accept_all(json_object_get(s, "supportedFlags"),
		   DOC("\"linux\":{\"seccomp\":{\"defaultAction\":\"SCMP_ACT_ALLOW\",\"flags\":[\"%s\"]}}"));
#undef DOC
	cr_expect_str_eq(json_string_value(json_object_get(json_object_get(root, "annotations"), "org.hermit.version")),
			 "9.9");
	json_decref(root);
}

/* ---- spec ---- */

Test(oci_spec, is_a_good_config)
{
	_cleanup_free_ char *text = NULL;
	struct oci_problem problem;
	struct error err = { 0 };
	struct oci_config cfg;

	cr_assert_eq(oci_spec_format(false, 0, 0, &text), 0);
	cr_assert_eq(oci_config_parse(text, strlen(text), "config.json", &cfg, &err), 0, "%s", err.text);
	cr_expect_eq(oci_config_validate_start(&cfg, &problem), 0);
	cr_expect_str_eq(cfg.process.args.items[0], "sh");
	cr_expect_eq(cfg.process.capabilities.ambient, cfg.process.capabilities.bounding);
	cr_expect_eq(cfg.process.capabilities.inheritable, 0);
	cr_expect(cfg.process.no_new_privileges && cfg.process.terminal && cfg.root_readonly);
	cr_expect_eq(cfg.n_mounts, 7);
	cr_expect(cfg.linux_.namespaces[OCI_NS_NETWORK].present);
	cr_expect_not(cfg.linux_.namespaces[OCI_NS_USER].present);
	cr_expect_eq(cfg.linux_.masked_paths.count, 10);
	cr_expect_eq(cfg.linux_.resources.n_devices, 1);
	oci_config_free(&cfg);
}

Test(oci_spec, rootless)
{
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };
	struct oci_config cfg;

	cr_assert_eq(oci_spec_format(true, 4294967294, 1000, &text), 0);
	cr_assert_eq(oci_config_parse(text, strlen(text), "config.json", &cfg, &err), 0, "%s", err.text);
	cr_expect(cfg.linux_.namespaces[OCI_NS_USER].present);
	cr_expect_not(cfg.linux_.namespaces[OCI_NS_NETWORK].present);
	cr_expect_eq(cfg.linux_.uid_mappings.items[0].host_id, 4294967294);
	cr_expect_eq(cfg.linux_.gid_mappings.items[0].host_id, 1000);
	cr_expect_not(cfg.linux_.resources.present);
	cr_expect_eq(cfg.n_mounts, 6);
	oci_config_free(&cfg);
}
