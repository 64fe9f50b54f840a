/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resources in cgroups of version 2: which file gets what, in a directory that looks like a cgroup, because hosts that have all controllers in
 * version 2 are not everywhere. Rules about devices: the BPF program is run here, and compared with what the rules say one after another.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "container/cgroup_internal.h"
#include "oci/config.h"
#include "oci/jread.h"
#include "oci/tables.h"

static const char *const files[] = {
	"cpu.idle",	   "cpu.max",	  "cpu.max.burst",	    "cpu.weight", "cpuset.cpus",     "cpuset.mems",	 "hugetlb.2MB.max", "io.max",
	"io.weight",	   "memory.high", "memory.low",	    "memory.max", "memory.swap.max", "pids.max",   "rdma.max",
	/* of version 1 */
	"blkio.leaf_weight", "blkio.leaf_weight_device", "blkio.throttle.read_bps_device", "blkio.throttle.read_iops_device",
	"blkio.throttle.write_bps_device", "blkio.throttle.write_iops_device", "blkio.weight", "blkio.weight_device", "cpu.cfs_burst_us",
	"cpu.cfs_period_us", "cpu.cfs_quota_us", "cpu.rt_period_us", "cpu.rt_runtime_us", "cpu.shares", "devices.allow", "devices.deny",
	"hugetlb.2MB.limit_in_bytes", "memory.kmem.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes", "memory.limit_in_bytes",
	"memory.memsw.limit_in_bytes", "memory.oom_control", "memory.soft_limit_in_bytes", "memory.swappiness", "memory.use_hierarchy",
	"net_cls.classid", "net_prio.ifpriomap",
};

static char top[] = "/tmp/hermit-cgroup2.XXXXXX";
static struct cgroup cgroup;

static void put(const char *name, const char *text)
{
	_cleanup_close_ int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	cr_assert(fd >= 0 && fd_write_full(fd, text, strlen(text)) == 0, "%s", name);
}

static void set_up(void)
{
	cr_assert(mkdtemp(top) && chdir(top) == 0);
	put("cgroup.controllers", "cpuset cpu io memory hugetlb pids\n");
	cgroup = (struct cgroup){ .unified = true, .n = 1 };
	cgroup.items[0] = (struct cgroup_hierarchy){ .controllers = (char[]){ "" }, .mount = top, .path = (char[]){ "/" }, .directory = top };
}

static void tear_down(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r %s", top);
	cr_assert_eq(system(command), 0);
}

/* "FILE=TEXT FILE=TEXT", of those that were written, or the message. `there`: what cpu.max and memory.max say before. */
static void apply(const char *json, const char *cpu_max, const char *memory_max, char *said, size_t size)
{
	struct oci_resources_file file = { 0 };
	struct error err = { 0 };
	bool failed;
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		put(files[i], "");
	put("cpu.max", cpu_max);
	put("memory.max", memory_max);
	said[0] = '\0';
	failed = oci_resources_parse(json, strlen(json), "r.json", &file, &err) < 0 || cgroup_apply(&cgroup, &file.resources, &err) < 0;
	if (failed)
		(void)snprintf(said, size, "%s", err.text);
	for (size_t i = 0; !failed && i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *text = NULL;
		const char *before = !strcmp(files[i], "cpu.max") ? cpu_max : !strcmp(files[i], "memory.max") ? memory_max : "";

		cr_assert_eq(fd_read_file(AT_FDCWD, files[i], 4096, &text, NULL), 0);
		if (!strcmp(text, before))
			continue;
		text[strcspn(text, "\n")] = '\0'; /* of a file of the kernel's nothing is left when it is written */
		at += (size_t)snprintf(said + at, size - at, "%s%s=%s", at ? ", " : "", files[i], text);
	}
	oci_resources_free(&file);
}

Test(container_cgroup, version_2, .init = set_up, .fini = tear_down)
{
	static const struct {
		const char *json, *expected, *cpu_max, *memory_max;
	} cases[] = {
		{ "{\"memory\": {\"limit\": 1000}}", "memory.max=1000", "", "" },
		{ "{\"memory\": {\"limit\": -1}}", "memory.max=max, memory.swap.max=max", "", "" },
		{ "{\"memory\": {\"limit\": 1000, \"swap\": 1500, \"reservation\": 700}}",
		  "memory.low=700, memory.max=1000, memory.swap.max=500", "", "" },
		{ "{\"memory\": {\"limit\": 1000, \"swap\": 1000}}", "memory.max=1000, memory.swap.max=0", "", "" },
		{ "{\"memory\": {\"swap\": -1}}", "memory.swap.max=max", "", "max\n" },
		/* an update of swap alone: the limit that is there counts */
		{ "{\"memory\": {\"swap\": 5000}}", "memory.swap.max=4000", "", "1000\n" },
		{ "{\"memory\": {\"swap\": 500}}", "linux.resources.memory.swap: is below memory.limit, which it includes", "", "1000\n" },
		{ "{\"memory\": {\"swap\": 5000}}", "linux.resources.memory.swap: needs memory.limit as well", "", "max\n" },
		/* zero is unset */
		{ "{\"memory\": {\"limit\": 0, \"swap\": 0, \"reservation\": 0, \"disableOOMKiller\": false}, "
		  "\"cpu\": {\"shares\": 0, \"quota\": 0, \"period\": 0}, \"blockIO\": {\"weight\": 0}}",
		  "", "", "" },
		{ "{}", "", "50000 100000\n", "1000\n" },
		{ "{\"cpu\": {}, \"memory\": {}, \"blockIO\": {}}", "", "", "" },
		{ "{\"cpu\": {\"shares\": 2}}", "cpu.weight=1", "", "" },
		{ "{\"cpu\": {\"shares\": 1024}}", "cpu.weight=39", "", "" },
		{ "{\"cpu\": {\"shares\": 262144}}", "cpu.weight=10000", "", "" },
		{ "{\"cpu\": {\"shares\": 1024, \"idle\": 1}}", "cpu.idle=1", "", "" },
		{ "{\"cpu\": {\"quota\": 50000, \"period\": 200000}}", "cpu.max=50000 200000", "", "" },
		/* a part of cpu.max: the kernel keeps a period that is left out; a quota has to be said again */
		{ "{\"cpu\": {\"quota\": 20000}}", "cpu.max=20000", "", "" },
		{ "{\"cpu\": {\"quota\": -1}}", "cpu.max=max", "", "" },
		{ "{\"cpu\": {\"period\": 200000}}", "cpu.max=50000 200000", "50000 100000\n", "" },
		{ "{\"cpu\": {\"period\": 200000}}", "cpu.max=max 200000", "max 100000\n", "" },
		{ "{\"cpu\": {\"burst\": 7000}}", "cpu.max.burst=7000", "", "" },
		{ "{\"cpu\": {\"cpus\": \"0-1\", \"mems\": \"0\"}}", "cpuset.cpus=0-1, cpuset.mems=0", "", "" },
		{ "{\"pids\": {\"limit\": 20}}", "pids.max=20", "", "" },
		{ "{\"pids\": {\"limit\": -1}}", "pids.max=max", "", "" },
		{ "{\"pids\": {\"limit\": 0}}", "pids.max=max", "", "" },
		{ "{\"blockIO\": {\"weight\": 10}}", "io.weight=default 1", "", "" },
		{ "{\"blockIO\": {\"weight\": 1000}}", "io.weight=default 10000", "", "" },
		{ "{\"blockIO\": {\"throttleReadBpsDevice\": [{\"major\": 8, \"minor\": 16, \"rate\": 100}]}}", "io.max=8:16 rbps=100", "", "" },
		{ "{\"blockIO\": {\"throttleWriteIOPSDevice\": [{\"major\": 8, \"minor\": 0, \"rate\": 9}]}}", "io.max=8:0 wiops=9", "", "" },
		{ "{\"hugepageLimits\": [{\"pageSize\": \"2MB\", \"limit\": 4194304}]}", "hugetlb.2MB.max=4194304", "", "" },
		{ "{\"unified\": {\"memory.high\": \"1G\"}}", "memory.high=1G", "", "" },
		{ "{\"unified\": {\"misc.max\": \"1\"}}", "linux.resources.unified: there is no cgroup controller 'misc' here", "", "" },
		{ "{\"unified\": {\"memory.no\": \"1\"}}", "linux.resources.unified: this kernel has no memory.no", "", "" },
		{ "{\"unified\": {\"memory/../x\": \"1\"}}", "r.json:1:29: unified.memory/../x: not the name of a control file such as 'memory.high'", "", "" },
		{ "{\"network\": {\"classID\": 5}}", "linux.resources.network: does not exist in cgroups of version 2", "", "" },
	};
	char said[1200];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		apply(cases[i].json, cases[i].cpu_max, cases[i].memory_max, said, sizeof(said));
		cr_expect_str_eq(said, cases[i].expected, "%s: '%s', expected '%s'", cases[i].json, said, cases[i].expected);
	}
}

Test(container_cgroup, a_controller_that_is_not_there, .init = set_up, .fini = tear_down)
{
	char said[1200];

	put("cgroup.controllers", "cpu pids\n");
	apply("{\"memory\": {\"limit\": 1000}}", "", "", said, sizeof(said));
	cr_expect_str_eq(said, "linux.resources.memory.limit: there is no cgroup controller 'memory' here");
	apply("{\"memory\": {\"limit\": 0}, \"pids\": {\"limit\": 3}}", "", "", said, sizeof(said));
	cr_expect_str_eq(said, "pids.max=3", "zero needs no controller: %s", said);
}

/* ---- every field ---- */

/*
 * What each property of linux.resources does, in both versions: a file that is written, or a refusal with its path. A table of the reader's that
 * has a property which is not here is an error, so that none is read and then forgotten.
 */
#define REFUSED(field) "linux.resources." field ": does not exist in cgroups of version 2"
#define BLKIO(key, rest) "{\"blockIO\": {\"" key "\": [{\"major\": 8, \"minor\": 0, " rest "}]}}"

static const struct {
	const char *path, *json, *v1, *v2;
} properties[] = {
	{ "memory.limit", "{\"memory\": {\"limit\": 9}}", "memory.limit_in_bytes=9", "memory.max=9" },
	{ "memory.reservation", "{\"memory\": {\"reservation\": 9}}", "memory.soft_limit_in_bytes=9", "memory.low=9" },
	{ "memory.swap", "{\"memory\": {\"limit\": 9, \"swap\": 12}}", "memory.limit_in_bytes=9, memory.memsw.limit_in_bytes=12",
	  "memory.max=9, memory.swap.max=3" },
	{ "memory.kernel", "{\"memory\": {\"kernel\": 9}}", "memory.kmem.limit_in_bytes=9", REFUSED("memory.kernel") },
	{ "memory.kernelTCP", "{\"memory\": {\"kernelTCP\": 9}}", "memory.kmem.tcp.limit_in_bytes=9", REFUSED("memory.kernelTCP") },
	{ "memory.swappiness", "{\"memory\": {\"swappiness\": 9}}", "memory.swappiness=9", REFUSED("memory.swappiness") },
	{ "memory.disableOOMKiller", "{\"memory\": {\"disableOOMKiller\": true}}", "memory.oom_control=1", REFUSED("memory.disableOOMKiller") },
	{ "memory.useHierarchy", "{\"memory\": {\"useHierarchy\": false}}", "memory.use_hierarchy=0", REFUSED("memory.useHierarchy") },
	{ "memory.checkBeforeUpdate", "{\"memory\": {\"limit\": 9, \"checkBeforeUpdate\": true}}", "linux.resources.memory.limit: 1000 bytes are in use",
	  "linux.resources.memory.limit: 1000 bytes are in use" },
	{ "cpu.shares", "{\"cpu\": {\"shares\": 2}}", "cpu.shares=2", "cpu.weight=1" },
	{ "cpu.quota", "{\"cpu\": {\"quota\": 9}}", "cpu.cfs_quota_us=9", "cpu.max=9" },
	{ "cpu.period", "{\"cpu\": {\"period\": 9}}", "cpu.cfs_period_us=9", "cpu.max=max 9" },
	{ "cpu.burst", "{\"cpu\": {\"burst\": 9}}", "cpu.cfs_burst_us=9", "cpu.max.burst=9" },
	{ "cpu.realtimeRuntime", "{\"cpu\": {\"realtimeRuntime\": 9}}", "cpu.rt_runtime_us=9", REFUSED("cpu.realtimeRuntime") },
	{ "cpu.realtimePeriod", "{\"cpu\": {\"realtimePeriod\": 9}}", "cpu.rt_period_us=9", REFUSED("cpu.realtimePeriod") },
	{ "cpu.cpus", "{\"cpu\": {\"cpus\": \"1\"}}", "cpuset.cpus=1", "cpuset.cpus=1" },
	{ "cpu.mems", "{\"cpu\": {\"mems\": \"1\"}}", "cpuset.mems=1", "cpuset.mems=1" },
	{ "cpu.idle", "{\"cpu\": {\"idle\": 1}}", "cpu.idle=1", "cpu.idle=1" },
	{ "pids.limit", "{\"pids\": {\"limit\": 9}}", "pids.max=9", "pids.max=9" },
	{ "blockIO.weight", "{\"blockIO\": {\"weight\": 10}}", "blkio.weight=10", "io.weight=default 1" },
	{ "blockIO.leafWeight", "{\"blockIO\": {\"leafWeight\": 10}}", "blkio.leaf_weight=10", REFUSED("blockIO.leafWeight") },
	{ "blockIO.weightDevice[].weight", BLKIO("weightDevice", "\"weight\": 10"), "blkio.weight_device=8:0 10", "io.weight=8:0 1" },
	{ "blockIO.weightDevice[].leafWeight", BLKIO("weightDevice", "\"leafWeight\": 10"), "blkio.leaf_weight_device=8:0 10",
	  REFUSED("blockIO.leafWeight") },
	{ "blockIO.throttleReadBpsDevice[].rate", BLKIO("throttleReadBpsDevice", "\"rate\": 9"), "blkio.throttle.read_bps_device=8:0 9", "io.max=8:0 rbps=9" },
	{ "blockIO.throttleWriteBpsDevice[].rate", BLKIO("throttleWriteBpsDevice", "\"rate\": 9"), "blkio.throttle.write_bps_device=8:0 9",
	  "io.max=8:0 wbps=9" },
	{ "blockIO.throttleReadIOPSDevice[].rate", BLKIO("throttleReadIOPSDevice", "\"rate\": 9"), "blkio.throttle.read_iops_device=8:0 9",
	  "io.max=8:0 riops=9" },
	{ "blockIO.throttleWriteIOPSDevice[].rate", BLKIO("throttleWriteIOPSDevice", "\"rate\": 9"), "blkio.throttle.write_iops_device=8:0 9",
	  "io.max=8:0 wiops=9" },
	{ "hugepageLimits[].limit", "{\"hugepageLimits\": [{\"pageSize\": \"2MB\", \"limit\": 9}]}", "hugetlb.2MB.limit_in_bytes=9", "hugetlb.2MB.max=9" },
	{ "network.classID", "{\"network\": {\"classID\": 9}}", "net_cls.classid=9", REFUSED("network") },
	{ "network.priorities[].priority", "{\"network\": {\"priorities\": [{\"name\": \"lo\", \"priority\": 9}]}}", "net_prio.ifpriomap=lo 9",
	  REFUSED("network") },
	{ "rdma", "{\"rdma\": {\"mlx5\": {\"hcaHandles\": 9}}}", "rdma.max=mlx5 hca_handle=9", "rdma.max=mlx5 hca_handle=9" },
	{ "unified", "{\"unified\": {\"memory.high\": \"9\"}}", "linux.resources.unified: this host has cgroups of version 1", "memory.high=9" },
	/* version 2: a program, see below */
	{ "devices[].allow", "{\"devices\": [{\"allow\": false, \"access\": \"rwm\"}]}", "devices.allow=c 136:* rwm, devices.deny=a", NULL },
};

/* Those that say which of several, or belong to another one. */
static const char *const qualifiers[] = {
	"devices*.type",  "devices*.major", "devices*.minor",       "devices*.access",
	"blockIO.*.major", "blockIO.*.minor", "hugepageLimits*.pageSize", "network.priorities*.name",
};

static bool is_known(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(properties); i++)
		if (!strcmp(properties[i].path, path))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(qualifiers); i++)
		if (!fnmatch(qualifiers[i], path, FNM_NOESCAPE))
			return true;
	return false;
}

static void look_for_unknown(const struct jread_object *object, const char *prefix)
{
	for (const struct jread_field *f = object->fields; f->key; f++) {
		const struct jread_list *list = f->convert == jread_to_list ? f->detail : NULL;
		jread_convert_fn *convert = list ? list->convert : f->convert;
		char path[200];

		(void)snprintf(path, sizeof(path), "%s%s%s", prefix, f->key, list ? "[]" : "");
		if (convert == jread_to_object) {
			(void)strncat(path, ".", sizeof(path) - strlen(path) - 1);
			look_for_unknown(list ? list->detail : f->detail, path);
		} else if (!(f->flags & JREAD_UNSUPPORTED)) {
			cr_expect(is_known(path), "linux.resources.%s is read, and nobody says what it does", path);
		}
	}
}

Test(container_cgroup, every_property, .init = set_up, .fini = tear_down)
{
	char said[1200];

	look_for_unknown(&oci_resources_object, "");
	put("memory.current", "1000\n");
	put("memory.usage_in_bytes", "1000\n");
	for (int version = 1; version <= 2; version++) {
		cgroup.unified = version == 2;
		cgroup.items[0].controllers =
			version == 2 ? (char[]){ "" } : (char[]){ "memory,cpu,cpuset,pids,blkio,hugetlb,net_cls,net_prio,rdma,devices" };
		put("cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma\n");
		for (size_t i = 0; i < ARRAY_SIZE(properties); i++) {
			const char *expected = version == 2 ? properties[i].v2 : properties[i].v1;

			if (!expected)
				continue;
			apply(properties[i].json, "", "", said, sizeof(said));
			cr_expect_str_eq(said, expected, "version %d, %s: '%s' instead of '%s'", version, properties[i].path, said, expected);
		}
	}
}

/* ---- rules about devices ---- */

struct access {
	char type;
	unsigned bits; /* BPF_DEVCG_ACC_* */
	uint32_t major, minor;
};

/* The instructions that such programs are made of; -1: something else, or out of the program. */
static int interpret(const struct bpf_insn *code, size_t n, const struct access *a)
{
	const struct bpf_cgroup_dev_ctx context = {
		.access_type = a->bits << 16 | (a->type == 'b' ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR),
		.major = a->major,
		.minor = a->minor,
	};
	uint64_t r[11] = { 0 };

	for (size_t at = 0; at < n; at++) {
		const struct bpf_insn *i = &code[at];
		uint32_t word = 0;

		switch (i->code) {
		case BPF_LDX | BPF_MEM | BPF_W:
			memcpy(&word, (const char *)&context + i->off, sizeof(word));
			r[i->dst_reg] = word;
			break;
		case BPF_ALU64 | BPF_MOV | BPF_X:
			r[i->dst_reg] = r[i->src_reg];
			break;
		case BPF_ALU64 | BPF_MOV | BPF_K:
			r[i->dst_reg] = (uint64_t)(int64_t)i->imm;
			break;
		case BPF_ALU64 | BPF_AND | BPF_K:
			r[i->dst_reg] &= (uint64_t)(int64_t)i->imm;
			break;
		case BPF_ALU64 | BPF_RSH | BPF_K:
			r[i->dst_reg] >>= i->imm;
			break;
		case BPF_JMP | BPF_JNE | BPF_K:
			at += r[i->dst_reg] != (uint64_t)(int64_t)i->imm ? (size_t)i->off : 0;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += r[i->dst_reg] == (uint64_t)(int64_t)i->imm ? (size_t)i->off : 0;
			break;
		case BPF_JMP | BPF_EXIT:
			return (int)r[0];
		default:
			return -1;
		}
	}
	return -1;
}

static bool fits(const struct oci_device_rule *rule, const struct access *a)
{
	unsigned bits = (rule->access & OCI_DEVICE_READ ? BPF_DEVCG_ACC_READ : 0) | (rule->access & OCI_DEVICE_WRITE ? BPF_DEVCG_ACC_WRITE : 0) |
			(rule->access & OCI_DEVICE_MKNOD ? BPF_DEVCG_ACC_MKNOD : 0);

	if (rule->type == 'a')
		return true;
	return rule->type == a->type && bits & a->bits && (!rule->major.set || rule->major.value < 0 || rule->major.value == a->major) &&
	       (!rule->minor.set || rule->minor.value < 0 || rule->minor.value == a->minor);
}

/* One kind of access, one rule after another, as version 1 takes them; the defaults come last. */
static int by_the_rules(const struct oci_device_rule *rules, size_t n, const struct access *a)
{
	bool allowed = true;

	for (size_t i = 0; i < n; i++)
		allowed = fits(&rules[i], a) ? rules[i].allow : allowed;
	for (size_t i = 0; i < cgroup_n_default_devices; i++)
		allowed = fits(&cgroup_default_devices[i], a) ? cgroup_default_devices[i].allow : allowed;
	return allowed;
}

static void compare(const char *json, const struct bpf_insn *code, size_t n, const struct oci_resources *r)
{
	static const uint32_t majors[] = { 1, 5, 7, 10, 136 }, minors[] = { 0, 1, 3, 11, 200, 229 };

	for (unsigned number = 0; number < 2 * 7 * ARRAY_SIZE(majors) * ARRAY_SIZE(minors); number++) {
		struct access a = { .type = number % 2 ? 'c' : 'b', .bits = 1 + number / 2 % 7 }, one = a;
		int said, expected = 1;

		one.major = a.major = majors[number / 14 % ARRAY_SIZE(majors)];
		one.minor = a.minor = minors[number / 14 / ARRAY_SIZE(majors)];
		said = interpret(code, n, &a);
		for (one.bits = 1; one.bits < 8; one.bits <<= 1)
			if (a.bits & one.bits)
				expected &= by_the_rules(r->devices, r->n_devices, &one);
		/* Several kinds at once that several rules allow together are refused: never more than the rules allow. */
		if (a.bits & (a.bits - 1))
			cr_expect(said == 0 || (said == 1 && expected == 1), "%s: %c %u:%u %u: %d", json, a.type, a.major, a.minor, a.bits, said);
		else
			cr_expect(said == expected, "%s: %c %u:%u %u: %d, not %d", json, a.type, a.major, a.minor, a.bits, said, expected);
	}
}

Test(container_cgroup, device_programs)
{
	static const char *const documents[] = {
		"[]",
		"[{\"allow\": false, \"access\": \"rwm\"}]",
		"[{\"allow\": false, \"access\": \"rwm\"}, {\"allow\": true, \"type\": \"c\", \"major\": 1, \"minor\": 11, \"access\": \"rw\"}]",
		"[{\"allow\": false, \"type\": \"c\", \"major\": 10, \"minor\": 229, \"access\": \"rwm\"}]",
		"[{\"allow\": false, \"access\": \"rwm\"}, {\"allow\": true, \"type\": \"b\", \"access\": \"r\"}, "
		"{\"allow\": true, \"type\": \"c\", \"major\": 5, \"access\": \"w\"}]",
		"[{\"allow\": true, \"type\": \"c\", \"major\": 7, \"minor\": 1, \"access\": \"rwm\"}, "
		"{\"allow\": false, \"type\": \"c\", \"major\": 7, \"access\": \"w\"}]",
		"[{\"allow\": false, \"type\": \"c\", \"major\": 1, \"minor\": 11, \"access\": \"rwm\"}, {\"allow\": true, \"type\": \"a\"}]",
		"[{\"allow\": true, \"type\": \"a\"}, {\"allow\": false, \"type\": \"b\", \"minor\": 200, \"access\": \"w\"}]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		_cleanup_free_ struct bpf_insn *code = NULL;
		struct oci_resources_file file = { 0 };
		struct error err = { 0 };
		char json[512];
		size_t n;

		(void)snprintf(json, sizeof(json), "{\"devices\": %s}", documents[i]);
		cr_assert_eq(oci_resources_parse(json, strlen(json), "r.json", &file, &err), 0, "%s", err.text);
		code = cgroup_device_program(file.resources.devices, file.resources.n_devices, &n);
		cr_assert(code);
		compare(json, code, n, &file.resources);
		oci_resources_free(&file);
	}
}
