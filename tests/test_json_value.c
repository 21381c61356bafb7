/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and texts are read as the very same as were written; what is none is told. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "report/json_value.h"
#include "unit.h"

static const struct json_place root = {.name = "results"};
static const struct json_place element = {.up = &root, .index = 2};
static const struct json_place member = {.up = &element, .name = "ops"};
static const struct json_reader reader = {.file = "a.json", .place = &member};

static void
assert_told(int rc, const char *text)
{
	ck_assert_int_eq(rc, NB_ERR_DATA);
	ck_assert_str_eq(nb_error_text(), text);
}

static uint64_t
again_u64(uint64_t value)
{
	json_t *json = json_from_u64(value);
	uint64_t out = 1;
	ck_assert_int_eq(json_to_u64(&reader, json, UINT64_MAX, &out), NB_OK);
	json_decref(json);
	return out;
}

TEST(a_whole_number_is_read_as_it_was)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t power = UINT64_C(1) << bit;
		ck_assert_uint_eq(again_u64(power - 1), power - 1);
		ck_assert_uint_eq(again_u64(power), power);
		ck_assert_uint_eq(again_u64(power + 1), power + 1);
	}
	ck_assert_uint_eq(again_u64(UINT64_MAX), UINT64_MAX);
}

TEST(a_number_that_is_no_int64_is_decimal_text)
{
	json_t *most = json_from_u64(INT64_MAX), *more = json_from_u64(UINT64_C(1) << 63);
	json_t *wide = json_from_u128((uint128)UINT64_MAX * UINT64_MAX);
	uint128 out;
	ck_assert(json_is_integer(most));
	ck_assert_str_eq(json_string_value(more), "9223372036854775808");
	/* (2^64 - 1)^2 by bc */
	ck_assert_str_eq(json_string_value(wide), "340282366920938463426481119284349108225");
	ck_assert_int_eq(json_to_u128(&reader, wide, &out), NB_OK);
	ck_assert(out == (uint128)UINT64_MAX * UINT64_MAX);
	json_decref(most);
	json_decref(more);
	json_decref(wide);
}

/** Of a value as it stands in a file. */
static int
read_u64(const char *text, uint64_t *out)
{
	json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
	ck_assert_ptr_nonnull(json);
	int rc = json_to_u64(&reader, json, UINT64_MAX, out);
	json_decref(json);
	return rc;
}

TEST(what_is_no_whole_number_is_told_with_its_place)
{
	static const char *const bad[] = {"-1", "1.5", "-0.5", "1e17", "1e300"};
	static const char *const none[] = {"true", "[]", "{}", "\"\"", "\"1x\"", "\"-1\"",
		"\" 1\"", "\"340282366920938463463374607431768211456\""};
	uint64_t out;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_told(read_u64(bad[i], &out),
			"a.json: results[2].ops: must be a whole number, and not below 0");
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_told(
			read_u64(none[i], &out), "a.json: results[2].ops: must be a number");
	assert_told(read_u64("\"18446744073709551616\"", &out),
		"a.json: results[2].ops: must be at most 18446744073709551615");
	ck_assert_int_eq(read_u64("5.0", &out), NB_OK);
	ck_assert_uint_eq(out, 5);
	ck_assert_int_eq(read_u64("null", &out), NB_OK);
	ck_assert_uint_eq(out, 0);
}

TEST(what_is_not_finite_is_null_and_read_as_0)
{
	static const double odd[] = {NAN, INFINITY, -INFINITY};
	for (size_t i = 0; i < 3; i++) {
		double out = 1;
		ck_assert(json_is_null(json_from_real(odd[i])));
		ck_assert_int_eq(json_to_real(&reader, json_null(), &out), NB_OK);
		ck_assert(out == 0);
	}
}

TEST(a_real_number_that_no_run_has_is_refused)
{
	double out;
	json_t *json = json_real(1.1e18), *text = json_string("1");
	assert_told(
		json_to_real(&reader, json, &out), "a.json: results[2].ops: is beyond 1e+18");
	assert_told(
		json_to_real(&reader, text, &out), "a.json: results[2].ops: must be a number");
	json_decref(json);
	json_decref(text);
}

TEST(a_digest_is_16_digits)
{
	uint64_t out;
	json_t *json = json_from_hash(0xabc), *longer = json_string("00000000000000abc");
	json_t *other = json_string("000000000000 abc");
	ck_assert_str_eq(json_string_value(json), "0000000000000abc");
	ck_assert_int_eq(json_to_hash(&reader, json, &out), NB_OK);
	ck_assert_uint_eq(out, 0xabc);
	ck_assert_int_eq(json_to_hash(&reader, longer, &out), NB_ERR_DATA);
	ck_assert_int_eq(json_to_hash(&reader, other, &out), NB_ERR_DATA);
	json_decref(json);
	json_decref(longer);
	json_decref(other);
}

static void
assert_same_text(const char *text)
{
	char *out;
	json_t *json = json_from_text(text);
	ck_assert_ptr_nonnull(json);
	ck_assert_int_eq(json_to_text(&reader, json, &out), NB_OK);
	ck_assert_str_eq(out, text);
	free(out);
	json_decref(json);
}

TEST(any_bytes_are_read_as_they_were)
{
	static const unsigned char starts[] = {'a', '"', '\n', 0x7f, 0x80, 0xbe, 0xbf, 0xc1,
		0xc3, 0xe0, 0xed, 0xee, 0xef, 0xf0, 0xf4, 0xf5, 0xff, 0x9f, 0xa0, 0x90};
	struct rng rng;
	rng_create(&rng, 1);
	for (int i = 0; i < 20000; i++) {
		char text[9];
		uint64_t random = rng_next(&rng);
		size_t length = random % sizeof(text);
		for (size_t at = 0; at < length; at++) {
			random = rng_next(&rng);
			text[at] = (char)(random & 1 ? starts[(random >> 8) % sizeof(starts)]
						     : 0x80 | (random >> 8 & 0x3f));
		}
		text[length] = '\0';
		assert_same_text(text);
	}
}

TEST(text_is_written_as_it_is)
{
	static const char text[] = "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \"\\";
	json_t *json = json_from_text(text);
	ck_assert_str_eq(json_string_value(json), text);
	json_decref(json);
	json = json_from_text("a\xff"); /* U+EFFF */
	ck_assert_str_eq(json_string_value(json), "a\xee\xbf\xbf");
	json_decref(json);
	ck_assert(json_is_null(json_from_text(NULL)));
}
