/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What systemd is told about the scope of a container: its name and slice, and properties with their types (D-Bus signatures). Nothing here
 * talks to systemd. systemd.resource-control(5), systemd.scope(5); the language of cgroupsPath and of annotations is the one of the other
 * runtimes that do this.
 */
#ifndef HS_CONTAINER_SYSTEMD_UNIT_H
#define HS_CONTAINER_SYSTEMD_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strv.h"
#include "oci/config.h"

struct systemd_unit {
	char *slice; /* "system.slice" */
	char *name;  /* "libpod-1234.scope" */
};

/*
 * linux.cgroupsPath as "slice:prefix:name". Without one, and where a part is empty: the slice of this instance of systemd (user: the one of a
 * user), "hermit" and the id; an empty prefix is none. -EINVAL for everything else, with a message.
 */
int systemd_unit_of_path(const char *cgroups_path, const char *id, bool user, struct systemd_unit *ret, struct error *err);
void systemd_unit_clear(struct systemd_unit *unit);

/* Strings for s, as and a(ss) (two for each), numbers for all others: of one, or of the elements of an array. Those that are signed, in 64 bits. */
struct systemd_property {
	char *name;
	char type[8];
	struct strv strings;
	uint64_t *numbers; /* d: the bits */
	size_t n_numbers;
};

struct systemd_properties {
	struct systemd_property *items;
	size_t n;
	bool failed; /* out of memory: incomplete */
};

/* Adds one without a value; the two after it add to the last one. */
void systemd_add(struct systemd_properties *list, const char *name, const char *type);
void systemd_put_number(struct systemd_properties *list, uint64_t number);
void systemd_put_string(struct systemd_properties *list, const char *text);
void systemd_add_number(struct systemd_properties *list, const char *name, const char *type, uint64_t number);
void systemd_add_string(struct systemd_properties *list, const char *name, const char *text);
void systemd_properties_clear(struct systemd_properties *list);

/*
 * Those of linux.resources that systemd has properties for. unified: cgroups of version 2. version: of systemd; what is younger is left to the
 * files. A limit of memory and a bandwidth have to be complete: what an update leaves out is what is there.
 */
void systemd_add_resources(struct systemd_properties *list, const struct oci_resources *resources, bool unified, unsigned version);

/* DevicePolicy and DeviceAllow, where the rules are a list of what is allowed. */
void systemd_add_devices(struct systemd_properties *list, const struct oci_resources *resources);

/*
 * org.systemd.property.NAME: values in the text form of GVariant: true, 'text', 5 (an int32), uint64 5, ['a', 'b']. NAMESec is NAMEUSec, in
 * seconds. -EINVAL, and the annotation in the message.
 */
int systemd_add_annotations(struct systemd_properties *list, const struct oci_pairs *annotations, struct error *err);

#endif
