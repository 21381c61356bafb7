/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/units.h"

#include <locale.h>
#include <string.h>

#include <mininb/mininb.h>

#include "unit.h"

struct good {
	const char *text;
	uint64_t value;
};

struct bad {
	const char *text, *why;
};

typedef int (*parse_fn)(uint64_t *out, const char *text);

static void
assert_good(parse_fn parse, const struct good *table, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = 1234567;
		ck_assert_msg(parse(&value, table[i].text) == NB_OK, "%s", nb_error_text());
		ck_assert_msg(value == table[i].value, "%s is not %ju", table[i].text,
			(uintmax_t)value);
	}
}

static void
assert_bad(parse_fn parse, const struct bad *table, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t untouched = 1234567;
		ck_assert_msg(parse(&untouched, table[i].text) == NB_ERR_USAGE, "'%s' is read",
			table[i].text);
		ck_assert_str_eq(nb_error_text(), table[i].why);
		ck_assert_uint_eq(untouched, 1234567);
	}
}

static const struct good good_counts[] = {
	{"0", 0},
	{"1", 1},
	{"007", 7},
	{"100000", 100000},
	{"10k", 10000},
	{"10K", 10000},
	{"2.5M", 2500000},
	{".5k", 500},
	{"3G", UINT64_C(3000000000)},
	{"1T", UINT64_C(1000000000000)},
	{"4Ki", 4096},
	{"1.5Ki", 1536},
	{"1Mi", 1048576},
	{"1Gi", 1073741824},
	{"1Ti", UINT64_C(1099511627776)},
	{"1e6", 1000000},
	{"1E6", 1000000},
	{"1e+6", 1000000},
	{"1.5e3", 1500},
	{"15e-1k", 1500},
	{"1e3k", 1000000},
	{"5000e-3", 5},
	{"1.000", 1},
	{"1.00000000000000000000000000000000000000000", 1},
	{"0e99999999999999999999", 0},
	{"0.0e-5", 0},
	{"9007199254740993", UINT64_C(9007199254740993)}, /* 2^53 + 1 */
	{"18446744073709551615", UINT64_MAX},
	{"1844674407370955161.5e1", UINT64_MAX},
	{"000000000000000000000000000000000000000000000012", 12},
};

static const struct bad bad_counts[] = {
	{"", "'' is empty"},
	{"-1", "'-1' is negative"},
	{"-0.5k", "'-0.5k' is negative"},
	{"12x", "'12x': 'x' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
	{"12 ", "'12 ': ' ' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
	{"12m", "'12m': 'm' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
	{"12kk", "'12kk': 'kk' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
	{"12ki", "'12ki': 'ki' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
	{"12B", "'12B': 'B' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
	{"1e", "'1e': 'e' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
	{"1e+", "'1e+': 'e+' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
	{"0x10", "'0x10': 'x10' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
	{"1.", "'1.': '.' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
	{"1,5", "'1,5': ',5' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
	{"1.2.3", "'1.2.3': '.3' is not a suffix; allowed: k M G T Ki Mi Gi Ti"},
	{"1.5", "'1.5' is not a whole number"},
	{"1e-1", "'1e-1' is not a whole number"},
	{"0.1Ki", "'0.1Ki' is not a whole number"},
	{"0.0001k", "'0.0001k' is not a whole number"},
	{"1.0000000000000000000000000000001",
		"'1.0000000000000000000000000000001' is not a whole number"},
	{"1e-99999", "'1e-99999' is not a whole number"},
	{"18446744073709551616", "'18446744073709551616' is too large"},
	{"99999999999999999999", "'99999999999999999999' is too large"},
	{"1e20", "'1e20' is too large"},
	{"1e99999999999999999999", "'1e99999999999999999999' is too large"},
	{"18446744073709551615k", "'18446744073709551615k' is too large"},
	{"100000000T", "'100000000T' is too large"},
	{"16777216Ti", "'16777216Ti' is too large"}, /* 2^64 */
	{" 10", "' 10' begins with a blank"},
	{"\t10", "'\t10' begins with a blank"},
	{" ", "' ' begins with a blank"},
	{"+5", "'+5' is not a number"},
	{"-", "'-' is not a number"},
	{"--5", "'--5' is not a number"},
	{".", "'.' is not a number"},
	{"k", "'k' is not a number"},
	{"e6", "'e6' is not a number"},
	{"nan", "'nan' is not a number"},
	{"inf", "'inf' is not a number"},
	{"-inf", "'-inf' is not a number"},
	{"ten", "'ten' is not a number"},
};

TEST(counts_are_read_exactly_or_refused_with_their_reason)
{
	assert_good(nb_parse_count, good_counts, UNIT_COUNT(good_counts));
	assert_bad(nb_parse_count, bad_counts, UNIT_COUNT(bad_counts));
}

TEST(a_long_text_does_not_hide_the_reason)
{
	char text[5000];
	memset(text, '9', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	uint64_t value;
	ck_assert_int_eq(nb_parse_count(&value, text), NB_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "999...' is too large"));
	ck_assert_uint_lt(strlen(nb_error_text()), 100);
}

TEST(bytes_are_counts_with_or_without_b)
{
	static const struct good good[] = {
		{"100", 100},
		{"100B", 100},
		{"4KiB", 4096},
		{"4Ki", 4096},
		{"64MB", 64000000},
		{"64M", 64000000},
		{"1.5GiB", UINT64_C(1610612736)},
		{"0.5KiB", 512},
		{"1e3B", 1000},
	};
	assert_good(nb_parse_bytes, good, UNIT_COUNT(good));
	assert_good(nb_parse_bytes, good_counts, UNIT_COUNT(good_counts));
	static const struct bad bad[] = {
		{"", "'' is empty"},
		{"B", "'B' is not a number"},
		{"-4KiB", "'-4KiB' is negative"},
		{"1BB", "'1BB': 'BB' is not a suffix; allowed: k M G T Ki Mi Gi Ti, alone or with B"},
		{"1b", "'1b': 'b' is not a suffix; allowed: k M G T Ki Mi Gi Ti, alone or with B"},
		{"0.1KiB", "'0.1KiB' is not a whole number of bytes"},
		{"16777216TiB", "'16777216TiB' is too large"},
	};
	assert_bad(nb_parse_bytes, bad, UNIT_COUNT(bad));
}

TEST(times_are_read_into_ns)
{
	static const struct good good[] = {
		{"0s", 0},
		{"30ns", 30},
		{"100us", 100000},
		{"250ms", 250000000},
		{"10s", UINT64_C(10000000000)},
		{"5m", UINT64_C(300000000000)},
		{"1.5h", UINT64_C(5400000000000)},
		{"0.25us", 250},
		{"1e3ns", 1000},
		{"18446744073709551615ns", UINT64_MAX},
	};
	assert_good(nb_parse_time, good, UNIT_COUNT(good));
	static const struct bad bad[] = {
		{"", "'' is empty"},
		{"10", "'10' has no unit; allowed: ns us ms s m h"},
		{"0", "'0' has no unit; allowed: ns us ms s m h"},
		{"10sec", "'10sec': 'sec' is not a unit; allowed: ns us ms s m h"},
		{"10S", "'10S': 'S' is not a unit; allowed: ns us ms s m h"},
		{"1 s", "'1 s': ' s' is not a unit; allowed: ns us ms s m h"},
		{"1m30s", "'1m30s': 'm30s' is not a unit; allowed: ns us ms s m h"},
		{"s", "'s' is not a number"},
		{"-1s", "'-1s' is negative"},
		{"0.5ns", "'0.5ns' is not a whole number of ns"},
		{"6000000h", "'6000000h' is too large"},
	};
	assert_bad(nb_parse_time, bad, UNIT_COUNT(bad));
}

/* date -u -d 2026-09-21T14:13:20Z +%s prints 1790000000. */
TEST(moments_are_read_into_ns_since_the_epoch)
{
	static const struct good good[] = {
		{"1790000000", UINT64_C(1790000000000000000)},
		{"2026-09-21T14:13:20Z", UINT64_C(1790000000000000000)},
		{"1790000000.000000001", UINT64_C(1790000000000000001)},
		{"1790000000.5", UINT64_C(1790000000500000000)},
		{"0.25", UINT64_C(250000000)},
	};
	assert_good(nb_parse_moment, good, UNIT_COUNT(good));
	static const char *const wrong[] = {"", "soon", "-1", "17900000000", "1.0000000001",
		"1x", "2026-09-21", "2026-09-21T14:13:20", "2026-09-21T14:13:20Zx", "+1min"};
	for (size_t i = 0; i < UNIT_COUNT(wrong); i++) {
		uint64_t ns = 0;
		ck_assert_msg(nb_parse_moment(&ns, wrong[i]) == NB_ERR_USAGE, "%s", wrong[i]);
	}
}

TEST(reals_are_read_to_the_nearest)
{
	static const struct {
		const char *text;
		double value;
	} good[] = {
		{"0", 0},
		{"0.5", 0.5},
		{".5", 0.5},
		{"-1.25", -1.25},
		{"1e-3", 0.001},
		{"0.1", 0.1},
		{"1.7976931348623157e308", 0x1.fffffffffffffp1023},
		{"2.2250738585072014e-308", 0x1p-1022},
		{"1e-9999", 0},
	};
	for (size_t i = 0; i < UNIT_COUNT(good); i++) {
		double value = 7;
		ck_assert_msg(
			nb_parse_real(&value, good[i].text) == NB_OK, "%s", nb_error_text());
		ck_assert_msg(value == good[i].value, "%s is not %g", good[i].text, value);
	}
}

TEST(wrong_reals_are_refused_with_their_reason)
{
	static const struct bad bad[] = {
		{"", "'' is empty"},
		{" 1", "' 1' begins with a blank"},
		{"nan", "'nan' is not a number"},
		{"-inf", "'-inf' is not a number"},
		{"infinity", "'infinity' is not a number"},
		{"1x", "'1x': 'x' is not part of a number"},
		{"1k", "'1k': 'k' is not part of a number"},
		{"1 ", "'1 ': ' ' is not part of a number"},
		{"0x1p3", "'0x1p3': 'x1p3' is not part of a number"},
		{"0,5", "'0,5': ',5' is not part of a number"},
		{"1e", "'1e': 'e' is not part of a number"},
		{"1e999", "'1e999' is too large"},
		{"-1e999", "'-1e999' is too large"},
	};
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		double untouched = 7;
		ck_assert_int_eq(nb_parse_real(&untouched, bad[i].text), NB_ERR_USAGE);
		ck_assert_str_eq(nb_error_text(), bad[i].why);
		ck_assert_double_eq(untouched, 7);
	}
}

typedef void (*format_fn)(char *buf, size_t size, double value);

static void
assert_format(format_fn format, double value, const char *expected)
{
	char buf[UNITS_SIZE];
	format(buf, sizeof(buf), value);
	ck_assert_str_eq(buf, expected);
}

TEST(three_digits_are_written_in_the_nearest_unit)
{
	static const struct {
		format_fn format;
		double value;
		const char *text;
	} table[] = {
		{units_format_count, 0, "0"},
		{units_format_count, -5, "0"},
		{units_format_count, 0.5, "0.5"},
		{units_format_count, 1, "1"},
		{units_format_count, 12.5, "12.5"},
		{units_format_count, 999, "999"},
		{units_format_count, 999.4, "999"},
		{units_format_count, 999.6, "1k"},
		{units_format_count, 1000, "1k"},
		{units_format_count, 1234, "1.23k"},
		{units_format_count, 9996, "10k"},
		{units_format_count, 66127, "66.1k"},
		{units_format_count, 999499, "999k"},
		{units_format_count, 999500, "1M"},
		{units_format_count, 1500000, "1.5M"},
		{units_format_count, 2.05e6, "2.05M"},
		{units_format_count, 5e11, "500G"},
		{units_format_count, 1e12, "1T"},
		{units_format_count, 1.5e15, "1500T"},
		{units_format_bytes, 0, "0B"},
		{units_format_bytes, 100, "100B"},
		{units_format_bytes, 1023, "1023B"},
		{units_format_bytes, 1024, "1KiB"},
		{units_format_bytes, 1536, "1.5KiB"},
		{units_format_bytes, 1048575, "1MiB"},
		{units_format_bytes, 1048576, "1MiB"},
		{units_format_bytes, 65.0 * 1048576, "65MiB"},
		{units_format_bytes, 1610612736, "1.5GiB"},
		{units_format_bytes, 0x1p41, "2TiB"},
		{units_format_ns, 0, "0ns"},
		{units_format_ns, 22.3, "22.3ns"},
		{units_format_ns, 999, "999ns"},
		{units_format_ns, 1250, "1.25us"},
		{units_format_ns, 250e6, "250ms"},
		{units_format_ns, 10e9, "10s"},
		{units_format_ns, 59.4e9, "59.4s"},
		{units_format_ns, 59.97e9, "1m00s"},
		{units_format_ns, 125e9, "2m05s"},
		{units_format_ns, 3599.6e9, "1h00m"},
		{units_format_ns, 5400e9, "1h30m"},
		{units_format_ns, 1e15, "277h46m"},
	};
	for (size_t i = 0; i < UNIT_COUNT(table); i++)
		assert_format(table[i].format, table[i].value, table[i].text);
}

TEST(no_byte_is_written_beyond_the_buffer)
{
	static const double values[] = {0, 1.5e9, 1e300, -1e300, 1.0 / 3, 123456789012345.0};
	static const format_fn formats[] = {
		units_format_count, units_format_bytes, units_format_ns};
	for (size_t v = 0; v < UNIT_COUNT(values); v++)
		for (size_t f = 0; f < UNIT_COUNT(formats); f++) {
			char small[4] = "???", large[UNITS_SIZE + 1];
			formats[f](small, 3, values[v]);
			ck_assert_int_eq(small[3], '\0');
			ck_assert_uint_le(strlen(small), 2);
			formats[f](large, sizeof(large), values[v]);
			ck_assert_uint_lt(strlen(large), UNITS_SIZE);
		}
}

TEST(locale_has_no_effect)
{
	/* a locale with a decimal comma, if installed; LC_NUMERIC must have no effect */
	static const char *const comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
	for (size_t i = 0; i < UNIT_COUNT(comma); i++)
		if (setlocale(LC_ALL, comma[i]) != NULL)
			break;
	double real = 0;
	ck_assert_int_eq(nb_parse_real(&real, "0.5"), NB_OK);
	ck_assert_double_eq(real, 0.5);
	uint64_t count = 0;
	ck_assert_int_eq(nb_parse_count(&count, "1.5k"), NB_OK);
	ck_assert_uint_eq(count, 1500);
	assert_format(units_format_count, 1500, "1.5k");
}
