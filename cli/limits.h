/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_LIMITS_H
#define CLI_LIMITS_H
/** Limits on the command line. */
#include <stdbool.h>
#include <stdint.h>

/** "p99<1ms" */
struct latency_limit {
	double percent; /* 100: the maximum */
	uint64_t ns;
	char text[64];
};

/** Parses "p99<1ms", "p99.9<500us" or "max<10ms". False: it is none of these; not reported. */
bool
limits_parse_latency(struct latency_limit *limit, const char *text);

/** Parses "5%" as 0.05: above 0 and up to 1. False as above. */
bool
limits_parse_share(double *share, const char *text);

#endif /* CLI_LIMITS_H */
