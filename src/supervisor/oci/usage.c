/* SPDX-License-Identifier: BSD-3-Clause */
/* What a container uses: see usage.h. The members and the files that they come from are tables, one for each version of cgroups. */
#include "supervisor/oci/usage.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define TICK_NS 10000000ull /* of cpuacct.stat: USER_HZ is 100 on every machine */

struct member {
	const char *object; /* where it is: a path of names */
	const char *name;
	const char *controller, *file;
	const char *key; /* of a line in that file, or NULL: the file has nothing else */
	uint64_t unit;   /* 0: 1 */
	bool kept;       /* as 0 when there is nothing */
};

#define V1_MEMORY(object, prefix) \
	{ object, "limit", "memory", "memory." prefix "limit_in_bytes", .kept = true }, \
	{ object, "usage", "memory", "memory." prefix "usage_in_bytes", .unit = 1 }, \
	{ object, "max", "memory", "memory." prefix "max_usage_in_bytes", .unit = 1 }, \
	{ object, "failcnt", "memory", "memory." prefix "failcnt", .kept = true }

/* Version 2 has none of these. */
#define CPUSET(row)                                                                                     \
	row(cpu_exclusive) row(mem_exclusive) row(mem_hardwall) row(memory_migrate) row(memory_pressure) \
	row(memory_spread_page) row(memory_spread_slab) row(sched_load_balance) row(sched_relax_domain_level)
#define V1_CPUSET(name) { "cpuset", #name, "cpuset", "cpuset." #name, .kept = true },

static const struct member v1[] = {
	{ "cpu/usage", "total", "cpuacct", "cpuacct.usage", .unit = 1 },
	{ "cpu/usage", "kernel", "cpuacct", "cpuacct.stat", "system", TICK_NS, .kept = true },
	{ "cpu/usage", "user", "cpuacct", "cpuacct.stat", "user", TICK_NS, .kept = true },
	{ "cpu/throttling", "periods", "cpu", "cpu.stat", "nr_periods", .unit = 1 },
	{ "cpu/throttling", "throttledPeriods", "cpu", "cpu.stat", "nr_throttled", .unit = 1 },
	{ "cpu/throttling", "throttledTime", "cpu", "cpu.stat", "throttled_time", .unit = 1 },
	CPUSET(V1_CPUSET)
	{ "memory", "cache", "memory", "memory.stat", "cache", .unit = 1 },
	V1_MEMORY("memory/usage", ""),
	V1_MEMORY("memory/swap", "memsw."),
	V1_MEMORY("memory/kernel", "kmem."),
	V1_MEMORY("memory/kernelTCP", "kmem.tcp."),
	{ "pids", "current", "pids", "pids.current", .unit = 1 },
	{ "pids", "limit", "pids", "pids.max", .unit = 1 },
};

#define V2_NONE(object, name) { object, name, .kept = true }
#define V2_CPUSET(name) V2_NONE("cpuset", #name),

static const struct member v2[] = {
	{ "cpu/usage", "total", "", "cpu.stat", "usage_usec", 1000, .kept = false },
	{ "cpu/usage", "kernel", "", "cpu.stat", "system_usec", 1000, .kept = true },
	{ "cpu/usage", "user", "", "cpu.stat", "user_usec", 1000, .kept = true },
	{ "cpu/throttling", "periods", "", "cpu.stat", "nr_periods", .unit = 1 },
	{ "cpu/throttling", "throttledPeriods", "", "cpu.stat", "nr_throttled", .unit = 1 },
	{ "cpu/throttling", "throttledTime", "", "cpu.stat", "throttled_usec", 1000, .kept = false },
	CPUSET(V2_CPUSET)
	{ "memory", "cache", "memory", "memory.stat", "file", .unit = 1 },
	{ "memory/usage", "limit", "memory", "memory.max", .kept = true },
	{ "memory/usage", "usage", "memory", "memory.current", .unit = 1 },
	{ "memory/usage", "max", "memory", "memory.peak", .unit = 1 },
	V2_NONE("memory/usage", "failcnt"),
	{ "memory/swap", "limit", "memory", "memory.swap.max", .kept = true },
	{ "memory/swap", "usage", "memory", "memory.swap.current", .unit = 1 },
	{ "memory/swap", "max", "memory", "memory.swap.peak", .unit = 1 },
	V2_NONE("memory/swap", "failcnt"),
	V2_NONE("memory/kernel", "limit"),
	V2_NONE("memory/kernel", "failcnt"),
	V2_NONE("memory/kernelTCP", "limit"),
	V2_NONE("memory/kernelTCP", "failcnt"),
	{ "pids", "current", "pids", "pids.current", .unit = 1 },
	{ "pids", "limit", "pids", "pids.max", .unit = 1 },
};

/* The object at the end of a path, which is made. Borrowed; NULL: out of memory, in which case what is put there is lost. */
static json_t *object_at(json_t *data, const char *path)
{
	char name[64];

	while (data && *path) {
		size_t len = strcspn(path, "/");
		json_t *next;

		(void)snprintf(name, sizeof(name), "%.*s", (int)len, path);
		next = json_object_get(data, name);
		if (!next && json_object_set_new(data, name, json_object()) == 0)
			next = json_object_get(data, name);
		data = next;
		path += len + (path[len] == '/');
	}
	return data;
}

static char *next_line(char **text)
{
	return strsep(text, "\n");
}

/* What has no limit ("max") is the largest number that fits. */
static json_int_t number_of(const char *text, uint64_t unit)
{
	uint64_t value;

	if (!strncmp(text, "max", 3))
		return INT64_MAX;
	if (*text == '-')
		return strtoll(text, NULL, 10);
	value = strtoull(text, NULL, 10);
	return __builtin_mul_overflow(value, unit, &value) || value > INT64_MAX ? INT64_MAX : (json_int_t)value;
}

static json_int_t read_member(const struct cgroup *cgroup, const struct member *m)
{
	_cleanup_free_ char *text = m->file ? cgroup_read_text(cgroup, m->controller, m->file) : NULL;
	size_t len = m->key ? strlen(m->key) : 0;
	char *rest = text, *line;

	while ((line = next_line(&rest)))
		if (!m->key || (!strncmp(line, m->key, len) && line[len] == ' '))
			return number_of(line + len + (len > 0), m->unit ? m->unit : 1);
	return 0;
}

static void put_members(json_t *data, const struct cgroup *cgroup, const struct member *members, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct member *m = &members[i];
		json_t *object = object_at(data, m->object);
		json_int_t value = read_member(cgroup, m);

		if (!strcmp(m->object, "pids") && value == INT64_MAX)
			value = 0; /* no limit */
		if (object && (value || m->kept))
			(void)json_object_set_new(object, m->name, json_integer(value));
	}
}

/* Numbers of one line. */
static json_t *list_of_words(const char *text)
{
	json_t *list = json_array();
	char *end;

	for (uint64_t value; *(text += strspn(text, " \n")); text = end) {
		value = strtoull(text, &end, 10);
		if (end == text)
			break;
		(void)json_array_append_new(list, json_integer((json_int_t)value));
	}
	return list;
}

/* "0-3,7" */
static json_t *list_of_ranges(const char *text)
{
	unsigned first, last;
	json_t *list = json_array();

	while (sscanf(text, "%u", &first) == 1) {
		last = sscanf(text, "%*u-%u", &last) == 1 ? last : first;
		for (unsigned i = first; i <= last && i - first < 4096; i++)
			(void)json_array_append_new(list, json_integer((json_int_t)i));
		text += strcspn(text, ",");
		text += *text == ',';
	}
	return list;
}

static void put_list(json_t *data, const char *object, const char *name, json_t *list)
{
	if (json_array_size(list) > 0)
		(void)json_object_set_new(object_at(data, object), name, list);
	else
		json_decref(list);
}

/* Columns of cpuacct.usage_all: "cpu user system", then a line for each processor. */
static void put_processors(json_t *data, const struct cgroup *cgroup)
{
	_cleanup_free_ char *percpu = cgroup_read_text(cgroup, "cpuacct", "cpuacct.usage_percpu");
	_cleanup_free_ char *all = cgroup_read_text(cgroup, "cpuacct", "cpuacct.usage_all");
	json_t *user = json_array(), *kernel = json_array();
	uint64_t in_user, in_kernel;
	char *rest = all, *line;

	while ((line = next_line(&rest)))
		if (sscanf(line, "%*u %" SCNu64 " %" SCNu64, &in_user, &in_kernel) == 2) {
			(void)json_array_append_new(user, json_integer((json_int_t)in_user));
			(void)json_array_append_new(kernel, json_integer((json_int_t)in_kernel));
		}
	put_list(data, "cpu/usage", "percpu_user", user);
	put_list(data, "cpu/usage", "percpu_kernel", kernel);
	if (percpu)
		put_list(data, "cpu/usage", "percpu", list_of_words(percpu));
}

static void put_ranges(json_t *data, const struct cgroup *cgroup, const char *file, const char *name)
{
	_cleanup_free_ char *text = cgroup_read_text(cgroup, "cpuset", file);

	if (text)
		put_list(data, "cpuset", name, list_of_ranges(text));
}

/* The kernel's own names: every line of memory.stat. */
static void put_raw(json_t *data, const struct cgroup *cgroup)
{
	_cleanup_free_ char *text = cgroup_read_text(cgroup, "memory", "memory.stat");
	char *rest = text, *line;
	json_t *raw = text ? object_at(data, "memory/raw") : NULL;

	while (raw && (line = next_line(&rest))) {
		char *space = strchr(line, ' ');

		if (!space)
			continue;
		*space = '\0';
		(void)json_object_set_new(raw, line, json_integer(number_of(space + 1, 1)));
	}
}

/* ---- block devices ---- */

struct block_entry {
	unsigned major, minor;
	const char *op;
	uint64_t value;
};

static void append_entry(json_t *list, const struct block_entry *e)
{
	json_t *entry = json_object();

	if (e->major)
		(void)json_object_set_new(entry, "major", json_integer(e->major));
	if (e->minor)
		(void)json_object_set_new(entry, "minor", json_integer(e->minor));
	if (*e->op)
		(void)json_object_set_new(entry, "op", json_string(e->op));
	if (e->value)
		(void)json_object_set_new(entry, "value", json_integer((json_int_t)e->value));
	(void)json_array_append_new(list, entry);
}

/* Lines of "8:0 Read 4096", or "8:0 17"; the sum ("Total 4096") is not one of them. */
static json_t *read_block_v1(const struct cgroup *cgroup, const char *file)
{
	_cleanup_free_ char *text = cgroup_read_text(cgroup, "blkio", file);
	json_t *list = json_array();
	char *rest = text, *line;

	while ((line = next_line(&rest))) {
		struct block_entry e = { .op = "" };
		char op[16];

		if (sscanf(line, "%u:%u %15[A-Za-z] %" SCNu64, &e.major, &e.minor, op, &e.value) == 4)
			e.op = op;
		else if (sscanf(line, "%u:%u %" SCNu64, &e.major, &e.minor, &e.value) != 3)
			continue;
		append_entry(list, &e);
	}
	return list;
}

static void put_block_v1(json_t *data, const struct cgroup *cgroup)
{
	static const struct {
		const char *name, *files[2]; /* the first that has something */
	} members[] = {
		{ "ioServiceBytesRecursive", { "blkio.bfq.io_service_bytes_recursive", "blkio.throttle.io_service_bytes_recursive" } },
		{ "ioServicedRecursive", { "blkio.bfq.io_serviced_recursive", "blkio.throttle.io_serviced_recursive" } },
		{ "ioQueueRecursive", { "blkio.bfq.io_queued_recursive" } },
		{ "ioServiceTimeRecursive", { "blkio.bfq.io_service_time_recursive" } },
		{ "ioWaitTimeRecursive", { "blkio.bfq.io_wait_time_recursive" } },
		{ "ioMergedRecursive", { "blkio.bfq.io_merged_recursive" } },
		{ "ioTimeRecursive", { "blkio.bfq.time_recursive" } },
		{ "sectorsRecursive", { "blkio.bfq.sectors_recursive" } },
	};
	json_t *list;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		list = read_block_v1(cgroup, members[i].files[0]);
		if (json_array_size(list) == 0 && members[i].files[1]) {
			json_decref(list);
			list = read_block_v1(cgroup, members[i].files[1]);
		}
		put_list(data, "blkio", members[i].name, list);
	}
}

/* Lines of "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6" */
static void put_block_v2(json_t *data, const struct cgroup *cgroup)
{
	static const struct {
		const char *key, *op;
		bool bytes;
	} kinds[] = { { "rbytes=", "Read", true }, { "wbytes=", "Write", true }, { "dbytes=", "Discard", true },
		      { "rios=", "Read", false }, { "wios=", "Write", false }, { "dios=", "Discard", false } };
	_cleanup_free_ char *text = cgroup_read_text(cgroup, "io", "io.stat");
	json_t *bytes = json_array(), *count = json_array();
	char *rest = text, *line;

	while ((line = next_line(&rest)))
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			struct block_entry e = { .op = kinds[i].op };
			const char *at = strstr(line, kinds[i].key);

			if (!at || sscanf(line, "%u:%u", &e.major, &e.minor) != 2)
				continue;
			e.value = strtoull(at + strlen(kinds[i].key), NULL, 10);
			append_entry(kinds[i].bytes ? bytes : count, &e);
		}
	put_list(data, "blkio", "ioServiceBytesRecursive", bytes);
	put_list(data, "blkio", "ioServicedRecursive", count);
}

/* ---- huge pages ---- */

static void put_huge(json_t *data, const struct cgroup *cgroup, bool unified, const char *size)
{
	const struct {
		const char *name, *suffix[2], *key;
		bool kept;
	} members[] = {
		{ "usage", { "usage_in_bytes", "current" }, NULL, false },
		{ "max", { "max_usage_in_bytes", NULL }, NULL, false },
		{ "failcnt", { "failcnt", "events" }, unified ? "max" : NULL, true },
	};
	char object[48], file[64];

	(void)snprintf(object, sizeof(object), "hugetlb/%s", size);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		struct member m = { object, members[i].name, "hugetlb", file, members[i].key, .kept = members[i].kept };

		if (!members[i].suffix[unified])
			continue;
		(void)snprintf(file, sizeof(file), "hugetlb.%s.%s", size, members[i].suffix[unified]);
		put_members(data, cgroup, &m, 1);
	}
}

/* The sizes of this machine, as the controller's files have them in their names. */
static void put_huge_pages(json_t *data, const struct cgroup *cgroup, bool unified)
{
	DIR *sizes = cgroup_has(cgroup, "hugetlb") ? opendir("/sys/kernel/mm/hugepages") : NULL;
	struct dirent *entry;
	unsigned kb;
	char size[24];

	while (sizes && (entry = readdir(sizes)))
		if (sscanf(entry->d_name, "hugepages-%ukB", &kb) == 1) {
			unsigned unit = kb >= 1024 * 1024 ? 1024 * 1024 : kb >= 1024 ? 1024 : 1;

			(void)snprintf(size, sizeof(size), "%u%s", kb / unit, unit == 1 ? "KB" : unit == 1024 ? "MB" : "GB");
			put_huge(data, cgroup, unified, size);
		}
	if (sizes)
		(void)closedir(sizes);
}

/* Version 1 counts memory and swap together, and readers are used to that. */
static void add_memory_to_swap(json_t *data)
{
	static const char *const names[] = { "limit", "usage" };
	json_t *memory = object_at(data, "memory/usage"), *swap = object_at(data, "memory/swap");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_int_t a = json_integer_value(json_object_get(memory, names[i])), b = json_integer_value(json_object_get(swap, names[i]));

		if ((a || b) && (__builtin_add_overflow(a, b, &a) || b == INT64_MAX))
			a = INT64_MAX;
		if (a)
			(void)json_object_set_new(swap, names[i], json_integer(a));
	}
}

json_t *usage_document(const struct cgroup *cgroup)
{
	static const char *const objects[] = { "cpu/usage", "cpu/throttling", "cpuset", "memory", "pids", "blkio", "hugetlb", "intel_rdt" };
	bool unified = cgroup_is_unified(cgroup);
	json_t *data = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		(void)object_at(data, objects[i]);
	if (unified) {
		put_members(data, cgroup, v2, ARRAY_SIZE(v2));
		add_memory_to_swap(data);
		put_block_v2(data, cgroup);
	} else {
		put_members(data, cgroup, v1, ARRAY_SIZE(v1));
		put_processors(data, cgroup);
		put_ranges(data, cgroup, "cpuset.cpus", "cpus");
		put_ranges(data, cgroup, "cpuset.mems", "mems");
		put_block_v1(data, cgroup);
	}
	put_raw(data, cgroup);
	put_huge_pages(data, cgroup, unified);
	(void)json_object_set_new(data, "network_interfaces", json_null());
	return data;
}
