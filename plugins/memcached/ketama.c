/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The continuum of libmemcached with MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED and equal weights,
 * which other clients call libketama-compatible. For each server, the MD5 hashes of
 * "HOST:PORT-N", N from 0 to 39, give four points each on a circle of 32-bit numbers. Port
 * 11211 is omitted. A key belongs to the server of the first point at or after its MD5.
 * (libmemcached, hosts.cc, update_continuum.)
 *
 * MD5: RFC 1321. Words are read in machine order, so this code requires a little-endian
 * machine.
 */
#include "memcached.h"

/* ---- MD5 ---- */

static uint32_t
rotate(uint32_t x, unsigned by)
{
	return x << by | x >> (32 - by);
}

/** Process one block of 64 bytes: RFC 1321, section 3.4. */
static void
md5_block(uint32_t state[4], const unsigned char *block)
{
	static const unsigned shifts[4][4] = {
		{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
	static const unsigned char steps[4][2] = {{1, 0}, {5, 1}, {3, 5}, {7, 0}};
	/* 2^32 * |sin(i + 1)| */
	static const uint32_t sines[64] = {0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee,
		0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af,
		0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
		0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453,
		0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
		0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681,
		0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
		0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5,
		0x1fa27cf8, 0xc4ac5665, 0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039,
		0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0,
		0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3], words[16];
	memcpy(words, block, sizeof(words));
	for (unsigned i = 0; i < 64; i++) {
		unsigned round = i / 16;
		uint32_t f = round == 0 ? (b & c) | (~b & d)
			: round == 1    ? (d & b) | (~d & c)
			: round == 2    ? b ^ c ^ d
					: c ^ (b | ~d);
		uint32_t word = words[(steps[round][0] * i + steps[round][1]) % 16];
		uint32_t next = b + rotate(a + f + sines[i] + word, shifts[round][i % 4]);
		a = d;
		d = c;
		c = b;
		b = next;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
}

/** The resulting state is the 16-byte hash. */
static void
md5(uint32_t state[4], const void *bytes, size_t size)
{
	static const uint32_t initial[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
	const unsigned char *at = bytes;
	unsigned char last[128] = {0};
	size_t left = size;
	uint64_t bits = (uint64_t)size * 8;
	memcpy(state, initial, sizeof(initial));
	for (; left >= 64; left -= 64, at += 64)
		md5_block(state, at);
	if (left > 0)
		memcpy(last, at, left);
	last[left] = 0x80;
	size_t end = left < 56 ? 64 : 128;
	memcpy(last + end - 8, &bits, sizeof(bits));
	for (size_t i = 0; i < end; i += 64)
		md5_block(state, last + i);
}

/* ---- the continuum ---- */

static int
compare(const void *a, const void *b)
{
	const struct ketama_point *x = a, *y = b;
	return (x->hash > y->hash) - (x->hash < y->hash);
}

/** Format "HOST:PORT-N", without the default port and without "unix:". */
static int
point_name(char *to, size_t size, const char *server, unsigned n)
{
	static const char port[] = ":" DEFAULT_PORT;
	size_t length = strlen(server), end = length - (sizeof(port) - 1);
	if (strncmp(server, "unix:", 5) == 0)
		return snprintf(to, size, "%s:0-%u", server + 5, n);
	if (length >= sizeof(port) && strcmp(server + end, port) == 0)
		length = end;
	return snprintf(to, size, "%.*s-%u", (int)length, server, n);
}

struct ketama_point *
ketama_new(const char *const *names, uint32_t count)
{
	struct ketama_point *points = malloc((size_t)count * KETAMA_POINTS * sizeof(*points));
	struct ketama_point *at = points;
	for (uint32_t i = 0; points != NULL && i < count; i++)
		for (unsigned n = 0; n < KETAMA_POINTS / 4; n++, at += 4) {
			char name[400];
			uint32_t hashes[4];
			int size = point_name(name, sizeof(name), names[i], n);
			md5(hashes, name, (size_t)size);
			for (int k = 0; k < 4; k++)
				at[k] = (struct ketama_point){hashes[k], i};
		}
	if (points != NULL)
		qsort(points, (size_t)count * KETAMA_POINTS, sizeof(*points), compare);
	return points;
}

uint32_t
ketama_server(const struct ketama_point *points, uint32_t count, struct nb_slice key)
{
	uint32_t hash[4];
	size_t low = 0, high = (size_t)count * KETAMA_POINTS, end = high;
	md5(hash, key.data, key.size);
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (points[middle].hash < hash[0])
			low = middle + 1;
		else
			high = middle;
	}
	return points[low == end ? 0 : low].server;
}
