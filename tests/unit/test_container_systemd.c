/* SPDX-License-Identifier: BSD-3-Clause */
/* What systemd is told: names of units, linux.resources and annotations as properties. Each list is compared as text, "NAME TYPE VALUES". */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "container/systemd_unit.h"

#define SET(v) { .set = true, .value = (v) }

Test(systemd, names)
{
	static const struct {
		const char *path;
		bool user;
		const char *slice, *name; /* slice NULL: refused with `name` in the message */
	} rows[] = {
		{ NULL, false, "system.slice", "hermit-id1.scope" },
		{ "", true, "user.slice", "hermit-id1.scope" },
		{ "machine.slice:libpod:1234", false, "machine.slice", "libpod-1234.scope" },
		{ "a-b.slice:cri-containerd:c@x", false, "a-b.slice", "cri-containerd-c@x.scope" },
		{ ":libpod:1234", true, "user.slice", "libpod-1234.scope" },
		{ "system.slice::plain", false, "system.slice", "plain.scope" },
		{ "system.slice:docker:", false, "system.slice", "docker-id1.scope" },
		{ "-.slice:x:y", false, "-.slice", "x-y.scope" },
		{ "/a/b", false, NULL, "expected cgroupsPath to be of format \"slice:prefix:name\" for systemd cgroups, got \"/a/b\" instead" },
		{ "a.slice:b", false, NULL, "got \"a.slice:b\" instead" },
		{ "a.slice:b:c:d", false, NULL, "got \"a.slice:b:c:d\" instead" },
		{ "a:b:c", false, NULL, "'a' is not the name of a slice" },
		{ "a/b.slice:c:d", false, NULL, "'a/b.slice' is not the name of a slice" },
		{ ".slice:c:d", false, NULL, "'.slice' is not the name of a slice" },
		{ "a.slice:b:c d", false, NULL, "'b-c d.scope' is not the name of a unit" },
		{ "a.slice:b:c.slice", false, NULL, "'c.slice' is a slice" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct systemd_unit unit = { 0 };
		struct error err = { 0 };
		int r = systemd_unit_of_path(rows[i].path, "id1", rows[i].user, &unit, &err);

		cr_expect_eq(r, rows[i].slice ? 0 : -err.code, "row %zu: %d", i, r);
		if (rows[i].slice) {
			cr_expect_str_eq(unit.slice, rows[i].slice, "row %zu", i);
			cr_expect_str_eq(unit.name, rows[i].name, "row %zu", i);
		} else {
			cr_expect(r < 0 && strstr(err.text, rows[i].name), "row %zu: %s", i, err.text);
		}
		systemd_unit_clear(&unit);
	}
}

/* All of a list, one line each, without the last newline. */
static const char *shown(const struct systemd_properties *list)
{
	static char text[8192];
	size_t n = 0;

	text[0] = '\0';
	cr_expect(!list->failed);
	for (size_t i = 0; i < list->n; i++) {
		const struct systemd_property *p = &list->items[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %s", i ? "\n" : "", p->name, p->type);
		for (size_t j = 0; j < p->n_numbers; j++)
			n += p->numbers[j] == UINT64_MAX ? (size_t)snprintf(text + n, sizeof(text) - n, " max")
							 : (size_t)snprintf(text + n, sizeof(text) - n, " %" PRIu64, p->numbers[j]);
		for (size_t j = 0; j < p->strings.count; j++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " '%s'", p->strings.items[j]);
	}
	return text;
}

static void expect_resources(const struct oci_resources *r, bool unified, unsigned version, const char *expected)
{
	struct systemd_properties list = { 0 };

	systemd_add_resources(&list, r, unified, version);
	cr_expect_str_eq(shown(&list), expected, "version %d, systemd %u:\n%s\ninstead of\n%s", unified ? 2 : 1, version, shown(&list), expected);
	systemd_properties_clear(&list);
}

Test(systemd, all_limits)
{
	const struct oci_resources r = {
		.present = true,
		.memory = { .limit = SET(1000), .reservation = SET(500), .swap = SET(1500) },
		.cpu = { .shares = SET(1024), .quota_us = SET(50000), .period_us = SET(200000), .cpus = (char[]){ "0-2,9" }, .mems = (char[]){ "0" } },
		.pids_limit = SET(7),
		.blkio.weight = SET(500),
	};

	expect_resources(&r, true, 252,
			 "MemoryMax t 1000\nMemoryLow t 500\nMemorySwapMax t 500\nCPUWeight t 39\nIOWeight t 4950\n"
			 "CPUQuotaPerSecUSec t 250000\nCPUQuotaPeriodUSec t 200000\nTasksMax t 7\nAllowedCPUs ay 7 2\nAllowedMemoryNodes ay 1");
	expect_resources(&r, true, 241,
			 "MemoryMax t 1000\nMemoryLow t 500\nMemorySwapMax t 500\nCPUWeight t 39\nIOWeight t 4950\nCPUQuotaPerSecUSec t 250000\n"
			 "TasksMax t 7");
	expect_resources(&r, false, 252,
			 "MemoryLimit t 1000\nCPUShares t 1024\nBlockIOWeight t 500\nCPUQuotaPerSecUSec t 250000\nCPUQuotaPeriodUSec t 200000\n"
			 "TasksMax t 7");
}

Test(systemd, single_limits)
{
	const struct {
		struct oci_resources r;
		const char *v2, *v1;
	} rows[] = {
		{ { 0 }, "", "" },
		{ { .memory.limit = SET(-1) }, "MemoryMax t max\nMemorySwapMax t max", "MemoryLimit t max" },
		{ { .memory = { .limit = SET(-1), .reservation = SET(9) } }, "MemoryMax t max\nMemoryLow t 9\nMemorySwapMax t max", "MemoryLimit t max" },
		{ { .memory.swap = SET(-1) }, "MemorySwapMax t max", "" },
		{ { .memory.swap = SET(10) }, "", "" },
		{ { .memory = { .limit = SET(20), .swap = SET(10) } }, "MemoryMax t 20", "MemoryLimit t 20" },
		{ { .pids_limit = SET(-1) }, "TasksMax t max", "TasksMax t max" },
		{ { .cpu.shares = SET(1) }, "CPUWeight t 1", "" },
		{ { .cpu.shares = SET(300000) }, "CPUWeight t 10000", "" },
		{ { .cpu.idle = SET(1) }, "CPUWeight t 0", "" },
		{ { .cpu = { .idle = SET(1), .shares = SET(100) } }, "CPUWeight t 0", "CPUShares t 100" },
		{ { .cpu = { .idle = SET(0), .shares = SET(2) } }, "CPUWeight t 1", "CPUShares t 2" },
		{ { .cpu.quota_us = SET(-1) }, "CPUQuotaPerSecUSec t max", "CPUQuotaPerSecUSec t max" },
		/* without a period it is 100 ms; 1.5 % of a processor is no step of systemd's */
		{ { .cpu.quota_us = SET(1500) }, "CPUQuotaPerSecUSec t 20000", "CPUQuotaPerSecUSec t 20000" },
		{ { .cpu.period_us = SET(1000) }, "CPUQuotaPeriodUSec t 1000", "CPUQuotaPeriodUSec t 1000" },
		{ { .blkio.weight = SET(5) }, "IOWeight t 1", "" },
		{ { .blkio.weight = SET(1000) }, "IOWeight t 10000", "BlockIOWeight t 1000" },
		{ { .cpu.cpus = (char[]){ "x" } }, "", "" },
		{ { .cpu.cpus = (char[]){ "3-1" } }, "", "" },
		{ { .cpu.cpus = (char[]){ "16" } }, "AllowedCPUs ay 0 0 1", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		expect_resources(&rows[i].r, true, 252, rows[i].v2);
		expect_resources(&rows[i].r, false, 252, rows[i].v1);
	}
}

Test(systemd, unified)
{
	struct oci_pair pairs[] = {
		{ (char[]){ "memory.high" }, (char[]){ "1024" } }, { (char[]){ "memory.min" }, (char[]){ "max" } },
		{ (char[]){ "memory.max" }, (char[]){ "1G" } },	   { (char[]){ "pids.max" }, (char[]){ "max" } },
		{ (char[]){ "cpu.max" }, (char[]){ "max 50000" } }, { (char[]){ "cpu.max" }, (char[]){ "20000" } },
		{ (char[]){ "cpuset.cpus" }, (char[]){ "1" } },	   { (char[]){ "hugetlb.2MB.max" }, (char[]){ "1" } },
	};
	const struct oci_resources r = { .present = true, .unified = { .items = pairs, .count = ARRAY_SIZE(pairs) } };

	expect_resources(&r, true, 252,
			 "MemoryHigh t 1024\nMemoryMin t max\nTasksMax t max\nCPUQuotaPerSecUSec t max\nCPUQuotaPeriodUSec t 50000\n"
			 "CPUQuotaPerSecUSec t 200000\nAllowedCPUs ay 2");
	expect_resources(&r, false, 252, "");
}

Test(systemd, devices)
{
	struct oci_device_rule rules[] = {
		{ .allow = false, .type = 'a', .access = 7 },
		{ .allow = true, .type = 'c', .major = SET(10), .minor = SET(200), .access = OCI_DEVICE_READ | OCI_DEVICE_WRITE },
		{ .allow = true, .type = 'b', .major = SET(8), .access = OCI_DEVICE_READ },
		{ .allow = true, .type = 'c', .access = OCI_DEVICE_MKNOD },
	};
	struct oci_resources r = { .present = true, .devices = rules, .n_devices = ARRAY_SIZE(rules) };
	static const char expected[] = "DevicePolicy s 'strict'\nDeviceAllow a(ss)\n"
				       "DeviceAllow a(ss) '/dev/char/10:200' 'rw' 'block-8' 'r' 'char-*' 'm'";
	struct systemd_properties list = { 0 };

	systemd_add_devices(&list, &r);
	cr_expect(!strncmp(shown(&list), expected, strlen(expected)), "%s", shown(&list));
	cr_expect(strstr(shown(&list), "'/dev/char/1:3' 'rwm'"), "what every container has: %s", shown(&list));
	systemd_properties_clear(&list);
	rules[3].allow = false; /* systemd cannot take away again */
	systemd_add_devices(&list, &r);
	cr_expect_str_eq(shown(&list), "");
	r.n_devices = 0;
	systemd_add_devices(&list, &r);
	cr_expect_str_eq(shown(&list), "");
	systemd_properties_clear(&list);
}

Test(systemd, annotations)
{
	static const struct {
		const char *name, *value;
		const char *expected; /* NULL: refused */
	} rows[] = {
		{ "CollectMode", "'inactive-or-failed'", "CollectMode s 'inactive-or-failed'" },
		{ "Description", "\"it's \\\"x\\\"\"", "Description s 'it's \"x\"'" },
		{ "DefaultDependencies", "true", "DefaultDependencies b 1" },
		{ "TasksAccounting", " false ", "TasksAccounting b 0" },
		{ "TimeoutStopUSec", "uint64 123456789", "TimeoutStopUSec t 123456789" },
		{ "TimeoutStopSec", "uint64 7", "TimeoutStopUSec t 7000000" },
		{ "TimeoutStopSec", "7", "TimeoutStopUSec t 7000000" },
		{ "CPUQuotaPerSecUSec", "uint64 200000", "CPUQuotaPerSecUSec t 200000" },
		{ "OOMScoreAdjust", "-5", "OOMScoreAdjust i 18446744073709551611" },
		{ "OOMScoreAdjust", "int32 +5", "OOMScoreAdjust i 5" },
		{ "X", "byte 255", "X y 255" },
		{ "X", "int16 -32768", "X n 18446744073709518848" },
		{ "X", "int64 -9223372036854775808", "X x 9223372036854775808" },
		{ "After", "['a.service', 'b.service']", "After as 'a.service' 'b.service'" },
		{ "X", "[1,2]", "X ai 1 2" },
		{ "X", "[ uint32 1 , uint32 2 ]", "X au 1 2" },
		{ "X", "byte 256", NULL },	{ "X", "uint64 -1", NULL },   { "X", "2147483648", NULL },
		{ "X", "soon", NULL },		{ "X", "'open", NULL },	      { "X", "", NULL },
		{ "X", "true x", NULL },	{ "X", "[]", NULL },	      { "X", "[1, 'a']", NULL },
		{ "X", "['a'", NULL },		{ "X", "uint64", NULL },      { "", "true", NULL },
		{ "9X", "true", NULL },		{ "A B", "true", NULL },      { "TimeoutStopSec", "'7'", NULL },
		{ "TimeoutStopSec", "uint64 18446744073709551615", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char key[128], value[128];
		struct oci_pair pairs[] = { { (char[]){ "org.other" }, (char[]){ "x" } }, { key, value } };
		const struct oci_pairs annotations = { .items = pairs, .count = 2 };
		struct systemd_properties list = { 0 };
		struct error err = { 0 };
		int r;

		(void)snprintf(key, sizeof(key), "org.systemd.property.%s", rows[i].name);
		(void)snprintf(value, sizeof(value), "%s", rows[i].value);
		r = systemd_add_annotations(&list, &annotations, &err);
		if (rows[i].expected)
			cr_expect(r == 0 && !strcmp(shown(&list), rows[i].expected), "%s=%s: %s %s", rows[i].name, rows[i].value, shown(&list), err.text);
		else
			cr_expect(r == -EINVAL && strstr(err.text, key), "%s=%s: %d %s", rows[i].name, rows[i].value, r, err.text);
		systemd_properties_clear(&list);
	}
}
