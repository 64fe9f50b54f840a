/* SPDX-License-Identifier: BSD-3-Clause */
/* The map of links, traffic-control handles, port ids and the families. */
#include "netlink_test.h"

#include <errno.h>
#include <linux/if_arp.h>

#include "netlink/key.h"
#include "netlink/objects.h"
#include "netlink/protocols.h"

static uint32_t seen(const struct nl_map *map, uint32_t real)
{
	return nl_map_index(map, NL_TO_VIRTUAL, real, NULL);
}

static uint32_t real(const struct nl_map *map, uint32_t virtual)
{
	return nl_map_index(map, NL_TO_REAL, virtual, NULL);
}

Test(netlink_map, loopback_is_1_the_others_go_by_name)
{
	struct test_env t;

	test_env_init(&t);
	cr_assert_eq(seen(&t.map, 1), 1);
	cr_assert_eq(seen(&t.map, 5), 2);
	cr_assert_eq(seen(&t.map, 7), 3);
	cr_assert_eq(real(&t.map, 3), 7);
	cr_assert_str_eq(nl_map_find_virtual(&t.map, 2)->name, "br0");
	cr_assert_eq(nl_map_find_name(&t.map, "eth0")->real_index, 7);
	cr_assert_null(nl_map_find_name(&t.map, "eth1"));
	test_env_deinit(&t);
}

Test(netlink_map, none_all_and_default_are_themselves)
{
	struct test_env t;

	test_env_init(&t);
	for (int i = 0; i < 2; i++) {
		enum nl_direction direction = i ? NL_TO_REAL : NL_TO_VIRTUAL;

		cr_assert_eq(nl_map_index(&t.map, direction, 0, NULL), 0);
		cr_assert_eq(nl_map_index(&t.map, direction, (uint32_t)-1, NULL), (uint32_t)-1);
		cr_assert_eq(nl_map_index(&t.map, direction, (uint32_t)-2, NULL), (uint32_t)-2);
	}
	test_env_deinit(&t);
}

/* Virtual 5 and 7 do not exist, though links 5 and 7 do: a request for them must not reach those. */
Test(netlink_map, unknown_indexes_go_where_no_link_is)
{
	struct test_env t;
	bool known = true;

	test_env_init(&t);
	cr_assert_eq(nl_map_index(&t.map, NL_TO_REAL, 7, &known), 0x7fffffff - 7);
	cr_assert_not(known);
	cr_assert_eq(seen(&t.map, 0x7fffffff - 7), 7);
	cr_assert_eq(nl_map_index(&t.map, NL_TO_VIRTUAL, 99, &known), 0);
	cr_assert_not(known);
	test_env_deinit(&t);
}

/* `ip link add wanted index 9` made real 0x7fffffff - 9. */
Test(netlink_map, an_index_that_the_guest_chose_is_kept)
{
	_cleanup_(nl_buf_deinit) struct nl_buf more = { 0 };
	struct test_env t;

	test_env_init(&t);
	put_link(&more, "0000 0100 f6ffff7f 4310010000000000", "0b00 0300 77616e74656400 00");
	cr_assert_eq(nl_map_learn(&t.map, more.data, more.len), 0);
	cr_assert_eq(seen(&t.map, 0x7fffffff - 9), 9);
	cr_assert_eq(real(&t.map, 9), 0x7fffffff - 9);
	test_env_deinit(&t);
}

Test(netlink_map, later_links_follow_and_numbers_are_not_used_twice)
{
	_cleanup_(nl_buf_deinit) struct nl_buf dump = { 0 };
	struct test_env t;

	test_env_init(&t);
	/* lo stays, eth0 and br0 are gone, b and a have come. */
	put_link(&dump, "0000 0403" REAL_LO "4900010000000000", "0700 0300 6c6f0000");
	put_link(&dump, "0000 0100 08000000 4310010000000000", "0600 0300 6200 0000");
	put_link(&dump, "0000 0100 09000000 4310010000000000", "0600 0300 6100 0000");
	cr_assert_eq(nl_map_fill(&t.map, dump.data, dump.len), 0);
	cr_assert_eq(seen(&t.map, 9), 4);
	cr_assert_eq(seen(&t.map, 8), 5);
	/* A notification about eth0 may still be on its way. */
	cr_assert_eq(seen(&t.map, 7), 3);
	cr_assert_null(nl_map_find_name(&t.map, "eth0"));
	cr_assert_eq(nl_map_fill(&t.map, dump.data, dump.len), 0);
	cr_assert_eq(seen(&t.map, 7), 0);
	test_env_deinit(&t);
}

Test(netlink_map, a_number_that_comes_back_is_another_link)
{
	_cleanup_(nl_buf_deinit) struct nl_buf lo = { 0 }, again = { 0 };
	struct test_env t;

	test_env_init(&t);
	put_link(&lo, "0000 0403" REAL_LO "4900010000000000", "0700 0300 6c6f0000");
	cr_assert_eq(nl_map_fill(&t.map, lo.data, lo.len), 0);
	put_three_links(&again);
	cr_assert_eq(nl_map_fill(&t.map, again.data, again.len), 0);
	cr_assert_eq(seen(&t.map, 1), 1);
	cr_assert_eq(seen(&t.map, 7), 4, "in the order of the messages, which is eth0 first");
	cr_assert_eq(seen(&t.map, 5), 5);
	test_env_deinit(&t);
}

Test(netlink_map, renaming_keeps_the_number)
{
	_cleanup_(nl_buf_deinit) struct nl_buf news = { 0 };
	struct test_env t;

	test_env_init(&t);
	put_link(&news, "0000 0100" REAL_ETH0 "4310010000000000", "0600 0300 6100 0000");
	cr_assert_eq(nl_map_learn(&t.map, news.data, news.len), 0);
	cr_assert_eq(seen(&t.map, 7), 3);
	cr_assert_str_eq(nl_map_find_real(&t.map, 7)->name, "a");
	test_env_deinit(&t);
}

Test(netlink_map, broken_messages_are_passed_over)
{
	_cleanup_(nl_buf_deinit) struct nl_buf dump = { 0 };
	struct nl_map map;

	nl_map_init(&map);
	put_link(&dump, "0000 0100 03000000", "");
	put_link(&dump, "0000 0100 feffffff 4310010000000000", "");
	put_link(&dump, "0000 0100 04000000 4310010000000000", "ff00 0300 6100 0000");
	put_hex(&dump, "ff000000 1000 0000 00000000 00000000");
	cr_assert_eq(nl_map_fill(&map, dump.data, dump.len), 0);
	cr_assert_eq(map.n_links, 1);
	cr_assert_eq(map.links[0].real_index, 4);
	nl_map_deinit(&map);
}

/* A thousand links in one dump, each twice, the names against the order of the indexes. */
Test(netlink_map, many)
{
	_cleanup_(nl_buf_deinit) struct nl_buf dump = { 0 };
	struct nl_map map;
	char text[128];

	nl_map_init(&map);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 1000; i++) {
			(void)snprintf(text, sizeof(text),
				       "0000 0100 %02x%02x0000 4310010000000000 0900 0300 %02x%02x%02x%02x00 000000",
				       (i + 2) & 255, (i + 2) >> 8, '0' + (999 - i) / 1000, '0' + (999 - i) / 100 % 10,
				       '0' + (999 - i) / 10 % 10, '0' + (999 - i) % 10);
			put_message(&dump, RTM_NEWLINK, NLM_F_MULTI, text);
		}
	}
	cr_assert_eq(nl_map_fill(&map, dump.data, dump.len), 0);
	cr_assert_eq(map.n_links, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		cr_assert_eq(seen(&map, i + 2), 2 + 999 - i);
	nl_map_deinit(&map);
}

struct mac_row {
	const char *what;
	enum nl_direction direction;
	uint32_t hint;
	const char *in;
	const char *out;
	bool known;
};

static const struct mac_row mac_rows[] = {
	{ "to the guest", NL_TO_VIRTUAL, 0, "aabbcc000007", "020000000003", true },
	{ "to the kernel", NL_TO_REAL, 0, "020000000003", "aabbcc000007", true },
	{ "with a hint at the link", NL_TO_VIRTUAL, 5, "aabbcc000005", "020000000002", true },
	{ "with a hint at another link", NL_TO_VIRTUAL, 7, "aabbcc000005", "020000000002", true },
	{ "of a solicited-node group", NL_TO_VIRTUAL, 0, "3333ff000007", "3333ff000003", true },
	{ "of a solicited-node group, back", NL_TO_REAL, 0, "3333ff000003", "3333ff000007", true },
	{ "of all nodes", NL_TO_VIRTUAL, 0, "333300000001", "333300000001", true },
	{ "unknown", NL_TO_VIRTUAL, 0, "123456789abc", "123456789abc", false },
	{ "real ones mean nothing to the kernel's side", NL_TO_REAL, 0, "aabbcc000007", "aabbcc000007", false },
};

Test(netlink_map, macs)
{
	struct test_env t;

	test_env_init(&t);
	for (size_t i = 0; i < ARRAY_SIZE(mac_rows); i++) {
		_cleanup_(nl_buf_deinit) struct nl_buf mac = { 0 }, wanted = { 0 };
		bool known;

		put_hex(&mac, mac_rows[i].in);
		put_hex(&wanted, mac_rows[i].out);
		nl_map_mac(&t.map, mac_rows[i].direction, mac_rows[i].hint, mac.data, &known);
		assert_bytes(mac_rows[i].what, &mac, &wanted);
		cr_assert_eq(known, mac_rows[i].known, "%s", mac_rows[i].what);
	}
	test_env_deinit(&t);
}

/* A bridge has the MAC of one of its ports: which link is meant is told by the message. */
Test(netlink_map, two_links_with_one_mac)
{
	_cleanup_(nl_buf_deinit) struct nl_buf news = { 0 };
	uint8_t mac[6] = { 0xaa, 0xbb, 0xcc, 0, 0, 7 };
	struct test_env t;

	test_env_init(&t);
	put_link(&news, "0000 0100" REAL_BR0 "4310010000000000", "0a00 0100 aabbcc000007 0000");
	cr_assert_eq(nl_map_learn(&t.map, news.data, news.len), 0);
	nl_map_mac(&t.map, NL_TO_VIRTUAL, 7, mac, NULL);
	cr_assert_arr_eq(mac, ((uint8_t[]){ 2, 0, 0, 0, 0, 3 }), 6);
	memcpy(mac, (uint8_t[]){ 0xaa, 0xbb, 0xcc, 0, 0, 7 }, 6);
	nl_map_mac(&t.map, NL_TO_VIRTUAL, 5, mac, NULL);
	cr_assert_arr_eq(mac, ((uint8_t[]){ 2, 0, 0, 0, 0, 2 }), 6);
	test_env_deinit(&t);
}

Test(netlink_map, a_mac_that_was_chosen_is_shown)
{
	uint8_t mac[6] = { 0xaa, 0xbb, 0xcc, 0, 0, 7 };
	struct test_env t;

	test_env_init(&t);
	cr_assert_eq(nl_map_say_mac(&t.map, mac), 0);
	nl_map_mac(&t.map, NL_TO_VIRTUAL, 7, mac, NULL);
	cr_assert_arr_eq(mac, ((uint8_t[]){ 0xaa, 0xbb, 0xcc, 0, 0, 7 }), 6);
	cr_assert_arr_eq(nl_map_find_real(&t.map, 5)->virtual_mac, ((uint8_t[]){ 2, 0, 0, 0, 0, 2 }), 6);
	test_env_deinit(&t);
}

Test(netlink_map, virtual_macs_hold_the_whole_index)
{
	_cleanup_(nl_buf_deinit) struct nl_buf more = { 0 };
	struct test_env t;

	test_env_init(&t);
	put_link(&more, "0000 0100 fdfdfc7f 4310010000000000", "0600 0300 7a00 0000 0a00 0100 aabbcc000009 0000");
	cr_assert_eq(nl_map_learn(&t.map, more.data, more.len), 0);
	cr_assert_eq(seen(&t.map, 0x7ffcfdfd), 0x30202);
	cr_assert_arr_eq(nl_map_find_virtual(&t.map, 0x30202)->virtual_mac, ((uint8_t[]){ 2, 0, 0, 3, 2, 2 }), 6);
	test_env_deinit(&t);
}

Test(netlink_map, interface_identifiers_go_both_ways)
{
	_cleanup_(nl_buf_deinit) struct nl_buf address = { 0 }, seen_address = { 0 }, group = { 0 }, seen_group = { 0 };
	struct test_env t;

	test_env_init(&t);
	put_hex(&address, "fe80000000000000 a8bbccfffe000007");
	put_hex(&seen_address, "fe80000000000000 000000fffe000003");
	put_hex(&group, "ff020000000000000000 0001ff000007");
	put_hex(&seen_group, "ff020000000000000000 0001ff000003");
	nl_map_ip6(&t.map, NL_TO_VIRTUAL, 7, address.data);
	assert_bytes("to the guest", &address, &seen_address);
	nl_map_ip6(&t.map, NL_TO_REAL, 0, seen_address.data);
	cr_assert_eq(seen_address.data[15], 7);
	cr_assert_eq(seen_address.data[8], 0xa8);
	nl_map_ip6(&t.map, NL_TO_VIRTUAL, 7, group.data);
	assert_bytes("group to the guest", &group, &seen_group);
	nl_map_ip6(&t.map, NL_TO_REAL, 7, seen_group.data);
	cr_assert_eq(seen_group.data[15], 7);
	test_env_deinit(&t);
}

static uint32_t handle(struct nl_map *map, enum nl_direction direction, uint32_t number)
{
	cr_assert_eq(nl_map_handle(map, direction, &number), 0);
	return number;
}

Test(netlink_map, automatic_handles_count_from_8001)
{
	struct nl_map map;

	nl_map_init(&map);
	cr_assert_eq(handle(&map, NL_TO_VIRTUAL, 0x90050000), 0x80010000);
	cr_assert_eq(handle(&map, NL_TO_VIRTUAL, 0x80010003), 0x80020003);
	cr_assert_eq(handle(&map, NL_TO_VIRTUAL, 0x90050001), 0x80010001);
	cr_assert_eq(handle(&map, NL_TO_REAL, 0x80010002), 0x90050002);
	/* Chosen ones, the root and the ingress are themselves. */
	cr_assert_eq(handle(&map, NL_TO_VIRTUAL, 0x00010000), 0x00010000);
	cr_assert_eq(handle(&map, NL_TO_VIRTUAL, 0xffffffff), 0xffffffff);
	cr_assert_eq(handle(&map, NL_TO_VIRTUAL, 0xfffffff1), 0xfffffff1);
	cr_assert_eq(handle(&map, NL_TO_VIRTUAL, 0x80000800), 0x80000800);
	/* A guest that names a high one gets it. */
	cr_assert_eq(handle(&map, NL_TO_REAL, 0x80030000), 0x80030000);
	cr_assert_eq(handle(&map, NL_TO_VIRTUAL, 0x80030000), 0x80030000);
	cr_assert_eq(handle(&map, NL_TO_VIRTUAL, 0x90060000), 0x80040000);
	nl_map_deinit(&map);
}

static uint32_t autobind(struct nl_ports *ports, int protocol, uint32_t tgid)
{
	uint32_t id = 0;

	cr_assert_eq(nl_ports_autobind(ports, protocol, tgid, &id), 0);
	return id;
}

Test(netlink_ports, first_the_process_then_down_from_minus_4097)
{
	struct nl_ports ports;

	nl_ports_init(&ports);
	cr_assert_eq(autobind(&ports, NETLINK_ROUTE, 7), 7);
	cr_assert_eq(autobind(&ports, NETLINK_ROUTE, 7), (uint32_t)-4097);
	cr_assert_eq(autobind(&ports, NETLINK_ROUTE, 7), (uint32_t)-4098);
	cr_assert_eq(autobind(&ports, NETLINK_ROUTE, 8), 8);
	cr_assert_eq(autobind(&ports, NETLINK_SOCK_DIAG, 7), 7, "families do not share ports");
	cr_assert_eq(autobind(&ports, NETLINK_SOCK_DIAG, 7), (uint32_t)-4097);
	nl_ports_release(&ports, NETLINK_ROUTE, 7);
	cr_assert_eq(autobind(&ports, NETLINK_ROUTE, 7), 7, "free again");
	nl_ports_release(&ports, NETLINK_ROUTE, (uint32_t)-4097);
	cr_assert_eq(autobind(&ports, NETLINK_ROUTE, 7), (uint32_t)-4099, "the rover goes on");
	nl_ports_release(&ports, NETLINK_ROUTE, 12345);
	nl_ports_deinit(&ports);
}

Test(netlink_ports, named_ports)
{
	struct nl_ports ports;

	nl_ports_init(&ports);
	cr_assert_eq(nl_ports_bind(&ports, NETLINK_ROUTE, 1234), 0);
	cr_assert_eq(nl_ports_bind(&ports, NETLINK_ROUTE, 1234), -EADDRINUSE);
	cr_assert_eq(nl_ports_bind(&ports, NETLINK_SOCK_DIAG, 1234), 0);
	cr_assert_eq(nl_ports_bind(&ports, NETLINK_ROUTE, (uint32_t)-4097), 0);
	cr_assert_eq(autobind(&ports, NETLINK_ROUTE, 1234), (uint32_t)-4098, "what somebody has is passed over");
	nl_ports_set_real(&ports, NETLINK_ROUTE, 1234, 99);
	cr_assert_eq(nl_ports_to_virtual(&ports, NETLINK_ROUTE, 99), 1234);
	cr_assert_eq(nl_ports_to_real(&ports, NETLINK_ROUTE, 1234), 99);
	cr_assert_eq(nl_ports_to_virtual(&ports, NETLINK_ROUTE, 0), 0);
	cr_assert_eq(nl_ports_to_virtual(&ports, NETLINK_ROUTE, 55), 55);
	cr_assert_eq(nl_ports_to_real(NULL, NETLINK_ROUTE, 55), 55);
	nl_ports_deinit(&ports);
}

Test(netlink_ports, the_rover_turns_round_at_the_last_negative_number)
{
	struct nl_ports ports;

	nl_ports_init(&ports);
	cr_assert_eq(autobind(&ports, 0, 7), 7);
	cr_assert_eq(autobind(&ports, 0, 7), (uint32_t)-4097);
	ports.rovers[0].next = (uint32_t)INT32_MIN;
	cr_assert_eq(autobind(&ports, 0, 7), (uint32_t)INT32_MIN);
	cr_assert_eq(autobind(&ports, 0, 7), (uint32_t)-4098);
	nl_ports_deinit(&ports);
}

Test(netlink_protocols, table)
{
	const struct nl_protocol *row;
	size_t i;

	for (i = 0; (row = nl_protocol_at(i)); i++) {
		cr_assert_eq(row->number, (int)i);
		cr_assert_not_null(row->name);
		cr_assert_eq(row->modelled, row->refusal == 0, "%s", row->name);
		cr_assert_eq(nl_protocol_get((int)i), row);
		cr_assert(row->modelled || row->refusal == EPROTONOSUPPORT);
	}
	cr_assert_eq(i, 23);
	cr_assert(nl_protocol_get(NETLINK_ROUTE)->modelled && nl_protocol_get(NETLINK_SOCK_DIAG)->modelled);
	cr_assert_eq(nl_protocol_get(NETLINK_GENERIC)->refusal, EPROTONOSUPPORT);
	cr_assert_eq(nl_protocol_get((int)i)->refusal, EPROTONOSUPPORT);
	cr_assert_eq(nl_protocol_get(-1)->refusal, EPROTONOSUPPORT);
}

/* Every object is where its type says, and every type between the first and the last of the kernel has an answer. */
Test(netlink_protocols, objects)
{
	unsigned found = 0;

	for (uint16_t type = RTM_BASE; type < RTM_BASE + 256; type++) {
		const struct nl_object *object = nl_object_find(NETLINK_ROUTE, type, 0);

		if (!object) {
			cr_assert_eq(nl_request_refusal(NETLINK_ROUTE, type, 0), EOPNOTSUPP);
			continue;
		}
		found++;
		cr_assert_eq(object->base_type, type & ~3, "%s", object->name);
		cr_assert_eq(nl_request_refusal(NETLINK_ROUTE, type, 0), 0);
	}
	cr_assert_eq(found, 16 * 4);
	cr_assert_null(nl_object_find(NETLINK_ROUTE, 15, 0));
	cr_assert_null(nl_object_find(NETLINK_ROUTE, UINT16_MAX, 0));
	cr_assert_null(nl_object_find(NETLINK_GENERIC, RTM_NEWLINK, 0));
	cr_assert_eq(nl_object_find(NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, AF_INET6), &nl_object_inet_diag);
	cr_assert_null(nl_object_find(NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, 255));
	cr_assert_null(nl_object_find(NETLINK_SOCK_DIAG, 18, AF_INET), "the interface of 2.4");
	cr_assert_eq(nl_request_refusal(NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, 40), ENOENT);
	cr_assert_eq(nl_request_refusal(NETLINK_ROUTE, NLMSG_NOOP, 0), 0);
}

static void check_set(const char *object, const struct nl_ruleset *set, unsigned depth)
{
	cr_assert_lt(depth, 4, "%s", object);
	for (size_t i = 0; set && i < set->n_rules; i++) {
		const struct nl_rule *rule = &set->rules[i];

		if (rule->action == NL_UNKNOWN) {
			cr_assert_null(rule->name, "%s: attribute %zu has a name but no action", object, i);
			continue;
		}
		cr_assert_not_null(rule->name, "%s: attribute %zu", object, i);
		cr_assert_eq(rule->action == NL_BYTES, rule->bytes != NULL, "%s.%s", object, rule->name);
		cr_assert(rule->action != NL_FIXED || rule->size, "%s.%s: of no size", object, rule->name);
		cr_assert(rule->action != NL_CUSTOM || rule->emit, "%s.%s: nobody writes it", object, rule->name);
		if (rule->action == NL_NESTED || rule->action == NL_LIST || rule->action == NL_NEXTHOPS)
			cr_assert_not_null(rule->nested, "%s.%s", object, rule->name);
		if (rule->action == NL_NESTED || rule->action == NL_LIST)
			check_set(rule->name, rule->nested, depth + 1);
	}
}

static void check_fields(const struct nl_object *object, const struct nl_field *fields, size_t n, size_t header)
{
	for (size_t i = 0; i < n; i++) {
		cr_assert_leq(fields[i].offset + fields[i].size, header, "%s.%s", object->name, fields[i].name);
		cr_assert_neq(fields[i].action, NL_UNKNOWN, "%s.%s", object->name, fields[i].name);
		if (i > 0)
			cr_assert_geq(fields[i].offset, fields[i - 1].offset + fields[i - 1].size, "%s.%s",
				      object->name, fields[i].name);
	}
}

static const struct nl_object *const all_objects[] = {
	&nl_object_link,      &nl_object_addr,	    &nl_object_multicast,    &nl_object_anycast, &nl_object_addrlabel,
	&nl_object_route,     &nl_object_rule,	    &nl_object_nexthop,	     &nl_object_neigh,	 &nl_object_neightbl,
	&nl_object_qdisc,     &nl_object_tclass,    &nl_object_tfilter,	     &nl_object_netconf, &nl_object_nsid,
	&nl_object_stats,     &nl_object_inet_diag, &nl_object_unix_diag,    &nl_object_netlink_diag,
	&nl_object_packet_diag,
};

Test(netlink_protocols, tables_are_whole)
{
	for (size_t i = 0; i < ARRAY_SIZE(all_objects); i++) {
		const struct nl_object *object = all_objects[i];
		size_t key = 2;

		check_set(object->name, object->attributes, 0);
		check_fields(object, object->fields, object->n_fields, object->header);
		check_fields(object, object->request_fields, object->n_request_fields, object->request_header);
		for (size_t k = 0; k < object->n_key; k++)
			key += object->key[k].size;
		cr_assert_leq(object->n_key, NL_KEY_PARTS, "%s: the key has too many parts", object->name);
		cr_assert_leq(key, NL_KEY_SIZE, "%s: the key is longer than there is room for", object->name);
	}
}

/* Linux 6.18 has 69 attributes of a link. */
Test(netlink_protocols, every_attribute_of_a_link_has_a_row)
{
	for (uint16_t type = 1; type <= 69; type++)
		cr_assert_not_null(nl_rule_find(nl_object_link.attributes, type), "IFLA %u", type);
	cr_assert_null(nl_rule_find(nl_object_link.attributes, 0));
	cr_assert_null(nl_rule_find(nl_object_link.attributes, 70));
	for (uint16_t type = 1; type <= 31; type++)
		cr_assert_not_null(nl_rule_find(nl_object_route.attributes, type), "RTA %u", type);
	for (uint16_t type = 1; type <= 17; type++)
		cr_assert_not_null(nl_rule_find(nl_object_neigh.attributes, type), "NDA %u", type);
	for (uint16_t type = 1; type <= 11; type++)
		cr_assert_not_null(nl_rule_find(nl_object_addr.attributes, type), "IFA %u", type);
}
