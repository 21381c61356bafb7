/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slots of keys and the map of a cluster.
 *
 * A wrong checksum would not cause wrong results: each request would be redirected once. So
 * a test compares it with the server's CLUSTER KEYSLOT.
 */
#include "slots.h"

#include <stdio.h>

/* Four bits at a time: a byte-wise table of 256 numbers saves only 20 ns for a 16-byte key. */
uint16_t
slot_crc(const void *data, size_t size)
{
	static const uint16_t table[16] = {0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5,
		0x60c6, 0x70e7, 0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};
	const uint8_t *bytes = data;
	uint16_t crc = 0;
	for (size_t i = 0; i < size; i++) {
		crc = (uint16_t)(crc << 4 ^ table[crc >> 12 ^ bytes[i] >> 4]);
		crc = (uint16_t)(crc << 4 ^ table[crc >> 12 ^ (bytes[i] & 15)]);
	}
	return crc;
}

uint32_t
slot_of(struct nb_slice key)
{
	const char *data = key.data;
	const char *open = memchr(data, '{', key.size);
	if (open != NULL) {
		size_t left = key.size - (size_t)(++open - data);
		const char *close = memchr(open, '}', left);
		if (close != NULL && close != open)
			return slot_crc(open, (size_t)(close - open)) % SLOTS;
	}
	return slot_crc(data, key.size) % SLOTS;
}

uint32_t
slot_node(struct slot_map *map, const char *address)
{
	for (uint32_t i = 0; i < map->count; i++)
		if (strcmp(map->nodes[i], address) == 0)
			return i;
	if (map->count == SLOT_NODES || strlen(address) >= SLOT_ADDRESS)
		return SLOT_NONE;
	strcpy(map->nodes[map->count], address);
	return map->count++;
}

/* Format "host:port". If the node does not know its host, use the host of `asked`. */
static bool
make_address(char to[SLOT_ADDRESS], struct nb_slice host, uint64_t port, const char *asked)
{
	const char *text = host.data;
	bool is_unknown = host.size == 0 || (host.size == 1 && *text == '?');
	if (is_unknown) {
		const char *colon = strrchr(asked, ':');
		text = asked;
		host.size = colon != NULL ? (size_t)(colon - asked) : strlen(asked);
	}
	bool is_v6 = !is_unknown && memchr(text, ':', host.size) != NULL;
	int length = snprintf(to, SLOT_ADDRESS, is_v6 ? "[%.*s]:%llu" : "%.*s:%llu",
		(int)host.size, text, (unsigned long long)port);
	return length > 0 && length < SLOT_ADDRESS;
}

/* --- reading CLUSTER SLOTS, from a complete reply --- */

struct cursor {
	const char *at, *end;
};

static bool
next(struct cursor *cursor, struct resp_reply *reply)
{
	ptrdiff_t used = resp_read(cursor->at, (size_t)(cursor->end - cursor->at), reply);
	if (used <= 0)
		return false;
	cursor->at += used;
	return true;
}

static bool
next_number(struct cursor *cursor, uint64_t most, uint64_t *number)
{
	struct resp_reply reply;
	if (!next(cursor, &reply) || reply.type != RESP_INTEGER || reply.number < 0 ||
		(uint64_t)reply.number > most)
		return false;
	*number = (uint64_t)reply.number;
	return true;
}

static bool
pass_over(struct cursor *cursor, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		ptrdiff_t used = resp_skip(cursor->at, (size_t)(cursor->end - cursor->at));
		if (used <= 0)
			return false;
		cursor->at += used;
	}
	return true;
}

/* Read [host, port, id, ...] and return the node's index. */
static bool
next_node(struct cursor *cursor, struct slot_map *map, const char *asked, uint16_t *index)
{
	struct resp_reply node, host;
	uint64_t port;
	char address[SLOT_ADDRESS];
	if (!next(cursor, &node) || node.type != RESP_ARRAY || node.number < 2 ||
		!next(cursor, &host) || (host.type != RESP_BULK && host.type != RESP_NIL) ||
		!next_number(cursor, UINT16_MAX, &port) || !pass_over(cursor, node.number - 2))
		return false;
	if (host.type == RESP_NIL)
		host.size = 0;
	if (!make_address(address, (struct nb_slice){host.text, host.size}, port, asked))
		return false;
	*index = (uint16_t)slot_node(map, address);
	return *index != SLOT_NONE;
}

/* [from, to, owner, replica, ...] */
static bool
next_range(struct cursor *cursor, struct slot_map *map, const char *asked, bool has_replicas)
{
	struct resp_reply range;
	uint64_t from, to;
	uint16_t owner, replica;
	if (!next(cursor, &range) || range.type != RESP_ARRAY || range.number < 3 ||
		!next_number(cursor, SLOTS - 1, &from) ||
		!next_number(cursor, SLOTS - 1, &to) || !next_node(cursor, map, asked, &owner))
		return false;
	replica = owner;
	bool is_replicated = has_replicas && range.number > 3;
	if (is_replicated && !next_node(cursor, map, asked, &replica))
		return false;
	for (uint64_t slot = from; slot <= to; slot++) {
		map->owner[slot] = owner;
		map->replica[slot] = replica;
	}
	return pass_over(cursor, range.number - 3 - is_replicated);
}

bool
slot_map_read(struct slot_map *map, const char *reply, size_t size, const char *asked,
	bool has_replicas)
{
	struct cursor cursor = {reply, reply + size};
	struct resp_reply ranges;
	map->count = 0;
	memset(map->owner, 0xff, sizeof(map->owner));
	memset(map->replica, 0xff, sizeof(map->replica));
	if (!next(&cursor, &ranges) || ranges.type != RESP_ARRAY)
		return false;
	for (int64_t i = 0; i < ranges.number; i++)
		if (!next_range(&cursor, map, asked, has_replicas))
			return false;
	return cursor.at == cursor.end;
}

uint32_t
slot_map_missing(const struct slot_map *map)
{
	uint32_t missing = 0;
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		missing += map->owner[slot] == SLOT_NONE;
	return missing;
}

/* Read a decimal number of at most `most`. Returns the number of digits; 0: invalid. */
static size_t
read_decimal(const char *text, const char *end, uint64_t most, uint64_t *number)
{
	const char *at = text;
	for (*number = 0; at < end && (unsigned)(*at - '0') < 10; at++)
		if ((*number = *number * 10 + (unsigned)(*at - '0')) > most)
			return 0;
	return (size_t)(at - text);
}

bool
slot_redirection(const struct resp_reply *error, const char *asked, uint32_t *slot,
	char address[SLOT_ADDRESS])
{
	size_t name = resp_begins(error, "MOVED ") ? 6 : resp_begins(error, "ASK ") ? 4 : 0;
	const char *at = error->text + name;
	const char *end = error->text + error->size;
	uint64_t number, port;
	size_t digits = name != 0 ? read_decimal(at, end, SLOTS - 1, &number) : 0;
	if (digits == 0 || at + digits == end || at[digits] != ' ')
		return false;
	*slot = (uint32_t)number;
	at += digits + 1;
	const char *colon = memrchr(at, ':', (size_t)(end - at));
	if (colon == NULL)
		return false;
	digits = read_decimal(colon + 1, end, UINT16_MAX, &port);
	return digits != 0 && colon + 1 + digits == end &&
		make_address(address, (struct nb_slice){at, (size_t)(colon - at)}, port, asked);
}
