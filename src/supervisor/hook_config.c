/* SPDX-License-Identifier: BSD-3-Clause */
/* Rewriting of config.json: see hook_config.h. */
#include "supervisor/hook_config.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/policy.h"

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

/* Is the call to be notified? Names that the table does not have are other architectures'. */
static bool is_trapped(const struct hook_rewrite *rewrite, const char *name)
{
	int nr = policy_number(name);

	if (nr < 0 || (!strcmp(name, "write") && !rewrite->trap_write))
		return false;
	return policy_row(nr)->class != CLASS_PASS;
}

/* Whatever the profile says: the agent switches address randomisation off with it, the program's own calls are answered by the engine. */
static bool is_taken_over(const char *name)
{
	return !strcmp(name, "personality");
}

/* The names of a rule that are to be trapped, or the others. */
static json_t *choose_names(const struct hook_rewrite *rewrite, const json_t *names, bool trapped)
{
	json_t *chosen = json_array(), *name;
	size_t i;

	json_array_foreach(names, i, name)
		if (json_string_value(name) && !is_taken_over(json_string_value(name)) &&
		    is_trapped(rewrite, json_string_value(name)) == trapped)
			(void)json_array_append(chosen, name);
	return chosen;
}

static json_t *keep_names(const json_t *names)
{
	json_t *kept = json_array(), *name;
	size_t i;

	json_array_foreach(names, i, name)
		if (json_string_value(name) && !is_taken_over(json_string_value(name)))
			(void)json_array_append(kept, name);
	return kept;
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

/* Actions that let a call through, one way or the other. */
static bool lets_through(const char *action)
{
	return !strcmp(action, "SCMP_ACT_ALLOW") || !strcmp(action, "SCMP_ACT_LOG");
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

static int convert_rule(const struct hook_rewrite *rewrite, json_t *rules, json_t *rule, struct error *err)
{
	const json_t *names = json_object_get(rule, "names");
	const char *action = text_of(rule, "action");
	int r;

	r = check_rule(rule, err);
	if (r < 0)
		return r;
	if (!lets_through(action))
		r = add_rule(rules, rule, keep_names(names), action);
	else
		r = add_rule(rules, rule, choose_names(rewrite, names, false), action) < 0 ||
				    add_rule(rules, rule, choose_names(rewrite, names, true), "SCMP_ACT_NOTIFY") < 0
			    ? -ENOMEM
			    : 0;
	return r < 0 ? error_errno(err, -r, "linux.seccomp") : 0;
}

enum mention { UNMENTIONED, MENTIONED, BY_ARGUMENTS };

/* What the profile's rules say about a call. */
static enum mention find_mention(const json_t *rules, const char *name)
{
	enum mention found = UNMENTIONED;
	json_t *rule, *item;
	size_t i, k;

	json_array_foreach(rules, i, rule)
		json_array_foreach(json_object_get(rule, "names"), k, item) {
			if (!json_string_value(item) || strcmp(json_string_value(item), name) != 0)
				continue;
			if (json_array_size(json_object_get(rule, "args")) == 0)
				return MENTIONED;
			found = BY_ARGUMENTS;
		}
	return found;
}

/* A profile that lets through what it does not mention: that is what has to be trapped. */
static int trap_unmentioned(struct hook_rewrite *rewrite, const json_t *old, json_t *rules, struct error *err)
{
	json_t *names = json_array(), *rule = json_object();
	const char *name;
	int r = 0;

	for (int nr = 0; nr <= POLICY_MAX_NR && r == 0; nr++) {
		name = policy_row(nr)->name;
		if (!name || is_taken_over(name) || !is_trapped(rewrite, name))
			continue;
		switch (find_mention(old, name)) {
		case UNMENTIONED:
			r = append(names, json_string(name));
			break;
		case BY_ARGUMENTS:
			r = strv_addf(&rewrite->notes, "the profile decides about %s by its arguments: where it lets it through it is "
						       "not under control", name);
			break;
		case MENTIONED:
			break;
		}
	}
	if (r == 0)
		r = add_rule(rules, rule, names, "SCMP_ACT_NOTIFY");
	json_decref(rule);
	return r < 0 ? error_errno(err, ENOMEM, "linux.seccomp") : 0;
}

static int convert_rules(struct hook_rewrite *rewrite, json_t *seccomp, json_t *rules, struct error *err)
{
	json_t *old = json_object_get(seccomp, "syscalls"), *rule;
	const char *fallback = text_of(seccomp, "defaultAction");
	size_t i;
	int r = 0;

	if (!fallback)
		return error_set(err, EINVAL, "linux.seccomp.defaultAction is missing");
	if (!strcmp(fallback, "SCMP_ACT_NOTIFY"))
		return error_set(err, EBUSY, "linux.seccomp: the profile's default is SCMP_ACT_NOTIFY: a task can have one listener only");
	json_array_foreach(old, i, rule) {
		r = convert_rule(rewrite, rules, rule, err);
		if (r < 0)
			return r;
	}
	r = append(rules, json_pack("{s:[s], s:s}", "names", "personality", "action", "SCMP_ACT_NOTIFY"));
	if (r < 0)
		return error_errno(err, -r, "linux.seccomp");
	return lets_through(fallback) ? trap_unmentioned(rewrite, old, rules, err) : 0;
}

static int finish_profile(const struct hook_rewrite *rewrite, json_t *seccomp, json_t *rules)
{
	int r;

	r = set(seccomp, "syscalls", json_incref(rules));
	if (r == 0)
		r = set(seccomp, "architectures", json_pack("[s]", "SCMP_ARCH_X86_64"));
	if (r == 0)
		r = set(seccomp, "listenerPath", json_string(rewrite->socket));
	if (r == 0)
		r = set(seccomp, "listenerMetadata", json_string(rewrite->trap_write ? "hermit trap-write" : "hermit"));
	if (r == 0 && rewrite->wait_killable)
		r = set(seccomp, "flags", json_pack("[s]", "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"));
	return r;
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
	r = convert_rules(rewrite, seccomp, rules, err);
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
