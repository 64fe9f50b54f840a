/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as config.json, process.json and resources. What comes out is whole, what fails leaves nothing and a
 * message. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "oci/config.h"
#include "oci/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink; /* so that reads are not optimised away */

static void read_text(const char *text)
{
	sink += text ? strlen(text) : 0;
}

static void read_strings(const struct oci_strings *strings)
{
	size_t i;

	assert(strings->items && !strings->items[strings->count]);
	for (i = 0; i < strings->count; i++)
		read_text(strings->items[i]);
}

static void read_pairs(const struct oci_pairs *pairs)
{
	size_t i;

	for (i = 0; i < pairs->count; i++) {
		read_text(pairs->items[i].key);
		read_text(pairs->items[i].value);
	}
}

static void read_process(const struct oci_process *p)
{
	size_t i;

	read_strings(&p->args);
	read_strings(&p->env);
	read_strings(&p->capabilities.unknown);
	read_text(p->apparmor_profile);
	read_text(p->selinux_label);
	assert(!p->present || p->cwd[0] == '/');
	for (i = 0; i < p->n_rlimits; i++)
		assert(p->rlimits[i].name && p->rlimits[i].soft <= p->rlimits[i].hard);
	for (i = 0; i < p->user.n_additional_gids; i++)
		sink += p->user.additional_gids[i];
}

static void read_mounts(const struct oci_config *cfg)
{
	size_t i;

	for (i = 0; i < cfg->n_mounts; i++) {
		assert(cfg->mounts[i].destination[0] == '/');
		assert(!(cfg->mounts[i].flags & cfg->mounts[i].flags_clear));
		read_strings(&cfg->mounts[i].options);
		read_text(cfg->mounts[i].data);
		read_text(cfg->mounts[i].source);
	}
}

static void read_hooks(const struct oci_config *cfg)
{
	size_t stage, i;

	for (stage = 0; stage < OCI_HOOK_STAGES; stage++) {
		for (i = 0; i < cfg->hooks[stage].count; i++) {
			assert(cfg->hooks[stage].items[i].path[0] == '/');
			read_strings(&cfg->hooks[stage].items[i].args);
			read_strings(&cfg->hooks[stage].items[i].env);
		}
	}
}

static void read_linux(const struct oci_linux *l)
{
	size_t i;

	read_strings(&l->masked_paths);
	read_strings(&l->readonly_paths);
	read_pairs(&l->sysctl);
	read_pairs(&l->resources.unified);
	for (i = 0; i < l->n_devices; i++)
		assert(l->devices[i].path[0] == '/' && strchr("bcp", l->devices[i].type));
	for (i = 0; i < l->seccomp.n_rules; i++) {
		assert(l->seccomp.rules[i].names.count > 0 && oci_seccomp_action_name(l->seccomp.rules[i].action));
		read_strings(&l->seccomp.rules[i].names);
	}
	for (i = 0; i < l->resources.n_rdma; i++)
		read_text(l->resources.rdma[i].device);
}

static void try_config(const char *text, size_t size)
{
	struct error err = { 0 };
	struct oci_problem problem;
	struct oci_pairs options;
	struct oci_config cfg;
	int r;

	r = oci_config_parse(text, size, "config.json", &cfg, &err);
	assert(r == 0 || (r == -EINVAL && !cfg.arena && err.code == EINVAL));
	assert(r == 0 || strncmp(err.text, "config.json:", 12) == 0);
	if (r == 0) {
		assert(oci_config_validate(&cfg, &problem) == 0);
		(void)oci_config_validate_start(&cfg, &problem);
		(void)oci_hermit_options(&cfg, &options, &err);
		read_process(&cfg.process);
		read_mounts(&cfg);
		read_hooks(&cfg);
		read_linux(&cfg.linux_);
		read_pairs(&cfg.annotations);
	}
	oci_config_free(&cfg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct oci_resources_file resources;
	struct oci_process_file process;

	try_config((const char *)data, size);
	if (oci_process_parse((const char *)data, size, "process.json", &process, NULL) == 0)
		read_process(&process.process);
	oci_process_free(&process);
	if (oci_resources_parse((const char *)data, size, "resources.json", &resources, NULL) == 0)
		read_pairs(&resources.resources.unified);
	oci_resources_free(&resources);
	return 0;
}
