/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expected values come from mpmath with 40 digits, rounded to the nearest double. Python
 * computed the digest of bits with the same formulas: its floats are IEEE 754 doubles without
 * fused multiply-add.
 */
#include "base/real.h"

#include "base/rng.h"
#include "unit.h"

struct point {
	double x, y;
};

static const struct point log_points[] = {{0x0.0000000000001p-1022, -0x1.74385446d71c3p+9},
	{0x0.012688b70e62bp-1022, -0x1.64e69394d9508p+9},
	{0x1.0000000000000p-1022, -0x1.6232bdd7abcd2p+9},
	{0x1.bff2ee48e0530p-333, -0x1.cc845b54b54f2p+7},
	{0x1.12e0be826d695p-30, -0x1.4b927f32bffb8p+4},
	{0x1.0000000000000p-2, -0x1.62e42fefa39efp+0},
	{0x1.0000000000000p-1, -0x1.62e42fefa39efp-1},
	{0x1.6666666666666p-1, -0x1.6d3c324e13f50p-2},
	{0x1.6a09e667f3bccp-1, -0x1.62e42fefa39f1p-2},
	{0x1.6a09e667f3bcdp-1, -0x1.62e42fefa39eep-2},
	{0x1.8000000000000p-1, -0x1.269621134db92p-2},
	{0x1.ccccccccccccdp-1, -0x1.af8e8210a415cp-4},
	{0x1.fffffffffffffp-1, -0x1.0000000000000p-53},
	{0x1.0000000000001p+0, 0x1.fffffffffffffp-53},
	{0x1.00068db8bac71p+0, 0x1.a368d0657fcd4p-14},
	{0x1.3333333333333p+0, 0x1.7565011e49675p-3},
	{0x1.68f5c28f5c28fp+0, 0x1.5fd5fabe64084p-2},
	{0x1.6a09e667f3bcdp+0, 0x1.62e42fefa39f0p-2},
	{0x1.6a09e667f3bcep+0, 0x1.62e42fefa39f3p-2},
	{0x1.8000000000000p+0, 0x1.9f323ecbf984cp-2},
	{0x1.0000000000000p+1, 0x1.62e42fefa39efp-1},
	{0x1.5bf0a8b145769p+1, 0x1.0000000000000p+0},
	{0x1.8000000000000p+1, 0x1.193ea7aad030bp+0},
	{0x1.4000000000000p+3, 0x1.26bb1bbb55516p+1},
	{0x1.e848000000000p+19, 0x1.ba18a998fffa0p+3},
	{0x1.c6bf526340000p+49, 0x1.144f69ff9ffc4p+5},
	{0x1.7e43c8800759cp+996, 0x1.5963447f87fb5p+9},
	{0x1.fffffffffffffp+1023, 0x1.62e42fefa39efp+9}};

static const struct point exp_points[] = {{-0x1.6200000000000p+9, 0x1.7c8ab2288c9abp-1022},
	{-0x1.5e40000000000p+9, 0x1.4ff475c68ca02p-1011},
	{-0x1.9100000000000p+6, 0x1.4acd31e167ebbp-145},
	{-0x1.259999999999ap+5, 0x1.0998b04bdd190p-53},
	{-0x1.6000000000000p+2, 0x1.0bd4a5aca7728p-8},
	{-0x1.0000000000000p+0, 0x1.78b56362cef38p-2},
	{-0x1.62de00d1b7176p-1, 0x1.00031793be0b2p-1},
	{-0x1.62e33eff19503p-2, 0x1.6a0a3b975afaep-1},
	{-0x1.62d0e56041893p-2, 0x1.6a10b883d5676p-1},
	{-0x1.999999999999ap-4, 0x1.cf46d99d52b3ap-1},
	{-0x1.4f8b588e368f1p-17, 0x1.fffeb07515653p-1},
	{-0x1.79ca10c924223p-67, 0x1.0000000000000p+0}, {0x0.0p+0, 0x1.0000000000000p+0},
	{0x1.56e1fc2f8f359p-997, 0x1.0000000000000p+0},
	{0x1.b7cdfd9d7bdbbp-34, 0x1.000000006df38p+0},
	{0x1.47ae147ae147bp-7, 0x1.0292a5d2f2226p+0},
	{0x1.3333333333333p-2, 0x1.599058c8c1a96p+0},
	{0x1.62eb1c432ca58p-2, 0x1.6a0c5906bc779p+0},
	{0x1.62e5de15ca6cap-2, 0x1.6a0a7e7cb904cp+0},
	{0x1.0000000000000p-1, 0x1.a61298e1e069cp+0},
	{0x1.62e42fefa39efp-1, 0x1.0000000000000p+1},
	{0x1.0000000000000p+0, 0x1.5bf0a8b145769p+1},
	{0x1.4000000000000p+1, 0x1.85d6fd931e0bbp+3},
	{0x1.4000000000000p+3, 0x1.5829dcf950560p+14},
	{0x1.8f9999999999ap+6, 0x1.173722eefcfaap+144},
	{0x1.5e00000000000p+9, 0x1.d945df4f8ec8ep+1009},
	{0x1.6280000000000p+9, 0x1.d422d2be5dc9bp+1022}};

static const struct point log1p_points[] = {{-0x1.fffffffffffffp-1, -0x1.25e4f7b2737fap+5},
	{-0x1.ff7ced916872bp-1, -0x1.ba18a998fff9fp+2},
	{-0x1.0000000000000p-1, -0x1.62e42fefa39efp-1},
	{-0x1.290ff97247454p-2, -0x1.5edab42ecbbb7p-2},
	{-0x1.28f5c28f5c28fp-2, -0x1.5eb5c7907e4c8p-2},
	{-0x1.28db8bac710cbp-2, -0x1.5e90dc46fe624p-2},
	{-0x1.999999999999ap-4, -0x1.af8e8210a415ep-4},
	{-0x1.5798ee2308c3ap-27, -0x1.5798ee3fdb764p-27},
	{-0x1.56e1fc2f8f359p-997, -0x1.56e1fc2f8f359p-997},
	{0x1.56e1fc2f8f359p-997, 0x1.56e1fc2f8f359p-997},
	{0x1.70ef54646d497p-57, 0x1.70ef54646d497p-57},
	{0x1.4f8b588e368f1p-17, 0x1.4f8aea9ae7317p-17},
	{0x1.999999999999ap-4, 0x1.8663f793c46c7p-4},
	{0x1.a3bcd35a85879p-2, 0x1.5fc36314be4dcp-2},
	{0x1.a3d70a3d70a3dp-2, 0x1.5fd5fabe64085p-2},
	{0x1.a3f141205bc02p-2, 0x1.5fe892119fe75p-2},
	{0x1.ccccccccccccdp-1, 0x1.48a11293d785cp-1},
	{0x1.0000000000000p+0, 0x1.62e42fefa39efp-1},
	{0x1.4000000000000p+3, 0x1.32ee3b77f374cp+1},
	{0x1.2a05f20000000p+33, 0x1.7069e2aa3184ep+4}};

static const struct point expm1_points[] = {{-0x1.5e00000000000p+9, -0x1.0000000000000p+0},
	{-0x1.4000000000000p+5, -0x1.0000000000000p+0},
	{-0x1.0000000000000p+0, -0x1.43a54e4e98864p-1},
	{-0x1.5c432ca57a787p-2, -0x1.27385694d9896p-2},
	{-0x1.5c28f5c28f5c3p-2, -0x1.2725ae35e2895p-2},
	{-0x1.5c0ebedfa43fep-2, -0x1.2713055ca38bep-2},
	{-0x1.999999999999ap-4, -0x1.85c933156a62cp-4},
	{-0x1.12e0be826d695p-30, -0x1.12e0be801f1d9p-30},
	{-0x1.56e1fc2f8f359p-997, -0x1.56e1fc2f8f359p-997},
	{0x1.56e1fc2f8f359p-997, 0x1.56e1fc2f8f359p-997},
	{0x1.70ef54646d497p-57, 0x1.70ef54646d497p-57},
	{0x1.4f8b588e368f1p-17, 0x1.4f8bc681cdfb6p-17},
	{0x1.999999999999ap-4, 0x1.aec7b35a00d3ap-4},
	{0x1.5c0ebedfa43fep-2, 0x1.9e85c0cf5b620p-2},
	{0x1.5c28f5c28f5c3p-2, 0x1.9eaa94c8422f5p-2},
	{0x1.5c432ca57a787p-2, 0x1.9ecf69b2873c3p-2},
	{0x1.0000000000000p+0, 0x1.b7e151628aed3p+0},
	{0x1.4000000000000p+2, 0x1.26d389970338fp+7},
	{0x1.9000000000000p+6, 0x1.3494a9b171bf5p+144},
	{0x1.6280000000000p+9, 0x1.d422d2be5dc9bp+1022}};

static void
check_points(const struct point *points, size_t count, double (*f)(double))
{
	for (size_t i = 0; i < count; i++) {
		double y = points[i].y, error = fabs(f(points[i].x) - y);
		ck_assert_msg(error <= fabs(y) * 0x1p-50, "of %a: %a, not %a", points[i].x,
			f(points[i].x), y);
	}
}

#define CHECK(points, f) check_points(points, sizeof(points) / sizeof(points[0]), f)

TEST(log_is_exact_to_2_to_the_minus_50)
{
	CHECK(log_points, real_log);
	ck_assert(real_log(0) == -(double)INFINITY);
	ck_assert(real_log(1) == 0);
}

TEST(exp_is_exact_to_2_to_the_minus_50)
{
	CHECK(exp_points, real_exp);
	ck_assert(real_exp(0) == 1);
	ck_assert(real_exp(-1000) == 0);
	ck_assert(real_exp(-(double)INFINITY) == 0);
	ck_assert(real_exp(1000) == (double)INFINITY);
	ck_assert(real_exp((double)INFINITY) == (double)INFINITY);
	ck_assert(isnan(real_exp((double)NAN)));
}

TEST(log1p_and_expm1_are_exact_near_0)
{
	CHECK(log1p_points, real_log1p);
	CHECK(expm1_points, real_expm1);
	ck_assert(real_log1p(0) == 0 && real_expm1(0) == 0);
	ck_assert(real_expm1(-1000) == -1);
}

TEST(powers_equal_those_of_whole_numbers)
{
	for (int i = 1; i <= 20; i++) {
		double x = i;
		ck_assert_double_le(fabs(real_pow(x, 2) / (x * x) - 1), 0x1p-47);
		ck_assert_double_le(fabs(real_pow(x * x, 0.5) / x - 1), 0x1p-47);
		ck_assert_double_le(fabs(real_pow(x, -3) * (x * x * x) - 1), 0x1p-47);
	}
	ck_assert(real_pow(0, 2) == 0);
	ck_assert(real_pow(7, 0) == 1);
}

static void
take(uint64_t *digest, double x)
{
	*digest = splitmix64_mix(*digest ^ real_bits(x));
}

TEST(bits_follow_ieee_754)
{
	uint64_t digest = 0, random = 1;
	for (int i = 0; i < 10000; i++) {
		double u = (double)(splitmix64_next(&random) >> 11) * 0x1p-53;
		take(&digest, real_log(u));
		take(&digest, real_exp((u - 0.5) * 1000));
		take(&digest, real_log1p(u * 4 - 1));
		take(&digest, real_expm1(u * 4 - 2));
		take(&digest, real_pow(u, 0.01 + u));
	}
	ck_assert_uint_eq(digest, UINT64_C(0xd8975fc3481fce21));
}
