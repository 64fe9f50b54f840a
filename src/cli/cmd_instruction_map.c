/* SPDX-License-Identifier: BSD-3-Clause */
/* hermit instruction-map: which instructions of a program would be replaced, and where they are. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "cli/commands.h"
#include "insn/store.h"
#include "supervisor/cache_directory.h"
#include "supervisor/exit_codes.h"

enum { KEY_JSON = 0x100, KEY_ALL, KEY_CACHE };

struct arguments {
	bool json, all, cache;
	char **files;
	int count;
};

static const struct argp_option options[] = {
	{ "json", KEY_JSON, NULL, 0, "one JSON document", 0 },
	{ "all", KEY_ALL, NULL, 0, "list the places that may be data, too, which are left alone", 0 },
	{ "cache", KEY_CACHE, NULL, 0, "use the cache of runs, and keep the results there", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_JSON:
		a->json = true;
		return 0;
	case KEY_ALL:
		a->all = true;
		return 0;
	case KEY_CACHE:
		a->cache = true;
		return 0;
	case ARGP_KEY_ARGS:
		a->files = state->argv + state->next;
		a->count = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "name a program or a library to look at");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "FILE...",
	.doc = "Lists the instructions of programs and libraries that show time, the processor or randomness without a "
	       "system call: "
	       "RDTSC, RDTSCP, CPUID, RDRAND, RDSEED, RDPID, XGETBV, XBEGIN.\v"
	       "A run replaces those that are certain or likely, in its own copy of the code. "
	       "hermit-instruction-map(1) says more.",
};

static bool has_operand(const struct insn_site *site)
{
	return site->width != 0;
}

static void print_site(const struct insn_map *map, const struct insn_site *site)
{
	const char *function = insn_map_function(map, site);
	char operand[8] = "";

	if (has_operand(site))
		(void)snprintf(operand, sizeof(operand), "%s", insn_reg_name(site->dest, site->width));
	(void)printf("%10" PRIx64 " %10" PRIx64 "  %-6s %-5s %-7s", site->offset, site->vaddr,
		     insn_kind_name(site->kind), operand, insn_trust_name(site->trust));
	if (*function)
		(void)printf("  %s+0x%x", function, site->name_offset);
	(void)putchar('\n');
}

static void print_map(const struct arguments *a, const char *file, const struct insn_map *map)
{
	size_t trusted = insn_map_count_trusted(map), unsure = map->count - trusted;

	(void)printf("%s: %zu to be replaced", file, trusted);
	if (unsure)
		(void)printf(", %zu that may be data and %s left alone", unsure, unsure == 1 ? "is" : "are");
	(void)putchar('\n');
	for (size_t i = 0; i < map->count; i++)
		if (a->all || map->sites[i].trust != INSN_UNSURE)
			print_site(map, &map->sites[i]);
}

/* Names of symbols and files may be any bytes; JSON is UTF-8. */
static json_t *text_to_json(const char *text)
{
	_cleanup_free_ char *plain = NULL;
	json_t *string = json_string(text);

	if (string)
		return string;
	plain = strdup(text);
	for (char *c = plain; c && *c; c++)
		*c = *c & 0x80 ? '?' : *c;
	return plain ? json_string(plain) : NULL;
}

static json_t *site_to_json(const struct insn_map *map, const struct insn_site *site)
{
	const char *function = insn_map_function(map, site);
	char bytes[2 * INSN_MAX_LENGTH + 1];
	json_t *object;

	hash_hex(site->bytes, site->length, bytes);
	object = json_pack("{s:I, s:I, s:i, s:s, s:s, s:s}", "offset", (json_int_t)site->offset, "address",
			   (json_int_t)site->vaddr, "length", site->length, "kind", insn_kind_name(site->kind), "trust",
			   insn_trust_name(site->trust), "bytes", bytes);
	if (object && has_operand(site))
		(void)json_object_set_new(object, "register", json_string(insn_reg_name(site->dest, site->width)));
	if (object && *function) {
		(void)json_object_set_new(object, "function", text_to_json(function));
		(void)json_object_set_new(object, "function_offset", json_integer(site->name_offset));
	}
	return object;
}

static int add_json(json_t *files, const struct arguments *a, const char *file, const struct insn_map *map)
{
	json_t *sites = json_array(), *object;

	for (size_t i = 0; sites && i < map->count; i++)
		if (a->all || map->sites[i].trust != INSN_UNSURE)
			if (json_array_append_new(sites, site_to_json(map, &map->sites[i])) < 0) {
				json_decref(sites);
				return -ENOMEM;
			}
	object = json_pack("{s:o, s:i, s:i, s:o}", "file", text_to_json(file), "replaced",
			   (int)insn_map_count_trusted(map), "unsure", (int)(map->count - insn_map_count_trusted(map)),
			   "instructions", sites);
	return object && json_array_append_new(files, object) == 0 ? 0 : -ENOMEM;
}

static int show_file(const struct arguments *a, struct insn_store *store, const char *file, json_t *files)
{
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const struct insn_map *map;
	int r;

	r = fd < 0 ? -errno : insn_store_get(store, fd, &map);
	if (r == -ENOEXEC)
		log_error("%s: is no 64-bit x86 program or library", file);
	else if (r < 0)
		log_error("%s: %s", file, strerror(-r));
	if (r < 0)
		return r;
	if (files)
		return add_json(files, a, file, map);
	print_map(a, file, map);
	return 0;
}

static int show_files(const struct arguments *a, struct insn_store *store, json_t *files)
{
	int first = 0;

	for (int i = 0; i < a->count; i++) {
		int r = show_file(a, store, a->files[i], files);

		first = first ? first : r;
	}
	return first;
}

DEFINE_CLEANUP(store, struct insn_store, insn_store_free)

static int show(const struct arguments *a)
{
	_cleanup_free_ char *cache = a->cache ? cache_directory() : NULL;
	_cleanup_(cleanup_store) struct insn_store *store = insn_store_new(cache);
	json_t *document = a->json ? json_pack("{s:[]}", "files") : NULL;
	int r;

	if (!store || (a->json && !document))
		return -ENOMEM;
	r = show_files(a, store, document ? json_object_get(document, "files") : NULL);
	if (document) {
		(void)json_dumpf(document, stdout, JSON_INDENT(2));
		(void)putchar('\n');
		json_decref(document);
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		log_error("standard output: %s", strerror(errno));
		return -EIO;
	}
	return r;
}

int cmd_instruction_map(int argc, char **argv)
{
	struct arguments a = { 0 };

	command_prepare("hermit", "instruction-map", argv);
	if (argp_parse(&argp, argc, argv, 0, NULL, &a) != 0)
		return EXIT_CODE_TOOL;
	return show(&a) < 0 ? EXIT_CODE_TOOL : 0;
}
