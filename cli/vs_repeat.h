/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_VS_REPEAT_H
#define CLI_VS_REPEAT_H
/** One repetition of vs: an engine on fresh data, each step a process of its own. */
#include <stdint.h>

struct nb_results;
struct options;

/** Where repetitions are made. */
struct vs_place {
	char directory[4096]; /* of our own, under --path; removed at the end */
	char keys[4200];      /* "": those that are asked for */
};

/** An exit status; what went wrong has been said, and there is nothing to remove. */
int
vs_place_create(struct vs_place *place, const struct options *options);

void
vs_place_destroy(struct vs_place *place);

struct vs_repetition {
	const struct vs_place *place;
	const struct options *options; /* with `driver` and its options */
	const char *label;             /* of the contestant */
	uint32_t contestant;           /* its place on the command line, from 1 */
	uint32_t round;                /* from 1 */
	struct nb_results *results;    /* to append to */
	void (*tick)(void *arg);       /* called about once a second */
	void *tick_arg;
};

/**
 * STATUS_DONE, and its results are kept; STATUS_INTERRUPTED, and nothing of it is kept; else
 * it failed, which has been said and is kept in the results.
 */
int
vs_repeat(const struct vs_repetition *repetition);

#endif /* CLI_VS_REPEAT_H */
