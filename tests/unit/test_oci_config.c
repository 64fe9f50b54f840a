/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config.json: each document of tests/oci/bad with the message that tests/oci/bad/expected has for it, each of
 * tests/oci/good with what has to come out.
 */
#include "oci/config.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "oci/validate.h"

static char *data_path(const char *kind, const char *name)
{
	const char *top = getenv("top_srcdir");
	char *path;

	cr_assert(asprintf(&path, "%s/tests/oci/%s/%s", top ? top : ".", kind, name) > 0);
	return path;
}

static char *read_data(const char *kind, const char *name, size_t *ret_len)
{
	_cleanup_free_ char *path = data_path(kind, name);
	char *text = NULL;

	cr_assert_eq(fd_read_file(AT_FDCWD, path, 1 << 20, &text, ret_len), 0, "%s", path);
	return text;
}

static void load_good(const char *name, struct oci_config *cfg)
{
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };
	size_t len;

	text = read_data("good", name, &len);
	cr_assert_eq(oci_config_parse(text, len, "config.json", cfg, &err), 0, "%s: %s", name, err.text);
}

static int parse(const char *text, struct oci_config *cfg, struct error *err)
{
	return oci_config_parse(text, strlen(text), "config.json", cfg, err);
}

static size_t count_json(const char *kind)
{
	_cleanup_free_ char *path = data_path(kind, "");
	struct dirent *entry;
	size_t n = 0, len;
	DIR *dir;

	dir = opendir(path);
	cr_assert(dir);
	while ((entry = readdir(dir))) {
		len = strlen(entry->d_name);
		n += len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
	}
	closedir(dir);
	return n;
}

static void check_bad(const char *file, const char *message)
{
	_cleanup_free_ char *text = NULL;
	struct oci_config cfg;
	struct error err = { 0 };
	size_t len;
	int r;

	text = read_data("bad", file, &len);
	r = oci_config_parse(text, len, "config.json", &cfg, &err);
	cr_expect_eq(r, -EINVAL, "%s: returned %d", file, r);
	cr_expect_str_eq(err.text, message, "%s:\n  got      %s\n  expected %s", file, err.text, message);
	cr_expect_null(cfg.arena, "%s: something is left", file);
	oci_config_free(&cfg);
}

Test(oci_config, every_bad_document_has_its_message)
{
	_cleanup_free_ char *list = NULL;
	size_t len, n = 0;
	char *line, *tab, *save = NULL;

	list = read_data("bad", "expected", &len);
	for (line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (line[0] == '#')
			continue;
		tab = strchr(line, '\t');
		cr_assert(tab, "%s", line);
		*tab = '\0';
		check_bad(line, tab + 1);
		n++;
	}
	cr_assert_eq(n, count_json("bad"), "a document without a line in `expected`");
	cr_assert_geq(n, 100);
}

Test(oci_config, minimal)
{
	struct oci_problem problem;
	struct oci_config cfg;

	load_good("minimal.json", &cfg);
	cr_expect_str_eq(cfg.root_path, "rootfs");
	cr_expect_not(cfg.root_readonly);
	cr_expect_not(cfg.process.present);
	cr_expect_not(cfg.linux_.present);
	cr_expect_null(cfg.process.args.items[0]);
	cr_expect_null(cfg.process.env.items[0]);
	cr_expect_null(cfg.linux_.masked_paths.items[0]);
	cr_expect_eq(oci_config_validate_start(&cfg, &problem), -EINVAL);
	cr_expect_str_eq(problem.path, "process");
	oci_config_free(&cfg);
	oci_config_free(&cfg);
}

Test(oci_config, unknown_is_ignored_and_null_is_absent)
{
	struct oci_config cfg;

	load_good("unknown.json", &cfg);
	cr_expect_null(cfg.hostname);
	cr_expect_eq(cfg.n_mounts, 0);
	cr_expect_eq(cfg.process.console_width, 0, "no terminal, no size");
	cr_expect_not(cfg.process.oom_score_adj.set);
	cr_expect_eq(cfg.process.n_rlimits, 0);
	cr_expect_eq(cfg.process.capabilities.bounding, 1u << CAP_KILL);
	cr_expect_eq(cfg.process.capabilities.permitted, 0);
	cr_expect_eq(cfg.process.capabilities.unknown.count, 1);
	cr_expect_str_eq(cfg.process.capabilities.unknown.items[0], "CAP_TELEPORT");
	cr_expect_null(cfg.linux_.seccomp.listener_path);
	cr_expect_null(cfg.linux_.namespaces[OCI_NS_MOUNT].path);
	cr_expect(cfg.linux_.namespaces[OCI_NS_MOUNT].present);
	cr_expect_not(cfg.linux_.resources.blkio.weight.set);
	cr_expect_eq(cfg.linux_.rootfs_propagation, 0);
	oci_config_free(&cfg);
}

Test(oci_config, as_an_engine_writes_it)
{
	struct oci_config cfg;
	const struct oci_mount *m;

	load_good("engine.json", &cfg);
	cr_expect_str_eq(cfg.process.args.items[2], "echo \"h\xc3\xa4llo\" \xf0\x9f\x98\x80");
	cr_expect_null(cfg.process.args.items[3]);
	cr_expect_eq(cfg.process.env.count, 4);
	cr_expect(cfg.process.oom_score_adj.set && cfg.process.oom_score_adj.value == 0);
	cr_expect_eq(cfg.process.user.additional_gids[1], 10);
	cr_expect_not(cfg.process.user.umask.set);
	m = cfg.mounts;
	cr_expect_eq(m[0].flags, MS_NOSUID | MS_NOEXEC | MS_NODEV);
	cr_expect_null(m[0].data);
	cr_expect_str_eq(m[1].data, "mode=755,size=65536k");
	cr_expect_eq(m[2].flags, MS_BIND | MS_REC);
	cr_expect_eq(m[2].propagation, MS_PRIVATE | MS_REC);
	cr_expect_str_eq(m[3].destination, m[2].destination);
	cr_expect_eq(m[4].flags, MS_BIND, "the type alone makes a bind mount");
	cr_expect_str_eq(m[4].destination, "/etc/hosts");
	cr_expect_not(cfg.linux_.resources.cpu.shares.set);
	cr_expect(cfg.linux_.resources.memory.disable_oom_killer.set);
	cr_expect_eq(cfg.linux_.resources.devices[0].type, 'a');
	cr_expect_not(cfg.linux_.resources.devices[2].minor.set);
	cr_expect_str_eq(cfg.linux_.sysctl.items[1].value, "0 2147483647");
	cr_expect_eq(cfg.hooks[OCI_HOOK_PRESTART].items[0].args.count, 4);
	oci_config_free(&cfg);
}

Test(oci_config, full_process)
{
	struct oci_config cfg;
	const struct oci_process *p = &cfg.process;

	load_good("full.json", &cfg);
	cr_expect(p->terminal && p->console_height == 25 && p->console_width == 80);
	cr_expect(p->user.uid == 1 && p->user.gid == 2 && p->user.umask.value == 077);
	cr_expect_eq(p->user.n_additional_gids, 2);
	cr_expect_str_eq(p->args.items[1], "");
	cr_expect_str_eq(p->env.items[1], "B=2=3");
	cr_expect_str_eq(p->cwd, "/home");
	cr_expect_eq(p->capabilities.bounding, UINT64_C(1) << CAP_AUDIT_WRITE | 1 << CAP_KILL);
	cr_expect_eq(p->capabilities.inheritable, 1 << CAP_NET_RAW);
	cr_expect_eq(p->capabilities.ambient, UINT64_C(1) << CAP_CHECKPOINT_RESTORE | 1);
	cr_expect_eq(p->capabilities.unknown.count, 0);
	cr_expect_eq(p->n_rlimits, 2);
	cr_expect_eq(p->rlimits[0].resource, RLIMIT_NOFILE);
	cr_expect_eq(p->rlimits[1].resource, RLIMIT_MEMLOCK);
	cr_expect_str_eq(p->rlimits[1].name, "RLIMIT_MEMLOCK");
	cr_expect_eq(p->rlimits[1].soft, UINT64_MAX - 1, "exact beyond 2^63");
	cr_expect_eq(p->rlimits[1].hard, UINT64_MAX);
	cr_expect(p->no_new_privileges);
	cr_expect_eq(p->oom_score_adj.value, -998);
	cr_expect_str_eq(p->apparmor_profile, "docker-default");
	cr_expect_eq(p->scheduler.policy, SCHED_DEADLINE);
	cr_expect_eq(p->scheduler.nice, -5);
	cr_expect_eq(p->scheduler.flags, SCHED_FLAG_RESET_ON_FORK | SCHED_FLAG_RECLAIM);
	cr_expect_eq(p->scheduler.period_ns, UINT64_MAX);
	cr_expect(p->io_priority.set && p->io_priority.io_class == 3 && p->io_priority.priority == 4);
	cr_expect_str_eq(p->exec_affinity_initial, "0-1,7");
	cr_expect_str_eq(p->exec_affinity_final, "3");
	oci_config_free(&cfg);
}

Test(oci_config, full_mounts_and_hooks)
{
	struct oci_config cfg;
	const struct oci_mount *m;

	load_good("full.json", &cfg);
	m = &cfg.mounts[1];
	cr_expect_eq(m->flags, MS_BIND | MS_REC | MS_RDONLY, "suid takes nosuid back");
	cr_expect_eq(m->flags_clear, MS_NOSUID);
	cr_expect_eq(m->rec_attr_set, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOATIME);
	cr_expect_eq(m->rec_attr_clear, MOUNT_ATTR__ATIME, "the field as a whole");
	cr_expect_eq(m->propagation, MS_SLAVE | MS_REC);
	cr_expect_eq(m->idmap, OCI_IDMAP_MOUNT);
	cr_expect_eq(m->gid_mappings.items[1].host_id, 7000);
	cr_expect_null(m->data);
	m = &cfg.mounts[2];
	cr_expect_eq(m->flags, MS_NOATIME);
	cr_expect_str_eq(m->data, "lowerdir=/a:/b,upperdir=/c,workdir=/d");
	cr_expect_eq(m->propagation, MS_PRIVATE);
	cr_expect(m->tmpcopyup);
	cr_expect_eq(m->options.count, 8);
	cr_expect_eq(cfg.hooks[OCI_HOOK_CREATE_RUNTIME].count, 2);
	cr_expect_eq(cfg.hooks[OCI_HOOK_CREATE_RUNTIME].items[0].timeout_s.value, 5);
	cr_expect(cfg.hooks[OCI_HOOK_CREATE_RUNTIME].items[1].env_set);
	cr_expect_not(cfg.hooks[OCI_HOOK_POSTSTOP].items[0].env_set);
	cr_expect_str_eq(cfg.hooks[OCI_HOOK_POSTSTOP].items[0].path, "/bin/pp");
	cr_expect_str_eq(cfg.hooks[OCI_HOOK_START_CONTAINER].items[0].path, "/bin/sc");
	oci_config_free(&cfg);
}

Test(oci_config, full_linux)
{
	struct oci_config cfg;
	const struct oci_linux *l = &cfg.linux_;
	int i;

	load_good("full.json", &cfg);
	for (i = 0; i < OCI_NS_TYPES; i++)
		cr_expect(l->namespaces[i].present, "%s", oci_namespace_name(i));
	cr_expect_str_eq(l->namespaces[OCI_NS_NETWORK].path, "/run/netns/n1");
	cr_expect_eq(l->gid_mappings.count, 2);
	cr_expect(l->time_monotonic.set && l->time_monotonic.seconds == 172800 &&
		  l->time_monotonic.nanoseconds == 999999999);
	cr_expect_eq(l->time_boottime.seconds, -604800);
	cr_expect_eq(l->devices[0].file_mode.value, 0666, "without the type of the file");
	cr_expect_eq(l->devices[0].gid.value, 7);
	cr_expect_not(l->devices[1].file_mode.set);
	cr_expect_eq(l->devices[2].type, 'p');
	cr_expect(l->devices[3].type == 'c' && l->devices[3].minor == 1048575);
	cr_expect_str_eq(l->cgroups_path, "/myRuntime/myContainer");
	cr_expect_str_eq(l->sysctl.items[0].key, "net.ipv4.conf.eth0/100.forwarding");
	cr_expect_eq(l->rootfs_propagation, MS_SLAVE);
	cr_expect_str_eq(l->masked_paths.items[1], "/sys/firmware");
	cr_expect_null(l->masked_paths.items[2]);
	cr_expect_str_eq(l->readonly_paths.items[0], "/proc/sysrq-trigger");
	cr_expect(l->personality.set && l->personality.value == PER_LINUX32);
	cr_expect_str_eq(cfg.annotations.items[4].key, "a", "in the order of the document");
	cr_expect_str_eq(oci_annotation(&cfg, "org.hermit.seed"), "18446744073709551615");
	cr_expect_null(oci_annotation(&cfg, "org.hermit.see"));
	oci_config_free(&cfg);
}

Test(oci_config, full_resources)
{
	struct oci_config cfg;
	const struct oci_resources *r = &cfg.linux_.resources;

	load_good("full.json", &cfg);
	cr_expect_eq(r->devices[0].access, OCI_DEVICE_READ | OCI_DEVICE_WRITE | OCI_DEVICE_MKNOD);
	cr_expect_not(r->devices[1].minor.set);
	cr_expect_eq(r->devices[2].access, OCI_DEVICE_READ | OCI_DEVICE_MKNOD);
	cr_expect_eq(r->memory.limit.value, 536870912);
	cr_expect(r->memory.swap.set && r->memory.swap.value == -1);
	cr_expect_not(r->memory.kernel_tcp.set);
	cr_expect(r->memory.swappiness.set && r->memory.swappiness.value == 0);
	cr_expect(r->memory.use_hierarchy.set && !r->memory.use_hierarchy.value);
	cr_expect(r->cpu.burst_us.set && r->cpu.burst_us.value == 0);
	cr_expect(r->cpu.idle.set && r->cpu.idle.value == 0);
	cr_expect_eq(r->cpu.quota_us.value, 1000000);
	cr_expect_str_eq(r->cpu.mems, "0-7");
	cr_expect(r->pids_limit.set && r->pids_limit.value == 0);
	cr_expect_eq(r->blkio.weight.value, 10);
	cr_expect_eq(r->blkio.weight_device.items[0].leaf_weight.value, 300);
	cr_expect_eq(r->blkio.read_bps.items[0].rate, 600);
	cr_expect_eq(r->blkio.write_bps.items[0].minor, 1);
	cr_expect_eq(r->blkio.read_iops.items[0].rate, 602);
	cr_expect_eq(r->blkio.write_iops.items[0].rate, UINT64_MAX);
	cr_expect_eq(r->blkio.write_iops.count, 2);
	cr_expect_eq(r->hugepages[0].limit, UINT64_C(9223372036854772000));
	cr_expect_eq(r->n_hugepages, 2);
	cr_expect_eq(r->net_class_id.value, 1048577);
	cr_expect_eq(r->net_priorities[1].priority, UINT32_MAX);
	cr_expect_eq(r->n_rdma, 2);
	cr_expect_str_eq(r->rdma[1].device, "rxe3");
	cr_expect_not(r->rdma[1].hca_handles.set);
	cr_expect(r->rdma[1].hca_objects.set);
	cr_expect_str_eq(r->unified.items[1].key, "memory.high");
	oci_config_free(&cfg);
}

Test(oci_config, full_seccomp)
{
	struct oci_config cfg;
	const struct oci_seccomp *s = &cfg.linux_.seccomp;

	load_good("full.json", &cfg);
	cr_expect_eq(s->default_action, OCI_SECCOMP_ERRNO);
	cr_expect_eq(s->default_errno_ret.value, 38);
	cr_expect_eq(s->n_architectures, 3);
	cr_expect_eq(s->architectures[0], AUDIT_ARCH_X86_64);
	cr_expect_eq(s->architectures[2], 0x4000003e, "x32 as libseccomp has it");
	cr_expect_eq(s->flags, SECCOMP_FILTER_FLAG_LOG | 1 << 5);
	cr_expect_str_eq(s->listener_path, "/run/agent.sock");
	cr_expect_eq(s->n_rules, 4);
	cr_expect_str_eq(s->rules[0].names.items[1], "write");
	cr_expect_eq(s->rules[1].args[0].value, UINT64_MAX);
	cr_expect_eq(s->rules[1].args[1].value_two, UINT64_C(1) << 63);
	cr_expect_eq(s->rules[1].args[1].op, OCI_SECCOMP_MASKED_EQ);
	cr_expect(s->rules[2].errno_ret.set && s->rules[2].errno_ret.value == 0);
	cr_expect_eq(s->rules[3].action, OCI_SECCOMP_KILL_THREAD);
	oci_config_free(&cfg);
}

Test(oci_config, idmap_options)
{
	struct oci_config cfg;
	const struct oci_mount *m;

	load_good("idmap.json", &cfg);
	m = &cfg.mounts[0];
	cr_expect_eq(m->idmap, OCI_IDMAP_MOUNT);
	cr_expect_eq(m->uid_mappings.count, 2);
	cr_expect(m->uid_mappings.items[1].container_id == 10 && m->uid_mappings.items[1].host_id == 11 &&
		  m->uid_mappings.items[1].size == 10);
	cr_expect_eq(m->gid_mappings.items[0].host_id, 3);
	cr_expect_null(m->data);
	m = &cfg.mounts[1];
	cr_expect_eq(m->idmap, OCI_IDMAP_RECURSIVE);
	cr_expect_eq(m->flags, MS_BIND | MS_REC | MS_RDONLY);
	cr_expect(m->uid_mappings.items[0].container_id == 5 && m->uid_mappings.items[0].host_id == 5001);
	cr_expect_eq(m->uid_mappings.items[1].host_id, 100000);
	cr_expect(m->uid_mappings.items[2].container_id == 1005 && m->uid_mappings.items[2].host_id == 7);
	cr_expect(m->gid_mappings.items[0].container_id == 7 && m->gid_mappings.items[0].host_id == 200002);
	cr_expect_not(m->uid_mappings.items[0].relative || m->gid_mappings.items[0].relative);
	m = &cfg.mounts[2];
	cr_expect_eq(m->idmap, OCI_IDMAP_MOUNT);
	cr_expect_eq(m->uid_mappings.count, 0);
	oci_config_free(&cfg);
}

/* Numbers are read as text: the ends of every range. */
Test(oci_config, numbers_at_the_ends_of_their_range)
{
	static const struct {
		const char *number;
		bool good;
	} rows[] = {
		{ "0", true },
		{ "-0", true },
		{ "9007199254740993", true },
		{ "18446744073709551615", true },
		{ "18446744073709551616", false },
		{ "184467440737095516150", false },
		{ "-1", false },
		{ "1.0", false },
		{ "1e1", false },
		{ "1E+1", false },
	};
	struct oci_config cfg;
	char text[512];
	size_t i;
	int r;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(text, sizeof(text),
			 "{\"ociVersion\":\"1.0.0\",\"root\":{\"path\":\"r\"},\"linux\":{\"resources\":{"
			 "\"hugepageLimits\":"
			 "[{\"pageSize\":\"2MB\",\"limit\":%s}]}}}",
			 rows[i].number);
		r = parse(text, &cfg, NULL);
		cr_expect_eq(r == 0, rows[i].good, "%s", rows[i].number);
		if (r == 0 && rows[i].number[0] != '-') {
			snprintf(text, sizeof(text), "%llu",
				 (unsigned long long)cfg.linux_.resources.hugepages[0].limit);
			cr_expect_str_eq(text, rows[i].number);
		}
		oci_config_free(&cfg);
	}
}

Test(oci_config, every_truncation_is_an_error)
{
	_cleanup_free_ char *text = NULL;
	struct oci_config cfg;
	size_t len, n;

	text = read_data("good", "full.json", &len);
	while (len > 0 && text[len - 1] != '}')
		len--;
	for (n = 0; n < len; n++) {
		cr_assert_eq(oci_config_parse(text, n, "config.json", &cfg, NULL), -EINVAL, "%zu bytes", n);
		cr_assert_null(cfg.arena);
	}
	cr_assert_eq(oci_config_parse(text, len, "config.json", &cfg, NULL), 0);
	oci_config_free(&cfg);
}

Test(oci_config, load_names_the_file)
{
	_cleanup_free_ char *path = data_path("bad", "twice.json");
	struct oci_config cfg;
	struct error err = { 0 };

	cr_expect_eq(oci_config_load(AT_FDCWD, path, &cfg, &err), -EINVAL);
	cr_expect_str_eq(err.text, "twice.json:6:13: hostname: written twice, first in line 5");
	cr_expect_eq(oci_config_load(AT_FDCWD, "/nonexistent/config.json", &cfg, &err), -ENOENT);
	cr_expect_str_eq(err.text, "cannot read /nonexistent/config.json: No such file or directory");
	oci_config_free(&cfg);
}

Test(oci_config, start_needs_arguments)
{
	struct oci_problem problem;
	struct oci_config cfg;

	cr_assert_eq(
		parse("{\"ociVersion\":\"1.0.0\",\"root\":{\"path\":\"r\"},\"process\":{\"cwd\":\"/\"}}", &cfg, NULL),
		0);
	cr_expect_eq(oci_config_validate_start(&cfg, &problem), -EINVAL);
	cr_expect_str_eq(problem.path, "process.args");
	oci_config_free(&cfg);
	cr_assert_eq(parse("{\"ociVersion\":\"1.0.0\",\"root\":{\"path\":\"r\"},\"process\":{\"cwd\":\"/"
			   "\",\"args\":[\"a\"]}}",
			   &cfg, NULL),
		     0);
	cr_expect_eq(oci_config_validate_start(&cfg, &problem), 0);
	oci_config_free(&cfg);
}

Test(oci_config, names)
{
	cr_expect_eq(oci_namespace_flag(OCI_NS_NETWORK), CLONE_NEWNET);
	cr_expect_eq(oci_namespace_flag(OCI_NS_TIME), 0x80);
	cr_expect_str_eq(oci_namespace_file(OCI_NS_MOUNT), "mnt");
	cr_expect_null(oci_namespace_file(OCI_NS_TYPES));
	cr_expect_str_eq(oci_hook_stage_name(OCI_HOOK_POSTSTOP), "poststop");
	cr_expect_str_eq(oci_capability_name(CAP_CHOWN), "CAP_CHOWN");
	cr_expect_str_eq(oci_capability_name(CAP_CHECKPOINT_RESTORE), "CAP_CHECKPOINT_RESTORE");
	cr_expect_null(oci_capability_name(CAP_LAST_CAP + 1));
	cr_expect_eq(oci_capability_number("net_raw"), CAP_NET_RAW);
	cr_expect_eq(oci_capability_number("CAP_"), -1);
	cr_expect_str_eq(oci_seccomp_action_name(OCI_SECCOMP_KILL_THREAD), "SCMP_ACT_KILL_THREAD");
	cr_expect_null(oci_seccomp_action_name(OCI_SECCOMP_NONE));
}
