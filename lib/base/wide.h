/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_WIDE_H
#define BASE_WIDE_H
/**
 * Functions for processors that multiply 64-bit words in vectors of 256 bits without a lower
 * clock rate, which would slow down the engine: Ice Lake, Zen 4 and later. The results must be
 * bit-identical to those of other processors.
 *
 *     if (HAS_WIDE)
 *         function_wide(...);     declared WIDE
 */
#if defined(__x86_64__)
#ifdef __clang__ /* cannot limit the width of one function */
#define WIDE __attribute__((noinline, target("avx512f,avx512vl,avx512dq,avx512bw")))
#else
#define WIDE \
	__attribute__((noinline, \
		target("avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=256")))
#endif
#define HAS_WIDE (__builtin_cpu_supports("avx512vbmi2") != 0)
#else
#define WIDE __attribute__((noinline))
#define HAS_WIDE false
#endif

/** At least so many words are worth the call. */
enum { WIDE_LEAST = 8 };

#endif /* BASE_WIDE_H */
