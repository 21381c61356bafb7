/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_REAL_H
#define BASE_REAL_H
/**
 * log, exp and similar functions with bit-identical results on every machine.
 *
 * Draws from random words belong to a stream that must be equal everywhere. A draw is truncated
 * to an integer, so a difference in the last bit changes about one draw in 10^10. The C
 * library's functions do differ there, between releases and between processors (with and
 * without fused multiply-add). The functions here use only + - * /, whose rounding IEEE 754
 * defines; the library is compiled with -ffp-contract=off for that. They are inline and overlap
 * in a loop; calls do not. The relative error of each is below 2^-50 (tests/test_real.c,
 * against mpmath).
 *
 * log: the series of the inverse hyperbolic tangent, log m = 2 artanh((m-1)/(m+1)) (Abramowitz
 * and Stegun 4.1.27), with m between sqrt(1/2) and sqrt(2). exp: the series of exp (4.2.1) with
 * an argument of at most log(2)/2. Rejected: minimax polynomials. They are shorter by a term or
 * two, but their coefficients cannot be checked by eye.
 */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* log 2. The high part has 32 bits, so its product with an exponent is exact. */
#define REAL_LN2_HIGH 0x1.62e42fep-1
#define REAL_LN2_LOW 0x1.f473de6af278fp-30

static inline uint64_t
real_bits(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline double
real_of_bits(uint64_t bits)
{
	double x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

/**
 * (2 artanh s) / s - 2 with z = s^2 up to 0.0295. The first omitted term is 2/21 z^10 < 2^-55.
 * Computed in pairs, to shorten the dependency chain.
 */
static inline double
real_artanh_rest(double z)
{
	double z2 = z * z, z4 = z2 * z2;
	double low = (2.0 / 3 + z * (2.0 / 5)) + z2 * (2.0 / 7 + z * (2.0 / 9));
	double high = (2.0 / 11 + z * (2.0 / 13)) + z2 * (2.0 / 15 + z * (2.0 / 17));
	return z * (low + z4 * (high + z4 * (2.0 / 19)));
}

/** log(1 + f) for f + 1 between sqrt(1/2) and sqrt(2). */
static inline double
real_log_near_1(double f)
{
	double s = f / (2 + f);
	return 2 * s + s * real_artanh_rest(s * s);
}

/** log(x 2^shift), x finite and at least DBL_MIN. Without a branch, so loops are vectorised. */
static inline double
real_log_normal(double x, double shift)
{
	uint64_t bits = real_bits(x);
	/* biased exponent; added to 2^52 below by setting the last bits */
	uint64_t biased = (bits - UINT64_C(0x3fe6a09e667f3bcd) + (UINT64_C(1023) << 52)) >> 52;
	double e = real_of_bits(biased | UINT64_C(0x433) << 52) - (0x1p52 + 1023) + shift;
	double m = real_of_bits(bits - ((biased - 1023) << 52)); /* at least sqrt(1/2) */
	return e * REAL_LN2_HIGH + (e * REAL_LN2_LOW + real_log_near_1(m - 1));
}

/** log x for finite x >= 0; -infinity for 0. */
static inline double
real_log(double x)
{
	if (__builtin_expect(x >= DBL_MIN, true))
		return real_log_normal(x, 0);
	return x == 0 ? -(double)INFINITY : real_log_normal(x * 0x1p64, -64);
}

/** log(1 + x), x > -1, without cancellation near 0. */
static inline double
real_log1p(double x)
{
	bool is_near = x > -0.29 && x < 0.41;
	return is_near ? real_log_near_1(x) : real_log(1 + x);
}

/** exp r - 1 - r for |r| <= log(2)/2. The first omitted term is r^14/14! < 2^-57. */
static inline double
real_exp_rest(double r)
{
	double r2 = r * r, r4 = r2 * r2;
	double a = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
	double b = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
	double c = (1.0 / 3628800 + r * (1.0 / 39916800)) +
		r2 * (1.0 / 479001600 + r * (1.0 / 6227020800));
	return r2 * (a + r4 * (b + r4 * c));
}

/** exp x for x from -708 to 709. Without a branch, like real_log_normal(). */
static inline double
real_exp_normal(double x)
{
	/* its addition leaves the nearest integer in the last bits */
	const double rounder = 0x1.8p52;
	double shifted = x * 0x1.71547652b82fep0 + rounder; /* 1 / log 2 */
	double k = shifted - rounder;
	double r = (x - k * REAL_LN2_HIGH) - k * REAL_LN2_LOW;
	double scale = real_of_bits((real_bits(shifted) + 1023) << 52);
	return scale * (1 + (r + real_exp_rest(r)));
}

/** exp x: 0 below -708, infinity above 709. */
static inline double
real_exp(double x)
{
	if (__builtin_expect(x >= -708 && x <= 709, true))
		return real_exp_normal(x);
	return x > 0 ? (double)INFINITY : x < 0 ? 0 : x;
}

/** exp(x) - 1 without cancellation near 0. */
static inline double
real_expm1(double x)
{
	bool is_near = x > -0.34 && x < 0.34;
	return is_near ? x + real_exp_rest(x) : real_exp(x) - 1;
}

/** x^y, x >= 0. The error grows with |y log x|, by some units of the last place per unit. */
static inline double
real_pow(double x, double y)
{
	return real_exp(y * real_log(x));
}

#endif /* BASE_REAL_H */
