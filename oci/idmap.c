/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mappings that stand in a mount option, as podman's "--volume a:b:idmap=..." hands them to the runtime:
 *
 *   list     = kind { ";" kind }          kind    = ( "uids=" | "gids=" ) triplet { "#" triplet }
 *   triplet  = [ "@" ] id "-" id "-" size
 *
 * The first id is one of the file system, the second what it becomes outside. Behind "@" the second one is of the
 * container's user namespace.
 */
#include "oci/tables.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define MAX_TRIPLETS 340 /* the kernel's own limit (UID_GID_MAP_MAX_EXTENTS) */

/* Digits of an id up to `end`; NULL if there is something else. */
static const char *scan_id(const char *p, const char *ends, uint32_t *ret)
{
	uint32_t n = 0;
	size_t digits;

	for (digits = 0; *p >= '0' && *p <= '9'; p++, digits++)
		if (__builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, (uint32_t)(*p - '0'), &n))
			return NULL;
	if (digits == 0 || (*p && !strchr(ends, *p)) || (!*p && strchr(ends, '-')))
		return NULL;
	*ret = n;
	return p;
}

/* Returns what follows, or NULL. */
static const char *scan_triplet(const char *p, struct oci_id_mapping *ret)
{
	ret->relative = *p == '@';
	p += ret->relative;
	p = scan_id(p, "-", &ret->container_id);
	p = p ? scan_id(p + 1, "-", &ret->host_id) : NULL;
	p = p ? scan_id(p + 1, "#;", &ret->size) : NULL;
	if (!p || ret->size == 0 || ret->size > UINT32_MAX - ret->container_id || ret->size > UINT32_MAX - ret->host_id)
		return NULL;
	return p;
}

/* The triplets of one kind; *at is moved behind them. */
static int parse_triplets(struct jread_reader *r, const struct jread_value *value, const char **at,
			  struct oci_id_mappings *ret)
{
	struct oci_id_mapping items[MAX_TRIPLETS];
	size_t n = 0, relative = 0;
	const char *p;

	do {
		if (n == MAX_TRIPLETS)
			return jread_fail_member(r, value, "options", "more than %d mappings", MAX_TRIPLETS);
		p = scan_triplet(*at, &items[n++]);
		if (!p)
			return jread_fail_member(r, value, "options", "'%.64s' is not 'id-id-size'", *at);
		relative += items[n - 1].relative;
		*at = p + (*p == '#');
	} while (*p == '#');
	ret->items = oci_arena_array(r->arena, n, sizeof(*items));
	if (!ret->items)
		return jread_no_memory(r);
	memcpy(ret->items, items, n * sizeof(*items));
	ret->count = n;
	/* of both kinds the second ids cannot be compared yet; the kernel does that, then */
	return relative == 0 || relative == n ? oci_check_overlap(r, value, ret) : 0;
}

static int parse_kind(struct jread_reader *r, const struct jread_value *value, const char **at, struct oci_mount *m)
{
	bool uids = strncmp(*at, "uids=", 5) == 0;
	struct oci_id_mappings *maps = uids ? &m->uid_mappings : &m->gid_mappings;

	if (!uids && strncmp(*at, "gids=", 5) != 0)
		return jread_fail_member(r, value, "options", "'%.64s' is neither 'uids=' nor 'gids='", *at);
	if (maps->count > 0)
		return jread_fail_member(r, value, "options", "%s is there twice", uids ? "uids" : "gids");
	*at += 5;
	return parse_triplets(r, value, at, maps);
}

int oci_parse_idmap(struct jread_reader *r, const struct jread_value *value, const char *text, struct oci_mount *m)
{
	int res;

	for (;;) {
		res = parse_kind(r, value, &text, m);
		if (res < 0 || *text == '\0')
			return res;
		text++; /* the ';' */
	}
}

/* ---- relative ones ---- */

/* The range [id, id + size) of the container, seen from the host: within one entry of its mappings, or false. */
static bool map_range(const struct oci_id_mappings *container, uint32_t id, uint32_t size, uint32_t *ret)
{
	const struct oci_id_mapping *m;
	size_t i;

	for (i = 0; i < container->count; i++) {
		m = &container->items[i];
		if (id < m->container_id || id - m->container_id >= m->size || m->size - (id - m->container_id) < size)
			continue;
		*ret = m->host_id + (id - m->container_id);
		return true;
	}
	return false;
}

static int resolve(struct jread_reader *r, const struct jread_value *value, const char *path, const char *where,
		   const struct oci_id_mappings *container, struct oci_id_mappings *maps)
{
	struct oci_id_mapping *m;
	size_t i;

	for (i = 0; i < maps->count; i++) {
		m = &maps->items[i];
		if (!m->relative)
			continue;
		m->relative = false;
		if (!map_range(container, m->host_id, m->size, &m->host_id))
			return jread_fail_member(r, value, path, "%u and the %u ids after it are not in %s", m->host_id,
						 m->size - 1, where);
	}
	return 0;
}

int oci_resolve_idmaps(struct jread_reader *r, const struct jread_value *value, struct oci_config *cfg)
{
	struct oci_mount *m;
	char path[64];
	size_t i;
	int res = 0;

	for (i = 0; i < cfg->n_mounts && res == 0; i++) {
		m = &cfg->mounts[i];
		(void)snprintf(path, sizeof(path), "mounts[%zu].options", i);
		res = resolve(r, value, path, "linux.uidMappings", &cfg->linux_.uid_mappings, &m->uid_mappings);
		if (res == 0)
			res = resolve(r, value, path, "linux.gidMappings", &cfg->linux_.gid_mappings, &m->gid_mappings);
	}
	return res;
}
