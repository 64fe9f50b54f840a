/* SPDX-License-Identifier: BSD-3-Clause */
/* See image_adapt.h. */
#include "supervisor/oci/image_adapt.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "oci/arena.h"
#include "supervisor/launch.h"
#include "supervisor/oci/image_user.h"

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "out of memory");
}

/* ---- the command ---- */

static int add_json_words(const char *text, struct strv *words, struct error *err)
{
	json_t *list = json_loads(text, 0, NULL);
	int r = json_is_array(list) ? 0 : -EINVAL;

	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i));

		r = word ? strv_add(words, word) : -EINVAL;
	}
	json_decref(list);
	return r == -EINVAL ? error_set(err, EINVAL, "--entrypoint: '%s' is no list of words as JSON", text) : r < 0 ? no_memory(err) : 0;
}

static int add_entrypoint(const struct image *image, const char *other, struct strv *words, struct error *err)
{
	int r = 0;

	if (other && *other == '[')
		return add_json_words(other, words, err);
	if (other)
		return *other && strv_add(words, other) < 0 ? no_memory(err) : 0;
	for (size_t i = 0; r == 0 && i < image->entrypoint.count; i++)
		r = strv_add(words, image->entrypoint.items[i]);
	return r < 0 ? no_memory(err) : 0;
}

static int keep_words(const struct strv *words, struct oci_arena *arena, struct oci_strings *ret, struct error *err)
{
	char **items = oci_arena_array(arena, words->count + 1, sizeof(*items));

	for (size_t i = 0; items && i < words->count; i++)
		if (!(items[i] = oci_arena_strdup(arena, words->items[i])))
			return no_memory(err);
	if (!items)
		return no_memory(err);
	*ret = (struct oci_strings){ .items = items, .count = words->count };
	return 0;
}

static int change_command(const struct image *image, const struct image_changes *changes, struct oci_config *cfg, struct error *err)
{
	_cleanup_strv_ struct strv words = { 0 };
	int r;

	if (!*changes->command && !changes->entrypoint)
		return 0;
	r = add_entrypoint(image, changes->entrypoint, &words, err);
	for (char **word = changes->command; r == 0 && *word; word++)
		if (strv_add(&words, *word) < 0)
			r = no_memory(err);
	if (r == 0 && words.count == 0)
		r = error_set(err, EINVAL, "--entrypoint: nothing is left to run: name a command");
	return r == 0 ? keep_words(&words, cfg->arena, &cfg->process.args, err) : r;
}

/* ---- the environment and the user ---- */

static int change_environment(const char *home, const struct strv *added, struct oci_config *cfg, struct error *err)
{
	_cleanup_strv_ struct strv env = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < cfg->process.env.count; i++)
		r = strv_set_env(&env, cfg->process.env.items[i]);
	if (r == 0 && home)
		r = strv_set_env(&env, home);
	for (size_t i = 0; r == 0 && i < added->count; i++)
		r = strv_set_env(&env, added->items[i]);
	return r < 0 ? no_memory(err) : keep_words(&env, cfg->arena, &cfg->process.env, err);
}

/*
 * An ordinary user is root of a namespace already that has nobody else. umoci then binds the host's /sys and resolv.conf, for a container in the
 * host's network; one with a network of its own is as root's are.
 */
static int make_rootless(struct oci_config *cfg, bool host_network, struct error *err)
{
	struct oci_process *p = &cfg->process;
	size_t n = 0;

	if (p->user.uid != 0 || p->user.gid != 0)
		return error_set(err, EPERM, "user %u:%u of the image: who is not root here has only root inside, where there are no numbers for the user in "
					     "/etc/subuid and /etc/subgid, or no newuidmap (Debian: uidmap); or say --user=0", p->user.uid, p->user.gid);
	p->user.n_additional_gids = 0;
	cfg->linux_.namespaces[OCI_NS_USER].present = false;
	cfg->linux_.uid_mappings.count = cfg->linux_.gid_mappings.count = 0;
	for (size_t i = 0; i < cfg->n_mounts; i++) {
		struct oci_mount *m = &cfg->mounts[i];
		bool bind = m->flags & MS_BIND;

		if (!host_network && bind && !strcmp(m->destination, "/etc/resolv.conf"))
			continue;
		if (!host_network && bind && !strcmp(m->destination, "/sys")) {
			m->flags &= ~(uint64_t)(MS_BIND | MS_REC);
			m->type = m->source = oci_arena_strdup(cfg->arena, "sysfs");
			if (!m->type)
				return no_memory(err);
		}
		cfg->mounts[n++] = *m;
	}
	cfg->n_mounts = n;
	return 0;
}

int image_adapt(const struct image *image, const struct image_changes *changes, struct oci_config *cfg, struct error *err)
{
	const struct run_options *o = changes->options;
	struct oci_process *p = &cfg->process;
	char *home = NULL;
	int r;

	cfg->root_path = image->root;
	cfg->root_readonly = false;
	cfg->hostname = o->hostname;
	cfg->linux_.namespaces[OCI_NS_NETWORK].present = o->network != NETWORK_HOST;
	p->terminal = false;
	p->n_rlimits = 0;
	if (o->workdir)
		p->cwd = o->workdir;
	r = change_command(image, changes, cfg, err);
	if (r == 0 && o->user)
		r = image_user(image->root, o->user, cfg->arena, &p->user, &home, err);
	if (r == 0 && image->rootless)
		r = make_rootless(cfg, o->network == NETWORK_HOST, err);
	return r == 0 ? change_environment(home, &o->env, cfg, err) : r;
}

/* ---- mounts and network ---- */

int image_adapt_container(const struct image_changes *changes, struct bundle *b, struct strv *texts, struct error *err)
{
	const struct run_options *o = changes->options;
	struct container_spec *spec = &b->container.spec;
	size_t n = spec->n_mounts;
	struct container_mount *mounts = oci_arena_array(b->container.arena, n + o->bind.count + o->mount.count + 1, sizeof(*mounts));
	int r = 0;

	if (!mounts)
		return no_memory(err);
	if (n > 0)
		memcpy(mounts, spec->mounts, n * sizeof(*mounts));
	for (size_t i = 0; r == 0 && i < o->mount.count; i++)
		r = launch_parse_mount(o->mount.items[i], texts, &mounts[n++], err);
	for (size_t i = 0; r == 0 && i < o->bind.count; i++)
		r = launch_parse_bind(o->bind.items[i], texts, &mounts[n++], err);
	if (r < 0)
		return r;
	spec->mounts = mounts;
	spec->n_mounts = n;
	spec->network_pair = o->network == NETWORK_VETH;
	return 0;
}
