/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_LIMITS_H
#define CLI_LIMITS_H
/** Limits as they are typed. */
#include <stdbool.h>
#include <stdint.h>

/** "p99<1ms" */
struct latency_limit {
	double percent; /* 100: the maximum */
	uint64_t ns;
	char text[64];
};

/** "p99<1ms", "p99.9<500us", "max<10ms". False if it is none of these; nothing is said. */
bool
limits_parse_latency(struct latency_limit *limit, const char *text);

/** "5%" as 0.05: above 0 and up to 1. False likewise. */
bool
limits_parse_share(double *share, const char *text);

#endif /* CLI_LIMITS_H */
