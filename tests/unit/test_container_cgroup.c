/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resources in cgroups of version 2: which file gets what, in a directory that looks like a cgroup, because hosts that have all controllers in
 * version 2 are not everywhere. Rules about devices: the BPF program is run here, and compared with what the rules say one after another.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
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

static const char *const files[] = {
	"cpu.idle",	   "cpu.max",	  "cpu.max.burst",	    "cpu.weight", "cpuset.cpus",     "cpuset.mems",	 "hugetlb.2MB.max", "io.max",
	"io.weight",	   "memory.high", "memory.low",	    "memory.max", "memory.swap.max", "pids.max",
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
		{ "{\"memory\": {\"limit\": -1}}", "memory.max=max", "", "" },
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
