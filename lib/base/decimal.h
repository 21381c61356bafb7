/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H
/**
 * Decimal digits of a number, eight at a time in one word. One division per digit would cost
 * about 70 ns for a key of 19 digits.
 *
 * The halves of a word hold two numbers below 10^4. Each is split into two numbers below 10^2,
 * and each of those into two digits. Division by 100 is * 10486 >> 20, exact below 10^4; by 10,
 * * 103 >> 10, exact below 10^2 (tests/test_decimal.c tests all values).
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { DECIMAL_MAX = 20 /* digits of 2^64 - 1 */ };

/** The last 8 digits of n < 10^8. The lowest byte is the first digit. */
static inline uint64_t
decimal_8(uint32_t n)
{
	uint64_t fours = n / 10000 | (uint64_t)(n % 10000) << 32;
	uint64_t hundreds = fours * 10486 >> 20 & UINT64_C(0x7f0000007f);
	uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
	uint64_t tens = twos * 103 >> 10 & UINT64_C(0x000f000f000f000f);
	return (tens | (twos - tens * 10) << 8) + UINT64_C(0x3030303030303030);
}

/** Number of decimal digits, 1..DECIMAL_MAX. */
static inline uint32_t
decimal_digits(uint64_t n)
{
	static const uint64_t powers[DECIMAL_MAX] = {0, 10, 100, 1000, 10000, 100000, 1000000,
		10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
		10000000000000, 100000000000000, 1000000000000000, 10000000000000000,
		100000000000000000, 1000000000000000000, UINT64_C(10000000000000000000)};
	/* bits * log10(2), exact or one too small */
	uint32_t guess = (64 - (uint32_t)__builtin_clzll(n | 1)) * 1233 >> 12;
	return guess + (n >= powers[guess]);
}

/** Write the last `width` digits of n with leading zeros. Writes no other byte. */
static inline void
decimal_write(uint8_t *out, uint64_t n, uint32_t width)
{
	uint64_t upper = n / 100000000;
	uint64_t low = decimal_8((uint32_t)(n % 100000000));
	if (width > 2 * 8) {
		uint64_t middle = decimal_8((uint32_t)(upper % 100000000));
		uint64_t top = decimal_8((uint32_t)(upper / 100000000));
		size_t zeros = width > 3 * 8 ? width - 3 * 8 : 0;
		memset(out, '0', zeros);
		out += zeros;
		width -= (uint32_t)zeros;
		top >>= 8 * (3 * 8 - width);
		memcpy(out, &top, 8);
		memcpy(out + width - 16, &middle, 8);
		memcpy(out + width - 8, &low, 8);
	} else if (width > 8) {
		uint64_t middle = decimal_8((uint32_t)(upper % 100000000)) >> 8 * (16 - width);
		memcpy(out, &middle, 8);
		memcpy(out + width - 8, &low, 8);
	} else {
		low >>= 8 * (8 - width);
		memcpy(out, &low, width);
	}
}

#endif /* BASE_DECIMAL_H */
