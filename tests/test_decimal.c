/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/decimal.h"

#include <inttypes.h>
#include <stdio.h>

#include "unit.h"

static void
check_width(uint64_t n, uint32_t width)
{
	char expected[64], got[64];
	memset(got, 'x', sizeof(got));
	int size = snprintf(expected, sizeof(expected), "%0*" PRIu64, (int)width, n);
	decimal_write((uint8_t *)got, n, width);
	ck_assert_msg(memcmp(got, expected + size - width, width) == 0,
		"%" PRIu64 " in %" PRIu32 " digits", n, width);
	for (size_t at = width; at < sizeof(got); at++)
		ck_assert_int_eq(got[at], 'x');
}

static void
check_number(uint64_t n)
{
	char expected[32];
	int digits = snprintf(expected, sizeof(expected), "%" PRIu64, n);
	ck_assert_uint_eq(decimal_digits(n), digits);
	for (uint32_t width = (uint32_t)digits; width <= 40; width++)
		check_width(n, width);
}

TEST(numbers_around_powers_match_printf)
{
	for (uint64_t power = 1; power != UINT64_C(10000000000000000000); power *= 10) {
		check_number(power - 1);
		check_number(power);
		check_number(power * 9 + 7);
	}
	for (uint32_t bit = 0; bit < 64; bit++) {
		check_number(UINT64_C(1) << bit);
		check_number((UINT64_C(1) << bit) - 1);
	}
	check_number(UINT64_C(10000000000000000000));
	check_number(UINT64_MAX);
}

TEST(a_narrow_width_leaves_out_the_first_digits)
{
	for (uint32_t width = 1; width <= 20; width++)
		check_width(UINT64_C(12345678901234567890), width);
}

TEST(all_halves_of_eight_digits_are_right)
{
	for (uint32_t half = 0; half < 10000; half++) {
		check_width(half, 8);
		check_width(half * UINT64_C(10000) + 9999, 8);
	}
}
