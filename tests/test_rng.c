/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expected streams come from the authors' splitmix64.c and xoshiro256starstar.c
 * (prng.di.unimi.it), as published, with the seed 1234567 and the state 1 2 3 4. Critical
 * values of chi-square come from tables, p = 0.001.
 */
#include "base/rng.h"

#include "unit.h"

TEST(splitmix64_matches_the_publication)
{
	static const uint64_t expected[] = {
		UINT64_C(6457827717110365317),
		UINT64_C(3203168211198807973),
		UINT64_C(9817491932198370423),
		UINT64_C(4593380528125082431),
		UINT64_C(16408922859458223821),
	};
	uint64_t state = 1234567;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		ck_assert_uint_eq(splitmix64_next(&state), expected[i]);
}

/** Of any count, with the vector instructions that this machine has. */
TEST(many_numbers_equal_single_ones)
{
	uint64_t out[71], mixed[71];
	for (uint32_t count = 0; count <= 70; count++) {
		uint64_t state = UINT64_MAX - count, one = state;
		out[count] = mixed[count] = 42;
		splitmix64_fill(state, out, count);
		splitmix64_mix_all(out, 5, mixed, count);
		for (uint32_t j = 0; j < count; j++) {
			ck_assert_uint_eq(out[j], splitmix64_next(&one));
			ck_assert_uint_eq(mixed[j], splitmix64_mix(out[j] + 5));
		}
		ck_assert_uint_eq(out[count], 42);
		ck_assert_uint_eq(mixed[count], 42);
	}
}

TEST(xoshiro256_matches_the_publication)
{
	static const uint64_t expected[] = {
		UINT64_C(11520),
		UINT64_C(0),
		UINT64_C(1509978240),
		UINT64_C(1215971899390074240),
		UINT64_C(1216172134540287360),
		UINT64_C(607988272756665600),
		UINT64_C(16172922978634559625),
		UINT64_C(8476171486693032832),
		UINT64_C(10595114339597558777),
		UINT64_C(2904607092377533576),
	};
	struct rng rng = {{1, 2, 3, 4}};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		ck_assert_uint_eq(rng_next(&rng), expected[i]);
}

TEST(seeding_takes_its_state_from_splitmix64)
{
	struct rng rng;
	rng_create(&rng, 1234567);
	ck_assert_uint_eq(rng.s[0], UINT64_C(6457827717110365317));
	ck_assert_uint_eq(rng.s[3], UINT64_C(4593380528125082431));
}

enum { DRAWS = 100000 };

static double
chi_square(const uint64_t *observed, size_t classes)
{
	double expected = (double)DRAWS / (double)classes, sum = 0;
	for (size_t i = 0; i < classes; i++) {
		double difference = (double)observed[i] - expected;
		sum += difference * difference / expected;
	}
	return sum;
}

TEST(below_stays_below_and_meets_all_equally)
{
	struct rng rng;
	rng_create(&rng, 1);
	uint64_t observed[10] = {0};
	for (int i = 0; i < DRAWS; i++) {
		uint64_t value = rng_below(&rng, 10);
		ck_assert_uint_lt(value, 10);
		observed[value]++;
	}
	ck_assert_double_lt(chi_square(observed, 10), 27.88); /* 9 degrees of freedom */
}

TEST(below_lacks_the_bias_of_a_remainder_or_a_product)
{
	/*
	 * With 2^64 numbers modulo n, those below 2^62 come twice; with (x * n) >> 64, each
	 * third one.
	 */
	uint64_t n = UINT64_C(3) << 62;
	struct rng rng;
	rng_create(&rng, 2);
	uint64_t thirds[3] = {0}, remainders[3] = {0};
	for (int i = 0; i < DRAWS; i++) {
		uint64_t value = rng_below(&rng, n);
		ck_assert_uint_lt(value, n);
		thirds[value >> 62]++;
		remainders[value % 3]++;
	}
	ck_assert_double_lt(chi_square(thirds, 3), 13.82); /* 2 degrees of freedom */
	ck_assert_double_lt(chi_square(remainders, 3), 13.82);
}

TEST(below_one_is_zero)
{
	struct rng rng;
	rng_create(&rng, 0);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(rng_below(&rng, 1), 0);
}
