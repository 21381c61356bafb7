/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any bytes as a histogram in HdrHistogram's format. Bits 0-1 of the first byte
 * select the layer of the format that the bytes replace, so that the inner layers are reached:
 *
 *     0, 3  the text
 *     1     the content of base64 and zlib
 *     2     the counts
 *
 * An accepted histogram is written and read again. Each bucket must be the same.
 *
 *     tests/fuzz/fuzz_histogram -max_len=4096 NEW_CORPUS .../tests/fuzz/corpus/histogram
 */
#include <zlib.h>

#include "base/histogram.h"
#include "fuzz.h"

enum { HEADER = 40, OUTER = 8, COMPRESSED_MAX = 1 << 16, TEXT = COMPRESSED_MAX / 3 * 4 + 8 };

static void
put(uint8_t *to, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
}

/** Write the header of `size` bytes of counts. The field at offset 4 is that size. */
static void
put_header(uint8_t header[HEADER], size_t size)
{
	static const double one = 1;
	uint64_t ratio;
	memcpy(&ratio, &one, sizeof(ratio));
	put(header, 0x1c849313, 4);
	put(header + 4, size, 4);
	put(header + 8, 0, 4);
	put(header + 12, 3, 4);
	put(header + 16, 1, 8);
	put(header + 24, HISTOGRAM_HOUR, 8);
	put(header + 32, ratio, 8);
}

static void
to_base64(char *to, const uint8_t *from, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < size; i += 3) {
		uint32_t bits = (uint32_t)from[i] << 16;
		bits |= i + 1 < size ? (uint32_t)from[i + 1] << 8 : 0;
		bits |= i + 2 < size ? from[i + 2] : 0;
		for (size_t j = 0; j < 4; j++)
			*to++ = i + j > size ? '=' : digits[bits >> (18 - 6 * j) & 63];
	}
	*to = '\0';
}

/** Encode the payload with zlib and base64. */
static char *
pack(const uint8_t *payload, size_t size)
{
	static uint8_t binary[OUTER + COMPRESSED_MAX];
	uLongf compressed = COMPRESSED_MAX;
	char *text = malloc(TEXT);
	require(text != NULL, "memory is available");
	require(compress2(binary + OUTER, &compressed, payload, size, 1) == Z_OK,
		"the payload can be compressed");
	put(binary, 0x1c849314, 4);
	put(binary + 4, compressed, 4);
	to_base64(text, binary, OUTER + compressed);
	return text;
}

static char *
make_text(unsigned what, const uint8_t *data, size_t size)
{
	if (what == 0 || what == 3 || size + HEADER > COMPRESSED_MAX / 2)
		return text_of(data, size);
	if (what == 1)
		return pack(data, size);
	uint8_t *payload = malloc(HEADER + size);
	require(payload != NULL, "memory is available");
	put_header(payload, size);
	memcpy(payload + HEADER, data, size);
	char *text = pack(payload, HEADER + size);
	free(payload);
	return text;
}

/**
 * Check one pair of percentiles and one pair of bounds, selected by `which`. Each call visits
 * all buckets, so the target does not check all pairs.
 */
static void
check_figures(const struct nb_histogram *histogram, size_t which)
{
	enum { STEPS = 4, BOUNDS = HISTOGRAM_BOUNDS - 1 };
	uint64_t count = nb_histogram_count(histogram);
	double percent = 100.0 * (double)(which % STEPS) / STEPS;
	uint64_t low = nb_histogram_percentile(histogram, percent);
	uint64_t high = nb_histogram_percentile(histogram, percent + 100.0 / STEPS);
	require(low <= high && high <= nb_histogram_max(histogram), "percentiles ascend");
	uint64_t below = nb_histogram_count_below(histogram, which % BOUNDS);
	uint64_t more = nb_histogram_count_below(histogram, which % BOUNDS + 1);
	require(below <= more && more <= count, "counts below a value ascend to the count");
	require(nb_histogram_mean(histogram) >= 0, "the mean is not negative");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nb_histogram *histogram, *again;
	char *text, *second;
	if (size == 0)
		return 0;
	text = make_text(data[0] & 3, data + 1, size - 1);
	int rc = nb_histogram_decode(&histogram, text);
	free(text);
	if (rc != NB_OK) {
		require(rc == NB_ERR_DATA && nb_error_text()[0] != '\0',
			"the error has a reason");
		return 0;
	}
	check_figures(histogram, size);
	require(nb_histogram_encode(histogram, &text) == NB_OK, "the histogram can be written");
	require(nb_histogram_decode(&again, text) == NB_OK,
		"the written histogram can be read");
	require(memcmp(histogram->counts, again->counts, sizeof(again->counts)) == 0,
		"the counts are equal");
	require(nb_histogram_encode(again, &second) == NB_OK, "the copy can be written");
	require(strcmp(text, second) == 0, "both texts are equal");
	nb_histogram_merge(again, histogram);
	check_figures(again, size / 2);
	nb_histogram_delete(histogram);
	nb_histogram_delete(again);
	free(text);
	free(second);
	return 0;
}
