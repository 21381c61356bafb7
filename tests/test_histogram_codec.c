/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encoded histograms. fuzz/fuzz_histogram.c tests damaged texts. hdrhistogram 0.10.8, or
 * Python's zlib, struct and base64, wrote the texts marked PyPI.
 */
#include "base/histogram.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/rng.h"
#include "unit.h"

static struct nb_histogram *
new_histogram(void)
{
	struct nb_histogram *histogram;
	ck_assert_int_eq(nb_histogram_new(&histogram), NB_OK);
	return histogram;
}

static struct nb_histogram *
decoded(const char *text)
{
	struct nb_histogram *histogram;
	int rc = nb_histogram_decode(&histogram, text);
	ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
	return histogram;
}

static void
assert_refused(const char *text, const char *why)
{
	struct nb_histogram *untouched = NULL;
	ck_assert_int_eq(nb_histogram_decode(&untouched, text), NB_ERR_DATA);
	ck_assert_ptr_null(untouched);
	ck_assert_pstr_eq(nb_error_text(), why);
}

/* ---- texts made here, with one defect each ---- */

struct parts {
	uint32_t outer_cookie, outer_extra, cookie, length_extra, offset, digits;
	uint64_t lowest, ratio_bits;
	const unsigned char *counts;
	size_t size;
};

static const struct parts right_parts = {
	.outer_cookie = 0x1c849314,
	.cookie = 0x1c849313,
	.digits = 3,
	.lowest = 1,
	.ratio_bits = UINT64_C(0x3ff0000000000000),
	.counts = (const unsigned char *)"\x02",
	.size = 1,
};

static unsigned char *
put(unsigned char *to, uint64_t value, int size)
{
	for (int i = size - 1; i >= 0; i--)
		*to++ = (unsigned char)(value >> (8 * i));
	return to;
}

static char *
base64(const unsigned char *from, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc(size / 3 * 4 + 5), *to = text;
	for (size_t bit = 0; bit < 8 * size; bit += 6) {
		unsigned two = (unsigned)from[bit / 8] << 8;
		two |= bit / 8 + 1 < size ? from[bit / 8 + 1] : 0;
		*to++ = digits[two >> (10 - bit % 8) & 63];
	}
	while ((to - text) % 4 != 0)
		*to++ = '=';
	*to = '\0';
	return text;
}

static char *
pack(const struct parts *parts)
{
	unsigned char *payload = malloc(40 + parts->size), *to = payload;
	to = put(to, parts->cookie, 4);
	to = put(to, parts->size + parts->length_extra, 4);
	to = put(to, parts->offset, 4);
	to = put(to, parts->digits, 4);
	to = put(to, parts->lowest, 8);
	to = put(to, UINT64_C(3600000000000), 8);
	to = put(to, parts->ratio_bits, 8);
	if (parts->size > 0)
		memcpy(to, parts->counts, parts->size);
	uLongf size = compressBound(40 + parts->size);
	unsigned char *binary = malloc(8 + size);
	ck_assert_int_eq(compress2(binary + 8, &size, payload, 40 + parts->size, 1), Z_OK);
	put(put(binary, parts->outer_cookie, 4), size + parts->outer_extra, 4);
	char *text = base64(binary, 8 + size);
	free(binary);
	free(payload);
	return text;
}

static void
assert_parts_refused(struct parts parts, const char *why)
{
	char *text = pack(&parts);
	assert_refused(text, why);
	free(text);
}

static struct parts
with_counts(const void *counts, size_t size)
{
	struct parts parts = right_parts;
	parts.counts = counts;
	parts.size = size;
	return parts;
}

/* ---- texts of our own encoder and of others ---- */

static void
assert_round_trip(const struct nb_histogram *histogram)
{
	char *text, *again;
	ck_assert_int_eq(nb_histogram_encode(histogram, &text), NB_OK);
	struct nb_histogram *copy = decoded(text);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		ck_assert_uint_eq(histogram_at(copy, i), histogram_at(histogram, i));
	ck_assert_int_eq(nb_histogram_encode(copy, &again), NB_OK);
	ck_assert_str_eq(text, again);
	free(text);
	free(again);
	nb_histogram_delete(copy);
}

TEST(decoding_an_encoded_histogram_keeps_the_counts)
{
	struct nb_histogram *histogram = new_histogram();
	assert_round_trip(histogram);
	struct rng rng;
	rng_create(&rng, 6);
	for (int count = 0; count < 2000; count++) {
		nb_histogram_add(
			histogram, rng_below(&rng, UINT64_C(1) << rng_below(&rng, 42)));
		if (count % 100 == 0)
			assert_round_trip(histogram);
	}
	/* counts of every length, up to 9 bytes */
	for (unsigned bits = 0; bits < 62; bits++)
		histogram->counts[1000 + bits % 7 + bits] |= UINT64_C(1) << bits;
	assert_round_trip(histogram);
	nb_histogram_delete(histogram);
}

TEST(decoded_histogram_is_as_exact_as_its_buckets)
{
	struct nb_histogram *histogram = new_histogram();
	nb_histogram_add(histogram, 24999);  /* 24992..25007 */
	nb_histogram_add(histogram, 100001); /* 99968..100031 */
	char *text;
	ck_assert_int_eq(nb_histogram_encode(histogram, &text), NB_OK);
	struct nb_histogram *copy = decoded(text);
	ck_assert_uint_eq(nb_histogram_min(copy), 24992);
	ck_assert_uint_eq(nb_histogram_max(copy), 100031);
	ck_assert_double_eq_tol(nb_histogram_mean(copy), 62500, 62500.0 / 1024);
	ck_assert_uint_eq(nb_histogram_percentile(copy, 50), 25007);
	for (size_t i = 0; nb_histogram_bound(i) != UINT64_MAX; i++)
		if (nb_histogram_bound(i) == 25000)
			ck_assert_uint_eq(nb_histogram_count_below(copy, i), 0);
	nb_histogram_delete(copy);
	nb_histogram_delete(histogram);
	free(text);
}

TEST(histogram_of_another_writer_is_read)
{
	/* PyPI: 0 twice, 2, 3 300 times, 25000 7 times, 10^6, 10^9, an hour twice */
	struct nb_histogram *histogram = decoded(
		"HISTFAAAADR4nJNpmSzMwMAAwiDADKUZgUw3gx0LGOw/QARYGJlusKyO4OsOY1o4n5Fp/R5GFgDYKgno");
	ck_assert_uint_eq(nb_histogram_count(histogram), 314);
	ck_assert_uint_eq(histogram_at(histogram, 0), 2);
	ck_assert_uint_eq(histogram_at(histogram, 1), 0);
	ck_assert_uint_eq(histogram_at(histogram, 2), 1);
	ck_assert_uint_eq(histogram_at(histogram, 3), 300);
	ck_assert_uint_eq(histogram_at(histogram, 5658), 7);
	ck_assert_uint_eq(histogram_at(histogram, 11169), 1);
	ck_assert_uint_eq(histogram_at(histogram, 21363), 1);
	ck_assert_uint_eq(histogram_at(histogram, 33420), 2);
	ck_assert_uint_eq(nb_histogram_min(histogram), 0);
	ck_assert_uint_eq(nb_histogram_max(histogram), UINT64_C(3601330077695));
	nb_histogram_delete(histogram);
	/* PyPI: empty */
	histogram = decoded("HISTFAAAAB14nJNpmSzMgADMUJoRyHQz2LGAwf4DRAAATjkESw==");
	ck_assert_uint_eq(nb_histogram_count(histogram), 0);
	ck_assert_uint_eq(nb_histogram_min(histogram), 0);
	ck_assert_uint_eq(nb_histogram_max(histogram), 0);
	nb_histogram_delete(histogram);
}

TEST(both_forms_of_one_empty_bucket_are_read)
{
	/* PyPI: counts 2 0 1, the empty bucket written as 0 and as -1 */
	static const char *const texts[] = {
		"HISTFAAAACN4nJNpmSzMwMDAzAABMJoRyHQz2LGAwf4DRICFgQkAW5QEVA==",
		"HISTFAAAACN4nJNpmSzMwMDAzAABMJoRyHQz2LGAwf4DRICFkQkAW5YEVQ==",
	};
	for (size_t i = 0; i < 2; i++) {
		struct nb_histogram *histogram = decoded(texts[i]);
		ck_assert_uint_eq(histogram_at(histogram, 0), 2);
		ck_assert_uint_eq(histogram_at(histogram, 1), 0);
		ck_assert_uint_eq(histogram_at(histogram, 2), 1);
		ck_assert_uint_eq(nb_histogram_count(histogram), 3);
		nb_histogram_delete(histogram);
	}
}

TEST(foreign_values_beyond_an_hour_count_as_an_hour)
{
	/* PyPI, HdrHistogram(1, 10^15, 3): 5 once, 9 * 10^14 three times */
	struct nb_histogram *histogram = decoded(
		"HISTFAAAACh4nJNpmSzMwMDAxgABzFCakYG5t27JsQYG+w8QAU6mvZ2sbACECQbU");
	ck_assert_uint_eq(nb_histogram_count(histogram), 4);
	ck_assert_uint_eq(histogram_at(histogram, 33420), 3);
	ck_assert_uint_eq(nb_histogram_max(histogram), UINT64_C(900500023148543));
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 99), UINT64_C(900500023148543));
	nb_histogram_delete(histogram);
}

/* ---- rejected texts ---- */

TEST(each_wrong_field_is_named)
{
	struct parts wrong = right_parts;
	const struct {
		uint32_t *field, value;
		const char *why;
	} cases[] = {
		{&wrong.outer_cookie, 0x1c849304, "the cookie is not that of V2, compressed"},
		{&wrong.outer_extra, 1, "it is not as long as announced"},
		{&wrong.cookie, 0x1c849303, "the inner cookie is not that of V2"},
		{&wrong.length_extra, 1, "the counts are not as long as announced"},
		{&wrong.offset, 1, "it has shifted buckets"},
		{&wrong.digits, 2, "it has not 3 significant digits"},
		{(uint32_t *)&wrong.lowest, 1000, "its lowest value is not 1"},
		{(uint32_t *)&wrong.ratio_bits, 1, "its values are scaled"},
	};
	char *text = pack(&right_parts);
	nb_histogram_delete(decoded(text)); /* without the defect, the text is valid */
	free(text);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		char why[80];
		wrong = right_parts;
		*cases[i].field = cases[i].value;
		snprintf(why, sizeof(why), "not a histogram: %s", cases[i].why);
		assert_parts_refused(wrong, why);
	}
	assert_parts_refused(
		with_counts("\x02\x82", 2), "not a histogram: it ends within a count");
}

TEST(counts_that_overflow_are_refused)
{
	/* zigzag of 2^62, twice: the sum is 2^63. Once is valid. */
	static const unsigned char huge[18] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0x80, /* */
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
	struct parts once = with_counts(huge, 9);
	char *text = pack(&once);
	struct nb_histogram *histogram = decoded(text);
	ck_assert_uint_eq(nb_histogram_count(histogram), UINT64_C(1) << 62);
	nb_histogram_delete(histogram);
	free(text);
	assert_parts_refused(
		with_counts(huge, 18), "not a histogram: it counts 2^63 values or more");
}

TEST(decoded_counts_are_added)
{
	static const unsigned char huge[9] = {
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
	struct parts parts = with_counts(huge, sizeof(huge));
	char *half = pack(&parts), *text;
	struct nb_histogram *histogram = new_histogram();
	nb_histogram_add(histogram, 100);
	nb_histogram_add(histogram, 3000);
	ck_assert_int_eq(nb_histogram_encode(histogram, &text), NB_OK);
	ck_assert_int_eq(histogram_add_text(histogram, text), NB_OK);
	ck_assert_uint_eq(nb_histogram_count(histogram), 4);
	ck_assert_uint_eq(histogram_at(histogram, 100), 2);
	ck_assert_int_eq(histogram_add_text(histogram, half), NB_OK);
	ck_assert_int_eq(histogram_add_text(histogram, half), NB_ERR_DATA);
	ck_assert_str_eq(nb_error_text(), "not a histogram: it counts 2^63 values or more");
	nb_histogram_delete(histogram);
	free(text);
	free(half);
}

TEST(a_text_takes_no_more_memory_than_it_has_characters)
{
	struct nb_histogram *histogram = new_histogram();
	char *text;
	for (uint64_t i = 0; i < 20000; i++)
		nb_histogram_add(histogram, i * i * 7919 % 1000003);
	ck_assert_int_eq(nb_histogram_encode(histogram, &text), NB_OK);
	ck_assert_uint_gt(strlen(text), 2000);
	ck_assert_uint_lt(malloc_usable_size(text), strlen(text) + 64);
	nb_histogram_delete(histogram);
	free(text);
}

TEST(sums_of_the_largest_counts_do_not_overflow)
{
	/* 2^62 in bucket 40960, whose values begin at 2^49 */
	static const unsigned char far[] = {0xff, 0xff, 0x04, /* -40960 */
		0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
	struct parts parts = with_counts(far, sizeof(far));
	char *text = pack(&parts);
	struct nb_histogram *histogram = decoded(text);
	ck_assert_uint_eq(nb_histogram_min(histogram), UINT64_C(1) << 49);
	ck_assert_uint_eq(nb_histogram_sum(histogram), UINT64_MAX);
	ck_assert_double_eq_tol(nb_histogram_mean(histogram), 0x1p49, 0x1p39);
	nb_histogram_delete(histogram);
	free(text);
}

TEST(too_many_buckets_are_refused)
{
	static const char why[] = "not a histogram: it has too many buckets";
	/* -2^63, and -(54 * 1024) followed by one more */
	assert_parts_refused(with_counts("\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9), why);
	assert_parts_refused(with_counts("\xff\xdf\x06\x02", 4), why);
	unsigned char *ones = malloc(100000);
	memset(ones, 2, 100000);
	assert_parts_refused(with_counts(ones, 100000), why);
	free(ones);
}

TEST(data_that_inflates_beyond_any_histogram_is_refused)
{
	enum { SIZE = 20 << 20 };
	unsigned char *zeros = calloc(1, SIZE);
	assert_parts_refused(with_counts(zeros, SIZE), "not a histogram: zlib cannot read it");
	free(zeros);
}

TEST(invalid_base64_is_refused)
{
	static const char why[] = "not a histogram: it is not base64";
	assert_refused("", why);
	assert_refused("a", why);
	assert_refused("=", why);
	assert_refused("====", why);
	assert_refused("HIS=FAAA", why);
	assert_refused("HISTFAAA\n", why);
	assert_refused("HIST\xff\x80\x01 ", why);
	assert_refused("HIST", "not a histogram: the cookie is not that of V2, compressed");
}

TEST(unterminated_text_is_refused)
{
	enum { SIZE = 10 << 20 };
	char *text = malloc(SIZE + 1);
	memset(text, 'A', SIZE);
	text[SIZE] = '\0';
	assert_refused(text, "not a histogram: it is too long");
	free(text);
}
