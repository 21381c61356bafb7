/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CLOCK_H
#define CLI_CLOCK_H
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/** CLOCK_MONOTONIC. Signal handlers may call it. */
static inline uint64_t
clock_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** "850ns", "1.2ms", "12.3us": `digits` significant digits, but all digits before the point. */
void
clock_format_ns(char *text, size_t size, uint64_t ns, int digits);

/** "3:07", "1:02:03": minutes and seconds, and hours if there are any. */
void
clock_format_s(char *text, size_t size, uint64_t s);

#endif /* CLI_CLOCK_H */
