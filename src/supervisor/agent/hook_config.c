/* SPDX-License-Identifier: BSD-3-Clause */
/* Rewriting of config.json: see hook_config.h. */
#include "supervisor/agent/hook_config.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/cleanup.h"

static void release_json(json_t **object)
{
	json_decref(*object);
}

#define _cleanup_json_ __attribute__((cleanup(release_json)))

/* Objects that an earlier call could not make make this fail: it is enough to look at the last result. */
static int append(json_t *array, json_t *item)
{
	return json_array_append_new(array, item) < 0 ? -ENOMEM : 0;
}

static int set(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) < 0 ? -ENOMEM : 0;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool text_is(const json_t *object, const char *key, const char *text)
{
	const char *value = text_of(object, key);

	return value && !strcmp(value, text);
}

/* ---- seccomp ---- */

/*
 * What the runtime's filter notifies: the calls on its way from the filter to the program (backend_adopt()). Not more: a runtime in Go that waits for
 * the agent in, say, a futex(2) of its own, before it has sent the listener, waits for ever.
 */
static const char *const handover_calls[] = { "capset", "execve", "execveat", "setresuid", "setreuid", "setuid" };

static bool is_handover(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(handover_calls); i++)
		if (!strcmp(handover_calls[i], name))
			return true;
	return false;
}

/* The agent makes these itself: it switches address randomisation off, and installs its filter. So the profile cannot have them denied. */
static bool is_needed(const char *name)
{
	return !strcmp(name, "personality") || !strcmp(name, "seccomp");
}

/* Actions that let a call through, one way or the other. */
static bool lets_through(const char *action)
{
	return !strcmp(action, "SCMP_ACT_ALLOW") || !strcmp(action, "SCMP_ACT_LOG");
}

/* The names of a rule that are handed over, or those that stay in it. */
static json_t *choose_names(const json_t *rule, const char *action, bool handover)
{
	json_t *chosen = json_array(), *item;
	bool passes = lets_through(action);
	const char *name;
	size_t i;

	json_array_foreach(json_object_get(rule, "names"), i, item) {
		name = json_string_value(item);
		if (name && (passes && is_handover(name)) == handover && !is_needed(name))
			(void)json_array_append(chosen, item);
	}
	return chosen;
}

/* A copy of a rule with other names and another action; nothing when there are no names. */
static int add_rule(json_t *rules, const json_t *rule, json_t *names, const char *action)
{
	json_t *copy;

	if (json_array_size(names) == 0) {
		json_decref(names);
		return 0;
	}
	copy = json_deep_copy(rule);
	if (!copy || set(copy, "names", names) < 0 || set(copy, "action", json_string(action)) < 0) {
		json_decref(copy);
		return -ENOMEM;
	}
	if (!strcmp(action, "SCMP_ACT_NOTIFY"))
		(void)json_object_del(copy, "errnoRet");
	return append(rules, copy);
}

static int check_rule(const json_t *rule, struct error *err)
{
	const char *action = text_of(rule, "action");

	if (!action || !json_is_array(json_object_get(rule, "names")))
		return error_set(err, EINVAL, "linux.seccomp.syscalls: a rule without names or action");
	if (!strcmp(action, "SCMP_ACT_NOTIFY"))
		return error_set(err, EBUSY, "linux.seccomp: the profile has SCMP_ACT_NOTIFY rules of its own: a task can have one listener only");
	return 0;
}

static int convert_rule(json_t *rules, json_t *rule, struct error *err)
{
	const char *action = text_of(rule, "action");
	int r;

	r = check_rule(rule, err);
	if (r < 0)
		return r;
	r = add_rule(rules, rule, choose_names(rule, action, false), action);
	if (r == 0)
		r = add_rule(rules, rule, choose_names(rule, action, true), "SCMP_ACT_NOTIFY");
	return r < 0 ? error_errno(err, -r, "linux.seccomp") : 0;
}

static bool is_mentioned(const json_t *rules, const char *name)
{
	json_t *rule, *item;
	size_t i, k;

	json_array_foreach(rules, i, rule)
		json_array_foreach(json_object_get(rule, "names"), k, item)
			if (json_string_value(item) && !strcmp(json_string_value(item), name))
				return true;
	return false;
}

/* A profile that lets through what it does not mention. */
static int notify_unmentioned(const json_t *old, json_t *rules)
{
	json_t *names = json_array(), *rule = json_object();
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(handover_calls) && r == 0; i++)
		if (!is_mentioned(old, handover_calls[i]))
			r = append(names, json_string(handover_calls[i]));
	if (r == 0)
		r = add_rule(rules, rule, names, "SCMP_ACT_NOTIFY");
	json_decref(rule);
	return r;
}

/* What the profile says of a call without looking at arguments; its default when nothing. */
static const char *find_action(const json_t *seccomp, const char *name)
{
	const char *found = text_of(seccomp, "defaultAction");
	json_t *rule, *item;
	size_t i, k;

	json_array_foreach(json_object_get(seccomp, "syscalls"), i, rule)
		json_array_foreach(json_object_get(rule, "names"), k, item)
			if (json_string_value(item) && !strcmp(json_string_value(item), name) &&
			    json_array_size(json_object_get(rule, "args")) == 0)
				found = text_of(rule, "action");
	return found;
}

/* seccomp(2) with flags that no program uses by chance, where the profile would not allow it. */
static int allow_filter(json_t *rules, const json_t *seccomp)
{
	static const int flags[] = { BACKEND_FILTER_FLAGS, BACKEND_FILTER_FLAGS_OLD };
	const char *fallback = text_of(seccomp, "defaultAction");
	int r = 0;

	if (!strcmp(fallback, "SCMP_ACT_ALLOW"))
		return 0;
	if (lets_through(find_action(seccomp, "seccomp")))
		return append(rules, json_pack("{s:[s], s:s}", "names", "seccomp", "action", "SCMP_ACT_ALLOW"));
	for (size_t i = 0; i < ARRAY_SIZE(flags) && r == 0; i++)
		r = append(rules, json_pack("{s:[s], s:s, s:[{s:i, s:i, s:s}]}", "names", "seccomp", "action", "SCMP_ACT_ALLOW", "args",
					    "index", 1, "value", flags[i], "op", "SCMP_CMP_EQ"));
	return r;
}

static int convert_rules(json_t *seccomp, json_t *rules, struct error *err)
{
	json_t *old = json_object_get(seccomp, "syscalls"), *rule;
	const char *fallback = text_of(seccomp, "defaultAction");
	size_t i;
	int r;

	if (!fallback)
		return error_set(err, EINVAL, "linux.seccomp.defaultAction is missing");
	if (!strcmp(fallback, "SCMP_ACT_NOTIFY"))
		return error_set(err, EBUSY, "linux.seccomp: the profile's default is SCMP_ACT_NOTIFY: a task can have one listener only");
	json_array_foreach(old, i, rule) {
		r = convert_rule(rules, rule, err);
		if (r < 0)
			return r;
	}
	r = append(rules, json_pack("{s:[s], s:s}", "names", "personality", "action", "SCMP_ACT_NOTIFY"));
	if (r == 0)
		r = allow_filter(rules, seccomp);
	if (r == 0 && lets_through(fallback))
		r = notify_unmentioned(old, rules);
	return r < 0 ? error_errno(err, -r, "linux.seccomp") : 0;
}

static int finish_profile(const struct hook_rewrite *rewrite, json_t *seccomp, json_t *rules)
{
	int r;

	r = set(seccomp, "syscalls", json_incref(rules));
	if (r == 0)
		r = set(seccomp, "architectures", json_pack("[s]", "SCMP_ARCH_X86_64"));
	if (r == 0)
		r = set(seccomp, "listenerPath", json_string(rewrite->socket));
	return r == 0 ? set(seccomp, "listenerMetadata", json_string(HOOK_METADATA)) : r;
}

static int rewrite_seccomp(struct hook_rewrite *rewrite, json_t *linux_part, struct error *err)
{
	_cleanup_json_ json_t *rules = json_array();
	json_t *seccomp = json_object_get(linux_part, "seccomp");
	const char *listener;
	int r;

	if (!json_is_object(seccomp)) {
		seccomp = json_pack("{s:s}", "defaultAction", "SCMP_ACT_ALLOW");
		if (set(linux_part, "seccomp", seccomp) < 0)
			return error_errno(err, ENOMEM, "linux.seccomp");
	}
	listener = text_of(seccomp, "listenerPath");
	if (listener && strcmp(listener, rewrite->socket) != 0)
		return error_set(err, EBUSY, "linux.seccomp.listenerPath is '%s' already: a task can have one listener only", listener);
	r = convert_rules(seccomp, rules, err);
	if (r < 0)
		return r;
	r = finish_profile(rewrite, seccomp, rules);
	return r < 0 ? error_errno(err, -r, "linux.seccomp") : 0;
}

/* ---- the rest ---- */

static json_t *find_namespace(const json_t *namespaces, const char *type)
{
	json_t *item;
	size_t i;

	json_array_foreach(namespaces, i, item)
		if (text_is(item, "type", type))
			return item;
	return NULL;
}

static int rewrite_namespaces(struct hook_rewrite *rewrite, json_t *linux_part)
{
	static const char *const wanted[] = { "pid", "mount", "uts", "ipc" };
	json_t *namespaces = json_object_get(linux_part, "namespaces"), *found;
	int r = 0;

	if (!json_is_array(namespaces)) {
		namespaces = json_array();
		if (set(linux_part, "namespaces", namespaces) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < ARRAY_SIZE(wanted) && r == 0; i++) {
		found = find_namespace(namespaces, wanted[i]);
		if (!found)
			r = append(namespaces, json_pack("{s:s}", "type", wanted[i]));
		else if (text_of(found, "path"))
			r = strv_addf(&rewrite->notes, "the %s namespace is one that exists: what others do in it is not under control",
				      wanted[i]);
	}
	found = find_namespace(namespaces, "network");
	if (r == 0 && !found)
		r = strv_addf(&rewrite->notes, "the network is the host's: what comes in is not under control");
	return r;
}

static void rewrite_devices(json_t *linux_part)
{
	static const char *const clocks[] = { "/dev/rtc", "/dev/hpet", "/dev/hwrng", "/dev/ptp", "/dev/pps", "/dev/kvm", "/dev/cpu/" };
	json_t *devices = json_object_get(linux_part, "devices");
	const char *path;

	for (size_t i = json_array_size(devices); i-- > 0;) {
		path = text_of(json_array_get(devices, i), "path");
		for (size_t k = 0; path && k < ARRAY_SIZE(clocks); k++)
			if (!strncmp(path, clocks[k], strlen(clocks[k]))) {
				(void)json_array_remove(devices, i);
				break;
			}
	}
}

/* An engine makes the name from the container's random id. */
static int rewrite_hostname(const struct hook_rewrite *rewrite, json_t *config)
{
	json_t *env = json_object_get(json_object_get(config, "process"), "env"), *item;
	size_t i;

	json_array_foreach(env, i, item)
		if (json_string_value(item) && !strncmp(json_string_value(item), "HOSTNAME=", 9))
			if (json_array_set_new(env, i, json_sprintf("HOSTNAME=%s", rewrite->hostname)) < 0)
				return -ENOMEM;
	return set(config, "hostname", json_string(rewrite->hostname));
}

static json_t *load(const char *text, size_t len, struct error *err)
{
	json_error_t where;
	json_t *config = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);

	if (!config)
		(void)error_set(err, EINVAL, "config.json: line %d: %s", where.line, where.text);
	else if (!json_is_object(config))
		(void)error_set(err, EINVAL, "config.json is not an object");
	else
		return config;
	json_decref(config);
	return NULL;
}

int hook_config_rewrite(const char *text, size_t len, struct hook_rewrite *rewrite, char **ret_text, struct error *err)
{
	_cleanup_json_ json_t *config = load(text, len, err);
	json_t *linux_part = json_object_get(config, "linux");
	int r;

	if (!config)
		return -EINVAL;
	if (!json_is_object(linux_part) || !json_is_object(json_object_get(config, "process")))
		return error_set(err, EINVAL, "config.json: not the document of a Linux container (no linux or no process)");
	r = rewrite_seccomp(rewrite, linux_part, err);
	if (r < 0)
		return r;
	rewrite_devices(linux_part);
	r = rewrite_namespaces(rewrite, linux_part);
	if (r == 0)
		r = rewrite_hostname(rewrite, config);
	if (r == 0)
		*ret_text = json_dumps(config, JSON_COMPACT);
	return r == 0 && *ret_text ? 0 : error_errno(err, ENOMEM, "config.json");
}

int hook_config_annotation(const char *text, size_t len, const char *name, char **ret, struct error *err)
{
	_cleanup_json_ json_t *config = load(text, len, err);
	const char *value = text_of(json_object_get(config, "annotations"), name);

	*ret = NULL;
	if (!config)
		return -EINVAL;
	if (!value)
		return 0;
	*ret = strdup(value);
	return *ret ? 0 : error_errno(err, ENOMEM, "annotations");
}
