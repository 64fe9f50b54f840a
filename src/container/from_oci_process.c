/* SPDX-License-Identifier: BSD-3-Clause */
/* The process of an OCI configuration: see from_oci_internal.h. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "container/from_oci_internal.h"

static void take_caps(const struct oci_capabilities *from, struct container_caps *to)
{
	*to = (struct container_caps){
		.set = true, /* none in the document: none for the process */
		.bounding = from->bounding,
		.effective = from->effective,
		.inheritable = from->inheritable,
		.permitted = from->permitted,
		.ambient = from->ambient,
	};
	for (size_t i = 0; i < from->unknown.count; i++)
		log_warning("process.capabilities: unknown capability %s", from->unknown.items[i]);
}

static int take_rlimits(const struct oci_process *p, struct oci_arena *arena, struct container_spec *spec,
			struct error *err)
{
	struct container_rlimit *limits = oci_arena_array(arena, p->n_rlimits + 1, sizeof(*limits));

	if (!limits)
		return from_oci_no_memory(err);
	for (size_t i = 0; i < p->n_rlimits; i++) {
		limits[i].resource = p->rlimits[i].resource;
		limits[i].limit.rlim_cur = p->rlimits[i].soft; /* RLIM_INFINITY is all ones here too */
		limits[i].limit.rlim_max = p->rlimits[i].hard;
	}
	spec->rlimits = limits;
	spec->n_rlimits = p->n_rlimits;
	return 0;
}

static void take_scheduling(const struct oci_process *p, struct container_spec *spec)
{
	const struct oci_scheduler *s = &p->scheduler;

	spec->scheduler = (struct container_scheduler){
		.set = s->set,
		.policy = s->policy,
		.nice = s->nice,
		.priority = s->priority,
		.flags = s->flags,
		.runtime_ns = s->runtime_ns,
		.deadline_ns = s->deadline_ns,
		.period_ns = s->period_ns,
	};
	spec->io_priority = (struct container_io_priority){
		.set = p->io_priority.set,
		.io_class = p->io_priority.io_class,
		.priority = p->io_priority.priority,
	};
}

/* A label for a security module that is not there is no reason to fail, as with crun: engines write them whatever there is. But it is said. */
static int take_label(const struct oci_process *p, struct oci_arena *arena, struct container_spec *spec,
		      struct error *err)
{
	char text[512];

	if (p->apparmor_profile && p->apparmor_profile[0]) {
		if (!from_oci_host_has("/sys/kernel/security/apparmor")) {
			log_warning("process.apparmorProfile: AppArmor is not active here: '%s' is not applied", p->apparmor_profile);
		} else if (snprintf(text, sizeof(text), "exec %s", p->apparmor_profile) >= (int)sizeof(text)) {
			return error_set(err, EINVAL, "process.apparmorProfile: too long");
		} else {
			spec->lsm_failure = "unable to apply apparmor profile: apparmor failed to apply profile";
			spec->lsm_exec = oci_arena_strdup(arena, text);
			return spec->lsm_exec ? 0 : from_oci_no_memory(err);
		}
	}
	if (p->selinux_label && p->selinux_label[0]) {
		if (from_oci_host_has("/sys/fs/selinux/enforce")) {
			spec->lsm_failure = "can't set process label";
			spec->lsm_exec = p->selinux_label;
		} else {
			log_warning("process.selinuxLabel: SELinux is not active here: '%s' is not applied", p->selinux_label);
		}
	}
	return 0;
}

int from_oci_process(const struct oci_process *p, struct oci_arena *arena, struct container_spec *spec,
			struct error *err)
{
	int r;

	spec->argv = p->args.items;
	spec->envp = p->env.items;
	spec->cwd = p->cwd;
	spec->create_cwd = true;
	spec->default_home = true;
	spec->terminal = p->terminal;
	spec->session = p->terminal ? SESSION_TTY : SESSION_NEW;
	spec->terminal_rows = (unsigned short)p->console_height;
	spec->terminal_columns = (unsigned short)p->console_width;
	spec->set_user = true;
	spec->uid = p->user.uid;
	spec->gid = p->user.gid;
	spec->groups = p->user.additional_gids;
	spec->n_groups = p->user.n_additional_gids;
	spec->set_umask = p->user.umask.set;
	spec->umask = (mode_t)p->user.umask.value;
	spec->no_new_privs = p->no_new_privileges;
	spec->set_oom_score_adj = p->oom_score_adj.set;
	spec->oom_score_adj = (int)p->oom_score_adj.value;
	take_caps(&p->capabilities, &spec->caps);
	take_scheduling(p, spec);
	r = take_rlimits(p, arena, spec, err);
	return r < 0 ? r : take_label(p, arena, spec, err);
}

/* `list` is a valid one (oci/syntax.h). */
int container_cpus_from_oci(const char *list, cpu_set_t *ret, struct error *err)
{
	char *end;

	CPU_ZERO(ret);
	for (const char *p = list;; p = end + 1) {
		unsigned long from = strtoul(p, &end, 10), to = from;

		end += strspn(end, " \t");
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		if (to >= CPU_SETSIZE)
			return error_set(err, EINVAL, "execCPUAffinity: no CPU %lu", to);
		for (; from <= to; from++)
			CPU_SET(from, ret);
		end += strspn(end, " \t");
		if (*end != ',')
			return 0;
	}
}
