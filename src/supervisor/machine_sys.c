/* SPDX-License-Identifier: BSD-3-Clause */
/* See machine_sys.h. */
#include "supervisor/machine_sys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "engine/proc/machine.h"

enum { CPUS_MAX = 1024 }; /* as the option has it */

/* ---- adding ---- */

static char *keep(struct machine_sys *sys, const char *format, va_list ap) __attribute__((format(printf, 2, 0)));
static char *keep(struct machine_sys *sys, const char *format, va_list ap)
{
	char *text;

	if (vasprintf(&text, format, ap) < 0)
		return NULL;
	return strv_take(&sys->texts, text) < 0 ? NULL : text;
}

static char *keepf(struct machine_sys *sys, const char *format, ...) __attribute__((format(printf, 2, 3)));
static char *keepf(struct machine_sys *sys, const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	text = keep(sys, format, ap);
	va_end(ap);
	return text;
}

static int add(struct machine_sys *sys, const char *path, const char *text, const char *link)
{
	struct container_file *grown;

	if (!path)
		return -ENOMEM;
	if (sys->n == sys->room) {
		sys->room = sys->room ? sys->room * 2 : 256;
		grown = realloc(sys->files, sys->room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		sys->files = grown;
	}
	sys->files[sys->n++] = (struct container_file){ .path = path, .text = text, .link = link };
	return 0;
}

/* directory/name with a text, which may be that of a format. */
static int put(struct machine_sys *sys, const char *directory, const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static int put(struct machine_sys *sys, const char *directory, const char *name, const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	text = keep(sys, format, ap);
	va_end(ap);
	return text ? add(sys, keepf(sys, "%s/%s", directory, name), text, NULL) : -ENOMEM;
}

/* ---- sets of processors ---- */

static const char *cpu_list(struct machine_sys *sys, unsigned first, unsigned last)
{
	return last > first ? keepf(sys, "%u-%u", first, last) : keepf(sys, "%u", first);
}

/* The kernel's form of a mask: groups of 32 bits with the highest first, as wide as the machine has processors. */
static const char *cpu_mask(struct machine_sys *sys, unsigned cpus, unsigned first, unsigned last)
{
	char buf[CPUS_MAX / 32 * 9 + 16] = "";
	unsigned width = cpus % 32 ? (cpus % 32 + 3) / 4 : 8;
	struct text text;

	text_init(&text, buf, sizeof(buf));
	for (unsigned i = (cpus + 31) / 32; i-- > 0; width = 8) {
		uint32_t bits = 0;

		for (unsigned b = 0; b < 32; b++)
			if (i * 32 + b >= first && i * 32 + b <= last)
				bits |= UINT32_C(1) << b;
		text_add(&text, "%s%0*" PRIx32, text.len ? "," : "", (int)width, bits);
	}
	return keepf(sys, "%s", buf);
}

/* ---- processors ---- */

static const struct {
	unsigned level, size_kb, ways, sets;
	const char *type;
} caches[] = {
	{ 1, 32, 8, 64, "Data" },
	{ 1, 32, 8, 64, "Instruction" },
	{ 2, 512, 8, 1024, "Unified" },
	{ 3, 8192, 16, 8192, "Unified" },
};

static int put_set(struct machine_sys *sys, const char *directory, const char *name, const char *list_name, unsigned cpus,
		   unsigned first, unsigned last)
{
	const char *mask = cpu_mask(sys, cpus, first, last), *list = cpu_list(sys, first, last);
	int r;

	if (!mask || !list)
		return -ENOMEM;
	r = put(sys, directory, name, "%s\n", mask);
	return r < 0 ? r : put(sys, directory, list_name, "%s\n", list);
}

static int put_caches(struct machine_sys *sys, unsigned cpu, unsigned cpus)
{
	int r = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(caches) && r == 0; i++) {
		const char *at = keepf(sys, "devices/system/cpu/cpu%u/cache/index%u", cpu, i);
		bool shared = caches[i].level == 3;

		if (!at)
			return -ENOMEM;
		r = put(sys, at, "level", "%u\n", caches[i].level);
		r = r < 0 ? r : put(sys, at, "type", "%s\n", caches[i].type);
		r = r < 0 ? r : put(sys, at, "size", "%uK\n", caches[i].size_kb);
		r = r < 0 ? r : put(sys, at, "id", "%u\n", shared ? 0 : cpu);
		r = r < 0 ? r : put(sys, at, "coherency_line_size", "64\n");
		r = r < 0 ? r : put(sys, at, "physical_line_partition", "1\n");
		r = r < 0 ? r : put(sys, at, "ways_of_associativity", "%u\n", caches[i].ways);
		r = r < 0 ? r : put(sys, at, "number_of_sets", "%u\n", caches[i].sets);
		r = r < 0 ? r : put_set(sys, at, "shared_cpu_map", "shared_cpu_list", cpus, shared ? 0 : cpu, shared ? cpus - 1 : cpu);
	}
	return r;
}

static int put_topology(struct machine_sys *sys, unsigned cpu, unsigned cpus)
{
	const char *at = keepf(sys, "devices/system/cpu/cpu%u/topology", cpu);
	int r;

	if (!at)
		return -ENOMEM;
	r = put(sys, at, "core_id", "%u\n", cpu);
	r = r < 0 ? r : put(sys, at, "die_id", "0\n");
	r = r < 0 ? r : put(sys, at, "physical_package_id", "0\n");
	r = r < 0 ? r : put_set(sys, at, "thread_siblings", "thread_siblings_list", cpus, cpu, cpu);
	r = r < 0 ? r : put_set(sys, at, "core_cpus", "core_cpus_list", cpus, cpu, cpu);
	r = r < 0 ? r : put_set(sys, at, "core_siblings", "core_siblings_list", cpus, 0, cpus - 1);
	r = r < 0 ? r : put_set(sys, at, "package_cpus", "package_cpus_list", cpus, 0, cpus - 1);
	return r < 0 ? r : put_set(sys, at, "die_cpus", "die_cpus_list", cpus, 0, cpus - 1);
}

static int put_processors(struct machine_sys *sys, unsigned cpus)
{
	static const char at[] = "devices/system/cpu";
	static const char *const faults[] = { "gather_data_sampling", "itlb_multihit", "l1tf", "mds", "meltdown", "mmio_stale_data",
					      "reg_file_data_sampling", "retbleed", "spec_rstack_overflow",
					      "spec_store_bypass", "spectre_v1", "spectre_v2", "srbds", "tsx_async_abort" };
	const char *all = cpu_list(sys, 0, cpus - 1), *below = keepf(sys, "%s/vulnerabilities", at);
	int r;

	if (!all || !below)
		return -ENOMEM;
	r = put(sys, at, "online", "%s\n", all);
	r = r < 0 ? r : put(sys, at, "possible", "%s\n", all);
	r = r < 0 ? r : put(sys, at, "present", "%s\n", all);
	r = r < 0 ? r : put(sys, at, "offline", "\n");
	r = r < 0 ? r : put(sys, at, "isolated", "\n");
	r = r < 0 ? r : put(sys, at, "kernel_max", "1023\n");
	r = r < 0 ? r : put(sys, at, "smt/active", "0\n");
	r = r < 0 ? r : put(sys, at, "smt/control", "notsupported\n");
	for (size_t i = 0; i < ARRAY_SIZE(faults) && r == 0; i++)
		r = put(sys, below, faults[i], "Not affected\n");
	for (unsigned cpu = 0; cpu < cpus && r == 0; cpu++) {
		r = put_topology(sys, cpu, cpus);
		r = r < 0 ? r : put_caches(sys, cpu, cpus);
	}
	return r;
}

/* ---- memory ---- */

static int put_memory(struct machine_sys *sys, unsigned cpus, uint64_t bytes)
{
	static const char at[] = "devices/system/node", node[] = "devices/system/node/node0";
	static const char *const zeros = "numa_hit 0\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 0\nlocal_node 0\nother_node 0\n";
	static const char *const sets[] = { "online", "possible", "has_cpu", "has_memory", "has_normal_memory" };
	struct machine_memory m = machine_memory_of(bytes);
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sets) && r == 0; i++)
		r = put(sys, at, sets[i], "0\n");
	r = r < 0 ? r : put_set(sys, node, "cpumap", "cpulist", cpus, 0, cpus - 1);
	r = r < 0 ? r : put(sys, node, "distance", "10\n");
	r = r < 0 ? r : put(sys, node, "numastat", "%s", zeros);
	r = r < 0 ? r : put(sys, node, "vmstat", "nr_free_pages %" PRIu64 "\n", m.free / MACHINE_PAGE);
	return r < 0 ? r :
		       put(sys, node, "meminfo",
			   "Node 0 MemTotal:       %" PRIu64 " kB\nNode 0 MemFree:        %" PRIu64 " kB\nNode 0 MemUsed:        %" PRIu64 " kB\n",
			   m.total / 1024, m.free / 1024, (m.total - m.free) / 1024);
}

/* ---- network devices ---- */

struct net_device {
	const char *name, *address, *broadcast, *operstate;
	unsigned index, link, type, flags, mtu, assigned;
};

static const struct net_device loopback = { "lo", "00:00:00:00:00:00", "00:00:00:00:00:00", "unknown", 1, 1, 772, 0x9, 65536, 0 };

static int put_net_device(struct machine_sys *sys, const struct net_device *d)
{
	static const char *const counters[] = {
		"rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "tx_bytes", "tx_packets", "tx_errors", "tx_dropped",
	};
	const char *at = keepf(sys, "devices/virtual/net/%s", d->name), *below = keepf(sys, "%s/statistics", at ? at : "");
	int r;

	if (!at || !below)
		return -ENOMEM;
	r = put(sys, at, "address", "%s\n", d->address);
	r = r < 0 ? r : put(sys, at, "addr_len", "6\n");
	r = r < 0 ? r : put(sys, at, "addr_assign_type", "%u\n", d->assigned);
	r = r < 0 ? r : put(sys, at, "broadcast", "%s\n", d->broadcast);
	r = r < 0 ? r : put(sys, at, "carrier", "1\n");
	r = r < 0 ? r : put(sys, at, "dev_id", "0x0\n");
	r = r < 0 ? r : put(sys, at, "dormant", "0\n");
	r = r < 0 ? r : put(sys, at, "flags", "0x%x\n", d->flags);
	r = r < 0 ? r : add(sys, keepf(sys, "%s/ifalias", at), "", NULL);
	r = r < 0 ? r : put(sys, at, "ifindex", "%u\n", d->index);
	r = r < 0 ? r : put(sys, at, "iflink", "%u\n", d->link);
	r = r < 0 ? r : put(sys, at, "link_mode", "0\n");
	r = r < 0 ? r : put(sys, at, "mtu", "%u\n", d->mtu);
	r = r < 0 ? r : put(sys, at, "operstate", "%s\n", d->operstate);
	r = r < 0 ? r : put(sys, at, "tx_queue_len", "1000\n");
	r = r < 0 ? r : put(sys, at, "type", "%u\n", d->type);
	r = r < 0 ? r : put(sys, at, "uevent", "INTERFACE=%s\nIFINDEX=%u\n", d->name, d->index);
	for (size_t i = 0; i < ARRAY_SIZE(counters) && r == 0; i++)
		r = put(sys, below, counters[i], "0\n");
	return r < 0 ? r : add(sys, keepf(sys, "class/net/%s", d->name), NULL, keepf(sys, "../../%s", at));
}

static int put_net_pair(struct machine_sys *sys)
{
	struct net_device d = { .broadcast = "ff:ff:ff:ff:ff:ff", .operstate = "up", .type = 1, .flags = 0x1003, .mtu = 1500, .assigned = 3 };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(container_pair) && r == 0; i++) {
		const struct container_device_end *end = &container_pair[i];

		d.name = end->name;
		d.index = end->index;
		d.link = container_pair[!i].index;
		d.address = keepf(sys, "%02x:%02x:%02x:%02x:%02x:%02x", end->mac[0], end->mac[1], end->mac[2], end->mac[3], end->mac[4],
				  end->mac[5]);
		r = d.address ? put_net_device(sys, &d) : -ENOMEM;
		if (r == 0)
			r = put(sys, keepf(sys, "devices/virtual/net/%s", d.name), "speed", "10000\n");
		if (r == 0)
			r = put(sys, keepf(sys, "devices/virtual/net/%s", d.name), "duplex", "full\n");
	}
	return r;
}

/* ---- everything else ---- */

#define HUGE "kernel/mm/hugepages/hugepages-2048kB/"
#define THP "kernel/mm/transparent_hugepage/"

static const struct container_file fixed[] = {
	{ .path = THP "enabled", .text = "always [madvise] never\n" },
	{ .path = THP "defrag", .text = "always defer defer+madvise [madvise] never\n" },
	{ .path = THP "shmem_enabled", .text = "always within_size advise [never] deny force\n" },
	{ .path = THP "hpage_pmd_size", .text = "2097152\n" },
	{ .path = THP "use_zero_page", .text = "1\n" },
	{ .path = HUGE "nr_hugepages", .text = "0\n" },
	{ .path = HUGE "free_hugepages", .text = "0\n" },
	{ .path = HUGE "resv_hugepages", .text = "0\n" },
	{ .path = HUGE "surplus_hugepages", .text = "0\n" },
	{ .path = HUGE "nr_overcommit_hugepages", .text = "0\n" },
	{ .path = "kernel/uevent_seqnum", .text = "1000\n" },
	{ .path = "kernel/fscaps", .text = "1\n" },
	{ .path = "kernel/profiling", .text = "0\n" },
	{ .path = "kernel/security" },
	{ .path = "kernel/debug" },
	{ .path = "fs/cgroup" },
	{ .path = "block" },
	{ .path = "bus" },
	{ .path = "class/block" },
	{ .path = "class/tty" },
	{ .path = "dev/block" },
	{ .path = "dev/char" },
	{ .path = "firmware" },
	{ .path = "module" },
	{ .path = "power" },
};

int machine_sys_init(struct machine_sys *sys, unsigned cpus, uint64_t memory_bytes, bool pair)
{
	int r;

	*sys = (struct machine_sys){ 0 };
	r = put_processors(sys, cpus);
	r = r < 0 ? r : put_memory(sys, cpus, memory_bytes);
	r = r < 0 ? r : put_net_device(sys, &loopback);
	if (pair && r == 0)
		r = put_net_pair(sys);
	for (size_t i = 0; i < ARRAY_SIZE(fixed) && r == 0; i++)
		r = add(sys, fixed[i].path, fixed[i].text, fixed[i].link);
	return r;
}

void machine_sys_clear(struct machine_sys *sys)
{
	free(sys->files);
	strv_clear(&sys->texts);
	*sys = (struct machine_sys){ 0 };
}
