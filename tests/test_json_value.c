/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and texts are read exactly as written. Everything else is rejected with its place. */
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
static struct json_reader reader;

/** Reset the reader. */
static struct json_reader *
fresh(void)
{
	reader = (struct json_reader){.file = "a.json", .place = &member};
	return &reader;
}

/** The reader's error text, "" if it has not failed. Frees the value. */
static const char *
said(json_t *json)
{
	json_decref(json);
	ck_assert(reader.rc == NB_OK || reader.rc == NB_ERR_DATA);
	return reader.rc == NB_OK ? "" : nb_error_text();
}

static uint64_t
again_u64(uint64_t value)
{
	json_t *json = json_from_u64(value);
	uint64_t out = json_to_u64(fresh(), json, UINT64_MAX);
	ck_assert_str_eq(said(json), "");
	return out;
}

TEST(whole_number_is_read_back_unchanged)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t power = UINT64_C(1) << bit;
		ck_assert_uint_eq(again_u64(power - 1), power - 1);
		ck_assert_uint_eq(again_u64(power), power);
		ck_assert_uint_eq(again_u64(power + 1), power + 1);
	}
	ck_assert_uint_eq(again_u64(UINT64_MAX), UINT64_MAX);
}

TEST(number_beyond_int64_is_decimal_text)
{
	json_t *most = json_from_u64(INT64_MAX), *more = json_from_u64(UINT64_C(1) << 63);
	json_t *wide = json_from_u128((uint128)UINT64_MAX * UINT64_MAX);
	ck_assert(json_is_integer(most));
	ck_assert_str_eq(json_string_value(more), "9223372036854775808");
	/* (2^64 - 1)^2, computed by bc */
	ck_assert_str_eq(json_string_value(wide), "340282366920938463426481119284349108225");
	ck_assert(json_to_u128(fresh(), wide) == (uint128)UINT64_MAX * UINT64_MAX);
	ck_assert_str_eq(said(wide), "");
	json_decref(most);
	json_decref(more);
}

TEST(fraction_is_refused_as_a_whole_number_with_its_place)
{
	static const char whole[] =
		"a.json: results[2].ops: must be a whole number, and not below 0";
	static const char number[] = "a.json: results[2].ops: must be a number";
	static const struct {
		const char *text, *said;
		uint64_t value;
	} rows[] = {{"-1", whole, 0}, {"1.5", whole, 0}, {"-0.5", whole, 0}, {"1e17", whole, 0},
		{"1e300", whole, 0}, {"true", number, 0}, {"[]", number, 0}, {"{}", number, 0},
		{"\"\"", number, 0}, {"\"1x\"", number, 0}, {"\"-1\"", number, 0},
		{"\" 1\"", number, 0},
		{"\"340282366920938463463374607431768211456\"", number, 0},
		{"\"18446744073709551616\"",
			"a.json: results[2].ops: must be at most 18446744073709551615", 0},
		{"5.0", "", 5}, {"null", "", 0}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		json_t *json = json_loads(rows[i].text, JSON_DECODE_ANY, NULL);
		ck_assert_uint_eq(json_to_u64(fresh(), json, UINT64_MAX), rows[i].value);
		ck_assert_str_eq(said(json), rows[i].said);
	}
}

TEST(infinity_and_nan_are_null_and_read_as_0)
{
	static const double odd[] = {NAN, INFINITY, -INFINITY};
	for (size_t i = 0; i < 3; i++)
		ck_assert(json_is_null(json_from_real(odd[i])));
	ck_assert(json_to_real(fresh(), json_null()) == 0);
	ck_assert_str_eq(said(NULL), "");
}

TEST(impossible_real_number_is_refused)
{
	json_t *json = json_real(1.1e18), *text = json_string("1");
	ck_assert(json_to_real(fresh(), json) == 0);
	ck_assert_str_eq(said(json), "a.json: results[2].ops: is beyond 1e+18");
	ck_assert(json_to_real(fresh(), text) == 0);
	ck_assert_str_eq(said(text), "a.json: results[2].ops: must be a number");
}

TEST(first_failure_stops_reading_and_its_message_stays)
{
	json_t *wrong = json_string("x"), *right = json_integer(7), *text = json_string("y");
	json_to_bool(fresh(), wrong);
	ck_assert_uint_eq(json_to_u64(&reader, right, 9), 0);
	ck_assert(json_to_real(&reader, right) == 0);
	ck_assert_ptr_null(json_to_text(&reader, text));
	ck_assert_uint_eq(json_to_hash(&reader, right), 0);
	ck_assert_str_eq(said(wrong), "a.json: results[2].ops: must be true or false");
	json_decref(right);
	json_decref(text);
}

TEST(a_digest_is_16_digits)
{
	static const char *const bad[] = {"00000000000000abc", "000000000000 abc"};
	json_t *json = json_from_hash(0xabc);
	ck_assert_str_eq(json_string_value(json), "0000000000000abc");
	ck_assert_uint_eq(json_to_hash(fresh(), json), 0xabc);
	ck_assert_str_eq(said(json), "");
	for (size_t i = 0; i < 2; i++) {
		json = json_string(bad[i]);
		json_to_hash(fresh(), json);
		ck_assert_str_ne(said(json), "");
	}
}

static void
assert_same_text(const char *text)
{
	json_t *json = json_from_text(text);
	ck_assert_ptr_nonnull(json);
	char *out = json_to_text(fresh(), json);
	ck_assert_str_eq(out, text);
	free(out);
	json_decref(json);
}

TEST(any_bytes_are_read_back_unchanged)
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

TEST(text_is_written_unchanged)
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
