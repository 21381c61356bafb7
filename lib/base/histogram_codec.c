/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A histogram as text: HdrHistogram's encoding V2, compressed, in base64.
 *
 *     base64( cookie, length, zlib( header, counts ) )
 *
 * Integers are big-endian. The header has the cookie, the length of the counts, the offset of
 * the first bucket and the digits (4 bytes each); the lowest and highest value and the ratio (8
 * bytes each). The counts follow in the order of their buckets. Each is a zigzag LEB128 number
 * (at most 9 bytes, the ninth with 8 bits); -n stands for n empty buckets. Some programs write
 * a single empty bucket as 0, others as -1: mininb reads both.
 *
 * The input is untrusted. None of its sizes decides an allocation, each index is checked before
 * its use, and the total of the counts must not overflow. Histograms of other programs may
 * exceed one hour; these values are counted in the hour's bucket, as in histogram_add().
 */
#include "base/histogram.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"

enum {
	COOKIE = 0x1c849313, /* base 0x1c849303, 0x10: word size of V2 */
	COOKIE_COMPRESSED = 0x1c849314,
	DIGITS = 3,
	OUTER_SIZE = 8, /* cookie, length */
	HEADER_SIZE = 40,
	LEB128_MAX = 9,
	OTHERS_BUCKETS = 54 * HISTOGRAM_HALF, /* up to 2^63 */
	PAYLOAD_MAX = OTHERS_BUCKETS * LEB128_MAX,
	INFLATED_MAX = HEADER_SIZE + PAYLOAD_MAX,
	DEFLATE_RATIO_MAX = 1032, /* technical notes of zlib: 258 bytes from two bits */
	/* zlib adds less than 0.1 % + 13 bytes to incompressible data */
	BINARY_MAX = OUTER_SIZE + INFLATED_MAX + INFLATED_MAX / 512 + 64,
	TEXT_MAX = (BINARY_MAX + 2) / 3 * 4,
};

/* The double 1.0: the ratio of stored to counted values. */
#define RATIO_ONE UINT64_C(0x3ff0000000000000)

/* ---- bytes ---- */

static void
put_big_endian(unsigned char *to, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (unsigned char)(value >> (8 * (size - 1 - i)));
}

static uint64_t
get_big_endian(const unsigned char *from, size_t size)
{
	uint64_t value = 0;
	for (size_t i = 0; i < size; i++)
		value = value << 8 | from[i];
	return value;
}

static size_t
put_leb128(unsigned char *to, uint64_t value)
{
	size_t size = 0;
	while (value >= 0x80 && size < LEB128_MAX - 1) {
		to[size++] = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	to[size++] = (unsigned char)value;
	return size;
}

/* Number of bytes used; 0 if the input ends within the number. */
static size_t
get_leb128(const unsigned char *from, size_t available, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < available && i < LEB128_MAX; i++) {
		if (i == LEB128_MAX - 1 || from[i] < 0x80) {
			*value |= (uint64_t)from[i] << (7 * i);
			return i + 1;
		}
		*value |= (uint64_t)(from[i] & 0x7f) << (7 * i);
	}
	return 0;
}

/* ---- base64, RFC 4648 section 4 ---- */

static const char base64_digits[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static size_t
base64_size(size_t size)
{
	return (size + 2) / 3 * 4;
}

static void
base64_encode(char *to, const unsigned char *from, size_t size)
{
	for (size_t i = 0; i < size; i += 3) {
		unsigned char group[3] = {0};
		size_t present = size - i < 3 ? size - i : 3;
		memcpy(group, from + i, present);
		uint32_t bits = (uint32_t)get_big_endian(group, 3);
		for (size_t j = 0; j < 4; j++)
			*to++ = j <= present ? base64_digits[bits >> (18 - 6 * j) & 63] : '=';
	}
	*to = '\0';
}

/* `to` has room for size / 4 * 3 bytes. Returns the number of bytes, -1 if it is not base64. */
static long
base64_decode(unsigned char *to, const char *from, size_t size)
{
	if (size == 0 || size % 4 != 0)
		return -1;
	unsigned char table[256];
	memset(table, 0xff, sizeof(table));
	for (unsigned char i = 0; i < 64; i++)
		table[(unsigned char)base64_digits[i]] = i;
	size_t padding = (from[size - 1] == '=') +
		(from[size - 1] == '=' && from[size - 2] == '=');
	uint32_t bits = 0;
	for (size_t i = 0; i < size; i++) {
		unsigned char digit = i < size - padding ? table[(unsigned char)from[i]] : 0;
		if (digit == 0xff)
			return -1;
		bits = bits << 6 | digit;
		if (i % 4 == 3)
			put_big_endian(to + i / 4 * 3, bits & 0xffffff, 3);
	}
	return (long)(size / 4 * 3 - padding);
}

/* ---- encode ---- */

static size_t
encode_counts(unsigned char *to, const struct nb_histogram *histogram)
{
	size_t end = HISTOGRAM_BUCKETS;
	while (end > 1 && histogram_at(histogram, end - 1) == 0)
		end--; /* keep one, because some readers require it */
	size_t size = 0;
	for (size_t i = 0; i < end;) {
		size_t run = 0;
		while (i + run < end && histogram_at(histogram, i + run) == 0)
			run++;
		if (run > 1)
			size += put_leb128(to + size, 2 * run - 1); /* zigzag of -run */
		else
			size += put_leb128(to + size, 2 * histogram_at(histogram, i));
		i += run == 0 ? 1 : run;
	}
	return size;
}

static size_t
encode_payload(unsigned char *to, const struct nb_histogram *histogram)
{
	size_t size = encode_counts(to + HEADER_SIZE, histogram);
	put_big_endian(to, COOKIE, 4);
	put_big_endian(to + 4, size, 4);
	put_big_endian(to + 8, 0, 4); /* offset of the first bucket */
	put_big_endian(to + 12, DIGITS, 4);
	put_big_endian(to + 16, 1, 8); /* lowest value */
	put_big_endian(to + 24, HISTOGRAM_HOUR, 8);
	put_big_endian(to + 32, RATIO_ONE, 8);
	return HEADER_SIZE + size;
}

/**
 * Upper limit of the bytes that encode_payload() writes: each count may follow a run of empty
 * buckets. For a typical histogram it is a few KiB. Rejected: the limit for all histograms, 300
 * KiB. malloc() gets a block of that size from the kernel each time, or the block leaves a hole
 * in the heap between the encoded texts.
 */
static size_t
payload_room(const struct nb_histogram *histogram)
{
	size_t used = 1;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		used += histogram_at(histogram, i) != 0;
	return HEADER_SIZE + used * 2 * LEB128_MAX;
}

int
nb_histogram_encode(const struct nb_histogram *histogram, char **out)
{
	int rc = NB_FAIL;
	unsigned char *payload = malloc(payload_room(histogram));
	if (payload == NULL)
		return error_system("memory to encode a histogram");
	size_t size = encode_payload(payload, histogram);
	uLongf compressed = compressBound(size);
	unsigned char *binary = malloc(OUTER_SIZE + compressed);
	char *text = malloc(base64_size(OUTER_SIZE + compressed) + 1);
	if (binary == NULL || text == NULL) {
		error_system("memory to encode a histogram");
		goto free_all;
	}
	if (compress(binary + OUTER_SIZE, &compressed, payload, size) != Z_OK) {
		error_set(NB_FAIL, "zlib cannot compress a histogram");
		goto free_all;
	}
	put_big_endian(binary, COOKIE_COMPRESSED, 4);
	put_big_endian(binary + 4, compressed, 4);
	base64_encode(text, binary, OUTER_SIZE + compressed);
	char *exact = realloc(text, base64_size(OUTER_SIZE + compressed) + 1);
	*out = exact != NULL ? exact : text;
	text = NULL;
	rc = NB_OK;
free_all:
	free(text);
	free(binary);
	free(payload);
	return rc;
}

/* ---- decode ---- */

static int
bad(const char *what)
{
	return error_set(NB_ERR_DATA, "not a histogram: %s", what);
}

static int
check_header(const unsigned char *header, size_t payload_size)
{
	if (get_big_endian(header, 4) != COOKIE)
		return bad("the inner cookie is not that of V2");
	if (get_big_endian(header + 4, 4) != payload_size)
		return bad("the counts are not as long as announced");
	if (get_big_endian(header + 8, 4) != 0)
		return bad("it has shifted buckets");
	if (get_big_endian(header + 12, 4) != DIGITS)
		return bad("it has not 3 significant digits");
	if (get_big_endian(header + 16, 8) != 1)
		return bad("its lowest value is not 1");
	if (get_big_endian(header + 32, 8) != RATIO_ONE)
		return bad("its values are scaled");
	return NB_OK;
}

/* Count `count` values of a bucket, which may be beyond our last one. */
static void
add_bucket(struct nb_histogram *histogram, size_t index, uint64_t count)
{
	uint64_t low = histogram_low(index), high = histogram_high(index);
	size_t hour = histogram_index(HISTOGRAM_HOUR);
	histogram->counts[index < hour ? index : hour] += count;
	histogram->sum += (uint128)count * (low + (high - low) / 2);
	if (low < histogram->min)
		histogram->min = low;
	if (high > histogram->max)
		histogram->max = high;
}

static int
decode_counts(struct nb_histogram *histogram, const unsigned char *from, size_t size)
{
	size_t index = 0;
	uint64_t total = nb_histogram_count(histogram);
	while (size > 0) {
		uint64_t zigzag;
		size_t used = get_leb128(from, size, &zigzag);
		if (used == 0)
			return bad("it ends within a count");
		from += used;
		size -= used;
		uint64_t magnitude = (zigzag >> 1) + (zigzag & 1);
		uint64_t buckets = (zigzag & 1) != 0 ? magnitude : 1;
		if (buckets > OTHERS_BUCKETS - index)
			return bad("it has too many buckets");
		if ((zigzag & 1) == 0 && magnitude > 0) {
			total += magnitude; /* both are below 2^63 */
			if (total >= HISTOGRAM_MARK)
				return bad("it counts 2^63 values or more");
			add_bucket(histogram, index, magnitude);
		}
		index += buckets;
	}
	return NB_OK;
}

/* Decompress the text and check the header. *payload_size excludes the header. */
static int
inflate_binary(unsigned char *inflated, size_t room, size_t *payload_size,
	const unsigned char *binary, size_t size)
{
	*payload_size = 0;
	if (size < OUTER_SIZE || get_big_endian(binary, 4) != COOKIE_COMPRESSED)
		return bad("the cookie is not that of V2, compressed");
	if (get_big_endian(binary + 4, 4) != size - OUTER_SIZE)
		return bad("it is not as long as announced");
	uLong used = size - OUTER_SIZE;
	uLongf inflated_size = room;
	int rc = uncompress2(inflated, &inflated_size, binary + OUTER_SIZE, &used);
	if (rc == Z_MEM_ERROR)
		return error_set(NB_FAIL, "zlib has no memory to decode a histogram");
	if (rc != Z_OK || used != size - OUTER_SIZE)
		return bad("zlib cannot read it");
	if (inflated_size < HEADER_SIZE)
		return bad("it ends within its header");
	*payload_size = inflated_size - HEADER_SIZE;
	return check_header(inflated, *payload_size);
}

/* The caller owns both buffers; `binary` has room for `length` bytes. */
static int
decode_within(struct nb_histogram *into, const char *text, size_t length, unsigned char *binary,
	unsigned char *inflated, size_t inflated_room)
{
	long size = base64_decode(binary, text, length);
	if (size < 0)
		return bad("it is not base64");
	size_t payload_size;
	int rc = inflate_binary(inflated, inflated_room, &payload_size, binary, (size_t)size);
	return rc == NB_OK ? decode_counts(into, inflated + HEADER_SIZE, payload_size) : rc;
}

int
histogram_add_text(struct nb_histogram *histogram, const char *text)
{
	size_t length = strnlen(text, TEXT_MAX + 1);
	if (length > TEXT_MAX)
		return bad("it is too long");
	size_t room = length * DEFLATE_RATIO_MAX + 1;
	if (room > INFLATED_MAX)
		room = INFLATED_MAX;
	unsigned char *binary = malloc(length + 1);
	unsigned char *inflated = malloc(room);
	int rc;
	if (binary == NULL || inflated == NULL)
		rc = error_system("memory to decode a histogram");
	else
		rc = decode_within(histogram, text, length, binary, inflated, room);
	free(inflated);
	free(binary);
	return rc;
}

int
nb_histogram_decode(struct nb_histogram **out, const char *text)
{
	struct nb_histogram *histogram;
	int rc = nb_histogram_new(&histogram);
	if (rc != NB_OK)
		return rc;
	rc = histogram_add_text(histogram, text);
	if (rc == NB_OK)
		*out = histogram;
	else
		nb_histogram_delete(histogram);
	return rc;
}
