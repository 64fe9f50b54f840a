/* SPDX-License-Identifier: BSD-3-Clause */
/* See systemd_bus.h. */
#include "container/systemd_bus.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define SERVICE "org.freedesktop.systemd1"
#define OBJECT "/org/freedesktop/systemd1"
#define MANAGER SERVICE ".Manager"
#define USE_CGROUPFS                                                                                                      \
	"use --cgroup-manager=cgroupfs (podman: cgroup_manager in containers.conf; docker: native.cgroupdriver; " \
	"containerd: SystemdCgroup; kubelet: cgroupDriver)"

enum { JOB_SECONDS = 30, US_PER_SECOND = 1000000 };

/* Loaded when it is needed: with what it needs itself it costs a millisecond, which is for those who ask for systemd. */
#define FUNCTIONS(X)                                                                                                                    \
	X(sd_bus_new) X(sd_bus_set_address) X(sd_bus_set_bus_client) X(sd_bus_start) X(sd_bus_flush_close_unref) X(sd_bus_match_signal) \
	X(sd_bus_message_new_method_call) X(sd_bus_message_append) X(sd_bus_message_append_basic) X(sd_bus_message_open_container)      \
	X(sd_bus_message_close_container) X(sd_bus_message_read) X(sd_bus_message_unref) X(sd_bus_call) X(sd_bus_call_method)           \
	X(sd_bus_get_property_string) X(sd_bus_error_free) X(sd_bus_error_has_name) X(sd_bus_process) X(sd_bus_wait) X(sd_bus_slot_unref)

static struct {
#define MEMBER(name) __typeof__(&name) name;
	FUNCTIONS(MEMBER)
#undef MEMBER
} lib;

struct systemd_bus {
	sd_bus *bus;
	bool client; /* of a bus; else a connection to systemd itself */
	bool subscribed;
};

static int load(struct error *err)
{
	void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL), *found;

	if (!library)
		return error_set(err, ENOTSUP, "systemd is asked through libsystemd, which is not installed here (%s): " USE_CGROUPFS, dlerror());
#define LOAD(name)                                                                                                        \
	found = dlsym(library, #name);                                                                                    \
	if (!found)                                                                                                       \
		return error_set(err, ENOTSUP, "libsystemd.so.0 is too old, it has no %s: " USE_CGROUPFS, #name); \
	memcpy(&lib.name, &found, sizeof(found));
	FUNCTIONS(LOAD)
#undef LOAD
	return 0;
}

/* ---- whom to ask ---- */

/* The number outside of this user namespace; false in the first one. */
static bool user_outside(unsigned *ret)
{
	_cleanup_free_ char *text = NULL;
	unsigned first, outside, count, own = geteuid();

	*ret = own;
	if (fd_read_file(AT_FDCWD, "/proc/self/uid_map", 4096, &text, NULL) < 0 || sscanf(text, "%u %u %u", &first, &outside, &count) != 3)
		return false;
	if (first == 0 && outside == 0 && count == UINT32_MAX)
		return false;
	if (own >= first && own - first < count)
		*ret = outside + (own - first);
	return true;
}

bool systemd_is_users(void)
{
	unsigned user;

	return user_outside(&user) || user != 0;
}

static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static char *runtime_directory(void)
{
	const char *given = setting("XDG_RUNTIME_DIR");
	char *text = NULL;
	unsigned user;

	if (given)
		return strdup(given);
	(void)user_outside(&user);
	return asprintf(&text, "/run/user/%u", user) < 0 ? NULL : text;
}

int systemd_check(bool user, struct error *err)
{
	_cleanup_free_ char *directory = user ? runtime_directory() : strdup("/run"), *path = NULL;

	if (setting(user ? "DBUS_SESSION_BUS_ADDRESS" : "DBUS_SYSTEM_BUS_ADDRESS"))
		return 0;
	if (!directory || asprintf(&path, "%s/systemd", directory) < 0)
		return error_set(err, ENOMEM, "out of memory");
	if (access(path, F_OK) == 0)
		return 0;
	if (user)
		return error_set(err, ENOTSUP,
				 "no systemd of this user is running here (there is no %s): log in, or 'loginctl enable-linger', or " USE_CGROUPFS, path);
	return error_set(err, ENOTSUP, "systemd is not running here (there is no %s): " USE_CGROUPFS, path);
}

/* Where it may be reached, in the order of trying; a bus that somebody has set is the only one. */
struct address {
	char *text;
	bool client;
};

enum { MAX_ADDRESSES = 2 };

static void set_address(struct address *address, bool client, const char *prefix, const char *directory, const char *path)
{
	address->client = client;
	if (asprintf(&address->text, "%s%s%s", prefix, directory, path) < 0)
		address->text = NULL;
}

static void find_addresses(bool user, struct address *addresses)
{
	const char *given = setting(user ? "DBUS_SESSION_BUS_ADDRESS" : "DBUS_SYSTEM_BUS_ADDRESS");
	_cleanup_free_ char *directory = user ? runtime_directory() : strdup("/run");

	if (given)
		set_address(&addresses[0], true, given, "", "");
	else if (directory) {
		set_address(&addresses[0], false, "unix:path=", directory, "/systemd/private");
		set_address(&addresses[1], true, "unix:path=", directory, user ? "/bus" : "/dbus/system_bus_socket");
	}
}

static int open_address(const struct address *address, struct systemd_bus *bus)
{
	int r;

	r = lib.sd_bus_new(&bus->bus);
	if (r >= 0)
		r = lib.sd_bus_set_address(bus->bus, address->text);
	if (r >= 0)
		r = lib.sd_bus_set_bus_client(bus->bus, address->client);
	if (r >= 0)
		r = lib.sd_bus_start(bus->bus);
	if (r < 0)
		bus->bus = lib.sd_bus_flush_close_unref(bus->bus);
	bus->client = address->client;
	return r;
}

static int open_first(bool user, struct systemd_bus *bus, struct error *err)
{
	struct address addresses[MAX_ADDRESSES] = { { 0 } };
	int r = -ENOENT, last = 0;

	find_addresses(user, addresses);
	for (int i = 0; r < 0 && i < MAX_ADDRESSES && addresses[i].text; i++) {
		last = i;
		r = open_address(&addresses[i], bus);
	}
	if (r < 0)
		(void)error_set(err, -r, "systemd cannot be reached at %s (%s): " USE_CGROUPFS, addresses[last].text ? addresses[last].text : "its socket",
				strerrordesc_np(-r));
	for (int i = 0; i < MAX_ADDRESSES; i++)
		free(addresses[i].text);
	return r < 0 ? r : 0;
}

int systemd_connect(bool user, struct systemd_bus **ret, struct error *err)
{
	struct systemd_bus *bus = NULL;
	int r;

	r = systemd_check(user, err);
	if (r == 0)
		r = load(err);
	if (r < 0)
		return r;
	bus = calloc(1, sizeof(*bus));
	if (!bus)
		return error_set(err, ENOMEM, "out of memory");
	r = open_first(user, bus, err);
	if (r < 0)
		free(bus);
	else
		*ret = bus;
	return r;
}

void systemd_disconnect(struct systemd_bus *bus)
{
	if (!bus)
		return;
	(void)lib.sd_bus_flush_close_unref(bus->bus);
	free(bus);
}

unsigned systemd_version(struct systemd_bus *bus)
{
	_cleanup_free_ char *text = NULL;
	unsigned version;

	/* "252.39-1~deb12u2", "v246" */
	if (lib.sd_bus_get_property_string(bus->bus, SERVICE, OBJECT, MANAGER, "Version", NULL, &text) < 0 ||
	    sscanf(text + strcspn(text, "0123456789"), "%u", &version) != 1)
		return 0;
	return version;
}

/* ---- messages ---- */

static int append_number(sd_bus_message *m, char type, uint64_t number)
{
	const union {
		uint8_t y;
		int b;
		int16_t n;
		uint16_t q;
		int32_t i;
		uint32_t u;
		uint64_t t;
	} value[] = { { .y = (uint8_t)number }, { .b = number != 0 }, { .n = (int16_t)number }, { .q = (uint16_t)number }, { .i = (int32_t)number },
		      { .u = (uint32_t)number }, { .t = number } };
	static const char kinds[] = "ybnqiutx";
	const char *at = strchr(kinds, type);
	size_t i = at ? (size_t)(at - kinds) : ARRAY_SIZE(value);

	if (type == 'x')
		i = ARRAY_SIZE(value) - 1;
	return i < ARRAY_SIZE(value) ? lib.sd_bus_message_append_basic(m, type, &value[i]) : -EINVAL;
}

static int append_elements(sd_bus_message *m, const struct systemd_property *p, const char *type)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < p->n_numbers; i++)
		r = append_number(m, *type, p->numbers[i]);
	if (*type == '(')
		for (size_t i = 0; r >= 0 && i + 1 < p->strings.count; i += 2)
			r = lib.sd_bus_message_append(m, type, p->strings.items[i], p->strings.items[i + 1]);
	else
		for (size_t i = 0; r >= 0 && i < p->strings.count; i++)
			r = lib.sd_bus_message_append_basic(m, *type, p->strings.items[i]);
	return r;
}

static int append_value(sd_bus_message *m, const struct systemd_property *p)
{
	int r;

	if (p->type[0] != 'a')
		return append_elements(m, p, p->type);
	r = lib.sd_bus_message_open_container(m, 'a', p->type + 1);
	if (r >= 0)
		r = append_elements(m, p, p->type + 1);
	return r < 0 ? r : lib.sd_bus_message_close_container(m);
}

/* a(sv) */
static int append_properties(sd_bus_message *m, const struct systemd_properties *list)
{
	int r;

	r = list->failed ? -ENOMEM : lib.sd_bus_message_open_container(m, 'a', "(sv)");
	for (size_t i = 0; r >= 0 && i < list->n; i++) {
		const struct systemd_property *p = &list->items[i];

		r = lib.sd_bus_message_open_container(m, 'r', "sv");
		if (r >= 0)
			r = lib.sd_bus_message_append_basic(m, 's', p->name);
		if (r >= 0)
			r = lib.sd_bus_message_open_container(m, 'v', p->type);
		if (r >= 0)
			r = append_value(m, p);
		if (r >= 0)
			r = lib.sd_bus_message_close_container(m);
		if (r >= 0)
			r = lib.sd_bus_message_close_container(m);
	}
	return r < 0 ? r : lib.sd_bus_message_close_container(m);
}

static int say(struct error *err, const char *doing, const char *unit, int code, const sd_bus_error *said)
{
	if (said && said->message)
		return error_set(err, code, "systemd cannot %s %s: %s", doing, unit, said->message);
	return error_errno(err, code, "systemd cannot %s %s", doing, unit);
}

/* ---- jobs ---- */

struct job {
	sd_bus_slot *slot;
	char *path;
	char result[32];
};

/* Those of others pass by as well; ours may pass before we have read how it is called, so all are read in the end (see wait_for_job()). */
static int on_removed(sd_bus_message *m, void *arg, sd_bus_error *unused)
{
	struct job *job = arg;
	const char *path, *unit, *result;
	uint32_t id;

	(void)unused;
	if (lib.sd_bus_message_read(m, "uoss", &id, &path, &unit, &result) >= 0 && job->path && !strcmp(path, job->path))
		(void)snprintf(job->result, sizeof(job->result), "%s", result);
	return 0;
}

/* Signals that come while a call is waited for are kept until sd_bus_process(): none is missed between the answer and here. */
static int wait_for_job(struct systemd_bus *bus, struct job *job)
{
	struct timespec now, end;
	int r = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += JOB_SECONDS;
	while (r >= 0 && !job->result[0]) {
		r = lib.sd_bus_process(bus->bus, NULL);
		if (r != 0 || job->result[0])
			continue;
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec >= end.tv_sec)
			return -ETIMEDOUT;
		r = lib.sd_bus_wait(bus->bus, (uint64_t)(end.tv_sec - now.tv_sec) * US_PER_SECOND);
		r = r == -EINTR ? 0 : r;
	}
	return r < 0 ? r : 0;
}

/* To the ends of jobs. Twice is an error on a bus. */
static int subscribe(struct systemd_bus *bus)
{
	int r = bus->subscribed ? 0 : lib.sd_bus_call_method(bus->bus, SERVICE, OBJECT, MANAGER, "Subscribe", NULL, NULL, NULL);

	bus->subscribed = r >= 0;
	return r;
}

/* A call whose answer is a job, and what becomes of it. */
static int call_job(struct systemd_bus *bus, sd_bus_message *m, const char *doing, const char *unit, sd_bus_error *said, struct error *err)
{
	struct job job = { 0 };
	sd_bus_message *reply = NULL;
	const char *path;
	int r;

	r = lib.sd_bus_match_signal(bus->bus, &job.slot, bus->client ? SERVICE : NULL, OBJECT, MANAGER, "JobRemoved", on_removed, &job);
	if (r >= 0)
		r = subscribe(bus);
	if (r >= 0)
		r = lib.sd_bus_call(bus->bus, m, 0, said, &reply);
	if (r >= 0)
		r = lib.sd_bus_message_read(reply, "o", &path);
	if (r >= 0)
		r = (job.path = strdup(path)) ? wait_for_job(bus, &job) : -ENOMEM;
	if (r < 0)
		r = say(err, doing, unit, -r, said);
	else if (strcmp(job.result, "done") != 0)
		r = error_set(err, EIO, "systemd could not %s %s: the job's result is '%s' (journalctl -u %s)", doing, unit, job.result, unit);
	else
		r = 0;
	(void)lib.sd_bus_slot_unref(job.slot);
	(void)lib.sd_bus_message_unref(reply);
	free(job.path);
	return r;
}

static int start_once(struct systemd_bus *bus, const char *unit, const struct systemd_properties *properties, sd_bus_error *said,
		      struct error *err)
{
	sd_bus_message *m = NULL;
	int r;

	r = lib.sd_bus_message_new_method_call(bus->bus, &m, SERVICE, OBJECT, MANAGER, "StartTransientUnit");
	if (r >= 0)
		r = lib.sd_bus_message_append(m, "ss", unit, "fail");
	if (r >= 0)
		r = append_properties(m, properties);
	if (r >= 0)
		r = lib.sd_bus_message_append(m, "a(sa(sv))", 0);
	r = r < 0 ? error_errno(err, -r, "cannot write the properties of %s", unit) : call_job(bus, m, "start", unit, said, err);
	(void)lib.sd_bus_message_unref(m);
	return r;
}

static void reset_failed(struct systemd_bus *bus, const char *unit)
{
	(void)lib.sd_bus_call_method(bus->bus, SERVICE, OBJECT, MANAGER, "ResetFailedUnit", NULL, NULL, "s", unit);
}

int systemd_start_transient(struct systemd_bus *bus, const char *unit, const struct systemd_properties *properties, struct error *err)
{
	sd_bus_error said = SD_BUS_ERROR_NULL;
	int r;

	r = start_once(bus, unit, properties, &said, err);
	if (r < 0 && lib.sd_bus_error_has_name(&said, SERVICE ".UnitExists")) {
		lib.sd_bus_error_free(&said);
		reset_failed(bus, unit);
		r = start_once(bus, unit, properties, &said, err);
		if (r < 0 && lib.sd_bus_error_has_name(&said, SERVICE ".UnitExists"))
			r = error_set(err, EEXIST, "systemd has a unit %s already: systemctl status %s", unit, unit);
	}
	lib.sd_bus_error_free(&said);
	return r;
}

int systemd_stop(struct systemd_bus *bus, const char *unit, bool kill, struct error *err)
{
	sd_bus_error said = SD_BUS_ERROR_NULL;
	sd_bus_message *m = NULL;
	int r;

	if (kill)
		(void)lib.sd_bus_call_method(bus->bus, SERVICE, OBJECT, MANAGER, "KillUnit", NULL, NULL, "ssi", unit, "all", 9);
	r = lib.sd_bus_message_new_method_call(bus->bus, &m, SERVICE, OBJECT, MANAGER, "StopUnit");
	if (r >= 0)
		r = lib.sd_bus_message_append(m, "ss", unit, "replace");
	r = r < 0 ? error_errno(err, -r, "cannot stop %s", unit) : call_job(bus, m, "stop", unit, &said, err);
	if (r < 0 && lib.sd_bus_error_has_name(&said, SERVICE ".NoSuchUnit"))
		r = 0;
	reset_failed(bus, unit);
	lib.sd_bus_error_free(&said);
	(void)lib.sd_bus_message_unref(m);
	return r;
}

int systemd_attach(struct systemd_bus *bus, const char *unit, pid_t pid, struct error *err)
{
	sd_bus_error said = SD_BUS_ERROR_NULL;
	int r;

	r = lib.sd_bus_call_method(bus->bus, SERVICE, OBJECT, MANAGER, "AttachProcessesToUnit", &said, NULL, "ssau", unit, "", 1, (uint32_t)pid);
	if (r < 0)
		r = say(err, "move a process into", unit, -r, &said);
	lib.sd_bus_error_free(&said);
	return r < 0 ? r : 0;
}

int systemd_set_properties(struct systemd_bus *bus, const char *unit, const struct systemd_properties *properties, struct error *err)
{
	sd_bus_error said = SD_BUS_ERROR_NULL;
	sd_bus_message *m = NULL;
	int r;

	if (properties->n == 0)
		return 0;
	r = lib.sd_bus_message_new_method_call(bus->bus, &m, SERVICE, OBJECT, MANAGER, "SetUnitProperties");
	if (r >= 0)
		r = lib.sd_bus_message_append(m, "sb", unit, 1); /* until the unit ends */
	if (r >= 0)
		r = append_properties(m, properties);
	if (r >= 0)
		r = lib.sd_bus_call(bus->bus, m, 0, &said, NULL);
	if (r < 0)
		r = say(err, "change the limits of", unit, -r, &said);
	lib.sd_bus_error_free(&said);
	(void)lib.sd_bus_message_unref(m);
	return r < 0 ? r : 0;
}
