/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plugins/redis/slots.c. The slots of keys come from CLUSTER KEYSLOT of redis-server 7.0.15.
 * The checksum is the check value of CRC-16/XMODEM.
 */
#include "../plugins/redis/slots.h"
#include "unit.h"

#include <stdio.h>

static struct slot_map map;

static struct nb_slice
slice(const char *text)
{
	return (struct nb_slice){text, strlen(text)};
}

static bool
read_map(const char *reply)
{
	return slot_map_read(&map, reply, strlen(reply), "10.0.0.9:7000", true);
}

TEST(the_slot_of_a_key_is_that_of_the_server)
{
	static const struct {
		const char *key;
		uint32_t slot;
	} keys[] = {{"123456789", 12739}, {"foo", 12182}, {"bar", 5061},
		{"{user1000}.following", 3443}, {"{user1000}.followers", 3443},
		{"foo{}{bar}", 8363}, {"foo{{bar}}zap", 4015}, {"foo{bar}{zap}", 5061},
		{"a}b{c}d", 7365}, {"{", 4092}, {"{open", 7674}, {"x{}", 2608},
		{"user6284781860667377211", 10488}};
	ck_assert_uint_eq(slot_crc("123456789", 9), 0x31c3);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		ck_assert_uint_eq(slot_of(slice(keys[i].key)), keys[i].slot);
	ck_assert_uint_eq(slot_of((struct nb_slice){"\x00\xff\x80\x7f", 4}), 7043);
}

TEST(a_map_has_each_slot_with_its_owner_and_replica)
{
	ck_assert(read_map("*3\r\n"
			   "*4\r\n:0\r\n:5460\r\n"
			   "*4\r\n$9\r\n127.0.0.1\r\n:6379\r\n$1\r\nx\r\n*0\r\n"
			   "*3\r\n$9\r\n127.0.0.1\r\n:6380\r\n$1\r\ny\r\n"
			   "*3\r\n:5461\r\n:5461\r\n*2\r\n$3\r\n::1\r\n:1\r\n"
			   "*3\r\n:6000\r\n:16383\r\n*3\r\n$-1\r\n:7001\r\n$1\r\nz\r\n"));
	ck_assert_uint_eq(map.count, 4);
	ck_assert_str_eq(map.nodes[map.owner[0]], "127.0.0.1:6379");
	ck_assert_str_eq(map.nodes[map.replica[5460]], "127.0.0.1:6380");
	ck_assert_str_eq(map.nodes[map.owner[5461]], "[::1]:1");
	ck_assert_uint_eq(map.replica[5461], map.owner[5461]);
	ck_assert_uint_eq(map.owner[5462], SLOT_NONE);
	ck_assert_str_eq(map.nodes[map.owner[16383]], "10.0.0.9:7001");
	ck_assert_uint_eq(slot_map_missing(&map), 6000 - 5462);
}

TEST(invalid_map_is_refused)
{
	static const char *const broken[] = {"-ERR no\r\n", "*1\r\n:1\r\n",
		"*1\r\n*2\r\n:0\r\n:1\r\n",
		"*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n",
		"*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\na\r\n:65536\r\n",
		"*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n:5\r\n:1\r\n", "*0\r\n*0\r\n",
		"*2\r\n*3\r\n:0\r\n:1\r\n*2\r\n$1\r\na\r\n:1\r\n"};
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		ck_assert_msg(!read_map(broken[i]), "%s", broken[i]);
	ck_assert(read_map("*0\r\n"));
	ck_assert_uint_eq(slot_map_missing(&map), SLOTS);
}

TEST(node_is_added_once_and_only_while_there_is_space)
{
	map.count = 0;
	for (uint32_t i = 0; i < SLOT_NODES; i++) {
		char address[SLOT_ADDRESS];
		snprintf(address, sizeof(address), "host:%u", i);
		ck_assert_uint_eq(slot_node(&map, address), i);
		ck_assert_uint_eq(slot_node(&map, address), i);
	}
	ck_assert_uint_eq(slot_node(&map, "another:1"), SLOT_NONE);
	ck_assert_uint_eq(slot_node(&map, "host:7"), 7);
}

static const char *
redirected(const char *text, uint32_t *slot)
{
	static char address[SLOT_ADDRESS];
	struct resp_reply error = {.text = text, .size = strlen(text), .type = RESP_ERROR};
	return slot_redirection(&error, "h:1", slot, address) ? address : NULL;
}

TEST(a_redirection_is_read)
{
	uint32_t slot;
	ck_assert_str_eq(redirected("MOVED 3999 127.0.0.1:6381", &slot), "127.0.0.1:6381");
	ck_assert_uint_eq(slot, 3999);
	ck_assert_str_eq(redirected("ASK 16383 fe80::1:6381", &slot), "[fe80::1]:6381");
	ck_assert_uint_eq(slot, 16383);
	ck_assert_str_eq(redirected("MOVED 0 :6381", &slot), "h:6381");
	static const char *const broken[] = {"MOVED", "MOVED ", "MOVED x h:1",
		"MOVED 16384 h:1", "MOVED 1", "MOVED 1 h", "MOVED 1 h:", "MOVED 1 h:x",
		"MOVED 1 h:65536", "ERR MOVED 1 h:1", "TRYAGAIN x"};
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		ck_assert_msg(redirected(broken[i], &slot) == NULL, "%s", broken[i]);
}
