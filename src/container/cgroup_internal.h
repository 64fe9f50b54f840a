/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by cgroup*.c. */
#ifndef HS_CONTAINER_CGROUP_INTERNAL_H
#define HS_CONTAINER_CGROUP_INTERNAL_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "container/cgroup.h"

enum { CGROUP_MAX_HIERARCHIES = 24, CGROUP_FILE_LIMIT = 1 << 22 };

struct cgroup_hierarchy {
	char *controllers; /* as in /proc/PID/cgroup; "" for version 2 */
	char *mount;
	char *path;      /* below mount, with a leading slash */
	char *directory; /* mount + path */
	char *procs;     /* directory + /cgroup.procs */
};

struct cgroup {
	struct cgroup_hierarchy items[CGROUP_MAX_HIERARCHIES];
	size_t n;
	bool unified;
	char *procs[CGROUP_MAX_HIERARCHIES + 1];
};

static inline int cgroup_no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "out of memory");
}

/* One text behind the other; the caller frees. */
static inline char *cgroup_join(const char *a, const char *b)
{
	char *text = NULL;

	return asprintf(&text, "%s%s", a, b) < 0 ? NULL : text;
}

bool cgroup_host_is_unified(void);

/*
 * Those with this path that somebody else has made, whoever is in them. Of version 1 he may have made some only: the others are made. err says
 * which is not there.
 */
int cgroup_adopt(const char *path, struct cgroup **ret, struct error *err);

/* The path in the line of /proc/PID/cgroup that has the word, with what goes before it: ":freezer:" or "0::". NULL: there is none. */
char *cgroup_path_of_process(pid_t pid, const char *word);

/* What the files say about processor time; quota -1: no limit. False: they cannot be read. */
bool cgroup_read_bandwidth(const struct cgroup *cgroup, int64_t *quota_us, uint64_t *period_us);
bool cgroup_read_memory_limit(const struct cgroup *cgroup, int64_t *bytes);

/* All hierarchies of the host, each with this path. *cgroup is zeroed before. */
int cgroup_discover(struct cgroup *cgroup, const char *path, struct error *err);
void cgroup_clear(struct cgroup *cgroup);

/* The hierarchy that has the controller, or NULL. In the unified layout: the only one, if the controller is enabled there. */
const struct cgroup_hierarchy *cgroup_find(const struct cgroup *cgroup, const char *controller);

/*
 * Writes a formatted value to a file of the controller. `field` is the member of linux.resources, for the message. -ENOTSUP
 * if the host has no such controller or the controller no such file.
 */
int cgroup_set(const struct cgroup *cgroup, const char *controller, const char *file, const char *field, struct error *err,
	       const char *format, ...) __attribute__((format(printf, 6, 7)));

int cgroup_apply_v1(const struct cgroup *cgroup, const struct oci_resources *resources, struct error *err);
int cgroup_apply_v2(const struct cgroup *cgroup, const struct oci_resources *resources, struct error *err);

/* 2..262144 of cpu.shares to 1..10000 of cpu.weight; 10..1000 of blkio.weight to 1..10000 of io.weight. */
uint64_t cgroup_weight_of_shares(uint64_t shares);
uint64_t cgroup_io_weight(uint64_t weight);

/* The program for version 2: a heap array of *ret_n instructions, or NULL when out of memory. */
struct bpf_insn;
struct bpf_insn *cgroup_device_program(const struct oci_device_rule *rules, size_t n, size_t *ret_n);

/* Version 2 has no files for devices: a program is attached to the directory, in place of the one that was there before. */
int cgroup_attach_device_rules(const char *directory, const struct oci_device_rule *rules, size_t n, struct error *err);

/* What every container may use whatever its rules say; come after the rules of the document. */
extern const struct oci_device_rule cgroup_default_devices[];
extern const size_t cgroup_n_default_devices;

#endif
