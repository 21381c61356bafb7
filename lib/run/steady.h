/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_STEADY_H
#define RUN_STEADY_H
/**
 * Whether a throughput is steady. Over a window of intervals, the least-squares line hardly
 * rises or falls, and no interval is far from the mean. After SNIA's Solid State Storage
 * Performance Test Specification (section on steady state): slope and excursion, both as shares
 * of the window's mean.
 */
#include <stdbool.h>
#include <stdint.h>

enum { STEADY_WINDOW_MAX = 256 };

struct steady {
	uint32_t window;    /* intervals in the window, 3..STEADY_WINDOW_MAX */
	uint32_t count;     /* intervals so far */
	double slope_limit; /* largest change along the window's line, as a share of its mean */
	double band_limit; /* largest distance of an interval from the mean, as a share of it */
	double rates[STEADY_WINDOW_MAX];
	/* of the last full window, as shares; slope < 0: falling; mean in its own unit */
	double slope, band, mean;
};

void
steady_create(struct steady *steady, uint32_t window, double slope_limit, double band_limit);

/** Add the rate of an interval. True once a whole window is within both limits. */
bool
steady_add(struct steady *steady, double rate);

#endif /* RUN_STEADY_H */
